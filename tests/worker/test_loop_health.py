"""/healthz and /metrics of a worker: 200 while its loops turn, 503 when one is stuck, metrics for this machine or the token."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace

import aiohttp
import pytest

from malipo import __version__
from malipo.app.assemble import Service
from malipo.build import build_id
from malipo.db import Database
from malipo.http_server.worker_port import exposed
from malipo.settings import Settings
from malipo.worker.loop_health import LoopHealth
from malipo.worker.poll_loop import run_forever
from tests.conftest import NO_LIMITS, Running, free_port

TOKEN = "f3b19c07d2a84e6690517bd2"


class Time:
    seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def settings() -> Settings:
    return replace(Settings(**NO_LIMITS), worker_metrics_port=free_port(), metrics_token=TOKEN)


@pytest.fixture
async def time() -> Time:
    return Time()


@pytest.fixture
async def loops(service: Service, time: Time) -> AsyncIterator[LoopHealth]:
    loops = LoopHealth(service.metrics, monotonic=time)
    async with exposed(service.settings, service.metrics, service.health.readiness, loops):
        yield loops


async def get(settings: Settings, path: str, method: str = "GET", **headers: str) -> tuple[int, str]:
    url = f"http://127.0.0.1:{settings.worker_metrics_port}{path}"
    async with aiohttp.ClientSession() as http:
        while True:
            with suppress(aiohttp.ClientConnectorError):
                async with http.request(method, url, headers=headers) as answer:
                    return answer.status, await answer.text()
            await asyncio.sleep(0.02)


async def test_a_worker_is_alive_while_its_loops_turn_and_not_when_one_is_stuck(
    settings: Settings, loops: LoopHealth, time: Time
) -> None:
    may_go, has_turned = asyncio.Event(), asyncio.Event()

    async def step() -> bool:
        has_turned.set()
        await may_go.wait()
        await asyncio.sleep(0)  # A step that never waits would leave no turn to anybody.
        return True

    async def turn() -> bool:
        await asyncio.sleep(0)
        return False

    tasks = [
        asyncio.ensure_future(run_forever("send", step, seconds=60, loops=loops, route="mpesa")),
        asyncio.ensure_future(run_forever("count", turn, seconds=60, loops=loops)),
    ]
    await has_turned.wait()
    status, text = await get(settings, "/healthz")
    assert (status, f'"version":"{__version__}","build":"{build_id()}"' in text) == (200, True), text
    time.seconds += 60
    assert (await get(settings, "/healthz"))[0] == 200, "a step may take as long"

    time.seconds += 32
    tasks[1].cancel()
    loops.begin("count", step_seconds=60)  # It turns.
    status, text = await get(settings, "/healthz")
    assert (status, "send mpesa" in text, "count" in text) == (503, True, False), text
    assert 'malipo_worker_loop_stuck{loop="send mpesa"} 1.0' in (await get(settings, "/metrics"))[1]
    assert 'malipo_worker_loop_stuck{loop="count"} 0.0' in (await get(settings, "/metrics"))[1]

    has_turned.clear()
    may_go.set()
    await has_turned.wait()
    assert (await get(settings, "/healthz"))[0] == 200, "it turns again"
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_loop_that_has_ended_is_stuck(settings: Settings, loops: LoopHealth, time: Time) -> None:
    async def step() -> bool:
        raise asyncio.CancelledError

    with suppress(asyncio.CancelledError):
        await run_forever("mark", step, seconds=10, loops=loops)
    time.seconds += 42
    assert (await get(settings, "/healthz"))[0] == 503


async def test_a_loop_that_was_ended_is_not_stuck(settings: Settings, loops: LoopHealth, time: Time) -> None:
    async def step() -> bool:
        return False

    task = asyncio.ensure_future(run_forever("mark", step, seconds=10, loops=loops))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    time.seconds += 42
    assert (await get(settings, "/healthz"))[0] == 200


async def test_a_workers_metrics_are_for_this_machine_or_for_the_token(settings: Settings, loops: LoopHealth) -> None:
    assert (await get(settings, "/metrics"))[0] == 200
    assert (await get(settings, "/metrics", **{"X-Forwarded-For": "1.2.3.4"}))[0] == 403
    token = {"X-Forwarded-For": "1.2.3.4", "Authorization": f"Bearer {TOKEN}"}
    assert (await get(settings, "/metrics", **token))[0] == 200
    assert (await get(settings, "/v1/payments"))[0] == 404
    assert (await get(settings, "/healthz", "POST"))[0] == 405


async def test_a_worker_process_answers_and_stops(
    start: Callable[..., Running], database: Database, database_url: str, settings: Settings
) -> None:
    running = start("worker", database_url=database_url, worker_metrics_port=settings.worker_metrics_port, **NO_LIMITS)
    async with asyncio.timeout(240):
        assert (await get(settings, "/healthz"))[0] == 200
        while "malipo_workers_alive 1.0" not in (text := (await get(settings, "/metrics"))[1]):
            assert running.process.poll() is None, running.log.read_text()
            await asyncio.sleep(0.5)
    assert 'malipo_worker_loop_stuck{loop="ledger_check"} 0.0' in text
    assert running.stop() == 0
