"""How a part of the worker goes on for ever: a step, then a rest until a notification comes or a moment has passed."""

import asyncio
from collections.abc import Awaitable, Callable

from malipo import log
from malipo.db import ConnectionLost, Contention
from malipo.errors import Unavailable
from malipo.settings import Settings

Step = Callable[[], Awaitable[bool]]

LOOK_SECONDS = 1.0


def step_seconds(settings: Settings) -> float:
    """How long a step of the database's may take: longer than any patience inside it."""
    return 3.0 * settings.database_patience_seconds


async def run_forever(
    what: str, step: Step, notifier: asyncio.Event | None = None, *, seconds: float | None, **where: str
) -> None:
    """Until cancelled. A step says whether more may be waiting. Whatever goes wrong is tried again.

    A step that takes longer than its seconds waits for a database that will never answer, and is given up.
    """
    while True:
        is_more = False
        try:
            async with asyncio.timeout(seconds):
                is_more = await step()
        except (Unavailable, ConnectionLost, Contention, TimeoutError) as error:
            log.warning("worker.database_away", step=what, reason=str(error), **where)
        except Exception as error:
            log.error("worker.step_broke", error, step=what, **where)
        if not is_more:
            await _rest(notifier)


async def _rest(notifier: asyncio.Event | None) -> None:
    """Until a notification comes, or for as long as nobody should rely on one."""
    if notifier is None:
        await asyncio.sleep(LOOK_SECONDS)
        return
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            await notifier.wait()
    except TimeoutError:
        pass
    notifier.clear()
