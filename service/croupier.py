"""The use cases: create a game, join it, start, void, act, read, rematch.

Clock, entropy, keys and store are given. Every change is one ``decide`` function that the
committer runs under the game's lock, so each reads top to bottom: who asks, may they, what
follows, what is answered.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from service import game as games
from service import keys, rules
from service.dice import KeyChain, pseudonym, tagged_hash
from service.errors import (
    FieldError,
    GameFull,
    GameNotFound,
    HostOnly,
    InvalidInput,
    NameTaken,
    NotYourSeat,
    RematchExists,
    SeatNotFound,
    SeriesNotFound,
    StaleVersion,
    TokenMissing,
    TokenUnknown,
    VersionNotFound,
)
from service.game import Game, Player, SeedMode, Step
from service.names import folded
from service.rules.base import Action
from service.store import (
    Answer,
    Change,
    GameFilter,
    Holder,
    HostedGame,
    Retry,
    Series,
    Store,
    Write,
)
from service.store.change import Check, Decide, Visibility

_CHAINS_CACHED: Final = 10_000


@dataclass(frozen=True, slots=True)
class NewGame:
    """A game to create. ``names`` has one item a seat: a name takes the seat at once, null leaves
    it open. ``root`` is given for practice games only."""

    ruleset: str
    options: Mapping[str, Any]
    names: tuple[str | None, ...]
    hotseat: bool = False
    visibility: Visibility = "public"
    seed_mode: SeedMode = "operator"
    root: bytes | None = None
    start: bool = True


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: the bearer token, what makes the request safe to repeat, and the version that
    the caller has seen (null: any)."""

    token: str | None = None
    retry: Retry | None = None
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """What a change led to, for the answer: the game, its new lines, and tokens shown once."""

    hosted: HostedGame
    lines: tuple[bytes, ...] = ()
    host_token: str | None = None
    seat_tokens: Mapping[int, str] | None = None


Render: TypeAlias = Callable[[Done], Answer]


