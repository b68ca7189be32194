"""/dashboard/wallet: the balances, the statement on the screen, as a file and on paper."""

import itertools
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

from malipo import ids
from malipo.app.assemble import Service
from malipo.dashboard.merchant import wallet
from malipo.db import Database
from malipo.ledger.accounts import Account, Move, Posting, Step
from malipo.ledger.bookings import BookingKind, book
from malipo.ledger.store import wallets
from malipo.payments.status_writer import StatusChange
from malipo.payments.transaction import Cause, Type
from tests.conftest import Merchant, Running, make_merchant
from tests.dashboard.page_client import Seen, Surfer, add_person, surfing
from tests.journeys.concurrency import order
from tests.status_changes import change_status

PATH = "/dashboard/wallet"
# Midnight in Dar es Salaam is nine in the evening in UTC.
MIDNIGHT = datetime(2026, 3, 9, 21, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
_numbers = itertools.count(1)


@dataclass
class Shop:
    """A merchant with an empty wallet, and its owner in front of the pages."""

    service: Service
    merchant: Merchant
    surfer: Surfer

    @property
    def database(self) -> Database:
        return self.service.queries.database

    async def book(self, amount: int, *, at: datetime = MIDNIGHT, kind: BookingKind = BookingKind.TOP_UP) -> str:
        reference = f"BANK-{next(_numbers)}"
        async with self.database.begin() as tx:
            await book(tx, kind, self.merchant.id, amount, reference=reference, now=at)
        return reference

    async def book_many(self, count: int, *, at: datetime = MIDNIGHT) -> None:
        """So many top-ups of TZS 10 in one commit."""
        moves = [Move(Account.BANK, Account.WALLET, 10)]
        postings = [Posting(self.merchant.id, ids.mint("bok_", at), Step.BOOKING, moves) for _ in range(count)]
        async with self.database.begin() as tx:
            held = await wallets.lock(tx, [self.merchant.id])
            await wallets.post(tx, held, postings, now=at)

    async def pay_out(self, amount: int, *, fee: int = 0) -> str:
        asked = order(self.merchant.id, Type.DISBURSEMENT, amount)
        assert asked.draft is not None
        made = await self.service.payments.initiate(replace(asked, draft=replace(asked.draft, fee=fee)))
        return made.transaction.id

    async def page(self, query: str = "") -> Seen:
        seen = await self.surfer.get(PATH + query)
        assert seen.status == 200, seen.words
        return seen


@pytest.fixture
async def shop(running: Running, service: Service, database: Database) -> AsyncIterator[Shop]:
    merchant = await make_merchant(database, name="Duka <la> Asha")
    await add_person(database, merchant.id, f"w-{merchant.id}@duka.example")
    async with surfing(running.url) as surfer:
        await surfer.log_in(f"w-{merchant.id}@duka.example")
        yield Shop(service, merchant, surfer)


def lines(seen: Seen) -> list[int]:
    return [int(each) for each in re.findall(r'<tr id="line-(\d+)">', seen.text)]


def rows(seen: Seen) -> list[str]:
    """What each line of the statement says."""
    found = re.findall(r"<tr[ >].*?</tr>", seen.text.partition("<tbody>")[2], re.DOTALL)
    return [Seen(200, each, {}).words.strip() for each in found]


def linked(seen: Seen, rel: str) -> str | None:
    """Where the link to an older or newer page leads."""
    found = re.search(rf'rel="{rel}" href="([^"]*)"', seen.text)
    return found[1].replace("&amp;", "&") if found else None


async def test_each_line_says_what_it_was_and_the_balance_after_it(shop: Shop) -> None:
    topped_up = await shop.book(100_000)
    failed, cancelled = await shop.pay_out(30_000), await shop.pay_out(5_000)
    sent_home = await shop.book(10_000, kind=BookingKind.SETTLEMENT)
    for cause in (Cause.SUBMITTED, Cause.REFUSED):
        change = StatusChange(merchant_id=shop.merchant.id, transaction_id=failed, cause=cause, failure_code="declined")
        await change_status(shop.service, change)
    seen = await shop.page()
    newest, sent, second, first, oldest = rows(seen)
    assert newest.startswith("Back from a payout that did not happen MLP-")
    assert newest.endswith("+ TZS 30,000 TZS 85,000")
    assert sent == f"Sent to your bank account {sent_home} 10 Mar 2026, 00:00:00 − TZS 10,000 TZS 55,000"
    assert second.startswith("Set aside for a payout MLP-")
    assert second.endswith("− TZS 5,000 TZS 65,000")
    assert first.endswith("− TZS 30,000 TZS 70,000")
    assert oldest == f"You topped up {topped_up} 10 Mar 2026, 00:00:00 + TZS 100,000 TZS 100,000"
    assert re.findall(r'/dashboard/transactions/(txn_\w+)"', seen.text) == [failed, cancelled, failed]
    assert "Available TZS 85,000" in seen.words
    assert "Reserved TZS 5,000" in seen.words
    assert "Total TZS 90,000" in seen.words


async def test_pages_lead_through_every_line_once_and_back_again(shop: Shop) -> None:
    await shop.book_many(2 * wallet.PER_PAGE + 7)
    pages = [await shop.page()]
    while older := linked(pages[-1], "next"):
        pages.append(await shop.page(older.removeprefix(PATH)))
    numbers = [lines(each) for each in pages]
    assert [len(each) for each in numbers] == [wallet.PER_PAGE, wallet.PER_PAGE, 7]
    assert list(itertools.chain(*numbers)) == list(range(2 * wallet.PER_PAGE + 7, 0, -1))
    for page, newer in itertools.pairwise(reversed(pages)):
        back = linked(page, "prev")
        assert back is not None
        assert lines(await shop.page(back.removeprefix(PATH))) == lines(newer)
    assert linked(pages[0], "prev") is None


async def test_a_day_is_a_day_of_dar_es_salaam(shop: Shop) -> None:
    day = timedelta(days=1)
    for at in (MIDNIGHT - MILLISECOND, MIDNIGHT, MIDNIGHT + day - MILLISECOND, MIDNIGHT + day):
        await shop.book(10, at=at)
    assert lines(await shop.page("?from=2026-03-10&to=2026-03-10")) == [3, 2]
    assert lines(await shop.page("?from=2026-03-10")) == [4, 3, 2]
    assert lines(await shop.page("?to=2026-03-09")) == [1]
    assert "Nothing in these days" in (await shop.page("?from=2026-03-12")).words


async def test_pages_keep_the_days_that_were_asked_for(shop: Shop) -> None:
    await shop.book_many(3, at=MIDNIGHT - timedelta(days=1))
    await shop.book_many(wallet.PER_PAGE + 2)
    await shop.book_many(3, at=MIDNIGHT + timedelta(days=1))
    first = await shop.page("?from=2026-03-10&to=2026-03-10")
    older = linked(first, "next")
    assert older is not None
    second = await shop.page(older.removeprefix(PATH))
    assert lines(first) + lines(second) == list(range(wallet.PER_PAGE + 5, 3, -1))
    back = linked(second, "prev")
    assert back is not None
    assert lines(await shop.page(back.removeprefix(PATH))) == lines(first)


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("?from=tomorrow", "This is not a date, or not one that fits here."),
        ("?to=2026-02-30", "This is not a date, or not one that fits here."),
        ("?from=0001-01-01", "This is not a date, or not one that fits here."),
        ("?to=9999-12-31", "This is not a date, or not one that fits here."),
        ("?from=2026-03-10&to=2026-03-09", "The first day is after the last one."),
        ("?from=%00", "There is a character in it that cannot be stored."),
    ],
)
async def test_days_that_are_none_are_said_at_their_field(shop: Shop, query: str, sentence: str) -> None:
    seen = await shop.surfer.get(PATH + query)
    assert (seen.status, sentence in seen.words) == (400, True)
    assert 'aria-invalid="true"' in seen.text
    for path in (f"{PATH}.csv", f"{PATH}.xlsx", f"{PATH}/print"):
        assert (await shop.surfer.get(path + query)).status == 400


