"""After a restore each connector that may have sent a payout is asked: the routing may have been changed meanwhile."""

import pytest
from msgspec.structs import replace

from malipo.networks.connector import Resubmit, Verdict
from malipo.payments.dispatch import NextAction, ReviewReason
from malipo.payments.transaction import Status, Transaction, Type
from tests.payments.payment_steps import PAIRS, PaymentSteps, a_report
from tests.restore.operators import ASHA, ask_first, fence, let_go
from tests.restore.operators import steps as steps

OLD, NEW = "mpesa", "clickpesa"
BOTH = frozenset({OLD, NEW})
A_DAY = 86_400.0


async def _moved(steps: PaymentSteps, *, days: float = 0) -> Transaction:
    """M-Pesa's payouts went directly, so many days ago. Then the database was restored; now an aggregator has them."""
    await steps.ended(Type.DISBURSEMENT, Status.COMPLETED)
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE carriers SET last_at = last_at - $1 * interval '1 day' - interval '1 hour'", days)
        await tx.execute(
            "INSERT INTO carriers VALUES ('TIGO_PESA', 'COLLECTION', 'tigo_pesa', now() - interval '1 hour')"
        )
    payout = await steps.open(Type.DISBURSEMENT)
    await fence(steps)
    assert await let_go(steps, ASHA, is_single_operator=True)
    await steps.wait(payout, seconds=A_DAY)
    return payout


async def _answers(
    steps: PaymentSteps, payout: Transaction, connector: str, verdict: Verdict, connected: frozenset[str] = BOTH
) -> None:
    report = a_report(payout, verdict)
    received = replace(
        report.received,
        connector=connector,
        routed_to=NEW,
        connected=connected,
        resubmit=Resubmit.DUPLICATES_REFUSED,
    )
    await steps.service.network_work.apply_answer(replace(report, received=received))


async def _asked(steps: PaymentSteps, connector: str) -> list[str]:
    return [each.id for each in await ask_first(steps, connector, PAIRS if connector == NEW else ())]


async def _is_held(steps: PaymentSteps, payout: Transaction) -> bool:
    assert (await steps.claim(connector=NEW)).to_send == []
    dispatch = await steps.dispatch(payout)
    assert dispatch is not None
    return dispatch.is_asked_first and dispatch.review_reason is ReviewReason.RESTORED


@pytest.mark.parametrize("first", [NEW, OLD])
async def test_a_payout_that_no_connector_has_is_held_when_each_was_asked(steps: PaymentSteps, first: str) -> None:
    payout = await _moved(steps)
    for connector in (first, *(BOTH - {first})):
        assert await _asked(steps, connector) == [payout.id]
        await _answers(steps, payout, connector, Verdict.MISSING)
        await steps.make_due(payout)
        assert await _asked(steps, connector) == [], "it has answered"
        assert await _is_held(steps, payout)


async def test_a_payout_that_the_former_carrier_has_is_its_own_to_end(steps: PaymentSteps) -> None:
    payout = await _moved(steps)
    await _answers(steps, payout, NEW, Verdict.MISSING)
    assert await _asked(steps, OLD) == [payout.id]

    await _answers(steps, payout, OLD, Verdict.CONFIRMED)

    dispatch = await steps.dispatch(payout)
    assert dispatch is not None
    assert (dispatch.connector, dispatch.next_action, dispatch.review_reason) == (OLD, NextAction.QUERY, None)
    assert (await steps.claim(connector=NEW)).to_send == []


async def test_a_payout_whose_former_carrier_is_not_connected_any_more_is_held(steps: PaymentSteps) -> None:
    payout = await _moved(steps)
    await _answers(steps, payout, NEW, Verdict.MISSING, frozenset({NEW}))
    assert await _is_held(steps, payout)
    assert await steps.due_in_seconds(payout) > A_DAY / 2


async def test_a_connector_that_had_no_payment_for_days_before_the_restore_is_not_asked(steps: PaymentSteps) -> None:
    payout = await _moved(steps, days=3)
    assert await _asked(steps, OLD) == []
    await _answers(steps, payout, NEW, Verdict.MISSING)
    assert [each.id for each in (await steps.claim(connector=NEW)).to_send] == [payout.id]


async def test_operators_release_what_is_held(steps: PaymentSteps) -> None:
    payout = await _moved(steps)
    await _answers(steps, payout, NEW, Verdict.MISSING)
    assert await let_go(steps, ASHA, scope=("MPESA", "DISBURSEMENT"), is_single_operator=True)
    assert [each.id for each in (await steps.claim(connector=NEW)).to_send] == [payout.id]


async def test_a_second_restore_asks_all_of_them_again(steps: PaymentSteps) -> None:
    payout = await _moved(steps)
    await _answers(steps, payout, NEW, Verdict.MISSING)
    async with steps.database.begin() as tx:
        epoch = await tx.fetchval("SELECT epoch FROM installation")
    await steps.service.fence("Restored once more.", epoch=epoch)
    assert await _asked(steps, NEW) == [payout.id]


async def test_a_collection_is_sent_when_each_that_can_be_asked_does_not_have_it(steps: PaymentSteps) -> None:
    """Its customer must approve it."""
    await steps.ended(Type.COLLECTION, Status.COMPLETED)
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE carriers SET last_at = last_at - interval '1 hour'")
    collection = await steps.open(Type.COLLECTION)
    await fence(steps)
    assert await let_go(steps, ASHA, is_single_operator=True)
    await steps.wait(collection, seconds=300)
    for connector in (NEW, OLD):
        assert (await steps.claim(connector=NEW)).to_send == []
        await _answers(steps, collection, connector, Verdict.MISSING)
    assert [each.id for each in (await steps.claim(connector=NEW)).to_send] == [collection.id]
