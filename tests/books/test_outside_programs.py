"""Two programs that nobody here wrote, beancount and hledger, read the journal and find the balances of the ledger."""

import csv
import json
import subprocess
from collections.abc import Awaitable, Callable
from datetime import date, timedelta
from pathlib import Path

import pytest

from malipo.db import Database
from malipo.ledger.accounts import Account, Move, Step
from malipo.ledger.bookings import BookingKind, book
from malipo.ledger.house_bookings import HouseBookingKind
from tests.books.outside_programs import bean_check, bean_query, hledger, hledger_balances
from tests.conftest import make_merchant
from tests.journeys.operator_commands import Said, malipo
from tests.reconciliation.close.books import MONDAY, THURSDAY, TUESDAY, WEDNESDAY, Books, at

NO_STATEMENT = {"without": ["MPESA"], "reason": "portal away"}
BEFORE = MONDAY - timedelta(days=3)


@pytest.fixture
async def books(database: Database, tmp_path: Path) -> Books:
    """Three merchants, every kind of entry, three closed days, moves before the first of them and after the last."""
    books = await Books.begin(database, tmp_path)
    first = books.merchant_id
    await _top_up(books, 250_000, "FT-1", BEFORE)
    await books.paid("R0", 90_000, at(BEFORE))
    await books.paid("R1", 5_000, at(MONDAY))
    await books.paid_out("R2", 20_000, at(MONDAY, "13:00"))
    await books.failed_payout("R3", 7_000, at(MONDAY, "14:00"))
    await books.book(HouseBookingKind.BANK_TRANSFER, -30_000, MONDAY, reference='FT "2"; a\\b')
    books.merchant_id = (await make_merchant(database)).id
    await books.paid("R4", 4_000, at(MONDAY, "15:00"))
    await books.close(MONDAY, **NO_STATEMENT)
    await books.paid("LATE", 1_500, at(MONDAY, "23:59"))
    await books.book(HouseBookingKind.NETWORK_FEE, -150, TUESDAY)
    await books.contradicted("R4", -4_000, at(TUESDAY))
    await books.close(TUESDAY, **NO_STATEMENT)
    await books.post(
        books.payments["R4"],
        Step.RESOLUTION,
        [Move(Account.WALLET, Account.SUSPENSE, 3_000), Move(Account.LOSSES, Account.SUSPENSE, 1_000)],
        at(WEDNESDAY),
    )
    await books.close(WEDNESDAY)
    books.merchant_id = first
    await books.paid("R5", 800, at(THURSDAY), channel="TIGO_PESA")
    return books


async def _top_up(books: Books, amount: int, reference: str, day: date) -> None:
    async with books.database.begin() as tx:
        await book(tx, BookingKind.TOP_UP, books.merchant_id, amount, reference=reference, now=at(day))


@pytest.fixture
def write(books: Books, database_url: str, tmp_path: Path) -> Callable[..., Awaitable[Path]]:
    async def write(first: date, last: date, format_: str) -> Path:
        file = tmp_path / f"{first}.{format_}"
        done = await _books(
            database_url, "journal", "--from", str(first), "--to", str(last), "--format", format_, "--output", str(file)
        )
        assert (done.code, done.err) == (0, "")
        return file

    return write


async def _books(database_url: str, *arguments: str) -> Said:
    return await malipo("books", *arguments, database_url=database_url)


async def _ledger(database_url: str) -> dict[str, int]:
    """The balances by the ledger check, as books sign them."""
    checked = await malipo("ledger", "check", "--json", database_url=database_url)
    return {name: -amount for name, amount in checked.json["balances"].items() if amount}


# The accounts of the ledger, as the files call them.
PATHS = {
    "bank": "Assets:Bank",
    "float MPESA": "Assets:Floats:MPESA",
    "float TIGO_PESA": "Assets:Floats:TIGO-PESA",
    "wallet": "Liabilities:Wallets",
    "in_flight": "Liabilities:InFlight",
    "suspense": "Liabilities:Suspense",
    "fees": "Income:Fees",
    "network_fees": "Expenses:NetworkFees",
    "losses": "Expenses:Losses",
}
PERIODS = [(BEFORE, THURSDAY), (MONDAY, THURSDAY), (TUESDAY, THURSDAY), (THURSDAY, THURSDAY)]


