"""A refund is a payout to who paid. The collection knows what of it was given back."""

import pytest
from msgspec.structs import replace

from malipo.accounts.reauthentication import ConfirmationRequired
from malipo.errors import Invalid
from malipo.networks.connector import Verdict
from malipo.payments.idempotency import KeyReused
from malipo.payments.initiate import InsufficientBalance
from malipo.payments.limits.key_limits import DayUsedUp, PayoutTooLarge
from malipo.payments.limits.person_limits import PersonLimit
from malipo.payments.refunds.refundable import AlreadyRefunded, NotRefundable, RefundInProgress
from malipo.payments.transaction import Status, Type
from tests.conftest import Merchant
from tests.journeys import database_facts
from tests.journeys.concurrency import order
from tests.payments.payment_steps import FEE
from tests.payments.refunds.refund_steps import RefundSteps
from tests.payments.refunds.refund_steps import steps as steps
from tests.payments.test_key_limits import limits_of


async def test_a_refund_pays_all_of_it_back_to_who_paid(steps: RefundSteps) -> None:
    await steps.charge_fees()
    collection = await steps.collected(5000)
    refund = await steps.refund(collection)

    assert (refund.type, refund.amount, refund.fee) == (Type.DISBURSEMENT, 5000, FEE)
    assert (refund.channel, refund.phone, refund.name) == (collection.channel, collection.phone, collection.name)
    assert (refund.refund_of, refund.description) == (collection.id, "Returned")
    assert refund.reference.endswith(f"-{refund.network_key}")
    assert await database_facts.wallet(steps.database, steps.merchant_id) == (1_000_000 - 2 * FEE, 5000 + FEE)
    assert await steps.refunded_amount(collection) == 0

    await steps.claim()
    await steps.report(refund, Verdict.CONFIRMED)
    assert await steps.refunded_amount(collection) == 5000
    assert [each.id for each in (await steps.seen(collection)).refunds] == [refund.id]
    assert [event for event, _ in await steps.events(collection)] == [
        "payment.pending",
        "payment.completed",
        "payment.refunded",
    ]
    assert [event for event, _ in await steps.events(refund)] == ["payout.completed"]
    with pytest.raises(AlreadyRefunded):
        await steps.ask(collection)
    await database_facts.assert_clean(steps.database)


async def test_a_collection_is_refunded_in_parts_one_after_the_other(steps: RefundSteps) -> None:
    collection = await steps.collected(5000)
    first = await steps.sent(collection, 2000)
    with pytest.raises(RefundInProgress, match=first.id):
        await steps.ask(collection, 1000)
    await steps.report(first, Verdict.CONFIRMED)
    second = await steps.refunded(collection, 1000)
    with pytest.raises(Invalid, match="invalid fields") as caught:
        await steps.ask(collection, 2001)
    assert caught.value.details == {"amount": ["amount must be at most 2000: that is what is left of this payment."]}
    rest = await steps.refunded(collection)

    assert [first.amount, second.amount, rest.amount] == [2000, 1000, 2000]
    assert len({each.network_key for each in (first, second, rest)}) == 3
    assert await steps.refunded_amount(collection) == 5000
    refunded = [(event, ordinal) for event, ordinal in await steps.events(collection) if event == "payment.refunded"]
    assert refunded == [("payment.refunded", 1), ("payment.refunded", 2), ("payment.refunded", 3)]
    await database_facts.assert_clean(steps.database)


@pytest.mark.parametrize("status", [Status.FAILED, Status.CANCELLED])
async def test_a_refund_that_was_not_paid_gives_everything_back_and_another_may_follow(
    steps: RefundSteps, status: Status
) -> None:
    await steps.charge_fees()
    collection = await steps.collected()
    before = await database_facts.wallet(steps.database, steps.merchant_id)
    await steps.refunded(collection, status=status)

    assert await database_facts.wallet(steps.database, steps.merchant_id) == before
    assert await steps.refunded_amount(collection) == 0
    assert (await steps.refunded(collection)).amount == 5000
    assert await steps.refunded_amount(collection) == 5000
    await database_facts.assert_clean(steps.database)


