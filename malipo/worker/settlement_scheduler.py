"""Runs the schedules of settlements, once a minute. Several workers may do it at once: each merchant and day is
claimed."""

from malipo import log
from malipo.clock import Clock
from malipo.db import Database
from malipo.restore.installation import IntakeClosed
from malipo.settings import Settings
from malipo.settlement.fee_and_minimum import SettlementTerms
from malipo.settlement.run_schedules import RunSchedules, find_due
from malipo.worker.loop_health import LoopHealth
from malipo.worker.poll_loop import run_forever

_SECONDS = 60.0


class SettlementScheduler:
    def __init__(self, database: Database, settings: Settings, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._run_schedule = RunSchedules(SettlementTerms.of(settings))

    async def run(self, loops: LoopHealth) -> None:
        """Run until cancelled."""
        await run_forever("settlements", self.step, seconds=_SECONDS, look_seconds=_SECONDS, loops=loops)

    async def step(self) -> bool:
        async with self._database.read() as connection:
            due = await find_due(connection, now=self._clock())
        for schedule in due:
            try:
                async with self._database.begin() as tx:
                    outcome = await self._run_schedule(tx, schedule, now=self._clock())
            except IntakeClosed:
                return False
            if outcome is not None:
                log.info("settlement.schedule_ran", merchant_id=schedule.merchant_id, outcome=outcome)
        return False
