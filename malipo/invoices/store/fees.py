"""The SQL of the fees that merchants were charged in a month, as the books count it: what was committed after the
closes of its last days belongs to the next month."""

from datetime import date, timedelta

from malipo import clock
from malipo.db import Conn
from malipo.invoices.invoice import FeeKind, FeeSum, last_day_of
from malipo.ledger.accounts import HOUSE
from malipo.reconciliation.close.business_day import begin_of, end_of
from malipo.reconciliation.close.late_moves import find_late
from malipo.reconciliation.close.store.late_moves import COUNTED_ON


async def find(connection: Conn, month: date, *, merchant_id: str | None = None) -> dict[str, list[FeeSum]]:
    """The fees of a closed month by merchant. A fee that was given back has the day on which it was charged, and
    the day on which the books count that."""
    last = last_day_of(month)
    before, late = await find_late(connection, month - timedelta(days=1)), await find_late(connection, last)
    rows = await connection.fetch(
        f"""
        SELECT f.merchant_id, f.kind, {clock.day_sql("f.created_at")} AS day, {clock.day_sql("f.charged_at")} AS of,
               f.counted_on, count(*) AS count, sum(f.amount)::bigint AS amount
        FROM (
            SELECT f.merchant_id, f.created_at, f.amount,
                   coalesce((SELECT lower(t.type) FROM transactions t
                             WHERE t.merchant_id = f.merchant_id AND t.id = f.cause_id),
                            CASE WHEN f.cause_id LIKE 'stl\\_%' THEN '{FeeKind.SETTLEMENT}' ELSE '{FeeKind.OTHER}' END
                           ) AS kind,
                   CASE WHEN f.source = 'fees' THEN coalesce(charged.created_at, f.created_at) END AS charged_at,
                   charged.counted_on
            FROM (
                SELECT * FROM moves m
                WHERE created_at >= $1 AND created_at < $2 AND 'fees' IN (source, target) AND ({before.is_later})
                  AND NOT (created_at >= $4 AND {late.is_later})
                UNION ALL
                SELECT * FROM moves m
                WHERE created_at >= $2 AND created_at < $3 AND 'fees' IN (source, target)
                  AND NOT (created_at >= $4 AND {late.is_later})
            ) AS f
            LEFT JOIN LATERAL (
                SELECT m.created_at, {COUNTED_ON} AS counted_on FROM moves m
                WHERE f.source = 'fees' AND m.merchant_id = f.merchant_id AND m.cause_id = f.cause_id
                  AND m.target = 'fees' AND m.created_at <= f.created_at
                ORDER BY m.created_at DESC LIMIT 1
            ) AS charged ON true
            WHERE f.merchant_id <> '{HOUSE}' AND ($5::text IS NULL OR f.merchant_id = $5)
        ) AS f
        GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
        """,
        begin_of(before.since),
        begin_of(month),
        end_of(last),
        begin_of(late.since),
        merchant_id,
    )
    found: dict[str, list[FeeSum]] = {}
    for row in rows:
        found.setdefault(row["merchant_id"], []).append(
            FeeSum(
                merchant_id=row["merchant_id"],
                fee=FeeKind(row["kind"]),
                day=row["day"],
                given_back_of=row["of"],
                counted_on=row["counted_on"],
                count=row["count"],
                amount=row["amount"],
            )
        )
    return found