class Croupier:
    """Runs the tables of one server. ``now`` gives integer milliseconds UTC."""

    def __init__(
        self,
        store: Store,
        server_key: keys.ServerKey,
        now: Callable[[], int],
        entropy: keys.Entropy,
    ) -> None:
        self._store = store
        self._key = server_key
        self._now = now
        self._entropy = entropy
        self._chains: OrderedDict[str, KeyChain] = OrderedDict()

    # -- before the start ------------------------------------------------------------------------

    async def create(self, wanted: NewGame, caller: Caller, render: Render) -> Answer:
        """A new game; its tokens are told once, in this answer."""
        ruleset = rules.ruleset(wanted.ruleset)
        seats = len(wanted.names)
        options = ruleset.parse_options(wanted.options, seats, hotseat=wanted.hotseat)
        _require_distinct(wanted.names)
        at = self._now()
        tokens = {
            seat: keys.new_token("seat", self._entropy)
            for seat, name in enumerate(wanted.names)
            if name is not None
        }
        host_token = keys.new_token("host", self._entropy)
        game_id, salt = keys.new_game_id(at, self._entropy), self._entropy(32)
        root = wanted.root or self._key.root(game_id, salt)
        chain = await asyncio.to_thread(KeyChain, root, ruleset.throws_max(options, seats))
        step = games.create(game_id, ruleset, options, seats, wanted.seed_mode, chain, at)
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
        )
        write = Write(hosted, step.lines)
        for seat, token in tokens.items():
            name = wanted.names[seat]
            holder = Holder(name, self._entropy(32), keys.token_hash(token))
            write = _seat(write, seat, holder, at)
        write = self._start_if_full(write, chain, at)
        nonce = self._entropy(keys.NONCE_SIZE)

        def decide(_: HostedGame | None) -> Change:
            done = Done(write.hosted, write.lines, host_token, tokens)
            return self._told_once((write,), render(done), nonce)

        return await self._change(game_id, lambda _: None, decide, caller)

    async def join(
        self,
        game_id: str,
        name: str | None,
        seat: int | None,
        saw: bytes | None,
        caller: Caller,
        render: Render,
    ) -> Answer:
        """A person takes an open seat (the lowest, if none is named); the token is told once.

        ``saw`` is the commitment as the player has seen it, if they say so.
        """
        at, salt = self._now(), self._entropy(32)
        token = keys.new_token("seat", self._entropy)
        nonce = self._entropy(keys.NONCE_SIZE)

        def decide(found: HostedGame | None) -> Change:
            hosted = _exists(found)
            _require_version(hosted, caller)
            games.require_waiting(hosted.game)
            if saw not in (None, hosted.game.setup.commitment):
                raise InvalidInput(FieldError("/saw", "not_the_commitment"))
            chosen = _open_seat(hosted.game, seat)
            if name is not None:
                _require_distinct([*_names(hosted), name])
            write = _seat(Write(hosted, ()), chosen, Holder(name, salt, keys.token_hash(token)), at)
            write = self._start_if_full(write, None, at)
            done = Done(write.hosted, write.lines, seat_tokens={chosen: token})
            return self._told_once((write,), render(done), nonce)

        return await self._change(game_id, _require_game, decide, caller)

    async def leave(self, game_id: str, seat: int, caller: Caller, render: Render) -> Answer:
        """A seat becomes open again, by its own token or the host's."""
        at = self._now()

        def decide(found: HostedGame | None) -> Change:
            hosted = _exists(found)
            _require_version(hosted, caller)
            step = games.leave(hosted.game, seat, at)
            return _changed(_with_holder(_followed(Write(hosted, ()), step), seat, None), render)

        return await self._change(game_id, _seat_or_host(caller, seat), decide, caller)

    async def rename(
        self, game_id: str, seat: int, name: str, caller: Caller, render: Render
    ) -> Answer:
        """Another name for a seat. The log binds names, so the seat is left and joined anew."""
        at, salt = self._now(), self._entropy(32)

        def decide(found: HostedGame | None) -> Change:
            hosted = _exists(found)
            _require_version(hosted, caller)
            held = hosted.holders[seat]
            if held is None:
                raise SeatNotFound
            others = [other for place, other in enumerate(_names(hosted)) if place != seat]
            _require_distinct([*others, name])
            left = _followed(Write(hosted, ()), games.leave(hosted.game, seat, at))
            return _changed(_seat(left, seat, replace(held, name=name, salt=salt), at), render)

        return await self._change(game_id, _seat_or_host(caller, seat), decide, caller)

    async def rotate(self, game_id: str, seat: int, caller: Caller, render: Render) -> Answer:
        """A new token for a seat; the old one is void at once."""
        token = keys.new_token("seat", self._entropy)
        nonce = self._entropy(keys.NONCE_SIZE)

        def check(found: HostedGame | None) -> None:
            hosted = _exists(found)
            role = _role(hosted, caller)
            if role != seat and not (role == HOST and hosted.hotseat):
                raise NotYourSeat

        def decide(found: HostedGame | None) -> Change:
            hosted = _exists(found)
            _require_version(hosted, caller)
            held = hosted.holders[seat]
            if held is None:
                raise SeatNotFound
            renewed = replace(held, token_hash=keys.token_hash(token))
            write = _with_holder(Write(hosted, ()), seat, renewed)
            done = Done(write.hosted, seat_tokens={seat: token})
            return self._told_once((write,), render(done), nonce)

        return await self._change(game_id, check, decide, caller)

    async def start(self, game_id: str, caller: Caller, render: Render) -> Answer:
        """The host starts a game whose seats are all taken."""
        at = self._now()

        def decide(found: HostedGame | None) -> Change:
            hosted = _exists(found)
            _require_version(hosted, caller)
            step = games.start(hosted.game, self._chain(hosted), at)
            return _changed(_followed(Write(hosted, ()), step), render)

        return await self._change(game_id, _host(caller), decide, caller)

    async def void(self, game_id: str, caller: Caller, render: Render) -> Answer:
        """The host calls a game off before it starts."""
        at = self._now()

        def decide(found: HostedGame | None) -> Change:
            hosted = _exists(found)
            _require_version(hosted, caller)
            step = games.void(hosted.game, self._chain(hosted), at, "host")
            return _changed(_followed(Write(hosted, ()), step), render)

        return await self._change(game_id, _host(caller), decide, caller)

    # -- playing ---------------------------------------------------------------------------------

    async def act(
        self, game_id: str, seat: int | None, action: Action, caller: Caller, render: Render
    ) -> Answer:
        """One action; ``seat`` is named at a hot seat, where the host acts for all."""
        at = self._now()

        def check(found: HostedGame | None) -> None:
            _role(_exists(found), caller)

        def decide(found: HostedGame | None) -> Change:
            hosted = _exists(found)
            acting = _acting_seat(hosted, seat, action, _role(hosted, caller))
            _require_version(hosted, caller)
            step = games.act(hosted.game, acting, action, self._chain(hosted), at)
            return _changed(_followed(Write(hosted, ()), step), render)

        return await self._change(game_id, check, decide, caller)

    async def rematch(
        self, game_id: str, options: Mapping[str, Any] | None, caller: Caller, render: Render
    ) -> Answer:
        """The next game of the series: same seats and tokens, same settings or new options."""
        before = await self.read(game_id)
        at, salt = self._now(), self._entropy(32)
        next_id = keys.new_game_id(at, self._entropy)
        salts = [self._entropy(32) for _ in before.holders]
        ruleset = rules.ruleset(before.game.ruleset.key)
        seats = before.game.setup.seats
        if options is None:
            chosen = before.game.setup.options
        else:
            chosen = ruleset.parse_options(options, seats, hotseat=before.hotseat)
        root = self._rematch_root(before.game, next_id, salt)
        chain = await asyncio.to_thread(KeyChain, root, ruleset.throws_max(chosen, seats))
        mode = before.game.setup.seed_mode
        first = games.create(next_id, ruleset, chosen, seats, mode, chain, at)

        def decide(found: HostedGame | None) -> Change:
            hosted = _exists(found)
            _require_version(hosted, caller)
            games.require_over(hosted.game)
            if hosted.series.next_game is not None:
                raise RematchExists(game=hosted.series.next_game)
            linked = replace(hosted, series=replace(hosted.series, next_game=next_id))
            opened = replace(
                hosted,
                game=first.game,
                holders=(None,) * seats,
                salt=salt,
                created_at=at,
                series=_next_series(hosted, chosen),
            )
            write = Write(opened, first.lines)
            for seat, held in enumerate(hosted.holders):
                if held is not None:
                    write = _seat(write, seat, replace(held, salt=salts[seat]), at)
            write = self._start_if_full(write, chain, at)
            return Change((Write(linked, ()), write), render(Done(write.hosted, write.lines)))

        return await self._change(game_id, _host(caller), decide, caller)

    # -- reading ---------------------------------------------------------------------------------

    async def read(self, game_id: str) -> HostedGame:
        """The game now."""
        return _exists(await self._store.game(game_id))

    async def read_at(self, game_id: str, version: int) -> HostedGame:
        """The game as it was after entry ``version``."""
        hosted = await self.read(game_id)
        if version > hosted.game.version:
            raise VersionNotFound(version=hosted.game.version)
        lines = await self._store.lines(game_id, limit=version + 1)
        return replace(hosted, game=await asyncio.to_thread(games.replay, lines))

    async def lines(self, game_id: str, after: int = -1, limit: int | None = None) -> list[bytes]:
        """The stored lines of a log with a seq above ``after``."""
        await self.read(game_id)
        return await self._store.lines(game_id, after, limit)

    async def listed(
        self, wanted: GameFilter, before: str | None, limit: int
    ) -> Sequence[HostedGame]:
        """Public games, newest first."""
        return await self._store.listed(wanted, before, limit)

    async def series(
        self, series_id: str, after: int, limit: int
    ) -> tuple[Sequence[HostedGame], HostedGame]:
        """A page of the games of a series, in order, and its last game; raises SeriesNotFound."""
        last = await self._store.last_of_series(series_id)
        if last is None:
            raise SeriesNotFound
        return await self._store.series(series_id, after, limit), last

    async def ready(self) -> None:
        """Raises Unavailable unless the database takes changes."""
        await self._store.ready()

    # -- what the above share --------------------------------------------------------------------

    async def _change(
        self,
        game_id: str,
        check: Check,
        decide: Decide,
        caller: Caller,
    ) -> Answer:
        answer = await self._store.change(game_id, check, decide, caller.retry)
        if not (answer.replayed and answer.sealed):
            return answer
        return replace(answer, body=self._key.unseal(answer.body), sealed=False)

    def _told_once(self, writes: tuple[Write, ...], answer: Answer, nonce: bytes) -> Change:
        """A change whose answer holds tokens: a retry may see them again, the database never."""
        kept = replace(answer, body=self._key.seal(answer.body, nonce), sealed=True)
        return Change(writes, answer, kept)

    def _chain(self, hosted: HostedGame) -> KeyChain:
        """The key chain of a game; the last ones used are kept with their checkpoints."""
        game = hosted.game
        chain = self._chains.get(game.id)
        if chain is None:
            root = game.root if game.setup.seed_mode == "practice" else None
            chain = KeyChain(root or self._key.root(game.id, hosted.salt), game.setup.throws_max)
            if chain.commitment != game.setup.commitment:
                raise AssertionError("the root does not lead to the commitment")
            self._chains[game.id] = chain
            if len(self._chains) > _CHAINS_CACHED:
                self._chains.popitem(last=False)
        self._chains.move_to_end(game.id)
        return chain

    def _rematch_root(self, game: Game, next_id: str, salt: bytes) -> bytes:
        if game.setup.seed_mode == "practice" and game.root is not None:
            return tagged_hash("practice-rematch", game.root)
        return self._key.root(next_id, salt)

    def _start_if_full(self, write: Write, chain: KeyChain | None, at: int) -> Write:
        hosted = write.hosted
        if not hosted.start_when_full or hosted.game.open_seats():
            return write
        return _followed(write, games.start(hosted.game, chain or self._chain(hosted), at))


