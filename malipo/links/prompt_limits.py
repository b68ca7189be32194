"""How many prompts of pay pages may reach a number, and come from one link or one address: the table. Pure.

Whoever has a link can type anybody's number. So a number that does not answer is left in peace, whichever link it is
asked by. Only pay pages count and are counted: what merchants ask by the API is between them and their customers.
"""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import NamedTuple

from malipo.networks.connector import FailureCode
from malipo.payments.transaction import Status


class Subject(StrEnum):
    NUMBER = "number"  # a phone number, of all links of the installation
    LINK = "link"
    ADDRESS = "address"  # of clients: many customers share one


class Counted(StrEnum):
    UNANSWERED = "unanswered"  # the phone was asked, or is about to be, and nobody has answered
    UNPAID = "unpaid"  # those, and what was declined or could not be paid: somebody was asked who did not pay
    PRESSED = "pressed"  # all that was not paid: each was a payment to write and to tell, also where no phone was asked


class PromptLimit(NamedTuple):
    subject: Subject
    counted: Counted
    most: int
    span: timedelta


HOUR, DAY = timedelta(hours=1), timedelta(days=1)
LIMITS = (
    PromptLimit(Subject.NUMBER, Counted.UNANSWERED, 3, HOUR),
    PromptLimit(Subject.NUMBER, Counted.UNPAID, 5, DAY),
    PromptLimit(Subject.LINK, Counted.UNANSWERED, 300, HOUR),
    PromptLimit(Subject.ADDRESS, Counted.UNANSWERED, 300, HOUR),
    PromptLimit(Subject.LINK, Counted.PRESSED, 400, HOUR),
    PromptLimit(Subject.ADDRESS, Counted.PRESSED, 400, HOUR),
)
# Of a link and of an address so many of the latest prompts are looked at, so that a link that thousands pay costs each
# of them no more than one that nobody pays.
LOOKED_AT = 500

_PRESSED = frozenset({Counted.PRESSED})
_UNPAID = _PRESSED | {Counted.UNPAID}
_ALL = frozenset(Counted)
_NOTHING: frozenset[Counted] = frozenset()
# What a payment that has failed counts as. One with another code may have reached the phone.
_BY_FAILURE: Mapping[str, frozenset[Counted]] = {
    FailureCode.EXPIRED: _ALL,
    FailureCode.DECLINED: _UNPAID,
    FailureCode.INSUFFICIENT_FUNDS: _UNPAID,
    FailureCode.LIMIT_EXCEEDED: _UNPAID,
    FailureCode.REJECTED: _UNPAID,
    # Its network knows nothing of it, or has forgotten it: a phone may have been asked.
    FailureCode.NOT_RECEIVED: _ALL,
    # No phone was asked.
    FailureCode.INVALID_RECIPIENT: _PRESSED,
    FailureCode.CHANNEL_UNAVAILABLE: _PRESSED,
}


def counts_as(status: Status, failure_code: str | None) -> frozenset[Counted]:
    """What the prompt of a payment counts as."""
    match status:
        case Status.PENDING | Status.PROCESSING:
            return _ALL
        case Status.FAILED:
            return _BY_FAILURE.get(failure_code or "", _UNPAID)
        case Status.CANCELLED:  # It was stopped before the phone was asked.
            return _PRESSED
        case Status.COMPLETED:
            return _NOTHING


Counts = Mapping[tuple[Subject, Counted], int]


def limit_met(counts: Counts) -> PromptLimit | None:
    """The first limit that leaves no room for one more prompt. What is not in the counts is 0."""
    return next((each for each in LIMITS if counts.get((each.subject, each.counted), 0) >= each.most), None)
