"""Which exception a line without a place is. Pure."""

from datetime import datetime

from malipo import ids
from malipo.reconciliation.exception import ExceptionKind, FoundException
from malipo.reconciliation.possible_payment import names_customer, names_key
from malipo.reconciliation.store.booked_lines import UnbookedLine
from malipo.reconciliation.store.unmatched_lines import UnmatchedLine

_UNKNOWN = ("other", "reversal", "fee", "sweep")
_BY_WORDS = ("fee", "sweep")


def kind_of(line: UnmatchedLine) -> ExceptionKind:
    # Whatever the words of a line are, it is a payment's if it has exactly what the payment has, and it may be that of
    # one that we have lost if it names a key of ours, or a customer.
    names_payment = line.kind in _BY_WORDS and (names_key(line.key) or names_customer(line.phone))
    if line.kind in _UNKNOWN and not line.candidates and not names_payment:
        return ExceptionKind.UNKNOWN_LINE
    if line.candidates == 0:
        return ExceptionKind.THEIRS_ONLY
    if line.candidates > 1 or line.is_taken:
        return ExceptionKind.TWICE
    return ExceptionKind.AMOUNT_DIFFERS


def exception_of(line: UnmatchedLine, now: datetime) -> FoundException:
    kind = kind_of(line)
    # The ledger has the payment with its own amount, so only the rest is at stake.
    amount = line.amount - line.ledger_amount if kind is ExceptionKind.AMOUNT_DIFFERS else line.amount
    return FoundException(
        id=ids.mint("exc_", now),
        kind=kind,
        channel=line.channel,
        account=line.account,
        line_id=line.line_id,
        merchant_id=line.merchant_id,
        transaction_id=line.transaction_id,
        amount=amount,
    )


def exception_of_possible(line: UnbookedLine, now: datetime) -> FoundException:
    """Of a line that is not booked by its words, because it may be a payment's."""
    return FoundException(
        id=ids.mint("exc_", now),
        kind=ExceptionKind.THEIRS_ONLY,
        channel=line.channel,
        account=line.account,
        line_id=line.line_id,
        amount=line.amount,
    )
