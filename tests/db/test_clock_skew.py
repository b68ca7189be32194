"""A host reports that its clock differs from the database's, and continues."""

import asyncio
import io
import json
import logging
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import aiohttp
import pytest
from starlette.requests import Request

from malipo import clock, log
from malipo.api import health
from malipo.api.parts import ApiParts
from malipo.app.assemble import Service, assemble
from malipo.db import Database
from malipo.db.database_clock import ClockSkew, Sample, sample_of, surest
from malipo.settings import Settings
from malipo.worker.run import work
from tests.conftest import NO_LIMITS, Client, Running, until_ready
from tests.journeys.full_stack import until

ELEVEN_MINUTES = timedelta(minutes=11)


class Logged:
    def __init__(self, stream: io.StringIO) -> None:
        self._stream = stream

    def __call__(self) -> list[dict[str, Any]]:
        """The lines about clocks, oldest first."""
        log.flush()
        lines = [json.loads(line) for line in self._stream.getvalue().splitlines()]
        return [line for line in lines if line["event"].startswith("clock.")]

    @property
    def events(self) -> list[str]:
        return [line["event"] for line in self()]


@pytest.fixture
def logged() -> Iterator[Logged]:
    stream = io.StringIO()
    before = log._Output.stream, log._Output.threshold
    handlers, level = logging.root.handlers[:], logging.root.level
    log.configure(level="info", stream=stream)
    yield Logged(stream)
    log._Output.stream, log._Output.threshold = before
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)


def ahead_by(difference: timedelta) -> Callable[[], datetime]:
    return lambda: clock.now() + difference


async def _ready(service: Service) -> tuple[int, Any]:
    scope = {"type": "http", "method": "GET", "path": "/readyz", "headers": [], "query_string": b""}
    answer = await health.readyz(ApiParts.of(service), Request(scope))
    return answer.status_code, json.loads(bytes(answer.body))


def _metric(service: Service) -> float:
    [line] = [
        line
        for line in service.metrics.exposition().decode().splitlines()
        if line.startswith("malipo_clock_skew_seconds ")
    ]
    return float(line.split()[1])


@pytest.mark.parametrize(("sign", "side"), [(1, "ahead of"), (-1, "behind")])
async def test_a_clock_that_is_wrong_is_said_everywhere_and_payments_are_still_taken(
    database: Database, logged: Logged, sign: int, side: str
) -> None:
    service = assemble(Settings(**NO_LIMITS), database, clock=ahead_by(sign * ELEVEN_MINUTES))
    await service.health.clock_skew.look()
    sentence = f"This host's clock is 660.0 s {side} the database's."
    assert await _ready(service) == (200, {"success": True, "status": "ready", "warnings": [sentence]})
    assert _metric(service) == pytest.approx(sign * 660, abs=1)
    [line] = logged()
    assert (line["level"], line["event"], line["message"]) == ("warning", "clock.differs", sentence)
    assert line["seconds"] == pytest.approx(sign * 660, abs=1)


async def test_clocks_that_agree_are_not_worth_a_word(database: Database, logged: Logged) -> None:
    service = assemble(Settings(**NO_LIMITS), database)
    await service.health.clock_skew.look()
    assert await _ready(service) == (200, {"success": True, "status": "ready"})
    assert abs(_metric(service)) < 2
    assert logged() == []


async def test_a_clock_that_was_mended_is_said_too(database: Database, logged: Logged) -> None:
    offset = ELEVEN_MINUTES
    difference = ClockSkew(database, lambda: clock.now() + offset)
    await difference.look()
    offset = timedelta(0)
    await difference.look()
    assert logged.events == ["clock.differs", "clock.agrees"]
    assert difference.warning is None


