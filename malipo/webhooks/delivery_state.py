"""A delivery: one event to one endpoint, and what an attempt does to its state. Pure."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from malipo.webhooks.endpoint import Endpoint
from malipo.webhooks.retry_schedule import next_try

_GONE = 410

Key = tuple[str, str]  # endpoint, event


class DeliveryState(StrEnum):
    PENDING = "PENDING"  # it will be sent
    DELIVERED = "DELIVERED"  # the receiver has answered 2xx
    EXHAUSTED = "EXHAUSTED"  # a dead letter: not sent again, unless it is redelivered


@dataclass(frozen=True, slots=True)
class WebhookMessage:
    """A delivery that a worker has claimed."""

    endpoint: Endpoint
    event_id: str
    event: str
    body: str
    claim_id: str
    transaction_id: str | None = None  # None: it is a test, or about a batch, a link or a settlement

    @property
    def key(self) -> Key:
        return self.endpoint.id, self.event_id


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt, and the receiver's answer."""

    key: Key
    claim_id: str
    id: str
    attempted_at: datetime
    duration_ms: int
    http_status: int | None
    response_headers: Sequence[tuple[str, str]]
    response_body: bytes
    error: str | None

    @property
    def ended_at(self) -> datetime:
        return self.attempted_at + timedelta(milliseconds=self.duration_ms)

    @property
    def is_success(self) -> bool:
        return self.error is None and self.http_status is not None and 200 <= self.http_status < 300

    @property
    def is_gone(self) -> bool:
        """The receiver has answered 410 Gone."""
        return self.error is None and self.http_status == _GONE


@dataclass(frozen=True, slots=True)
class Delivery:
    key: Key
    state: DeliveryState
    attempt_count: int
    due_at: datetime
    claim_id: str | None
    is_test: bool = False  # the sender of a test waits only for the answer of the first attempt

    def after(self, attempt: Attempt, retry_seconds: Sequence[int]) -> "Delivery":
        if self.state is DeliveryState.DELIVERED:
            return self
        if attempt.is_success:
            # A success counts even if another worker has the claim now: a worker whose lease had ended may still have
            # delivered it.
            return dataclasses.replace(
                self, state=DeliveryState.DELIVERED, attempt_count=self.attempt_count + 1, claim_id=None
            )
        if attempt.claim_id != self.claim_id:
            return self  # Another worker has claimed it since, and records its own attempt.
        attempt_count = self.attempt_count + 1
        due_at = None if attempt.is_gone or self.is_test else next_try(retry_seconds, attempt_count, attempt.ended_at)
        if due_at is None:
            return dataclasses.replace(self, state=DeliveryState.EXHAUSTED, attempt_count=attempt_count, claim_id=None)
        return dataclasses.replace(self, attempt_count=attempt_count, due_at=due_at, claim_id=None)
