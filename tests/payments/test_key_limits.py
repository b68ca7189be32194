"""The limits of API keys for payouts: what a stolen key is worth."""

import asyncio
from datetime import UTC, date, datetime, timedelta

import pytest
from msgspec.structs import replace

from malipo import clock
from malipo.app.assemble import Service, assemble
from malipo.db import Database
from malipo.errors import Forbidden
from malipo.merchants import issue_api_keys
from malipo.merchants.api_keys import Environment, KeyTerms, PayoutLimits, Permission
from malipo.payments.cancel import Cancellation
from malipo.payments.initiate import InitiatedPayment, InsufficientBalance, PaymentRequest
from malipo.payments.limits.key_limits import DailySums, DayUsedUp, PayoutTooLarge
from malipo.payments.store import creators
from malipo.payments.transaction import Type
from malipo.settings import Settings
from tests.conftest import NO_LIMITS, NOBODY, Merchant
from tests.journeys.concurrency import order

TODAY = date(2026, 11, 15)


async def limits_of(
    database: Database, merchant: Merchant, *, each: int | None = None, daily: int | None = None
) -> PayoutLimits:
    """A new key's."""
    async with database.begin() as tx:
        key = await issue_api_keys.create_key(
            tx,
            merchant.id,
            KeyTerms(
                name="till",
                permissions=(Permission.PAYMENTS_CREATE,),
                environment=Environment.LIVE,
                brand="mlp",
                payout_limit=each,
                daily_payout_limit=daily,
            ),
            actor=NOBODY,
            now=clock.now(),
        )
    return PayoutLimits(key.id, each, daily)


def payout(merchant: Merchant, amount: int, limits: PayoutLimits, *, key: str | None = None) -> PaymentRequest:
    made = order(merchant.id, Type.DISBURSEMENT, amount, key=key)
    return replace(made, payout_limits=limits)


async def outcome(service: Service, asked: PaymentRequest) -> str:
    try:
        return "replayed" if (await service.payments.initiate(asked)).is_replay else "created"
    except (Forbidden, InsufficientBalance) as refusal:
        return refusal.code


async def test_fifty_at_once_for_a_sum_that_allows_ten_make_exactly_ten(
    database: Database, service: Service, merchant: Merchant
) -> None:
    limits = await limits_of(database, merchant, daily=10_999)
    services = [service, *(assemble(Settings(**NO_LIMITS), database) for _ in range(4))]
    answers = await asyncio.gather(
        *(outcome(services[number % 5], payout(merchant, 1000, limits)) for number in range(50))
    )
    assert (answers.count("created"), answers.count("key_daily_limit")) == (10, 40)
    async with database.read() as connection:
        paid = await connection.fetchval("SELECT sum(amount) FROM transactions WHERE merchant_id = $1", merchant.id)
        kept = await connection.fetchval("SELECT amount FROM api_key_daily_payouts WHERE key_id = $1", limits.key_id)
    assert (paid, kept) == (10_000, 10_000)


async def test_a_replay_never_counts_twice(database: Database, service: Service, merchant: Merchant) -> None:
    limits = await limits_of(database, merchant, daily=2000)
    first = payout(merchant, 1000, limits, key="order-1")
    again = [payout(merchant, 1000, limits, key="order-1") for _ in range(5)]
    assert await outcome(service, first) == "created"
    assert set(await asyncio.gather(*(outcome(service, each) for each in again))) == {"replayed"}
    assert await outcome(service, payout(merchant, 1000, limits)) == "created"
    assert await outcome(service, payout(merchant, 1000, limits)) == "key_daily_limit"
    # A used key is answered before any limit.
    assert await outcome(service, payout(merchant, 1000, limits, key="order-1")) == "replayed"


async def test_an_order_that_is_tried_again_after_a_lost_commit_counts_once(
    database: Database, service: Service, merchant: Merchant
) -> None:
    limits = await limits_of(database, merchant, daily=2000)
    asked = payout(merchant, 1000, limits)
    act = service.payments._initiate._act
    for again in (False, True):
        async with database.begin() as tx:
            (answer,) = await act(tx, [asked], again=again)
        assert isinstance(answer, InitiatedPayment)
    assert await outcome(service, payout(merchant, 1000, limits)) == "created"
    assert await outcome(service, payout(merchant, 1000, limits)) == "key_daily_limit"


