"""Whether the days of bank statements cover a span of days without a gap. Pure.

Which days each statement covers is computed in `bank/coverage.py`, a layer above, and stored (`store/coverage.py`).
"""

from collections.abc import Iterable
from datetime import date, timedelta

Days = tuple[date, date]  # the first and the last, both covered

_DAY = timedelta(days=1)


def covers(spans: Iterable[Days], first: date, last: date) -> bool:
    reached = first
    for begins, ends in sorted(spans):
        if begins > reached:
            break
        reached = max(reached, ends + _DAY)
    return reached > last
