"""When a delivery is tried again, held against the specification's table."""

from datetime import UTC, datetime, timedelta

import pytest

from malipo.settings import Settings
from malipo.webhooks.retry_schedule import next_try

ENDED = datetime(2026, 11, 15, 8, 30, 0, 123_000, tzinfo=UTC)

# Written by hand from the specification: after how many tries, when the next one is.
GRID = [
    (1, "2026-11-15T08:30:30.123+00:00"),  # 30 seconds
    (2, "2026-11-15T08:35:00.123+00:00"),  # 5 minutes
    (3, "2026-11-15T09:00:00.123+00:00"),  # 30 minutes
    (4, "2026-11-15T10:30:00.123+00:00"),  # 2 hours
    (5, "2026-11-15T20:30:00.123+00:00"),  # 12 hours
    (6, None),
    (7, None),
]


@pytest.mark.parametrize(("tries", "moment"), GRID)
def test_the_delays_are_the_specifications(tries: int, moment: str | None) -> None:
    found = next_try(Settings().webhook_retry_seconds, tries, ENDED)

    assert (found and found.isoformat(timespec="milliseconds")) == moment


def test_an_operator_may_choose_other_delays() -> None:
    assert next_try((7,), 1, ENDED) == ENDED + timedelta(seconds=7)
    assert next_try((7,), 2, ENDED) is None
    assert next_try((), 1, ENDED) is None
