"""When a failing endpoint is disabled."""

from datetime import UTC, datetime, timedelta

import pytest

from malipo.webhooks.disable_endpoint import why_disabled

NOW = datetime(2026, 11, 15, 8, 30, 0, 123_000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("failing_for", "is_disabled"),
    [
        (None, False),
        (timedelta(0), False),
        (timedelta(days=5) - timedelta(milliseconds=1), False),
        (timedelta(days=5), True),
        (timedelta(days=500), True),
    ],
)
def test_an_endpoint_is_disabled_after_five_days_without_a_success(
    failing_for: timedelta | None, is_disabled: bool
) -> None:
    since = None if failing_for is None else NOW - failing_for

    assert (why_disabled(is_gone=False, failing_since=since, now=NOW) is not None) is is_disabled
