"""Pairs lines of statements with the bank transfers that operators have booked. Pure."""

from collections.abc import Iterable, Sequence
from datetime import timedelta

from malipo.reconciliation.matching.possible_payment import may_be_payment
from malipo.reconciliation.matching.store.transfers import BankTransferLine, BookedTransfer

# Banks take a weekend.
_DAYS = timedelta(days=3)


def pair_transfers(lines: Sequence[BankTransferLine], transfers: Sequence[BookedTransfer]) -> list[tuple[int, str]]:
    """Pair lines and transfers. A line of the network's own statement comes first, and replaces one of an operator's
    file."""
    pairs = _pair([each for each in lines if each.is_own], transfers)
    paired, placed = {booking_id for _, booking_id in pairs}, {line_id for line_id, _ in pairs}
    free = [each for each in transfers if each.line_id is None and each.booking_id not in paired]
    return pairs + _pair([each for each in lines if each.line_id not in placed], free)


def _pair(lines: Sequence[BankTransferLine], transfers: Sequence[BookedTransfer]) -> list[tuple[int, str]]:
    """Pair by the bank's reference, else by amount and day if only one fits. Amounts are exact. A line that may be a
    payment's is paired by the reference only."""
    pairs: list[tuple[int, str]] = []
    left = {each.booking_id: each for each in transfers}
    unpaired: list[BankTransferLine] = []
    for line in lines:
        named = [each for each in _of_amount(line, left.values()) if each.reference in line.words]
        if len(named) == 1:
            pairs.append((line.line_id, named[0].booking_id))
            del left[named[0].booking_id]
        elif not may_be_payment("bank", line.amount, key=line.key, phone=line.phone):
            unpaired.append(line)
    near = {line.line_id: _near(line, left.values()) for line in unpaired}
    for line in unpaired:
        if len(near[line.line_id]) == 1:
            [transfer] = near[line.line_id]
            if sum(transfer in found for found in near.values()) == 1:
                pairs.append((line.line_id, transfer.booking_id))
    return pairs


def _of_amount(line: BankTransferLine, transfers: Iterable[BookedTransfer]) -> list[BookedTransfer]:
    return [each for each in transfers if (each.channel, each.amount) == (line.channel, line.amount)]


def _near(line: BankTransferLine, transfers: Iterable[BookedTransfer]) -> list[BookedTransfer]:
    return [each for each in _of_amount(line, transfers) if abs(each.day - line.day) <= _DAYS]
