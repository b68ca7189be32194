"""The statement as a file for the books: CSV and XLSX, of a month in which everything happened that moves a wallet."""

import csv
import io
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import openpyxl
import pytest
from msgspec.structs import replace

from malipo import clock
from malipo.app.assemble import Service, assemble
from malipo.clock import ZONE
from malipo.dashboard.language import Translator
from malipo.dashboard.merchant.wallet_statement_days import days_in
from malipo.dashboard.merchant.wallet_statement_file import StatementBook, StatementHead
from malipo.db import Database
from malipo.http.accept_language import Language
from malipo.ledger.bookings import BookingKind, book
from malipo.ledger.period_statement import PeriodLine
from malipo.ledger.statement import COLUMNS as API_COLUMNS
from malipo.ledger.statement import WalletLineKind
from malipo.networks.connector import Verdict
from malipo.payments.cases import resolve
from malipo.payments.cases.resolution import OperatorFinding, ResolvedOutcome
from malipo.payments.transaction import Status, Transaction, Type
from tests.conftest import Merchant, Running, make_merchant
from tests.dashboard.page_client import Seen, Surfer, add_person, surfing
from tests.journeys.concurrency import order
from tests.operators.booking_steps import ASHA, JUMA
from tests.payments.refunds.refund_steps import RefundSteps

COLLECTION, PAYOUT = Type.COLLECTION, Type.DISBURSEMENT
DONE, FAILED, CANCELLED = Status.COMPLETED, Status.FAILED, Status.CANCELLED
PATH = "/dashboard/wallet"
DAY = timedelta(days=1)
EVIL = "=HYPERLINK(1)"


@dataclass
class Books:
    """A merchant who pays TZS 30 for each payment, and the owner, who downloads statements."""

    service: Service
    merchant: Merchant
    surfer: Surfer

    @property
    def database(self) -> Database:
        return self.service.queries.database

    def ago(self, days: int) -> RefundSteps:
        """So many days ago."""
        if not days:
            return RefundSteps(self.service, self.merchant.id)
        service = assemble(self.service.settings, self.database, clock=lambda: clock.now() - days * DAY)
        return RefundSteps(service, self.merchant.id)

    async def book(self, kind: BookingKind, amount: int, *, days: int) -> None:
        reference = f"BANK-{secrets.token_hex(4)}"
        async with self.database.begin() as tx:
            await book(tx, kind, self.merchant.id, amount, reference=reference, now=clock.now() - days * DAY)

    async def resolve(self, payment: Transaction, outcome: ResolvedOutcome) -> None:
        finding = OperatorFinding(outcome, "Receipt QK12AB on the statement of 15 November")
        async with self.database.begin() as tx:
            await resolve.propose(tx, payment.id, finding, actor=ASHA, approval_amount=1_000_000, now=clock.now())
            await resolve.approve(tx, payment.id, actor=JUMA, now=clock.now())

    async def get(self, ending: str, query: str = "") -> Seen:
        seen = await self.surfer.get(f"{PATH}.{ending}{query}")
        assert seen.status == 200, seen.words
        return seen

    async def csv(self, query: str = "") -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO((await self.get("csv", query)).text, newline="")))

    async def xlsx(self, query: str = "", language: str = "en") -> Any:
        cookies = {"malipo_language": language}
        async with self.surfer.http.get(f"{self.surfer.url}{PATH}.xlsx{query}", cookies=cookies) as answer:
            assert answer.status == 200
            return openpyxl.load_workbook(io.BytesIO(await answer.read()))


@asynccontextmanager
async def _opened(running: Running, service: Service, database: Database) -> AsyncIterator[Books]:
    merchant = await make_merchant(database, name="Duka la Mwaloni, Mwanza")
    email = f"b-{merchant.id}@duka.example"
    await add_person(database, merchant.id, email)
    async with surfing(running.url) as surfer:
        await surfer.log_in(email)
        yield Books(service, merchant, surfer)


@pytest.fixture
async def books(running: Running, service: Service, database: Database) -> AsyncIterator[Books]:
    async with _opened(running, service, database) as books:
        yield books


@pytest.fixture(scope="module")
async def month(running: Running, service: Service, database: Database) -> AsyncIterator[Books]:
    """Nobody changes it."""
    async with _opened(running, service, database) as books:
        await _fill(books)
        yield books


def _day(ago: int) -> str:
    return f"{(clock.now() - ago * DAY).astimezone(ZONE):%Y-%m-%d}"


