"""Invoices of a closed month: numbers without gaps, once, with their VAT booked in the same commit."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest

from malipo.errors import Conflict, Invalid, Missing
from malipo.invoices import change_invoice_data, issue_invoices
from malipo.invoices.document_words import LABELS, InvoiceWords
from malipo.invoices.invoice import Invoice, InvoiceKind, Party, last_day_of
from malipo.invoices.pdf import pdf_of
from malipo.invoices.store import invoices as store
from malipo.ledger import check, house_bookings
from malipo.ledger.accounts import Account, Move, Step
from malipo.messages.store import messages
from malipo.restore.store import installation
from tests.conftest import PATIENCE_SECONDS, create_database, drop_if_idle, make_merchant
from tests.db.lock_waits import are_waiting
from tests.journeys.full_stack import until
from tests.kept_database import PlanningDatabase
from tests.mail.mail_steps import add_person
from tests.reconciliation.close.books import ASHA, Books, at
from tests.restore.reporting_worker import note_worker

SEPTEMBER, OCTOBER, NOVEMBER = date(2026, 9, 1), date(2026, 10, 1), date(2026, 11, 1)
LAST_OF_OCTOBER = date(2026, 10, 31)
NOW = datetime(2026, 11, 3, 9, tzinfo=UTC)
AFTERWARDS = NOW + timedelta(days=60)
SELLER = Party(name="Malipo Ltd", address="Dar es Salaam", tin="123456789", vrn="40-320840-G")
NO_STATEMENT: dict[str, Any] = {"without": ["MPESA"], "reason": "portal away"}


@asynccontextmanager
async def copied(postgres: str, template: str, books: Books) -> AsyncIterator[Books]:
    url = await create_database(postgres, template)
    async with PlanningDatabase.opened(url, size=4, connect_seconds=PATIENCE_SECONDS) as database:
        yield replace(books, database=database, payments=dict(books.payments))
    await drop_if_idle(postgres, url)


@pytest.fixture(scope="module")
async def september(
    postgres: str, template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[str, Books]]:
    """A database that tests get copies of, and what is in it."""
    url = await create_database(postgres, template)
    async with PlanningDatabase.opened(url, size=4, connect_seconds=PATIENCE_SECONDS) as database:
        books = await Books.begin(database, tmp_path_factory.mktemp("books"))
        await books.paid("S1", 5000, at(date(2026, 9, 30)))
        await books.close(date(2026, 9, 30), **NO_STATEMENT)
        for number in range(1, 119):
            await books.paid(f"O{number}", 5000, at(date(2026, 10, 1 + number % 31)))
        async with database.begin() as tx:
            await change_invoice_data.set_rate(tx, 1800, date(2026, 1, 1), actor=ASHA, now=NOW)
    yield named_in(url), books
    await drop_if_idle(postgres, url)


@pytest.fixture(scope="module")
async def october(postgres: str, september: tuple[str, Books]) -> AsyncIterator[tuple[str, Books]]:
    url = await create_database(postgres, september[0])
    async with PlanningDatabase.opened(url, size=4, connect_seconds=PATIENCE_SECONDS) as database:
        books = replace(september[1], database=database)
        for each in range(1, 31):
            await books.close(date(2026, 10, each), now=AFTERWARDS, **NO_STATEMENT)
    yield named_in(url), books
    await drop_if_idle(postgres, url)


def named_in(url: str) -> str:
    return urlsplit(url).path.removeprefix("/")


@pytest.fixture
async def books_of_september(postgres: str, september: tuple[str, Books]) -> AsyncIterator[Books]:
    """Two merchants with payments in September and October, each with a fee of 10; until September all is closed."""
    async with copied(postgres, *september) as books:
        yield books


@pytest.fixture
async def books(postgres: str, october: tuple[str, Books]) -> AsyncIterator[Books]:
    """The same, and of October only the 31st is open: what a test does in that month, it does on that day."""
    async with copied(postgres, *october) as books:
        yield books


async def close_october(books: Books) -> None:
    await close_days(books, LAST_OF_OCTOBER, **NO_STATEMENT)


async def close_days(books: Books, day: date, **how: Any) -> None:
    """From a day to the end of its month."""
    for each in range((last_day_of(day) - day).days + 1):
        await books.close(day + timedelta(days=each), now=AFTERWARDS, **how)


async def issue(books: Books, month: date = OCTOBER, *, seller: Party = SELLER) -> list[Invoice]:
    async with books.database.begin() as tx:
        return await issue_invoices.issue(tx, month, seller=seller, actor=ASHA, now=NOW)


async def balance(books: Books, account: str) -> int:
    async with books.database.read() as connection:
        return int(
            await connection.fetchval(
                """
                SELECT coalesce(sum(CASE $1 WHEN target THEN amount ELSE -amount END), 0) FROM moves
                WHERE $1 IN (source, target)
                """,
                account,
            )
        )


async def findings(books: Books) -> list[check.LedgerFinding]:
    async with books.database.read() as connection:
        return [*await check.wrong_invoices(connection), *await check.wrong_bookings(connection)]


async def test_each_merchant_gets_an_invoice_whose_vat_is_booked_on_the_first_open_day(books: Books) -> None:
    other = await make_merchant(books.database)
    first, books.merchant_id = books.merchant_id, other.id
    await books.paid("X1", 5000, at(LAST_OF_OCTOBER))
    books.merchant_id = first
    await close_october(books)
    issued = {each.merchant_id: each for each in await issue(books)}
    assert issued[first].gross == 1180
    assert issued[other.id].gross == 10
    assert issue_invoices.total_of(list(issued.values())) == await balance(books, "fees") - 10 + 180 + 2
    assert {each.number for each in issued.values()} == {"A-2026-000001", "A-2026-000002"}
    assert await balance(books, "vat") == 180 + 2
    assert await findings(books) == []
    async with books.database.read() as connection:
        rows = await connection.fetch("SELECT reference, value_date, source, target FROM house_bookings ORDER BY 1")
        reported = await connection.fetch(
            "SELECT merchant_id, details ->> 'number' AS number FROM audit_log "
            "WHERE action = 'invoice.issued' ORDER BY 2"
        )
    assert [tuple(row) for row in rows] == [
        ("A-2026-000001", date(2026, 11, 1), "fees", "vat"),
        ("A-2026-000002", date(2026, 11, 1), "fees", "vat"),
    ]
    assert [tuple(row) for row in reported] == sorted(
        [(each.merchant_id, each.number) for each in issued.values()], key=lambda row: row[1]
    )


async def test_a_month_is_invoiced_once_also_by_two_at_once(books: Books) -> None:
    await close_october(books)
    first, second = await asyncio.gather(issue(books), issue(books))
    assert len(first) + len(second) == 1
    assert await issue(books) == []
    assert await balance(books, "vat") == 180


async def test_who_issues_second_waits_for_the_first_and_issues_nothing(books: Books) -> None:
    await close_october(books)
    async with books.database.begin() as tx:
        first = await issue_invoices.issue(tx, OCTOBER, seller=SELLER, actor=ASHA, now=NOW)
        second = asyncio.create_task(issue(books))
        await until(lambda: are_waiting(books.database), pause=0.01, what="the second one's waiting")
        assert not second.done()
    assert (len(first), await second) == (1, [])
    assert await balance(books, "vat") == first[0].vat == 180
    assert await findings(books) == []


async def test_who_issues_second_issues_all_if_the_first_gives_up(books: Books) -> None:
    await close_october(books)

    async def give_up() -> None:
        async with books.database.begin() as tx:
            await issue_invoices.issue(tx, OCTOBER, seller=SELLER, actor=ASHA, now=NOW)
            second.append(asyncio.create_task(issue(books)))
            await until(lambda: are_waiting(books.database), pause=0.01, what="the second one's waiting")
            raise ZeroDivisionError

    second: list[asyncio.Task[list[Invoice]]] = []
    with pytest.raises(ZeroDivisionError):
        await give_up()
    [invoice] = await second[0]
    assert (invoice.number, await balance(books, "vat")) == ("A-2026-000001", 180)


async def test_a_number_that_was_not_committed_is_given_again(books: Books) -> None:
    await close_october(books)

    async def die_before_the_commit() -> None:
        async with books.database.begin() as tx:
            await issue_invoices.issue(tx, OCTOBER, seller=SELLER, actor=ASHA, now=NOW)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await die_before_the_commit()
    [invoice] = await issue(books)
    assert invoice.number == "A-2026-000001"


async def test_a_fee_that_was_given_back_later_is_a_credit_note(books: Books) -> None:
    [september] = await issue(books, SEPTEMBER)
    assert september.gross == 10
    back = [Move(Account.FEES, Account.SUSPENSE, 10)]
    await books.post(books.payments["S1"], Step.CONTRADICTION, back, at(LAST_OF_OCTOBER))
    await close_october(books)
    invoice, note = await issue(books)
    assert (invoice.gross, note.gross, note.vat) == (1180, 10, 2)
    assert (note.kind, note.corrects) == (InvoiceKind.CREDIT_NOTE, september.number)
    assert await balance(books, "vat") == 2 + 180 - 2
    assert await findings(books) == []
    total = issue_invoices.total_of([september, invoice, note])
    assert total == await balance(books, "fees") + await balance(books, "vat")


async def test_what_was_committed_after_the_close_of_the_last_day_is_of_the_next_month(
    books_of_september: Books,
) -> None:
    books = books_of_september
    await books.paid("LATE", 5000, at(date(2026, 9, 30), "23:59"))
    [september] = await issue(books, SEPTEMBER)
    assert september.gross == 10
    await close_days(books, OCTOBER, **NO_STATEMENT)
    [october] = await issue(books)
    assert october.gross == 1190


async def test_a_late_fee_that_comes_back_is_of_the_invoice_that_has_it(books_of_september: Books) -> None:
    books = books_of_september
    await issue(books, SEPTEMBER)
    await books.paid("LATE", 5000, at(date(2026, 9, 30), "23:59"))
    await books.close(OCTOBER, **NO_STATEMENT)
    await fee_comes_back(books, "LATE", at(date(2026, 10, 7)))
    await close_days(books, date(2026, 10, 2), **NO_STATEMENT)
    [october] = await issue(books)
    assert [(each.gross, each.is_given_back) for each in october.lines] == [(1190, False), (-10, True)]
    await fee_comes_back(books, "O1", at(date(2026, 11, 2)))
    await books.post(books.payments["LATE"], Step.RESOLUTION, [TAKEN_AGAIN], at(date(2026, 11, 3)))
    await close_days(books, NOVEMBER)
    invoice, note = await issue(books, NOVEMBER)
    assert (invoice.gross, note.gross, note.corrects) == (10, 10, october.number)


TAKEN_AGAIN = Move(Account.SUSPENSE, Account.FEES, 10)


async def fee_comes_back(books: Books, receipt: str, when: datetime) -> None:
    back = [Move(Account.FEES, Account.SUSPENSE, 10)]
    await books.post(books.payments[receipt], Step.CONTRADICTION, back, when)


async def test_the_fee_of_a_settlement_that_the_bank_gives_back_in_another_month_is_a_credit_note(books: Books) -> None:
    """October has its fee, and November gives it back."""
    when = at(LAST_OF_OCTOBER)
    begun = [Move(Account.WALLET, Account.IN_SETTLEMENT, 5000)]
    await books.post("stl_1", Step.OPEN, begun, when)
    paid = [Move(Account.IN_SETTLEMENT, Account.BANK, 3820), Move(Account.IN_SETTLEMENT, Account.FEES, 1180)]
    await books.post("stl_1", Step.END, paid, when)
    await close_october(books)
    [october] = await issue(books)
    assert [(each.fee, each.gross) for each in october.lines] == [("collection", 1180), ("settlement", 1180)]
    assert (october.vat, await balance(books, "vat")) == (360, 360)
    back = [Move(Account.BANK, Account.IN_SETTLEMENT, 3820), Move(Account.FEES, Account.IN_SETTLEMENT, 1180)]
    await books.post("stl_1", Step.RETURN, [*back, Move(Account.IN_SETTLEMENT, Account.WALLET, 5000)], at(NOVEMBER))
    await close_days(books, NOVEMBER)
    [note] = await issue(books, NOVEMBER)
    assert (note.kind, note.corrects, note.vat) == (InvoiceKind.CREDIT_NOTE, october.number, 180)
    assert [(each.fee, each.gross) for each in note.lines] == [("settlement", 1180)]
    assert await balance(books, "vat") == 180
    assert await findings(books) == []


async def test_a_company_that_registers_for_vat_gives_back_what_was_without_it(books: Books) -> None:
    """The rate begins in October: none can be set for September any more."""
    async with books.database.begin() as tx:
        await tx.execute("UPDATE vat_rates SET begins_on = $1", OCTOBER)
    [september] = await issue(books, SEPTEMBER, seller=Party(name="Not registered"))
    await fee_comes_back(books, "S1", at(LAST_OF_OCTOBER))
    await close_october(books)
    invoice, note = await issue(books)
    assert (invoice.vat, note.corrects, note.vat, note.booking_id) == (180, september.number, 0, None)
    assert await balance(books, "vat") == 180
    assert await findings(books) == []


async def test_a_month_with_a_restore_in_it_is_invoiced_once_and_corrects_the_old_series(
    books_of_september: Books,
) -> None:
    """October's days until the 16th are closed, a restore loses the afternoon, and finance adopts a payment of it."""
    books = books_of_september
    [september] = await issue(books, SEPTEMBER)
    for day in range(1, 17):
        await books.close(date(2026, 10, day), **NO_STATEMENT)
    async with books.database.begin() as tx:
        await installation.begin_epoch(tx, "a test")
    await books.paid("ADOPTED", 5000, at(date(2026, 10, 18)))
    await fee_comes_back(books, "S1", at(date(2026, 10, 18)))
    async with books.database.begin() as tx:
        await installation.end_fence(tx)
    await close_days(books, date(2026, 10, 17), **NO_STATEMENT)
    invoice, note = await issue(books)
    assert (invoice.gross, note.gross, note.corrects) == (1190, 10, september.number)
    assert invoice.series == note.series != september.series
    assert (invoice.ordinal, note.ordinal) == (1, 2)
    assert await issue(books) == []
    assert await issue(books, SEPTEMBER) == [], "its invoice in the old series was not lost"
    total = issue_invoices.total_of([september, invoice, note])
    assert total == await balance(books, "fees") + await balance(books, "vat")
    assert await findings(books) == []


