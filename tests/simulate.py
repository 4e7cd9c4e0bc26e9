"""Plays random games of every ruleset, and checks each of them from its log alone.

    make simulate ARGS="--games 2000 --seed 7"

Options, seats, seed mode and actions are random, resignations included. A game that fails prints
the arguments that play it again.
"""

import argparse
import json
import secrets
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Final

from service import game as games
from service import rules, steps, verify
from service.errors import IllegalAction, NotYourTurn
from service.game import Game
from service.replay import audit, replay
from tests.drawn_options import Value, offered, one_of, table, taken
from tests.independent_replay import played_again
from tests.played import SEED_MODES, Played, Rules, action

RESIGNS: Final = 0.01  # of the moves
CALLED_OFF: Final = 0.02  # of the games, before their start or in the middle
SHORT_OF_THROWS: Final = 0.03  # of the games: their key chain ends before they do
MOVES_MOST: Final = 20_000


@dataclass
class Tally:
    """What was played of one ruleset."""

    games: int = 0
    entries: int = 0
    throws: int = 0
    refused: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    modes: Counter[str] = field(default_factory=Counter)
    options: set[Value] = field(default_factory=set)

    def add(self, played: Played, refused: int) -> None:
        game = played.game
        self.games += 1
        self.entries += len(played.lines)
        self.throws += game.throws
        self.refused += refused
        self.ends[game.outcome.reason if game.outcome else game.status] += 1
        self.modes[game.setup.seed_mode] += 1
        self.options |= taken(game.setup.options)


# --- one game -----------------------------------------------------------------------------------


def random_game(number: int, seed: int, ruleset: Rules) -> tuple[Played, int]:
    """A game to its end, checked after every entry; how often something illegal was refused."""
    random = Random(f"{seed}/{number}")
    seats, options = table(ruleset, random)
    mode = one_of(random, SEED_MODES)
    most = 1 + random.randrange(40) if random.random() < SHORT_OF_THROWS else None
    played = Played.created(f"game-{seed}-{number}", ruleset, seats, options, mode, random, most)
    played.seat_all()
    check_snapshot(played.game)
    if random.random() < CALLED_OFF:
        played.take(steps.void(played.game, played.chain, played.at, "host"))
        return played, 0
    played.start()
    return played, play(played, random)


def play(played: Played, random: Random) -> int:
    """Random moves until the game is over."""
    refused, chips = 0, played.game.ruleset.chips_in_play(played.game.state)
    called_off = random.randrange(50) if random.random() < CALLED_OFF else None
    for moves in range(MOVES_MOST):
        check_between_moves(played.game, chips)
        if played.game.status != "playing":
            return refused
        refused += ask_for_anything(played)
        if moves == called_off:
            played.take(steps.abandon(played.game, played.chain, played.at, "idle"))
        elif random.random() < RESIGNS:
            played.act(one_of(random, played.resigning()), action("resign"))
        else:
            played.move()
    raise AssertionError(f"not over after {MOVES_MOST} moves")


def ask_for_anything(played: Played) -> int:
    """One thing that one may ask for, legal or not: what is not legal is refused with a reason
    of the ruleset."""
    game = played.game
    seat, asked = one_of(played.random, list(played.guesses()))
    if any(one.admits(seat, asked) for one in game.legal()):
        return 0
    try:
        steps.require_legal(game, seat, asked)
    except NotYourTurn:
        return 1
    except IllegalAction as refusal:
        if refusal.reason in game.ruleset.reasons:
            return 1
        raise
    raise AssertionError(f"{asked} of seat {seat} is not listed and not refused")


def check_between_moves(game: Game, chips: int | None) -> None:
    """Chips neither come nor go, and the snapshot is the game."""
    ruleset, state = game.ruleset, game.state
    assert ruleset.chips_in_play(state) == chips
    assert ruleset.phase(state) in ruleset.phases
    check_snapshot(game)


def check_snapshot(game: Game) -> None:
    assert games.load(game.id, game.setup, json.loads(json.dumps(games.dump(game)))) == game


def check_log(played: Played) -> None:
    """The log alone tells the same game, to the server, its verifier and the bare rules."""
    game, lines = played.game, played.lines
    assert game.status in verify.ENDS
    assert len(lines) == game.version + 1
    report = verify.verify_log(b"".join(line + b"\n" for line in lines), claim=game.status)
    assert report.ok, report.verdict()
    assert (report.head, report.throws) == (game.head.hex(), game.throws)
    assert replay(lines) == game
    # Some games are made short of throws, to see how they end.
    assert audit(lines, any_length=True) == game
    assert played_again(lines) == game.state
    if game.outcome is not None:
        check_end(game)


def check_end(game: Game) -> None:
    """There is a winner, and all chips are somebody's."""
    assert game.outcome is not None
    assert game.outcome.winners
    if game.outcome.chips is not None:
        assert sum(game.outcome.chips) == game.ruleset.chips_in_play(game.state)


# --- many games ---------------------------------------------------------------------------------


def simulate(count: int, seed: int, first: int = 0) -> dict[str, Tally]:
    """So many random games, the rulesets in turn; raises AssertionError at the first fault."""
    tallies = {ruleset.key: Tally() for ruleset in rules.RULESETS}
    for number in range(first, first + count):
        ruleset = rules.RULESETS[number % len(rules.RULESETS)]
        try:
            played, refused = random_game(number, seed, ruleset)
            check_log(played)
        except Exception as error:
            again = f"--games 1 --seed {seed} --first {number}"
            raise AssertionError(f"{ruleset.key}, {again}: {error!r}") from error
        tallies[ruleset.key].add(played, refused)
    return tallies


def never_taken(tallies: dict[str, Tally]) -> set[tuple[str, Value]]:
    """The values of options that no game was played with."""
    return {
        (key, value)
        for key, tally in tallies.items()
        for value in offered(rules.ruleset(key)) - tally.options
    }


def told(tallies: dict[str, Tally], seed: int, seconds: float) -> Iterator[str]:
    """The tallies as a table."""
    yield f"{'ruleset':<16} {'games':>6} {'entries':>8} {'throws':>8} {'refused':>8}  ended by"
    for key, tally in tallies.items():
        ends = ", ".join(f"{end} {count}" for end, count in tally.ends.most_common())
        yield (
            f"{key:<16} {tally.games:>6} {tally.entries:>8} {tally.throws:>8} {tally.refused:>8}"
            f"  {ends}"
        )
    modes = sum((tally.modes for tally in tallies.values()), Counter[str]())
    yield "seed modes: " + ", ".join(f"{mode} {count}" for mode, count in modes.items())
    values = sum(len(offered(rules.ruleset(key))) for key in tallies)
    yield f"fields and values of options: {values - len(never_taken(tallies))} of {values} played"
    yield (
        f"{sum(tally.games for tally in tallies.values())} games with"
        f" {sum(tally.entries for tally in tallies.values())} entries and"
        f" {sum(tally.throws for tally in tallies.values())} throws in {seconds:.1f} s: all agree"
        f" (seed {seed})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="simulate", description=__doc__.partition("\n")[0])
    parser.add_argument("--games", type=int, default=500)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**9))
    parser.add_argument("--first", type=int, default=0, help="the number of the first game")
    given = parser.parse_args()
    began = time.perf_counter()
    try:
        tallies = simulate(given.games, given.seed, given.first)
    except AssertionError as error:
        sys.exit(f"FAILED: {error}")
    for line in told(tallies, given.seed, time.perf_counter() - began):
        print(line)


if __name__ == "__main__":
    main()
