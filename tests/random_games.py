"""Random games of all rulesets and seed modes, and of all ways to end or not to. A seed plays the
same games again."""

from collections.abc import Iterator
from random import Random
from typing import Final, Literal, TypeAlias, cast

from service import rules, steps
from service.dice import client_commit, pseudonym
from service.game import Player, SeedMode
from service.log import jsonl
from service.steps import Step
from tests.drawn_options import one_of, table
from tests.played import SEED_MODES, Played, action, secret

End: TypeAlias = Literal["finished", "abandoned", "void", "incomplete"]

_ENDS: Final[tuple[End, ...]] = ("finished",) * 16 + ("abandoned",) * 2 + ("void", "incomplete")
_RESIGNS: Final = 0.005  # of the moves
_TIMED: Final = 0.25  # of the games
_LATE: Final = 0.05  # of the moves at a table with a clock
_MOVES_MOST: Final = 5_000
_NAMES: Final = ("Ana", "Íñigo", "Zoë", "小明", "Bea 🎲")
_ID: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


class _Odd(Played):
    """A game with bots and people without a name, whose clock goes back now and then."""

    def take(self, step: Step) -> None:
        super().take(step)
        self.at += self.random.randrange(-1_005, 1_000)

    def join(self, seat: int, gives: bool = False) -> None:
        name, mode = self.game.id, self.game.setup.seed_mode
        seed = secret(name, "seed", seat)
        given = gives and (mode == "sealed" or (mode == "open" and not self.game.seeds()))
        person, salt = one_of(self.random, _NAMES), secret(name, "salt")
        player = Player(
            "human" if given or self.random.random() < 0.7 else "bot",
            pseudonym(salt, person).hex() if self.random.random() < 0.8 else None,
            commit=client_commit(name, seed) if given and mode == "sealed" else None,
            seed=seed if given and mode == "open" else None,
        )
        self.take(steps.join(self.game, seat, player, self.at))

    def play(self, end: End) -> None:
        """To its end, or to where it is given up or still goes on."""
        moves = _MOVES_MOST if end == "finished" else self.random.randrange(30)
        for _ in range(moves):
            if self.game.status != "playing":
                return
            resigning = self.resigning()
            deadline = self.game.deadline
            if deadline and (self.at >= deadline or self.random.random() < _LATE):
                self.wait()
            elif resigning and self.random.random() < _RESIGNS:
                self.act(one_of(self.random, resigning), action("resign"))
            else:
                self.move()
        if self.game.status == "playing" and end != "incomplete":
            self.take(steps.abandon(self.game, self.chain, self.at, "idle"))


def random_game(number: int, seed: int) -> tuple[str, SeedMode, bytes]:
    """Ruleset, seed mode and log of a game."""
    random = Random(f"{seed}/{number}")
    ruleset = rules.RULESETS[number % len(rules.RULESETS)]
    mode = SEED_MODES[number // len(rules.RULESETS) % len(SEED_MODES)]
    seats, options = table(ruleset, random)
    end = one_of(random, _ENDS)
    name = f"{number}" + "".join(one_of(random, _ID) for _ in range(random.randrange(50)))
    turn_seconds = random.randrange(5, 604_801) if random.random() < _TIMED else None
    played = cast(
        _Odd,
        _Odd.created(name, ruleset, seats, options, mode, random, turn_seconds=turn_seconds),
    )
    played.seat_all()
    if end == "void":
        played.take(steps.void(played.game, played.chain, played.at, "host"))
    else:
        played.start()
        played.play(end)
    return ruleset.key, mode, jsonl(played.lines)


def random_games(count: int, seed: int) -> Iterator[tuple[str, SeedMode, bytes]]:
    """As many games, all rulesets and modes in turn."""
    return (random_game(number, seed) for number in range(count))