async def test_a_fee_that_comes_back_at_a_higher_rate_stops_nobodys_invoices(books: Books) -> None:
    """September has no invoice: its fee of 10 comes back at 18 %, and October's are charged at 0 %."""
    async with books.database.begin() as tx:
        await change_invoice_data.set_rate(tx, 0, OCTOBER, actor=ASHA, now=NOW)
        await tx.execute("UPDATE moves SET amount = 500 WHERE cause_id = $1 AND target = 'fees'", books.payments["S1"])
    back = [Move(Account.FEES, Account.SUSPENSE, 500)]
    await books.post(books.payments["S1"], Step.CONTRADICTION, back, at(LAST_OF_OCTOBER))
    await close_october(books)
    invoice, note = await issue(books)
    assert (invoice.gross, invoice.vat, invoice.booking_id) == (1180, 0, None)
    assert (note.kind, note.gross, note.vat, note.corrects) == (InvoiceKind.CREDIT_NOTE, 500, 76, None)
    assert await balance(books, "vat") == -76
    assert await issue(books) == []
    assert await findings(books) == []


async def test_only_closed_months_are_invoiced_by_a_seller_with_a_name_and_a_rate(books: Books) -> None:
    with pytest.raises(Conflict) as refused:
        await issue(books)
    assert refused.value.code == "invoice_month_not_closed"
    async with books.database.begin() as tx:
        await tx.execute("DELETE FROM vat_rates")
    with pytest.raises(Conflict) as refused:
        await issue(books, SEPTEMBER)
    assert refused.value.code == "invoice_no_rate"
    [invoice] = await issue(books, SEPTEMBER, seller=Party(name="Not registered"))
    assert (invoice.gross, invoice.vat, invoice.booking_id) == (10, 0, None)
    assert await balance(books, "vat") == 0


