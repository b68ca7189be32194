"""The list of payments that an operator must look at, and nothing else."""

import pytest

from malipo.errors import Conflict, Forbidden, Missing
from malipo.networks.contract import Resubmit, Verdict
from malipo.payments.pursuit import Act, Attention
from malipo.payments.resolve import Truth
from malipo.payments.transaction import Status, Type
from malipo.service import Service
from malipo.settings import Settings
from tests.conftest import NO_LIMITS, Merchant
from tests.journeys import witness
from tests.payments.resolving import COLLECTION, PAYOUT, approve, cancel, propose, unsettled
from tests.payments.resolving import story as story
from tests.payments.story import Story


async def test_the_list_has_what_an_operator_must_look_at_and_nothing_else(
    service: Service, merchant: Merchant
) -> None:
    settings = Settings(**NO_LIMITS, not_found_seconds=0, credit_by_itself=False)
    eager = Story(Service.assemble(settings, service.database), merchant.id)
    old = eager.ago(3700)
    shown: dict[str, Attention | str | None] = {}

    for type_ in Type:
        differs = await eager.processing(type_)
        await eager.hear(differs, Verdict.CONFIRMED, amount=999)
        shown[differs.id] = Attention.DIFFERS
        forgotten = await eager.processing(type_)
        for _ in range(3):
            await eager.hear(forgotten, Verdict.MISSING)
        shown[forgotten.id] = Attention.FORGOTTEN
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
        await eager.hear(asked, Verdict.CONFIRMED, Act.CALLBACK, is_trusted=False)
    missing = await eager.send(PAYOUT)
    for _ in range(3):
        await eager.hear(missing, Verdict.MISSING, resubmit=Resubmit.UNSAFE)
    shown[missing.id] = Attention.NOT_FOUND

    assert await unsettled(eager) == shown
    assert set(await unsettled(eager, seconds=4000)) == {id_ for id_, why in shown.items() if why is not None}


async def test_a_payment_that_was_not_sent_and_is_spoken_of_is_on_the_list_and_is_not_sent(story: Story) -> None:
    opened = await story.open(PAYOUT)

    settled = await story.hear(opened, Verdict.CONFIRMED, Act.CALLBACK, is_trusted=False, provider_reference="FORGED")

    assert settled.transaction.status is Status.PROCESSING
    assert settled.transaction.provider_reference is None, "what is not signed is not written down as true"
    assert await unsettled(story) == {opened.id: Attention.UNSENT}
    assert (await story.claim()).to_send == []
    await witness.assert_clean(story.database)
    await story.hear(opened, Verdict.CONFIRMED)
    assert await unsettled(story) == {}
    await witness.assert_clean(story.database)


async def test_what_was_resolved_is_off_the_list(story: Story) -> None:
    old = story.ago(3700)
    collection, payout = await old.processing(COLLECTION), await old.processing(PAYOUT)
    contradicted = await story.contradicted(COLLECTION, Status.FAILED)
    assert set(await unsettled(story)) == {collection.id, payout.id, contradicted.id}

    await propose(story, collection.id, Truth.FAILED)
    await propose(story, contradicted.id, Truth.COMPLETED)
    await propose(story, payout.id, Truth.FAILED)
    assert set(await unsettled(story)) == {payout.id, contradicted.id}, "which another operator has to approve"
    await approve(story, contradicted.id)
    await approve(story, payout.id)

    assert await unsettled(story) == {}
    await witness.assert_clean(story.database)


async def test_a_failed_payment_that_is_said_to_be_paid_is_listed_until_two_operators_have_looked(
    story: Story,
) -> None:
    payout = await story.ended(PAYOUT, Status.FAILED)
    await story.hear(payout, Verdict.CONFIRMED, Act.CALLBACK, is_trusted=False)
    for _ in range(9):
        await story.hear(payout, Verdict.UNKNOWN)
    assert await unsettled(story) == {payout.id: Attention.SAID_PAID}
    await propose(story, payout.id, Truth.FAILED)
    assert (await approve(story, payout.id)).is_done
    assert await unsettled(story) == {}
    assert await story.correction(payout) is None, "nothing was put right: the merchant was told the truth"
    await witness.assert_clean(story.database)


async def test_a_closed_merchants_payouts_are_listed_and_an_operator_can_cancel_them(story: Story) -> None:
    payout, collection = await story.open(PAYOUT), await story.open(COLLECTION)
    with pytest.raises(Forbidden, match="active"):
        await cancel(story, payout.id)
    async with story.database.begin() as tx:
        await tx.execute("UPDATE merchants SET is_active = false WHERE id = $1", story.merchant_id)
    assert await unsettled(story) == {payout.id: None}

    cancelled = await cancel(story, payout.id)

    assert cancelled.status is Status.CANCELLED
    assert await unsettled(story) == {}
    assert await witness.wallet(story.database, story.merchant_id) == (1_000_000, 0)
    with pytest.raises(Missing):
        await cancel(story, payout.id)
    with pytest.raises(Conflict):
        await cancel(story, cancelled.reference)
    assert await story.status(collection) is Status.PENDING
    await witness.assert_clean(story.database)
