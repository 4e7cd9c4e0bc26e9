"""The use cases: create a game, join it, start, void, act, read, rematch.

Clock, entropy, keys and store are given. Every change is one ``decide`` function that the
committer runs under the game's lock, so each reads top to bottom: who asks, may they, what
follows, what is answered.
"""

import contextlib
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from service import keys, rules, steps
from service.chains import ChainCache
from service.dice import KeyChain, tagged_hash
from service.errors import (
    CubileteError,
    FieldError,
    GameFrozen,
    GameNotFound,
    GameOver,
    InvalidInput,
    Refusal,
    RematchExists,
    RosterExhausted,
    SeatNotFound,
    SeatsOpen,
    SeriesNotFound,
    StaleVersion,
    TokenUnknown,
    TurnExpired,
    Unavailable,
    VersionNotFound,
)
from service.game import GOING, Game, Status
from service.heads import Head
from service.hosting import (
    NO_REVEAL,
    all_seated,
    as_player,
    bot_due,
    bots_followed,
    ended_idle,
    followed,
    gone_on,
    kept_holder,
    left_to_bots,
    names_of,
    next_series,
    open_seat,
    person_plays,
    require_bots,
    require_distinct,
    seated,
    with_holder,
    without_name,
)
from service.log import entry_hash
from service.playing_on import PlayingOn
from service.replay import replay
from service.requests import Caller, Done, Joining, NewGame, Render, Turn
from service.roles import (
    Role,
    acting_seat,
    exists,
    host,
    kept_seat,
    own_seat,
    require_game,
    require_no_bot,
    role_of,
    seat_or_host,
    waited_for,
)
from service.rules.base import Action
from service.slots import Slots
from service.store import (
    DAY_MS,
    Answer,
    Change,
    GameFilter,
    Holder,
    HostedGame,
    Listed,
    Page,
    Series,
    Store,
    Write,
)
from service.store.change import Check, Decide

_log = logging.getLogger(__name__)
_KEYS_CACHED: Final = 64 * 1024 * 1024
_NOTHING: Final = Answer(204, (), b"")
_CHAINS_AT_ONCE: Final = 64
_REPLAYS_AT_ONCE: Final = 8
_ROSTER_LIMIT: Final = 300
_UNCHANGED: Final = Change((), _NOTHING)
_SETTLED: Final = Answer(200, (), b"")


class _Overdue(CubileteError):
    """Something is due in the game before the change that is asked for."""

    def __init__(self, status: Status) -> None:
        super().__init__("overdue")
        self.status = status


