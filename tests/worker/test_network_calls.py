"""A call without an answer says nothing of its payment, and an answer is kept until it is written. And which replies may
wait to be written with others: only those whose loss costs a query, and no payout."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from malipo import clock
from malipo.errors import Unavailable
from malipo.networks.connector import Answer, PaymentInstruction, Resubmit, Type, Verdict
from malipo.payments.apply_network_answers import AnswerToApply
from malipo.payments.dispatch import AnswerSource
from malipo.worker import network_calls
from malipo.worker.network_calls import NetworkCalls, may_be_written_later
from tests.payments.test_transaction import a_transaction

WAITING = Answer(verdict=Verdict.WAITING)


@pytest.mark.parametrize(
    ("type_", "source", "answer", "expected"),
    [
        (Type.COLLECTION, AnswerSource.SEND, WAITING, True),
        # Whether its network has acknowledged a payout decides whether it may be sent again.
        (Type.DISBURSEMENT, AnswerSource.SEND, WAITING, False),
        (Type.COLLECTION, AnswerSource.QUERY, WAITING, False),
        # The query needs the id.
        (Type.COLLECTION, AnswerSource.SEND, Answer(verdict=Verdict.WAITING, network_id="7"), False),
        *(
            (Type.COLLECTION, AnswerSource.SEND, Answer(verdict=verdict), False)
            for verdict in Verdict
            if verdict is not Verdict.WAITING
        ),
    ],
)
def test_only_the_reply_that_a_customer_is_being_asked_may_wait(
    type_: Type, source: AnswerSource, answer: Answer, expected: bool
) -> None:
    transaction = a_transaction(type_)
    assert may_be_written_later(transaction, source, answer, can_query=True) is expected
    assert not may_be_written_later(transaction, source, answer, can_query=False)


async def _never(_: PaymentInstruction) -> Answer:
    silence: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    return await silence


async def _broken(_: PaymentInstruction) -> Answer:
    raise RuntimeError("a bug of the connector")


@pytest.mark.parametrize(("call", "code"), [(_never, "lost"), (_broken, "broken")])
async def test_of_a_payment_whose_call_was_not_answered_the_outcome_is_unknown(call: Any, code: str) -> None:
    noted: list[Answer] = []
    calls: Any = SimpleNamespace(
        connector=SimpleNamespace(name="mpesa"),
        circuit=SimpleNamespace(note=noted.append),
        _call_seconds=0,
        _metrics=SimpleNamespace(count_call=lambda *_: None),
    )
    answer = await NetworkCalls.call(calls, AnswerSource.SEND, call, a_transaction(Type.DISBURSEMENT))
    assert (answer.verdict, answer.code, answer.is_fault) == (Verdict.UNKNOWN, code, True)
    assert noted == [answer], "its network may be in trouble"


async def test_an_answer_is_reported_until_the_database_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its network says it once."""
    monkeypatch.setattr(network_calls, "_AGAIN_SECONDS", 0)
    tried: list[AnswerToApply] = []

    async def apply_answer(report: AnswerToApply) -> None:
        tried.append(report)
        if len(tried) < 3:
            raise Unavailable

    calls: Any = SimpleNamespace(
        connector=SimpleNamespace(name="mpesa", can_query=lambda _: True, resubmit=lambda _: Resubmit.UNSAFE),
        at_point=lambda _: None,
        _networks=SimpleNamespace(routes={}, connectors={}),
        _network_work=SimpleNamespace(apply_answer=apply_answer),
        _clock=clock.now,
        _is_ending=False,
    )
    payment = a_transaction(Type.DISBURSEMENT)
    await NetworkCalls.report(calls, payment, AnswerSource.SEND, Answer(verdict=Verdict.REFUSED))
    assert tried == [tried[0]] * 3
    assert tried[0].received.answer.verdict is Verdict.REFUSED
