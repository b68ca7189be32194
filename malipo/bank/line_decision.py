"""What a line of a bank's statement means. Pure: lines and facts go in, and one decision for each line comes out.

The statement decides, and only with exact amounts: a debit with the key of a settlement that was sent completes it, and
a credit with the key of one that was paid gives it back, once. Everything else is an exception that operators decide.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import date
from enum import StrEnum

import msgspec

from malipo.bank.payout_file import FileStatus
from malipo.settlement.settlement import SettlementStatus

# 16 characters of Crockford's base 32: a settlement's key, perhaps of one that a restored database does not have.
_LIKE_A_KEY = re.compile(r"[0-9A-HJKMNP-TV-Z]{16}", re.ASCII)


class Meaning(StrEnum):
    """What a line is."""

    DEBIT = "debit"  # a settlement was paid
    SUM = "sum"  # all of a file's settlements that are open were paid in one sum
    RETURN = "return"  # a settlement's money came back
    BOOKING = "booking"  # a top-up, a transfer or another booking that operators made
    EXCEPTION = "exception"


class BankExceptionKind(StrEnum):
    """Why a line has no place."""

    NOT_SENT = "not_sent"  # our key, and by our books it was not sent: paid before a restore, or against our will
    UNKNOWN_KEY = "unknown_key"  # like a key of ours, and we have none such
    TWICE = "twice"  # a second debit with one key, or a file that was paid again
    OTHER_AMOUNT = "other_amount"
    OTHER_ACCOUNT = "other_account"  # paid from another account than its file names
    SUM_DIFFERS = "sum_differs"  # the MsgId of a file, and not the sum of its open transfers
    RETURN_WITHOUT_DEBIT = "return_without_debit"
    RETURNED_TWICE = "returned_twice"
    WHICH_RETURN = "which_return"  # it was debited twice, and one of the two came back: the merchant's, or ours
    BOOKED_TOO = "booked_too"  # the return of a settlement, and a booking has its reference and amount
    UNKNOWN_DEBIT = "unknown_debit"
    UNKNOWN_CREDIT = "unknown_credit"


class BankLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line that has no place yet."""

    id: int
    payer_account_id: str
    booked_on: date
    cents: int
    reference: str = ""
    key: str = ""
    message_id: str = ""
    reason: str = ""
    is_reversal: bool = False
    details: str = ""


class SettlementFact(msgspec.Struct, kw_only=True):
    id: str
    merchant_id: str
    key: str
    net: int
    status: SettlementStatus
    payer_account_id: str | None = None  # from which it was paid, or is to be paid
    has_debit: bool = False  # a line has it as paid
    has_return: bool = False
    is_paid_again: bool = False  # another debit of it has not come back


