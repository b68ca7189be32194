"""A delivery: one event to one endpoint, and what an attempt does to its state. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from malipo.webhooks.endpoint import Endpoint
from malipo.webhooks.retry_schedule import next_try

_GONE = 410

Key = tuple[str, str]  # endpoint, event


class State(StrEnum):
    PENDING = "PENDING"  # it will be tried
    DELIVERED = "DELIVERED"  # the receiver has answered 2xx
    EXHAUSTED = "EXHAUSTED"  # a dead letter: not tried again, unless it is redelivered


@dataclass(frozen=True, slots=True)
class WebhookMessage:
    """A delivery that a worker has claimed."""

    endpoint: Endpoint
    event_id: str
    event: str
    body: str
    claim: str

    @property
    def key(self) -> Key:
        return self.endpoint.id, self.event_id


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt, and the receiver's answer."""

    key: Key
    claim: str
    id: str
    at: datetime
    took_ms: int
    status: int | None
    headers: Sequence[tuple[str, str]]
    answer: bytes
    error: str | None

    @property
    def ended_at(self) -> datetime:
        return self.at + timedelta(milliseconds=self.took_ms)

    @property
    def is_success(self) -> bool:
        return self.error is None and self.status is not None and 200 <= self.status < 300

    @property
    def is_gone(self) -> bool:
        """The receiver has answered 410 Gone."""
        return self.error is None and self.status == _GONE


@dataclass(frozen=True, slots=True)
class Delivery:
    key: Key
    state: State
    tries: int
    due_at: datetime
    claim: str | None
    is_test: bool = False  # the caller waits for its answer, so it is not retried

    def after(self, attempt: Attempt, retry_seconds: Sequence[int]) -> "Delivery":
        if self.state is State.DELIVERED:
            return self
        if attempt.is_success:
            # True whichever worker has claimed it now: one that was thought dead may have delivered it after all.
            return replace(self, state=State.DELIVERED, tries=self.tries + 1, claim=None)
        if attempt.claim != self.claim:
            return self  # Another worker has claimed it since, and records its own attempt.
        tries = self.tries + 1
        due_at = None if attempt.is_gone or self.is_test else next_try(retry_seconds, tries, attempt.ended_at)
        if due_at is None:
            return replace(self, state=State.EXHAUSTED, tries=tries, claim=None)
        return replace(self, tries=tries, due_at=due_at, claim=None)
