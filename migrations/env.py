"""Runs the migrations on the connection that the program hands over, or on alembic's ``-x url=``.

Every migration stands for itself: none imports the program, whose code moves on.
"""

from alembic import context
from sqlalchemy import create_engine


def run(connection) -> None:
    context.configure(connection=connection, transaction_per_migration=False)
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    with create_engine(context.get_x_argument(as_dictionary=True)["url"]).begin() as opened:
        run(opened)
