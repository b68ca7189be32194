"""Errors of requests, which are returned or raised.

    Refusal                 we will not do it, and nothing has changed
    ├── Invalid             a field is wrong; every wrong field is named at once
    ├── Missing             there is no such thing, or it belongs to another merchant
    ├── Conflict            it contradicts what already happened
    ├── Unauthorized        we do not know who asks
    ├── Forbidden           we know who asks, and they may not
    ├── BodyTooSlow         the request began, and its body did not come
    └── TooMany             not so often; says how long to wait
    Unavailable             we cannot do it now; nothing has changed, except perhaps by the second of these:
    ├── QueryTimeout        it would take too long, and was stopped
    └── OutcomeUnknown      we do not know whether it was done; ask again with the same key
    Impossible              the machine does not allow it: a port, a file, another program
    InvariantBroken         something that is always so is not: a mistake of ours, and nothing is committed

Narrower meanings live beside the code that raises them. This file knows nothing of HTTP: the statuses stand
in `api/errors.py`.

A refusal that the API never answers has a code and values, and no sentence: the sentences are in `malipo/words`, and
each door (a page, the terminal) says them in its language. One that the API answers has its sentence with it, since
that is a part of the contract; pages have a sentence of their own for its code, in `dashboard/form_errors.py`. See
docs/decisions/0049-codes-inside-sentences-at-the-doors.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

Details = Mapping[str, Sequence[str]]


class Code(StrEnum):
    """Codes of a package, each with a sentence in `malipo/words`. No two packages have the same code."""


@dataclass(frozen=True, init=False)
class Problem:
    """Something that is wrong: its code, and the values that belong into the sentence of that code."""

    code: Code
    values: Mapping[str, object]

    def __init__(self, code: Code, /, **values: object) -> None:
        object.__setattr__(self, "code", code)
        object.__setattr__(self, "values", values)


class Refusal(Exception):  # noqa: N818 - a refusal is an answer, and only sometimes raised.
    """A code, and the values of its sentence; of the API, a sentence for the merchant's developer."""

    code = "refused"

    def __init__(
        self,
        message: str = "",
        *,
        code: str | None = None,
        details: Details | None = None,
        problems: Sequence[Problem] = (),  # one by one, what led to it
        **values: object,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        self.problems = tuple(problems)
        self.values = values
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        """The error in words, for logs and tracebacks."""
        return self.message or " ".join([self.code, *(f"{name}={value!r}" for name, value in self.values.items())])


class Invalid(Refusal):
    code = "validation_failed"


class Missing(Refusal):
    code = "not_found"


class Conflict(Refusal):
    code = "conflict"


class Unauthorized(Refusal):
    code = "invalid_api_key"
    scheme = "ApiKey"  # what would have been accepted


class Forbidden(Refusal):
    code = "forbidden"


class BodyTooSlow(Refusal):
    code = "body_too_slow"


class TooMany(Refusal):
    code = "rate_limited"

    def __init__(self, message: str, *, retry_after_seconds: int) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class Unavailable(Exception):  # noqa: N818
    """Nothing was done, unless it is OutcomeUnknown. Try again after `retry_after_seconds`."""

    code = "unavailable"
    retry_after_seconds = 5

    def __init__(self, message: str = "The service is temporarily unavailable. Nothing was done; try again.") -> None:
        super().__init__(message)
        self.message = message


class QueryTimeout(Unavailable):
    """The database ended a statement that took longer than people's statements may."""

    code = "query_timeout"

    def __init__(self) -> None:
        super().__init__(
            "This took too long and was stopped. Nothing was changed; ask for less, such as a shorter range of time."
        )


class OutcomeUnknown(Unavailable):
    """The connection was lost during COMMIT: it may have been done."""

    code = "outcome_unknown"

    def __init__(self) -> None:
        super().__init__(
            "It is not known whether this was done. Send it again with the same Idempotency-Key, "
            "or look whether it was done, before you start anew."
        )


class Impossible(Exception):  # noqa: N818
    """The process cannot go on. The text is one sentence for the operator."""


class InvariantBroken(AssertionError):  # noqa: N818
    """What the code relies on is not so. The transaction is rolled back."""


def ensure(holds: bool, sentence: str) -> None:
    """An `assert` that Python never leaves out: for what guards money, such as the number of rows that were written."""
    if not holds:
        raise InvariantBroken(sentence)
