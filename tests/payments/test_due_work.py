"""Due work: once a second each worker finds it, and wakes the loops that do it."""

from malipo.networks.connector import Verdict
from malipo.payments.dispatch import AnswerSource
from malipo.payments.store import claims
from malipo.payments.store.claims import Due
from malipo.payments.transaction import Type
from malipo.worker.due_work import resend_topic
from tests.payments.payment_steps import PAIRS, PaymentSteps
from tests.payments.payment_steps import steps as steps

CONNECTORS = ("airtel_money", "mpesa")
NOTHING = Due([], [], [])


async def due(steps: PaymentSteps, *, late: dict[str, float] | None = None) -> Due:
    """`late` says by channel and connector what is another worker's, unless it has waited so long."""
    seconds = late or {}
    async with steps.database.read() as connection:
        return await claims.find_due(
            connection,
            {each: seconds.get(each[0], 0.0) for each in PAIRS},
            {each: seconds.get(each, 0.0) for each in CONNECTORS},
        )


async def test_each_kind_of_due_work_is_found_for_its_network(steps: PaymentSteps) -> None:
    assert await due(steps) == NOTHING

    await steps.open(Type.COLLECTION)
    assert await due(steps) == Due(["MPESA"], [], [])

    [taken] = (await steps.claim()).to_send
    assert await due(steps) == NOTHING, "its lease has not ended"
    await steps.make_due(taken)
    assert await due(steps) == Due([], [], ["mpesa"]), "the worker has died: it is queried"

    await steps.report(taken, Verdict.UNSENT, AnswerSource.SEND)
    assert await due(steps) == NOTHING
    await steps.make_due(taken)
    assert await due(steps) == Due([], ["mpesa"], []), "nothing has left: it is sent again"

    [taken] = (await steps.claim()).to_send
    await steps.report(taken, Verdict.WAITING, AnswerSource.SEND)
    await steps.make_due(taken)
    assert await due(steps) == Due([], [], ["mpesa"])


async def test_an_ended_payment_that_may_still_be_paid_is_queried(steps: PaymentSteps) -> None:
    failed = await steps.send(Type.DISBURSEMENT)
    await steps.report(failed, Verdict.REFUSED, AnswerSource.SEND)
    assert await due(steps) == NOTHING
    await steps.make_due(failed)
    assert await due(steps) == Due([], [], ["mpesa"])


async def test_payouts_that_are_queried_before_sending_are_due_at_every_network(steps: PaymentSteps) -> None:
    opened = await steps.open(Type.DISBURSEMENT)
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE dispatches SET is_asked_first = true WHERE transaction_id = $1", opened.id)
    assert (await due(steps)).to_query == ["airtel_money", "mpesa"]


async def test_work_of_another_first_worker_is_found_when_it_is_late(steps: PaymentSteps) -> None:
    others: dict[str, float] = {"MPESA": 60, "mpesa": 60}
    opened = await steps.open(Type.COLLECTION)
    assert await due(steps, late=others) == NOTHING
    await steps.wait(opened, seconds=59)
    assert await due(steps, late=others) == NOTHING
    await steps.wait(opened, seconds=1)
    assert await due(steps, late=others) == Due(["MPESA"], [], [])

    [taken] = (await steps.claim()).to_send
    await steps.make_due(taken)
    assert await due(steps, late=others) == NOTHING
    assert (await due(steps, late={"airtel_money": 60})).to_query == ["mpesa"], "that is another network's"
    await steps.wait(taken, seconds=60)
    assert await due(steps, late=others) == Due([], [], ["mpesa"])

    await steps.report(taken, Verdict.UNSENT, AnswerSource.SEND)
    await steps.make_due(taken)
    assert await due(steps, late=others) == NOTHING
    await steps.wait(taken, seconds=60)
    assert await due(steps, late=others) == Due([], ["mpesa"], [])


def test_a_payment_that_is_sent_again_wakes_the_sender_of_its_network_only() -> None:
    assert len({resend_topic(each) for each in CONNECTORS}) == len(CONNECTORS)
    assert not {resend_topic(each) for each in CONNECTORS} & set(CONNECTORS)
