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


class TopicLog:
    def __init__(self) -> None:
        self.topics: list[str] = []
        self._more = asyncio.Event()

    def note(self, topic: str) -> None:
        self.topics.append(topic)
        self._more.set()

    async def until(self, *topics: str, seconds: float = PATIENCE_SECONDS) -> None:
        """Until each of these was heard so often."""
        async with asyncio.timeout(seconds):
            while Counter(topics) - Counter(self.topics):
                self._more.clear()
                await self._more.wait()

    def forget(self) -> None:
        self.topics.clear()


@asynccontextmanager
async def listening(url: str) -> AsyncIterator[TopicLog]:
    """Somebody who hears; the first that they hear is that they may have missed something."""
    log = TopicLog()
    task = asyncio.create_task(listen(url, log.note))
    try:
        await log.until("")
        assert log.topics == [""]
        log.forget()
        yield log
        assert not task.done(), "it never ends by itself"
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def log(database_url: str) -> AsyncIterator[TopicLog]:
    async with listening(database_url) as log:
        yield log


@pytest.fixture
async def notifier(database: Database) -> AsyncIterator[Notifier]:
    notifier = Notifier(database)
    yield notifier
    await notifier.finish()


async def test_everybody_who_listens_hears_it(notifier: Notifier, log: TopicLog, database_url: str) -> None:
    async with listening(database_url) as other:
        notifier.notify("MPESA")
        await log.until("MPESA")
        await other.until("MPESA")


async def test_it_is_heard_across_processes(log: TopicLog, database_url: str) -> None:
    def another_process() -> None:
        command = [sys.executable, "-c", _RING, database_url, "MPESA", "mpesa"]
        subprocess.run(command, check=True, timeout=240, env={"PATH": os.environ["PATH"]})

    await asyncio.to_thread(another_process)
    await log.until("MPESA", "mpesa")
    assert sorted(log.topics) == ["MPESA", "mpesa"]


async def test_it_is_heard_only_in_its_own_database(notifier: Notifier, postgres: str, log: TopicLog) -> None:
    async with listening(postgres) as stranger:
        notifier.notify("MPESA")
        await log.until("MPESA")
        assert stranger.topics == []


async def test_many_who_ring_at_once_ring_once(notifier: Notifier, log: TopicLog) -> None:
    for _ in range(500):
        notifier.notify("MPESA")
        notifier.notify("AIRTEL_MONEY")
    await notifier.finish()
    await log.until("MPESA", "AIRTEL_MONEY")
    assert Counter(log.topics) == {"MPESA": 1, "AIRTEL_MONEY": 1}


async def test_whoever_rings_while_it_rings_is_heard_a_moment_later_and_not_each_for_themselves(
    notifier: Notifier, log: TopicLog
) -> None:
    began = asyncio.get_running_loop().time()
    for number in range(100):
        notifier.notify("MPESA")
        if number % 5 == 0:
            await asyncio.sleep(0.002)
    await notifier.finish()
    seconds = asyncio.get_running_loop().time() - began
    notifier.notify("last")
    await log.until("MPESA", "last")
    assert 1 <= log.topics.count("MPESA") <= seconds * 50 + 2, "at most fifty times a second"


async def test_a_notification_after_a_silence_arrives_too(notifier: Notifier, log: TopicLog) -> None:
    for _ in range(3):
        notifier.notify("MPESA")
        await log.until("MPESA")
        log.forget()
        await asyncio.sleep(0.03)


async def test_whoever_lost_the_line_says_so_and_hears_again(
    notifier: Notifier, log: TopicLog, database: Database, database_url: str
) -> None:
    async with database.read() as connection:
        killed = await connection.fetchval(
            """
            SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE application_name = 'malipo listener' AND datname = current_database()
            """
        )
    assert killed == 1

    await log.until("")
    notifier.notify("MPESA")
    await log.until("MPESA")
    assert log.topics == ["", "MPESA"]


async def test_a_listener_may_come_before_its_database(database_url: str) -> None:
    async with proxy_to(database_url) as (proxy, url):
        proxy.go_away()
        log = TopicLog()
        task = asyncio.create_task(listen(url, log.note))
        await asyncio.sleep(0.1)
        assert not task.done()
        proxy.come_back()
        await log.until("")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_ringing_while_the_database_is_away_breaks_nothing_and_works_when_it_is_back(
    database_url: str, log: TopicLog
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
            await log.until("AIRTEL_MONEY")
            await notifier.finish()
        del notifier
        gc.collect()
        await asyncio.sleep(0)
    finally:
        loop.set_exception_handler(before)
    assert trouble == []
    assert "MPESA" not in log.topics, "what is lost is lost"


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