async def test_the_wallet_must_hold_it_with_its_fee_and_a_refusal_reserves_nothing(steps: RefundSteps) -> None:
    collection = await steps.collected()
    await steps.charge_fees()
    await steps.open(Type.DISBURSEMENT, 1_002_000)

    with pytest.raises(InsufficientBalance):
        await steps.ask(collection)
    assert (await steps.refunded(collection, 2000)).status is Status.COMPLETED
    await database_facts.assert_clean(steps.database)


@pytest.mark.parametrize("status", [Status.PENDING, Status.PROCESSING, Status.FAILED, Status.CANCELLED])
async def test_only_a_completed_collection_is_refunded(steps: RefundSteps, status: Status) -> None:
    match status:
        case Status.PENDING:
            collection = await steps.open(Type.COLLECTION)
        case Status.PROCESSING:
            collection = await steps.processing(Type.COLLECTION)
        case _:
            collection = await steps.ended(Type.COLLECTION, status)
    with pytest.raises(NotRefundable, match=status):
        await steps.ask(collection)


async def test_an_idempotency_key_makes_one_refund_and_is_of_its_collection(steps: RefundSteps) -> None:
    collection, other = await steps.collected(), await steps.collected()
    first = await steps.ask(collection, key="return-1")
    again = await steps.ask(collection, key="return-1")

    assert (first.is_replay, again.is_replay) == (False, True)
    assert again.transaction.id == first.transaction.id
    for collection_, amount in ((collection, 1000), (other, None)):
        with pytest.raises(KeyReused):
            await steps.ask(collection_, amount, key="return-1")
    # The same key on another route is another request.
    assert not (
        await steps.service.payments.initiate(order(steps.merchant_id, Type.DISBURSEMENT, 1000, key="return-1"))
    ).is_replay
    assert await database_facts.count(steps.database, "refunds") == 1
    await database_facts.assert_clean(steps.database)


async def test_a_refused_refund_does_not_use_up_its_idempotency_key(steps: RefundSteps) -> None:
    collection = await steps.collected()
    first = await steps.sent(collection)
    with pytest.raises(RefundInProgress):
        await steps.ask(collection, key="return-1")
    await steps.report(first, Verdict.REFUSED)
    assert not (await steps.ask(collection, key="return-1")).is_replay


async def test_an_owed_amount_cannot_be_refunded(steps: RefundSteps) -> None:
    collection = await steps.collected()
    paid = await steps.contradicted(Type.DISBURSEMENT, Status.FAILED, 1_001_000)
    with pytest.raises(InsufficientBalance, match="not sufficient"):
        await steps.ask(collection, 5000)
    await steps.report(paid, Verdict.REFUSED)
    assert await steps.refund(collection)


async def test_the_limits_of_a_key_and_of_a_person_hold_for_refunds(steps: RefundSteps, merchant: Merchant) -> None:
    collection = await steps.collected()
    key = await limits_of(steps.database, merchant, each=2000, daily=3000)
    person = PersonLimit(merchant.id, "asha@example.com", since=steps.service.clock(), most=1000)
    for limits, amount, refusal in (
        (key, 2500, PayoutTooLarge),
        (key, 5000, PayoutTooLarge),
        (person, 1500, ConfirmationRequired),
    ):
        with pytest.raises(refusal):
            await steps.service.payments.initiate(replace(steps.order(collection, amount), payout_limits=limits))
    first = await steps.service.payments.initiate(replace(steps.order(collection, 2000), payout_limits=key))
    await steps.claim()
    await steps.report(first.transaction, Verdict.CONFIRMED)
    with pytest.raises(DayUsedUp):
        await steps.service.payments.initiate(replace(steps.order(collection, 1500), payout_limits=key))
    with pytest.raises(PayoutTooLarge):  # What is left counts, where no amount is named.
        await steps.service.payments.initiate(replace(steps.order(collection), payout_limits=key))
    await database_facts.assert_clean(steps.database)
