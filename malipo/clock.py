"""The only place that reads the clock. Everywhere else `now` is an argument.

The simulation puts its own time in place of the system's; nothing else does.
"""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import msgspec

Clock = Callable[[], datetime]

ZONE = ZoneInfo("Africa/Dar_es_Salaam")  # the business time zone

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)

_encode = msgspec.json.Encoder().encode  # writes a time in a tenth of what isoformat() takes


class _TimeSource:
    nanoseconds: Callable[[], int] = time.time_ns
    monotonic: Callable[[], float] = time.monotonic


def read_from(*, nanoseconds: Callable[[], int], monotonic: Callable[[], float]) -> None:
    """Read another clock from now on. For the simulation only."""
    _TimeSource.nanoseconds, _TimeSource.monotonic = nanoseconds, monotonic


def now() -> datetime:
    """The time in UTC, in whole milliseconds: what we store is what we show."""
    return datetime.fromtimestamp(_TimeSource.nanoseconds() // 1_000_000 / 1000, UTC)


def nanoseconds() -> int:
    """Since 1970, as spans count them."""
    return _TimeSource.nanoseconds()


def monotonic() -> float:
    """Seconds for measuring how long something takes. Nobody can set them back."""
    return _TimeSource.monotonic()


def loop_time() -> float:
    """Seconds by the clock of the event loop that runs, for deadlines and pauses of its tasks."""
    return asyncio.get_running_loop().time()


def milliseconds(moment: datetime) -> int:
    """Whole milliseconds since 1970, rounded down."""
    return (moment - _EPOCH) // _MILLISECOND


def day_of(moment: datetime) -> date:
    """The day in Dar es Salaam."""
    return moment.astimezone(ZONE).date()


def day_sql(moment: str) -> str:
    """The day, as `day_of` says it, of a column or another expression in SQL."""
    return f"({moment} AT TIME ZONE '{ZONE.key}')::date"


def local(moment: datetime) -> str:
    """`2026-11-15 11:30:00`, as people in Dar es Salaam read and write it."""
    return f"{moment.astimezone(ZONE):%Y-%m-%d %H:%M:%S}"


def iso(moment: datetime) -> str:
    """`2026-11-15T08:30:00.123Z`: always UTC, always three digits."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    text = _encode(moment).decode()  # in quotes, with six digits or, on a whole second, with none
    return f"{text[1:24]}Z" if moment.microsecond else f"{text[1:20]}.000Z"