async def test_after_a_restore_nothing_is_issued_until_release_and_then_in_another_series(books: Books) -> None:
    async with books.database.begin() as tx:
        await installation.begin_epoch(tx, "a test")
    with pytest.raises(Conflict) as refused:
        await issue(books, SEPTEMBER)
    assert refused.value.code == "invoice_fenced"
    async with books.database.begin() as tx:
        await installation.end_fence(tx)
    [invoice] = await issue(books, SEPTEMBER)
    assert invoice.number.startswith("R")
    assert invoice.number.endswith("-2026-000001")


async def test_no_number_is_given_before_a_worker_has_compared_the_database(books: Books) -> None:
    """Perhaps it was restored, and the same numbers were given in the lost time."""
    async with books.database.begin() as tx:
        await note_worker(tx, [])
        await tx.execute("UPDATE worker_send_counts SET server_id = 'the one before'")
    with pytest.raises(Conflict) as refused:
        await issue(books, SEPTEMBER)
    assert refused.value.code == "invoice_not_compared"
    async with books.database.begin() as tx:
        await note_worker(tx, [])
    assert [each.number for each in await issue(books, SEPTEMBER)] == ["A-2026-000001"]


async def test_a_fence_that_begins_while_invoices_are_issued_waits(books: Books) -> None:
    async def fence() -> None:
        async with books.database.begin() as tx:
            await installation.begin_epoch(tx, "a test")

    async with books.database.begin() as tx:
        [invoice] = await issue_invoices.issue(tx, SEPTEMBER, seller=SELLER, actor=ASHA, now=NOW)
        fencing = asyncio.create_task(fence())
        await until(lambda: are_waiting(books.database), pause=0.01, what="the fence's waiting")
        assert not fencing.done()
    await fencing
    assert invoice.series == "A"


