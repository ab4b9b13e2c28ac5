"""What Alembic runs to migrate: on the connection, in the transaction, that it is handed."""

from alembic import context

from benchvise.store.database import VERSION_TABLE
from benchvise.store.roles import grant_new
from benchvise.store.tables import METADATA

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=METADATA,
    version_table=VERSION_TABLE,
    transactional_ddl=True,  # on SQLite too: a store is either upgraded or as it was
)
context.run_migrations()
if connection.dialect.name == "postgresql":
    grant_new(connection)
