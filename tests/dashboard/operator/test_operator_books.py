"""/operator/books: the trial balance of a period, files of the journal, safeguarding, suspense, the end of a month."""

import csv
import io
import re
import zipfile
from datetime import date
from pathlib import Path

import pytest

from malipo import clock
from malipo.dashboard.operator.books import month_end
from malipo.db import Database
from malipo.errors import Problem
from malipo.invoices.invoice import InvoiceKind, Party
from malipo.month_end import check_archive
from malipo.month_end.checklist import MonthPoint
from malipo.month_end.month import month_before, month_of
from tests.conftest import make_merchant
from tests.dashboard.operator.operator_pages import Operator, OperatorPages
from tests.dashboard.operator.operator_pages import operator_pages as operator_pages
from tests.dashboard.operator.own_database import database as database
from tests.dashboard.operator.own_database import database_url as database_url
from tests.dashboard.operator.own_database import running as running
from tests.dashboard.operator.own_database import service as service
from tests.invoices.sample import store_invoice
from tests.ledger.suspense_bookings import in_suspense, released
from tests.reconciliation.close.books import Books, at

FRIDAY, SATURDAY, SUNDAY = date(2026, 10, 30), date(2026, 10, 31), date(2026, 11, 1)
NO_STATEMENT = {"without": ["MPESA"], "reason": "portal away"}
PATH = "/operator/books"
PERIOD = "from=2026-10-31&to=2026-10-31"


@pytest.fixture
async def books(database: Database, tmp_path: Path) -> Books:
    """Friday and Saturday are closed; something is in suspense since Sunday."""
    books = await Books.begin(database, tmp_path)
    books.fee = 10  # as the ledger has it
    await books.paid("R1", 5_000, at(FRIDAY))
    await books.close(FRIDAY, **NO_STATEMENT)
    await books.paid("R2", 7_000, at(SATURDAY))
    await books.paid_out("R3", 2_000, at(SATURDAY, "15:00"))
    await books.close(SATURDAY, **NO_STATEMENT)
    await books.contradicted("R2", -900, at(SUNDAY))
    return books


@pytest.fixture
async def asha(operator_pages: OperatorPages) -> Operator:
    return await operator_pages.operator("asha")


async def _file(operator: Operator, path: str) -> tuple[str, bytes]:
    """The name of a download, and what is in it."""
    surfer = operator.surfer
    async with surfer.http.get(surfer.url + path, headers=surfer.headers) as response:
        assert response.status == 200, await response.text()
        return response.headers["Content-Disposition"], await response.read()


async def test_the_trial_balance_is_of_the_days_that_were_asked_for(books: Books, asha: Operator) -> None:
    seen = await asha.surfer.get(f"{PATH}?{PERIOD}")
    for shown in (
        "The last day is closed, and every account is as its signed close says.",
        "1020 Floats at networks M-Pesa Asset 5,000 5,000 10,000",
        "2010 Merchants' wallets Liability −4,990 −4,990 9,980",
        "4010 Fees earned Income −10 −10 20",
        "Total 0 0 10,000 10,000",
    ):
        assert shown in seen.words, seen.words
    by_merchant = await asha.surfer.get(f"{PATH}?{PERIOD}&by=merchant")
    assert "2010 Merchants' wallets Duka Liability −4,990 −4,990 9,980" in by_merchant.words
    wrong = await asha.surfer.get(f"{PATH}?from=yesterday")
    assert (wrong.status, "The day" in wrong.words or "date" in wrong.words) == (400, True)
    await asha.surfer.post("/operator/language", {"language": "sw", "next": PATH})
    assert "2010 Pochi za wafanyabiashara" in (await asha.surfer.get(f"{PATH}?{PERIOD}")).words


async def test_the_journal_and_the_vouchers_are_files(books: Books, asha: Operator) -> None:
    name, content = await _file(asha, f"{PATH}/journal.csv?{PERIOD}")
    assert 'filename="journal_2026-10-31_2026-10-31.csv"' in name
    rows = list(csv.DictReader(io.StringIO(content.decode())))
    assert {row["kind"] for row in rows} == {"opening", "collection", "payout_reserved", "payout_paid"}
    for format_, begins in (("beancount", b'option "title"'), ("hledger", b"; malipo  2026-10-31")):
        assert (await _file(asha, f"{PATH}/journal.{format_}?{PERIOD}"))[1].startswith(begins)
    name, content = await _file(asha, f"{PATH}/vouchers/tally?{PERIOD}&opening=yes")
    assert 'filename="vouchers_2026-10-31_2026-10-31.xml"' in name
    assert content.count(b"<VOUCHER ") == 2
    refused = await asha.surfer.get(f"{PATH}/vouchers/quickbooks?from=2026-10-31&to=2026-11-01")
    assert "2026-11-01 is not closed." in refused.words
    assert (await asha.surfer.get(f"{PATH}/journal.exe?{PERIOD}")).status == 404


