"""The naive way, kept here only to be measured against: an ORM, one transaction a request.

    python -m bench.naive

The same rules, tables in the same spirit (a game's row with its snapshot, a row for each entry of
its log, a row for each answer that a retry may ask for) and the same durability. Key chains are
kept between requests and the answer is the same, so that what differs is how it is stored. It is
run as `cubilete serve` runs its application, over CUBILETE_DATABASE_URL.
"""

import json
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any, Final

from fastapi import Depends, FastAPI, Header, HTTPException, Response
from sqlalchemy import Connection, ForeignKey, event, make_url
from sqlalchemy.ext.asyncio import (
    AsyncEngine,
    AsyncSession,
    async_sessionmaker,
    create_async_engine,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from bench.act import Act
from service import cli, keys, rules, steps
from service import game as games
from service.api import views
from service.dice import KeyChain
from service.game import Player
from service.rules.base import Action, Hold, Roll
from service.settings import Settings, read
from service.store import Holder, HostedGame, Series

_ACTIONS: Final[dict[str, Action]] = {"roll": Roll(kind="roll"), "hold": Hold(kind="hold")}
_NAMES: Final = ("Ana", "Ben")
_POOL: Final = 16
_PATIENCE_S: Final = 60


class Base(DeclarativeBase):
    """The tables."""


class Game(Base):
    """A game as it stands."""

    __tablename__ = "game"

    id: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int]
    host_hash: Mapped[bytes]
    root: Mapped[bytes]
    setup: Mapped[str]
    snapshot: Mapped[str]


class Entry(Base):
    """One line of its log."""

    __tablename__ = "entry"

    game_id: Mapped[str] = mapped_column(ForeignKey("game.id"), primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    line: Mapped[bytes]
    game: Mapped[Game] = relationship()


class KeptAnswer(Base):
    """An answer that a retry is given again."""

    __tablename__ = "answer"

    key: Mapped[str] = mapped_column(primary_key=True)
    game_id: Mapped[str] = mapped_column(ForeignKey("game.id"))
    body: Mapped[bytes]
    game: Mapped[Game] = relationship()


def open_engine(settings: Settings) -> AsyncEngine:
    """An engine as durable as ours, whose requests wait for each other instead of failing."""
    url = make_url(settings.database)
    if url.get_backend_name() == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
        return create_async_engine(url, pool_size=_POOL, max_overflow=0, pool_timeout=_PATIENCE_S)
    engine = create_async_engine(
        url.set(drivername="sqlite+aiosqlite"),
        pool_size=1,  # more of them fight for the one lock there is
        max_overflow=0,
        pool_timeout=_PATIENCE_S,
        connect_args={"timeout": _PATIENCE_S, "isolation_level": None},
    )

    @event.listens_for(engine.sync_engine, "connect")
    def set_pragmas(connection: Any, _: object) -> None:
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine.sync_engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


settings: Final = read()
engine: Final = open_engine(settings)
sessions: Final = async_sessionmaker(engine, expire_on_commit=False)
signing: Final = keys.SigningKeys(os.urandom(32))
chains: Final[dict[str, KeyChain]] = {}


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    """Makes the tables."""
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    yield
    await engine.dispose()


app: Final = FastAPI(lifespan=lifespan)


async def session() -> AsyncIterator[AsyncSession]:
    """The session of one request."""
    async with sessions() as opened:
        yield opened


Opened = Annotated[AsyncSession, Depends(session)]


@app.get("/readyz")
async def read_ready() -> dict[str, str]:
    """Whether it serves."""
    return {"status": "ok"}


@app.post("/v1/games", status_code=201)
async def create_game(opened: Opened) -> dict[str, Any]:
    """A game of Pig without an end to speak of, whatever the body asks for."""
    ruleset, at = rules.ruleset("pig"), _now()
    options = ruleset.parse_options({"target": 10_000, "starter": "seat"}, 2)
    game_id, root = keys.new_game_id(at, os.urandom), os.urandom(32)
    chain = chains[game_id] = KeyChain(root, ruleset.throws_max(options, 2))
    step = steps.create(game_id, ruleset, options, 2, "operator", chain, at)
    for seat in (0, 1):
        step = step.then(steps.join(step.game, seat, Player("human", None), at))
    step = step.then(steps.start(step.game, chain, at))
    token = keys.new_token("host", os.urandom)
    async with opened.begin():
        setup = json.dumps(step.game.setup.to_json())
        row = Game(id=game_id, host_hash=keys.token_hash(token), root=root, setup=setup)
        _write(opened, row, step)
    return {"game": {"id": game_id}, "tokens": {"host": token, "seats": []}}


@app.post("/v1/games/{id}/actions", response_model=None)
async def act(
    id: str,
    action: Act,
    opened: Opened,
    authorization: Annotated[str, Header()],
    idempotency_key: Annotated[str | None, Header()] = None,
) -> dict[str, Any] | Response:
    """One action, in a transaction of its own."""
    async with opened.begin():
        if idempotency_key is not None:
            kept = await opened.get(KeptAnswer, idempotency_key)
            if kept is not None:
                return Response(kept.body, media_type="application/json")
        row = await opened.get(Game, id, with_for_update=True)
        if row is None:
            raise HTTPException(404)
        sent = keys.token_hash(authorization.removeprefix("Bearer "))
        if not keys.same(sent, row.host_hash):
            raise HTTPException(401)
        setup = games.Setup.from_json(json.loads(row.setup))
        game = games.load(id, setup, json.loads(row.snapshot))
        if id not in chains:
            chains[id] = KeyChain(row.root, game.setup.throws_max)
        step = steps.act(game, game.to_act()[0], _ACTIONS[action.kind], chains[id], _now())
        _write(opened, row, step)
        answer = _answer(step)
        if idempotency_key is not None:
            body = json.dumps(answer).encode()
            opened.add(KeptAnswer(key=idempotency_key, game=row, body=body))
    return answer


def _write(opened: AsyncSession, row: Game, step: steps.Step) -> None:
    row.version = step.game.version
    row.snapshot = json.dumps(games.dump(step.game))
    opened.add(row)
    first = step.game.version - len(step.lines) + 1
    opened.add_all(
        Entry(game=row, seq=seq, line=line) for seq, line in enumerate(step.lines, first)
    )


def _answer(step: steps.Step) -> dict[str, Any]:
    game = step.game
    hosted = HostedGame(
        game=game,
        holders=tuple(Holder(name, bytes(32), None) for name in _NAMES),
        host_hash=bytes(32),
        salt=bytes(32),
        hotseat=True,
        visibility="public",
        start_when_full=True,
        created_at=game.at,
        series=Series(game.id, 1, (0, 0)),
    )
    return {
        "entry": json.loads(step.lines[0]),
        "game": views.game_json(hosted, ()),
        "receipt": signing.sign(game.id, game.version, game.head).to_json(),
    }


def _now() -> int:
    return time.time_ns() // 1_000_000


if __name__ == "__main__":
    cli._run(settings, app)
