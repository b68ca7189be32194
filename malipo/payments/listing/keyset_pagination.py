"""Keyset pagination, for the dashboard and the CSV export: a page begins after the last payment of the page before.

A page neither counts nor skips payments, so it is as fast after a million payments as after ten. A filter with few
matches could still read all payments, so a page reads a limited number, and the next page begins where it stopped. A
search with few matches uses the n-grams; a term that is too short for n-grams is compared with far fewer payments.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from malipo.db import Conn
from malipo.payments.listing.filters import TransactionFilter, where_of
from malipo.payments.search import query
from malipo.payments.search.ngrams import LEAST
from malipo.payments.store.transactions import COLUMNS, transaction_of
from malipo.payments.transaction import Transaction

MOST_LOOKED_THROUGH = 100_000
MOST_FOR_SHORT_TERM = 5000
_NEAR = 2000
_PIECE = 1000


@dataclass(frozen=True, slots=True)
class TransactionPage:
    """Newest first, with the keys of its neighbours; None where there is no neighbour."""

    transactions: list[Transaction]
    older: str | None = None
    newer: str | None = None
    is_cut: bool = False  # the limit was reached, and older payments may match too


def most_looked_through(wanted: TransactionFilter) -> int:
    """The most payments that a page reads before it reports that there may be more."""
    return MOST_FOR_SHORT_TERM if wanted.term is not None and len(wanted.term) < LEAST else MOST_LOOKED_THROUGH


async def page(
    connection: Conn,
    merchant_id: str,
    wanted: TransactionFilter,
    *,
    before: str | None = None,
    after: str | None = None,
    limit: int,
    most: int = MOST_LOOKED_THROUGH,
) -> TransactionPage:
    """The page that ends before a payment, or begins after one; without either, the newest."""
    most = min(most, most_looked_through(wanted))
    if after is not None and before is None:
        newer = await _newer(connection, merchant_id, wanted, after=after, limit=limit, most=most)
        if newer is not None:
            return newer
    found, reached = await _look(connection, merchant_id, wanted, before, is_upwards=False, limit=limit + 1, most=most)
    shown = found[:limit]
    is_cut = len(found) <= limit and reached is not None
    older = shown[-1].id if len(found) > limit else reached
    # A reader who came from a newer page can go back there.
    newest = shown[0].id if shown else reached or before
    return TransactionPage(shown, older, newest if before is not None else None, is_cut)


async def _newer(
    connection: Conn, merchant_id: str, wanted: TransactionFilter, *, after: str, limit: int, most: int
) -> TransactionPage | None:
    """The page of newer payments. None if the newest page shows them all."""
    found, reached = await _look(connection, merchant_id, wanted, after, is_upwards=True, limit=limit + 1, most=most)
    if len(found) <= limit and reached is None:
        return None
    shown = found[:limit][::-1]
    newer = shown[0].id if len(found) > limit else reached
    return TransactionPage(shown, shown[-1].id if shown else reached, newer, is_cut=len(found) <= limit)


async def _look(
    connection: Conn,
    merchant_id: str,
    wanted: TransactionFilter,
    key: str | None,
    *,
    is_upwards: bool,
    limit: int,
    most: int,
) -> tuple[list[Transaction], str | None]:
    """Find the matches among the next `most` payments after a key. Also returns the last payment read, if more
    follow."""
    term = wanted.term
    if term is None or len(term) < LEAST or most <= _NEAR:
        return await _look_through(connection, merchant_id, wanted, key, is_upwards=is_upwards, limit=limit, most=most)
    # A term with many matches is found soon; one with few is found faster by its n-grams.
    found, reached = await _look_through(
        connection, merchant_id, wanted, key, is_upwards=is_upwards, limit=limit, most=_NEAR
    )
    if len(found) >= limit or reached is None:
        return found, reached
    return await query.beside(connection, merchant_id, wanted, term, key, is_upwards=is_upwards, limit=limit), None


async def _look_through(
    connection: Conn,
    merchant_id: str,
    wanted: TransactionFilter,
    key: str | None,
    *,
    is_upwards: bool,
    limit: int,
    most: int,
) -> tuple[list[Transaction], str | None]:
    beyond, within, order = (">", "<=", "ASC") if is_upwards else ("<", ">=", "DESC")
    where = where_of(merchant_id, wanted)
    where.add(f"t.id {beyond} {{}}", key)
    last = None
    span = TransactionFilter(first=wanted.first, last=wanted.last)
    if wanted != span:
        looked_through = where_of(merchant_id, span)
        looked_through.add(f"t.id {beyond} {{}}", key)
        last = await connection.fetchval(
            f"SELECT t.id FROM transactions t WHERE {looked_through} ORDER BY t.id {order} OFFSET {most - 1:d} LIMIT 1",
            *looked_through.values,
        )
        where.add(f"t.id {within} {{}}", last)
    rows = await connection.fetch(
        f"SELECT {COLUMNS} FROM transactions t WHERE {where} ORDER BY t.id {order} LIMIT {limit:d}", *where.values
    )
    return [transaction_of(row) for row in rows], last


async def stream(
    read: Callable[[Callable[[Conn], Awaitable[Any]]], Awaitable[Any]],
    merchant_id: str,
    wanted: TransactionFilter,
    *,
    size: int = _PIECE,
) -> AsyncIterator[list[Transaction]]:
    """All matches, newest first, in pieces, each with its own short query."""
    before: str | None = None
    while True:
        piece: TransactionPage = await read(
            lambda connection: page(connection, merchant_id, wanted, before=before, limit=size, most=_NEAR)  # noqa: B023
        )
        if piece.transactions:
            yield piece.transactions
        if piece.older is None:
            return
        before = piece.older
