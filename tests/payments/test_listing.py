"""The list, compared with a list in memory: counted, partly counted or uncounted, it is the same.

Payments of a year, of every sort; their ends are numbered and counted at random moments in between.
"""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from malipo import ids
from malipo.app.assemble import Service
from malipo.db import Database
from malipo.networks.connector import Channel
from malipo.outbox import daily_totals, feed_numbers
from malipo.payments.listing import keyset_pagination, offset_pagination, transaction_list
from malipo.payments.listing.filters import TransactionFilter
from malipo.payments.network_answer.failure import follow_up
from malipo.payments.rollups import counter
from malipo.payments.status_writer import StatusChange
from malipo.payments.store import dispatches
from malipo.payments.transaction import Cause, Status, Transaction, Type, folded
from tests.api.conftest import place
from tests.conftest import Merchant, make_merchant
from tests.status_changes import change_status

BEGIN = datetime(2025, 3, 14, 8, 0, 0, 123000, tzinfo=UTC)
ORDERS = (None, None, "A-1042", "a-1042", "Ñandú 7", "754")
NAMES = ("Asha Juma", "Neema Mushi", "Baraka O'Malley", "Zawadi 754", "Ñandú", "")


@dataclass
class Shop:
    """A merchant, and what we know of its payments without asking the database."""

    service: Service
    merchant: Merchant
    chance: random.Random
    payments: dict[str, Transaction] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)  # by the payments' ids

    async def sell(self, count: int) -> None:
        """Half of them in the same few minutes, the others anywhere in a year."""
        moments = [
            BEGIN + timedelta(milliseconds=self.chance.randrange(self.chance.choice((400_000, 365 * 86_400_000))))
            for _ in range(count)
        ]
        made = await asyncio.gather(*(self._place(moment) for moment in moments))
        self.payments |= {each.id: each for each in made}

    async def _place(self, moment: datetime) -> Transaction:
        key = f"key-{self.chance.randrange(10**9)}" if self.chance.random() < 0.5 else None
        made = await place(
            self.service,
            self.merchant,
            at=moment,
            type_=self.chance.choice((Type.COLLECTION, Type.COLLECTION, Type.DISBURSEMENT)),
            channel=self.chance.choice([*Channel]),
            phone=f"+2557{self.chance.randrange(10**8):08}",
            name=self.chance.choice(NAMES),
            order_reference=self.chance.choice(ORDERS),
            key=key,
        )
        if key is not None:
            self.keys[made.id] = key
        return made

    async def go_on(self) -> None:
        """Something happens to some payments that have not ended."""
        for each in [each for each in self.payments.values() if not each.status.is_final]:
            causes = {
                Status.PENDING: (Cause.SUBMITTED, Cause.SUBMITTED, Cause.WITHDRAWN),
                Status.PROCESSING: (Cause.CONFIRMED, Cause.REFUSED),
            }[each.status]
            if self.chance.random() < 0.6:
                cause = self.chance.choice(causes)
                code, reason = ("DECLINED", "no") if cause is Cause.REFUSED else (None, None)
                change = StatusChange(
                    merchant_id=each.merchant_id,
                    transaction_id=each.id,
                    cause=cause,
                    failure_code=code,
                    failure_reason=reason,
                )
                outcome = await change_status(self.service, change)
                assert outcome is not None
                self.payments[each.id] = outcome.transaction

    def fitting(self, fits: Callable[[Transaction], bool]) -> list[str]:
        return sorted((each.id for each in self.payments.values() if fits(each)), reverse=True)

    def made_with(self, key: str | None) -> set[str]:
        """The payments that this idempotency key has made; without a key, all."""
        return {id_ for id_ in self.payments if key in (None, self.keys.get(id_))}


async def number(database: Database, most: int = 10_000) -> None:
    async with database.begin() as tx:
        await daily_totals.add(tx, await feed_numbers.number(tx, most=most))


async def count(database: Database) -> None:
    async with database.begin() as tx:
        await counter.count(tx, least=1)


async def ask(
    database: Database, merchant: Merchant, wanted: TransactionFilter, page: int, limit: int
) -> tuple[int, list[str]]:
    async with database.snapshot() as connection:
        total, found = await transaction_list.page(connection, merchant.id, wanted, page=page, limit=limit)
    return total, [each.id for each in found]


