"""Sums of the bank's lines and of the ledger's bank, in cents."""

from datetime import date

from malipo.bank.store.lines import LINE_COUNTS, UNMATCHED, find_bookings
from malipo.bank_evidence.which_count import COUNTS
from malipo.db import Conn
from malipo.ledger import house_bookings


async def sum_openings(connection: Conn) -> int:
    """What our accounts held before the first line of a statement that counts."""
    return _whole(
        await connection.fetchval(
            f"""
            SELECT sum(opening) FROM (
                SELECT DISTINCT ON (payer_account_id) opening FROM bank_statements f
                WHERE {COUNTS} AND opening IS NOT NULL ORDER BY payer_account_id, begins_on, ends_on DESC, id
            ) AS first
            """
        )
    )


async def sum_opening_balances(connection: Conn) -> int:
    """What operators booked as held by the bank when malipo began."""
    return 100 * _whole(
        await connection.fetchval(
            """
            SELECT sum(CASE source WHEN 'bank' THEN amount ELSE -amount END) FROM house_bookings h
            WHERE 'bank' IN (source, target) AND kind = 'opening_balance'
              AND NOT EXISTS (SELECT FROM house_bookings u WHERE u.reverses = h.id)
            """
        )
    )


async def sum_lines(connection: Conn) -> int:
    return _whole(await connection.fetchval(f"SELECT sum(b.cents) FROM bank_lines b WHERE {LINE_COUNTS}", ""))


async def sum_unmatched(connection: Conn) -> int:
    return _whole(
        await connection.fetchval(f"SELECT sum(b.cents) FROM bank_lines b WHERE {LINE_COUNTS} AND {UNMATCHED}", "")
    )


async def sum_bookings_without_line(connection: Conn, *, after: date | None = None) -> int:
    return sum(each.cents for each in await find_bookings(connection, after=after))


async def sum_cents(connection: Conn) -> int:
    """What lines have beyond what was booked of them."""
    return _whole(
        await connection.fetchval("SELECT sum(cents) FROM house_bookings WHERE channel = $1", house_bookings.OF_BANK)
    )


async def find_ledger(connection: Conn) -> int:
    """What the bank holds by the ledger: its account is negative for money that is elsewhere."""
    shillings = _whole(
        await connection.fetchval(
            """
            SELECT sum(CASE 'bank' WHEN source THEN amount ELSE -amount END) FROM moves WHERE 'bank' IN (source, target)
            """
        )
    )
    return shillings * 100


async def find_ledger_by_causes(connection: Conn) -> int:
    """The same as `find_ledger`, by what moves the bank: bookings, house bookings and settlements. There are few."""
    shillings = _whole(
        await connection.fetchval(
            """
            SELECT sum(amount)::bigint FROM (
                SELECT CASE kind WHEN 'top_up' THEN amount ELSE -amount END AS amount FROM bookings
                WHERE kind IN ('top_up', 'settlement')
                UNION ALL
                SELECT CASE 'bank' WHEN source THEN amount ELSE -amount END FROM house_bookings
                WHERE 'bank' IN (source, target)
                UNION ALL
                SELECT CASE 'bank' WHEN m.source THEN m.amount ELSE -m.amount END
                FROM settlements s JOIN moves m ON m.merchant_id = s.merchant_id AND m.cause_id = s.id
                WHERE 'bank' IN (m.source, m.target)
            ) AS moved
            """
        )
    )
    return shillings * 100


def _whole(found: int | None) -> int:
    return int(found or 0)