async def test_both_programs_find_the_balances_of_the_ledger_in_every_period(
    write: Callable[..., Awaitable[Path]], database_url: str
) -> None:
    ledger = await _ledger(database_url)
    merchants = (await _books(database_url, "trial-balance", "--merchants", "--json")).json["accounts"]
    wallets = {row["of"]: row["debit"] - row["credit"] for row in merchants if row["of"] and row["code"] == "2010"}
    assert len(wallets) == 2
    for first, last in PERIODS:
        beancount, plain = await write(first, last, "beancount"), await write(first, last, "hledger")
        bean_check(beancount)
        _check_strictly(plain)
        by_bean, by_hledger = bean_query(beancount), hledger_balances(plain)
        assert by_bean == by_hledger
        assert {name: _sum(by_bean, path) for name, path in PATHS.items()} == {
            name: ledger.get(name, 0) for name in PATHS
        }
        for merchant, balance in wallets.items():
            assert by_bean[f"Liabilities:Wallets:M{merchant[1:].replace('_', '-')}"] == balance


def _sum(balances: dict[str, int], path: str) -> int:
    return sum(amount for each, amount in balances.items() if each == path or each.startswith(f"{path}:"))


async def test_an_entry_that_is_missing_from_the_file_is_found_by_both(write: Callable[..., Awaitable[Path]]) -> None:
    for format_, ends, check in (("beancount", "\n2026", bean_check), ("hledger", "\n\n", _check_strictly)):
        file = await write(MONDAY, WEDNESDAY, format_)
        text = file.read_text()
        begins = text.index(f"{TUESDAY} * Charges" if format_ == "hledger" else f'{TUESDAY} * "Charges')
        file.write_text(text[:begins] + text[text.index(ends, begins) + 1 :])
        with pytest.raises(subprocess.CalledProcessError):
            check(file)


def _check_strictly(file: Path) -> None:
    hledger(file, "check", "--strict")


async def test_csv_has_a_row_for_each_line_and_sums_to_zero(
    write: Callable[..., Awaitable[Path]], books: Books
) -> None:
    with (await write(BEFORE, THURSDAY, "csv")).open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert sum(int(row["debit"] or 0) - int(row["credit"] or 0) for row in rows) == 0
    assert {row["kind"] for row in rows} == {
        "top_up", "collection", "payout_reserved", "payout_paid", "payout_given_back", "bank_transfer", "network_fee",
        "contradiction", "resolution",
    }  # fmt: skip
    assert [(row["date"], row["lateOf"]) for row in rows if row["lateOf"]] == [(str(TUESDAY), str(MONDAY))] * 3
    [fees] = [
        row
        for row in rows
        if row["kind"] == "collection" and row["date"] == str(THURSDAY) and row["accountCode"] == "4010"
    ]
    assert (fees["account"], fees["credit"], fees["receipt"]) == ("Fees earned", "10", "R5")
    assert (fees["merchantId"], fees["time"]) == (books.merchant_id, f"{THURSDAY}T09:00:00.000Z")


async def test_the_trial_balance_of_a_closed_day_agrees_with_its_signed_close(books: Books, database_url: str) -> None:
    monday = await _books(database_url, "trial-balance", "--at", str(MONDAY))
    assert monday.code == 0
    assert "The day is closed, and every account is as its signed close says." in monday.out
    shown = (await _books(database_url, "trial-balance", "--at", str(WEDNESDAY), "--json")).json
    assert (shown["isClosed"], shown["agrees"], shown["debits"]) == (True, True, shown["credits"])
    async with books.database.begin() as tx:  # Somebody changes the ledger of a closed day.
        await tx.execute(
            "UPDATE moves SET amount = amount + 1 WHERE cause_id = $1 AND target = 'fees'", books.payments["R1"]
        )
    changed = await _books(database_url, "trial-balance", "--at", str(MONDAY))
    assert changed.code == 1
    assert f"{MONDAY} differs from its signed close: fees -31, by the close -30; float MPESA" in changed.out
    journal = await _books(
        database_url, "journal", "--from", str(MONDAY), "--to", str(TUESDAY), "--format", "beancount"
    )
    assert (journal.code, journal.err.count("differs from its signed close")) == (1, 2)
    assert json.loads((await _books(database_url, "trial-balance", "--json")).out)["at"] is None


async def test_a_period_that_ends_before_it_begins_is_refused(books: Books, database_url: str) -> None:
    refused = await _books(database_url, "journal", "--from", "2026-11-03", "--to", "2026-11-02", "--format", "csv")
    assert (refused.code, refused.err) == (
        2,
        "malipo: The period from 2026-11-03 to 2026-11-02 ends before it begins.\n",
    )
