"""A batch of thousands keeps no single payout waiting, and no other batch; and it is not kept waiting by them."""

import pytest

from malipo.networks.connector import Channel
from malipo.payments.batches.batch import MOST_ITEMS
from malipo.payments.transaction import Type
from tests.conftest import make_merchant
from tests.journeys import database_facts
from tests.payments.batches.batch_steps import BatchSteps, items
from tests.payments.batches.batch_steps import batches as batches
from tests.payments.payment_steps import PAIRS, PaymentSteps, of


@pytest.fixture
async def rich(batches: BatchSteps) -> BatchSteps:
    """A merchant with enough for a large batch."""
    return BatchSteps(batches.service, (await make_merchant(batches.database, wallet=100_000_000)).id)


@pytest.mark.parametrize("most", [1, 2, 10, 100])
async def test_a_single_payout_goes_out_among_the_next_though_thousands_wait(
    batches: BatchSteps, rich: BatchSteps, most: int
) -> None:
    await rich.running(MOST_ITEMS)
    await rich.claim(most=100)
    own = await PaymentSteps(rich.service, rich.merchant_id).open(Type.DISBURSEMENT)
    other = await PaymentSteps(batches.service, batches.merchant_id).open(Type.DISBURSEMENT)

    sent: list[str] = []
    while len(sent) < 10:
        taken = of((await rich.claim(most=most)).to_send)
        assert taken, "something waits for every place"
        sent += taken

    assert {own.id, other.id} <= set(sent)


async def test_a_batch_goes_on_while_single_payouts_keep_coming(batches: BatchSteps) -> None:
    await batches.running(50)
    steps = PaymentSteps(batches.service, batches.merchant_id)
    of_batch = 0
    for _ in range(40):
        await steps.open(Type.DISBURSEMENT)
        await steps.open(Type.DISBURSEMENT)
        [sent] = (await batches.claim(most=1)).to_send
        of_batch += sent.batch_id is not None
    assert of_batch == 10, "every fourth place"


async def test_no_type_waits_for_ever_while_a_batch_goes_on(batches: BatchSteps) -> None:
    """Also where the places get free one by one, and there are as many kinds of payments as turns."""
    routes = [(channel, type_) for channel in (Channel.MPESA, Channel.AIRTEL_MONEY) for type_ in Type]
    await batches.running(50)
    steps = PaymentSteps(batches.service, batches.merchant_id)
    for type_ in Type:
        await steps.open_many(type_, 20)
    seen = set()
    for _ in range(16):
        [sent] = (await batches.claim(most=1, routes=routes)).to_send
        seen.add((sent.type, sent.batch_id is not None))
    assert seen == {(Type.COLLECTION, False), (Type.DISBURSEMENT, False), (Type.DISBURSEMENT, True)}


async def test_a_small_batch_goes_out_among_the_next_of_a_large_one(batches: BatchSteps, rich: BatchSteps) -> None:
    await rich.running(1000)
    small = await batches.running(2)

    sent = (await rich.claim(most=10)).to_send

    assert sum(each.batch_id == small.id for each in sent) == 2
    assert len(sent) == 10


async def test_every_line_of_a_batch_is_sent_once_and_in_order(batches: BatchSteps) -> None:
    batch = await batches.running([*items(30), *items(30, channel=Channel.AIRTEL_MONEY)])
    routes = [*PAIRS, (Channel.AIRTEL_MONEY, Type.DISBURSEMENT)]
    sent = []
    while taken := (await batches.claim(most=7, routes=routes)).to_send:
        sent += taken
    assert sorted(of(sent)) == await database_facts.ids(batches.database)
    of_mpesa = [each.id for each in sent if each.channel is Channel.MPESA]
    assert of_mpesa == sorted(of_mpesa)
    assert {each.batch_id for each in sent} == {batch.id}
    await database_facts.assert_clean(batches.database)


async def test_lines_of_a_channel_that_is_held_or_of_a_closed_merchant_wait(batches: BatchSteps) -> None:
    await batches.running(3)
    async with batches.database.begin() as tx:
        await tx.execute("UPDATE merchants SET is_active = false WHERE id = $1", batches.merchant_id)
    assert (await batches.claim()).to_send == []
    async with batches.database.begin() as tx:
        await tx.execute("UPDATE merchants SET is_active = true WHERE id = $1", batches.merchant_id)
        await tx.execute("UPDATE installation SET held_at = now(), held_by = 'x', hold_reason = 'x'")
    assert (await batches.claim()).to_send == []
    async with batches.database.begin() as tx:
        await tx.execute("UPDATE installation SET held_at = NULL, held_by = NULL, hold_reason = NULL")
    assert len((await batches.claim()).to_send) == 3
