"""PostgreSQL: connections, transactions, retries, group commit, migrations, and the embedded server."""

from malipo.db.database import Database
from malipo.db.errors import AccessRefused, ConnectionLost, Contention, DataError, DiskFull, ReadOnly
from malipo.db.transaction import Conn, Row, Tx

__all__ = [
    "AccessRefused",
    "Conn",
    "ConnectionLost",
    "Contention",
    "DataError",
    "Database",
    "DiskFull",
    "ReadOnly",
    "Row",
    "Tx",
]
