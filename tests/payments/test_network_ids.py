"""The network's own id of a payout, where a query needs it: kept from the reply for ever, and never from an untrusted
callback."""

import asyncio

from malipo.networks.connector import Type, Verdict
from malipo.payments import payment_json
from malipo.payments.dispatch import AnswerSource
from malipo.payments.store import claims, transactions
from malipo.payments.transaction import Status, Transaction
from tests.payments.payment_steps import ROUTE, PaymentSteps, a_report
from tests.payments.payment_steps import steps as steps

THEIRS = "019dcfc8dbe170ed92cef555a4cf6f14"


async def _kept(steps: PaymentSteps, transaction: Transaction) -> str | None:
    async with steps.database.read() as connection:
        found = await transactions.get(connection, transaction.merchant_id, transaction.id)
    assert found is not None
    return found.network_id


async def test_the_query_gets_the_id_that_the_reply_gave(steps: PaymentSteps) -> None:
    sent = await steps.send(Type.DISBURSEMENT)
    settled = await steps.report(sent, Verdict.WAITING, AnswerSource.SEND, network_id=THEIRS)
    assert settled.transaction.network_id == THEIRS
    await steps.make_due(sent)
    async with steps.database.begin() as tx:
        [due] = await claims.claim_queries(tx, ROUTE, lease_seconds=60, most=10)
    assert (due.transaction.id, due.transaction.network_id) == (sent.id, THEIRS)


async def test_an_answer_that_is_stored_twice_keeps_it_once(steps: PaymentSteps) -> None:
    """The COMMIT of the first try was not confirmed to us."""
    sent = await steps.send(Type.DISBURSEMENT)
    report = a_report(sent, Verdict.WAITING, AnswerSource.SEND, network_id=THEIRS)
    for _ in range(2):
        await steps.service.network_work.apply_answer(report)
    assert await _kept(steps, sent) == THEIRS


async def test_the_first_id_stays_whichever_comes_later(steps: PaymentSteps) -> None:
    sent = await steps.send(Type.DISBURSEMENT)
    await steps.report(sent, Verdict.WAITING, AnswerSource.SEND, network_id=THEIRS)
    await steps.report(sent, Verdict.WAITING, network_id="another")
    await steps.report(sent, Verdict.WAITING)
    assert await _kept(steps, sent) == THEIRS


async def test_of_two_that_come_at_once_one_is_kept(steps: PaymentSteps) -> None:
    sent = await steps.send(Type.DISBURSEMENT)
    reports = [a_report(sent, Verdict.WAITING, AnswerSource.SEND, network_id=each) for each in ("one", "two")]
    await asyncio.gather(*map(steps.service.network_work.apply_answer, reports))
    assert await _kept(steps, sent) in ("one", "two")


async def test_an_unsigned_callback_cannot_name_another_payout_in_place_of_this_one(steps: PaymentSteps) -> None:
    """Else whoever can send one would have this payout end as that one did."""
    sent = await steps.send(Type.DISBURSEMENT)
    await steps.report(sent, Verdict.CONFIRMED, AnswerSource.CALLBACK, is_trusted=False, network_id="a-paid-ones")
    assert await _kept(steps, sent) is None
    assert await steps.status(sent) is Status.PROCESSING
    await steps.report(sent, Verdict.WAITING, AnswerSource.SEND, network_id=THEIRS)
    assert await _kept(steps, sent) == THEIRS


async def test_the_networks_id_is_kept_when_an_ended_payout_is_queried_again(steps: PaymentSteps) -> None:
    sent = await steps.send(Type.DISBURSEMENT)
    await steps.report(sent, Verdict.WAITING, AnswerSource.SEND, network_id=THEIRS)
    ended = (await steps.report(sent, Verdict.REFUSED)).transaction
    assert (ended.status, ended.network_id) == (Status.FAILED, THEIRS)
    await steps.make_due(sent)
    async with steps.database.begin() as tx:
        [due] = await claims.claim_follow_ups(tx, ROUTE, lease_seconds=60, most=10)
    assert due.transaction.network_id == THEIRS


async def test_an_answer_that_ends_the_payout_keeps_it_too(steps: PaymentSteps) -> None:
    sent = await steps.send(Type.DISBURSEMENT)
    ended = (await steps.report(sent, Verdict.CONFIRMED, AnswerSource.SEND, network_id=THEIRS)).transaction
    assert (ended.status, await _kept(steps, sent)) == (Status.COMPLETED, THEIRS)
    # It is for the query and for operators: the merchant's reference at the network is the receipt.
    assert THEIRS not in str(payment_json.in_event(ended))
