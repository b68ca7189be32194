"""Whether the bank has perhaps paid a settlement by a debit that has not completed it. Pure.

Then it is not sent, not refused and not cancelled: the bank would have paid it twice, or the merchant would have its
money twice. A debit is perhaps of a settlement if it has its key, or the MsgId of a file that was voided with it. One
that is completed was perhaps paid again, also by a second sum of its file.
"""

from collections.abc import Iterable
from typing import NamedTuple

# Of a line that operators have booked to accounts of the house, or that a booking of theirs was.
_BOOKED = ("house", "booking")


class KnownAtBank(NamedTuple):
    """A settlement, as the bank can know it."""

    settlement_id: str
    key: str
    is_completed: bool


class Trace(NamedTuple):
    """Lines on statements that have the key of a settlement, or the MsgId of its file, and that became the same."""

    is_alone: bool  # no other key is on the line: it is of this settlement, or the sum of its file
    is_of_voided_file: bool
    meaning: str | None  # what the lines were matched with; None: nothing
    cents: int  # of all these lines: below 0 went out
    has_debit: bool


def is_perhaps_paid(traces: Iterable[Trace], *, also_booked: bool = True) -> bool:
    """`also_booked`: what operators have booked to the house was paid all the same, unless as much came back and was
    booked too."""
    booked = 0
    for each in traces:
        if each.meaning is None and each.has_debit and (each.is_alone or each.is_of_voided_file):
            return True
        if each.is_alone and each.meaning in _BOOKED:
            booked += each.cents
    return also_booked and booked < 0
