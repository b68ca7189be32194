"""The notifier wakes listeners, sends one notification for many changes, and may be lost without harm."""

import asyncio
import gc
import os
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from malipo.db import Database
from malipo.db.notify import Notifier, listen
from tests.conftest import PATIENCE_SECONDS
from tests.journeys.postgres_proxy import proxy_to

_RING = """
import asyncio, sys
from malipo.db import Database
from malipo.db.notify import Notifier

async def main() -> None:
    async with Database.opened(sys.argv[1], size=1) as database:
        notifier = Notifier(database)
        for topic in sys.argv[2:]:
            notifier.notify(topic)
        await notifier.finish()

asyncio.run(main())
"""


class Ear:
    def __init__(self) -> None:
        self.heard: list[str] = []
        self._more = asyncio.Event()

    def hear(self, topic: str) -> None:
        self.heard.append(topic)
        self._more.set()

    async def until(self, *topics: str, seconds: float = PATIENCE_SECONDS) -> None:
        """Until each of these was heard so often."""
        async with asyncio.timeout(seconds):
            while Counter(topics) - Counter(self.heard):
                self._more.clear()
                await self._more.wait()

    def forget(self) -> None:
        self.heard.clear()


@asynccontextmanager
async def listening(url: str) -> AsyncIterator[Ear]:
    """Somebody who hears; the first that they hear is that they may have missed something."""
    ear = Ear()
    task = asyncio.create_task(listen(url, ear.hear))
    try:
        await ear.until("")
        assert ear.heard == [""]
        ear.forget()
        yield ear
        assert not task.done(), "it never ends by itself"
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def ear(database_url: str) -> AsyncIterator[Ear]:
    async with listening(database_url) as ear:
        yield ear


@pytest.fixture
async def notifier(database: Database) -> AsyncIterator[Notifier]:
    notifier = Notifier(database)
    yield notifier
    await notifier.finish()


async def test_everybody_who_listens_hears_it(notifier: Notifier, ear: Ear, database_url: str) -> None:
    async with listening(database_url) as other:
        notifier.notify("MPESA")
        await ear.until("MPESA")
        await other.until("MPESA")


async def test_it_is_heard_across_processes(ear: Ear, database_url: str) -> None:
    def another_process() -> None:
        command = [sys.executable, "-c", _RING, database_url, "MPESA", "mpesa"]
        subprocess.run(command, check=True, timeout=240, env={"PATH": os.environ["PATH"]})

    await asyncio.to_thread(another_process)
    await ear.until("MPESA", "mpesa")
    assert sorted(ear.heard) == ["MPESA", "mpesa"]


async def test_it_is_heard_only_in_its_own_database(notifier: Notifier, postgres: str, ear: Ear) -> None:
    async with listening(postgres) as stranger:
        notifier.notify("MPESA")
        await ear.until("MPESA")
        assert stranger.heard == []


async def test_many_who_ring_at_once_ring_once(notifier: Notifier, ear: Ear) -> None:
    for _ in range(500):
        notifier.notify("MPESA")
        notifier.notify("AIRTEL_MONEY")
    await notifier.finish()
    await ear.until("MPESA", "AIRTEL_MONEY")
    assert Counter(ear.heard) == {"MPESA": 1, "AIRTEL_MONEY": 1}


async def test_whoever_rings_while_it_rings_is_heard_a_moment_later_and_not_each_for_themselves(
    notifier: Notifier, ear: Ear
) -> None:
    began = asyncio.get_running_loop().time()
    for number in range(100):
        notifier.notify("MPESA")
        if number % 5 == 0:
            await asyncio.sleep(0.002)
    await notifier.finish()
    seconds = asyncio.get_running_loop().time() - began
    notifier.notify("last")
    await ear.until("MPESA", "last")
    assert 1 <= ear.heard.count("MPESA") <= seconds * 50 + 2, "at most fifty times a second"


async def test_a_ring_after_a_silence_is_heard_too(notifier: Notifier, ear: Ear) -> None:
    for _ in range(3):
        notifier.notify("MPESA")
        await ear.until("MPESA")
        ear.forget()
        await asyncio.sleep(0.03)


async def test_whoever_lost_the_line_says_so_and_hears_again(
    notifier: Notifier, ear: Ear, database: Database, database_url: str
) -> None:
    async with database.read() as connection:
        killed = await connection.fetchval(
            """
            SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE application_name = 'malipo listener' AND datname = current_database()
            """
        )
    assert killed == 1

    await ear.until("")
    notifier.notify("MPESA")
    await ear.until("MPESA")
    assert ear.heard == ["", "MPESA"]


async def test_a_listener_may_come_before_its_database(database_url: str) -> None:
    async with proxy_to(database_url) as (proxy, url):
        proxy.go_away()
        ear = Ear()
        task = asyncio.create_task(listen(url, ear.hear))
        await asyncio.sleep(0.1)
        assert not task.done()
        proxy.come_back()
        await ear.until("")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_ringing_while_the_database_is_away_breaks_nothing_and_works_when_it_is_back(
    database_url: str, ear: Ear
) -> None:
    trouble: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, context: trouble.append(context))
    try:
        async with proxy_to(database_url) as (proxy, url), Database.opened(url, size=2) as database:
            notifier = Notifier(database)
            proxy.go_away()
            for _ in range(3):
                notifier.notify("MPESA")
                await notifier.finish()
            proxy.come_back()
            notifier.notify("AIRTEL_MONEY")
            await ear.until("AIRTEL_MONEY")
            await notifier.finish()
        del notifier
        gc.collect()
        await asyncio.sleep(0)
    finally:
        loop.set_exception_handler(before)
    assert trouble == []
    assert "MPESA" not in ear.heard, "what is lost is lost"


async def test_ringing_never_waits_even_if_the_database_hangs(database_url: str) -> None:
    async with proxy_to(database_url) as (proxy, url), Database.opened(url, size=2) as database:
        notifier = Notifier(database)
        notifier.notify("MPESA")
        await notifier.finish()
        proxy.fall_silent_for_good()
        began = asyncio.get_running_loop().time()
        notifier.notify("MPESA")
        assert asyncio.get_running_loop().time() - began < 3
        await notifier.finish()
        assert asyncio.get_running_loop().time() - began < 30, "and nobody waits for it at the end"
        proxy.cut_all()
        await notifier.finish()
