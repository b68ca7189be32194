"""When a network is left alone: after five answers in a row that say that it, or our account there, is in trouble."""

from collections.abc import AsyncIterator

import pytest

from malipo.app.assemble import Service
from malipo.networks.connector import Answer, FailureCode, Verdict
from malipo.networks.http.client import HttpClient
from malipo.worker.circuit_breaker import CircuitBreaker, OpenCircuits
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
