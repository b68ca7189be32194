"""The SQL of the fees that merchants were charged in a month, as the books count it: late moves of its last day belong
to the next month."""

from datetime import date, timedelta

from malipo import clock
from malipo.db import Conn
from malipo.invoices.invoice import FeeKind, FeeSum, last_day_of
from malipo.ledger.accounts import HOUSE
from malipo.reconciliation.close.business_day import begin_of, end_of
from malipo.reconciliation.close.late_moves import find_late


async def find(connection: Conn, month: date, *, merchant_id: str | None = None) -> dict[str, list[FeeSum]]:
    """The fees of a closed month by merchant. A fee that was given back has the day on which it was charged."""
    last = last_day_of(month)
    before, late = await find_late(connection, month - timedelta(days=1)), await find_late(connection, last)
    rows = await connection.fetch(
        f"""
        SELECT m.merchant_id, m.kind, {clock.day_sql("m.created_at")} AS day, {clock.day_sql("m.charged_at")} AS of,
               count(*) AS count, sum(m.amount)::bigint AS amount
        FROM (
            SELECT m.merchant_id, m.created_at, m.amount,
                   coalesce((SELECT lower(t.type) FROM transactions t
                             WHERE t.merchant_id = m.merchant_id AND t.id = m.cause_id),
                            CASE WHEN m.cause_id LIKE 'stl\\_%' THEN '{FeeKind.SETTLEMENT}' ELSE '{FeeKind.OTHER}' END
                           ) AS kind,
                   CASE WHEN m.source = 'fees' THEN coalesce((
                       SELECT max(c.created_at) FROM moves c
                       WHERE c.merchant_id = m.merchant_id AND c.cause_id = m.cause_id AND c.target = 'fees'
                         AND c.created_at <= m.created_at), m.created_at) END AS charged_at
            FROM (
                SELECT * FROM moves m
                WHERE created_at >= $1 AND created_at < $2 AND 'fees' IN (source, target) AND ({before.is_late})
                UNION ALL
                SELECT * FROM moves m
                WHERE created_at >= $2 AND created_at < $3 AND 'fees' IN (source, target)
                  AND NOT (created_at >= $4 AND {late.is_late})
            ) AS m
            WHERE m.merchant_id <> '{HOUSE}' AND ($5::text IS NULL OR m.merchant_id = $5)
        ) AS m
        GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
        """,
        begin_of(before.day),
        begin_of(month),
        end_of(last),
        begin_of(last),
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
                count=row["count"],
                amount=row["amount"],
            )
        )
    return found
