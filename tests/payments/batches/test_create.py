"""A batch is made whole or not at all; sent again it is the same batch."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from malipo import ids
from malipo.errors import Invalid
from malipo.payments.batches.batch import MOST_ITEMS, WarningCode
from malipo.payments.idempotency import KeyReused
from malipo.payments.transaction import Transaction, Type
from tests.conftest import make_merchant
from tests.journeys import database_facts
from tests.journeys.concurrency import at_once, order
from tests.payments.batches.batch_steps import BatchSteps, items
from tests.payments.batches.batch_steps import batches as batches
from tests.payments.payment_steps import PaymentSteps


async def _payout_of(batches: BatchSteps, amount: int, *, days_ago: int) -> Transaction:
    asked = order(batches.merchant_id, Type.DISBURSEMENT, amount)
    assert asked.draft is not None
    then = asked.draft.created_at - timedelta(days=days_ago)
    draft = replace(asked.draft, id=ids.mint("txn_", then), created_at=then)
    return (await batches.service.payments.initiate(replace(asked, draft=draft))).transaction


REPEATED, PAID, AWAITING = WarningCode.REPEATED_ITEM, WarningCode.PAID_BEFORE, WarningCode.AWAITING_TOO


async def test_every_bad_field_of_every_item_is_named_and_nothing_is_kept(batches: BatchSteps) -> None:
    wanted = items(5)
    wanted[1]["amount"] = 499
    wanted[3] |= {"amount": "1000", "channel": "MPESSA"}
    del wanted[4]["recipientPhone"]

    with pytest.raises(Invalid) as refused:
        await batches.make([*wanted, "no object"])  # type: ignore[list-item]

    assert refused.value.details is not None
    assert list(refused.value.details) == [
        "items[1].amount",
        "items[3].channel",
        "items[3].amount",
        "items[4].recipientPhone",
        "items[5]",
    ]
    assert refused.value.details["items[1].amount"] == ["amount must be at least 500."]
    assert await database_facts.count(batches.database, "batches") == 0
    assert await database_facts.count(batches.database, "batch_items") == 0


@pytest.mark.parametrize("wanted", [[], items(MOST_ITEMS + 1)], ids=["none", "one-too-many"])
async def test_a_batch_has_1_to_5000_items(batches: BatchSteps, wanted: list[dict[str, object]]) -> None:
    with pytest.raises(Invalid) as refused:
        await batches.make(wanted)
    assert refused.value.code == "items_invalid"
    assert refused.value.details == {"items": ["items must be a list of 1 to 5000 items."]}


async def test_the_same_key_and_items_are_the_same_batch(batches: BatchSteps) -> None:
    first = await batches.try_to_make(3, key="wages-46")
    assert not first.is_replay

    again = await batches.try_to_make(3, key="wages-46")

    assert (again.batch, again.is_replay) == (first.batch, True)
    assert await database_facts.count(batches.database, "batches") == 1
    assert await database_facts.count(batches.database, "batch_items") == 3
    with pytest.raises(KeyReused):
        await batches.make(4, key="wages-46")
    with pytest.raises(KeyReused):
        await batches.make(3, key="wages-46", name="Other wages")


async def test_a_used_key_is_answered_before_any_error(batches: BatchSteps) -> None:
    await batches.make(3, key="wages-46")
    with pytest.raises(KeyReused):
        await batches.make([{"amount": 1}], key="wages-46")


async def test_a_refused_batch_does_not_use_up_its_key(batches: BatchSteps) -> None:
    with pytest.raises(Invalid):
        await batches.make([{"amount": 1}], key="wages-46")
    assert not (await batches.try_to_make(3, key="wages-46")).is_replay


async def test_many_at_once_with_one_key_make_one_batch(batches: BatchSteps) -> None:
    made = await at_once([batches.try_to_make(3, key="wages-46") for _ in range(20)])

    assert len({each.batch.id for each in made}) == 1
    assert [each.is_replay for each in made].count(False) == 1
    assert await database_facts.count(batches.database, "batch_items") == 3


async def test_a_key_belongs_to_its_merchant(batches: BatchSteps) -> None:
    other = BatchSteps(batches.service, (await make_merchant(batches.database)).id)
    mine, theirs = await batches.make(3, key="wages"), await other.make(3, key="wages")
    assert mine.id != theirs.id
    keys = {
        line.item.network_key for each in ((batches, mine), (other, theirs)) for line in await each[0].lines(each[1])
    }
    assert len(keys) == 6


async def test_a_request_that_the_database_has_lost_gets_the_same_network_keys_in_any_order(
    batches: BatchSteps,
) -> None:
    """As after a restore: the network knows the keys, and refuses to pay them twice."""
    wanted = [*items(3), *items(1)]
    first = await batches.make(wanted, key="wages-46")
    before = {(line.item.phone, line.item.network_key) for line in await batches.lines(first)}
    assert len(before) == 4, "of two items that are alike each has a key of its own"
    async with batches.database.begin() as tx:
        await tx.execute("DELETE FROM batch_items")
        await tx.execute("DELETE FROM batches")

    again = await batches.make(list(reversed(wanted)), key="wages-46")

    assert {(line.item.phone, line.item.network_key) for line in await batches.lines(again)} == before


async def test_without_a_key_every_batch_has_its_own_network_keys(batches: BatchSteps) -> None:
    made = [await batches.make(2), await batches.make(2)]
    assert len({line.item.network_key for each in made for line in await batches.lines(each)}) == 4


async def test_a_line_that_may_be_paid_twice_is_a_warning_and_no_refusal(batches: BatchSteps) -> None:
    payments = PaymentSteps(batches.service, batches.merchant_id)
    paid = await payments.open(Type.DISBURSEMENT, 7000)
    long_ago = await _payout_of(batches, 8000, days_ago=31)
    waiting = await batches.make([{"amount": 9000, "channel": "MPESA", "recipientPhone": "+255754000002"}])

    batch = await batches.make(
        [
            {"amount": 7000, "channel": "MPESA", "recipientPhone": paid.phone},
            {"amount": 8000, "channel": "MPESA", "recipientPhone": long_ago.phone},
            {"amount": 9000, "channel": "MPESA", "recipientPhone": "+255754000002"},
            {"amount": 9000, "channel": "TIGO_PESA", "recipientPhone": "+255754000002"},
        ]
    )

    assert [(each.index, each.code, each.other) for each in batch.warnings] == [
        (0, PAID, paid.id),
        (2, AWAITING, waiting.id),
        (3, REPEATED, "2"),
        (3, AWAITING, waiting.id),
    ]
    assert (await batches.look(batch)).batch == batch, "and they are kept with it"


async def test_a_payout_that_was_cancelled_or_of_another_merchant_is_no_warning(batches: BatchSteps) -> None:
    other = BatchSteps(batches.service, (await make_merchant(batches.database, wallet=1_000_000)).id)
    await other.running(3)
    await batches.cancel(await batches.make(3))
    await batches.cancel(await batches.running(3))

    assert (await batches.make(3)).warnings == ()