class FileFact(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    message_id: str
    status: FileStatus
    payer_account_id: str
    settlement_ids: tuple[str, ...]


class BookingFact(msgspec.Struct, frozen=True, kw_only=True):
    """A booking that moved the bank, and that no line has."""

    id: str
    reference: str
    cents: int  # of our account at the bank: above 0 came in


class LineCandidates(msgspec.Struct, frozen=True):
    settlements: Sequence[SettlementFact] = ()
    files: Sequence[FileFact] = ()
    bookings: Sequence[BookingFact] = ()


class LineDecision(msgspec.Struct, frozen=True, kw_only=True):
    line: BankLine
    meaning: Meaning
    settlement_ids: tuple[str, ...] = ()  # which the line ends; of an exception, which it names
    booking_id: str | None = None
    kind: BankExceptionKind | None = None


def decide(lines: Iterable[BankLine], facts: LineCandidates) -> list[LineDecision]:
    """A decision for each line, in the order of their days: a debit comes before its return, whichever file came
    first."""
    return _Book(facts).decide(lines)


class _Book:
    """What is known, and what the lines before have changed of it."""

    def __init__(self, facts: LineCandidates) -> None:
        copies = [msgspec.structs.replace(each) for each in facts.settlements]
        self._by_key = {each.key: each for each in copies}
        self._by_id = {each.id: each for each in copies}
        self._files = {each.message_id: each for each in facts.files}
        self._bookings = {each.id: each for each in facts.bookings}

    def decide(self, lines: Iterable[BankLine]) -> list[LineDecision]:
        # Of one day the debits come first. The id is the order of the file.
        ordered = sorted(lines, key=lambda each: (each.booked_on, each.cents > 0, each.id))
        return [self._one(each) for each in ordered]

    def _one(self, line: BankLine) -> LineDecision:
        settlement = self._by_key.get(line.key)
        if settlement is not None:
            return self._debit(line, settlement) if line.cents < 0 else self._credit(line, settlement)
        file = self._files.get(line.message_id) or self._files.get(line.key)
        if file is not None and not _names_another_key(line, file):
            return self._sum(line, file)
        return self._booking(line) or _exception(line, self._unknown(line))

    def _debit(self, line: BankLine, settlement: SettlementFact) -> LineDecision:
        kind = _why_not_debit(line, settlement)
        if kind is not None:
            settlement.is_paid_again |= kind is BankExceptionKind.TWICE
            return _exception(line, kind, settlement.id)
        settlement.status, settlement.has_debit = SettlementStatus.COMPLETED, True
        return LineDecision(line=line, meaning=Meaning.DEBIT, settlement_ids=(settlement.id,))

    def _credit(self, line: BankLine, settlement: SettlementFact) -> LineDecision:
        kind = _why_not_return(line, settlement)
        if kind is None and self._bookings_of(line):
            kind = BankExceptionKind.BOOKED_TOO  # Somebody has given it back by hand: the wallet must not get it twice.
        if kind is not None:
            return _exception(line, kind, settlement.id)
        settlement.status, settlement.has_return = SettlementStatus.RETURNED, True
        return LineDecision(line=line, meaning=Meaning.RETURN, settlement_ids=(settlement.id,))

    def _sum(self, line: BankLine, file: FileFact) -> LineDecision:
        """One sum for a file: it pays those of its settlements that are sent, if it is exactly their sum."""
        all_ = [self._by_id[each] for each in file.settlement_ids]
        open_ = [each for each in all_ if each.status is SettlementStatus.SENT and not each.has_debit]
        if line.cents > 0:
            return _exception(line, BankExceptionKind.UNKNOWN_CREDIT)
        if file.status is not FileStatus.APPROVED:
            return _exception(line, BankExceptionKind.NOT_SENT, *file.settlement_ids)
        if file.payer_account_id != line.payer_account_id:
            return _exception(line, BankExceptionKind.OTHER_ACCOUNT)
        if not open_:
            for each in all_:
                each.is_paid_again = True
            return _exception(line, BankExceptionKind.TWICE)
        if -line.cents != 100 * sum(each.net for each in open_):
            return _exception(line, BankExceptionKind.SUM_DIFFERS)
        for each in open_:
            each.status, each.has_debit = SettlementStatus.COMPLETED, True
        return LineDecision(line=line, meaning=Meaning.SUM, settlement_ids=tuple(each.id for each in open_))

    def _booking(self, line: BankLine) -> LineDecision | None:
        """The booking with the bank's reference and the exact amount. Two that fit are none: nobody could say which."""
        found = self._bookings_of(line)
        if len(found) != 1:
            return None
        del self._bookings[found[0].id]
        return LineDecision(line=line, meaning=Meaning.BOOKING, booking_id=found[0].id)

    def _bookings_of(self, line: BankLine) -> list[BookingFact]:
        references = {line.reference, line.key} - {""}
        return [each for each in self._bookings.values() if each.reference in references and each.cents == line.cents]

    def _unknown(self, line: BankLine) -> BankExceptionKind:
        references = {line.reference, line.key} - {""}
        if any(each.reference in references for each in self._bookings.values()):
            return BankExceptionKind.OTHER_AMOUNT
        if line.cents > 0:
            return BankExceptionKind.UNKNOWN_CREDIT
        # A sum of a file has only its MsgId, which looks the same.
        is_key = any(map(_LIKE_A_KEY.fullmatch, (line.key, line.message_id)))
        return BankExceptionKind.UNKNOWN_KEY if is_key else BankExceptionKind.UNKNOWN_DEBIT


def _names_another_key(line: BankLine, file: FileFact) -> bool:
    """Whether a line with the MsgId of a file is one transfer with a key that nobody knows, and not the file's sum."""
    return line.key not in ("", file.message_id) and _LIKE_A_KEY.fullmatch(line.key) is not None


def _why_not_debit(line: BankLine, settlement: SettlementFact) -> BankExceptionKind | None:
    if settlement.has_debit:
        return BankExceptionKind.TWICE
    if settlement.status is not SettlementStatus.SENT:
        return BankExceptionKind.NOT_SENT
    if -line.cents != settlement.net * 100:
        return BankExceptionKind.OTHER_AMOUNT
    if line.payer_account_id != settlement.payer_account_id:
        return BankExceptionKind.OTHER_ACCOUNT
    return None


def _why_not_return(line: BankLine, settlement: SettlementFact) -> BankExceptionKind | None:
    if settlement.has_return:
        return BankExceptionKind.RETURNED_TWICE
    if not settlement.has_debit:
        return BankExceptionKind.RETURN_WITHOUT_DEBIT
    if line.cents != settlement.net * 100:
        return BankExceptionKind.OTHER_AMOUNT
    if line.payer_account_id != settlement.payer_account_id:
        return BankExceptionKind.OTHER_ACCOUNT
    if settlement.is_paid_again:
        return BankExceptionKind.WHICH_RETURN
    return None


def _exception(line: BankLine, kind: BankExceptionKind, *settlement_ids: str) -> LineDecision:
    return LineDecision(line=line, meaning=Meaning.EXCEPTION, kind=kind, settlement_ids=settlement_ids)
