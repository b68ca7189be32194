"""What a press on a link's page may do: the table. Pure.

It is decided under the lock of the link's row, by what is true at that moment. A link that is paid once has one open
attempt at most, whoever presses; a reusable one has one for each number, and what is open and paid never exceeds
`maxPayments`.
"""

from enum import StrEnum

from malipo.links.link import LinkStatus


class Others(StrEnum):
    """What other numbers are doing at a link that is paid once."""

    NONE = "none"
    ASKED = "asked"  # one was asked, and its prompt may still be answered
    DOUBTFUL = "doubtful"  # the prompt of one is over, and whether it has paid is unknown


class PressDecision(StrEnum):
    NEW = "new"  # a new attempt
    SAME = "same"  # the attempt of before
    CANCELLED = "link_cancelled"
    EXPIRED = "link_expired"
    PAID = "link_paid"
    FULL = "link_full"  # every payment that it takes is paid or under way
    BUSY = "link_busy"  # another number is being asked
    DOUBT = "second_number_doubt"  # another number may have paid: press again, knowing that


_CLOSED = {
    LinkStatus.CANCELLED: PressDecision.CANCELLED,
    LinkStatus.EXPIRED: PressDecision.EXPIRED,
    LinkStatus.PAID: PressDecision.PAID,
}


def decide(
    status: LinkStatus,
    *,
    is_reusable: bool,
    is_own_open: bool,  # this number has an open attempt, or this very press has made one
    others: Others,
    is_full: bool,  # of a reusable link: what is open and paid has reached `maxPayments`
    may_be_second: bool,  # the customer was warned that another number may have paid
) -> PressDecision:
    if is_own_open:
        return PressDecision.SAME
    if status in _CLOSED:
        return _CLOSED[status]
    if is_reusable:
        return PressDecision.FULL if is_full else PressDecision.NEW
    if others is Others.ASKED:
        return PressDecision.BUSY
    if others is Others.DOUBTFUL and not may_be_second:
        return PressDecision.DOUBT
    return PressDecision.NEW
