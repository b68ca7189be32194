"""The lines of a merchant's statement.

Lines are numbered without gaps and never change, so a long statement can be read in pieces, each with its own short
look at the database, and still be one statement: the lines up to the number that was the last when it began.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

from malipo.db import Conn, Row
from malipo.db.where import Where
from malipo.ledger.entry import Account
from malipo.ledger.statement import KINDS, ROUTES, Filter, Line

_PIECE = 1000
# How far the clocks of those who write lines may differ.
_SKEW = timedelta(minutes=5)

_LINES = """
    SELECT m.wallet_line, m.source, m.target, m.amount, m.wallet_after, m.cause_id, m.at,
           coalesce(t.reference, b.reference, '') AS reference
    FROM moves m
    LEFT JOIN transactions t ON t.merchant_id = m.merchant_id AND t.id = m.cause_id
    LEFT JOIN bookings b ON b.id = m.cause_id
"""


async def page(connection: Conn, merchant_id: str, wanted: Filter, *, page: int, limit: int) -> tuple[int, list[Line]]:
    """How many lines match, and this page of them, newest first. The connection is a snapshot."""
    where = _where(merchant_id, wanted)
    total = await connection.fetchval(f"SELECT count(*) FROM moves m WHERE {where}", *where.values)
    rows = await connection.fetch(
        f"""
        {_LINES} WHERE {where}
        ORDER BY m.wallet_line DESC LIMIT ${len(where.values) + 1} OFFSET ${len(where.values) + 2}
        """,
        *where.values,
        limit,
        (page - 1) * limit,
    )
    return total, [_line(row) for row in rows]


async def before(
    connection: Conn, merchant_id: str, wanted: Filter, *, number: int | None = None, limit: int
) -> list[Line]:
    """The newest lines below a number, newest first. As quick far back as at the end: nothing is counted or skipped."""
    where = _where(merchant_id, wanted)
    if wanted.first is not None:
        where.add("m.wallet_line > {}", await _last_until(connection, merchant_id, wanted.first - _SKEW))
    if wanted.last is not None:
        where.add("m.wallet_line <= {}", await _last_until(connection, merchant_id, wanted.last + _SKEW))
    where.add("m.wallet_line < {}", number)
    rows = await connection.fetch(f"{_LINES} WHERE {where} ORDER BY m.wallet_line DESC LIMIT {limit:d}", *where.values)
    return [_line(row) for row in rows]


async def _last_until(connection: Conn, merchant_id: str, moment: datetime) -> int:
    """The last line up to a time, give or take the clocks. Lines have no gaps, so it is found by halving."""
    number = await connection.fetchval(
        """
        WITH RECURSIVE halved (low, high) AS (
            SELECT 0::bigint, lines + 1 FROM wallets WHERE merchant_id = $1
            UNION ALL
            SELECT CASE WHEN m.at <= $2 THEN middle ELSE low END, CASE WHEN m.at <= $2 THEN high ELSE middle END
            FROM (SELECT low, high, (low + high) / 2 AS middle FROM halved WHERE high - low > 1) h
            JOIN moves m ON m.merchant_id = $1 AND m.wallet_line = middle
        )
        SELECT max(low) FROM halved
        """,
        merchant_id,
        moment,
    )
    return int(number)


async def stream(
    read: Callable[[Callable[[Conn], Awaitable[Any]]], Awaitable[Any]], merchant_id: str, wanted: Filter
) -> AsyncIterator[list[Line]]:
    """Every line that matches, oldest first, in pieces."""
    last = await read(lambda connection: _last(connection, merchant_id))
    after = 0
    while True:
        rows = await read(lambda connection: _piece(connection, merchant_id, wanted, after, last))  # noqa: B023
        if rows:
            yield [_line(row) for row in rows]
        if len(rows) < _PIECE:
            return
        after = rows[-1]["wallet_line"]


async def _last(connection: Conn, merchant_id: str) -> int:
    return int(await connection.fetchval("SELECT lines FROM wallets WHERE merchant_id = $1", merchant_id))


async def _piece(connection: Conn, merchant_id: str, wanted: Filter, after: int, last: int) -> list[Row]:
    where = _where(merchant_id, wanted)
    count = len(where.values)
    return await connection.fetch(
        f"""
        {_LINES} WHERE {where} AND m.wallet_line > ${count + 1} AND m.wallet_line <= ${count + 2}
        ORDER BY m.wallet_line LIMIT {_PIECE}
        """,
        *where.values,
        after,
        last,
    )


def _where(merchant_id: str, wanted: Filter) -> Where:
    where = Where("m.merchant_id = {} AND m.wallet_line IS NOT NULL", merchant_id)
    where.add("m.at >= {}", wanted.first)
    where.add("m.at <= {}", wanted.last)
    if wanted.kind is not None:
        source, target = ROUTES[wanted.kind]
        where.add("m.source = {}", source)
        where.add("m.target = {}", target)
    return where


def _line(row: Row) -> Line:
    target = Account(row["target"])
    return Line(
        number=row["wallet_line"],
        kind=KINDS[Account(row["source"]), target],
        change=row["amount"] if target is Account.WALLET else -row["amount"],
        balance=row["wallet_after"],
        cause_id=row["cause_id"],
        reference=row["reference"],
        at=row["at"],
    )