# --- who may ------------------------------------------------------------------------------------

HOST: Final = "host"
Role: TypeAlias = int | Literal["host"]


def _exists(found: HostedGame | None) -> HostedGame:
    if found is None:
        raise GameNotFound
    return found


def _require_game(found: HostedGame | None) -> None:
    _exists(found)


def _role(hosted: HostedGame, caller: Caller) -> Role:
    """The seat that a token acts for, or the host's role; every hash is compared."""
    if caller.token is None:
        raise TokenMissing
    sent = keys.token_hash(caller.token)
    role: Role | None = HOST if keys.same(sent, hosted.host_hash) else None
    for seat, held in enumerate(hosted.holders):
        if held is not None and held.token_hash is not None and keys.same(sent, held.token_hash):
            role = seat
    if role is None:
        raise TokenUnknown
    return role


def _host(caller: Caller) -> Callable[[HostedGame | None], None]:
    def check(found: HostedGame | None) -> None:
        if _role(_exists(found), caller) != HOST:
            raise HostOnly

    return check


def _seat_or_host(caller: Caller, seat: int) -> Callable[[HostedGame | None], None]:
    def check(found: HostedGame | None) -> None:
        hosted = _exists(found)
        if _role(hosted, caller) not in (HOST, seat):
            raise NotYourSeat
        if seat >= hosted.game.setup.seats:
            raise SeatNotFound

    return check


