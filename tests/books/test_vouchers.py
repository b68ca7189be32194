"""A summary voucher for each closed day, as QuickBooks and Tally import it."""

import csv
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from malipo.db import Database
from malipo.ledger.house_bookings import HouseBookingKind
from tests.conftest import make_merchant
from tests.journeys.operator_commands import Said, malipo
from tests.reconciliation.close.books import MONDAY, TUESDAY, WEDNESDAY, Books, at

NO_STATEMENT = {"without": ["MPESA"], "reason": "portal away"}


@pytest.fixture
async def books(database: Database, tmp_path: Path) -> Books:
    """Two merchants; Monday and Tuesday are closed."""
    books = await Books.begin(database, tmp_path)
    await books.paid("R0", 9_000, at(MONDAY))
    await books.close(MONDAY, **NO_STATEMENT)
    await books.paid("R1", 5_000, at(TUESDAY))
    await books.paid_out("R2", 2_000, at(TUESDAY))
    await books.book(HouseBookingKind.BANK_TRANSFER, -3_000, TUESDAY, reference="FT-1")
    books.merchant_id = (await make_merchant(database)).id
    await books.paid("R3", 4_000, at(TUESDAY))
    await books.close(TUESDAY, **NO_STATEMENT)
    return books


# Tuesday, by hand: account, debit, credit.
LINES = [
    (("Bank",), 3_000, 0),
    (("Floats at networks", "M-Pesa"), 9_000, 0),
    (("Merchants' wallets",), 2_000, 0),
    (("Payouts in flight",), 2_000, 0),
    (("Floats at networks", "M-Pesa"), 0, 5_000),
    (("Merchants' wallets",), 0, 8_980),
    (("Payouts in flight",), 0, 2_000),
    (("Fees earned",), 0, 20),
]


async def _vouchers(database_url: str, *arguments: str, last: str = "2026-11-03") -> Said:
    return await malipo(
        "books", "vouchers", "--from", "2026-11-03", "--to", last, *arguments, database_url=database_url
    )


async def test_quickbooks_gets_a_journal_entry_a_day(books: Books, database_url: str) -> None:
    said = await _vouchers(database_url, "--format", "quickbooks", "--opening")
    assert (said.code, said.err) == (0, "")
    rows = list(csv.reader(said.out.splitlines()))
    assert rows[0] == ["Journal No", "Journal Date", "Account Name", "Description", "Debits", "Credits"]
    opening = [row for row in rows if row[0] == "MALIPO-20261103-OPENING"]
    assert [row[2:] for row in opening] == [
        ["Floats at networks:M-Pesa", "Opening balances", "9000", ""],
        ["Merchants' wallets", "Opening balances", "", "8990"],
        ["Fees earned", "Opening balances", "", "10"],
    ]
    day = [row for row in rows if row[0] == "MALIPO-20261103"]
    assert {(row[1], row[3]) for row in day} == {("11/03/2026", "Payments and bookings of the day")}
    assert [(tuple(row[2].split(":")), int(row[4] or 0), int(row[5] or 0)) for row in day] == LINES


async def test_tally_gets_a_voucher_in_which_a_debit_is_negative(
    books: Books, database_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "vouchers.xml"
    said = await _vouchers(database_url, "--format", "tally", "--output", str(file))
    assert (said.code, said.out) == (0, f"{file}: 1 vouchers.\n")
    [voucher] = ElementTree.parse(file).getroot().iter("VOUCHER")  # noqa: S314
    assert (voucher.findtext("DATE"), voucher.findtext("VOUCHERNUMBER")) == ("20261103", "MALIPO-20261103")
    entries = [
        (each.findtext("LEDGERNAME"), each.findtext("ISDEEMEDPOSITIVE"), int(each.findtext("AMOUNT") or 0))
        for each in voucher.iter("ALLLEDGERENTRIES.LIST")
    ]
    assert entries == [(" - ".join(name), "Yes" if debit else "No", credit - debit) for name, debit, credit in LINES]


async def test_a_day_that_is_not_closed_has_no_voucher(books: Books, database_url: str, tmp_path: Path) -> None:
    file = tmp_path / "vouchers.csv"
    said = await _vouchers(database_url, "--format", "quickbooks", "--output", str(file), last=str(WEDNESDAY))
    assert (said.code, said.err.split(".")[0]) == (2, "malipo: 2026-11-04 is not closed")
    assert not file.exists()
    said = await malipo(
        "books",
        "vouchers",
        "--from",
        "2026-11-01",
        "--to",
        "2026-11-02",
        "--format",
        "tally",
        database_url=database_url,
    )
    assert (said.code, said.err.split(".")[0]) == (2, "malipo: 2026-11-01 is not closed")


async def test_names_are_said_in_kiswahili(books: Books, database_url: str) -> None:
    said = await _vouchers(database_url, "--format", "quickbooks", "--language", "sw")
    assert "Benki,Malipo na maingizo ya siku,3000," in said.out
    chart = await malipo("books", "accounts", "--language", "sw", database_url=database_url)
    assert "Pochi za wafanyabiashara" in chart.out
