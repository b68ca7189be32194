"""Totals and pages of transactions by their counts: filters and ranges of time, but no search."""

from collections.abc import Sequence
from dataclasses import dataclass

from malipo import ids
from malipo.db import Conn
from malipo.db.where import Where
from malipo.payments.cells import TREE, cells_of
from malipo.payments.store.filter import Filter, add_sort, add_span
from malipo.payments.store.transactions import COLUMNS, transaction_of
from malipo.payments.store.uncounted import UNCOUNTED
from malipo.payments.transaction import Transaction
from malipo.tally import store as tallies
from malipo.tally.store import Book
from malipo.tally.tree import Piece, Range, pieces_of

# A page among so many newest rows is read from them, whatever the filter: that is quicker than to walk.
_NEAR = 2000


@dataclass(frozen=True, slots=True)
class Counts:
    """How many transactions a filter fits, and where they are, the newest first."""

    merchant_id: str
    cells: Sequence[int]
    apart: Sequence[int]  # the milliseconds of those that are not counted yet, in order
    pieces: Sequence[Piece]

    @property
    def total(self) -> int:
        return sum(piece.count for piece in self.pieces)


async def page(
    connection: Conn, merchant_id: str, wanted: Filter, *, offset: int, limit: int
) -> tuple[int, list[Transaction]]:
    counts = await count(connection, merchant_id, wanted)
    size = max(min(limit, counts.total - offset), 0)
    if size == 0:
        return counts.total, []
    rows = await _near(connection, merchant_id, wanted, offset=offset, limit=size) if offset < _NEAR else []
    if len(rows) < size:
        rows = await _far(connection, counts, wanted, skip=offset, take=size)
    return counts.total, rows


async def count(connection: Conn, merchant_id: str, wanted: Filter) -> Counts:
    cells = cells_of(channel=wanted.channel, type_=wanted.type, status=wanted.status)
    cover = TREE.cover(wanted.first_millisecond, wanted.last_millisecond)
    found = await tallies.find(connection, merchant_id, Book.PAYMENTS, cover.rows, cells) if cells else {}
    apart = await _uncounted(connection, merchant_id, wanted)
    pieces = [piece for row in cover.rows for piece in pieces_of(TREE, row, found, apart)]
    pieces += [Piece(edge, await _count_range(connection, merchant_id, wanted, edge)) for edge in cover.edges]
    return Counts(merchant_id, cells, apart, sorted(pieces, key=lambda piece: piece.range.first, reverse=True))


async def _uncounted(connection: Conn, merchant_id: str, wanted: Filter) -> list[int]:
    where = Where("t.merchant_id = {}", merchant_id)
    add_sort(where, wanted)
    add_span(where, wanted)
    rows = await connection.fetch(
        f"WITH {UNCOUNTED} SELECT t.id FROM uncounted t WHERE {where} ORDER BY t.id", *where.values
    )
    return [ids.milliseconds_of(row["id"]) for row in rows]


async def _count_range(connection: Conn, merchant_id: str, wanted: Filter, edge: Range) -> int:
    """What lies in less than a leaf is looked at itself, counted or not."""
    where = _where_within(merchant_id, wanted, edge)
    return int(await connection.fetchval(f"SELECT count(*) FROM transactions t WHERE {where}", *where.values))


def _where_within(merchant_id: str, wanted: Filter, within: Range) -> Where:
    where = Where("t.merchant_id = {}", merchant_id)
    add_sort(where, wanted)
    where.add("t.id >= {}", ids.first_of("txn_", within.first))
    where.add("t.id <= {}", ids.last_of("txn_", within.last))
    return where


async def _near(connection: Conn, merchant_id: str, wanted: Filter, *, offset: int, limit: int) -> list[Transaction]:
    """This page of the newest rows of the range, as far as it is among them."""
    newest = Where("t.merchant_id = {}", merchant_id)
    add_span(newest, wanted)
    where = Where("t.merchant_id = {}", merchant_id, after=newest.values)
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


async def _far(connection: Conn, counts: Counts, wanted: Filter, *, skip: int, take: int) -> list[Transaction]:
    """Walk down to the leaves that the page is in, and read only those."""
    pieces, skip = await tallies.walk(
        connection,
        counts.merchant_id,
        Book.PAYMENTS,
        TREE,
        counts.cells,
        counts.pieces,
        skip=skip,
        take=take,
        apart=counts.apart,
    )
    where = Where("t.merchant_id = {}", counts.merchant_id)
    add_sort(where, wanted)
    first, last = len(where.values) + 1, len(where.values) + 2
    rows = await connection.fetch(
        f"""
        SELECT {COLUMNS} FROM unnest(${first}::text[], ${last}::text[]) AS leaf (first, last)
        CROSS JOIN LATERAL (SELECT * FROM transactions t
                            WHERE {where} AND t.id BETWEEN leaf.first AND leaf.last) t
        ORDER BY t.id DESC LIMIT {take:d} OFFSET {skip:d}
        """,
        *where.values,
        [ids.first_of("txn_", piece.range.first) for piece in pieces],
        [ids.last_of("txn_", piece.range.last) for piece in pieces],
    )
    return [transaction_of(row) for row in rows]
