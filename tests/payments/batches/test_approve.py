"""A batch is approved by a second person: all of it is reserved in one commit, or nothing happens."""

import pytest

from malipo.errors import Conflict, Forbidden, Invalid, Missing
from malipo.networks.connector import Channel
from malipo.payments.batches.approve import Approval, NotApprovable, SecondPersonRequired
from malipo.payments.batches.batch import BatchStatus, Requester
from malipo.payments.initiate import InsufficientBalance
from malipo.payments.transaction import Status
from tests.conftest import make_merchant
from tests.journeys import database_facts
from tests.payments.batches.batch_steps import ASHA, JUMA, BatchSteps, items
from tests.payments.batches.batch_steps import batches as batches
from tests.payments.payment_steps import FEE, PaymentSteps


async def test_nothing_moves_before_a_batch_is_approved(batches: BatchSteps) -> None:
    batch = await batches.make(3)

    assert batch.status is BatchStatus.AWAITING_APPROVAL
    assert (batch.item_count, batch.amount, batch.fee) == (3, 3003, 0)
    assert await database_facts.wallet(batches.database, batches.merchant_id) == (1_000_000, 0)
    assert await database_facts.ids(batches.database) == []
    assert (await batches.claim()).to_send == []
    assert [(line.item.index, line.payout) for line in await batches.lines(batch)] == [(0, None), (1, None), (2, None)]


async def test_an_approved_batch_is_reserved_with_its_fees_and_every_item_is_a_payout(batches: BatchSteps) -> None:
    await PaymentSteps(batches.service, batches.merchant_id).charge_fees()
    wanted = items(3)
    wanted[1] |= {"recipientName": "Neema", "description": "Wages, week 46", "orderReference": "W46-2"}
    batch = await batches.make(wanted)
    assert batch.fee == 3 * FEE

    approved = await batches.approve(batch)

    assert (approved.status, approved.approved_by) == (BatchStatus.RUNNING, JUMA.id)
    taken = 3003 + 3 * FEE
    assert await database_facts.wallet(batches.database, batches.merchant_id) == (1_000_000 - taken, taken)
    payouts = [line.payout for line in await batches.lines(batch)]
    assert [each.amount for each in payouts if each] == [1000, 1001, 1002]
    second = payouts[1]
    assert second is not None
    assert (second.name, second.description, second.order_reference) == ("Neema", "Wages, week 46", "W46-2")
    assert (second.batch_id, second.fee, second.status) == (batch.id, FEE, Status.PENDING)
    assert (await batches.look(batch)).counts == {Status.PENDING: 3}
    assert await batches.actions() == [(ASHA.id, "batch.created"), (JUMA.id, "batch.approved")]
    await database_facts.assert_clean(batches.database)


async def test_the_fee_is_that_of_the_creation(batches: BatchSteps) -> None:
    batch = await batches.make(2)
    await PaymentSteps(batches.service, batches.merchant_id).charge_fees()

    await batches.approve(batch)

    assert [line.payout.fee for line in await batches.lines(batch) if line.payout] == [0, 0]


async def test_a_wallet_that_lacks_one_shilling_pays_none_of_it(batches: BatchSteps) -> None:
    batch = await batches.make([*items(2, amount=499_999), *items(1, amount=1000)])
    assert batch.amount == 1_000_999

    with pytest.raises(InsufficientBalance) as refused:
        await batches.approve(batch)

    assert refused.value.details == {"amount": ["This batch needs TZS 1,000,999 and the wallet holds TZS 1,000,000."]}
    assert await database_facts.ids(batches.database) == []
    assert (await batches.look(batch)).batch == batch, "and it can be approved when the wallet holds enough"
    assert await database_facts.wallet(batches.database, batches.merchant_id) == (1_000_000, 0)


async def test_a_wallet_that_lacks_only_the_fees_pays_none_of_it(batches: BatchSteps) -> None:
    await PaymentSteps(batches.service, batches.merchant_id).charge_fees()
    batch = await batches.make(items(1, amount=1_000_000 - FEE + 1))

    with pytest.raises(InsufficientBalance) as refused:
        await batches.approve(batch)

    assert refused.value.details == {"amount": ["This batch needs TZS 1,000,001 and the wallet holds TZS 1,000,000."]}
    assert await database_facts.wallet(batches.database, batches.merchant_id) == (1_000_000, 0)
    assert await batches.approve(await batches.make(items(1, amount=1_000_000 - FEE)))


async def test_a_batch_does_not_spend_what_the_wallet_owes(batches: BatchSteps) -> None:
    async with batches.database.begin() as tx:
        await tx.execute("UPDATE wallets SET owed = 1000 WHERE merchant_id = $1", batches.merchant_id)
    batch = await batches.make(items(1, amount=999_001))

    with pytest.raises(InsufficientBalance):
        await batches.approve(batch)

    assert await database_facts.wallet(batches.database, batches.merchant_id) == (1_000_000, 0)
    assert await batches.approve(await batches.make(items(1, amount=999_000)))


