"""Daily totals: every end of a payment is counted once, on its day in Dar es Salaam, by any process and after any
crash."""

import asyncio
import random
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import asyncpg
import pytest
from msgspec.structs import replace

from malipo import ids
from malipo.db import ConnectionLost, Database, Tx
from malipo.ledger.store import wallets
from malipo.networks.connector import Channel
from malipo.outbox import daily_totals
from malipo.outbox.daily_totals import Total
from malipo.outbox.event import Event
from malipo.outbox.store import PaymentEvent
from malipo.payments import status_writer
from malipo.payments.check import transactions as transactions_check
from malipo.payments.status_writer import StatusChange
from malipo.payments.store import transactions
from malipo.payments.transaction import Cause, Status, Transaction, Type
from malipo.webhooks.fan_out import fan_out
from tests.conftest import Merchant, make_merchant
from tests.journeys.concurrency import order

# Midnight in Dar es Salaam is nine in the evening in UTC.
MIDNIGHT = datetime(2026, 11, 14, 21, tzinfo=UTC)
DAY = date(2026, 11, 15)
MILLISECOND = timedelta(milliseconds=1)

WAYS: dict[Status, tuple[Cause, ...]] = {
    Status.PENDING: (),
    Status.PROCESSING: (Cause.SUBMITTED,),
    Status.COMPLETED: (Cause.SUBMITTED, Cause.CONFIRMED),
    Status.FAILED: (Cause.SUBMITTED, Cause.REFUSED),
    Status.CANCELLED: (Cause.WITHDRAWN,),
}


async def make(
    database: Database,
    merchant: Merchant,
    status: Status,
    *,
    type_: Type = Type.COLLECTION,
    channel: Channel = Channel.MPESA,
    amount: int = 1000,
    fee: int = 0,
    created_at: datetime = MIDNIGHT,
    ended_at: datetime = MIDNIGHT,
) -> Transaction:
    """A payment that was made and came to this status at these times."""
    asked = order(merchant.id, type_, amount, channel=channel).draft
    assert asked is not None
    draft = replace(asked, id=ids.mint("txn_", created_at), created_at=created_at, fee=fee)
    async with database.begin() as tx:
        held = await wallets.lock(tx, [merchant.id])
        await status_writer.open_all(tx, [draft], held, now=created_at)
        for cause in WAYS[status]:
            learned = {"failure_code": "declined"} if cause is Cause.REFUSED else {}
            change = StatusChange(merchant_id=merchant.id, transaction_id=draft.id, cause=cause, **learned)
            await status_writer.advance(tx, [change], now=ended_at)
        found = await transactions.get(tx, merchant.id, draft.id)
    assert found is not None
    assert found.status is status
    return found


async def number(tx: Tx, *, most: int = 1000) -> int:
    """Number events in the feed, as a worker does; how many."""
    done = await fan_out(
        tx, most=most, claim_id="clm_1", lease_seconds=60, may_claim=lambda _: False, now=MIDNIGHT + timedelta(days=1)
    )
    return done.event_count


async def number_all(database: Database, *, most: int = 1000) -> None:
    while True:
        async with database.begin() as tx:
            if not await number(tx, most=most):
                return


async def found(database: Database, merchant: Merchant) -> dict[tuple[date, str, str], Total]:
    async with database.read() as connection:
        return await daily_totals.find(connection, merchant.id, first=date(2026, 1, 1), last=date(2027, 1, 1))


async def findings(database: Database) -> list[str]:
    """What `malipo ledger check` says of totals."""
    async with database.snapshot() as connection:
        return [each.where for each in await transactions_check.check(connection) if each.what == "daily total"]


def added_up(ended: Sequence[Transaction]) -> dict[tuple[date, str, str], Total]:
    """The totals, computed the slow way, payment by payment."""
    sums: dict[tuple[date, str, str], Total] = {}
    for each in ended:
        assert each.ended_at is not None
        day = (each.ended_at + timedelta(hours=3)).date()
        total = sums.setdefault((day, each.type, each.channel), Total())
        if each.status is Status.COMPLETED:
            total.completed += 1
            total.amount += each.amount
            total.fees += each.fee
            total.total_seconds += (each.ended_at - each.created_at).total_seconds()
        total.failed += each.status is Status.FAILED
        total.cancelled += each.status is Status.CANCELLED
    return sums


def assert_same(stored: dict[Any, Total], wanted: dict[Any, Total]) -> None:
    assert stored.keys() == wanted.keys()
    for key, total in wanted.items():
        for name in Total.__slots__:
            assert getattr(stored[key], name) == pytest.approx(getattr(total, name)), (key, name)


async def crowd(database: Database, merchant: Merchant, count: int, chance: random.Random) -> list[Transaction]:
    """Payments of every kind, that ended on three days; those that have ended."""
    made = []
    for _ in range(count):
        created_at = MIDNIGHT + timedelta(milliseconds=chance.randrange(-86_400_000, 86_400_000))
        made.append(
            await make(
                database,
                merchant,
                chance.choice(list(Status)),
                type_=chance.choice(list(Type)),
                channel=chance.choice(list(Channel)),
                amount=chance.randrange(500, 5_000),
                fee=chance.choice([0, 25]),
                created_at=created_at,
                ended_at=created_at + timedelta(milliseconds=chance.randrange(90_000_000)),
            )
        )
    return [each for each in made if each.status.is_final]