async def agree(database: Database, shop: Shop, wanted: TransactionFilter, *, limit: int = 7) -> None:
    """The total and every page, far ones and the one after the last included."""
    made = shop.made_with(wanted.idempotency_key)
    every = shop.fitting(lambda each: each.id in made and fits(wanted, each))
    expected = [id_ for id_ in every if wanted.before is None or id_ < wanted.before]
    pages = -(-len(expected) // limit)
    for page in {1, 2, 1 + pages // 2, pages, pages + 1}:
        if page:
            total, found = await ask(database, shop.merchant, wanted, page, limit)
            assert (total, found) == (len(every), expected[(page - 1) * limit : page * limit]), (wanted, page)


def fits(wanted: TransactionFilter, each: Transaction) -> bool:
    term, texts = wanted.term, (each.reference, each.phone, each.name, each.order_reference or "")
    return (
        (not wanted.statuses or each.status in wanted.statuses)
        and wanted.order_reference in (None, each.order_reference)
        and wanted.type in (None, each.type)
        and wanted.channel in (None, each.channel)
        and (wanted.first is None or each.created_at >= wanted.first)
        and (wanted.last is None or each.created_at <= wanted.last)
        and (term is None or any(term in folded(text) for text in texts))
    )


def some_filter(shop: Shop) -> TransactionFilter:
    chance = shop.chance

    def maybe(*values: object) -> Any:
        return chance.choice([None, None, *values])

    moments = sorted(each.created_at for each in chance.choices([*shop.payments.values()], k=2))
    one = chance.choice([*shop.payments.values()])
    cut = slice(*sorted(chance.choices(range(21), k=2)))
    return TransactionFilter(
        statuses=tuple(chance.sample([*Status], chance.choice((0, 0, 1, 2, 3)))),
        type=maybe(*Type),
        channel=maybe(*Channel),
        first=maybe(moments[0], moments[0] + timedelta(microseconds=chance.randrange(1_000_000))),
        last=maybe(moments[1], moments[1] - timedelta(microseconds=chance.randrange(1_000_000))),
        search=maybe(one.reference[cut], one.phone[cut], one.name[cut], "255", "mushi", "no such thing") or None,
        order_reference=maybe(None, None, None, *filter(None, ORDERS)),
        idempotency_key=maybe(None, None, None, None, shop.keys.get(one.id), "no such key"),
        before=maybe(one.id, chance.choice([*shop.payments]), ids.mint("txn_", moments[0]), ids.mint("txn_", BEGIN)),
    )


@pytest.fixture
async def shop(database: Database, service: Service) -> Shop:
    seed = random.randrange(1_000_000)
    print(f"seed {seed}")
    return Shop(service, await make_merchant(database, wallet=10**9), random.Random(seed))


@pytest.mark.parametrize("near", [0, 10, 2000])
async def test_whatever_is_counted_the_list_says_the_same(
    database: Database, shop: Shop, monkeypatch: pytest.MonkeyPatch, near: int
) -> None:
    """Where the newest rows are many, a page is read from them; where they are few, it is walked to."""
    monkeypatch.setattr(offset_pagination, "_NEAR", near)
    for _ in range(6):
        await shop.sell(25)
        await shop.go_on()
        if shop.chance.random() < 0.8:
            await number(database, most=shop.chance.choice((5, 10_000)))
        if shop.chance.random() < 0.6:
            await count(database)
        await agree(database, shop, TransactionFilter())
        for _ in range(12):
            await agree(database, shop, some_filter(shop))


async def test_others_payments_are_in_no_total(database: Database, shop: Shop) -> None:
    await shop.sell(20)
    for _ in range(8):
        await shop.go_on()
    other = await make_merchant(database)
    for is_counted in (False, True):
        if is_counted:
            await number(database)
            await count(database)
        assert await ask(database, shop.merchant, TransactionFilter(), 1, 5) == (20, shop.fitting(lambda _: True)[:5])
        assert await ask(database, other, TransactionFilter(), 1, 5) == (0, [])
        assert await ask(database, other, TransactionFilter(search="255"), 1, 5) == (0, [])


async def test_two_who_count_at_once_count_once(database: Database, shop: Shop) -> None:
    await shop.sell(60)
    for _ in range(8):
        await shop.go_on()
    await number(database)

    await asyncio.gather(*(count(database) for _ in range(8)))

    await agree(database, shop, TransactionFilter())
    await agree(database, shop, TransactionFilter(statuses=(Status.COMPLETED,)))
    async with database.read() as connection:
        assert await connection.fetchval("SELECT count(*) FROM search_index") == sum(
            each.status.is_final for each in shop.payments.values()
        )


async def test_a_payment_that_is_queried_again_is_counted_once(database: Database, shop: Shop) -> None:
    """Its row is back in the queue although it has ended and is counted."""
    await shop.sell(3)
    for _ in range(8):
        await shop.go_on()
    await number(database)
    await count(database)
    async with database.begin() as tx:
        for each in shop.payments.values():
            await dispatches.follow_up(tx, [(each, follow_up(None, "airtel_money"), 0)])

    await agree(database, shop, TransactionFilter())
    await agree(database, shop, TransactionFilter(search="255"))


async def test_a_few_are_left_until_there_are_more(database: Database, shop: Shop) -> None:
    await shop.sell(counter.LEAST // 3)
    for _ in range(8):
        await shop.go_on()
    await number(database)
    async with database.begin() as tx:
        assert not await counter.count(tx)

    await shop.sell(counter.LEAST)
    await number(database)
    async with database.begin() as tx:
        assert await counter.count(tx)
    async with database.begin() as tx:
        assert not await counter.count(tx)
    await agree(database, shop, TransactionFilter())


@pytest.mark.parametrize("near", [3, 2000])
async def test_pages_by_key_say_the_same_there_and_back(
    database: Database, shop: Shop, monkeypatch: pytest.MonkeyPatch, near: int
) -> None:
    """As the dashboard turns them. Where few payments are read, a search uses n-grams."""
    monkeypatch.setattr(keyset_pagination, "_NEAR", near)
    await shop.sell(80)
    for _ in range(6):
        await shop.go_on()
    await number(database)
    await count(database)
    await shop.sell(20)
    for search in ("juma", "754", "255", "-", "no such thing", next(iter(shop.payments.values())).reference[-5:]):
        wanted = TransactionFilter(search=search)
        expected = shop.fitting(lambda each: fits(wanted, each))  # noqa: B023
        assert await turned(database, shop, wanted) == expected
        pieces = keyset_pagination.stream(shop.service.queries.read, shop.merchant.id, wanted, size=10)
        assert [each.id async for piece in pieces for each in piece] == expected


async def turned(database: Database, shop: Shop, wanted: TransactionFilter) -> list[str]:
    """From the newest page to the oldest; and on the way back the same pages are there."""
    seen: list[list[str]] = []
    before: str | None = None
    while True:
        async with database.snapshot() as connection:
            page = await keyset_pagination.page(connection, shop.merchant.id, wanted, before=before, limit=7)
            if seen and page.newer:
                back = await keyset_pagination.page(connection, shop.merchant.id, wanted, after=page.newer, limit=7)
                assert [each.id for each in back.transactions] == seen[-1]
        seen.append([each.id for each in page.transactions])
        if page.older is None:
            return [id_ for ids in seen for id_ in ids]
        before = page.older


async def test_a_short_term_is_compared_with_few_payments_and_the_next_page_goes_on(
    database: Database, shop: Shop
) -> None:
    """Two characters match no n-gram: without a bound, each such search would read all payments."""
    await shop.sell(1)
    (oldest,) = shop.payments.values()
    async with database.begin() as tx:
        await tx.execute(
            """
            INSERT INTO transactions (merchant_id, id, reference, network_key, type, channel, status, amount, fee, phone,
                                      name, description, metadata, search_text, created_at)
            SELECT merchant_id, 'txn_z' || lpad(n::text, 25, '0'), 'X-' || n, 'X' || n, type, channel, status, amount,
                   fee, phone, name, description, metadata, 'x', created_at
            FROM transactions, generate_series(1, $2) AS n WHERE merchant_id = $1
            """,
            shop.merchant.id,
            keyset_pagination.MOST_FOR_SHORT_TERM,
        )
        wanted = TransactionFilter(search=oldest.reference[:2])
        page = await keyset_pagination.page(tx, shop.merchant.id, wanted, limit=5)
        assert (page.transactions, page.is_cut) == ([], True)
        page = await keyset_pagination.page(tx, shop.merchant.id, wanted, before=page.older, limit=5)
        assert ([each.id for each in page.transactions], page.is_cut) == ([oldest.id], False)
