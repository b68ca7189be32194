"""The SQL of logs, their checkpoints, keys and tiles."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import NamedTuple

from malipo.db import Conn, Tx
from malipo.receipts.tiles import Tile

# Advisory locks: numbers that no other lock uses.
_SIGNER = 0x6D616C72  # is held until the checkpoint is published
_APPENDER = 0x6D616C73


async def lock_appending(tx: Tx) -> None:
    """Keep other transactions from appending, and from creating a log, until the commit."""
    await tx.execute(f"SELECT pg_advisory_xact_lock({_APPENDER})")


async def try_lock_signer(tx: Tx) -> bool:
    """Take the lock of signing until the commit. Returns False if another worker has it and signs."""
    return bool(await tx.fetchval(f"SELECT pg_try_advisory_xact_lock({_SIGNER})"))


class Log(NamedTuple):
    number: int
    installation_epoch: int
    origin: str
    size: int
    genesis: str | None
    begun_by: str | None
    is_key_to_change: bool


_COLUMNS = "number, installation_epoch, origin, size, genesis, begun_by, is_key_to_change"


async def make(tx: Tx, name: str | None, *, begun_by: str | None = None) -> int:
    """Create a log of the current epoch with only its first leaf, under a new number. Returns the number.

    Without a name it gets that of the installation. The caller holds the lock of appending.
    """
    number: int = await tx.fetchval(
        """
        INSERT INTO receipt_logs (number, installation_epoch, origin, begun_by)
        SELECT n.number, i.epoch, coalesce($1, 'malipo/' || i.id) || '/' || n.number, $2
        FROM installation i, (
            SELECT greatest(floor(extract(epoch FROM clock_timestamp()))::bigint, coalesce(max(number), 0) + 1)
                   AS number FROM receipt_logs) n
        RETURNING number
        """,
        name,
        begun_by,
    )
    return number


async def find_all(connection: Conn) -> list[Log]:
    """All logs, the oldest first."""
    rows = await connection.fetch(f"SELECT {_COLUMNS} FROM receipt_logs ORDER BY number")
    return [Log(*row.values()) for row in rows]


async def find(connection: Conn, number: int) -> Log | None:
    row = await connection.fetchrow(f"SELECT {_COLUMNS} FROM receipt_logs WHERE number = $1", number)
    return None if row is None else Log(*row.values())


async def find_latest(connection: Conn) -> Log | None:
    row = await connection.fetchrow(f"SELECT {_COLUMNS} FROM receipt_logs ORDER BY number DESC LIMIT 1")
    return None if row is None else Log(*row.values())


class Outline(NamedTuple):
    """While this is unchanged and nothing was due, nothing is due."""

    epoch: int
    is_fenced: bool
    log: int | None
    size: int | None
    is_key_to_change: bool | None
    published: int | None


async def find_outline(connection: Conn) -> Outline:
    row = await connection.fetchrow(
        """
        SELECT i.epoch, i.fenced_at IS NOT NULL, l.number, l.size, l.is_key_to_change,
               (SELECT max(c.size) FROM receipt_checkpoints c WHERE c.log_number = l.number)
        FROM installation i
        LEFT JOIN LATERAL (
            SELECT number, size, is_key_to_change FROM receipt_logs ORDER BY number DESC LIMIT 1) l ON true
        """
    )
    assert row is not None
    return Outline(*row.values())


async def begin(tx: Tx, number: int, genesis: str) -> None:
    await tx.execute("UPDATE receipt_logs SET genesis = $2 WHERE number = $1", number, genesis)


async def set_key_to_change(tx: Tx, number: int, *, to_change: bool) -> None:
    await tx.execute("UPDATE receipt_logs SET is_key_to_change = $2 WHERE number = $1", number, to_change)


# Checkpoints.


class Published(NamedTuple):
    log: int
    size: int
    note: str
    signed_at: datetime


_PUBLISHED = "log_number, size, note, signed_at"


async def publish(tx: Tx, checkpoint: Published) -> None:
    await tx.execute(
        """
        INSERT INTO receipt_checkpoints (log_number, size, note, signed_at) VALUES ($1, $2, $3, $4)
        ON CONFLICT (log_number, size) DO UPDATE SET note = excluded.note, signed_at = excluded.signed_at
        """,
        *checkpoint,
    )


async def find_published(connection: Conn, *, log: int | None = None) -> Published | None:
    """The last published checkpoint of a log, or of the latest log that has one."""
    row = await connection.fetchrow(
        f"""
        SELECT {_PUBLISHED} FROM receipt_checkpoints WHERE $1::bigint IS NULL OR log_number = $1
        ORDER BY log_number DESC, size DESC LIMIT 1
        """,
        log,
    )
    return None if row is None else Published(*row.values())


async def find_each_published(connection: Conn, log: int, *, after: int = 0, most: int = 1000) -> list[Published]:
    rows = await connection.fetch(
        f"SELECT {_PUBLISHED} FROM receipt_checkpoints WHERE log_number = $1 AND size > $2 ORDER BY size LIMIT $3",
        log,
        after,
        most,
    )
    return [Published(*row.values()) for row in rows]


# Tiles.


async def find_tiles(connection: Conn, log: int, wanted: Collection[Tile]) -> dict[Tile, bytes]:
    """The stored ones of these tiles."""
    rows = await connection.fetch(
        """
        SELECT t.level, t.tile, t.hashes FROM unnest($2::smallint[], $3::bigint[]) AS w (level, tile)
        JOIN receipt_tiles t ON t.log_number = $1 AND t.level = w.level AND t.tile = w.tile
        """,
        log,
        [each.level for each in wanted],
        [each.number for each in wanted],
    )
    return {Tile(row["level"], row["tile"]): row["hashes"] for row in rows}


async def find_last_tiles(connection: Conn, log: int) -> dict[int, tuple[int, bytes]]:
    """The last tile of each level."""
    rows = await connection.fetch(
        """
        SELECT DISTINCT ON (level) level, tile, hashes FROM receipt_tiles WHERE log_number = $1
        ORDER BY level, tile DESC
        """,
        log,
    )
    return {row["level"]: (row["tile"], row["hashes"]) for row in rows}


async def count_leaf_tiles(connection: Conn, log: int) -> int:
    """The number of stored complete tiles of leaves."""
    last: int | None = await connection.fetchval(
        "SELECT max(tile) FROM receipt_tiles WHERE log_number = $1 AND level = 0", log
    )
    return 0 if last is None else last + 1


async def write_tiles(tx: Tx, log: int, tiles: Mapping[Tile, bytes]) -> None:
    await tx.execute(
        """
        INSERT INTO receipt_tiles (log_number, level, tile, hashes)
        SELECT $1, * FROM unnest($2::smallint[], $3::bigint[], $4::bytea[])
        ON CONFLICT (log_number, level, tile) DO UPDATE SET hashes = excluded.hashes
        """,
        log,
        [each.level for each in tiles],
        [each.number for each in tiles],
        [*tiles.values()],
    )


# Keys.


class LogKey(NamedTuple):
    id: str
    log: int
    secret: bytes
    public_key: bytes
    is_retired: bool
    handover: str | None
    created_at: datetime


_KEY = "id, log_number, secret, public_key, retired_at IS NOT NULL, handover, created_at"


async def find_keys(connection: Conn) -> list[LogKey]:
    """All keys, the oldest first."""
    rows = await connection.fetch(f"SELECT {_KEY} FROM receipt_log_keys ORDER BY log_number, created_at, id")
    return [LogKey(*row.values()) for row in rows]


async def insert_key(
    tx: Tx, key_id: str, log: int, secret: bytes, public_key: bytes, *, handover: str | None, now: datetime
) -> None:
    """Insert a key, and retire the keys of the log before it."""
    await tx.execute(
        "UPDATE receipt_log_keys SET retired_at = $2 WHERE retired_at IS NULL AND log_number <= $1", log, now
    )
    await tx.execute(
        """
        INSERT INTO receipt_log_keys (id, log_number, secret, public_key, created_at, handover)
        VALUES ($1, $2, $3, $4, $5, $6)
        """,
        key_id,
        log,
        secret,
        public_key,
        now,
        handover,
    )


async def set_handover(tx: Tx, key_id: str, handover: str) -> None:
    await tx.execute("UPDATE receipt_log_keys SET handover = $2 WHERE id = $1", key_id, handover)


async def restore_key(tx: Tx, key: LogKey, *, now: datetime) -> None:
    """Insert a key that a restore has lost. If the database signs its log, this key signs it from now on."""
    retired = await tx.execute(
        "UPDATE receipt_log_keys SET retired_at = $2 WHERE retired_at IS NULL AND log_number = $1 AND created_at < $3",
        key.log,
        now,
        key.created_at,
    )
    await tx.execute(
        """
        INSERT INTO receipt_log_keys (id, log_number, secret, public_key, created_at, retired_at, handover)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        """,
        key.id,
        key.log,
        key.secret,
        key.public_key,
        key.created_at,
        None if retired == "UPDATE 1" else now,
        key.handover,
    )


async def set_secret(tx: Tx, key_id: str, secret: bytes) -> None:
    await tx.execute("UPDATE receipt_log_keys SET secret = $2 WHERE id = $1", key_id, secret)


# Who signs.


class Signer(NamedTuple):
    worker_id: str
    host: str
    refused: str | None
    looked_at: datetime


async def record_signer(tx: Tx, worker_id: str, host: str, refused: str | None) -> None:
    await tx.execute(
        """
        INSERT INTO receipt_log_signers (worker_id, host, refused, looked_at) VALUES ($1, $2, $3, now())
        ON CONFLICT (worker_id) DO UPDATE SET host = excluded.host, refused = excluded.refused, looked_at = now()
        """,
        worker_id,
        host,
        refused,
    )
    await tx.execute("DELETE FROM receipt_log_signers WHERE looked_at < now() - interval '7 days'")


async def find_signers(connection: Conn) -> list[Signer]:
    rows = await connection.fetch(
        "SELECT worker_id, host, refused, looked_at FROM receipt_log_signers ORDER BY looked_at DESC"
    )
    return [Signer(*row.values()) for row in rows]
