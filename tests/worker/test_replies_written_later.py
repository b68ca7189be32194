"""A reply that ends nothing waits to be written with others: for a moment, in no call's place, and not past the end."""

from collections.abc import AsyncIterator

import pytest

from malipo.app.assemble import Service
from malipo.networks.connector import Answer, FailureCode, Verdict
from malipo.networks.http.client import HttpClient
from malipo.payments.dispatch import AnswerSource
from malipo.payments.transaction import Status, Transaction, Type
from malipo.worker.circuit_breaker import CircuitBreaker, OpenCircuits
from malipo.worker.network_calls import NetworkCalls
from tests.db.recorded_commits import until
from tests.networks.payment_calls import connect_mpesa
from tests.payments.payment_steps import PaymentSteps
from tests.payments.payment_steps import steps as steps

WAITING = Answer(verdict=Verdict.WAITING, code="0")


@pytest.fixture
async def calls(service: Service) -> AsyncIterator[NetworkCalls]:
    async with HttpClient.opened() as http_client:
        connector = connect_mpesa(9, http_client)
        circuit = CircuitBreaker(
            connector, OpenCircuits(service.queries), service.queries, service.metrics, service.clock
        )
        yield NetworkCalls(
            connector,
            circuit,
            service.networks,
            service.network_work,
            service.metrics,
            service.clock,
            lease_seconds=60,
            at_point=lambda _: None,
        )


class Reply:
    """The reply to a collection, on its way into the database."""

    def __init__(self, calls: NetworkCalls, sent: Transaction) -> None:
        self.is_written = False
        self._calls = calls
        calls.spawn(self._report(sent), sent)

    async def _report(self, sent: Transaction) -> None:
        await self._calls.report(sent, AnswerSource.SEND, WAITING)
        self.is_written = True


async def test_a_reply_that_waits_keeps_no_call_from_its_place_and_is_written_soon(
    calls: NetworkCalls, steps: PaymentSteps
) -> None:
    most = calls.free
    reply = Reply(calls, await steps.send(Type.COLLECTION))
    assert calls.free == most - 1
    await until(lambda: calls.free == most)
    assert not reply.is_written

    await until(lambda: reply.is_written)
    assert calls.free == most


async def test_replies_that_wait_are_written_before_a_worker_ends(calls: NetworkCalls, steps: PaymentSteps) -> None:
    most, sent = calls.free, await steps.send(Type.COLLECTION)
    reply = Reply(calls, sent)
    await until(lambda: calls.free == most)

    await calls.finish(seconds=30)

    assert reply.is_written
    dispatch = await steps.dispatch(sent)
    assert dispatch is not None
    assert dispatch.is_acknowledged


async def test_a_reply_that_waits_while_the_customer_declines_has_nobody_asked(
    calls: NetworkCalls, steps: PaymentSteps
) -> None:
    most, sent = calls.free, await steps.send(Type.COLLECTION)
    reply = Reply(calls, sent)
    await until(lambda: calls.free == most)
    await steps.report(sent, Verdict.REFUSED, AnswerSource.CALLBACK, failure_code=FailureCode.DECLINED)

    await calls.finish(seconds=30)

    assert reply.is_written
    assert await steps.status(sent) is Status.FAILED
    assert await steps.dispatch(sent) is None, "a reply that was written at once would have been overtaken, too"
