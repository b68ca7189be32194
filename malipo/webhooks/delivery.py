"""One event to one endpoint: what a try does to it. Pure."""

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
    DELIVERED = "DELIVERED"  # the receiver has said yes
    EXHAUSTED = "EXHAUSTED"  # it will not be tried again, unless somebody asks for it


@dataclass(frozen=True, slots=True)
class WebhookMessage:
    """A delivery that a worker has in hand."""

    endpoint: Endpoint
    event_id: str
    event: str
    body: str
    claim_id: str

    @property
    def key(self) -> Key:
        return self.endpoint.id, self.event_id


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try, and what was answered."""

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
        """The receiver says that there will never be anybody here."""
        return self.error is None and self.http_status == _GONE


@dataclass(frozen=True, slots=True)
class Delivery:
    key: Key
    state: State
    attempt_count: int
    due_at: datetime
    claim_id: str | None
    is_test: bool = False  # somebody waits for its answer; a second try would answer nobody

    def after(self, attempt: Attempt, retry_seconds: Sequence[int]) -> "Delivery":
        if self.state is State.DELIVERED:
            return self
        if attempt.is_success:
            # True whoever has it now: a worker that was thought dead may have delivered it after all.
            return replace(self, state=State.DELIVERED, attempt_count=self.attempt_count + 1, claim_id=None)
        if attempt.claim_id != self.claim_id:
            return self  # Somebody else has tried it since, or does now, and says what came of it.
        attempt_count = self.attempt_count + 1
        due_at = None if attempt.is_gone or self.is_test else next_try(retry_seconds, attempt_count, attempt.ended_at)
        if due_at is None:
            return replace(self, state=State.EXHAUSTED, attempt_count=attempt_count, claim_id=None)
        return replace(self, attempt_count=attempt_count, due_at=due_at, claim_id=None)
