"""The poll loop of each part of the worker: a step, then a wait for a notification or a timeout."""

import asyncio
from collections.abc import Awaitable, Callable

from malipo import log
from malipo.db import ConnectionLost, Contention
from malipo.errors import Unavailable
from malipo.settings import Settings

Step = Callable[[], Awaitable[bool]]

LOOK_SECONDS = 1.0


def step_seconds(settings: Settings) -> float:
    """How long a step with the database may take: longer than any timeout inside it."""
    return 3.0 * settings.database_patience_seconds


async def run_forever(
    what: str, step: Step, notifier: asyncio.Event | None = None, *, seconds: float | None, **where: str
) -> None:
    """Until cancelled. A step returns whether more may be waiting. After any error it is tried again.

    A step that takes longer than its timeout waits for a database that will never answer, and is cancelled.
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
    """Until a notification comes, or a timeout, because notifications can be lost."""
    if notifier is None:
        await asyncio.sleep(LOOK_SECONDS)
        return
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            await notifier.wait()
    except TimeoutError:
        pass
    notifier.clear()
