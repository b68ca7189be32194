"""/dashboard/transactions: the list and its filters, the file to download, one transaction, and taking it back."""

import csv
import io
import itertools
import re
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from malipo import clock, ids
from malipo.dashboard import export
from malipo.db import Database
from malipo.ledger.store import wallets
from malipo.merchants.people import Role
from malipo.networks.contract import Channel, Verdict
from malipo.payments.pursuit import Act
from malipo.payments.record import Change
from malipo.payments.store import browsing, hearings, transactions
from malipo.payments.store.filter import Filter
from malipo.payments.store.hearings import Hearing
from malipo.payments.transaction import Cause, Status, Transaction, Type
from malipo.service import Service
from malipo.trail import store as trail
from tests.conftest import Merchant, Running, make_merchant
from tests.dashboard.surf import Seen, Surfer, add_person, surfing
from tests.happen import happen
from tests.journeys.crowd import order

PATH = "/dashboard/transactions"
_numbers = itertools.count(1)
_ROW = re.compile(r'<a href="/dashboard/transactions/(txn_[0-9a-z]{26})">')

WAYS: dict[Status, tuple[Cause, ...]] = {
    Status.PENDING: (),
    Status.PROCESSING: (Cause.SUBMITTED,),
    Status.COMPLETED: (Cause.SUBMITTED, Cause.CONFIRMED),
    Status.FAILED: (Cause.SUBMITTED, Cause.REFUSED),
    Status.CANCELLED: (Cause.WITHDRAWN,),
}


@dataclass
class Shop:
    """A merchant with TZS 1,000,000, and its owner in front of the pages."""

    service: Service
    merchant: Merchant
    surfer: Surfer
    made: list[Transaction] = field(default_factory=list)

    async def make(
        self,
        type_: Type = Type.COLLECTION,
        status: Status = Status.PENDING,
        *,
        at: datetime | None = None,
        **values: Any,
    ) -> Transaction:
        """A transaction of TZS 1,000 that has come to this status."""
        at = at or clock.now()
        asked = order(self.merchant.id, type_, 1000)
        assert asked.draft is not None
        draft = replace(asked.draft, created_at=at, id=ids.mint("txn_", at), **values)
        made = (await self.service.initiate(replace(asked, draft=draft))).transaction
        for cause in WAYS[status]:
            outcome = await happen(self.service, self._change(made, cause))
            assert outcome is not None
            made = outcome.transaction
        self.made.append(made)
        return made

    def _change(self, made: Transaction, cause: Cause) -> Change:
        learned: dict[str, str] = {}
        if cause is Cause.CONFIRMED:
            learned = {"provider_reference": "NET-42"}
        elif cause is Cause.REFUSED:
            learned = {"failure_code": "declined", "failure_reason": "The customer declined the payment."}
        return Change(merchant_id=self.merchant.id, transaction_id=made.id, cause=cause, **learned)

    async def listed(self, query: str = "") -> list[str]:
        seen = await self.surfer.get(PATH + query)
        assert seen.status == 200, seen.words
        return rows_in(seen)

    async def now(self, made: Transaction) -> Transaction:
        async with self.service.database.read() as connection:
            found = await transactions.get(connection, self.merchant.id, made.id)
        assert found is not None
        return found

    async def available(self) -> int:
        async with self.service.database.read() as connection:
            return (await wallets.get(connection, self.merchant.id))[0].available


def rows_in(seen: Seen) -> list[str]:
    return _ROW.findall(seen.text)


def link_in(seen: Seen, rel: str) -> str | None:
    found = re.search(rf'rel="{rel}" href="([^"]+)"', seen.text)
    return found[1].replace("&amp;", "&") if found else None


async def logged_in(surfer: Surfer, database: Database, merchant_id: str, role: Role = Role.OWNER) -> Surfer:
    person = await add_person(database, merchant_id, f"{role}+{secrets.token_hex(6)}@example.com", role)
    assert (await surfer.log_in(person.email)).status == 303
    return surfer


@pytest.fixture
async def surfer(running: Running) -> AsyncIterator[Surfer]:
    async with surfing(running.url, seen_from=f"10.40.0.{next(_numbers)}") as surfer:
        yield surfer