async def _fill(books: Books) -> None:
    """Forty days ago a top-up; then everything that moves a wallet, day by day until today."""
    await books.book(BookingKind.TOP_UP, 20_000, days=40)
    steps = books.ago(38)
    await steps.charge_fees()
    collected = await steps.collected(5000)
    await steps.ended(PAYOUT, DONE, 2000)
    await steps.ended(PAYOUT, FAILED, 1000)
    await steps.ended(PAYOUT, CANCELLED, 900)
    await books.ago(30).refunded(collected, 700)
    await books.ago(30).refunded(collected, 640, status=FAILED)
    over_midnight = await books.ago(29).send(PAYOUT, 600)
    await books.book(BookingKind.SETTLEMENT, 3000, days=28)
    await books.ago(28).report(over_midnight, Verdict.REFUSED)
    # Contradictions: a collection that was paid after all; a payout that was, whose debt is taken from the wallet.
    await books.ago(20).contradicted(COLLECTION, FAILED, 1500)
    owed = await books.ago(18).contradicted(PAYOUT, FAILED, 4000)
    await books.resolve(owed, ResolvedOutcome.COMPLETED)
    taken_back = await books.ago(0).contradicted(PAYOUT, DONE, 800)
    await books.resolve(taken_back, ResolvedOutcome.FAILED)
    await books.ago(0).send(PAYOUT, 250)


async def test_closing_is_opening_plus_the_nets_to_the_shilling_in_every_period(month: Books) -> None:
    periods = [(None, 39), (38, 38), (37, 30), (29, 29), (28, 19), (18, 1), (0, None)]
    closed, seen = 0, 0
    for first, last in periods:
        days = {"from": first, "to": last}
        rows = await month.csv("?" + "&".join(f"{name}={_day(ago)}" for name, ago in days.items() if ago is not None))
        opening, *lines, closing = rows
        assert (opening["kind"], closing["kind"]) == ("OPENING_BALANCE", "CLOSING_BALANCE")
        assert int(opening["balanceAfter"]) == closed
        for line in lines:
            closed += int(line["net"])
            assert int(line["balanceAfter"]) == closed
            assert int(line["net"]) == int(line["gross"]) - int(line["fee"]) + int(line["setAside"])
        assert int(closing["balanceAfter"]) == closed
        seen += len(lines)
    async with month.database.read() as connection:
        wallet = await connection.fetchrow("SELECT * FROM wallets WHERE merchant_id = $1", month.merchant.id)
    assert wallet is not None
    assert (wallet["available"], wallet["statement_lines"]) == (closed, seen)


async def test_each_line_says_what_it_was_in_the_books(month: Books) -> None:
    assert [
        (row["kind"], row["group"], row["status"], int(row["gross"]), int(row["fee"]), int(row["setAside"]))
        for row in (await month.csv())[1:-1]
    ] == [
        ("TOP_UP", "TOP_UP", "", 20_000, 0, 0),
        ("COLLECTION", "COLLECTION", "COMPLETED", 5000, 30, 0),
        ("PAYOUT", "PAYOUT", "COMPLETED", -2000, 30, 0),
        ("PAYOUT", "NOT_PAID", "FAILED", 0, 0, -1030),
        ("PAYOUT_RETURNED", "NOT_PAID", "FAILED", 0, 0, 1030),
        ("PAYOUT", "NOT_PAID", "CANCELLED", 0, 0, -930),
        ("PAYOUT_RETURNED", "NOT_PAID", "CANCELLED", 0, 0, 930),
        ("PAYOUT", "REFUND", "COMPLETED", -700, 30, 0),
        ("PAYOUT", "NOT_PAID", "FAILED", 0, 0, -670),
        ("PAYOUT_RETURNED", "NOT_PAID", "FAILED", 0, 0, 670),
        ("PAYOUT", "NOT_PAID", "FAILED", 0, 0, -630),
        ("SETTLEMENT", "SETTLEMENT", "", -3000, 0, 0),
        ("PAYOUT_RETURNED", "NOT_PAID", "FAILED", 0, 0, 630),
        ("CORRECTION_CREDIT", "CORRECTION", "FAILED", 1500, 30, 0),
        ("PAYOUT", "NOT_PAID", "FAILED", 0, 0, -4030),
        ("PAYOUT_RETURNED", "NOT_PAID", "FAILED", 0, 0, 4030),
        ("CORRECTION_DEBIT", "CORRECTION", "FAILED", -4000, 30, 0),
        ("PAYOUT", "PAYOUT", "COMPLETED", -800, 30, 0),
        ("CORRECTION_CREDIT", "CORRECTION", "COMPLETED", 800, -30, 0),
        ("PAYOUT", "SET_ASIDE", "PROCESSING", 0, 0, -280),
    ]


async def test_a_workbook_has_the_same_lines_and_its_sums_by_group(month: Books) -> None:
    query = f"?from={_day(38)}&to={_day(1)}"
    opening, *lines, closing = await month.csv(query)
    book = await month.xlsx(query)
    summary, statement = book["Summary"], book["Statement"]
    header, begins, *rows, ends = statement.iter_rows(values_only=True)
    assert header[8:13] == ("Gross", "Fee", "Set aside", "Net", "Balance")
    assert (begins[1], begins[12]) == ("Balance at the beginning", int(opening["balanceAfter"]))
    assert (ends[1], ends[12]) == ("Balance at the end", int(closing["balanceAfter"]))
    names = ("gross", "fee", "setAside", "net", "balanceAfter")
    assert [row[8:13] for row in rows] == [tuple(int(line[name]) for name in names) for line in lines]
    assert [row[0] for row in rows] == [datetime.fromisoformat(f"{line['date']}T{line['time']}") for line in lines], (
        "a time of Dar es Salaam, to the second"
    )
    sums = {row[0]: row[1:] for row in summary.iter_rows(values_only=True) if row[0]}
    assert sums["Collections"][:5] == (1, 5000, 30, 0, 4970)
    assert sums["Set aside and given back: payouts that did not happen"][:5] == (10, 0, 0, 0, 0)
    assert sums["Corrections"][:5] == (1, 1500, 30, 0, 1470)
    assert sums["Balance at the beginning"][4] == 20_000
    assert sums["Balance at the end"][4] == 20_000 + sums["Total"][4] == int(closing["balanceAfter"])
    swahili = await month.xlsx(query, "sw")
    assert swahili.sheetnames == ["Muhtasari", "Taarifa ya pochi"]


