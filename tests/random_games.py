"""Whole random games, played without a server: every ruleset, options of all kinds, every seed
mode, and every way in which a game ends or does not. The same seed plays the same games."""

import json
from collections.abc import Iterator
from random import Random  # noqa: TID251 (seeded, so that a run can be repeated)
from typing import Any, Final, Literal, TypeAlias

from hypothesis import HealthCheck, Phase, given, seed, settings
from pydantic import TypeAdapter

from service import rules, steps
from service.dice import KeyChain, client_commit, pseudonym
from service.game import Game, Player, SeedMode
from service.log import jsonl
from service.rules.base import Action, LegalAction, SeatAction
from service.steps import Step
from tests.rules.options import TABLES, Table

End: TypeAlias = Literal["finished", "abandoned", "void", "incomplete"]

MODES: Final[tuple[SeedMode, ...]] = ("operator", "practice", "open", "sealed")
_ENDS: Final[tuple[End, ...]] = ("finished", "abandoned", "void", "incomplete")
_HOW_OFTEN: Final = (80, 8, 6, 6)
_ACTIONS_LIMIT: Final = 1_500
_NAMES: Final = ("Ana", "Íñigo", "Zoë", "小明", "Bea 🎲")
_ID: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_ACTION: TypeAdapter[Action] = TypeAdapter(SeatAction)


def tables(key: str, count: int, number: int) -> list[Table]:
    """Seats and options for a ruleset, as many as Hypothesis finds different ones up to count."""
    found: list[Table] = []

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(TABLES[key]())
    def collect(table: Table) -> None:
        found.append(table)

    collect()
    return found


def games(count: int, number: int) -> Iterator[tuple[str, SeedMode, bytes]]:
    """As many games, all rulesets and modes in turn: ruleset, mode and log of each."""
    random = Random(number)
    keys = [ruleset.key for ruleset in rules.RULESETS]
    known = {key: tables(key, count // len(keys) + 1, number) for key in keys}
    for one in range(count):
        key = keys[one % len(keys)]
        mode = MODES[one // len(keys) % len(MODES)]
        table = known[key][one // len(keys) % len(known[key])]
        yield key, mode, _Player(random, key, mode).play(table)


class _Player:
    """Plays one game."""

    def __init__(self, random: Random, key: str, mode: SeedMode) -> None:
        self.random = random
        self.ruleset = rules.ruleset(key)
        self.mode = mode
        self.at = random.randrange(2**40, 2**41)
        self.lines: list[bytes] = []

    def play(self, table: Table) -> bytes:
        seats, raw = table
        end = self.random.choices(_ENDS, _HOW_OFTEN)[0]
        options = self.ruleset.parse_options(raw, seats)
        length = self.ruleset.throws_max(options, seats)
        chain = KeyChain(self.random.randbytes(32), length)
        name = "".join(self.random.choices(_ID, k=self.random.randint(1, 64)))
        game = self.take(
            steps.create(name, self.ruleset, options, seats, self.mode, chain, self.now())
        )
        game = self.seat_all(game, leave_some=end == "void")
        if end == "void":
            self.take(steps.void(game, chain, self.now(), "host"))
        else:
            game = self.take(steps.start(self.revealed(game), chain, self.now()))
            self.act_until(game, chain, end)
        return jsonl(self.lines)

    def now(self) -> int:
        """Time goes on, and now and then back: the log does not follow it there."""
        self.at += self.random.randint(-5, 2_000)
        return self.at

    def take(self, step: Step) -> Game:
        self.lines += step.lines
        return step.game

    # -- before the start ------------------------------------------------------------------------

    def seat_all(self, game: Game, leave_some: bool) -> Game:
        """Seats in any order; some come back another time, some are bots."""
        order = self.random.sample(range(game.setup.seats), game.setup.seats)
        giver = self.random.choice(order)
        self.seeds = {
            seat: self.random.randbytes(32)
            for seat in order
            if seat == giver or (self.mode == "sealed" and self.random.random() < 0.6)
        }
        for seat in order:
            if leave_some and self.random.random() < 0.3:
                return game
            game = self.join(game, seat)
            if self.random.random() < 0.05 and seat not in game.seeds():
                game = self.join(self.take(steps.leave(game, seat, self.now())), seat)
        return game

    def join(self, game: Game, seat: int) -> Game:
        given = self.seeds.get(seat)
        human = given is not None or self.random.random() < 0.7
        named = self.random.random() < 0.8
        salt, name = self.random.randbytes(32), self.random.choice(_NAMES)
        sealed, opened = (given if self.mode == mode else None for mode in ("sealed", "open"))
        player = Player(
            kind="human" if human else "bot",
            who=pseudonym(salt, name).hex() if named else None,
            commit=None if sealed is None else client_commit(game.id, sealed),
            seed=opened,
        )
        return self.take(steps.join(game, seat, player, self.now()))

    def revealed(self, game: Game) -> Game:
        if self.mode != "sealed":
            return game
        game = self.take(steps.seal(game, self.now()))
        for seat in self.random.sample(game.unrevealed(), len(game.unrevealed())):
            game = self.take(steps.reveal(game, seat, self.seeds[seat], self.now()))
        return game

    # -- after it --------------------------------------------------------------------------------

    def act_until(self, game: Game, chain: KeyChain, end: End) -> None:
        limit = _ACTIONS_LIMIT if end == "finished" else self.random.randint(0, 30)
        for _ in range(limit):
            if game.status != "playing":
                return
            game = self.take(self.step(game, chain))
        if game.status == "playing" and end != "incomplete":
            self.take(steps.abandon(game, chain, self.now(), "idle"))

    def step(self, game: Game, chain: KeyChain) -> Step:
        """Any legal action; who may hold does so more often than not, few resign."""
        able = [
            seat
            for seat in range(game.setup.seats)
            if self.random.random() < 0.003 and self.ruleset.can_resign(game.state, seat)
        ]
        if able:
            resign = _ACTION.validate_python({"kind": "resign"})
            return steps.act(game, able[0], resign, chain, self.now())
        legal = game.legal()
        holds = [listed for listed in legal if listed.kind == "hold"]
        chosen = self.random.choice(holds if holds and self.random.random() < 0.6 else legal)
        return steps.act(game, chosen.seat, self.filled(chosen), chain, self.now())

    def filled(self, listed: LegalAction) -> Action:
        """A listed action with parameters within its bounds."""
        raw: dict[str, Any] = {"kind": listed.kind}
        if listed.min is not None and listed.max is not None:
            raw["amount"] = self.random.randint(listed.min, listed.max)
        if listed.dice is not None:
            raw["mask"] = [self.random.random() < 0.5 for _ in range(listed.dice)]
        return _ACTION.validate_json(json.dumps(raw))