@pytest.fixture
async def shop(database: Database, service: Service, surfer: Surfer) -> Shop:
    merchant = await make_merchant(database, wallet=1_000_000)
    return Shop(service, merchant, await logged_in(surfer, database, merchant.id))


# The list


async def test_pages_hold_25_and_together_everything_once_newest_first(shop: Shop) -> None:
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


async def test_a_newer_page_that_would_be_short_is_the_newest_one(shop: Shop) -> None:
    began = clock.now() - timedelta(hours=1)
    made = [(await shop.make(at=began + timedelta(seconds=n))).id for n in range(30)][::-1]
    assert await shop.listed(f"?after={made[3]}") == made[:25]


@pytest.mark.parametrize("name", ["before", "after"])
@pytest.mark.parametrize("key", ["x", "txn_", "'; DROP TABLE", "txn_" + "Z" * 26, "%00"])
async def test_a_key_that_is_none_is_ignored(shop: Shop, name: str, key: str) -> None:
    made = await shop.make()
    assert await shop.listed(f"?{name}={key}") == [made.id]


async def test_links_keep_the_filters(shop: Shop) -> None:
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
async def test_every_filter_leaves_what_it_says(shop: Shop, query: str, expected: list[int]) -> None:
    for each in FOUR:
        values = {"phone": "+255688999999", "channel": Channel.MPESA, "name": ""} | each
        await shop.make(**values)
    assert await shop.listed(query) == [shop.made[n].id for n in expected]


async def test_a_day_is_a_day_in_dar_es_salaam(shop: Shop) -> None:
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
async def test_a_wrong_filter_is_marked_and_shows_nothing(shop: Shop, query: str, sentence: str) -> None:
    await shop.make()
    seen = await shop.surfer.get(PATH + query)
    assert (seen.status, rows_in(seen)) == (400, [])
    assert sentence in seen.words
    assert 'aria-invalid="true"' in seen.text
    assert (await shop.surfer.get(f"{PATH}.csv{query}")).status == 400


@pytest.mark.parametrize("how", ["reference", "id"])
async def test_a_whole_name_finds_its_transaction_however_it_is_typed(shop: Shop, how: str) -> None:
    made, other = await shop.make(), await shop.make()
    name: str = getattr(made, how)
    assert await shop.listed(f"?search={name.lower()}") == [made.id]
    assert await shop.listed(f"?search={name.lower()}&status=FAILED") == []
    assert other.id in await shop.listed()


async def test_the_list_without_anything_leads_to_a_first_collection(shop: Shop) -> None:
    seen = await shop.surfer.get(PATH)
    assert "No transactions yet" in seen.words
    assert "Nothing fits" in (await shop.surfer.get(PATH + "?search=x")).words


async def test_another_merchants_transactions_are_nowhere(shop: Shop, database: Database, service: Service) -> None:
    other = Shop(service, await make_merchant(database, wallet=10_000), shop.surfer)
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


async def test_words_of_customers_are_never_markup(shop: Shop) -> None:
    evil = '<script>alert("1")</script>'
    made = await shop.make(name=evil, description=evil, metadata={evil: evil})
    for path in (PATH, f"{PATH}/{made.id}", f"{PATH}/{made.id}/cancel", f"{PATH}?search=%3Cscript%3E"):
        seen = await shop.surfer.get(path)
        assert "<script>alert" not in seen.text
        assert 'alert("1")' in seen.words


# What a page looks through


async def through(shop: Shop, wanted: Filter, *, most: int, upwards: str | None = None) -> list[browsing.Page]:
    """Page by page in one direction, two at a time, until there is none."""
    pages: list[browsing.Page] = []
    key: dict[str, str] = {"after": upwards} if upwards else {}
    async with shop.service.database.read() as connection:
        while not pages or key:
            page = await browsing.page(connection, shop.merchant.id, wanted, limit=2, most=most, **key)
            pages.append(page)
            following = page.newer if upwards else page.older
            key = {} if following is None else {"after" if upwards else "before": following}
            assert len(pages) < 20
    return pages


