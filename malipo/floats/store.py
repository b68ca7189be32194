"""The SQL of floats. Readings are appended; old readings by workers are pruned."""

from collections.abc import Sequence
from datetime import datetime

from malipo.db import Conn, Tx
from malipo.floats.position import FloatReading, Position, Source, position_of
from malipo.networks.connector import Channel

_COLUMNS = "channel, account, amount, source, read_at, noted_by, is_shared"


async def insert(tx: Tx, readings: Sequence[FloatReading]) -> None:
    await tx.executemany(
        f"INSERT INTO float_readings ({_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7)",
        [tuple(each) for each in readings],
    )


async def find_latest(connection: Conn) -> list[FloatReading]:
    """The latest reading of each account and source, each found by one look into an index."""
    rows = await connection.fetch(
        f"""
        WITH RECURSIVE sources AS (
            (SELECT channel, account, source FROM float_readings ORDER BY channel, account, source LIMIT 1)
            UNION ALL
            SELECT later.* FROM sources s CROSS JOIN LATERAL (
                SELECT r.channel, r.account, r.source FROM float_readings r
                WHERE (r.channel, r.account, r.source) > (s.channel, s.account, s.source)
                ORDER BY r.channel, r.account, r.source LIMIT 1
            ) later
        )
        SELECT latest.* FROM sources s CROSS JOIN LATERAL (
            SELECT {_COLUMNS} FROM float_readings r
            WHERE (r.channel, r.account, r.source) = (s.channel, s.account, s.source)
            ORDER BY read_at DESC, id DESC LIMIT 1
        ) latest
        """
    )
    return [FloatReading(**{**row, "source": Source(row["source"])}) for row in rows]


async def find_ledger_floats(connection: Conn) -> dict[str, int]:
    """The ledger's balance at each network: collected less paid out, with corrections and house bookings.

    It is computed from the daily totals, which are few compared with the moves, and which the ledger check compares
    with the payments. Payments that are not in the totals yet are added.
    """
    rows = await connection.fetch(
        """
        SELECT channel, sum(amount)::bigint FROM (
            SELECT channel, CASE type WHEN 'COLLECTION' THEN amount ELSE -amount END AS amount FROM daily_totals
            UNION ALL
            SELECT t.channel, CASE t.type WHEN 'COLLECTION' THEN t.amount ELSE -t.amount END
            FROM events e JOIN transactions t ON t.merchant_id = e.merchant_id AND t.id = e.transaction_id
            WHERE e.feed_number IS NULL AND e.event IN ('payment.completed', 'payout.completed')
            UNION ALL
            SELECT channel, CASE WHEN source = 'float' THEN amount ELSE -amount END FROM moves
            WHERE step IN ('contradiction', 'resolution') AND 'float' IN (source, target)
            UNION ALL
            SELECT channel, CASE WHEN source = 'float' THEN amount ELSE -amount END FROM house_bookings
            WHERE 'float' IN (source, target)
        ) AS changes GROUP BY 1
        """
    )
    return {row[0]: row[1] for row in rows}


async def find_in_flight(connection: Conn) -> dict[str, int]:
    """Payouts of each channel that have not ended."""
    rows = await connection.fetch(
        """
        SELECT d.channel, sum(t.amount)::bigint
        FROM dispatches d JOIN transactions t ON t.merchant_id = d.merchant_id AND t.id = d.transaction_id
        WHERE d.type = 'DISBURSEMENT' AND NOT d.is_follow_up GROUP BY 1
        """
    )
    return {row[0]: row[1] for row in rows}


async def find_positions(connection: Conn, *, ledger: dict[str, int] | None = None) -> list[Position]:
    """The position of every channel. The ledger's floats are sums of many rows, so a frequent caller passes the last
    sums."""
    floats = await find_ledger_floats(connection) if ledger is None else ledger
    readings, in_flight = await find_latest(connection), await find_in_flight(connection)
    accounts = await _find_accounts(connection)
    return [
        position_of(
            channel,
            ledger=floats.get(channel, 0),
            readings=readings,
            in_flight=in_flight,
            accounts=[account for of, account in accounts if of == channel],
        )
        for channel in Channel
    ]


async def _find_accounts(connection: Conn) -> list[tuple[str, str]]:
    """The accounts between which and the bank money was transferred, or that had an opening balance, each with its
    channel."""
    rows = await connection.fetch(
        """
        SELECT DISTINCT channel, account FROM house_bookings
        WHERE kind IN ('bank_transfer', 'opening_balance') AND channel <> ''
        """
    )
    return [(row["channel"], row["account"]) for row in rows]


async def is_read_since(connection: Conn, channel: str, account: str, since: datetime) -> bool:
    """Whether a worker has read the balance since a time."""
    return bool(
        await connection.fetchval(
            """
            SELECT EXISTS (SELECT FROM float_readings
                           WHERE channel = $1 AND account = $2 AND source = 'network' AND read_at > $3)
            """,
            channel,
            account,
            since,
        )
    )


async def prune(tx: Tx, *, before: datetime, most: int) -> int:
    """Delete workers' readings before this time, except the latest of each account. Returns how many."""
    done = await tx.execute(
        """
        DELETE FROM float_readings WHERE id IN (
            SELECT r.id FROM float_readings r
            WHERE r.source = 'network' AND r.read_at < $1 AND EXISTS (
                SELECT FROM float_readings n
                WHERE (n.channel, n.account, n.source) = (r.channel, r.account, r.source) AND n.read_at > r.read_at)
            LIMIT $2
        )
        """,
        before,
        most,
    )
    return int(done.removeprefix("DELETE "))
