"""PostgreSQL: connections, transactions, retries, group commit, migrations, and the embedded server."""

from malipo.db.database import Database
from malipo.db.errors import ConnectionLost, Contention, DataError
from malipo.db.transaction import Conn, Row, Tx

__all__ = ["Conn", "ConnectionLost", "Contention", "DataError", "Database", "Row", "Tx"]
