"""malipo or its PostgreSQL dies in the middle of its work: what was answered is there, once.

Every process is a real one, with the PostgreSQL it keeps for itself, and is killed with the signals that a kernel
or an operator would use.
"""

import asyncio
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import asyncpg

from malipo.db.embedded import server
from tests.cli.test_child_processes import children
from tests.conftest import NO_LIMITS, Running, until_ready
from tests.journeys.concurrency import tally
from tests.journeys.outages.load import Load, assert_nothing_is_lost_or_doubled, calling, onboard_merchant, under_load
from tests.journeys.outages.load import data_dir as data_dir
from tests.journeys.outages.load import made_once as made_once


async def test_a_service_killed_again_and_again_loses_nothing_that_it_answered(
    start: Callable[..., Running], data_dir: Path
) -> None:
    def serve() -> Running:
        return start("serve", data_dir=data_dir, **NO_LIMITS)

    running = await until_ready(serve())
    merchant = await onboard_merchant(data_dir)
    whole = Load()

    for number in (1, 60, 200):
        # As when the machine runs out of memory. To find them takes longer than to answer what is under way.
        whole_service = [running.process.pid, *children(running.process.pid)]
        async with calling(running, merchant) as client, under_load(client) as load:
            await load.until_created(number)
            await asyncio.sleep(random.uniform(0, 0.01))
            for pid in whole_service:
                os.kill(pid, signal.SIGKILL)
            running.process.wait(240)
            began = time.monotonic()
        running = await until_ready(serve())
        print(f"start after kill -9 of malipo: {time.monotonic() - began:.2f} s")
        assert load.broken_off, "killed under load, so that somebody was not answered"
        whole.sent |= load.sent
        whole.answers |= load.answers

    assert {answer.status for answer in whole.answers.values()} == {201}
    async with calling(running, merchant) as client:
        await assert_nothing_is_lost_or_doubled(client, merchant, data_dir, whole)


def _postmaster(data_dir: Path) -> int:
    return int((data_dir / "postgres" / "data" / "postmaster.pid").read_text().splitlines()[0])


async def _some_backend(data_dir: Path) -> int:
    with server(data_dir) as url:
        connection = await asyncpg.connect(url)
        try:
            return int(
                await connection.fetchval(
                    """
                    SELECT pid FROM pg_stat_activity
                    WHERE application_name = 'malipo' AND backend_type = 'client backend' ORDER BY state LIMIT 1
                    """
                )
            )
        finally:
            await connection.close()


async def test_a_database_killed_again_and_again_is_waited_for(start: Callable[..., Running], data_dir: Path) -> None:
    running = await until_ready(start("serve", data_dir=data_dir, **NO_LIMITS))
    merchant = await onboard_merchant(data_dir)

    async with calling(running, merchant) as client:
        async with under_load(client) as load:
            for kill_all in (True, False, True):
                await load.until_created(random.randrange(20, 120))
                victim = _postmaster(data_dir) if kill_all else await _some_backend(data_dir)
                os.kill(victim, signal.SIGKILL)
                began = time.monotonic()
                await asyncio.sleep(0.05)  # What was under way may still be answered.
                await load.until_created(1)
                what = "PostgreSQL" if kill_all else "one session"
                print(f"first payment after kill -9 of {what}: {time.monotonic() - began:.2f} s")
            await load.until_created(50)

        assert len(load.answers) == len(load.sent)  # Everybody was answered,
        assert set(tally(list(load.answers.values()))) <= {  # and no answer was wrong.
            (201, None),
            (503, "unavailable"),
            (503, "outcome_unknown"),
        }
        await assert_nothing_is_lost_or_doubled(client, merchant, data_dir, load)
