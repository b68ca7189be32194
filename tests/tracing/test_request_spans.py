"""Spans of requests and commits: over real HTTP, in this process, with the real SDK."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from malipo.tracing.payment_trace import trace_id_of
from tests.conftest import COLLECTION, PAYOUT, Client, Merchant
from tests.journeys.full_stack import until
from tests.journeys.in_process_api import in_process_api
from tests.journeys.webhook_stack import WebhookStack, webhook_stack
from tests.tracing.collected_spans import attributes, collected_spans, id_of, linked, trace_of

CALLER = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"


@pytest.fixture
async def stack(database_url: str) -> AsyncIterator[WebhookStack]:
    async with webhook_stack(database_url) as stack:
        yield stack


@pytest.fixture
async def client(stack: WebhookStack, merchant: Merchant) -> AsyncIterator[Client]:
    async with in_process_api(stack) as api:
        yield api.client.as_(merchant.key)


async def _create(
    client: Client, headers: dict[str, str] | None = None, body: dict[str, Any] = COLLECTION
) -> dict[str, Any]:
    answer = await client("POST", "/v1/payments", body, headers=headers)
    assert answer.status == 201, answer.body
    return dict(answer.body["transaction"])


async def test_a_request_that_creates_a_payment_is_the_first_span_of_its_trace(client: Client) -> None:
    with collected_spans() as spans:
        made = await _create(client, {"X-Request-Id": "order-77"})
    request = spans.one("POST")
    assert (trace_of(request), request.parent) == (trace_id_of(made["id"]), None)
    assert request.name == "POST /v1/payments"
    assert attributes(request)["http.route"] == "/v1/payments"
    assert attributes(request)["http.response.status_code"] == 201
    assert attributes(request)["malipo.transaction.id"] == made["id"]
    assert attributes(request)["malipo.request.id"] == "order-77"


async def test_a_request_with_a_traceparent_is_in_its_callers_trace_and_linked_with_the_payments(
    client: Client,
) -> None:
    with collected_spans() as spans:
        made = await _create(client, {"traceparent": f"00-{CALLER}-{PARENT}-01"})
    request, first = spans.one("POST"), spans.one("payment")
    assert request.parent is not None
    assert (trace_of(request), f"{request.parent.span_id:016x}") == (CALLER, PARENT)
    assert trace_of(first) == trace_id_of(made["id"])
    assert id_of(first) in linked(request)
    assert id_of(request) in linked(first)


@pytest.mark.parametrize(
    "sent",
    [
        f"00-{'0' * 32}-{PARENT}-01",
        f"00-{CALLER}-{'0' * 16}-01",
        f"ff-{CALLER}-{PARENT}-01",
        f"00-{CALLER.upper()}-{PARENT}-01",
        f"00-{CALLER}-{PARENT}-01-more",
        f"00-{CALLER}-{PARENT}",
        "nonsense",
    ],
)
async def test_a_traceparent_that_is_not_valid_is_as_good_as_none(client: Client, sent: str) -> None:
    with collected_spans() as spans:
        made = await _create(client, {"traceparent": sent})
    assert trace_of(spans.one("POST")) == trace_id_of(made["id"])


async def test_a_caller_whose_trace_is_not_kept_is_not_kept_here(client: Client) -> None:
    with collected_spans() as spans:
        await _create(client, {"traceparent": f"00-{CALLER}-{PARENT}-00"})
    assert [each.name for each in spans()] == ["payment"]


async def _is_waiting(stack: WebhookStack) -> bool:
    return bool(await stack.rows("SELECT FROM pg_locks WHERE NOT granted AND relation = 'transactions'::regclass"))


async def _are_queued(stack: WebhookStack, number: int) -> bool:
    return stack.service.payments._initiate.depth == number


async def test_a_commit_is_linked_with_every_request_that_shares_it_and_they_with_it(
    stack: WebhookStack, client: Client
) -> None:
    with collected_spans() as spans:
        # While this lock is held the first commit waits; meanwhile others come, and share the second.
        async with stack.database.begin() as tx:
            await tx.execute("LOCK TABLE transactions IN ACCESS EXCLUSIVE MODE")
            asked = [asyncio.ensure_future(_create(client))]
            await until(lambda: _is_waiting(stack), pause=0.01, what="the first commit")
            asked += [asyncio.ensure_future(_create(client)) for _ in range(5)]
            await until(lambda: _are_queued(stack, 5), pause=0.01, what="the queue for the second commit")
        made = await asyncio.gather(*asked)
    requests = {id_of(each): each for each in spans("POST")}
    first, second = sorted(spans("commit initiate"), key=lambda each: len(each.links))
    assert (len(linked(first)), len(linked(second))) == (1, 5)
    assert linked(first) | linked(second) == set(requests)
    assert attributes(second)["malipo.callers"] == 5
    assert all(id_of(second) in linked(requests[each]) for each in linked(second))
    assert {trace_of(each) for each in requests.values()} == {trace_id_of(each["id"]) for each in made}


async def test_of_traces_that_are_not_kept_nothing_is_sent(client: Client) -> None:
    with collected_spans(0.0) as spans:
        await _create(client)
        await client("GET", "/v1/payments")
    assert spans() == []


async def test_a_replay_is_linked_with_the_trace_of_the_payment_that_exists(client: Client) -> None:
    with collected_spans() as spans:
        made = await _create(client, {"Idempotency-Key": "one"})
        again = await _create(client, {"Idempotency-Key": "one"})
    assert made["id"] == again["id"]
    first, second = spans("POST")
    assert trace_of(second) != trace_of(first)
    assert id_of(first) in linked(second)
    assert attributes(second)["malipo.transaction.id"] == made["id"]


async def test_no_span_has_a_number_a_name_a_key_an_amount_or_a_path(client: Client) -> None:
    with collected_spans() as spans:
        await _create(client, body=COLLECTION | {"amount": 7_654_321, "description": "For Asha"})
        await client("POST", "/v1/payments/disburse", PAYOUT)
        await client("GET", "/v1/nowhere/asha@example.com?phone=%2B255754000001")
        await client("POST", "/callbacks/mpesa/a-secret-token", {})
    text = spans.text()
    assert len(spans("POST")) == 3
    assert client.key is not None
    for secret in (
        client.key,
        "754000001",
        "684000001",
        "Asha",
        "Juma",
        "asha@",
        "7654321",
        "nowhere",
        "a-secret-token",
    ):
        assert secret not in text


async def test_checks_of_health_have_no_span_and_what_fails_is_an_error(client: Client) -> None:
    with collected_spans() as spans:
        await client("GET", "/healthz")
        await client("GET", "/readyz")
        await client("GET", "/v1/payments/MLP-1")
    (missing,) = spans()
    assert attributes(missing)["http.response.status_code"] == 404
    assert missing.status.is_unset  # By HTTP's conventions a 4xx is no error of the server.


@pytest.mark.parametrize("sent", ["order-77", "A.b_c-9", "x" * 64, "7f3c2d1e-aaaa-4bbb-8ccc-0123456789ab"])
async def test_an_id_that_the_client_sends_is_the_id_of_the_request(client: Client, sent: str) -> None:
    answer = await client("GET", "/v1/payments", headers={"X-Request-Id": sent})
    assert answer.headers["X-Request-Id"] == sent


@pytest.mark.parametrize(
    "sent", ["", "x" * 65, "two words", 'a"b', "req_01m7f5pgj32r00k6agv0vfcxec", "jambo@example", "é"]
)
async def test_an_id_that_could_deceive_a_reader_of_the_log_is_replaced(client: Client, sent: str) -> None:
    answer = await client("GET", "/v1/payments", headers={"X-Request-Id": sent})
    given = answer.headers["X-Request-Id"]
    assert given != sent
    assert re.fullmatch("req_[0-9a-z]{26}", given)


async def test_ids_of_one_request_are_not_those_of_the_next_on_its_connection(client: Client) -> None:
    with collected_spans() as spans:
        first = await client(
            "GET", "/v1/payments", headers={"X-Request-Id": "one", "traceparent": f"00-{CALLER}-{PARENT}-01"}
        )
        second = await client("GET", "/v1/payments")
    assert first.headers["X-Request-Id"] == "one"
    assert second.headers["X-Request-Id"].startswith("req_")
    assert [trace_of(each) == CALLER for each in spans("GET")] == [True, False]
