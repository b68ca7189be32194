"""What a try does to a delivery, cell by cell, written by hand."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from malipo.webhooks.delivery_state import Attempt, Delivery, DeliveryState

NOW = datetime(2026, 11, 15, 8, 30, tzinfo=UTC)
KEY = ("wh_1", "evt_1")
RETRIES = (30, 300)
TOOK = timedelta(milliseconds=1500)

OURS, THEIRS = "clm_ours", "clm_theirs"


def _attempt(status: int | None, claim_id: str = OURS) -> Attempt:
    error = None if status is not None else "no answer within 10 s"
    return Attempt(KEY, claim_id, "att_1", NOW, 1500, status, (), b"", error)


def _delivery(
    state: DeliveryState = DeliveryState.PENDING, attempt_count: int = 0, claim_id: str | None = OURS
) -> Delivery:
    return Delivery(KEY, state, attempt_count, NOW - timedelta(hours=1), claim_id)


@pytest.mark.parametrize(
    ("status", "is_success"),
    [
        *((status, True) for status in (200, 201, 202, 204, 226, 299)),
        *((status, False) for status in (100, 101, 199, 300, 301, 304, 400, 401, 404, 408, 410, 429, 500, 503, 599)),
        (None, False),
    ],
)
def test_only_2xx_is_a_success(status: int | None, is_success: bool) -> None:
    assert _attempt(status).is_success is is_success
    assert _attempt(status).is_gone is (status == 410)


def test_a_status_of_an_answer_that_broke_off_is_no_success() -> None:
    broken = replace(_attempt(200), error="the answer broke off")
    assert not broken.is_success
    assert not replace(broken, http_status=410).is_gone


@pytest.mark.parametrize(
    ("attempt_count", "expected"),
    [
        (0, {"attempt_count": 1, "due_at": NOW + TOOK + timedelta(seconds=30)}),
        (1, {"attempt_count": 2, "due_at": NOW + TOOK + timedelta(seconds=300)}),
        (2, {"attempt_count": 3, "state": DeliveryState.EXHAUSTED}),
        (9, {"attempt_count": 10, "state": DeliveryState.EXHAUSTED}),
    ],
)
def test_a_failure_is_tried_again_after_it_ended_until_the_delays_are_used_up(
    attempt_count: int, expected: dict[str, Any]
) -> None:
    for status in (500, 404, None):
        before = _delivery(attempt_count=attempt_count)
        assert before.after(_attempt(status), RETRIES) == replace(before, claim_id=None, **expected)


def test_a_receiver_that_is_gone_is_not_tried_again() -> None:
    before = _delivery()

    assert before.after(_attempt(410), RETRIES) == replace(
        before, state=DeliveryState.EXHAUSTED, attempt_count=1, claim_id=None
    )


@pytest.mark.parametrize("claim_id", [OURS, THEIRS, None], ids=["ours", "somebody else's", "nobody's"])
@pytest.mark.parametrize("state", [DeliveryState.PENDING, DeliveryState.EXHAUSTED])
def test_a_success_counts_whoever_has_it_now(state: DeliveryState, claim_id: str | None) -> None:
    before = _delivery(state, 2, claim_id)

    assert before.after(_attempt(204), RETRIES) == replace(
        before, state=DeliveryState.DELIVERED, attempt_count=3, claim_id=None
    )


@pytest.mark.parametrize("status", [500, 410, None])
def test_a_failure_of_a_claim_that_has_ended_changes_nothing(status: int | None) -> None:
    for before in (_delivery(claim_id=THEIRS), _delivery(claim_id=None), _delivery(DeliveryState.EXHAUSTED, 3, None)):
        assert before.after(_attempt(status), RETRIES) == before


@pytest.mark.parametrize("status", [200, 500, 410, None])
def test_a_delivered_delivery_stays_delivered(status: int | None) -> None:
    before = _delivery(DeliveryState.DELIVERED, 1, None)

    assert before.after(_attempt(status), RETRIES) == before
