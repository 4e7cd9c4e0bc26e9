"""Runs the migrations on the connection that the program hands over, or on alembic's ``-x url=``.

Every migration stands for itself: none imports the program, whose code moves on.
"""

from alembic import context
from sqlalchemy import NullPool, create_engine, make_url


def run(connection) -> None:
    context.configure(connection=connection, transaction_per_migration=False)
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    url = make_url(context.get_x_argument(as_dictionary=True)["url"])
    if url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    with create_engine(url, poolclass=NullPool).begin() as opened:
        run(opened)
