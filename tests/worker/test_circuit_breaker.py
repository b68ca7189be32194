"""When a network is left alone: after five answers in a row that say that it, or our account there, is in trouble."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from malipo.app.assemble import Service
from malipo.networks import circuit_store
from malipo.networks.connector import Answer, FailureCode, Verdict
from malipo.networks.http.client import HttpClient
from malipo.worker.circuit_breaker import CircuitBreaker, OpenCircuits
from malipo.worker.loop_health import LoopHealth
from tests.db.recorded_commits import until
from tests.journeys.full_stack import until as until_stored
from tests.networks.payment_calls import connect_mpesa

FAULT = Answer(verdict=Verdict.UNKNOWN, code="lost", is_fault=True)
REFUSES_US = Answer(verdict=Verdict.REFUSED, code="INS-13", failure_code=FailureCode.REJECTED, refuses_us=True)
DECLINED = Answer(verdict=Verdict.REFUSED, code="INS-5", failure_code=FailureCode.DECLINED)
PAID = Answer(verdict=Verdict.CONFIRMED, code="INS-0")


@pytest.fixture
async def circuit(service: Service) -> AsyncIterator[CircuitBreaker]:
    async with HttpClient.opened() as http_client:
        yield CircuitBreaker(
            connect_mpesa(9, http_client),
            OpenCircuits(service.queries),
            service.queries,
            service.metrics,
            service.clock,
        )


@pytest.mark.parametrize("trouble", [FAULT, REFUSES_US], ids=["faults", "a password that has expired"])
async def test_five_in_a_row_are_a_network_in_trouble_and_four_are_not(
    circuit: CircuitBreaker, trouble: Answer
) -> None:
    for _ in range(4):
        circuit.note(trouble)
    assert not circuit.is_open
    circuit.note(trouble)
    assert circuit.is_open


@pytest.mark.parametrize("between", [PAID, DECLINED], ids=["paid", "declined by a customer"])
async def test_an_answer_about_one_customer_begins_the_count_anew(circuit: CircuitBreaker, between: Answer) -> None:
    for answer in [FAULT] * 4 + [between] + [FAULT] * 4:
        circuit.note(answer)
    assert not circuit.is_open


async def test_customers_who_decline_are_no_trouble_however_many_they_are(circuit: CircuitBreaker) -> None:
    for _ in range(20):
        circuit.note(DECLINED)
    assert not circuit.is_open


async def down(service: Service) -> list[str]:
    async with service.queries.database.read() as connection:
        return [*await circuit_store.find_down(connection)]


async def is_down(service: Service) -> bool:
    return await down(service) == ["mpesa"]


async def test_a_circuit_is_stored_when_it_opens_and_closes_when_its_row_is_gone_without_a_look_a_second(
    circuit: CircuitBreaker, service: Service
) -> None:
    began = asyncio.get_running_loop().time()
    running = asyncio.ensure_future(circuit.run(LoopHealth()))
    try:
        await asyncio.sleep(0.1)  # Its first look is over.
        for _ in range(5):
            circuit.note(FAULT)
        await until_stored(lambda: is_down(service), what="the row")
        async with service.queries.database.begin() as tx:
            await circuit_store.close_circuit(tx, "mpesa")
        await asyncio.sleep(0.6)  # What one look has read is good for half a second.
        circuit.wake([])
        await until(lambda: not circuit.is_open)
        assert asyncio.get_running_loop().time() - began < 10, "its own looks are 15 seconds apart"
    finally:
        running.cancel()


async def test_a_circuit_that_another_worker_has_opened_is_seen_after_its_notification(
    circuit: CircuitBreaker, service: Service
) -> None:
    running = asyncio.ensure_future(circuit.run(LoopHealth()))
    try:
        await asyncio.sleep(0.1)
        async with service.queries.database.begin() as tx:
            await circuit_store.open_circuit(tx, "mpesa", "lost", probe_seconds=60, now=service.clock())
        await asyncio.sleep(0.6)
        circuit.wake(["airtel_money"])
        await asyncio.sleep(0.1)
        assert not circuit.is_open
        circuit.wake(await down(service))
        await until(lambda: circuit.is_open)
    finally:
        running.cancel()
