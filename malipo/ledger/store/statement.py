"""The lines of a merchant's statement.

Lines are numbered without gaps and never change, so a long statement can be read in pieces, each with its own short
query. It ends with the line that was the last when reading began.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

from malipo.db import Conn, Row
from malipo.db.where_clause import Conditions
from malipo.ledger.accounts import Account
from malipo.ledger.statement import CATEGORIES, KINDS, ROUTES, TREE, WalletLine, WalletLineFilter
from malipo.rollups import store as rollups
from malipo.rollups.bucket_tree import Piece, Range, cut, pieces_of
from malipo.rollups.store import Rollup

_PIECE = 1000
_FIRST_PIECE = 50  # small, so that the first lines are sent soon
# How far the clocks of the processes that write lines may differ.
SKEW = timedelta(minutes=5)

_LINES = """
    SELECT m.statement_line, m.source, m.target, m.amount, m.balance_after, m.cause_id, m.created_at,
           coalesce(t.reference, b.bank_reference, s.reference, '') AS reference, t.refund_of IS NOT NULL AS is_refund
    FROM moves m
    LEFT JOIN transactions t ON t.merchant_id = m.merchant_id AND t.id = m.cause_id
    LEFT JOIN bookings b ON b.id = m.cause_id
    LEFT JOIN settlements s ON s.merchant_id = m.merchant_id AND s.id = m.cause_id