@pytest.mark.parametrize("most", [1, 2, 3, 4, 5, 100])
async def test_a_rare_one_is_found_in_parts_and_each_once(shop: Shop, most: int) -> None:
    began = clock.now() - timedelta(hours=1)
    for n in range(9):
        await shop.make(at=began + timedelta(seconds=n), name="rare" if n in (0, 1, 4, 5, 6) else "")

    pages = await through(shop, Filter(search="rare"), most=most)

    found = [each.id for page in pages for each in page.transactions]
    assert found == [shop.made[n].id for n in (6, 5, 4, 1, 0)]
    assert all(len(page.transactions) == 2 or page.is_cut or page.older is None for page in pages)


@pytest.mark.parametrize("most", [1, 2, 3, 100])
async def test_going_up_finds_them_too(shop: Shop, most: int) -> None:
    began = clock.now() - timedelta(hours=1)
    for n in range(9):
        await shop.make(at=began + timedelta(seconds=n), name="rare" if n in (0, 3, 4, 5, 8) else "")

    pages = await through(shop, Filter(search="rare"), most=most, upwards=shop.made[0].id)

    found = {each.id for page in pages for each in page.transactions}
    assert found >= {shop.made[n].id for n in (3, 4, 5)}
    assert pages[-1].newer is None
    # Which is the newest page, as far as it looks through.
    assert most < 3 or shop.made[8].id in found


async def test_without_a_filter_nothing_is_cut(shop: Shop) -> None:
    for _ in range(5):
        await shop.make()
    pages = await through(shop, Filter(), most=1)
    assert [len(page.transactions) for page in pages] == [2, 2, 1]
    assert not any(page.is_cut for page in pages)


# The file


async def file(shop: Shop, query: str = "") -> list[dict[str, str]]:
    seen = await shop.surfer.get(f"{PATH}.csv{query}")
    assert seen.status == 200
    assert seen.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert seen.headers["Content-Disposition"] == 'attachment; filename="transactions.csv"'
    assert "no-store" in seen.headers["Cache-Control"]
    return list(csv.DictReader(io.StringIO(seen.text, newline="")))


async def test_the_file_has_what_the_filters_leave_newest_first(shop: Shop) -> None:
    at = datetime(2026, 3, 10, 22, 30, 5, 123_000, tzinfo=UTC)
    await shop.make(at=at, name='Asha, "Mama"', status=Status.COMPLETED)
    await shop.make(name="Juma")
    await shop.make(name="Asha")

    rows = await file(shop, "?search=asha")

    assert [row["name"] for row in rows] == ["Asha", 'Asha, "Mama"']
    first = shop.made[0]
    assert first.ended_at is not None
    assert rows[1] == {
        "reference": first.reference,
        "date": "2026-03-11",
        "time": "01:30:05",
        "type": "COLLECTION",
        "status": "COMPLETED",
        "channel": "MPESA",
        "amount": "1000",
        "fee": "0",
        "netAmount": "1000",
        "phone": "'+255754000001",
        "name": 'Asha, "Mama"',
        "description": "",
        "providerReference": "NET-42",
        "failureCode": "",
        "createdAt": "2026-03-10T22:30:05.123Z",
        "endedAt": clock.iso(first.ended_at),
        "id": first.id,
    }


async def test_the_file_is_read_in_pieces_and_has_everything_once(shop: Shop) -> None:
    for _ in range(7):
        await shop.make()
    pieces = [
        [each.id for each in piece]
        async for piece in browsing.stream(shop.service.read, shop.merchant.id, Filter(), size=3)
    ]
    made = [each.id for each in shop.made]
    assert [len(piece) for piece in pieces] == [3, 3, 1]
    assert sorted(itertools.chain(*pieces), reverse=True) == list(itertools.chain(*pieces)) == sorted(made)[::-1]


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r"])
def test_no_cell_of_the_file_is_a_formula(first: str) -> None:
    evil = f"{first}HYPERLINK(1)"
    asked = order("mer_1", Type.COLLECTION, 1000).draft
    assert asked is not None
    row = export.row_of(replace(asked, name=evil, description=evil, provider_reference=evil))
    assert [cell for cell in row if isinstance(cell, str) and cell.startswith(first)] == []
    assert row.count(f"'{evil}") == 3


