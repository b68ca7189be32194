"""The amount that a person may pay out in the dashboard without the password, and so what a stolen cookie could take."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from malipo import clock
from malipo.accounts.reauthentication import ConfirmationRequired
from malipo.app.assemble import Service, assemble
from malipo.db import Database
from malipo.payments.cancel import Cancellation
from malipo.payments.initiate import InitiatedPayment, InsufficientBalance, PaymentRequest
from malipo.payments.limits.person_limits import PersonLimit, PersonSums, approval_limit_of, limit_of
from malipo.payments.transaction import Type
from malipo.settings import Settings
from tests.conftest import NO_LIMITS, Merchant
from tests.journeys.concurrency import order

PERSON = "amina@example.com"
NOW = clock.now()


def limit(merchant: Merchant, most: int, *, person: str = PERSON, minutes: int = 11) -> PersonLimit:
    """Of somebody who typed the password so many minutes ago."""
    now = clock.now()
    return limit_of(merchant.id, person, confirmed_at=now - timedelta(minutes=minutes), most=most, now=now)


def payout(amount: int, limits: PersonLimit, *, key: str | None = None) -> PaymentRequest:
    made = order(limits.merchant_id, Type.DISBURSEMENT, amount, key=key)
    assert made.draft is not None
    return replace(made, payout_limits=limits, draft=replace(made.draft, created_by=limits.person))


async def outcome(service: Service, asked: PaymentRequest) -> str:
    try:
        return "replayed" if (await service.payments.initiate(asked)).is_replay else "created"
    except (ConfirmationRequired, InsufficientBalance) as refusal:
        return refusal.code


@pytest.mark.parametrize(("hour", "since"), [(20, 18), (21, 19), (23, 19)])
def test_the_day_of_what_one_may_pay_out_alone_begins_at_midnight_in_dar_es_salaam(hour: int, since: int) -> None:
    """Three hours before that of London, on the evening of the 19th there."""
    asked = approval_limit_of("mer_1", PERSON, above=1000, now=datetime(2026, 11, 19, hour, 30, tzinfo=UTC))
    assert asked.since == datetime(2026, 11, since, 21, tzinfo=UTC)


async def test_fifty_at_once_for_a_sum_that_allows_ten_make_exactly_ten(
    database: Database, service: Service, merchant: Merchant
) -> None:
    services = [service, *(assemble(Settings(**NO_LIMITS), database) for _ in range(4))]
    # Two sessions of one person: each counts what the other pays out.
    sessions = [limit(merchant, 10_999), limit(merchant, 10_999, minutes=60)]
    answers = await asyncio.gather(
        *(outcome(services[n % 5], payout(1000, sessions[n % 2], key=f"order-{n}")) for n in range(50))
    )
    assert (answers.count("created"), answers.count("confirmation_required")) == (10, 40)
    async with database.read() as connection:
        paid = await connection.fetchval("SELECT sum(amount) FROM transactions WHERE merchant_id = $1", merchant.id)
        keys = await connection.fetchval("SELECT count(*) FROM idempotency_keys WHERE merchant_id = $1", merchant.id)
    assert (paid, keys) == (10_000, 10)


async def test_a_replay_never_counts_and_is_never_refused(service: Service, merchant: Merchant) -> None:
    limits = limit(merchant, 2000)
    assert await outcome(service, payout(1000, limits, key="order-1")) == "created"
    assert await outcome(service, payout(1000, limits, key="order-1")) == "replayed"
    assert await outcome(service, payout(1000, limits)) == "created"
    assert await outcome(service, payout(1000, limits)) == "confirmation_required"
    assert await outcome(service, payout(1000, limits, key="order-1")) == "replayed"


async def test_an_order_that_is_tried_again_after_a_lost_commit_is_made_and_counts_once(
    database: Database, service: Service, merchant: Merchant
) -> None:
    limits = limit(merchant, 2000)
    asked = payout(2000, limits)
    for again in (False, True):
        async with database.begin() as tx:
            (answer,) = await service.payments._initiate._act(tx, [asked], again=again)
        assert isinstance(answer, InitiatedPayment)
    assert await outcome(service, payout(1000, limits)) == "confirmation_required"


async def test_a_cancelled_payout_still_counts_and_what_the_wallet_refuses_does_not(
    service: Service, merchant: Merchant
) -> None:
    limits = limit(merchant, 2_000_000)
    assert await outcome(service, payout(1_500_000, limits)) == "insufficient_balance"
    made = (await service.payments.initiate(payout(900_000, limits))).transaction
    await service.payments.cancel(Cancellation(merchant.id, made.id))
    assert await outcome(service, payout(1_100_001, limits)) == "confirmation_required"


async def test_payouts_of_others_and_collections_do_not_count(service: Service, merchant: Merchant) -> None:
    mine, other = limit(merchant, 1000), limit(merchant, 1000, person="baraka@example.com")
    collection = replace(payout(9000, mine), type=Type.COLLECTION)
    assert collection.draft is not None
    collection = replace(collection, draft=replace(collection.draft, type=Type.COLLECTION))
    assert await outcome(service, collection) == "created"
    assert await outcome(service, order(merchant.id, Type.DISBURSEMENT, 9000)) == "created"
    assert await outcome(service, payout(1000, other)) == "created"
    assert await outcome(service, payout(1000, mine)) == "created"
    assert await outcome(service, payout(1000, mine)) == "confirmation_required"


async def test_payouts_before_the_password_was_typed_do_not_count(service: Service, merchant: Merchant) -> None:
    stale = limit(merchant, 1000)
    assert await outcome(service, payout(1000, stale)) == "created"
    assert await outcome(service, payout(1000, limit(merchant, 1000, minutes=0))) == "created"
    assert await outcome(service, payout(1000, stale)) == "confirmation_required"


def test_no_payout_counts_for_longer_than_a_day() -> None:
    hours = [limit_of("mer_1", PERSON, confirmed_at=NOW - timedelta(hours=h), most=1, now=NOW).since for h in (2, 50)]
    assert hours == [NOW - timedelta(hours=2), NOW - timedelta(hours=24)]


def test_the_sum_may_be_reached_and_not_exceeded() -> None:
    mine = PersonLimit("mer_1", PERSON, NOW, 1000)
    sums = PersonSums({mine: 400})
    assert sums.refusal_of(mine, 600) is None
    assert isinstance(sums.refusal_of(mine, 601), ConfirmationRequired)
    sums.add(mine, 500)
    assert sums.refusal_of(mine, 100) is None
    assert isinstance(sums.refusal_of(mine, 101), ConfirmationRequired)
