"""Which payment an answer is about: one, locked while the answer is taken in; a callback about none is kept for operators."""

import pytest
from msgspec.structs import replace

from malipo.db.errors import Contention
from malipo.networks.connector import Channel, Verdict
from malipo.payments.dispatch import AnswerSource
from malipo.payments.store import dispatches, unknown_callbacks
from malipo.payments.transaction import Status, Type
from tests.payments.payment_steps import PaymentSteps, a_report
from tests.payments.payment_steps import steps as steps


async def _unknown(steps: PaymentSteps) -> list[tuple[str, str, int | None]]:
    async with steps.database.read() as connection:
        found = await unknown_callbacks.find_unknown_callbacks(connection, most=10)
    return [(each.network_key, each.verdict, each.amount) for each in found]


@pytest.mark.parametrize(
    ("source", "is_kept"), [(AnswerSource.CALLBACK, True), (AnswerSource.QUERY, False), (AnswerSource.SEND, False)]
)
async def test_a_callback_about_a_payment_that_we_do_not_have_is_kept(
    steps: PaymentSteps, source: AnswerSource, is_kept: bool
) -> None:
    payment = await steps.processing(Type.COLLECTION)
    report = a_report(payment, Verdict.CONFIRMED, source, amount=700)
    assert await steps.service.network_work.apply_answer(replace(report, key="nobodys")) is None
    assert await _unknown(steps) == ([("nobodys", "confirmed", 700)] if is_kept else [])
    assert await steps.status(payment) is Status.PROCESSING


async def test_an_answer_that_may_be_about_two_payments_ends_neither(steps: PaymentSteps) -> None:
    one, other = await steps.processing(Type.COLLECTION), await steps.processing(Type.COLLECTION)
    async with steps.database.begin() as tx:
        sql = "UPDATE transactions SET channel = $3, network_key = $4 WHERE merchant_id = $1 AND id = $2"
        await tx.execute(sql, other.merchant_id, other.id, Channel.AIRTEL_MONEY, one.network_key)
    report = a_report(one, Verdict.CONFIRMED, AnswerSource.CALLBACK)
    both = [Channel.MPESA, Channel.AIRTEL_MONEY]
    assert await steps.service.network_work.apply_answer(replace(report, channels=both)) is None
    assert [await steps.status(each) for each in (one, other)] == [Status.PROCESSING] * 2
    assert await _unknown(steps) == [(one.network_key, "confirmed", None)]


async def test_a_payment_is_locked_while_an_answer_about_it_is_taken_in(steps: PaymentSteps) -> None:
    payment = await steps.processing(Type.COLLECTION)
    lock = "SELECT FROM transactions WHERE merchant_id = $1 AND id = $2 FOR UPDATE NOWAIT"
    async with steps.database.begin() as tx:
        await dispatches.lock(tx, [(payment.channel, payment.network_key)])
        with pytest.raises(Contention):
            async with steps.database.begin() as other:
                await other.execute(lock, payment.merchant_id, payment.id)
