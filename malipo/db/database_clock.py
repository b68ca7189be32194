"""Clock skew: how far this host's clock is from the database's.

Times are written by many hosts and compared in one database, so a clock that is wrong makes payments lapse too early or
leases end too late. Nothing is stopped because of it: `/readyz`, a metric and the log report it.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from malipo import log
from malipo.clock import Clock, loop_time
from malipo.db import ConnectionLost, Database

TOLERANCE_SECONDS = 2.0

_SAMPLES = 5
_EVERY_SECONDS = 30.0
_AGAIN_SECONDS = 600.0
_PATIENCE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One query of the database's time: how far our clock was ahead, and how long the query took."""

    ahead_seconds: float
    took_seconds: float

    @property
    def is_too_much(self) -> bool | None:
        """Whether the skew is too large. None if the query took so long that this is unknown."""
        doubt = self.took_seconds / 2
        if abs(self.ahead_seconds) - doubt > TOLERANCE_SECONDS:
            return True
        return False if abs(self.ahead_seconds) + doubt <= TOLERANCE_SECONDS else None


def sample_of(ours: datetime, theirs: datetime, *, took_seconds: float) -> Sample:
    """A sample. `ours` is the time before the query; the database read its clock about half of the duration later."""
    return Sample((ours - theirs).total_seconds() + took_seconds / 2, took_seconds)


def surest(samples: Iterable[Sample]) -> Sample:
    """The sample of the shortest query: its error is the smallest."""
    return min(samples, key=lambda each: each.took_seconds)


async def measure(database: Database, clock: Clock) -> Sample:
    samples = []
    async with asyncio.timeout(_PATIENCE_SECONDS), database.read() as connection:
        for _ in range(_SAMPLES):
            ours, began = clock(), loop_time()
            theirs = await connection.fetchval("SELECT clock_timestamp()")
            samples.append(sample_of(ours, theirs, took_seconds=loop_time() - began))
    return surest(samples)


class ClockSkew:
    """The last measurement, and when it was logged."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._last: Sample | None = None
        self._is_too_much = False
        self._said_at: float | None = None  # by the event loop's clock, which is monotonic

    @property
    def seconds(self) -> float:
        """The skew: positive if our clock is ahead, NaN before the first measurement."""
        return self._last.ahead_seconds if self._last is not None else float("nan")

    @property
    def warning(self) -> str | None:
        """A sentence, while the clocks differ by too much."""
        if not self._is_too_much:
            return None
        side = "ahead of" if self.seconds > 0 else "behind"
        return f"This host's clock is {abs(self.seconds):.1f} s {side} the database's."

    async def watch(self) -> None:
        """Run until cancelled, the first measurement at once."""
        while True:
            await self.look()
            await asyncio.sleep(_EVERY_SECONDS)

    async def look(self) -> None:
        """Measure. While the database is away, the last measurement stays."""
        try:
            sample = await measure(self._database, self._clock)
        except (ConnectionLost, TimeoutError) as error:
            log.debug("clock.not_compared", reason=str(error))
        except Exception as error:
            log.error("clock.comparison_broke", error)
        else:
            self.note(sample, at=loop_time())

    def note(self, sample: Sample, *, at: float) -> None:
        """Log a skew when it begins, every ten minutes while it lasts, and when it has ended."""
        self._last = sample
        is_too_much = self._is_too_much if sample.is_too_much is None else sample.is_too_much
        was_too_much, self._is_too_much = self._is_too_much, is_too_much
        if is_too_much and (self._said_at is None or at - self._said_at >= _AGAIN_SECONDS):
            self._said_at = at
            log.warning("clock.differs", seconds=round(self.seconds, 3), message=self.warning)
        elif was_too_much and not is_too_much:
            self._said_at = None
            log.info("clock.agrees", seconds=round(self.seconds, 3))