"""


async def page(
    connection: Conn, merchant_id: str, wanted: WalletLineFilter, *, page: int, limit: int
) -> tuple[int, list[WalletLine]]:
    """The number of matching lines, and one page of them, newest first. The connection is in a snapshot."""
    pieces = await _pieces(connection, merchant_id, wanted)
    total = sum(piece.count for piece in pieces)
    picked, skip = await rollups.walk(
        connection,
        merchant_id,
        Rollup.STATEMENT,
        TREE,
        _categories(wanted),
        pieces,
        skip=(page - 1) * limit,
        take=limit,
    )
    picked, skip = cut(picked, skip=skip, take=limit)
    where = _where(merchant_id, wanted)
    first, last = len(where.values) + 1, len(where.values) + 2
    rows = await connection.fetch(
        f"""
        SELECT l.* FROM unnest(${first}::bigint[], ${last}::bigint[]) AS piece (first, last)
        CROSS JOIN LATERAL ({_LINES} WHERE {where} AND m.statement_line BETWEEN piece.first AND piece.last
                            ORDER BY m.statement_line DESC LIMIT {skip + limit:d}) l
        ORDER BY l.statement_line DESC LIMIT {limit:d} OFFSET {skip:d}
        """,
        *where.values,
        [piece.range.first for piece in picked],
        [piece.range.last for piece in picked],
    )
    return total, [_line(row) for row in rows]


async def _pieces(connection: Conn, merchant_id: str, wanted: WalletLineFilter) -> list[Piece]:
    """The ranges of lines that may match, the newest first, with the number of matches in each."""
    sure, unsure = await _spans(connection, merchant_id, wanted)
    pieces = [Piece(each, await _count(connection, merchant_id, wanted, each)) for each in unsure]
    if wanted.kind is None:
        pieces += [Piece(each, each.last - each.first + 1) for each in sure]
    else:
        mark = await rollups.find_position(connection, merchant_id, Rollup.STATEMENT)
        for each in sure:
            pieces += await _counted(connection, merchant_id, wanted, Range(each.first, min(each.last, mark)))
            tail = Range(max(each.first, mark + 1), each.last)
            pieces.append(Piece(tail, await _count(connection, merchant_id, wanted, tail)))
    return sorted(pieces, key=lambda piece: piece.range.first, reverse=True)


async def _counted(connection: Conn, merchant_id: str, wanted: WalletLineFilter, span: Range) -> list[Piece]:
    cover = TREE.cover(span.first, span.last)
    found = await rollups.find(connection, merchant_id, Rollup.STATEMENT, cover.rows, _categories(wanted))
    edges = [Piece(each, await _count(connection, merchant_id, wanted, each)) for each in cover.edges]
    return [*edges, *(piece for row in cover.rows for piece in pieces_of(TREE, row, found, ()))]


async def _count(connection: Conn, merchant_id: str, wanted: WalletLineFilter, span: Range) -> int:
    where = _where(merchant_id, wanted)
    where.add("m.statement_line >= {}", span.first)
    where.add("m.statement_line <= {}", span.last)
    return int(await connection.fetchval(f"SELECT count(*) FROM moves m WHERE {where}", *where.values))


async def _spans(connection: Conn, merchant_id: str, wanted: WalletLineFilter) -> tuple[list[Range], list[Range]]:
    """Ranges of lines that are certainly between the two times, and ranges near either end that may be."""
    low, high = [0, 0], [await last_line(connection, merchant_id)] * 2
    if wanted.first is not None:
        low = [await last_until(connection, merchant_id, wanted.first + skew) for skew in (-SKEW, SKEW)]
    if wanted.last is not None:
        high = [await last_until(connection, merchant_id, wanted.last + skew) for skew in (-SKEW, SKEW)]
    if low[1] >= high[0]:
        return [], [Range(low[0] + 1, high[1])]
    unsure = [Range(low[0] + 1, low[1]), Range(high[0] + 1, high[1])]
    return [Range(low[1] + 1, high[0])], [each for each in unsure if each.first <= each.last]


def _categories(wanted: WalletLineFilter) -> list[int]:
    return [CATEGORIES[wanted.kind]] if wanted.kind else [*CATEGORIES.values()]


async def last_until(connection: Conn, merchant_id: str, moment: datetime) -> int:
    """The number of the last line up to a time, by the writers' clocks. A binary search, as line numbers have no
    gaps."""
    number = await connection.fetchval(
        """
        WITH RECURSIVE halved (low, high) AS (
            SELECT 0::bigint, statement_lines + 1 FROM wallets WHERE merchant_id = $1
            UNION ALL
            SELECT CASE WHEN m.created_at <= $2 THEN middle ELSE low END,
                   CASE WHEN m.created_at <= $2 THEN high ELSE middle END
            FROM (SELECT low, high, (low + high) / 2 AS middle FROM halved WHERE high - low > 1) h
            JOIN moves m ON m.merchant_id = $1 AND m.statement_line = middle
        )
        SELECT max(low) FROM halved
        """,
        merchant_id,
        moment,
    )
    return int(number)


async def stream(
    read: Callable[[Callable[[Conn], Awaitable[Any]]], Awaitable[Any]], merchant_id: str, wanted: WalletLineFilter
) -> AsyncIterator[list[WalletLine]]:
    """Every line that matches, oldest first, in pieces."""
    after, last = await read(lambda connection: _ends(connection, merchant_id, wanted))
    size = _FIRST_PIECE
    while True:
        rows = await read(lambda connection: _piece(connection, merchant_id, wanted, after, last, size))  # noqa: B023
        if rows:
            yield [_line(row) for row in rows]
        if len(rows) < size:
            return
        size = _PIECE
        after = rows[-1]["statement_line"]


async def _ends(connection: Conn, merchant_id: str, wanted: WalletLineFilter) -> tuple[int, int]:
    """The line after which the statement begins, and the line with which it ends."""
    sure, unsure = await _spans(connection, merchant_id, wanted)
    spans = sure + unsure
    return min(each.first for each in spans) - 1, max(each.last for each in spans)


async def last_line(connection: Conn, merchant_id: str) -> int:
    return int(await connection.fetchval("SELECT statement_lines FROM wallets WHERE merchant_id = $1", merchant_id))


async def _piece(
    connection: Conn, merchant_id: str, wanted: WalletLineFilter, after: int, last: int, size: int
) -> list[Row]:
    where = _where(merchant_id, wanted)
    count = len(where.values)
    return await connection.fetch(
        f"""
        {_LINES} WHERE {where} AND m.statement_line > ${count + 1} AND m.statement_line <= ${count + 2}
        ORDER BY m.statement_line LIMIT {size:d}
        """,
        *where.values,
        after,
        last,
    )


def _where(merchant_id: str, wanted: WalletLineFilter) -> Conditions:
    where = Conditions("m.merchant_id = {} AND m.statement_line IS NOT NULL", merchant_id)
    where.add("m.created_at >= {}", wanted.first)
    where.add("m.created_at <= {}", wanted.last)
    if wanted.kind is not None:
        where.add("(m.source || ' ' || m.target) = ANY({}::text[])", [" ".join(each) for each in ROUTES[wanted.kind]])
    return where


def _line(row: Row) -> WalletLine:
    target = Account(row["target"])
    return WalletLine(
        number=row["statement_line"],
        kind=KINDS[Account(row["source"]), target],
        change=row["amount"] if target is Account.WALLET else -row["amount"],
        balance=row["balance_after"],
        cause_id=row["cause_id"],
        reference=row["reference"],
        at=row["created_at"],
        is_refund=row["is_refund"],
    )
