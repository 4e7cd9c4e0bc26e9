"""The first tables: games, their logs and what stands beside them."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "game",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("ruleset", sa.String(64), nullable=False),
        sa.Column("open_seats", sa.SmallInteger(), nullable=False),
        sa.Column("visibility", sa.String(16), nullable=False),
        sa.Column("commitment", sa.LargeBinary(32), nullable=True),
        sa.Column("series_id", sa.String(64), nullable=False),
        sa.Column("series_number", sa.Integer(), nullable=False),
        sa.Column("host_hash", sa.LargeBinary(32), nullable=False),
        sa.Column("audit", sa.String(8), nullable=True),
        sa.Column("next_game", sa.String(64), nullable=True),
        sa.Column("setup", sa.Text(), nullable=False),
        sa.Column("snapshot", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_game"),
        sa.UniqueConstraint("commitment", name="uq_game_commitment"),
        sa.UniqueConstraint("series_id", "series_number", name="uq_game_series_id_series_number"),
    )
    op.create_index("ix_game_listing", "game", ["visibility", "status", "ruleset", "id"])
    unaudited = sa.text("status = 'finished' AND audit IS NULL")
    op.create_index(
        "ix_game_unaudited", "game", ["id"], sqlite_where=unaudited, postgresql_where=unaudited
    )
    op.create_table(
        "entry",
        sa.Column("game_id", sa.String(64), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("line", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("game_id", "seq", name="pk_entry"),
        sa.ForeignKeyConstraint(["game_id"], ["game.id"], name="fk_entry_game"),
    )
    op.create_table(
        "holder",
        sa.Column("game_id", sa.String(64), nullable=False),
        sa.Column("seat", sa.SmallInteger(), nullable=False),
        sa.Column("name", sa.String(160), nullable=True),
        sa.Column("salt", sa.LargeBinary(32), nullable=False),
        sa.Column("token_hash", sa.LargeBinary(32), nullable=True),
        sa.PrimaryKeyConstraint("game_id", "seat", name="pk_holder"),
        sa.ForeignKeyConstraint(["game_id"], ["game.id"], name="fk_holder_game"),
    )
    op.create_table(
        "root_salt",
        sa.Column("game_id", sa.String(64), nullable=False),
        sa.Column("salt", sa.LargeBinary(32), nullable=False),
        sa.PrimaryKeyConstraint("game_id", name="pk_root_salt"),
        sa.ForeignKeyConstraint(["game_id"], ["game.id"], name="fk_root_salt_game"),
    )
    op.create_table(
        "answer",
        sa.Column("scope", sa.LargeBinary(32), nullable=False),
        sa.Column("fingerprint", sa.LargeBinary(32), nullable=False),
        sa.Column("game_id", sa.String(64), nullable=False),
        sa.Column("status", sa.SmallInteger(), nullable=False),
        sa.Column("headers", sa.Text(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("sealed", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("scope", name="pk_answer"),
        sa.ForeignKeyConstraint(["game_id"], ["game.id"], name="fk_answer_game"),
    )
    op.create_index("ix_answer_game_id", "answer", ["game_id"])
    op.create_table(
        "server",
        sa.Column("id", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("key_fingerprint", sa.LargeBinary(32), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_server"),
    )


def downgrade() -> None:
    for table in ("server", "answer", "root_salt", "holder", "entry", "game"):
        op.drop_table(table)