@pytest.mark.parametrize(
    ("maker", "approver"),
    [
        (ASHA, ASHA),
        (ASHA, Requester("key_of_asha", ASHA.person)),
        (Requester("key_of_asha", ASHA.person), ASHA),
        (Requester("key_1", ASHA.person), Requester("key_2", ASHA.person)),
        (Requester("key_of_nobody", None), JUMA),
        (ASHA, Requester("key_of_nobody", None)),
    ],
    ids=["same", "own-key", "made-by-own-key", "two-keys", "maker-not-known", "approver-not-known"],
)
async def test_the_author_of_a_batch_does_not_approve_it_nor_does_a_key_of_the_author(
    batches: BatchSteps, maker: Requester, approver: Requester
) -> None:
    batch = await batches.make(requester=maker)

    with pytest.raises(SecondPersonRequired):
        await batches.approve(batch, approver)

    assert (await batches.look(batch)).batch.status is BatchStatus.AWAITING_APPROVAL


async def test_an_owner_may_switch_the_second_person_off(batches: BatchSteps) -> None:
    batch = await batches.make()
    await batches.set_rules(takes_two=False)

    assert (await batches.approve(batch, ASHA)).status is BatchStatus.RUNNING

    async with batches.database.read() as connection:
        row = await connection.fetchrow(
            "SELECT actor, details FROM audit_log WHERE action = 'approval.rules_requested'"
        )
    assert row is not None
    assert (row["actor"], row["details"]) == ("owner@duka.example", '{"takes_two":false}')


async def test_approving_again_changes_nothing(batches: BatchSteps) -> None:
    batch = await batches.make()
    first = await batches.approve(batch)

    assert await batches.approve(batch) == first

    assert len(await database_facts.ids(batches.database)) == 3
    assert await batches.actions() == [(ASHA.id, "batch.created"), (JUMA.id, "batch.approved")]


async def test_a_cancelled_batch_is_not_approved(batches: BatchSteps) -> None:
    batch = await batches.make()
    await batches.cancel(batch)

    with pytest.raises(NotApprovable):
        await batches.approve(batch)

    assert await database_facts.ids(batches.database) == []


async def test_a_batch_of_another_merchant_is_not_found(batches: BatchSteps) -> None:
    batch = await batches.make()
    other = await make_merchant(batches.database, wallet=1_000_000)

    with pytest.raises(Missing):
        await batches.service.batches.approve(Approval(other.id, batch.id, JUMA))


async def test_payouts_of_a_batch_go_out_under_the_keys_of_its_creation(batches: BatchSteps) -> None:
    batch = await batches.make(3)
    keys = [line.item.network_key for line in await batches.lines(batch)]
    assert len(set(keys)) == 3

    await batches.approve(batch)

    assert [each.network_key for each in (await batches.claim()).to_send] == keys


@pytest.mark.parametrize("days", [0, 8, 400])
async def test_after_a_restore_the_network_is_asked_before_anything_of_a_batch_is_sent(
    batches: BatchSteps, days: int
) -> None:
    """An approval that the restored database has lost may have sent it, under the same keys, however long ago."""
    batch = await batches.make(3)
    async with batches.database.begin() as tx:
        await tx.execute(
            "UPDATE batches SET created_at = created_at - $1 * interval '1 day' - interval '1 minute'", days
        )
        await tx.execute("UPDATE installation SET epoch = 2, epoch_began_at = now() - $1 * interval '1 day'", days)

    await batches.approve(batch)

    assert (await batches.claim()).to_send == []
    async with batches.database.read() as connection:
        assert await connection.fetchval("SELECT count(*) FROM dispatches WHERE is_asked_first") == 3


async def test_items_of_several_channels_are_payouts_of_those(batches: BatchSteps) -> None:
    batch = await batches.running([*items(1), *items(1, channel=Channel.AIRTEL_MONEY)])
    assert [line.payout.channel for line in await batches.lines(batch) if line.payout] == ["MPESA", "AIRTEL_MONEY"]


def test_refusals_have_the_classes_of_their_statuses() -> None:
    assert issubclass(SecondPersonRequired, Forbidden)
    assert issubclass(NotApprovable, Conflict)
    assert issubclass(InsufficientBalance, Invalid)


async def test_a_batch_that_was_made_after_the_week_of_a_restore_is_sent_at_once(batches: BatchSteps) -> None:
    async with batches.database.begin() as tx:
        await tx.execute("UPDATE installation SET epoch = 2, epoch_began_at = now() - interval '8 days'")
    await batches.approve(await batches.make(3))
    assert len((await batches.claim()).to_send) == 3
