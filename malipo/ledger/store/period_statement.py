"""The lines of a merchant's statement in a period, each with its payment.

A period is a span of line numbers, which ends with the last line whose time is before the period's end. So two
consecutive periods share no line and omit none, even if a line with a lower number has a later time, because its
process waited for the wallet or has another clock.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from malipo.db import Conn, Row
from malipo.ledger.accounts import Account
from malipo.ledger.period_statement import LinePayment, PeriodLine
from malipo.ledger.statement import KINDS
from malipo.ledger.store.statement import SKEW, last_line, last_until

_PIECE = 1000
_MOMENT = timedelta(microseconds=1)

_LINES = """
    SELECT m.statement_line, m.source, m.target, m.amount, m.balance_after, m.cause_id, m.created_at,
           coalesce(t.reference, b.bank_reference, s.reference, '') AS reference,
           t.status, t.amount AS payment_amount, t.fee, t.type = 'COLLECTION' AS is_collection, t.phone, t.name,
           t.channel, t.provider_reference, t.order_reference, t.refund_of
    FROM moves m
    LEFT JOIN transactions t ON t.merchant_id = m.merchant_id AND t.id = m.cause_id
    LEFT JOIN bookings b ON b.id = m.cause_id
    LEFT JOIN settlements s ON s.merchant_id = m.merchant_id AND s.id = m.cause_id
    WHERE m.merchant_id = $1 AND m.statement_line > $2 AND m.statement_line <= $3
"""


class Period(NamedTuple):
    """The lines after `after`, up to `last`, and the balance before them."""

    after: int
    last: int
    opening: int

    @property
    def line_count(self) -> int:
        return self.last - self.after


async def find(connection: Conn, merchant_id: str, *, first: datetime | None, last: datetime | None) -> Period:
    """The period between two times, both included. Lines never change, so it stays the same."""
    after = 0 if first is None else await _last_before(connection, merchant_id, first - _MOMENT)
    end = (
        await last_line(connection, merchant_id) if last is None else await _last_before(connection, merchant_id, last)
    )
    opening = await connection.fetchval(
        "SELECT balance_after FROM moves WHERE merchant_id = $1 AND statement_line = $2", merchant_id, after
    )
    return Period(after, max(after, end), opening or 0)


async def _last_before(connection: Conn, merchant_id: str, moment: datetime) -> int:
    """The highest number of a line with this or an earlier time."""
    near = await last_until(connection, merchant_id, moment - SKEW)
    far = await last_until(connection, merchant_id, moment + SKEW)
    number = await connection.fetchval(
        """
        SELECT max(statement_line) FROM moves
        WHERE merchant_id = $1 AND statement_line > $2 AND statement_line <= $3 AND created_at <= $4
        """,
        merchant_id,
        near,
        far,
        moment,
    )
    return near if number is None else int(number)


async def newest_of(
    connection: Conn, merchant_id: str, period: Period, *, before: int | None = None, limit: int
) -> list[PeriodLine]:
    """The newest lines of a period below a number, newest first."""
    last = period.last if before is None else min(period.last, before - 1)
    rows = await connection.fetch(
        f"{_LINES} ORDER BY m.statement_line DESC LIMIT {limit:d}", merchant_id, period.after, last
    )
    return [_line(row) for row in rows]


async def stream(
    read: Callable[[Callable[[Conn], Awaitable[Any]]], Awaitable[Any]], merchant_id: str, period: Period
) -> AsyncIterator[list[PeriodLine]]:
    """Every line of a period, oldest first, in pieces, each with a short query of its own."""
    after = period.after
    while after < period.last:
        last = min(after + _PIECE, period.last)
        rows = await read(
            lambda connection: connection.fetch(
                f"{_LINES} ORDER BY m.statement_line",
                merchant_id,
                after,  # noqa: B023
                last,  # noqa: B023
            )
        )
        yield [_line(row) for row in rows]
        after = last


def _line(row: Row) -> PeriodLine:
    target = Account(row["target"])
    payment = None
    if row["status"] is not None:
        payment = LinePayment(
            status=row["status"],
            amount=row["payment_amount"],
            fee=row["fee"],
            is_collection=row["is_collection"],
            phone=row["phone"],
            name=row["name"],
            channel=row["channel"],
            receipt=row["provider_reference"],
            order_reference=row["order_reference"],
            refund_of=row["refund_of"],
        )
    return PeriodLine(
        number=row["statement_line"],
        kind=KINDS[Account(row["source"]), target],
        net=row["amount"] if target is Account.WALLET else -row["amount"],
        balance=row["balance_after"],
        cause_id=row["cause_id"],
        reference=row["reference"],
        at=row["created_at"],
        payment=payment,
    )