async def test_a_payout_above_the_limit_of_one_changes_nothing(
    database: Database, service: Service, merchant: Merchant
) -> None:
    limits = await limits_of(database, merchant, each=5000, daily=9000)
    assert await outcome(service, payout(merchant, 5001, limits, key="order-1")) == "key_payout_limit"
    assert await outcome(service, payout(merchant, 5000, limits, key="order-1")) == "created"
    assert await outcome(service, payout(merchant, 4000, limits)) == "created"


async def test_a_payout_that_the_wallet_refuses_uses_up_no_limit_of_its_key(
    database: Database, service: Service, merchant: Merchant
) -> None:
    limits = await limits_of(database, merchant, daily=2_000_000)
    assert await outcome(service, payout(merchant, 1_500_000, limits)) == "insufficient_balance"
    assert await outcome(service, payout(merchant, 900_000, limits)) == "created"


async def test_a_cancelled_payout_still_counts(database: Database, service: Service, merchant: Merchant) -> None:
    limits = await limits_of(database, merchant, daily=1000)
    made = (await service.payments.initiate(payout(merchant, 1000, limits))).transaction
    await service.payments.cancel(Cancellation(merchant.id, made.id))
    assert await outcome(service, payout(merchant, 1000, limits)) == "key_daily_limit"


async def test_collections_and_other_keys_are_not_limited(
    database: Database, service: Service, merchant: Merchant
) -> None:
    limits = await limits_of(database, merchant, each=500, daily=500)
    collection = replace(order(merchant.id, Type.COLLECTION, 9000), payout_limits=limits)
    assert await outcome(service, collection) == "created"
    assert await outcome(service, order(merchant.id, Type.DISBURSEMENT, 9000)) == "created"


async def test_a_new_day_of_dar_es_salaam_begins_anew(database: Database, merchant: Merchant) -> None:
    now = datetime(2026, 11, 15, 20, 59, tzinfo=UTC)  # a minute before midnight there
    limits = await limits_of(database, merchant, daily=1000)
    before = assemble(Settings(**NO_LIMITS), database, clock=lambda: now)
    after = assemble(Settings(**NO_LIMITS), database, clock=lambda: now + timedelta(minutes=1))
    assert await outcome(before, payout(merchant, 1000, limits)) == "created"
    assert await outcome(before, payout(merchant, 1000, limits)) == "key_daily_limit"
    assert await outcome(after, payout(merchant, 1000, limits)) == "created"
    # A host whose clock is behind does not get the day before once more.
    assert await outcome(before, payout(merchant, 1000, limits)) == "key_daily_limit"


def test_the_refusals_say_the_limit_and_what_is_left() -> None:
    sums = DailySums({"key_1": (TODAY, 80_000)}, TODAY)
    day = sums.refusal_of(PayoutLimits("key_1", None, 100_000), 20_001)
    assert isinstance(day, DayUsedUp)
    assert day.message == "This API key may pay out at most TZS 100,000 a day, of which TZS 20,000 is left today."
    one = sums.refusal_of(PayoutLimits("key_1", 50_000, 100_000), 50_001)
    assert isinstance(one, PayoutTooLarge)
    assert one.message == "This API key may pay out at most TZS 50,000 at once."
    assert sums.refusal_of(PayoutLimits("key_1", 50_000, 100_000), 20_000) is None


@pytest.mark.parametrize(("hour", "day"), [(20, 15), (21, 16)])
def test_a_day_begins_at_midnight_in_dar_es_salaam(hour: int, day: int) -> None:
    assert clock.day_of(datetime(2026, 11, 15, hour, tzinfo=UTC)) == date(2026, 11, day)


@pytest.mark.parametrize("type_", [*Type])
async def test_a_payment_names_its_key(database: Database, service: Service, merchant: Merchant, type_: Type) -> None:
    limits = await limits_of(database, merchant)
    asked = order(merchant.id, type_, 1000)
    assert asked.draft is not None
    asked = replace(asked, draft=replace(asked.draft, created_by=limits.key_id))
    made = (await service.payments.initiate(asked)).transaction
    async with database.begin() as tx:
        await issue_api_keys.revoke_key(tx, merchant.id, limits.key_id, actor=NOBODY, now=clock.now())
        found = await creators.find(tx, merchant.id, made.id)
    assert found is not None
    assert (found.id, found.key_name) == (limits.key_id, "till")
    assert found.last4
