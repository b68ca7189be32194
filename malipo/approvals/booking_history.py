"""The history of bookings: what operators have booked to wallets and to accounts of the house, with who booked and who
approved it. Newest first, a page at a time.
"""

from collections.abc import Sequence
from datetime import date, datetime

import msgspec

from malipo.db import Conn
from malipo.db.where_clause import Conditions
from malipo.ledger.bookings import BookingKind
from malipo.ledger.house_bookings import HouseBookingKind

KINDS: Sequence[str] = (*BookingKind, *HouseBookingKind)


class BookingFilter(msgspec.Struct, frozen=True, kw_only=True):
    kind: str | None = None
    merchant_id: str | None = None
    reference: str | None = None  # exactly
    first: datetime | None = None
    last: datetime | None = None


class PastBooking(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    booked_at: datetime
    kind: str
    amount: int
    reference: str = ""
    merchant_id: str | None = None  # None: of the house
    channel: str = ""
    account: str = ""
    source: str = ""  # the accounts of the ledger, of a booking of the house
    target: str = ""
    value_date: date | None = None
    evidence: str = ""
    undoes: str | None = None
    releases: str | None = None
    booked_by: str | None = None  # None: before malipo kept it
    approved_by: str | None = None  # the second operator, where it took two


async def find(connection: Conn, wanted: BookingFilter, *, before: str | None = None, limit: int) -> list[PastBooking]:
    """Bookings of wallets and of the house. `before` is the id of the last one of the page before, of either.

    An id does not show when it was booked: of a proposal it was minted when that was made.
    """
    bound = None if before is None else await _position(connection, before)
    found = await _of_wallets(connection, wanted, bound, limit)
    if wanted.merchant_id is None:
        found += await _of_house(connection, wanted, bound, limit)
    return sorted(found, key=lambda each: (each.booked_at, each.id), reverse=True)[:limit]


async def _position(connection: Conn, booking_id: str) -> tuple[datetime, str] | None:
    at = await connection.fetchval(
        """
        SELECT created_at FROM bookings WHERE id = $1
        UNION ALL SELECT booked_at FROM house_bookings WHERE id = $1
        """,
        booking_id,
    )
    return None if at is None else (at, booking_id)


def _where(wanted: BookingFilter, bound: tuple[datetime, str] | None, *, reference: str, booked_at: str) -> Conditions:
    where = Conditions("b.kind = ANY({}::text[])", [wanted.kind] if wanted.kind is not None else list(KINDS))
    where.add(f"b.{reference} = {{}}", wanted.reference)
    where.add(f"b.{booked_at} >= {{}}", wanted.first)
    where.add(f"b.{booked_at} <= {{}}", wanted.last)
    if bound is not None:
        at, last_id = bound
        where.add(f"b.{booked_at} <= {{}}", at)
        where.add(f"(b.{booked_at} < ${len(where.values)} OR b.id < {{}})", last_id)
    return where


async def _of_wallets(
    connection: Conn, wanted: BookingFilter, bound: tuple[datetime, str] | None, limit: int
) -> list[PastBooking]:
    """Bookings of wallets. The proposal of a booking says who booked it; if it needed no second operator, the amounts
    that operators moved alone do."""
    where = _where(wanted, bound, reference="bank_reference", booked_at="created_at")
    where.add("b.merchant_id = {}", wanted.merchant_id)
    rows = await connection.fetch(
        f"""
        SELECT b.id, b.created_at AS booked_at, b.kind, b.amount, b.bank_reference AS reference, b.merchant_id,
               b.releases, coalesce(p.requested_by, a.operator) AS booked_by,
               CASE WHEN p.decided_by IS DISTINCT FROM p.requested_by THEN p.decided_by END AS approved_by
        FROM bookings b
        LEFT JOIN proposals p ON p.id = b.id AND p.is_approved
        LEFT JOIN LATERAL (
            SELECT m.operator FROM moved_alone m
            WHERE p.id IS NULL AND m.action = b.kind AND m.subject = b.bank_reference AND m.moved_at = b.created_at
            ORDER BY m.id LIMIT 1
        ) a ON true
        WHERE {where} ORDER BY b.created_at DESC, b.id DESC LIMIT {limit:d}
        """,
        *where.values,
    )
    return [msgspec.convert(dict(row), PastBooking) for row in rows]


async def _of_house(
    connection: Conn, wanted: BookingFilter, bound: tuple[datetime, str] | None, limit: int
) -> list[PastBooking]:
    where = _where(wanted, bound, reference="reference", booked_at="booked_at")
    rows = await connection.fetch(
        f"""
        SELECT b.id, b.booked_at, b.kind, b.amount, b.reference, b.channel, b.account, b.source, b.target,
               b.value_date, b.evidence, b.reverses AS undoes, b.booked_by, b.approved_by
        FROM house_bookings b WHERE {where} ORDER BY b.booked_at DESC, b.id DESC LIMIT {limit:d}
        """,
        *where.values,
    )
    return [msgspec.convert(dict(row), PastBooking) for row in rows]
