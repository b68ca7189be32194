"""Runs the schedules of settlements, once a minute, by the database's clock: which day it is may not differ by host.
Several workers may do it at once: each merchant and day is claimed."""

from collections.abc import Awaitable, Callable
from datetime import datetime

from malipo import log
from malipo.db import Conn, ConnectionLost, Contention, Database
from malipo.errors import Unavailable
from malipo.restore.installation import IntakeClosed
from malipo.settings import Settings
from malipo.settlement.fee_and_minimum import SettlementTerms
from malipo.settlement.run_schedules import RunSchedules, find_due
from malipo.settlement.schedule import RunOutcome, Schedule
from malipo.settlement.store import settlements
from malipo.worker.loop_health import LoopHealth
from malipo.worker.poll_loop import run_forever

_SECONDS = 60.0


class SettlementScheduler:
    def __init__(
        self,
        database: Database,
        settings: Settings,
        find_now: Callable[[Conn], Awaitable[datetime]] = settlements.find_now,
    ) -> None:
        self._database = database
        self._find_now = find_now
        self._run_schedule = RunSchedules(SettlementTerms.of(settings))

    async def run(self, loops: LoopHealth) -> None:
        """Run until cancelled."""
        await run_forever("settlements", self.step, seconds=_SECONDS, look_seconds=_SECONDS, loops=loops)

    async def step(self) -> bool:
        async with self._database.read() as connection:
            due = await find_due(connection, now=await self._find_now(connection))
        for schedule in due:
            try:
                outcome = await self._run(schedule)
            except IntakeClosed:
                return False
            except (Unavailable, ConnectionLost, Contention, TimeoutError):
                raise  # The database is away, for all of them.
            except Exception as error:  # About one merchant; the others wait for nothing.
                log.error("settlement.schedule_broke", error, merchant_id=schedule.merchant_id)
                continue
            if outcome is not None:
                log.info("settlement.schedule_ran", merchant_id=schedule.merchant_id, outcome=outcome)
        return False

    async def _run(self, schedule: Schedule) -> RunOutcome | None:
        async with self._database.begin() as tx:
            return await self._run_schedule(tx, schedule, now=await self._find_now(tx))