@pytest.mark.parametrize("text", ["", "Asha", "a=b", "'=1", "1-2"])
def test_other_cells_stay_as_they_are(text: str) -> None:
    assert export.harmless(text) == text


# One transaction


async def test_a_page_tells_everything_about_a_completed_collection(shop: Shop) -> None:
    made = await shop.make(
        status=Status.COMPLETED, name="Neema", description="Two bags", metadata={"orderId": "A-17", "vip": True, "n": 3}
    )
    for name in (made.id, made.reference):
        words = (await shop.surfer.get(f"{PATH}/{name}")).words
        for each in (
            "Collection from Neema",
            "TZS 1,000",
            "Completed",
            "+255 754 000 001",
            "M-Pesa",
            "Two bags",
            "NET-42",
            made.id,
            made.reference,
            made.network_key,
            "orderId A-17",
            "vip true",
            "n 3",
            "Taken in. It waits to be sent to M-Pesa.",
            "Completed. The customer has paid.",
            "TZS 1,000 added to the wallet. ",
            "The wallet then held TZS 1,001,000.",
        ):
            assert each in words
        assert "No money has changed hands" not in words


async def test_a_failure_is_told_in_words_and_nothing_is_said_to_arrive(shop: Shop) -> None:
    made = await shop.make(status=Status.FAILED)
    words = (await shop.surfer.get(f"{PATH}/{made.id}")).words
    assert "The customer declined the payment." in words
    assert "declined" in words
    assert "No money has changed hands." in words
    assert "Arrives in your wallet" not in words


async def test_the_timeline_has_what_the_network_said_and_every_try_at_every_endpoint(shop: Shop) -> None:
    made = await shop.make(status=Status.PROCESSING)
    hearing = Hearing(
        id="hrg_1",
        merchant_id=shop.merchant.id,
        transaction_id=made.id,
        at=clock.now(),
        route="clickpesa",
        act=Act.ASK,
        verdict=Verdict.WAITING,
        code="TIP",
        detail="In process",
    )
    async with shop.service.database.begin() as tx:
        await hearings.insert(tx, [hearing])
        for n, (host, status, deleted_at) in enumerate([("one", 200, None), ("two", 503, clock.now())]):
            endpoint_id = f"wh_{made.id[4:]}{n}"
            event_id = await tx.fetchval("SELECT id FROM events WHERE transaction_id = $1", made.id)
            await tx.execute(
                """
                INSERT INTO endpoints (id, merchant_id, url, events, secret, created_at, deleted_at)
                VALUES ($1, $2, $3, '{payment.pending}', '', now(), $4)
                """,
                *(endpoint_id, shop.merchant.id, f"https://{host}.example/hook", deleted_at),
            )
            await tx.execute(
                """
                INSERT INTO deliveries (endpoint_id, event_id, merchant_id, event, state, due_at)
                VALUES ($1, $2, $3, 'payment.pending', 'DELIVERED', now())
                """,
                *(endpoint_id, event_id, shop.merchant.id),
            )
            await tx.execute(
                "INSERT INTO attempts VALUES ($1, $2, $3, now(), 12, $4, '[]', '', NULL)",
                *(endpoint_id, event_id, f"dlv_{n}", status),
            )

    words = (await shop.surfer.get(f"{PATH}/{made.id}")).words

    assert "We asked M-Pesa: it has not decided yet." in words
    assert "clickpesa · TIP · In process" in words
    assert "Your server one.example was told: payment.pending." in words
    assert "HTTP 200 · 12 ms" in words
    assert "Your server two.example could not be told: payment.pending." in words


@pytest.mark.parametrize("name", ["txn_x", "MLP-0", "x" * 65, "%00", "a%2Fb", "..%2f", "%F0%9F%92%B0"])
async def test_what_names_no_transaction_is_not_there(shop: Shop, name: str) -> None:
    assert (await shop.surfer.get(f"{PATH}/{name}")).status == 404


# Taking it back