async def test_nobody_reads_a_document_before_the_mark_of_a_worker_has_its_issue(books: Books) -> None:
    """A worker that was killed just before noticed nothing of it: a restore that loses it gives its number again."""

    async def look() -> None:
        async with books.database.begin() as tx:
            await note_worker(tx, [])

    async def readable() -> tuple[list[str], bool, int]:
        async with books.database.begin() as tx:
            latest = await store.find_latest(tx, limit=10)
            one = await store.find(tx, "A-2026-000001")
            claimed = await messages.claim(tx, domain="till.example", most=10, now=NOW, until=NOW)
        return [each.number for each in latest], one is not None, len(claimed)

    await add_person(books.database, books.merchant_id, "neema@duka.example.com")
    for _ in range(5):
        await look()
    [invoice] = await issue(books, SEPTEMBER)
    assert await readable() == ([], False, 0)
    for _ in range(2):
        await look()
        assert await readable() == ([], False, 0)
    await look()
    assert await readable() == ([invoice.number], True, 1)


async def test_the_vat_of_an_invoice_cannot_be_undone_and_a_wrong_one_is_found(books: Books) -> None:
    [invoice] = await issue(books, SEPTEMBER)
    assert invoice.booking_id is not None
    with pytest.raises(Conflict) as refused:
        async with books.database.begin() as tx:
            await house_bookings.undo(tx, invoice.booking_id, evidence="a test", booked_by="asha", now=NOW)
    assert refused.value.code == "booking_is_of_invoice"
    async with books.database.begin() as tx:
        await tx.execute("UPDATE invoices SET vat = vat + 1")
    assert [(each.what, each.where) for each in await findings(books)] == [("invoice", invoice.number)]


