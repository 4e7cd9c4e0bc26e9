"""The tables. ``migrations/`` creates them; a test compares the two."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

_UNAUDITED = text("status = 'finished' AND audit IS NULL")
_TIMED = text("deadline IS NOT NULL")
_JOINABLE = text("open_seats > 0")

# `setup` holds what never changes of a game, `snapshot` the game after its entry `version`; the
# columns beside them repeat what is searched for. `commitment` is null for practice games, whose
# roots are no secret. `deadline` is when the game goes on without those it waits for (ms UTC);
# `active_on` is the day of its last entry, counted from 1970: no finer, because an index that
# changes with every action makes every action dearer.
game = Table(
    "game",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("revision", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("status", String(16), nullable=False),
    Column("ruleset", String(64), nullable=False),
    Column("open_seats", SmallInteger, nullable=False),
    Column("visibility", String(16), nullable=False),
    Column("commitment", LargeBinary(32), unique=True),
    Column("series_id", String(64), nullable=False),
    Column("series_number", Integer, nullable=False),
    Column("host_hash", LargeBinary(32), nullable=False),
    Column("audit", String(8)),
    Column("deadline", BigInteger),
    Column("active_on", Integer, nullable=False, server_default="0"),
    Column("next_game", String(64)),
    Column("setup", Text, nullable=False),
    Column("snapshot", Text, nullable=False),
    UniqueConstraint("series_id", "series_number"),
    Index("ix_game_listing", "visibility", "id"),
    Index("ix_game_status", "visibility", "status", "id"),
    Index(
        "ix_game_joinable",
        "visibility",
        "id",
        sqlite_where=_JOINABLE,
        postgresql_where=_JOINABLE,
    ),
    Index("ix_game_deadline", "deadline", "id", sqlite_where=_TIMED, postgresql_where=_TIMED),
    Index("ix_game_activity", "status", "active_on", "id"),
    Index("ix_game_host_hash", "host_hash", "id"),
    Index("ix_game_unaudited", "id", sqlite_where=_UNAUDITED, postgresql_where=_UNAUDITED),
)

# One line a row, the bytes that were hashed: the truth of a game.
entry = Table(
    "entry",
    metadata,
    Column("game_id", String(64), ForeignKey("game.id"), primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("line", LargeBinary, nullable=False),
)

# Names and tokens, beside the log so that they can be erased or changed.
holder = Table(
    "holder",
    metadata,
    Column("game_id", String(64), ForeignKey("game.id"), primary_key=True),
    Column("seat", SmallInteger, primary_key=True, autoincrement=False),
    Column("name", String(160)),
    Column("salt", LargeBinary(32), nullable=False),
    Column("token_hash", LargeBinary(32)),
    Index("ix_holder_token_hash", "token_hash", "game_id"),
)

# With the server key, which is not in the database, the salt leads to the root of the game.
root_salt = Table(
    "root_salt",
    metadata,
    Column("game_id", String(64), ForeignKey("game.id"), primary_key=True),
    Column("salt", LargeBinary(32), nullable=False),
)

# Answers that a retry with the same Idempotency-Key is given again, byte for byte.
answer = Table(
    "answer",
    metadata,
    Column("scope", LargeBinary(32), primary_key=True),
    Column("fingerprint", LargeBinary(32), nullable=False),
    Column("game_id", String(64), ForeignKey("game.id"), nullable=False),
    Column("status", SmallInteger, nullable=False),
    Column("headers", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("sealed", Boolean, nullable=False),
    Index("ix_answer_game_id", "game_id"),
)

# One row: which server key this database belongs to.
server = Table(
    "server",
    metadata,
    Column("id", SmallInteger, primary_key=True, autoincrement=False),
    Column("key_fingerprint", LargeBinary(32), nullable=False),
)

# Who is present at each process that serves; a lease tells which of them still live. `seats` is
# JSON, `until` milliseconds by the clock of the database.
presence = Table(
    "presence",
    metadata,
    Column("worker", String(32), primary_key=True),
    Column("revision", BigInteger, nullable=False),
    Column("until", BigInteger, nullable=False),
    Column("seats", Text, nullable=False),
)