async def test_it_is_said_again_every_ten_minutes_and_at_once_when_it_begins_anew(
    database: Database, logged: Logged
) -> None:
    difference, wrong, right = ClockSkew(database, clock.now), Sample(5, 0.01), Sample(0.1, 0.01)
    for at in range(0, 1230, 30):
        difference.note(wrong, at=float(at))
    assert logged.events == ["clock.differs"] * 3, "at the start, after ten minutes and after twenty"
    difference.note(right, at=1230.0)
    difference.note(right, at=1260.0)
    difference.note(wrong, at=1290.0)
    assert logged.events[3:] == ["clock.agrees", "clock.differs"]


@pytest.mark.parametrize(
    ("ahead", "took", "is_too_much"),
    [
        (2.1, 0.01, True),
        (-2.1, 0.01, True),
        (1.9, 0.01, False),
        (-1.9, 0.01, False),
        (4.0, 8.0, None),  # A reply that took eight seconds: the clocks may well agree.
        (0.0, 8.0, None),
        (660.0, 8.0, True),
        (-660.0, 8.0, True),
    ],
)
def test_a_slow_network_is_no_difference(ahead: float, took: float, is_too_much: bool | None) -> None:
    assert Sample(ahead, took).is_too_much is is_too_much


def test_a_clock_is_held_against_the_middle_of_the_exchange() -> None:
    asked = clock.now()
    answered = asked + timedelta(seconds=3)
    assert sample_of(asked, answered, took_seconds=6.0) == Sample(0.0, 6.0)
    assert sample_of(asked + ELEVEN_MINUTES, answered, took_seconds=6.0) == Sample(660.0, 6.0)


def test_of_several_answers_the_quickest_counts() -> None:
    quick = Sample(0.1, 0.002)
    assert surest([Sample(3.0, 6.0), quick, Sample(-0.5, 1.0)]) == quick


async def test_what_may_be_either_changes_nothing(database: Database, logged: Logged) -> None:
    difference, unsure = ClockSkew(database, clock.now), Sample(4.0, 8.0)
    difference.note(unsure, at=0.0)
    assert (difference.warning, logged()) == (None, [])
    difference.note(Sample(660.0, 0.01), at=30.0)
    difference.note(unsure, at=60.0)
    assert difference.warning is not None
    assert logged.events == ["clock.differs"]


async def test_a_database_that_is_away_says_nothing_about_the_clock(logged: Logged) -> None:
    async with Database.opened("postgresql://nobody@127.0.0.1:1/nothing", size=4) as away:
        difference = ClockSkew(away, clock.now)
        await difference.look()
        assert (difference.warning, logged()) == (None, [])
        difference.note(Sample(660.0, 0.01), at=0.0)
        await difference.look()
    assert difference.warning is not None, "what was known stays"
    assert logged.events == ["clock.differs"]


async def test_a_worker_compares_at_its_start(database: Database, database_url: str, logged: Logged) -> None:
    service = assemble(Settings(**NO_LIMITS), database, clock=ahead_by(ELEVEN_MINUTES))
    stop = asyncio.Event()
    working = asyncio.ensure_future(work(service, database_url, stop, finish_seconds=0))

    async def is_said() -> bool:
        return logged.events == ["clock.differs"]

    await until(is_said, what="the worker says it")
    stop.set()
    await working
    await service.finish()
    assert _metric(service) == pytest.approx(660, abs=1)


async def test_an_api_process_compares_at_its_start(start: Callable[..., Running], database_url: str) -> None:
    running = await until_ready(start("api", database_url=database_url, **NO_LIMITS))

    async def is_measured() -> bool:
        async with aiohttp.ClientSession() as http, http.get(f"{running.url}/metrics") as answer:
            text = await answer.text()
        [line] = [line for line in text.splitlines() if line.startswith("malipo_clock_skew_seconds ")]
        return abs(float(line.split()[1])) < 2

    await until(is_measured, what="the first comparison")
    async with aiohttp.ClientSession() as http:
        assert (await Client(http, running.url, None)("GET", "/readyz")).body == {"success": True, "status": "ready"}
