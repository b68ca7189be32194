"""The SQL of the check: all facts beside their payments, payments without a fact, and the moves of closed days."""

from datetime import date, datetime
from typing import NamedTuple

from malipo import clock
from malipo.db import Conn
from malipo.ledger.accounts import HOUSE
from malipo.receipts.fact import Kind
from malipo.receipts.store.logs import Published, find_each_published


class CheckedFact(NamedTuple):
    log: int
    leaf: int
    merchant_id: str
    subject_id: str
    kind: Kind
    ordinal: int
    entry: bytes
    salt: bytes | None
    fact: str | None
    is_known: bool  # the payment exists, and fits the kind
    refund_of: str | None
    reference: str
    type: str
    channel: str
    amount: int
    phone: str
    provider_reference: str | None
    ended_at: datetime | None


async def find_facts(connection: Conn, *, after: tuple[int, int], most: int) -> list[CheckedFact]:
    """The facts in the order of their places."""
    rows = await connection.fetch(
        """
        SELECT f.log_number AS log, f.leaf_index AS leaf, f.merchant_id, f.subject_id, f.kind, f.ordinal, f.entry,
               f.salt, f.fact,
               t.id IS NOT NULL AND f.transaction_id = coalesce(t.refund_of, t.id) AND CASE f.kind
                   WHEN 'corrected' THEN f.ordinal <= coalesce(c.told, 0)
                   WHEN 'refunded' THEN t.status = 'COMPLETED' AND t.refund_of IS NOT NULL
                   ELSE t.status = 'COMPLETED' AND t.refund_of IS NULL END AS is_known,
               t.refund_of, t.reference, t.type, t.channel, t.amount, t.phone, t.provider_reference, t.ended_at
        FROM receipt_facts f
        LEFT JOIN transactions t ON t.merchant_id = f.merchant_id AND t.id = f.subject_id
        LEFT JOIN corrections c ON c.merchant_id = f.merchant_id AND c.transaction_id = f.subject_id
        WHERE (f.log_number, f.leaf_index) > ($1, $2) ORDER BY f.log_number, f.leaf_index LIMIT $3
        """,
        *after,
        most,
    )
    return [CheckedFact(**dict(row) | {"kind": Kind(row["kind"])}) for row in rows]


async def find_missing(connection: Conn, *, most: int) -> list[str]:
    """Payments and corrections that have no leaf, though the log has passed their place in the feed."""
    rows = await connection.fetch(
        """
        SELECT t.id FROM transactions t JOIN feeds f ON f.merchant_id = t.merchant_id
        WHERE t.status = 'COMPLETED' AND f.logged_to >= f.pruned_to
          AND NOT EXISTS (
              SELECT FROM receipt_facts r
              WHERE r.merchant_id = t.merchant_id AND r.transaction_id = coalesce(t.refund_of, t.id)
                AND r.subject_id = t.id AND r.kind IN ('completed', 'refunded'))
          AND NOT EXISTS (
              SELECT FROM events e
              WHERE e.merchant_id = t.merchant_id AND e.transaction_id = t.id
                AND e.event IN ('payment.completed', 'payout.completed')
                AND (e.feed_number IS NULL OR e.feed_number > f.logged_to))
        UNION ALL
        SELECT t.id FROM corrections c JOIN feeds f ON f.merchant_id = c.merchant_id
        JOIN transactions t ON t.merchant_id = c.merchant_id AND t.id = c.transaction_id
        WHERE c.told > 0 AND f.logged_to >= f.pruned_to
          AND NOT EXISTS (
              SELECT FROM receipt_facts r
              WHERE r.merchant_id = t.merchant_id AND r.transaction_id = coalesce(t.refund_of, t.id)
                AND r.subject_id = t.id AND r.kind = 'corrected' AND r.ordinal = c.told)
          AND NOT EXISTS (
              SELECT FROM events e
              WHERE e.merchant_id = t.merchant_id AND e.transaction_id = t.id
                AND e.event IN ('payment.corrected', 'payout.corrected') AND e.ordinal = c.told
                AND (e.feed_number IS NULL OR e.feed_number > f.logged_to))
        LIMIT $1
        """,
        most,
    )
    return [row["id"] for row in rows]


async def count_behind(connection: Conn) -> int:
    """The number of numbered events that the log has not read yet."""
    return int(await connection.fetchval("SELECT coalesce(sum(last_number - logged_to), 0) FROM feeds"))


async def find_oldest_unread(connection: Conn) -> datetime | None:
    """When the oldest event was written that the log has not read yet; the beginning of time if the feed of a merchant
    has removed events before the log has read them."""
    found: datetime | None = await connection.fetchval(
        """
        SELECT CASE WHEN EXISTS (SELECT FROM feeds WHERE logged_to < pruned_to) THEN to_timestamp(0) ELSE least(
            (SELECT min(created_at) FROM events WHERE feed_number IS NULL),
            (SELECT min(e.created_at) FROM feeds f JOIN events e ON e.merchant_id = f.merchant_id
             WHERE f.logged_to < f.last_number AND e.feed_number > f.logged_to)) END
        """
    )
    return found


async def find_checkpoints(connection: Conn, log: int) -> list[Published]:
    found: list[Published] = []
    while page := await find_each_published(connection, log, after=found[-1].size if found else 0):
        found += page
    return found


async def find_days(connection: Conn, *, first: date, last: date) -> dict[tuple[date, str], int]:
    """The change of the float by day and channel: of payments by the log, and of corrections by the ledger. A payment
    whose fact was erased counts by its row."""
    day = clock.day_sql("m.created_at")
    rows = await connection.fetch(
        f"""
        SELECT day, channel, sum(amount)::bigint AS amount FROM (
            SELECT {day} AS day, m.channel, m.step,
                   CASE WHEN m.step = 'end' AND m.move_number = 1
                        THEN coalesce((SELECT coalesce((r.fact::json ->> 'amount')::bigint, t.amount)
                                       FROM receipt_facts r
                                       WHERE r.merchant_id = m.merchant_id AND r.subject_id = m.cause_id
                                         AND r.transaction_id = coalesce(t.refund_of, t.id)
                                         AND r.kind IN ('completed', 'refunded')), 0)
                        WHEN m.step = 'end' THEN 0
                        ELSE m.amount END
                   * CASE WHEN m.source = 'float' THEN 1 ELSE -1 END AS amount
            FROM moves m
            LEFT JOIN transactions t ON t.merchant_id = m.merchant_id AND t.id = m.cause_id
            WHERE 'float' IN (m.source, m.target) AND m.merchant_id <> '{HOUSE}'
              AND m.created_at >= ($1::date - 1)::timestamptz AND m.created_at < ($2::date + 2)::timestamptz
        ) AS moved WHERE day BETWEEN $1 AND $2 GROUP BY 1, 2
        """,
        first,
        last,
    )
    return {(row["day"], row["channel"]): row["amount"] for row in rows}