class Croupier:
    """Runs the tables of one server. ``now`` gives integer milliseconds UTC; seeds are due
    ``reveal_seconds`` after the roster was sealed; ``present`` gives the seats of a game whose
    players are there."""

    def __init__(
        self,
        store: Store,
        server_key: keys.ServerKey,
        signing_keys: keys.SigningKeys,
        now: Callable[[], int],
        entropy: keys.Entropy,
        reveal_seconds: int = 600,
        present: Callable[[str], Collection[int]] = lambda _: (),
    ) -> None:
        self._store = store
        self._key = server_key
        self.signing_keys = signing_keys
        self._now = now
        self._entropy = entropy
        self._reveal_ms = 1000 * reveal_seconds
        self._present = present
        self._chains = ChainCache(_KEYS_CACHED)
        self._making = Slots("chains", _CHAINS_AT_ONCE, threads=2)
        self._replaying = Slots("replays", _REPLAYS_AT_ONCE)
        self._bots = PlayingOn(self.play_on)

    async def close(self) -> None:
        """Stops what goes on without a request."""
        await self._bots.close()

    # -- before the start ------------------------------------------------------------------------

    async def create(self, wanted: NewGame, caller: Caller, render: Render) -> Answer:
        """A new game; its tokens are told once, in this answer."""
        ruleset = rules.ruleset(wanted.ruleset)
        seats = len(wanted.names)
        options = ruleset.parse_options(wanted.options, seats, hotseat=wanted.hotseat)
        require_distinct(wanted.names)
        require_bots(ruleset, options, wanted.bots)
        at = self._now()
        tokens = {
            seat: keys.new_token("seat", self._entropy)
            for seat, name in enumerate(wanted.names)
            if name is not None
        }
        host_token = keys.new_token("host", self._entropy)
        game_id, salt = keys.new_game_id(at, self._entropy), self._entropy(32)
        root = wanted.root or self._key.root(game_id, salt)
        chain = await self._new_chain(game_id, root, ruleset.throws_max(options, seats))
        step = steps.create(
            game_id, ruleset, options, seats, wanted.seed_mode, chain, at, wanted.turn_seconds
        )
        hosted = HostedGame(
            game=step.game,
            holders=(None,) * seats,
            host_hash=keys.token_hash(host_token),
            salt=salt,
            hotseat=wanted.hotseat,
            visibility=wanted.visibility,
            start_when_full=wanted.start,
            created_at=at,
            series=Series(game_id, 1, (0,) * seats),
            bots=wanted.bots if any(wanted.bots) else (),
        )
        holders = {
            seat: Holder(wanted.names[seat], self._entropy(32), keys.token_hash(token))
            for seat, token in tokens.items()
        }
        write = all_seated(Write(hosted, step.lines), holders, at)
        write = self._start_if_ready(write, chain, at)
        nonce = self._entropy(keys.NONCE_SIZE)

        def decide(_: HostedGame | None) -> Change:
            return self._told_once(self._done(write, caller, host_token, tokens), render, nonce)

        return await self._change(game_id, lambda _: None, decide, caller)

    async def join(self, game_id: str, joining: Joining, caller: Caller, render: Render) -> Answer:
        """A person takes an open seat; the token is told once. In a rematch that waits for new
        seeds a seat is kept for the token that held it, with its name unless another is given."""
        at, salt = self._now(), self._entropy(32)
        fresh = keys.new_token("seat", self._entropy)
        nonce = self._entropy(keys.NONCE_SIZE)

        def decide(found: HostedGame | None) -> Change:
            hosted = exists(found)
            _require_version(hosted, caller)
            steps.require_waiting(hosted.game)
            _require_short(hosted.game)
            _require_seen(hosted.game, joining)
            kept = kept_seat(hosted, caller.token)
            if kept is None:
                seat, token = open_seat(hosted, joining.seat), fresh
                require_distinct([*names_of(hosted), joining.name])
                holder = Holder(joining.name, salt, keys.token_hash(token))
            else:
                seat, token = kept, caller.token or fresh
                holder = kept_holder(hosted, seat, joining.seat, joining.name, salt)
            player = as_player(holder, joining.commit, joining.seed)
            write = seated(Write(hosted, ()), seat, holder, player, at)
            write = self._start_if_ready(write, None, at)
            done = self._done(write, caller, seat_tokens={seat: token})
            return self._told_once(done, render, nonce)

        return await self._change(game_id, require_game, decide, caller, throws=_require_last_seat)

    async def leave(self, game_id: str, seat: int, caller: Caller, render: Render) -> Answer:
        """A seat becomes open again, by its own token or the host's. A seat that gave its seed in
        mode ``open`` can't be left without its part in the dice: the game is void.

        The token is void with it, so that only what changes something asks for it: a retry,
        which is known by the same token and key, is answered from the store.
        """
        at = self._now()
        may = seat_or_host(caller.token, seat)

        def decide(found: HostedGame | None) -> Change:
            may(found)
            hosted = exists(found)
            _require_version(hosted, caller)
            write = Write(hosted, ())
            steps.require_waiting(hosted.game)
            if hosted.game.players[seat] is None and hosted.holders[seat] is not None:
                # Kept for a player of the game before, whom this log does not know yet.
                return self._changed(with_holder(write, seat, None), caller, render)
            if seat in hosted.game.seeds() and not hosted.game.sealed:
                write = followed(write, steps.void(hosted.game, self._chain(hosted), at, "left"))
            else:
                write = followed(write, steps.leave(hosted.game, seat, at))
                write = with_holder(write, seat, None)
            return self._changed(write, caller, render)

        return await self._change(game_id, require_game, decide, caller, throws=may)

    async def rename(
        self, game_id: str, seat: int, name: str, caller: Caller, render: Render
    ) -> Answer:
        """Another name for a seat. The log binds names, so the seat is left and joined anew."""
        at, salt = self._now(), self._entropy(32)

        def decide(found: HostedGame | None) -> Change:
            hosted = exists(found)
            _require_version(hosted, caller)
            require_no_bot(hosted, seat)
            _require_short(hosted.game)
            held = hosted.holders[seat]
            if held is None:
                raise SeatNotFound
            others = [other for place, other in enumerate(names_of(hosted)) if place != seat]
            require_distinct([*others, name])
            player = hosted.game.players[seat]
            left = followed(Write(hosted, ()), steps.leave(hosted.game, seat, at))
            renamed = replace(held, name=name, salt=salt)
            joined = as_player(renamed, None if player is None else player.commit)
            return self._changed(seated(left, seat, renamed, joined, at), caller, render)

        return await self._change(game_id, seat_or_host(caller.token, seat), decide, caller)

    async def rotate(self, game_id: str, seat: int, caller: Caller, render: Render) -> Answer:
        """A new token for a seat; the old one is void at once, but for the retry that asks for
        the new one again (see ``leave``)."""
        token = keys.new_token("seat", self._entropy)
        nonce = self._entropy(keys.NONCE_SIZE)

        def decide(found: HostedGame | None) -> Change:
            hosted = exists(found)
            own_seat(hosted, seat, caller.token)
            _require_version(hosted, caller)
            held = hosted.holders[seat]
            if held is None:
                raise SeatNotFound
            renewed = replace(held, token_hash=keys.token_hash(token))
            write = with_holder(Write(hosted, ()), seat, renewed)
            done = self._done(write, caller, seat_tokens={seat: token})
            return self._told_once(done, render, nonce)

        return await self._change(game_id, require_game, decide, caller)

    async def erase_name(self, game_id: str, seat: int, caller: Caller, render: Render) -> Answer:
        """Erases the name of a seat once the game is over; the log stays whole. Answers that were
        kept for retries repeat names, so they go as well."""
        salt = self._entropy(32)

        def decide(found: HostedGame | None) -> Change:
            hosted = exists(found)
            _require_version(hosted, caller)
            steps.require_over(hosted.game)
            write = without_name(Write(hosted, ()), seat, salt)
            return self._changed(write, caller, render)

        answer = await self._change(game_id, seat_or_host(caller.token, seat), decide, caller)
        await self._store.forget_answers([game_id])
        return answer

    async def seal(self, game_id: str, caller: Caller, render: Render) -> Answer:
        """The host closes the roster of a game in mode ``sealed``: now seeds are revealed."""
        at = self._now()

        def decide(found: HostedGame | None) -> Change:
            hosted = exists(found)
            _require_version(hosted, caller)
            write = followed(Write(hosted, ()), steps.seal(hosted.game, at))
            due = write.hosted.game.at + self._reveal_ms
            write = replace(write, hosted=replace(write.hosted, reveal_by=due))
            return self._changed(write, caller, render)

        return await self._change(game_id, host(caller.token), decide, caller)

    async def reveal(
        self, game_id: str, seat: int, seed: bytes, caller: Caller, render: Render
    ) -> Answer:
        """A seat shows the seed it committed to; the last reveal may start the game."""
        at = self._now()

        def check(found: HostedGame | None) -> None:
            own_seat(exists(found), seat, caller.token)

        def decide(found: HostedGame | None) -> Change:
            hosted = exists(found)
            _require_version(hosted, caller)
            step = steps.reveal(hosted.game, seat, seed, at)
            write = self._start_if_ready(followed(Write(hosted, ()), step), None, at)
            return self._changed(write, caller, render)

        return await self._change(game_id, check, decide, caller)

    async def start(self, game_id: str, caller: Caller, render: Render) -> Answer:
        """The host starts a game whose seats are all taken."""
        at = self._now()

        def decide(found: HostedGame | None) -> Change:
            hosted = exists(found)
            _require_version(hosted, caller)
            step = steps.start(hosted.game, self._chain(hosted), at)
            return self._changed(followed(Write(hosted, ()), step), caller, render)

        return await self._change(game_id, host(caller.token), decide, caller)

    async def void(self, game_id: str, caller: Caller, render: Render) -> Answer:
        """The host calls a game off before it starts. Who has not revealed a seed is blamed for it
        only once the seed is overdue."""
        at = self._now()

        def decide(found: HostedGame | None) -> Change:
            hosted = exists(found)
            _require_version(hosted, caller)
            reason = NO_REVEAL if hosted.due(at) else "host"
            step = steps.void(hosted.game, self._chain(hosted), at, reason)
            return self._changed(followed(Write(hosted, ()), step), caller, render)

        may = host(caller.token)
        return await self._change(game_id, may, decide, caller, whatever_is_due=True)

    # -- playing ---------------------------------------------------------------------------------

    async def act(
        self, game_id: str, seat: int | None, action: Action, caller: Caller, render: Render
    ) -> Answer:
        """One action; ``seat`` is named at a hot seat, where the host acts for all.

        Raises TurnExpired for one that comes after its deadline; the table has acted by then.
        """
        at = self._now()
        role: Role | None = None

        def check(found: HostedGame | None) -> None:
            nonlocal role
            role = role_of(exists(found), caller.token)

        def decide(found: HostedGame | None) -> Change:
            hosted = exists(found)
            if role is None:
                raise ValueError("decided without a check")
            _require_version(hosted, caller)
            acting = acting_seat(hosted, seat, action, role)
            step = steps.act(hosted.game, acting, action, self._chain(hosted), at)
            return self._changed(followed(Write(hosted, ()), step), caller, render)

        return await self._change(game_id, check, decide, caller, acts=True)

    async def rematch(
        self, game_id: str, options: Mapping[str, Any] | None, caller: Caller, render: Render
    ) -> Answer:
        """The next game of the series: same seats and tokens, same settings or new options."""
        before, may = await self.read(game_id), host(caller.token)
        may(before)
        steps.require_over(before.game)
        if before.series.next_game is not None:
            return await self._change(game_id, may, _rematch_exists(caller), caller)
        at, salt = self._now(), self._entropy(32)
        next_id = keys.new_game_id(at, self._entropy)
        salts = [self._entropy(32) for _ in before.holders]
        ruleset = rules.ruleset(before.game.ruleset.key)
        seats = before.game.setup.seats
        # The rules may have a newer version by now: what was chosen is checked by it.
        asked = before.game.setup.options_json if options is None else options
        chosen = ruleset.parse_options(asked, seats, hotseat=before.hotseat)
        playing = before.seated_bots if before.bots else ()
        require_bots(ruleset, chosen, playing, "/options")
        root = self._rematch_root(before.game, next_id, salt)
        chain = await self._new_chain(next_id, root, ruleset.throws_max(chosen, seats))
        mode = before.game.setup.seed_mode
        first = steps.create(
            next_id, ruleset, chosen, seats, mode, chain, at, before.game.setup.turn_seconds
        )

        def decide(found: HostedGame | None) -> Change:
            hosted = exists(found)
            _require_version(hosted, caller)
            steps.require_over(hosted.game)
            if hosted.series.next_game is not None:
                raise RematchExists(game=hosted.series.next_game)
            linked = replace(hosted, series=replace(hosted.series, next_game=next_id))
            opened = replace(
                hosted,
                game=first.game,
                holders=(None,) * seats,
                salt=salt,
                created_at=at,
                series=next_series(hosted, chosen),
                audit=None,
                bots=playing if any(playing) else (),
                reveal_by=None,
            )
            write = Write(opened, first.lines)
            if mode in ("open", "sealed"):  # who plays again joins again, with a new seed
                write = replace(write, hosted=replace(write.hosted, holders=hosted.holders))
                write = all_seated(write, {}, at)
            else:
                again = {
                    seat: replace(held, salt=salts[seat])
                    for seat, held in enumerate(hosted.holders)
                    if held is not None
                }
                write = all_seated(write, again, at)
            write = self._start_if_ready(write, chain, at)
            opening = self._changed(write, caller, render)
            return replace(opening, writes=(Write(linked, ()), *opening.writes))

        answer = await self._change(game_id, may, decide, caller)
        self._bots.committed(next_id)
        return answer

    # -- reading ---------------------------------------------------------------------------------

    async def read(self, game_id: str) -> HostedGame:
        """The game now, after what is due."""
        hosted = exists(await self._store.game(game_id))
        at = self._now()
        if hosted.due(at):
            with contextlib.suppress(Unavailable, GameFrozen):  # then it is read as it stands
                await self.settle(game_id, at)
            hosted = exists(await self._store.game(game_id))
        if hosted.bots and bot_due(hosted):
            self._bots.soon(game_id)
        return hosted

    async def read_at(self, game_id: str, version: int) -> HostedGame:
        """The game as it was after entry ``version``."""
        hosted = await self.read(game_id)
        if version > hosted.game.version:
            raise VersionNotFound(version=hosted.game.version)
        if version == hosted.game.version:
            return hosted
        lines = await self._store.lines(game_id, limit=version + 1)
        return replace(hosted, game=await self._replaying.run(replay, lines))

    def ruleset_of(self, game_id: str) -> str | None:
        """The key of a game's ruleset, if the game is in memory: for what is counted."""
        hosted = self._store.remembered(game_id)
        return None if hosted is None else hosted.game.ruleset.key

    def present(self, hosted: HostedGame) -> Collection[int]:
        """The seats whose players are there."""
        return self._present(hosted.game.id)

    def receipt(self, game: Game) -> keys.Receipt:
        """The signed head of a game."""
        return self.signing_keys.sign(game.id, game.version, game.head)

    async def lines(self, game_id: str, after: int = -1, limit: int | None = None) -> list[bytes]:
        """The stored lines of a log with a seq above ``after``."""
        await self.read(game_id)
        return await self._store.lines(game_id, after, limit)

    async def listed(self, wanted: GameFilter, before: str | None, limit: int) -> Page:
        """A page of public games, newest first."""
        return await self._store.listed(wanted, before, limit)

    async def series(self, series_id: str, after: int, limit: int) -> tuple[Page, Listed]:
        """A page of the games of a series, in order, and its last game; raises SeriesNotFound,
        and GameFrozen if the last game can't be read."""
        last = await self._store.last_of_series(series_id)
        if last.unreadable:
            raise GameFrozen
        if not last.games:
            raise SeriesNotFound
        return await self._store.series(series_id, after, limit), last.games[0]

    async def turns(self, tokens: Sequence[str]) -> Sequence[Turn]:
        """The games that wait for one of these tokens, in the order of their making. Raises
        TokenUnknown if no game knows any of them."""
        ids = await self._store.games_of([keys.token_hash(token) for token in tokens])
        if not ids:
            raise TokenUnknown
        turns = []
        for game_id in ids:
            with contextlib.suppress(GameFrozen, GameNotFound):
                hosted = await self.read(game_id)
                seats = waited_for(hosted, tokens)
                if seats:
                    turns.append(Turn(hosted, seats))
        return turns

    async def ready(self) -> None:
        """Raises Unavailable unless the database takes changes."""
        await self._store.ready()

    async def end_restored(
        self, known: Mapping[str, Head], owe: Callable[[Sequence[Head]], None] = lambda _: None
    ) -> list[str]:
        """Ends every game that is behind its last known head: its database was restored from a
        backup, and its keys must not make other throws. Returns the ids of those games. ``owe`` is
        told the heads of games that are ahead of what is known."""
        ended = []
        async for versions in self._store.going():
            seqs = {one: known[one].seq if one in known else -1 for one in versions}
            for game_id, version in versions.items():
                if version < seqs[game_id] and await self._ends_restored(game_id):
                    ended.append(game_id)
            ahead = [one for one, version in versions.items() if version > seqs[one]]
            newest = await self._store.newest(ahead) if ahead else ()
            owe([Head(game_id, seq, entry_hash(line)) for game_id, seq, line in newest])
        return ended

    async def _ends_restored(self, game_id: str) -> bool:
        try:
            # Whatever is due: a throw that was made before must not fall otherwise.
            await self._by_itself(game_id, self._ending(self._now()))
        except GameFrozen:  # nobody acts in it anyway
            _log.error("game %s is behind its last known head, and frozen", game_id)
            return False
        except GameOver:  # another process was first
            return False
        return True

    def _ending(self, at: int) -> Decide:
        def decide(found: HostedGame | None) -> Change:
            hosted = exists(found)
            end = steps.void if hosted.game.status == "waiting" else steps.abandon
            step = end(hosted.game, self._chain(hosted), at, "restored")
            write = followed(Write(hosted, ()), step)
            return Change((write,), _NOTHING)

        return decide

    # -- bots ------------------------------------------------------------------------------------

    async def play_on(self, game_id: str) -> bool:
        """Lets the bots act that the game waits for, in one transaction; returns whether there is
        more for them to do. Changes nothing where the game waits for a person or is over."""

        def decide(found: HostedGame | None) -> Change:
            write = self._followed_by_bots(Write(exists(found), ()), at)
            return Change((write,) if write.lines else (), _NOTHING)

        at = self._now()

        await self._by_itself(game_id, decide)
        hosted = await self._store.game(game_id)
        return hosted is not None and bot_due(hosted)

    def _followed_by_bots(self, write: Write, at: int) -> Write:
        """The change with what bots do next; what goes beyond one transaction is noted."""
        if not bot_due(write.hosted):
            return write
        write = bots_followed(write, self._chain(write.hosted), at)
        if bot_due(write.hosted) and not person_plays(write.hosted):
            return left_to_bots(write, self._chain(write.hosted), at)
        if bot_due(write.hosted):
            self._bots.note(write.hosted.game.id)
        return write

    # -- what happens without being asked for ------------------------------------------------------

    async def settle(self, game_id: str, at: int) -> bool:
        """Does what is due at a table at that time, whoever notices it first: once, because what
        was due is due no more. Returns whether there was something to do."""

        def decide(found: HostedGame | None) -> Change:
            hosted = exists(found)
            if not hosted.due(at):
                return _UNCHANGED
            write = self._followed_by_bots(Write(hosted, ()), at)  # a bot is never late
            if write.hosted.due(at) and not bot_due(write.hosted):
                write = gone_on(write, self._chain(hosted), at)
                write = self._followed_by_bots(write, at)
            return Change((write,), _SETTLED)

        return await self._by_itself(game_id, decide)

    async def end_idle(self, game_id: str, days: int, at: int) -> bool:
        """Ends a game without a deadline in which nothing has happened for so many days; returns
        whether it was one."""

        def decide(found: HostedGame | None) -> Change:
            hosted = exists(found)
            going = hosted.game.status in GOING and hosted.deadline is None
            if not going or at - hosted.game.at < days * DAY_MS:
                return _UNCHANGED
            return Change((ended_idle(Write(hosted, ()), self._chain(hosted), at),), _SETTLED)

        return await self._by_itself(game_id, decide)

    async def _by_itself(self, game_id: str, decide: Decide) -> bool:
        answer = await self._change(game_id, require_game, decide, Caller(), whatever_is_due=True)
        return answer.status == _SETTLED.status

    # -- what the above share --------------------------------------------------------------------

    async def _change(
        self,
        game_id: str,
        check: Check,
        decide: Decide,
        caller: Caller,
        throws: Check | None = None,
        *,
        acts: bool = False,
        whatever_is_due: bool = False,
    ) -> Answer:
        """One change; what is due comes first, and then no action is taken that was meant to come
        before it. ``throws`` refuses who can't have come to throw dice, if ``check`` lets more
        pass: for them no key chain is made."""
        at = self._now()

        def unfrozen(found: HostedGame | None) -> Change:
            if found is not None:
                _require_going_on(found)
            if found is not None and not whatever_is_due and found.due(at):
                raise _Overdue(found.game.status)
            return decide(found)

        if self._chains.get(game_id) is None:
            await self._warm(game_id, throws or check)
        try:
            answer = await self._store.change(game_id, check, unfrozen, caller.retry)
        except _Overdue as overdue:
            await self.settle(game_id, at)
            if acts and overdue.status == "playing":
                raise TurnExpired from None
            try:
                answer = await self._store.change(game_id, check, unfrozen, caller.retry)
            except _Overdue:
                raise Unavailable("the game has more to do first") from None
        self._bots.committed(game_id)
        if not (answer.replayed and answer.sealed):
            return answer
        return replace(answer, body=self._key.unseal(answer.body), sealed=False)

    def _done(
        self,
        write: Write,
        caller: Caller,
        host_token: str | None = None,
        seat_tokens: Mapping[int, str] | None = None,
    ) -> Done:
        if write.hosted.bots:
            write = self._followed_by_bots(write, write.hosted.game.at)
        game = write.hosted.game
        receipt = self.receipt(game) if caller.receipt else None
        return Done(
            write.hosted,
            write.lines,
            receipt,
            host_token,
            seat_tokens,
            self._present(game.id),
        )

    def _changed(self, write: Write, caller: Caller, render: Render) -> Change:
        done = self._done(write, caller)
        return Change((Write(done.hosted, done.lines),), render(done))

    def _told_once(self, done: Done, render: Render, nonce: bytes) -> Change:
        """A change whose answer holds tokens: a retry may see them again, the database never."""
        answer = render(done)
        kept = replace(answer, body=self._key.seal(answer.body, nonce), sealed=True)
        return Change((Write(done.hosted, done.lines),), answer, kept)

    async def _new_chain(self, game_id: str, root: bytes, length: int) -> KeyChain:
        chain = await self._making.run(KeyChain, root, length)
        self._chains.put(game_id, chain)
        return chain

    async def _warm(self, game_id: str, check: Check) -> None:
        """Makes the key chain of a game that goes on before the committer needs it: a long one
        would keep all others waiting. Who is refused may not have it made."""
        hosted = await self._store.game(game_id)
        if hosted is None or hosted.game.status not in GOING:
            return
        try:
            check(hosted)
        except Refusal:  # told by the committer, which knows how the game stands
            return
        await self._making.run(self._chain, hosted)

    def _chain(self, hosted: HostedGame) -> KeyChain:
        """The key chain of a game; raises GameFrozen if it is not the one committed to."""
        game = hosted.game
        chain = self._chains.get(game.id)
        if chain is None:
            root = game.root if game.setup.seed_mode == "practice" else None
            chain = KeyChain(root or self._key.root(game.id, hosted.salt), game.setup.throws_max)
            if chain.commitment != game.setup.commitment:
                _log.error("the root of game %s does not lead to its commitment", game.id)
                raise GameFrozen
            self._chains.put(game.id, chain)
        return chain

    def _rematch_root(self, game: Game, next_id: str, salt: bytes) -> bytes:
        if game.setup.seed_mode == "practice" and game.root is not None:
            return tagged_hash("practice-rematch", game.root)
        return self._key.root(next_id, salt)

    def _start_if_ready(self, write: Write, chain: KeyChain | None, at: int) -> Write:
        hosted = write.hosted
        if not (hosted.start_when_full and steps.ready(hosted.game)):
            return write
        return followed(write, steps.start(hosted.game, chain or self._chain(hosted), at))