@pytest.mark.parametrize("before", ["-1", "x", "٣", "9" * 40, "1.5", ""])
async def test_a_line_that_is_none_begins_at_the_newest(shop: Shop, before: str) -> None:
    await shop.book(10)
    assert lines(await shop.page(f"?before={before}")) == [1]


async def test_paper_goes_from_one_balance_to_another(shop: Shop) -> None:
    await shop.book(40_000, at=MIDNIGHT - MILLISECOND)
    await shop.book(10_000)
    await shop.book(3_000, kind=BookingKind.SETTLEMENT)
    await shop.book(99, at=MIDNIGHT + timedelta(days=1))
    seen = await shop.page("/print?from=2026-03-10&to=2026-03-10")
    assert "Balance at the beginning TZS 40,000 Came in TZS 10,000 Went out TZS 3,000 Fees TZS 0 Set aside TZS 0" in (
        seen.words
    )
    opening, came, went, closing, _, top_ups, settlements, together = rows(seen)
    assert opening == "10 Mar 2026 Balance at the beginning 40,000"
    assert came.endswith("10,000 10,000 50,000")
    assert went.endswith("−3,000 −3,000 47,000")
    assert closing == "10 Mar 2026 Balance at the end 7,000 0 7,000 47,000"
    assert top_ups == "Top-ups 1 10,000 10,000"
    assert settlements == "Sent to your bank account 1 −3,000 −3,000"
    assert together == "Total 2 7,000 7,000"
    assert "Duka &lt;la&gt; Asha" in seen.text
    assert shop.merchant.id in seen.words