def _acting_seat(hosted: HostedGame, seat: int | None, action: Action, role: Role) -> int | None:
    """The seat that acts; null for what the table's host does for the table."""
    if isinstance(role, int):
        if seat not in (None, role):
            raise NotYourSeat
        return role
    game = hosted.game
    games.require_playing(game)
    legal = game.legal()
    if seat is None and any(one.seat is None and one.kind == action.kind for one in legal):
        return None
    if not hosted.hotseat:
        raise NotYourSeat
    if seat is not None:
        if seat >= game.setup.seats:
            raise SeatNotFound
        return seat
    candidates = {one.seat for one in legal if one.seat is not None}
    if len(candidates) != 1:
        raise InvalidInput(FieldError("/seat", "missing"))
    return candidates.pop()


def _require_version(hosted: HostedGame, caller: Caller) -> None:
    if caller.version is not None and caller.version != hosted.game.version:
        raise StaleVersion(version=hosted.game.version)


# --- changes of a game with all that stands beside it -------------------------------------------


def _followed(write: Write, step: Step) -> Write:
    return Write(replace(write.hosted, game=step.game), write.lines + step.lines)


def _with_holder(write: Write, seat: int, holder: Holder | None) -> Write:
    held = write.hosted.holders
    changed = (*held[:seat], holder, *held[seat + 1 :])
    return replace(write, hosted=replace(write.hosted, holders=changed))


def _seat(write: Write, seat: int, holder: Holder, at: int) -> Write:
    who = None if holder.name is None else pseudonym(holder.salt, holder.name).hex()
    step = games.join(write.hosted.game, seat, Player("human", who), at)
    return _with_holder(_followed(write, step), seat, holder)


def _changed(write: Write, render: Render) -> Change:
    return Change((write,), render(Done(write.hosted, write.lines)))


def _open_seat(game: Game, wanted: int | None) -> int:
    if wanted is not None:
        if wanted >= game.setup.seats:
            raise SeatNotFound
        return wanted
    if not game.open_seats():
        raise GameFull
    return game.open_seats()[0]


def _names(hosted: HostedGame) -> list[str | None]:
    return [None if held is None else held.name for held in hosted.holders]


def _require_distinct(names: Sequence[str | None]) -> None:
    given = [folded(name) for name in names if name is not None]
    if len(set(given)) < len(given):
        raise NameTaken


def tally(hosted: HostedGame) -> tuple[int, ...]:
    """The running tally of the series after this game."""
    game = hosted.game
    if game.outcome is None:
        return hosted.series.tally
    own = game.ruleset.tally(game.setup.options, game.outcome)
    return tuple(before + more for before, more in zip(hosted.series.tally, own, strict=True))


def _next_series(hosted: HostedGame, options: Any) -> Series:
    """The series goes on; its tally starts anew when the options search for something else."""
    game, series = hosted.game, hosted.series
    same = game.ruleset.tally_key(options) == game.ruleset.tally_key(game.setup.options)
    counted = tally(hosted) if same else (0,) * game.setup.seats
    return Series(series.id, series.number + 1, counted)
