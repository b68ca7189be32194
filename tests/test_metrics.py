"""Metrics: everything the dashboard asks for is there, and /metrics is not for strangers."""

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path

import aiohttp
import pytest

from malipo.app.assemble import Service
from malipo.metrics.process_metrics import Metrics
from malipo.restore.store import installation
from tests.conftest import COLLECTION, NO_LIMITS, Client, Merchant, Running, until_ready

DASHBOARD = Path(__file__).parent.parent / "deploy/grafana/malipo.json"
TOKEN = "a-token-of-sixteen-or-more"


@pytest.fixture
async def running(start: Callable[..., Running], database_url: str) -> Running:
    return await until_ready(start("api", database_url=database_url, metrics_token=TOKEN, **NO_LIMITS))


async def _metrics(url: str, **headers: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as http, http.get(f"{url}/metrics", headers=headers) as answer:
        return answer.status, await answer.text()


async def test_a_payment_shows_in_every_metric(running: Running, merchant: Merchant) -> None:
    async with aiohttp.ClientSession() as http:
        client = Client(http, running.url, merchant.key)
        created = await client("POST", "/v1/payments", COLLECTION)
        await client("POST", f"/v1/payments/{created.body['transaction']['id']}/cancel")
        await client("GET", "/no/such/path")
    _, text = await _metrics(running.url)

    for line in (
        'malipo_requests_total{method="POST",route="/v1/payments",status="201"} 1.0',
        'malipo_requests_total{method="other",route="unknown",status="404"} 1.0',
        'malipo_request_seconds_count{route="/v1/payments"} 1.0',
        'malipo_batch_size_sum{group="initiate"} 1.0',
        'malipo_commit_seconds_count{group="authenticate"} 2.0',
        'malipo_group_waiting{group="initiate"} 0.0',
        'malipo_transactions_total{channel="MPESA",status="PENDING",type="COLLECTION"} 1.0',
        'malipo_transactions_total{channel="MPESA",status="CANCELLED",type="COLLECTION"} 1.0',
    ):
        assert line in text
    assert 'malipo_database_connections{state="idle"}' in text


async def test_metrics_are_for_this_machine_or_for_the_token(running: Running) -> None:
    assert (await _metrics(running.url))[0] == 200
    assert (await _metrics(running.url, **{"X-Forwarded-For": "1.2.3.4"}))[0] == 403, "a proxy asks for a stranger"
    assert (await _metrics(running.url, **{"X-Forwarded-For": "1.2.3.4", "Authorization": "Bearer no"}))[0] == 403
    assert (await _metrics(running.url, **{"X-Forwarded-For": "1.2.3.4", "Authorization": f"Bearer {TOKEN}"}))[0] == 200


@pytest.mark.parametrize("header", ["Forwarded", "Via", "X-Real-IP", "X-Forwarded-Host", "X-Forwarded-Proto"])
async def test_metrics_are_not_for_those_behind_a_proxy(running: Running, header: str) -> None:
    assert (await _metrics(running.url, **{header: "x"}))[0] == 403
    assert (await _metrics(running.url, **{header: "x", "Authorization": f"Bearer {TOKEN}"}))[0] == 200


async def test_metrics_are_not_for_a_proxy_of_ours_that_says_nothing(
    start: Callable[..., Running], database_url: str
) -> None:
    running = await until_ready(start("api", database_url=database_url, trusted_proxies="127.0.0.1", **NO_LIMITS))
    assert (await _metrics(running.url))[0] == 403


def test_the_dashboard_asks_only_for_what_there_is() -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    asked = {
        name
        for panel in dashboard["panels"]
        for target in panel["targets"]
        for name in re.findall(r"malipo_[a-z_]+", target["expr"])
    }
    known = set(re.findall(r"^# TYPE (malipo_\w+)", Metrics().exposition().decode(), re.MULTILINE))
    known -= {name for name in known if name.endswith("_created")}  # When a counter began. Nobody asks for it.
    assert {re.sub(r"_(bucket|sum|count)$", "", name) for name in asked} == known


async def test_a_process_learns_without_a_restart_that_nothing_is_sent(running: Running, service: Service) -> None:
    async def until_shown(*, fenced: int, held: int, epoch: int) -> None:
        wanted = {"malipo_fenced": fenced, "malipo_held": held, "malipo_epoch": epoch}
        async with asyncio.timeout(240):
            while True:
                text = (await _metrics(running.url))[1]
                shown = {
                    name: float(value) for name, value in re.findall(r"^(malipo_[a-z]+) (\S+)$", text, re.MULTILINE)
                }
                if wanted.items() <= shown.items():
                    return
                await asyncio.sleep(0.1)

    await until_shown(fenced=0, held=0, epoch=1)
    epoch = await service.fence("A test says that it was restored.", epoch=1)
    await until_shown(fenced=1, held=0, epoch=epoch)
    async with service.queries.database.begin() as tx:
        await installation.end_fence(tx)
        await installation.set_hold(tx, held_by="operator asha", reason="Counting")
    await until_shown(fenced=0, held=1, epoch=epoch)
    events = [json.loads(line)["event"] for line in running.log.read_text().splitlines()]
    said = [event for event in events if event.startswith("installation.")]
    assert said == ["installation.is_fenced", "installation.released", "installation.is_held"]
