"""Whole games by random choices: created, seated, seeded, started and played as the server does.

Every choice comes from one seeded generator and the time is counted, so that a seed is a game.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, TypeAlias

from pydantic import TypeAdapter

from service import steps
from service.dice import KeyChain, client_commit, pseudonym
from service.game import Game, Player, SeedMode
from service.rules.base import Action, LegalAction, Ruleset, SeatAction
from service.steps import Step
from tests.drawn_options import one_of

ACTIONS: Final[TypeAdapter[Action]] = TypeAdapter(SeatAction)
SEED_MODES: Final[tuple[SeedMode, ...]] = ("operator", "practice", "open", "sealed")
AT: Final = 1_767_225_600_000
Rules: TypeAlias = Ruleset[Any, Any, Any]


def secret(*parts: object) -> bytes:
    """32 bytes that follow from what they are for."""
    return hashlib.sha256("/".join(map(str, parts)).encode()).digest()


def action(kind: str, **parameters: Any) -> Action:
    return ACTIONS.validate_json(json.dumps({"kind": kind, **parameters}))


@dataclass
class Played:
    """A game at the table, and the log it has made so far."""

    game: Game
    chain: KeyChain
    random: Random
    lines: list[bytes] = field(default_factory=list)
    at: int = AT

    @classmethod
    def created(
        cls,
        name: str,
        rules: Rules,
        seats: int,
        options: Mapping[str, Any],
        mode: SeedMode,
        random: Random,
        throws_max: int | None = None,
        turn_seconds: int | None = None,
    ) -> "Played":
        """A new game with all seats open; its secrets follow from its name."""
        parsed = rules.parse_options(options, seats)
        chain = KeyChain(secret(name, "root"), throws_max or rules.throws_max(parsed, seats))
        step = steps.create(name, rules, parsed, seats, mode, chain, AT, turn_seconds)
        return cls(step.game, chain, random, list(step.lines))

    def take(self, step: Step) -> None:
        """The game goes on with this step."""
        self.game = step.game
        self.lines += step.lines
        self.at += 1_000

    # -- before the start ------------------------------------------------------------------------

    def seat_all(self) -> None:
        """Everybody sits down, in any order; now and then somebody leaves and comes back."""
        seats = list(range(self.game.setup.seats))
        seats.sort(key=lambda _: self.random.random())
        giver = one_of(self.random, seats)  # so that there is one
        for seat in seats:
            gives = seat == giver or self.random.random() < 0.6
            self.join(seat, gives)
            if seat not in self.game.seeds() and self.random.random() < 0.05:
                self.take(steps.leave(self.game, seat, self.at))
                self.join(seat, gives)

    def join(self, seat: int, gives: bool = False) -> None:
        """Somebody sits down, with a part in the dice where the seed mode asks for one; in mode
        ``open`` only the first who would give one does."""
        name, mode = self.game.id, self.game.setup.seed_mode
        seed = secret(name, "seed", seat)
        player = Player(
            "human",
            pseudonym(secret(name, "salt"), f"seat {seat}").hex(),
            commit=client_commit(name, seed) if gives and mode == "sealed" else None,
            seed=seed if gives and mode == "open" and not self.game.seeds() else None,
        )
        self.take(steps.join(self.game, seat, player, self.at))

    def start(self) -> None:
        """The seeds are revealed where there are any, and the game begins."""
        if self.game.setup.seed_mode == "sealed":
            self.take(steps.seal(self.game, self.at))
            for seat in sorted(self.game.unrevealed(), key=lambda _: self.random.random()):
                seed = secret(self.game.id, "seed", seat)
                self.take(steps.reveal(self.game, seat, seed, self.at))
        self.take(steps.start(self.game, self.chain, self.at))

    # -- playing ---------------------------------------------------------------------------------

    def act(self, seat: int | None, asked: Action) -> None:
        self.take(steps.act(self.game, seat, asked, self.chain, self.at))

    def wait(self) -> None:
        """Nobody does anything until the table acts for those who are late."""
        assert self.game.deadline is not None
        self.at = max(self.at, self.game.deadline)
        self.take(steps.run_out(self.game, self.chain, self.at))

    def move(self, holds: float = 0.5) -> None:
        """Any legal action; who may hold does so with this probability."""
        legal = self.game.legal()
        hold = [one for one in legal if one.kind == "hold"]
        other = [one for one in legal if one.kind != "hold"]
        chosen = hold if hold and (not other or self.random.random() < holds) else other
        one = one_of(self.random, chosen)
        self.act(one.seat, self.filled(one))

    def filled(self, legal: LegalAction) -> Action:
        """A legal action with parameters within its bounds."""
        if legal.min is not None and legal.max is not None:
            within = legal.min + int(self.random.random() * (legal.max - legal.min + 1))
            return action(legal.kind, amount=one_of(self.random, (legal.min, legal.max, within)))
        if legal.dice is not None:
            mask = [self.random.random() < 0.5 for _ in range(legal.dice)]
            return action(legal.kind, mask=mask)
        return action(legal.kind)

    def resigning(self) -> list[int]:
        """The seats that may resign now."""
        rules, state = self.game.ruleset, self.game.state
        return [seat for seat in range(self.game.setup.seats) if rules.can_resign(state, seat)]

    def guesses(self) -> Iterator[tuple[int | None, Action]]:
        """Things that one may ask for, legal or not."""
        for seat in (*range(self.game.setup.seats), None):
            for kind in ("roll", "hold", "pass", "tiebreak", "resolve"):
                yield seat, action(kind)
            for amount in (0, 1, 2**53 - 1):
                yield seat, action("bet", amount=amount)
                yield seat, action("set_limit", amount=amount)
            for count in (1, 2, 3, 4, 5):
                yield seat, action("reroll", mask=[True] * count)
