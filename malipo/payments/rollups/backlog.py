"""The backlog of the rollups: payments that have not ended, and ended ones that are not counted yet."""

from collections.abc import Sequence
from dataclasses import dataclass

from malipo.db import Conn, Tx
from malipo.outbox.event import IS_END
from malipo.rollups.store import Rollup

# The transactions of merchant $1 that are neither in the rollups nor in the search index, as `uncounted`. Together with
# the counted ones they are all transactions, each once, at every moment. (They are few, and the plan relies on that.)
UNCOUNTED = f"""
    unnumbered AS MATERIALIZED (
        SELECT merchant_id, transaction_id FROM events WHERE feed_number IS NULL AND {IS_END}
    ), ended AS (
        SELECT transaction_id FROM unnumbered WHERE merchant_id = $1
        UNION ALL
        SELECT e.transaction_id
        FROM generate_series(
            coalesce((SELECT position FROM rollup_positions
                      WHERE merchant_id = $1 AND rollup = 'payments'), 0) + 1,
            (SELECT last_number FROM feeds WHERE merchant_id = $1)
        ) AS place JOIN events e ON e.merchant_id = $1 AND e.feed_number = place
        WHERE e.{IS_END}
    ), uncounted AS MATERIALIZED (
        SELECT t.merchant_id, t.id, t.type, t.channel, t.status, t.search_text
        FROM ended JOIN transactions t ON t.merchant_id = $1 AND t.id = ended.transaction_id
        UNION ALL
        SELECT t.merchant_id, t.id, t.type, t.channel, t.status, t.search_text
        FROM dispatches d JOIN transactions t ON t.merchant_id = d.merchant_id AND t.id = d.transaction_id
        -- The row of a payment that has ended may be back in the queue.
        WHERE d.merchant_id = $1 AND t.ended_at IS NULL
    )
"""


@dataclass(frozen=True, slots=True)
class LaggingMerchant:
    """A merchant whose rollups are behind the feed, and the last number of the feed."""

    merchant_id: str
    last_number: int


@dataclass(frozen=True, slots=True)
class EndedPayment:
    merchant_id: str
    id: str
    type: str
    channel: str
    status: str
    search_text: str


async def find_behind(connection: Conn, *, least: int, most: int) -> list[LaggingMerchant]:
    """The merchants with at least so many events that the counter has not read, those with the most first."""
    rows = await connection.fetch(
        """
        SELECT f.merchant_id, f.last_number FROM feeds f
        LEFT JOIN rollup_positions m ON m.merchant_id = f.merchant_id AND m.rollup = $1
        WHERE f.last_number - coalesce(m.position, 0) >= $2
        ORDER BY f.last_number - coalesce(m.position, 0) DESC LIMIT $3
        """,
        Rollup.PAYMENTS,
        least,
        most,
    )
    return [LaggingMerchant(row["merchant_id"], row["last_number"]) for row in rows]


async def find_ended(
    tx: Tx, merchant_ids: Sequence[str], after: Sequence[int], last: Sequence[int]
) -> list[EndedPayment]:
    """The payments whose end is between these numbers of the merchants' feeds."""
    rows = await tx.fetch(
        f"""
        SELECT t.merchant_id, t.id, t.type, t.channel, t.status, t.search_text
        FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS span (merchant_id, after, last)
        JOIN events e ON e.merchant_id = span.merchant_id AND e.feed_number > span.after AND e.feed_number <= span.last
        JOIN transactions t ON t.merchant_id = e.merchant_id AND t.id = e.transaction_id
        WHERE e.{IS_END}
        """,
        merchant_ids,
        after,
        last,
    )
    return [EndedPayment(*row.values()) for row in rows]