async def test_safeguarding_and_suspense_say_what_the_commands_say(books: Books, asha: Operator) -> None:
    safe = await asha.surfer.get(f"{PATH}/safeguarding")
    assert "What merchants own is there, and the rest is the house's own." in safe.words
    assert "Merchants own TZS 9,980" in safe.words
    suspense = await asha.surfer.get(f"{PATH}/suspense")
    assert "A network has reported another outcome of a payment" in suspense.words
    assert "900" in suspense.words


async def test_the_month_is_downloaded_when_all_of_it_is_closed(books: Books, asha: Operator, tmp_path: Path) -> None:
    seen = await asha.surfer.get(f"{PATH}/month?month=2026-10")
    assert f'href="{PATH}/month/2026-10.zip"' in seen.text
    assert "Closed without a statement of MPESA: 2026-10-30 – 2026-10-31." in seen.words
    assert "Merchants whose fees are not invoiced: 1." in seen.words
    name, content = await _file(asha, f"{PATH}/month/2026-10.zip")
    assert 'filename="malipo-2026-10.zip"' in name
    seen = await asha.surfer.get("/operator/audit")
    assert "Downloaded malipo-2026-10.zip of the books" in seen.text
    (file := tmp_path / "october.zip").write_bytes(content)
    assert check_archive.main([str(file)]) == 0
    with zipfile.ZipFile(file) as archive:
        assert "Assets:Floats:MPESA" in archive.read("journal/journal.hledger").decode()
    await asha.surfer.post("/operator/language", {"language": "sw", "next": PATH})
    _, in_kiswahili = await _file(asha, f"{PATH}/month/2026-10.zip")
    with zipfile.ZipFile(file) as first, zipfile.ZipFile(io.BytesIO(in_kiswahili)) as second:
        changed = {each for each in first.namelist() if first.read(each) != second.read(each)}
    assert changed == set(), "whoever makes it, it is the same"


async def test_each_point_of_the_month_leads_to_where_somebody_does_something_about_it(
    asha: Operator,
) -> None:
    for point in MonthPoint:
        if point is MonthPoint.NOT_OVER:
            continue
        where = month_end.where(Problem(point), may_act=True)
        assert where is not None, point
        assert (await asha.surfer.get(where)).status == 200, point
    assert month_end.where(Problem(MonthPoint.PROPOSALS), may_act=False) == "/operator/bookings"


async def test_the_month_that_is_shown_unasked_is_the_last_that_is_over(asha: Operator) -> None:
    before = month_before(clock.now())
    seen = await asha.surfer.get(f"{PATH}/month")
    assert any(f'value="{each}"' in seen.text for each in (before, month_before(clock.now()))), before


async def test_without_the_key_of_the_closes_it_is_an_error_and_no_part_of_a_file(books: Books, asha: Operator) -> None:
    async with books.database.begin() as tx:
        await tx.execute("UPDATE close_signing_keys SET secret = set_byte(secret, 20, 255 - get_byte(secret, 20))")
    seen = await asha.surfer.get(f"{PATH}/month/2026-10.zip")
    assert seen.status == 400, seen.words
    assert "The key that signs closes cannot be decrypted" in seen.words


async def test_a_month_that_is_not_closed_says_why_it_has_no_archive(books: Books, asha: Operator) -> None:
    current = month_of(clock.day_of(clock.now()))
    assert f"{current} is not over." in (await asha.surfer.get(f"{PATH}/month?month={current}")).words
    seen = await asha.surfer.get(f"{PATH}/month?month=2026-11")
    assert "Days that are not closed: 2026-11-01 – " in seen.words
    assert "Statements of MPESA are missing: 2026-11-01 – " in seen.words
    assert ".zip" not in seen.text.replace("--archive malipo-2026-11.zip", "")
    refused = await asha.surfer.get(f"{PATH}/month/2026-11.zip")
    assert "No day of 2026-11 is closed." in refused.words
    assert (await asha.surfer.get(f"{PATH}/month/2026-13.zip")).status in (400, 404)


async def test_money_in_suspense_is_proposed_for_a_merchant_and_credited_by_another(
    books: Books, asha: Operator, operator_pages: OperatorPages
) -> None:
    juma = await operator_pages.operator("juma")
    booking = await in_suspense(books.database, 700)
    reference = f"OURS {booking}"
    fields = {"booking": booking, "amount": "600", "merchant": books.merchant_id, "reference": reference}
    assert booking in (await asha.surfer.get(f"{PATH}/suspense")).text
    for wrong in ({"amount": "1.5"}, {"amount": "0"}, {"merchant": ""}, {"reference": ""}):
        refused = await asha.surfer.post(f"{PATH}/suspense/release", fields | wrong)
        assert (refused.status, 'class="wrong"' in refused.text) == (400, True), wrong
    for wrong in ({"amount": "701"}, {"merchant": "Nobody"}, {"booking": "hbk_none"}):
        refused = await asha.surfer.post(f"{PATH}/suspense/release", fields | wrong)
        assert (refused.status, reference in refused.text) == (409, True), wrong
    done = await asha.surfer.post(f"{PATH}/suspense/release", fields)
    assert (done.status, done.headers["Location"]) == (303, f"{PATH}/suspense")
    assert "Another operator must approve it, among the bookings." in (await asha.surfer.get(f"{PATH}/suspense")).words
    assert await _credited(books, reference) == 0
    waiting = await juma.surfer.get("/operator/bookings")
    [proposal] = re.findall(r'name="booking" value="([^"]+)"', waiting.text.partition(reference)[2])[:1]
    assert (await juma.surfer.post("/operator/bookings/approve", {"booking": proposal})).status == 303
    assert await _credited(books, reference) == 600