async def test_names_are_text_and_our_phone_numbers_have_no_apostrophe(books: Books) -> None:
    asked = order(books.merchant.id, PAYOUT, 1000)
    assert asked.draft is not None
    await books.book(BookingKind.TOP_UP, 5000, days=0)
    draft = replace(asked.draft, name=EVIL, order_reference="+255754000001 x")
    await books.service.payments.initiate(replace(asked, draft=draft))
    _, _, row, _ = await books.csv()
    assert (row["phone"], row["name"], row["orderReference"]) == ("+255754000001", f"'{EVIL}", "'+255754000001 x")
    cells = [*(await books.xlsx())["Statement"].iter_rows()][3]
    assert [(cell.value, cell.data_type) for cell in cells[3:5]] == [(EVIL, "s"), ("+255754000001", "s")]
    assert not any(cell.data_type == "f" for cell in cells)


async def test_the_first_columns_are_those_of_the_api_and_the_name_tells_whose_days_they_are(books: Books) -> None:
    await books.book(BookingKind.TOP_UP, 5000, days=3)
    await books.ago(2).open(PAYOUT, 700)
    url = f"{books.surfer.url}/v1/wallet/entries?format=csv"
    async with aiohttp.ClientSession() as http, http.get(url, headers={"x-api-key": books.merchant.key}) as answer:
        apis = list(csv.reader(io.StringIO(await answer.text(), newline="")))
    mine = await books.get("csv")
    lines = list(csv.reader(io.StringIO(mine.text, newline="")))
    assert [row[: len(API_COLUMNS)] for row in (lines[0], *lines[2:-1])] == apis
    name = "statement_Duka-la-Mwaloni-Mwanza"
    assert mine.headers["Content-Disposition"] == f'attachment; filename="{name}_until_{_day(0)}.csv"'
    asked = f"?from={_day(3)}&to={_day(2)}"
    for ending in ("csv", "xlsx"):
        async with books.surfer.http.get(f"{books.surfer.url}{PATH}.{ending}{asked}") as answer:
            assert answer.headers["Content-Disposition"] == (
                f'attachment; filename="{name}_{_day(3)}_{_day(2)}.{ending}"'
            )
            assert "no-store" in answer.headers["Cache-Control"]
            assert len(await answer.read()) > 100


async def test_what_is_set_aside_is_called_so_until_its_payout_ends(books: Books) -> None:
    await books.book(BookingKind.TOP_UP, 9000, days=0)
    steps = books.ago(0)
    sent = await steps.send(PAYOUT, 1000)
    assert "Set aside for a payout MLP-" in (await books.surfer.get(PATH)).words
    await steps.report(sent, Verdict.CONFIRMED)
    seen = (await books.surfer.get(PATH)).words
    assert "Set aside for a payout" not in seen
    assert "Paid out MLP-" in seen
    failed = await steps.ended(PAYOUT, FAILED, 500)
    seen = (await books.surfer.get(PATH)).words
    assert f"Set aside for a payout that did not happen {failed.reference}" in seen
    assert f"Back from a payout that did not happen {failed.reference}" in seen


def test_what_a_sheet_has_no_room_for_goes_on_in_the_next(tmp_path: Path) -> None:
    """With the header and both balances, none has a row too many."""
    at = clock.now()
    lines = [PeriodLine(n, WalletLineKind.TOP_UP, 10, 10 * n, f"bok_{n}", f"BANK-{n}", at, None) for n in range(1, 8)]
    head = StatementHead("Duka", "mer_1", days_in({}), at)
    file = io.BytesIO()
    book = StatementBook(Translator(Language.ENGLISH), head, 0, file, str(tmp_path), most_rows=5)
    for first in range(0, 7, 2):
        book.add(lines[first : first + 2])
    book.close()
    written = openpyxl.load_workbook(file)
    rows = {name: [row[2] for row in written[name].iter_rows(values_only=True)] for name in written.sheetnames[1:]}
    assert rows == {
        "Statement": ["Reference", None, "BANK-1", "BANK-2"],
        "Statement 2": ["Reference", "BANK-3", "BANK-4"],
        "Statement 3": ["Reference", "BANK-5", "BANK-6", "BANK-7", None],
    }
    assert [row[12] for row in written["Statement 3"].iter_rows(values_only=True)][-1] == 70
    assert list(tmp_path.iterdir()) == []
