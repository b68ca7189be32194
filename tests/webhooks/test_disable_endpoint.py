"""When a failing endpoint is disabled."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from malipo.db import Database
from malipo.webhooks.delivery_state import Attempt
from malipo.webhooks.disable_endpoint import GONE, note_health, why_disabled
from malipo.webhooks.endpoint import Endpoint
from malipo.webhooks.store import endpoints
from tests.conftest import Merchant

URL = "https://duka.example/hooks"
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


@pytest.mark.parametrize("answers", [(410, 200), (200, 410)])
async def test_an_endpoint_that_is_gone_is_disabled_whatever_else_it_answered_in_the_same_commit(
    database: Database, merchant: Merchant, answers: Sequence[int]
) -> None:
    endpoint = Endpoint(
        id="whe_1", merchant_id=merchant.id, url=URL, events=["*"], is_active=True, secret=b"x", created_at=NOW
    )
    attempts = [
        Attempt(("whe_1", f"evt_{number}"), f"clm_{number}", f"att_{number}", NOW, 5, status, (), b"", None)
        for number, status in enumerate(answers)
    ]
    async with database.begin() as tx:
        await endpoints.insert(tx, endpoint)
        await note_health(tx, attempts, now=NOW)
        found = await endpoints.get(tx, merchant.id, "whe_1")
    assert found is not None
    assert (found.is_active, found.disabled_reason) == (False, GONE)