@pytest.mark.parametrize("type_", Type)
@pytest.mark.parametrize(
    ("status", "total"),
    [
        (Status.PENDING, None),
        (Status.PROCESSING, None),
        (Status.COMPLETED, Total(completed=1, amount=1000, fees=30, total_seconds=90.5)),
        (Status.FAILED, Total(failed=1)),
        (Status.CANCELLED, Total(cancelled=1)),
    ],
)
async def test_each_end_counts_as_what_it_is(
    database: Database, merchant: Merchant, type_: Type, status: Status, total: Total | None
) -> None:
    took = timedelta(seconds=90.5)
    await make(database, merchant, status, type_=type_, fee=30, created_at=MIDNIGHT, ended_at=MIDNIGHT + took)
    await number_all(database)
    assert await found(database, merchant) == ({(DAY, type_, "MPESA"): total} if total else {})
    assert await findings(database) == []


@pytest.mark.parametrize(
    ("ended_at", "day"),
    [
        (MIDNIGHT - MILLISECOND, date(2026, 11, 14)),
        (MIDNIGHT, DAY),
        (MIDNIGHT + timedelta(hours=3), DAY),  # midnight in UTC is nothing to a shop in Dar es Salaam
        (MIDNIGHT + timedelta(days=1) - MILLISECOND, DAY),
        (MIDNIGHT + timedelta(days=1), date(2026, 11, 16)),
    ],
)
async def test_a_day_begins_at_midnight_in_dar_es_salaam(
    database: Database, merchant: Merchant, ended_at: datetime, day: date
) -> None:
    await make(database, merchant, Status.COMPLETED, created_at=MIDNIGHT - timedelta(days=1), ended_at=ended_at)
    await number_all(database)
    assert list(await found(database, merchant)) == [(day, "COLLECTION", "MPESA")]
    assert await findings(database) == []


async def test_totals_are_the_sum_of_the_payments_however_they_are_cut_into_batches(database: Database) -> None:
    chance = random.Random(11)
    mine, theirs = [await make_merchant(database, wallet=1_000_000) for _ in range(2)]
    ended = await crowd(database, mine, 60, chance)
    others = await crowd(database, theirs, 15, chance)
    for most in (1, 7, 3, 20):
        async with database.begin() as tx:
            await number(tx, most=most)
        assert await findings(database) == []  # An event without a feed number yet is not reported as missing.
    await number_all(database, most=9)
    assert_same(await found(database, mine), added_up(ended))
    assert_same(await found(database, theirs), added_up(others))
    assert await findings(database) == []


async def test_several_numberers_at_once_count_each_end_once(database: Database, merchant: Merchant) -> None:
    ended = await crowd(database, merchant, 40, random.Random(12))
    await asyncio.gather(*(number_all(database, most=3) for _ in range(5)))
    assert_same(await found(database, merchant), added_up(ended))
    assert await findings(database) == []


async def test_a_numberer_that_dies_before_its_commit_has_counted_nothing(
    database: Database, database_url: str, merchant: Merchant
) -> None:
    ended = await crowd(database, merchant, 20, random.Random(13))
    killer = await asyncpg.connect(database_url)

    async def number_and_die() -> None:
        async with database.begin() as tx:
            assert await number(tx) > 0
            await killer.execute("SELECT pg_terminate_backend($1, 5000)", await tx.fetchval("SELECT pg_backend_pid()"))

    with pytest.raises(ConnectionLost):
        await number_and_die()
    await killer.close()
    assert await found(database, merchant) == {}
    await number_all(database)
    assert_same(await found(database, merchant), added_up(ended))


async def test_a_body_that_cannot_be_read_leaves_the_others_counted(database: Database) -> None:
    good = '{"transaction": {"type": "COLLECTION", "channel": "MPESA", "amount": 5, "fee": 1, "createdAt": "%s"}}'
    bodies = [good % "2026-11-14T21:00:00Z", "{}", "", good % "2026-11-14T20:59:00Z"]
    events = [
        PaymentEvent(f"evt_{at}", "m", "t", Event.PAYMENT_COMPLETED, body, MIDNIGHT) for at, body in enumerate(bodies)
    ]
    assert daily_totals.totals_of(events) == {
        ("m", DAY, "COLLECTION", "MPESA"): Total(completed=2, amount=10, fees=2, total_seconds=60.0)
    }


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE daily_totals SET completed = completed + 1",
        "UPDATE daily_totals SET failed = failed + 1",
        "UPDATE daily_totals SET cancelled = cancelled + 1",
        "UPDATE daily_totals SET amount = amount - 1",
        "UPDATE daily_totals SET fees = fees + 1",
        "UPDATE daily_totals SET total_seconds = total_seconds + 1",
        "UPDATE daily_totals SET day = day - 1",
        "DELETE FROM daily_totals",
    ],
)
async def test_the_check_finds_a_total_that_is_not_true(database: Database, merchant: Merchant, damage: str) -> None:
    await make(database, merchant, Status.COMPLETED, fee=30)
    await number_all(database)
    async with database.begin() as tx:
        await tx.execute(damage)
    assert f"{merchant.id} {DAY} COLLECTION MPESA" in await findings(database)


async def test_totals_are_found_by_merchant_and_day(database: Database) -> None:
    mine, theirs = [await make_merchant(database) for _ in range(2)]
    for merchant in (mine, theirs):
        for days in range(4):
            await make(database, merchant, Status.COMPLETED, ended_at=MIDNIGHT + timedelta(days=days))
    await number_all(database)
    async with database.read() as connection:
        some = await daily_totals.find(connection, mine.id, first=date(2026, 11, 16), last=date(2026, 11, 17))
    assert sorted(day for day, _, _ in some) == [date(2026, 11, 16), date(2026, 11, 17)]
    assert {total.amount for total in some.values()} == {1000}
