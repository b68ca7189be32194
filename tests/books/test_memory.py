"""The journal of a day is written in constant memory, however many moves it has."""

import tracemalloc
from datetime import date
from pathlib import Path

import pytest

from malipo.books import store
from malipo.books.read_journal import Period
from malipo.books.write_journal import FORMATS, JournalWriter
from malipo.dashboard.language import Translator
from malipo.dashboard.operator.books_words import journal_words
from malipo.db import Database
from malipo.http.accept_language import Language
from malipo.ledger.check import prepare
from tests.reconciliation.close.books import Books, at

FEW_DAY, MANY_DAY = date(2026, 10, 5), date(2026, 10, 6)
FEW, MANY = 1_100, 10_000  # payments, with two moves each; a thousand rows are fetched at once


async def _pay(books: Books, day: date, count: int) -> None:
    async with books.database.begin() as tx:
        await tx.execute(
            """
            INSERT INTO moves (merchant_id, cause_id, step, move_number, source, target, channel, amount, statement_line,
                               balance_after, created_at)
            SELECT $1, 'txn_' || $2 || n, 'end', move, 'float', CASE move WHEN 1 THEN 'wallet' ELSE 'fees' END, 'MPESA',
                   100 * move, CASE move WHEN 1 THEN $4 + n END, CASE move WHEN 1 THEN 100 * n END,
                   $3::timestamptz + n * interval '1 millisecond'
            FROM generate_series(1, $5) AS n, generate_series(1, 2) AS move
            """,
            books.merchant_id,
            str(day),
            at(day),
            100_000 * day.day,
            count,
        )


async def _most_held(database: Database, day: date) -> tuple[int, int]:
    """Entries, and the most bytes that were held at once."""
    period = Period.of(day, day)
    async with database.snapshot() as connection:
        await prepare(connection)
        words = journal_words(period, await store.find_names(connection), Translator(Language.ENGLISH))
        writer = JournalWriter(FORMATS["csv"](words))
        tracemalloc.start()
        try:
            async for _ in writer.pieces(connection, period):
                pass
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    return writer.entries, most


@pytest.fixture
async def books(database: Database, tmp_path: Path) -> Books:
    books = await Books.begin(database, tmp_path)
    await _pay(books, FEW_DAY, FEW)
    await _pay(books, MANY_DAY, MANY)
    return books


async def test_twenty_thousand_moves_of_a_day_take_no_more_memory_than_two_thousand(books: Books) -> None:
    few, held_by_few = await _most_held(books.database, FEW_DAY)
    many, held_by_many = await _most_held(books.database, MANY_DAY)
    assert (few, many) == (FEW, MANY + 1), "and the opening balances"
    assert held_by_many < held_by_few + 300_000, (held_by_few, held_by_many)