async def test_paper_of_quiet_days_has_the_balance_that_was(shop: Shop) -> None:
    await shop.book(40_000)
    assert "Balance at the end TZS 0" in (await shop.page("/print?from=2026-03-01&to=2026-03-09")).words
    quiet = (await shop.page("/print?from=2026-03-11&to=2026-03-12")).words
    assert "Balance at the beginning TZS 40,000 Came in TZS 0 Went out TZS 0 Fees TZS 0" in quiet
    assert "Balance at the end TZS 40,000" in quiet


async def test_what_is_too_long_for_paper_is_not_cut_short(shop: Shop) -> None:
    await shop.book_many(wallet.MOST_ON_PAPER)
    query = "/print?from=2026-03-10&to=2026-03-10"
    whole = await shop.page(query)
    assert len(rows(whole)) == wallet.MOST_ON_PAPER + 5, "with both balances, and the summary of one group"
    await shop.book(10)
    seen = await shop.page(query)
    assert "more than 2,000 lines" in seen.words
    assert "Balance at the end" not in seen.words


async def test_nobody_sees_the_wallet_of_another(shop: Shop, running: Running) -> None:
    await shop.book(123_456)
    stranger = await make_merchant(shop.database)
    await add_person(shop.database, stranger.id, f"s-{stranger.id}@duka.example")
    async with surfing(running.url) as surfer:
        for path in (PATH, f"{PATH}.csv", f"{PATH}.xlsx", f"{PATH}/print"):
            assert urlsplit((await surfer.get(path)).to).path == "/dashboard/login"
        await surfer.log_in(f"s-{stranger.id}@duka.example")
        for path in (PATH, f"{PATH}.csv", f"{PATH}/print?from=2026-03-01&to=2026-03-31"):
            seen = await surfer.get(path)
            assert seen.status == 200
            assert not re.search("123,?456|BANK-", seen.text)


async def test_days_that_were_chosen_show_their_balances_and_sums_on_the_screen(shop: Shop) -> None:
    await shop.book(50_000, at=MIDNIGHT - MILLISECOND)
    await shop.book(20_000)
    await shop.book(5_000, kind=BookingKind.SETTLEMENT)
    await shop.book(700, at=MIDNIGHT + timedelta(days=1))
    words = (await shop.page("?from=2026-03-10&to=2026-03-10")).words
    assert (
        "Balance at the beginning TZS 50,000 Came in TZS 20,000 Went out TZS 5,000 Fees TZS 0 Set aside TZS 0 "
        "Balance at the end TZS 65,000"
    ) in words
    assert "Balance at the beginning" not in (await shop.page()).words
