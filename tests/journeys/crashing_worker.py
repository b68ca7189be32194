"""A worker that sends itself a signal when it comes to a named point of a payment's way, for the n-th time.

    python -m tests.journeys.crashing_worker POINT NUMBER SIGNAL LEASE_SECONDS

Its settings are in the environment, as a real worker's are. What a signal cannot be caught by, no test can soften.
"""

import asyncio
import os
import signal
import sys

import uvloop

from malipo import log
from malipo.app.assemble import assemble
from malipo.db import Database
from malipo.settings.environment import read
from malipo.worker.run import work


async def _live(point: str, number: int, fate: signal.Signals, lease_seconds: float) -> None:
    settings = read(os.environ)
    assert settings.database_url is not None
    left = number

    def at_point(reached: str) -> None:
        nonlocal left
        if reached == point:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), fate)

    async with Database.opened(settings.database_url, size=settings.database_pool) as database:
        service = assemble(settings, database)
        await work(service, settings.database_url, asyncio.Event(), lease_seconds=lease_seconds, at_point=at_point)


if __name__ == "__main__":
    log.configure(level="info", stream=sys.stderr)
    point, number, name, lease_seconds = sys.argv[1:]
    uvloop.run(_live(point, int(number), signal.Signals[f"SIG{name}"], float(lease_seconds)))
