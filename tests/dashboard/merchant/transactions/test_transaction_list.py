"""/dashboard/transactions: the list, its filters, and its pages."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from malipo import clock
from malipo.app.assemble import Service
from malipo.db import Database
from malipo.networks.connector import Channel
from malipo.payments.listing import keyset_pagination
from malipo.payments.listing.filters import TransactionFilter
from malipo.payments.transaction import Status, Type
from tests.conftest import make_merchant
from tests.dashboard.merchant.transactions.transaction_pages import PATH, TransactionPages, link_in, rows_in
from tests.dashboard.merchant.transactions.transaction_pages import shop as shop
from tests.dashboard.merchant.transactions.transaction_pages import surfer as surfer

# The list


async def test_pages_hold_25_and_together_everything_once_newest_first(shop: TransactionPages) -> None:
    began = clock.now() - timedelta(hours=1)
    made = [(await shop.make(at=began + timedelta(seconds=n))).id for n in range(60)][::-1]

    first = await shop.surfer.get(PATH)
    older = link_in(first, "next")
    assert older is not None
    second = await shop.surfer.get(older)
    oldest = link_in(second, "next")
    assert oldest is not None
    third = await shop.surfer.get(oldest)

    assert [rows_in(each) for each in (first, second, third)] == [made[:25], made[25:50], made[50:]]
    assert (link_in(first, "prev"), link_in(third, "next")) == (None, None)
    back = link_in(third, "prev")
    assert back is not None
    again = await shop.surfer.get(back)
    assert rows_in(again) == made[25:50]
    top = link_in(again, "prev")
    assert top is not None
    assert await shop.listed(top.removeprefix(PATH)) == made[:25]


async def test_a_newer_page_that_would_be_short_is_the_newest_one(shop: TransactionPages) -> None:
    began = clock.now() - timedelta(hours=1)
    made = [(await shop.make(at=began + timedelta(seconds=n))).id for n in range(30)][::-1]
    assert await shop.listed(f"?after={made[3]}") == made[:25]


@pytest.mark.parametrize("name", ["before", "after"])
@pytest.mark.parametrize("key", ["x", "txn_", "'; DROP TABLE", "txn_" + "Z" * 26, "%00"])
async def test_a_key_that_is_none_is_ignored(shop: TransactionPages, name: str, key: str) -> None:
    made = await shop.make()
    assert await shop.listed(f"?{name}={key}") == [made.id]


async def test_links_keep_the_filters(shop: TransactionPages) -> None:
    began = clock.now() - timedelta(hours=1)
    for n in range(27):
        await shop.make(at=began + timedelta(seconds=n), name="Asha & Co")
    await shop.make(at=began - timedelta(seconds=1), name="Juma")

    older = link_in(await shop.surfer.get(PATH + "?search=asha+%26&status=PENDING"), "next")

    assert older is not None
    assert await shop.listed(older.removeprefix(PATH)) == [each.id for each in shop.made[1::-1]]


DAY = datetime(2026, 3, 10, 9, tzinfo=UTC)
FOUR: list[dict[str, Any]] = [
    {"at": DAY, "name": "Asha Komba", "phone": "+255754000100"},
    {"at": DAY + timedelta(days=1), "type_": Type.DISBURSEMENT, "channel": Channel.AIRTEL_MONEY, "name": "JUMA"},
    {"at": DAY + timedelta(days=2), "status": Status.COMPLETED, "channel": Channel.HALOPESA},
    {"at": DAY + timedelta(days=3), "status": Status.FAILED, "phone": "+255621777888"},
]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", [3, 2, 1, 0]),
        ("?status=&type=&channel=&from=&to=&search=", [3, 2, 1, 0]),
        ("?status=FAILED", [3]),
        ("?status=CANCELLED", []),
        ("?type=DISBURSEMENT", [1]),
        ("?channel=HALOPESA", [2]),
        ("?from=2026-03-12", [3, 2]),
        ("?to=2026-03-11", [1, 0]),
        ("?from=2026-03-11&to=2026-03-12", [2, 1]),
        ("?from=2026-03-11T12:00:01%2B03:00", [3, 2]),
        ("?search=juma", [1]),
        ("?search=+komba+", [0]),
        ("?search=0754+000+100", [0]),
        ("?search=075400", [3, 2, 1, 0][3:]),
        ("?search=255621777", [3]),
        ("?search=%2B255+621-777-888", [3]),
        ("?search=0621", [3]),
        ("?type=COLLECTION&status=PENDING&search=asha", [0]),
        ("?unknown=1", [3, 2, 1, 0]),
    ],
)
async def test_every_filter_leaves_what_it_says(shop: TransactionPages, query: str, expected: list[int]) -> None:
    for each in FOUR:
        values = {"phone": "+255688999999", "channel": Channel.MPESA, "name": ""} | each
        await shop.make(**values)
    assert await shop.listed(query) == [shop.made[n].id for n in expected]


async def test_a_day_is_a_day_in_dar_es_salaam(shop: TransactionPages) -> None:
    midnight = datetime(2026, 3, 9, 21, tzinfo=UTC)  # there, the 10th begins
    for moment in (midnight - timedelta(milliseconds=1), midnight, midnight + timedelta(days=1)):
        await shop.make(at=moment)
    assert await shop.listed("?from=2026-03-10&to=2026-03-10") == [shop.made[1].id]


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("?status=DONE", "This is not right."),
        ("?channel=CASH", "Choose a network."),
        ("?from=yesterday", "This is not a date, or not one that fits here."),
        ("?to=2026-02-30", "This is not a date, or not one that fits here."),
        ("?from=2026-03-11&to=2026-03-10", "The first day is after the last one."),
        ("?search=" + "x" * 256, "At most 255 characters."),
        ("?search=%00", "There is a character in it that cannot be stored."),
    ],
)
async def test_a_wrong_filter_is_marked_and_shows_nothing(shop: TransactionPages, query: str, sentence: str) -> None:
    await shop.make()
    seen = await shop.surfer.get(PATH + query)
    assert (seen.status, rows_in(seen)) == (400, [])
    assert sentence in seen.words
    assert 'aria-invalid="true"' in seen.text
    assert (await shop.surfer.get(f"{PATH}.csv{query}")).status == 400


@pytest.mark.parametrize("how", ["reference", "id"])
async def test_a_whole_name_finds_its_transaction_however_it_is_typed(shop: TransactionPages, how: str) -> None:
    made, other = await shop.make(), await shop.make()
    name: str = getattr(made, how)
    assert await shop.listed(f"?search={name.lower()}") == [made.id]
    assert await shop.listed(f"?search={name.lower()}&status=FAILED") == []
    assert other.id in await shop.listed()


async def test_the_list_without_anything_leads_to_a_first_collection(shop: TransactionPages) -> None:
    seen = await shop.surfer.get(PATH)
    assert "No transactions yet" in seen.words
    assert "No matches" in (await shop.surfer.get(PATH + "?search=x")).words


async def test_another_merchants_transactions_are_nowhere(
    shop: TransactionPages, database: Database, service: Service
) -> None:
    other = TransactionPages(service, await make_merchant(database, wallet=10_000), shop.surfer)
    theirs = await other.make(name="Secret")

    assert await shop.listed() == []
    for search in (theirs.id, theirs.reference, "Secret"):
        assert await shop.listed(f"?search={search}") == []
    assert "Secret" not in (await shop.surfer.get(f"{PATH}.csv")).text
    for name in (theirs.id, theirs.reference):
        for path in (f"{PATH}/{name}", f"{PATH}/{name}/cancel"):
            assert (await shop.surfer.get(path)).status == 404
        assert (await shop.surfer.post(f"{PATH}/{name}/cancel")).status == 404
    assert (await other.now(theirs)).status is Status.PENDING


async def test_words_of_customers_are_never_markup(shop: TransactionPages) -> None:
    evil = '<script>alert("1")</script>'
    made = await shop.make(name=evil, description=evil, metadata={evil: evil})
    for path in (PATH, f"{PATH}/{made.id}", f"{PATH}/{made.id}/cancel", f"{PATH}?search=%3Cscript%3E"):
        seen = await shop.surfer.get(path)
        assert "<script>alert" not in seen.text
        assert 'alert("1")' in seen.words


# What a page looks through


async def through(
    shop: TransactionPages, wanted: TransactionFilter, *, most: int, upwards: str | None = None
) -> list[keyset_pagination.TransactionPage]:
    """Page by page in one direction, two at a time, until there is none."""
    pages: list[keyset_pagination.TransactionPage] = []
    key: dict[str, str] = {"after": upwards} if upwards else {}
    async with shop.service.queries.database.read() as connection:
        while not pages or key:
            page = await keyset_pagination.page(connection, shop.merchant.id, wanted, limit=2, most=most, **key)
            pages.append(page)
            following = page.newer if upwards else page.older
            key = {} if following is None else {"after" if upwards else "before": following}
            assert len(pages) < 20
    return pages


@pytest.mark.parametrize("most", [1, 2, 3, 4, 5, 100])
async def test_a_rare_one_is_found_in_parts_and_each_once(shop: TransactionPages, most: int) -> None:
    began = clock.now() - timedelta(hours=1)
    for n in range(9):
        await shop.make(at=began + timedelta(seconds=n), name="rare" if n in (0, 1, 4, 5, 6) else "")

    pages = await through(shop, TransactionFilter(search="rare"), most=most)

    found = [each.id for page in pages for each in page.transactions]
    assert found == [shop.made[n].id for n in (6, 5, 4, 1, 0)]
    assert all(len(page.transactions) == 2 or page.is_cut or page.older is None for page in pages)


@pytest.mark.parametrize("most", [1, 2, 3, 100])
async def test_going_up_finds_them_too(shop: TransactionPages, most: int) -> None:
    began = clock.now() - timedelta(hours=1)
    for n in range(9):
        await shop.make(at=began + timedelta(seconds=n), name="rare" if n in (0, 3, 4, 5, 8) else "")

    pages = await through(shop, TransactionFilter(search="rare"), most=most, upwards=shop.made[0].id)

    found = {each.id for page in pages for each in page.transactions}
    assert found >= {shop.made[n].id for n in (3, 4, 5)}
    assert pages[-1].newer is None
    # Which is the newest page, as far as it looks through.
    assert most < 3 or shop.made[8].id in found


async def test_without_a_filter_nothing_is_cut(shop: TransactionPages) -> None:
    for _ in range(5):
        await shop.make()
    pages = await through(shop, TransactionFilter(), most=1)
    assert [len(page.transactions) for page in pages] == [2, 2, 1]
    assert not any(page.is_cut for page in pages)
