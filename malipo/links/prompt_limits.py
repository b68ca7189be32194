"""The limits of prompts: how many prompts of pay pages may reach a number, and come from one link or address. Pure.

A person with a link can type any number. So a number that does not answer gets no more prompts for a while, from any
link. Only prompts of pay pages count; requests by the API are between merchants and their customers.
"""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import NamedTuple

from malipo.networks.connector import FailureCode
from malipo.payments.transaction import Status


class LimitedSubject(StrEnum):
    NUMBER = "number"  # a phone number, counted over all links of the installation
    LINK = "link"
    ADDRESS = "address"  # of clients: many customers share one


class Counted(StrEnum):
    UNANSWERED = "unanswered"  # the phone shows the prompt, or soon will, and nobody has answered
    UNPAID = "unpaid"  # those, and prompts that were declined or could not be paid
    PRESSED = "pressed"  # those, and payments without a prompt: each cost a payment and its events


class PromptLimit(NamedTuple):
    subject: LimitedSubject
    counted: Counted
    most: int
    span: timedelta


HOUR, DAY = timedelta(hours=1), timedelta(days=1)
LIMITS = (
    PromptLimit(LimitedSubject.NUMBER, Counted.UNANSWERED, 3, HOUR),
    PromptLimit(LimitedSubject.NUMBER, Counted.UNPAID, 5, DAY),
    PromptLimit(LimitedSubject.LINK, Counted.UNANSWERED, 300, HOUR),
    PromptLimit(LimitedSubject.ADDRESS, Counted.UNANSWERED, 300, HOUR),
    PromptLimit(LimitedSubject.LINK, Counted.PRESSED, 400, HOUR),
    PromptLimit(LimitedSubject.ADDRESS, Counted.PRESSED, 400, HOUR),
)
# The count reads so many of the latest prompts of a link or an address, so that a press costs the same on a link that
# thousands pay.
LOOKED_AT = 500

_PRESSED = frozenset({Counted.PRESSED})
_UNPAID = _PRESSED | {Counted.UNPAID}
_ALL = frozenset(Counted)
_NOTHING: frozenset[Counted] = frozenset()
# How a failed payment counts, by its failure code. With any other code it may have reached the phone.
_BY_FAILURE: Mapping[str, frozenset[Counted]] = {
    FailureCode.EXPIRED: _ALL,
    FailureCode.DECLINED: _UNPAID,
    FailureCode.INSUFFICIENT_FUNDS: _UNPAID,
    FailureCode.LIMIT_EXCEEDED: _UNPAID,
    FailureCode.REJECTED: _UNPAID,
    # Its network does not have it, or not any more: the phone may have shown the prompt.
    FailureCode.NOT_RECEIVED: _ALL,
    # No phone showed a prompt.
    FailureCode.INVALID_RECIPIENT: _PRESSED,
    FailureCode.CHANNEL_UNAVAILABLE: _PRESSED,
}


def counts_as(status: Status, failure_code: str | None) -> frozenset[Counted]:
    """How the prompt of a payment counts."""
    match status:
        case Status.PENDING | Status.PROCESSING:
            return _ALL
        case Status.FAILED:
            return _BY_FAILURE.get(failure_code or "", _UNPAID)
        case Status.CANCELLED:  # It was cancelled before its prompt was sent.
            return _PRESSED
        case Status.COMPLETED:
            return _NOTHING


Counts = Mapping[tuple[LimitedSubject, Counted], int]


def limit_met(counts: Counts) -> PromptLimit | None:
    """The first limit that leaves no room for one more prompt. A missing count is 0."""
    return next((each for each in LIMITS if counts.get((each.subject, each.counted), 0) >= each.most), None)