def _rematch_exists(caller: Caller) -> Decide:
    """Whoever repeats the request that made the rematch is given its answer, all others are
    refused, and nobody has a key chain made for nothing."""

    def decide(found: HostedGame | None) -> Change:
        hosted = exists(found)
        _require_version(hosted, caller)
        raise RematchExists(game=hosted.series.next_game)

    return decide


def _require_version(hosted: HostedGame, caller: Caller) -> None:
    if caller.version is not None and caller.version != hosted.game.version:
        raise StaleVersion(version=hosted.game.version)


def _require_going_on(hosted: HostedGame) -> None:
    """A game that has failed its audit takes no change."""
    if hosted.audit == "failed":
        raise GameFrozen


def _require_short(game: Game) -> None:
    """Before the start only so many may come and go, since each leaves lines in the log."""
    if game.status == "waiting" and game.version >= _ROSTER_LIMIT:
        raise RosterExhausted(limit=_ROSTER_LIMIT)


def _require_last_seat(found: HostedGame | None) -> None:
    """Only who takes the last seat can start a game by joining."""
    if sum(player is None for player in exists(found).game.players) > 1:
        raise SeatsOpen


def _require_seen(game: Game, joining: Joining) -> None:
    """Whoever adds to the dice has seen what the server committed to."""
    if joining.saw is None and (joining.commit is not None or joining.seed is not None):
        raise InvalidInput(FieldError("/saw", "missing"))
    if joining.saw not in (None, game.setup.commitment):
        raise InvalidInput(FieldError("/saw", "not_the_commitment"))
