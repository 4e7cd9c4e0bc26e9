"""When games are due, and on which day they last moved; indexes for lists and for tokens."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_DAY_MS = 24 * 3600 * 1000
_OLD = ["visibility", "status", "ruleset", "id"]
_INDEXES = {
    "ix_game_listing": ("game", ["visibility", "id"], None),
    "ix_game_status": ("game", ["visibility", "status", "id"], None),
    "ix_game_joinable": ("game", ["visibility", "id"], "open_seats > 0"),
    "ix_game_deadline": ("game", ["deadline", "id"], "deadline IS NOT NULL"),
    "ix_game_activity": ("game", ["status", "active_on", "id"], None),
    "ix_game_host_hash": ("game", ["host_hash", "id"], None),
    "ix_holder_token_hash": ("holder", ["token_hash", "game_id"], None),
}


def upgrade() -> None:
    op.add_column("game", sa.Column("deadline", sa.BigInteger(), nullable=True))
    # The default serves rows that are there; every row that is written names its day.
    day = sa.Column("active_on", sa.Integer(), nullable=False, server_default="0")
    op.add_column("game", day)
    sqlite = op.get_bind().dialect.name == "sqlite"
    at = "json_extract(snapshot, '$.at')" if sqlite else "(snapshot::json->>'at')::bigint"
    op.execute(sa.text(f"UPDATE game SET active_on = {at} / {_DAY_MS}"))  # noqa: S608
    op.execute("UPDATE game SET open_seats = 0 WHERE status <> 'waiting'")
    op.drop_index("ix_game_listing", "game")
    for name, (table, columns, where) in _INDEXES.items():
        partial = None if where is None else sa.text(where)
        op.create_index(name, table, columns, sqlite_where=partial, postgresql_where=partial)


def downgrade() -> None:
    for name, (table, _, _) in _INDEXES.items():
        op.drop_index(name, table)
    op.create_index("ix_game_listing", "game", _OLD)
    op.drop_column("game", "active_on")
    op.drop_column("game", "deadline")
