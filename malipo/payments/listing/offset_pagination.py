"""Offset pagination, for the API: totals and numbered pages by the rollups. Filters and ranges of time, no search."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from malipo import ids
from malipo.db import Conn
from malipo.db.where_clause import Conditions
from malipo.payments.listing.filters import TransactionFilter, add_sort, add_span
from malipo.payments.rollups.backlog import UNCOUNTED
from malipo.payments.rollups.categories import TREE, categories_of
from malipo.payments.store.transactions import COLUMNS, transaction_of
from malipo.payments.transaction import Transaction
from malipo.rollups import store as rollups
from malipo.rollups.bucket_tree import Cover, Piece, Range, pieces_of
from malipo.rollups.store import Rollup

# A page among this many newest rows is read from them, whatever the filter: that is faster than the rollups.
_NEAR = 2000


@dataclass(frozen=True, slots=True)
class MatchCount:
    """The number of transactions that match a filter, and where they are, the newest first."""

    merchant_id: str
    categories: Sequence[int]
    apart: Sequence[int]  # the milliseconds of matches that no rollup counts yet, in order
    pieces: Sequence[Piece]

    @property
    def total(self) -> int:
        return sum(piece.count for piece in self.pieces)


async def page(
    connection: Conn, merchant_id: str, wanted: TransactionFilter, *, offset: int, limit: int
) -> tuple[int, list[Transaction]]:
    counts = await count(connection, merchant_id, dataclasses.replace(wanted, before=None))
    total = counts.total
    if wanted.before is not None:
        counts = await count(connection, merchant_id, wanted)
    size = max(min(limit, counts.total - offset), 0)
    if size == 0:
        return total, []
    rows = await _near(connection, merchant_id, wanted, offset=offset, limit=size) if offset < _NEAR else []
    if len(rows) < size:
        rows = await _far(connection, counts, wanted, skip=offset, take=size)
    return total, rows


async def count(connection: Conn, merchant_id: str, wanted: TransactionFilter) -> MatchCount:
    categories = categories_of(channel=wanted.channel, type_=wanted.type, statuses=wanted.statuses)
    cover = _cover(wanted)
    found = await rollups.find(connection, merchant_id, Rollup.PAYMENTS, cover.rows, categories) if categories else {}
    apart = await _uncounted(connection, merchant_id, wanted)
    pieces = [piece for row in cover.rows for piece in pieces_of(TREE, row, found, apart)]
    pieces += [Piece(edge, await _count_range(connection, merchant_id, wanted, edge)) for edge in cover.edges]
    return MatchCount(merchant_id, categories, apart, sorted(pieces, key=lambda piece: piece.range.first, reverse=True))


def _cover(wanted: TransactionFilter) -> Cover:
    first, last = wanted.first_millisecond, wanted.last_millisecond
    at = None if wanted.before is None else ids.milliseconds_of(wanted.before)
    if at is None or (last is not None and last < at):
        return TREE.cover(first, last)
    # Only some payments of that millisecond are before the payment itself, so they are read one by one.
    older = TREE.cover(first, at - 1)
    return Cover(older.rows, older.edges if first is not None and first > at else (*older.edges, Range(at, at)))


async def _uncounted(connection: Conn, merchant_id: str, wanted: TransactionFilter) -> list[int]:
    where = Conditions("t.merchant_id = {}", merchant_id)
    add_sort(where, wanted)
    add_span(where, wanted)
    rows = await connection.fetch(
        f"WITH {UNCOUNTED} SELECT t.id FROM uncounted t WHERE {where} ORDER BY t.id", *where.values
    )
    return [ids.milliseconds_of(row["id"]) for row in rows]


async def _count_range(connection: Conn, merchant_id: str, wanted: TransactionFilter, edge: Range) -> int:
    """Count the matches in a range that is smaller than a leaf, by reading its transactions."""
    where = Conditions("t.merchant_id = {}", merchant_id)
    add_sort(where, wanted)
    add_span(where, wanted)
    return int(
        await connection.fetchval(
            f"SELECT count(*) FROM ({_in_leaves(where)}) t WHERE {where}", *_values(where, [edge])
        )
    )


def _in_leaves(where: Conditions) -> str:
    """The transactions of some short ranges. The ranges are the parameters after those of the WHERE.

    OFFSET 0 keeps PostgreSQL from using another index for the WHERE first.
    """
    first = len(where.values) + 1
    return f"""
        SELECT t.* FROM unnest(${first}::text[], ${first + 1}::text[]) AS leaf (first, last)
        CROSS JOIN LATERAL (SELECT * FROM transactions t
                            WHERE t.merchant_id = $1 AND t.id BETWEEN leaf.first AND leaf.last OFFSET 0) t
    """


def _values(where: Conditions, ranges: Sequence[Range]) -> list[object]:
    return [
        *where.values,
        [ids.first_of("txn_", each.first) for each in ranges],
        [ids.last_of("txn_", each.last) for each in ranges],
    ]


async def _near(
    connection: Conn, merchant_id: str, wanted: TransactionFilter, *, offset: int, limit: int
) -> list[Transaction]:
    """The part of this page that is among the newest rows of the range."""
    newest = Conditions("t.merchant_id = {}", merchant_id)
    add_span(newest, wanted)
    where = Conditions("t.merchant_id = {}", merchant_id, after=newest.values)
    add_sort(where, wanted)
    rows = await connection.fetch(
        f"""
        SELECT {COLUMNS}
        FROM (SELECT * FROM transactions t WHERE {newest} ORDER BY t.id DESC LIMIT {_NEAR}) t
        WHERE {where} ORDER BY t.id DESC LIMIT {limit:d} OFFSET {offset:d}
        """,
        *where.values,
    )
    return [transaction_of(row) for row in rows]


async def _far(
    connection: Conn, counts: MatchCount, wanted: TransactionFilter, *, skip: int, take: int
) -> list[Transaction]:
    """Walk down to the leaves that the page is in, and read only those."""
    pieces, skip = await rollups.walk(
        connection,
        counts.merchant_id,
        Rollup.PAYMENTS,
        TREE,
        counts.categories,
        counts.pieces,
        skip=skip,
        take=take,
        apart=counts.apart,
    )
    where = Conditions("t.merchant_id = {}", counts.merchant_id)
    add_sort(where, wanted)
    add_span(where, wanted)
    rows = await connection.fetch(
        f"""
        WITH found AS MATERIALIZED ({_in_leaves(where)})
        SELECT {COLUMNS} FROM found t WHERE {where} ORDER BY t.id DESC LIMIT {take:d} OFFSET {skip:d}
        """,
        *_values(where, [piece.range for piece in pieces]),
    )
    return [transaction_of(row) for row in rows]
