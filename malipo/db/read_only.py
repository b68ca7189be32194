"""Whether the database takes writes: a primary that became a standby answers, and takes none."""

from malipo.db.errors import ReadOnly
from malipo.db.transaction import Conn


async def require_writable(connection: Conn) -> None:
    if await connection.fetchval("SELECT current_setting('transaction_read_only')") == "on":
        raise ReadOnly("cannot write in a read-only database")