async def test_the_ledger_check_finds_a_gap_in_the_numbers(books: Books) -> None:
    for month in range(2):
        books.merchant_id = (await make_merchant(books.database)).id
        await books.paid(f"N{month}", 5000, at(LAST_OF_OCTOBER))
    await close_october(books)
    assert (len(await issue(books)), await findings(books)) == (3, [])
    async with books.database.begin() as tx:  # Somebody changes the database.
        await tx.execute("DELETE FROM invoices WHERE ordinal = 2")
    found = [each for each in await findings(books) if each.what == "numbers of invoices"]
    assert [(each.where, each.stored, each.computed) for each in found] == [("A-2026", 2, 3)]
    async with books.database.begin() as tx:
        await tx.execute("DELETE FROM invoices; UPDATE invoice_counters SET last = 4")
    found = [each for each in await findings(books) if each.what == "numbers of invoices"]
    assert [(each.where, each.stored, each.computed) for each in found] == [("A-2026", 0, 4)]


async def test_a_fiscal_number_is_added_once(books: Books) -> None:
    [invoice] = await issue(books, SEPTEMBER)

    async def add(number: str, fiscal: str) -> None:
        async with books.database.begin() as tx:
            await issue_invoices.add_fiscal_number(tx, number, fiscal, actor=ASHA, now=NOW)

    for wrong in ("", " ", "x" * 101, "a\nb"):
        with pytest.raises(Conflict):
            await add(invoice.number, wrong)
    await add(invoice.number, " RCT-1 ")
    await add(invoice.number, "RCT-1")
    with pytest.raises(Conflict) as refused:
        await add(invoice.number, "RCT-2")
    assert refused.value.code == "invoice_has_fiscal_number"
    with pytest.raises(Missing):
        await add("A-2026-000009", "RCT-1")
    async with books.database.read() as connection:
        found = await store.find(connection, invoice.number)
    assert found is not None
    assert found.fiscal_number == "RCT-1"


