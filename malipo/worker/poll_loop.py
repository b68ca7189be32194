"""The poll loop of each part of the worker: a step, then a wait for a notification or a timeout."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

from malipo import log
from malipo.db import ConnectionLost, Contention
from malipo.errors import Impossible, Unavailable
from malipo.settings import Settings
from malipo.worker.loop_health import LoopHealth

Step = Callable[[], Coroutine[Any, Any, bool]]

LOOK_SECONDS = 1.0
# The timeout of a step that has none of its own: longer than any step takes.
_UNLIMITED_SECONDS = 300.0
# How long a step may continue after its loop was told to end.
_LAST_STEP_SECONDS = 5.0


def step_seconds(settings: Settings) -> float:
    """The timeout of a step that uses the database: longer than any timeout inside it."""
    return 3.0 * settings.database_patience_seconds


async def run_forever(
    what: str,
    step: Step,
    notifier: asyncio.Event | None = None,
    *,
    seconds: float | None,
    loops: LoopHealth | None = None,
    **where: str,
) -> None:
    """Run steps until cancelled. A step returns whether more may be waiting. After any error the step is tried again.

    A step that takes longer than its timeout waits for a database that will never answer, and is cancelled. If the loop
    is cancelled during a step, the step may end: otherwise what it has claimed would wait for the end of the lease.
    `loops` records each turn.
    """
    loops = loops or LoopHealth()
    name = " ".join([what, *where.values()])
    turned = loops.begin(name, step_seconds=(seconds or _UNLIMITED_SECONDS) + LOOK_SECONDS)
    try:
        while True:
            turned()
            try:
                is_more = await _take_step(what, step, seconds=seconds, **where)
                loops.note_blocked(name, None)
            except (
                Impossible
            ) as error:  # Somebody has to change something; until then the log repeats it once a minute.
                is_more = False
                if loops.note_blocked(name, str(error)):
                    log.error("worker.blocked", None, step=what, message=str(error), **where)
            if not is_more:
                await _rest(notifier)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():  # The loop was told to end. One that ends otherwise is stuck.
            loops.end(name)
        raise


async def _take_step(what: str, step: Step, *, seconds: float | None, **where: str) -> bool:
    """Take one step. Returns whether more may be waiting."""
    begun = asyncio.ensure_future(step())
    try:
        await asyncio.wait((begun,), timeout=seconds)
        return await _result_of(begun)
    except asyncio.CancelledError:
        await asyncio.wait((begun,), timeout=_LAST_STEP_SECONDS)
        with contextlib.suppress(Exception, asyncio.CancelledError):
            await _result_of(begun)
        raise
    except Impossible:
        raise
    except (Unavailable, ConnectionLost, Contention, TimeoutError) as error:
        log.warning("worker.database_away", step=what, reason=str(error), **where)
    except Exception as error:
        log.error("worker.step_broke", error, step=what, **where)
    return False


async def _result_of(begun: asyncio.Future[bool]) -> bool:
    """The result of a task; a task that has not ended is cancelled."""
    if begun.done():
        return begun.result()
    begun.cancel()
    await asyncio.wait((begun,))
    if begun.cancelled():
        raise TimeoutError
    return begun.result()


async def _rest(notifier: asyncio.Event | None) -> None:
    """Wait for a notification, or for a timeout, because notifications can be lost."""
    if notifier is None:
        await asyncio.sleep(LOOK_SECONDS)
        return
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            await notifier.wait()
    except TimeoutError:
        pass
    notifier.clear()
