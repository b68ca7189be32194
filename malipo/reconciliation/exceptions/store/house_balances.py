"""The SQL of the house's balances, as the ledger has them now."""

from malipo.db import Conn


async def find(connection: Conn) -> dict[str, int]:
    """The balance of each account that is neither a merchant's nor a float: bank, fees, suspense, losses, network fees.

    They are computed from tables that are short compared with the moves: bookings, corrections, settlements, and the
    daily totals with the payments that no worker has added to them yet.
    """
    rows = await connection.fetch(
        """
        SELECT account, sum(change)::bigint FROM (
            SELECT entry.* FROM (
                SELECT source, target, amount FROM house_bookings
                UNION ALL
                SELECT source, target, amount FROM moves WHERE step IN ('contradiction', 'resolution')
            ) AS moved CROSS JOIN LATERAL (VALUES (target, amount), (source, -amount)) AS entry (account, change)
            UNION ALL
            SELECT CASE WHEN releases IS NULL THEN 'bank' ELSE 'suspense' END,
                   CASE WHEN kind IN ('top_up', 'suspense_release') THEN -amount ELSE amount END FROM bookings
            UNION ALL
            SELECT entry.* FROM settlements s
            JOIN moves m ON m.merchant_id = s.merchant_id AND m.cause_id = s.id AND m.step IN ('end', 'return')
            CROSS JOIN LATERAL (VALUES (m.target, m.amount), (m.source, -m.amount)) AS entry (account, change)
            UNION ALL
            SELECT 'fees', fees FROM daily_totals
            UNION ALL
            SELECT 'fees', t.fee
            FROM events e JOIN transactions t ON t.merchant_id = e.merchant_id AND t.id = e.transaction_id
            WHERE e.feed_number IS NULL AND e.event IN ('payment.completed', 'payout.completed')
        ) AS changes WHERE account NOT IN ('float', 'wallet', 'in_flight', 'in_settlement') GROUP BY 1
        """
    )
    return {row[0]: row[1] for row in rows}
