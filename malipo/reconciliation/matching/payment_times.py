"""Which payments can be in a statement: payments that were created in the days before its lines. Pure.

An id begins with its time, so a range of time is a range of ids, and no index of receipts is needed.
"""

from collections.abc import Iterable
from datetime import date, datetime, time, timedelta

from malipo import clock, ids

# A payment is sent soon after its creation, unless its network was down or on hold.
BEFORE = timedelta(days=3)
# Clocks differ.
AFTER = timedelta(hours=1)
# A payment resembles a line if it was created at most so long before the line's time, by the network's clock.
NEAR = timedelta(minutes=15)

Window = tuple[datetime, datetime]


def payment_times(days: Iterable[date]) -> list[Window]:
    """The windows of time in which the payments of lines of these days were created."""
    begins = [datetime.combine(day, time(), clock.ZONE) for day in days]
    return merged((each - BEFORE, each + timedelta(days=1) + AFTER) for each in begins)


def merged(windows: Iterable[Window]) -> list[Window]:
    """These times without overlaps, so that no payment is read twice."""
    found: list[Window] = []
    for first, last in sorted(windows):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


def ids_of(windows: Iterable[Window]) -> tuple[list[str], list[str]]:
    """The first and the last id of a payment in each."""
    found = [*windows]
    return (
        [ids.first_of("txn_", clock.milliseconds(first)) for first, _ in found],
        [ids.last_of("txn_", clock.milliseconds(last)) for _, last in found],
    )
