"""A rate of VAT that changes within a month: each fee has that of its day, on the document, in the books and in the CSV."""

import csv
import io
from datetime import date

from malipo.dashboard.invoice_words import COLUMNS, document_words, rows_of
from malipo.invoices import change_invoice_data
from malipo.invoices.invoice import InvoiceKind
from malipo.invoices.line_vat import vat_of_lines
from malipo.invoices.pdf import pdf_of
from malipo.table_files.csv_export import csv_lines
from tests.invoices.pdf_text import texts_of
from tests.invoices.test_issue_invoices import (
    NOVEMBER,
    NOW,
    balance,
    close_days,
    close_october,
    fee_comes_back,
    findings,
    issue,
    october,
    september,
)
from tests.invoices.test_issue_invoices import books as books_until_october
from tests.reconciliation.close.books import ASHA, Books, at

__all__ = ["books_until_october", "october", "september"]


async def test_from_the_16th_on_fees_have_the_new_rate_also_when_they_come_back(books_until_october: Books) -> None:
    books = books_until_october  # 118 payments of October, with a fee of 10 each
    async with books.database.begin() as tx:
        await change_invoice_data.set_rate(tx, 1600, date(2026, 10, 16), actor=ASHA, now=NOW)
    await close_october(books)
    async with books.database.read() as connection:
        before = await connection.fetchval(
            "SELECT count(*) FROM moves WHERE target = 'fees' AND created_at >= $1 AND created_at < $2",
            at(date(2026, 10, 1), "00:00"),
            at(date(2026, 10, 16), "00:00"),
        )
    after = 118 - before
    [invoice] = await issue(books)
    assert [(each.rate, each.count, each.gross) for each in invoice.lines] == [
        (1600, after, 10 * after),
        (1800, before, 10 * before),
    ]
    assert invoice.vat_by_rate == {1600: round(10 * after * 16 / 116), 1800: round(10 * before * 18 / 118)}
    assert await balance(books, "vat") == invoice.vat

    rows = list(csv.DictReader(io.StringIO(csv_lines([COLUMNS, *rows_of(invoice)]))))
    assert [(row["vatBasisPoints"], int(row["vat"])) for row in rows] == [
        ("1600", invoice.vat_by_rate[1600]),
        ("1800", invoice.vat_by_rate[1800]),
    ]
    assert sum(int(row["net"]) for row in rows) == invoice.net
    said = texts_of(pdf_of(invoice, document_words(invoice, str)))
    assert [said[said.index(each) + 1] for each in ("VAT 16 %", "VAT 18 %")] == [
        f"{each:,}" for each in invoice.vat_by_rate.values()
    ]

    # One of each half of October comes back in November: on the 15th (O14) and on the 16th (O15).
    await fee_comes_back(books, "O14", at(date(2026, 11, 5)))
    await fee_comes_back(books, "O15", at(date(2026, 11, 5)))
    await close_days(books, NOVEMBER)
    [note] = await issue(books, NOVEMBER)
    assert (note.kind, note.corrects) == (InvoiceKind.CREDIT_NOTE, invoice.number)
    assert [(each.rate, each.gross) for each in note.lines] == [(1600, 10), (1800, 10)]
    assert vat_of_lines(note.lines) == {note.lines[0]: 1, note.lines[1]: 2}
    assert await balance(books, "vat") == invoice.vat - note.vat
    assert await findings(books) == []