async def test_what_a_wrong_merchant_was_credited_is_taken_back_by_two_on_the_same_page(
    books: Books, asha: Operator, operator_pages: OperatorPages
) -> None:
    juma = await operator_pages.operator("juma")
    booking = await released(books.database, books.merchant_id, 700, reference=f"OURS {books.merchant_id}")
    page = f"{PATH}/suspense"
    seen = await asha.surfer.get(page)
    [value] = re.findall(rf'<option value="({booking} [^"]+)"', seen.text)
    assert value == f"{booking} {books.merchant_id}"
    reference = f"BACK {booking}"
    fields = {"released": value, "back": "300", "backReference": reference}
    for wrong in ({"back": "1.5"}, {"back": "0"}, {"backReference": ""}):
        refused = await asha.surfer.post(f"{page}/take-back", fields | wrong)
        assert (refused.status, refused.text.count('class="wrong"')) == (400, 1), wrong
    for wrong in ({"back": "701"}, {"released": f"{booking} mer_none"}, {"released": "hbk_none"}, {"released": ""}):
        refused = await asha.surfer.post(f"{page}/take-back", fields | wrong)
        assert (refused.status, reference in refused.text) in ((404, True), (409, True)), wrong
    done = await asha.surfer.post(f"{page}/take-back", fields)
    assert (done.status, done.headers["Location"]) == (303, page), done.words
    assert "It is proposed to take it back." in (await asha.surfer.get(page)).words
    assert await _taken_back(books, reference) == 0
    waiting = await juma.surfer.get("/operator/bookings")
    [proposal] = re.findall(r'name="booking" value="([^"]+)"', waiting.text.partition(reference)[2])[:1]
    own = await asha.surfer.post("/operator/bookings/approve", {"booking": proposal})
    assert (own.status, await _taken_back(books, reference)) == (403, 0), "who proposed it does not approve it"
    assert (await juma.surfer.post("/operator/bookings/approve", {"booking": proposal})).status == 303
    assert await _taken_back(books, reference) == 300
    assert "TZS 400" in (await asha.surfer.get(page)).text.partition(value)[2].partition("</option>")[0]
    again = await asha.surfer.post(f"{page}/take-back", fields)
    assert (again.status, await _taken_back(books, reference)) == (303, 300), "once a reference"
    assert "That was booked before" in (await asha.surfer.get(page)).words


async def _taken_back(books: Books, reference: str) -> int:
    async with books.database.read() as connection:
        return int(
            await connection.fetchval(
                "SELECT coalesce(sum(amount), 0) FROM bookings WHERE kind = 'suspense_take_back'"
                " AND bank_reference = $1",
                reference,
            )
        )


async def _credited(books: Books, reference: str) -> int:
    async with books.database.read() as connection:
        return int(
            await connection.fetchval(
                "SELECT coalesce(sum(amount), 0) FROM bookings WHERE kind = 'suspense_release' AND bank_reference = $1",
                reference,
            )
        )


async def test_invoices_of_all_merchants_are_a_page_a_file_and_a_pdf(books: Books, asha: Operator) -> None:
    other = await make_merchant(books.database, name="Mama Lishe")
    async with books.database.begin() as tx:
        september = await store_invoice(tx, books.merchant_id, buyer=Party(name="Duka <b>Ltd</b>"))
        august = await store_invoice(
            tx, other.id, buyer=Party(name="Mama Lishe"), month=date(2026, 8, 1), kind=InvoiceKind.CREDIT_NOTE
        )
    seen = await asha.surfer.get(f"{PATH}/invoices")
    assert seen.status == 200
    assert "Duka <b>Ltd</b>" in seen.words
    assert {each for each in (september.number, august.number) if each in seen.words} == {
        september.number,
        august.number,
    }
    of_august = await asha.surfer.get(f"{PATH}/invoices?month=2026-08")
    assert (august.number in of_august.words, september.number in of_august.words) == (True, False)
    assert (await asha.surfer.get(f"{PATH}/invoices?month=August")).status == 400
    name, content = await _file(asha, f"{PATH}/invoices/{august.number}/pdf")
    assert (f'filename="{august.number}.pdf"' in name, content[:5]) == (True, b"%PDF-")
    assert (await asha.surfer.get(f"{PATH}/invoices/T-2026-999999/pdf")).status == 404
    name, content = await _file(asha, f"{PATH}/invoices.csv?month=2026-08")
    rows = list(csv.DictReader(io.StringIO(content.decode())))
    assert [(row["number"], row["amount"]) for row in rows] == [(august.number, "-30")]
    assert "Downloaded invoices-2026-08.csv of the books" in (await asha.surfer.get("/operator/audit")).text
