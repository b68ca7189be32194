"""The poll loop of each part of the worker: a step, then a wait for a notification or a timeout."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

from malipo import log
from malipo.clock import loop_time
from malipo.db import ConnectionLost, Contention
from malipo.errors import Impossible, Unavailable
from malipo.settings import Settings
from malipo.worker.loop_health import LoopHealth

Step = Callable[[], Coroutine[Any, Any, bool]]

LOOK_SECONDS = 1.0
# For a loop that `due_work.py` wakes when something is due.
RARE_LOOK_SECONDS = 15.0
# Between steps of a loop that gets notifications all the time (decision 51).
PAUSE_SECONDS = 0.05
# For a step without a timeout of its own: longer than any step takes.
_UNLIMITED_SECONDS = 300.0
# How long a step may continue after its loop was ended.
_LAST_STEP_SECONDS = 5.0


def step_seconds(settings: Settings) -> float:
    """The timeout of a step that uses the database: longer than any timeout inside it."""
    return 3.0 * settings.database_patience_seconds


async def run_forever(
    loop_name: str,
    step: Step,
    wake: asyncio.Event | None = None,
    *,
    seconds: float | None,
    pause_seconds: float = 0.0,
    look_seconds: float = LOOK_SECONDS,
    loops: LoopHealth | None = None,
    **where: str,
) -> None:
    """Run steps until cancelled. A step returns whether more may be waiting. After any error the step is tried again.

    A step that takes longer than its timeout waits for a database that will never answer, and is cancelled. When the
    loop is cancelled, the step under way may end: nobody else would send the payments that it has claimed before the
    lease is over. `loops` counts each turn.

    A step begins at least `pause_seconds` after the last one began, unless the last one left work: so one step does all
    the work that came meanwhile. A notification after such a pause begins a step at once.
    """
    loops = loops or LoopHealth()
    name = " ".join([loop_name, *where.values()])
    turned = loops.begin(name, step_seconds=(seconds or _UNLIMITED_SECONDS) + look_seconds)
    try:
        while True:
            turned()
            next_at = loop_time() + pause_seconds
            try:
                is_more = await _take_step(loop_name, step, seconds=seconds, **where)
                loops.note_blocked(name, None)
            except Impossible as error:
                # Somebody has to change something; until then the log repeats it once a minute.
                is_more = False
                if loops.note_blocked(name, str(error)):
                    log.error("worker.blocked", None, step=loop_name, message=str(error), **where)
            if not is_more:
                await _rest(wake, look_seconds, until=next_at)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        # The loop was ended. A loop that ends by itself counts as stuck.
        if task is not None and task.cancelling():
            loops.end(name)
        raise


async def _take_step(loop_name: str, step: Step, *, seconds: float | None, **where: str) -> bool:
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
        log.warning("worker.database_away", step=loop_name, reason=str(error), **where)
    except Exception as error:
        log.error("worker.step_broke", error, step=loop_name, **where)
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


async def _rest(wake: asyncio.Event | None, look_seconds: float, *, until: float) -> None:
    """Rest until a notification comes, or for `look_seconds`, because notifications can be lost; and at least until a
    time."""
    if wake is None:
        await asyncio.sleep(look_seconds)
        return
    try:
        async with asyncio.timeout(look_seconds):
            await wake.wait()
    except TimeoutError:
        pass
    if (left := until - loop_time()) > 0:
        await asyncio.sleep(left)
    wake.clear()  # The next step may miss work that is notified from here on, which needs another step.
