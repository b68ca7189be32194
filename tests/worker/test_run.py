"""A worker process: what it logs when it starts, and what it does without its state folder."""

import asyncio
import io
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from malipo import log
from malipo.db import Database
from malipo.http_server.worker_port import exposed
from malipo.settings import Settings
from malipo.worker import run
from tests.conftest import NO_LIMITS, free_port

Errors = Callable[[], list[dict[str, str]]]


async def work_while(settings: Settings, database_url: str, look: Callable[[], Awaitable[None]]) -> None:
    stop, started = asyncio.Event(), asyncio.Event()
    working = asyncio.ensure_future(run.serve(settings, database_url, stop, exposed=exposed, on_started=started.set))
    try:
        await started.wait()
        await look()
    finally:
        stop.set()
        await working


@pytest.fixture
def errors() -> Iterator[Errors]:
    """The lines of level error that were logged so far."""
    stream = io.StringIO()
    before = log._Output.stream
    log._Output.stream = stream

    def read() -> list[dict[str, str]]:
        log.flush()
        lines = [json.loads(line) for line in stream.getvalue().splitlines()]
        return [line for line in lines if line["level"] == "error"]

    yield read
    log._Output.stream = before


async def test_a_worker_with_the_settings_as_they_come_starts_without_an_error(
    database: Database, database_url: str, tmp_path: Path, errors: Errors
) -> None:
    """It said worker.part_ended, because statements are not fetched unless somebody switches that on."""
    settings = replace(Settings(**NO_LIMITS), data_dir=tmp_path)
    await work_while(settings, database_url, lambda: asyncio.sleep(1))
    assert errors() == []


async def test_a_worker_without_its_state_folder_says_so_and_goes_on_when_it_is_there(
    database: Database, database_url: str, tmp_path: Path, errors: Errors
) -> None:
    """As with a unit that may not write there: it logged a stack trace a second, and looked healthy."""
    marks = tmp_path / "marks"
    marks.write_text("not a folder")
    port = free_port()
    settings = replace(
        Settings(**NO_LIMITS), data_dir=tmp_path, state_dir=str(marks / "malipo"), worker_metrics_port=port
    )

    async def get(path: str) -> tuple[int, str]:
        async with aiohttp.ClientSession() as http, http.get(f"http://127.0.0.1:{port}{path}") as answer:
            return answer.status, await answer.text()

    async def until(path: str, *, status: int) -> None:
        while True:
            with suppress(aiohttp.ClientConnectorError):
                if (await get(path))[0] == status:
                    return
            await asyncio.sleep(0.05)

    async def look() -> None:
        await until("/readyz", status=503)
        await asyncio.sleep(2.5)
        status, text = await get("/readyz")
        assert (status, "MALIPO_STATE_DIR" in text, "ReadWritePaths" in text) == (503, True, True), text
        assert (await get("/healthz"))[0] == 200, "a restart would not help"
        assert 'malipo_worker_loop_blocked{loop="mark"} 1.0' in (await get("/metrics"))[1]
        marks.unlink()
        await until("/readyz", status=200)
        assert 'malipo_worker_loop_blocked{loop="mark"} 0.0' in (await get("/metrics"))[1]

    await work_while(settings, database_url, look)
    [error] = errors()
    assert (error["event"], "trace" in error) == ("worker.blocked", False)
