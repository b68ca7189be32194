"""The list of payments that an operator must look at, and nothing else."""

import pytest

from malipo.app.assemble import Service, assemble
from malipo.errors import Conflict, Forbidden, Missing
from malipo.networks.connector import Resubmit, Verdict
from malipo.payments.cases.resolution import ResolvedOutcome
from malipo.payments.dispatch import AnswerSource, ReviewReason
from malipo.payments.transaction import Status, Type
from malipo.settings import Settings
from tests.conftest import NO_LIMITS, Merchant
from tests.journeys import database_facts
from tests.payments.payment_steps import PaymentSteps
from tests.payments.resolving import COLLECTION, PAYOUT, approve, cancel, propose, unsettled
from tests.payments.resolving import steps as steps


async def test_the_list_has_what_an_operator_must_look_at_and_nothing_else(
    service: Service, merchant: Merchant
) -> None:
    settings = Settings(**NO_LIMITS, not_found_seconds=0, credit_by_itself=False)
    eager = PaymentSteps(assemble(settings, service.queries.database), merchant.id)
    old = eager.ago(3700)
    shown: dict[str, ReviewReason | str | None] = {}

    for type_ in Type:
        differs = await eager.processing(type_)
        await eager.report(differs, Verdict.CONFIRMED, amount=999)
        shown[differs.id] = ReviewReason.DIFFERS
        forgotten = await eager.processing(type_)
        for _ in range(3):
            await eager.report(forgotten, Verdict.MISSING)
        shown[forgotten.id] = ReviewReason.FORGOTTEN
        shown[(await old.processing(type_)).id] = None  # too long
        shown[(await eager.contradicted(type_, Status.FAILED)).id] = "contradicted"
        shown[(await eager.contradicted(type_, Status.COMPLETED)).id] = "contradicted"
        # And these are nobody's business:
        await old.open(type_)
        await eager.processing(type_)
        await eager.send(type_)
        for status in (Status.COMPLETED, Status.FAILED, Status.CANCELLED):
            await old.ended(type_, status)
        asked = await eager.ended(type_, Status.FAILED)
        await eager.report(asked, Verdict.CONFIRMED, AnswerSource.CALLBACK, is_trusted=False)
    missing = await eager.send(PAYOUT)
    for _ in range(3):
        await eager.report(missing, Verdict.MISSING, resubmit=Resubmit.UNSAFE)
    shown[missing.id] = ReviewReason.NOT_FOUND

    assert await unsettled(eager) == shown
    assert set(await unsettled(eager, seconds=4000)) == {id_ for id_, why in shown.items() if why is not None}


async def test_a_payment_that_was_not_sent_and_is_spoken_of_is_on_the_list_and_is_not_sent(steps: PaymentSteps) -> None:
    opened = await steps.open(PAYOUT)

    settled = await steps.report(
        opened, Verdict.CONFIRMED, AnswerSource.CALLBACK, is_trusted=False, provider_reference="FORGED"
    )

    assert settled.transaction.status is Status.PROCESSING
    assert settled.transaction.provider_reference is None, "what is not signed is not written down as true"
    assert await unsettled(steps) == {opened.id: ReviewReason.UNSENT}
    assert (await steps.claim()).to_send == []
    await database_facts.assert_clean(steps.database)
    await steps.report(opened, Verdict.CONFIRMED)
    assert await unsettled(steps) == {}
    await database_facts.assert_clean(steps.database)


async def test_a_resolved_payment_is_off_the_list(steps: PaymentSteps) -> None:
    old = steps.ago(3700)
    collection, payout = await old.processing(COLLECTION), await old.processing(PAYOUT)
    contradicted = await steps.contradicted(COLLECTION, Status.FAILED)
    assert set(await unsettled(steps)) == {collection.id, payout.id, contradicted.id}

    await propose(steps, collection.id, ResolvedOutcome.FAILED)
    await propose(steps, contradicted.id, ResolvedOutcome.COMPLETED)
    await propose(steps, payout.id, ResolvedOutcome.FAILED)
    assert set(await unsettled(steps)) == {payout.id, contradicted.id}, "which another operator has to approve"
    await approve(steps, contradicted.id)
    await approve(steps, payout.id)

    assert await unsettled(steps) == {}
    await database_facts.assert_clean(steps.database)


async def test_a_failed_payment_that_is_said_to_be_paid_is_listed_until_two_operators_have_looked(
    steps: PaymentSteps,
) -> None:
    payout = await steps.ended(PAYOUT, Status.FAILED)
    await steps.report(payout, Verdict.CONFIRMED, AnswerSource.CALLBACK, is_trusted=False)
    for _ in range(9):
        await steps.report(payout, Verdict.UNKNOWN)
    assert await unsettled(steps) == {payout.id: ReviewReason.SAID_PAID}
    await propose(steps, payout.id, ResolvedOutcome.FAILED)
    assert (await approve(steps, payout.id)).is_done
    assert await unsettled(steps) == {}
    assert await steps.correction(payout) is None, "nothing was corrected: the reported status is right"
    await database_facts.assert_clean(steps.database)


async def test_a_closed_merchants_payouts_are_listed_and_an_operator_can_cancel_them(steps: PaymentSteps) -> None:
    payout, collection = await steps.open(PAYOUT), await steps.open(COLLECTION)
    with pytest.raises(Forbidden, match="case_merchant_can_cancel"):
        await cancel(steps, payout.id)
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE merchants SET is_active = false WHERE id = $1", steps.merchant_id)
    assert await unsettled(steps) == {payout.id: None}

    cancelled = await cancel(steps, payout.id)

    assert cancelled.status is Status.CANCELLED
    assert await unsettled(steps) == {}
    assert await database_facts.wallet(steps.database, steps.merchant_id) == (1_000_000, 0)
    with pytest.raises(Missing):
        await cancel(steps, payout.id)
    with pytest.raises(Conflict):
        await cancel(steps, cancelled.reference)
    assert await steps.status(collection) is Status.PENDING
    await database_facts.assert_clean(steps.database)