async def test_an_invoice_keeps_what_it_said_of_the_buyer_and_later_ones_say_the_new(books: Books) -> None:
    async def change(**what: str) -> Party:
        async with books.database.begin() as tx:
            return await change_invoice_data.change_buyer(tx, books.merchant_id, **what, actor=ASHA, now=NOW)

    before = await change(name="Duka la Asha Ltd", tin="987-654-321")
    [september] = await issue(books, SEPTEMBER)
    after = await change(address="PO Box 1\nMwanza", vrn="10-000001-a")
    assert after == Party(name="Duka la Asha Ltd", address="PO Box 1\nMwanza", tin="987654321", vrn="10-000001-A")
    for wrong in ({"tin": "12"}, {"name": " "}, {"address": "x" * 501}, {"vrn": "a\tb"}):
        with pytest.raises(Invalid) as refused:
            await change(**wrong)
        assert refused.value.code == "invoice_buyer_invalid"
    await close_october(books)
    [october] = await issue(books)
    async with books.database.read() as connection:
        kept = await store.find(connection, september.number)
    assert kept == september
    assert (september.buyer, october.buyer) == (before, after)


async def test_a_rate_cannot_begin_in_a_month_that_is_invoiced(books: Books) -> None:
    await issue(books, SEPTEMBER)

    async def set_rate(day: date) -> None:
        async with books.database.begin() as tx:
            await change_invoice_data.set_rate(tx, 1600, day, actor=ASHA, now=NOW + timedelta(hours=1))

    with pytest.raises(Conflict) as refused:
        await set_rate(date(2026, 9, 30))
    assert refused.value.code == "invoice_rate_too_early"
    await set_rate(OCTOBER)
    await close_october(books)
    [october] = await issue(books)
    assert october.vat_by_rate == {1600: 163}


async def test_the_same_document_is_the_same_pdf_whatever_people_have_typed(books: Books) -> None:
    async with books.database.begin() as tx:
        await change_invoice_data.change_buyer(
            tx, books.merchant_id, name="A & B <b>Ltd</b> &copy; 店", address="x <para> \ny", actor=ASHA, now=NOW
        )
    [invoice] = await issue(books, SEPTEMBER)
    words = InvoiceWords("Tax invoice", dict.fromkeys(invoice.lines, "Fees"), {each: each for each in LABELS})
    written = pdf_of(invoice, words)
    assert written.startswith(b"%PDF-")
    assert pdf_of(invoice, words) == written
