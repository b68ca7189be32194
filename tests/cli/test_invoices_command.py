"""malipo invoices: rates, buyers, documents of a closed month, as a list, as CSV and as PDF, at the command line."""

import csv
import io
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from malipo.db import Database
from malipo.invoices.invoice import InvoiceKind
from malipo.ledger.accounts import Account, Move, Step
from tests.cli.test_wallet_command import Terminal, terminal
from tests.invoices.pdf_text import texts_of
from tests.invoices.sample import store_invoice
from tests.reconciliation.close.books import Books, at

__all__ = ["terminal"]

COMPANY = {
    "company_name": "Malipo Ltd",
    "company_address": "PO Box 1, Mwanza",
    "company_tin": "123456789",
    "company_vrn": "40-320840-G",
}
LAST = date(2026, 9, 30)


@pytest.fixture
async def books(database: Database, tmp_path: Path) -> Books:
    """September is closed: its last day, the first ever, has 118 payments with a fee of 10 each."""
    books = await Books.begin(database, tmp_path)
    for number in range(118):
        await books.paid(f"S{number}", 5_000, at(LAST))
    await books.close(LAST, without=["MPESA"], reason="portal away")
    return books


async def _issue(terminal: Terminal, month: str = "2026-09") -> Any:
    return await terminal.json_of("invoices", "issue", month, by="asha", **COMPANY)


async def test_a_month_is_issued_listed_and_printed(terminal: Terminal, books: Books, tmp_path: Path) -> None:
    rate = ("invoices", "tax-rate", "18", "--from", "2026-01-01")
    assert (await terminal(*rate)).code == 2, "only an operator"
    assert (await terminal(*rate, by="asha")).out == "VAT is 18 % from 2026-01-01 on.\n"
    buyer = (
        "invoices",
        "buyer",
        books.merchant_id,
        "--name",
        "Duka Ltd",
        "--tin",
        "987-654-321",
        "--vrn",
        "40-000001-a",
    )
    assert "VRN:      40-000001-A" in (await terminal(*buyer, by="asha")).out.replace("vrn", "VRN")
    refused = await terminal("invoices", "issue", "2026-09", by="asha")
    assert (refused.code, "MALIPO_COMPANY_NAME" in refused.err) == (2, True)
    for lacking in ("company_tin", "company_address"):
        company = {name: value for name, value in COMPANY.items() if name != lacking}
        refused = await terminal("invoices", "issue", "2026-09", by="asha", **company)
        assert (refused.code, f"MALIPO_{lacking.upper()}" in refused.err) == (2, True), "not with VAT"

    said = await _issue(terminal)
    [issued] = said["issued"]
    assert (issued["number"], issued["gross"], issued["vat"], issued["net"]) == ("A-2026-000001", 1180, 180, 1000)
    assert (await _issue(terminal))["issued"] == [], "once"

    fiscal = ("invoices", "fiscal-number", "A-2026-000001", "EFD-1")
    assert (await terminal(*fiscal, by="asha")).out == "A-2026-000001 has the fiscal number EFD-1.\n"
    again = await terminal(*fiscal[:-1], "EFD-2", by="asha")
    assert (again.code, "another fiscal number already" in again.err) == (2, True)
    [listed] = await terminal.json_of("invoices", "list", "--month", "2026-09")
    assert (listed["name"], listed["fiscal number"]) == ("Duka Ltd", "EFD-1")
    assert "no such invoice" in (await terminal("invoices", "list", "--month", "2026-08")).out

    file = tmp_path / "invoice.pdf"
    said = await terminal("invoices", "pdf", "A-2026-000001", "--output", str(file))
    assert (said.code, said.out) == (0, f"Wrote {file}.\n")
    texts = texts_of(file.read_bytes())
    assert [texts[texts.index(each) + 1] for each in ("Fiscal number", "Seller", "Buyer", "Total (TZS)")] == [
        *("EFD-1", "Malipo Ltd", "Duka Ltd", "1,180"),
    ]
    assert {"TIN 123-456-789", "VRN 40-320840-G", "TIN 987-654-321", "VRN 40-000001-A"} <= set(texts)
    await terminal("invoices", "pdf", "A-2026-000001", "--output", str(file), "--language", "sw")
    assert texts_of(file.read_bytes())[0] != "Tax invoice"
    missing = await terminal("invoices", "pdf", "A-2026-000009", "--output", str(file))
    assert (missing.code, "There is no invoice 'A-2026-000009'" in missing.err) == (2, True)


async def test_the_lines_of_the_csv_add_up_to_their_documents(terminal: Terminal, books: Books) -> None:
    """A credit note is below zero in it, and net and VAT of each line are the document's, to the shilling."""
    await terminal("invoices", "tax-rate", "18", "--from", "2026-01-01", by="asha")
    await _issue(terminal)
    for number in range(7):
        back = [Move(Account.FEES, Account.SUSPENSE, 10)]
        await books.post(books.payments[f"S{number}"], Step.CONTRADICTION, back, at(date(2026, 10, 7)))
    for day in range(1, 32):
        await books.close(date(2026, 10, day))
    documents = {each["number"]: each for each in (await _issue(terminal, "2026-10"))["issued"]}
    assert [each["kind"] for each in documents.values()] == [InvoiceKind.CREDIT_NOTE]
    said = await terminal("invoices", "list", "--csv")
    rows = list(csv.DictReader(io.StringIO(said.out)))
    assert [(row["kind"], row["amount"], row["net"], row["vat"], row["sellerVrn"]) for row in rows] == [
        ("credit_note", "-70", "-59", "-11", "40-320840-G"),
        ("invoice", "1180", "1000", "180", "40-320840-G"),
    ]
    assert list(rows[0])[-4:] == ["net", "vat", "buyerVrn", "sellerVrn"]


async def test_no_document_is_cut_off_however_many_there_are(terminal: Terminal, database: Database) -> None:
    books = await Books.begin(database, Path())
    async with database.begin() as tx:
        await store_invoice(tx, books.merchant_id)
        columns = await tx.fetchval(
            "SELECT string_agg(column_name, ', ') FROM information_schema.columns WHERE table_name = 'invoices' "
            "AND column_name NOT IN ('number', 'ordinal', 'month')"
        )
        await tx.execute(
            f"INSERT INTO invoices (number, ordinal, month, {columns}) "
            f"SELECT 'X-2026-' || lpad(n::text, 6, '0'), n, month + make_interval(months => n), {columns} "
            "FROM invoices, generate_series(2, 10002) AS n"
        )
    said = await terminal("invoices", "list", "--csv")
    assert len(said.out.splitlines()) == 1 + 10_002
