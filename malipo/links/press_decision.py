"""What a press on a link's page may do: the table. Pure.

The caller has locked the link's row. A link that is paid once has at most one open attempt. A reusable link has at most
one for each number, and its open and paid attempts together never exceed `maxPayments`.
"""

from enum import StrEnum

from malipo.links.link import LinkStatus


class Others(StrEnum):
    """The open attempts of other numbers, or of other browsers, at a link that is paid once."""

    NONE = "none"
    ASKED = "asked"  # the prompt of one may still be answered
    DOUBTFUL = "doubtful"  # their prompts have ended, and it is unknown whether one has paid


class PressDecision(StrEnum):
    NEW = "new"  # a new attempt
    SAME = "same"  # the earlier attempt
    CANCELLED = "link_cancelled"
    EXPIRED = "link_expired"
    PAID = "link_paid"
    FULL = "link_full"  # every payment that it takes is paid or under way
    BUSY = "link_busy"  # a number is being asked by another browser
    DOUBT = "second_number_doubt"  # a number may have paid: the customer must confirm the risk


_CLOSED = {
    LinkStatus.CANCELLED: PressDecision.CANCELLED,
    LinkStatus.EXPIRED: PressDecision.EXPIRED,
    LinkStatus.PAID: PressDecision.PAID,
}


def decide(
    status: LinkStatus,
    *,
    is_reusable: bool,
    is_own_open: bool,  # this browser has begun the open attempt of this number, or an earlier try of this press has
    others: Others,
    is_full: bool,  # of a reusable link: its open and paid attempts have reached `maxPayments`
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
