"""What Alembic runs to migrate: on the connection, in the transaction, that it is handed."""

from alembic import context

from benchvise.store.models import Base
from benchvise.store.schema import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=True,  # on SQLite too: a store is either upgraded or as it was
)
context.run_migrations()
