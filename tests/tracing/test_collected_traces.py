"""What a collector gets of running processes, and that one which hangs or is away costs no payment."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from malipo import clock
from malipo.encryption import Encryption
from malipo.outbox.event import Event
from malipo.tracing.payment_trace import ids_of, trace_id_of
from malipo.webhooks import manage_endpoints
from tests.conftest import COLLECTION, NO_LIMITS, NOBODY, SECRET_KEY, Client, Merchant, Running, free_port, until_ready
from tests.journeys.full_stack import FullStack, full_stack_started, until
from tests.journeys.webhook_receivers import a_receiver
from tests.tracing.collectors import attributes_of, collector, hanging_collector

SOON = {"OTEL_BSP_SCHEDULE_DELAY": "100"}
PHONE = "+255754000001"


async def _register(full_stack: FullStack, url: str) -> str:
    async with full_stack.database.begin() as tx:
        endpoint, _ = await manage_endpoints.register(
            tx,
            full_stack.merchant.id,
            url=url,
            events=[Event.PAYMENT_COMPLETED],
            encryption=Encryption(SECRET_KEY),
            actor=NOBODY,
            now=clock.now(),
        )
    return endpoint.id


async def test_the_trace_of_a_payment_has_its_request_commit_network_call_callback_and_delivery(
    tmp_path: Path, database_url: str
) -> None:
    async with collector() as collected, a_receiver() as receiver:
        settings: dict[str, Any] = SOON | {"traces": "true", "webhook_allow_private": "true", "log_level": "debug"}
        settings["OTEL_EXPORTER_OTLP_ENDPOINT"] = collected.url
        async with full_stack_started(tmp_path, database_url, **settings) as full_stack:
            endpoint_id = await _register(full_stack, receiver.url("/"))
            worker = full_stack.start("worker")
            id_ = await full_stack.take("MPESA", "COLLECTION", PHONE)
            trace_id, (_, first_id) = trace_id_of(id_), ids_of(id_)
            wanted = {
                "POST /v1/payments",
                "commit initiate",
                "send mpesa",
                "callback mpesa",
                "deliver payment.completed",
            }

            async def is_whole() -> bool:
                return wanted <= collected.of_trace(trace_id).keys()

            await until(is_whole, what=f"a trace of {sorted(wanted)}")
        found = collected.of_trace(trace_id)
        request, commit = found["POST /v1/payments"], found["commit initiate"]
        send, delivery = found["send mpesa"], found["deliver payment.completed"]
        assert (request[0], commit[0], send[0], delivery[0]) == ("api", "api", "worker", "worker")
        assert request[1].span_id == first_id.to_bytes(8)
        assert {each.parent_span_id for _, each in (commit, send, delivery)} == {request[1].span_id}
        assert request[1].span_id in [each.span_id for each in commit[1].links]
        assert commit[1].span_id in [each.span_id for each in request[1].links]
        assert attributes_of(send[1]) == {
            "malipo.connector": "mpesa",
            "malipo.channel": "MPESA",
            "malipo.type": "COLLECTION",
            "malipo.act": "send",
            "malipo.transaction.id": id_,
            "malipo.verdict": "waiting",
            "malipo.code": attributes_of(send[1])["malipo.code"],
        }
        said = attributes_of(delivery[1])
        assert said["malipo.endpoint.id"] == endpoint_id
        assert (said["malipo.attempt.number"], said["http.response.status_code"]) == (1, 200)
        assert {name for got in receiver.got for name in got.headers} & {"traceparent", "tracestate"} == set()
        assert PHONE[4:] not in str(collected.spans)
        _assert_the_log_follows(id_, trace_id, tmp_path, worker)


def _assert_the_log_follows(id_: str, trace_id: str, folder: Path, worker: Running) -> None:
    """Each line about the payment has its id and its trace; in the API also the request."""
    lines = [
        (json.loads(line), log == worker.log)
        for log in folder.glob("malipo-*.log")
        for line in log.read_text().splitlines()
        if id_ in line
    ]
    assert {line["event"] for line, _ in lines} >= {
        "request",
        "network.answered",
        "payment.settled",
        "webhook.attempted",
    }
    assert {(line["transaction"], "trace_id" in line) for line, _ in lines} == {(id_, True)}
    assert all("request" in line for line, is_worker in lines if not is_worker)
    (created,) = (line for line, _ in lines if line.get("route") == "/v1/payments")
    assert created["trace_id"] == trace_id


@pytest.mark.parametrize("is_there", [True, False])
async def test_a_collector_that_hangs_or_is_away_costs_no_payment_and_no_stop(
    start: Callable[..., Running], database_url: str, merchant: Merchant, is_there: bool
) -> None:
    async with hanging_collector() as (url, has_come), aiohttp.ClientSession() as http:
        address = url if is_there else f"http://127.0.0.1:{free_port()}"
        otel = SOON | {
            "OTEL_EXPORTER_OTLP_ENDPOINT": address,
            "OTEL_BSP_MAX_QUEUE_SIZE": "16",
            "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "8",
            # Longer than the test: whoever waited for it would be found out.
            "OTEL_EXPORTER_OTLP_TIMEOUT": "300",
        }
        running = await until_ready(start("api", database_url=database_url, traces="true", **NO_LIMITS, **otel))
        client = Client(http, running.url, merchant.key)
        async with asyncio.timeout(240):
            for _ in range(5):  # Many more than the queue holds.
                answers = await asyncio.gather(*(client("POST", "/v1/payments", COLLECTION) for _ in range(20)))
                assert {each.status for each in answers} == {201}
            if is_there:
                await has_come.wait()
        assert await asyncio.to_thread(running.stop) == 0