async def test_a_pending_payout_is_taken_back_after_a_question(shop: Shop) -> None:
    made = await shop.make(Type.DISBURSEMENT, name="Juma")
    path = f"{PATH}/{made.id}/cancel"
    assert path in (await shop.surfer.get(f"{PATH}/{made.id}")).text

    asked = await shop.surfer.get(path)
    assert "Cancel this payout?" in asked.words
    assert "TZS 1,000" in asked.words
    assert (await shop.now(made)).status is Status.PENDING
    assert await shop.available() == 999_000

    done = await shop.surfer.post(path)
    assert (done.status, done.to) == (303, f"{PATH}/{made.id}")
    words = (await shop.surfer.get(done.to)).words
    assert "It is cancelled." in words
    assert "TZS 1,000 given back to the wallet." in words
    assert (await shop.now(made)).status is Status.CANCELLED
    assert await shop.available() == 1_000_000


async def test_who_took_it_back_is_written_down(shop: Shop) -> None:
    made = await shop.make()
    await shop.surfer.post(f"{PATH}/{made.id}/cancel")
    async with shop.service.database.read() as connection:
        deed = (await trail.find(connection, merchant_id=shop.merchant.id, limit=1))[0]
    assert (deed.what, deed.details["transaction"]) == ("payment.cancelled", made.id)
    assert deed.who.startswith("owner+")


async def test_taking_it_back_twice_is_no_mistake(shop: Shop) -> None:
    made = await shop.make(Type.DISBURSEMENT)
    for _ in range(2):
        assert (await shop.surfer.post(f"{PATH}/{made.reference}/cancel")).to == f"{PATH}/{made.id}"
    assert await shop.available() == 1_000_000


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (Status.PROCESSING, "It was too late to cancel: it was already on its way to M-Pesa."),
        (Status.COMPLETED, "It was too late to cancel: it had already ended."),
        (Status.FAILED, "It was too late to cancel: it had already ended."),
    ],
)
async def test_what_has_left_is_not_taken_back_and_the_page_says_so(shop: Shop, status: Status, sentence: str) -> None:
    made = await shop.make(Type.DISBURSEMENT, status)
    held = await shop.available()
    path = f"{PATH}/{made.id}"
    assert f"{path}/cancel" not in (await shop.surfer.get(path)).text
    assert (await shop.surfer.get(f"{path}/cancel")).to == path

    seen = await shop.surfer.post(f"{path}/cancel")

    assert (seen.status, sentence in seen.words) == (409, True)
    assert ((await shop.now(made)).status, await shop.available()) == (status, held)


async def test_a_form_from_elsewhere_takes_nothing_back(shop: Shop) -> None:
    made = await shop.make()
    path = f"{PATH}/{made.id}/cancel"
    assert (await shop.surfer.post(path, token="0" * 64)).status == 403
    assert (await shop.surfer.post(path, headers={"Origin": "https://evil.example"})).status == 403
    assert (await shop.now(made)).status is Status.PENDING


async def test_a_viewer_looks_and_takes_nothing_back(
    shop: Shop, running: Running, database: Database, surfer: Surfer
) -> None:
    made = await shop.make()
    async with surfing(running.url, seen_from=f"10.40.0.{next(_numbers)}") as other:
        viewer = await logged_in(other, database, shop.merchant.id, Role.VIEWER)
        seen = await viewer.get(f"{PATH}/{made.id}")
        assert (seen.status, "/cancel" in seen.text) == (200, False)
        assert (await viewer.get(PATH)).status == (await viewer.get(f"{PATH}.csv")).status == 200
        assert (await viewer.get(f"{PATH}/{made.id}/cancel")).status == 403
        assert (await viewer.post(f"{PATH}/{made.id}/cancel")).status == 403
    assert (await shop.now(made)).status is Status.PENDING


@pytest.mark.parametrize("path", [PATH, f"{PATH}.csv", f"{PATH}/txn_1", f"{PATH}/txn_1/cancel"])
async def test_whoever_is_not_logged_in_sees_none_of_it(surfer: Surfer, path: str) -> None:
    seen = await surfer.get(path)
    assert (seen.status, seen.to) == (303, f"/dashboard/login?next={path}")
