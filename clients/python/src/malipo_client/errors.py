"""What can go wrong, by what a program would do about it.

    MalipoError
    ├── ApiError                  the service answered, and did not do it
    │   ├── InvalidRequest        400, 405, 413: correct the request; `details` names every bad field
    │   │   ├── InsufficientBalance
    │   │   ├── CursorExpired     begin the feed again without `after`
    │   │   └── CursorLost        the service was restored from a backup: go on from `go_on`
    │   ├── AuthenticationFailed  401: the API key
    │   ├── PermissionDenied      403: what this key may do
    │   ├── NotFound              404
    │   ├── Conflict              409: it contradicts what already happened
    │   │   └── IdempotencyKeyReused
    │   ├── RateLimited           429: wait `retry_after` seconds
    │   └── Unavailable           408 and 5xx: not now; send it again with the same `idempotency_key`
    │       └── OutcomeUnknown    it may have been done; the same. Also when the answer to a try was lost and the
    │                             next try was refused: the refusal is its `__cause__`
    ├── ConnectionFailed          no answer; it may have been done if `was_sent`
    ├── NotEndedYet               the payment that was waited for has not ended
    └── InvalidWebhook            not signed with your secret, too old, or no event

Every error of a call that moves money has the `idempotency_key` that was sent. Send the call again with that key, in a
minute or in a week, and it cannot pay twice.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from malipo_client.records import Transaction
    from malipo_client.request import Answer


class MalipoError(Exception):
    """Any error of this client."""

    idempotency_key: str | None = None


class ConnectionFailed(MalipoError):
    """The service gave no answer that can be read."""

    def __init__(self, message: str, *, was_sent: bool) -> None:
        super().__init__(message)
        self.was_sent = was_sent


class NotEndedYet(MalipoError):
    """The payment may still end in any way. Wait again, or let a webhook tell."""

    def __init__(self, transaction: Transaction) -> None:
        super().__init__(f"The payment {transaction.reference} is still {transaction.status}.")
        self.transaction = transaction


class InvalidWebhook(MalipoError):
    """Do not believe it: do nothing, and answer with `status`.

    400: it is malformed. 401: the signature or the time is wrong.
    """

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class ApiError(MalipoError):
    """The service answered with an error. `str(error)` is its sentence, `code` is for programs."""

    def __init__(
        self,
        message: str,
        *,
        status: int,
        code: str,
        details: dict[str, list[str]],
        request_id: str | None,
        retry_after: int | None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.details = details
        self.request_id = request_id  # Quote it when you ask for help.
        self.retry_after = retry_after

    def __str__(self) -> str:
        return " ".join([self.message, *(words for each in self.details.values() for words in each)])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.status} {self.code}: {self}; request {self.request_id})"


class InvalidRequest(ApiError):
    """400, 405, 413: correct the request; `details` names every bad field. Nothing was done."""


class InsufficientBalance(InvalidRequest):
    """The wallet does not hold enough. Nothing was done."""


class CursorExpired(InvalidRequest):
    """Begin the feed again without `after`."""


class CursorLost(InvalidRequest):
    """The service was restored from a backup: go on from `go_on`."""

    @property
    def go_on(self) -> str | None:
        """The cursor to go on from, once you have looked up the payments of the lost time."""
        return next(iter(self.details.get("goOn", [])), None)


class AuthenticationFailed(ApiError):
    """401: the API key is missing, unknown, expired or revoked. Nothing was done."""


class PermissionDenied(ApiError):
    """403: the key lacks a permission, or the payout is above its limit. Nothing was done."""


class NotFound(ApiError):
    """404: there is no such thing, or it is not yours."""


class Conflict(ApiError):
    """409: it contradicts what already happened. Nothing was done."""


class IdempotencyKeyReused(Conflict):
    """The Idempotency-Key was used for another request."""


class RateLimited(ApiError):
    """429: wait `retry_after` seconds. Nothing was done."""


class Unavailable(ApiError):
    """408 and 5xx: not now. Send it again with the same `idempotency_key`."""


class OutcomeUnknown(Unavailable):
    """It may have been done: send it again with the same `idempotency_key`.

    If a try had no answer and the next one was refused, `__cause__` is the refusal.
    """


_BY_CODE = {
    "insufficient_balance": InsufficientBalance,
    "cursor_expired": CursorExpired,
    "cursor_lost": CursorLost,
    "idempotency_key_reused": IdempotencyKeyReused,
    "outcome_unknown": OutcomeUnknown,
}
_BY_STATUS = {
    401: AuthenticationFailed,
    403: PermissionDenied,
    404: NotFound,
    408: Unavailable,
    409: Conflict,
    429: RateLimited,
}


def error_of(answer: Answer) -> ApiError:
    """The error that an answer is. A proxy's page in place of an answer is one too."""
    code = answer.headers.get("x-error-code", "")
    kind = _BY_CODE.get(code) or _BY_STATUS.get(answer.status) or _by_hundred(answer.status)
    message, details = _words_of(answer)
    return kind(
        message,
        status=answer.status,
        code=code or f"http_{answer.status}",
        details=details,
        request_id=answer.headers.get("x-request-id"),
        retry_after=_seconds(answer.headers.get("retry-after", "")),
    )


def _by_hundred(status: int) -> type[ApiError]:
    if status >= 500:
        return Unavailable
    return InvalidRequest if 400 <= status < 500 else ApiError


def _words_of(answer: Answer) -> tuple[str, dict[str, list[str]]]:
    try:
        told: Any = json.loads(answer.body)
        details = {str(field): [str(each) for each in words] for field, words in told.get("details", {}).items()}
        return str(told["error"]), details
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return f"The service answered HTTP {answer.status}.", {}


def _seconds(retry_after: str) -> int | None:
    return int(retry_after) if retry_after.isascii() and retry_after.isdigit() and len(retry_after) < 10 else None
