"""Tables with bots in process: moved as the croupier moves them, without a store or HTTP."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from service import steps
from service.bots import BOTS
from service.game import Player
from service.hosting import bot_seated, bots_followed
from service.rules.base import Ruleset
from service.store import HostedGame, Series, Write
from tests.played import Played, action

Rules = Ruleset[Any, Any, Any]


def names_of(ruleset: Rules, options: Any, seats: int) -> list[str]:
    """The bots that play a ruleset with these options; N is 25."""
    return [
        bot.name.replace("N", "25")
        for bot in BOTS[ruleset.key]
        if bot.seats in (None, seats) and bot.refused(options) is None
    ]


class BotTable(Played):
    """A practice game in which some seats are bots' (``bots``: null = a person's)."""

    bots: tuple[str | None, ...] = ()

    @classmethod
    def of(
        cls, name: str, ruleset: Rules, bots: Sequence[str | None], options: Mapping[str, Any]
    ) -> "BotTable":
        """A game that has started; no bot has acted yet."""
        created = cls.created(name, ruleset, len(bots), options, "practice", Random(name))
        assert isinstance(created, BotTable)
        created.bots = tuple(bots)
        for seat, bot in enumerate(bots):
            if bot is None:
                player = Player("human", None)
                created.take(steps.join(created.game, seat, player, created.at))
            else:
                seated = bot_seated(Write(created.hosted(), ()), seat, created.at)
                created.take(steps.Step(seated.hosted.game, seated.lines))
        created.start()
        return created

    def hosted(self) -> HostedGame:
        seats = self.game.setup.seats
        return HostedGame(
            game=self.game,
            holders=(None,) * seats,
            host_hash=bytes(32),
            salt=bytes(32),
            hotseat=False,
            visibility="public",
            start_when_full=True,
            created_at=self.at,
            series=Series(self.game.id, 1, (0,) * seats),
            bots=self.bots,
        )

    def let_bots_act(self) -> int:
        """What a request does after its own entries; returns how many entries that were."""
        followed = bots_followed(Write(self.hosted(), ()), self.chain, self.game.at)
        if followed.lines:
            self.take(steps.Step(followed.hosted.game, followed.lines))
        return len(followed.lines)

    def play(self, moves: int = 5_000) -> None:
        """To the end: people take any legal action, bots theirs."""
        for _ in range(moves):
            while self.let_bots_act():
                pass
            if self.game.status != "playing":
                return
            if not self.person_moves():
                self.act(None, action("resolve"))  # a duel whose host resolves
        raise AssertionError(f"{self.game.id} does not end")

    def person_moves(self) -> bool:
        """A legal action of a person, if one of those that are waited for is a person."""
        waiting = [seat for seat in self.game.to_act() if self.bots[seat] is None]
        mine = [legal for legal in self.game.legal() if legal.seat in waiting]
        if not mine:
            return False
        legal = mine[int(self.random.random() * len(mine))]
        self.act(legal.seat, self.filled(legal))
        return True
