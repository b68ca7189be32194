"""An entry of the journal: the lines of one step of one cause, on the day in which the books count it. Pure.

Amounts are debits above zero and credits below, so the lines of an entry sum to zero.
"""

from collections.abc import Iterable
from datetime import date, datetime
from enum import StrEnum

import msgspec

from malipo.books.chart import SubAccount, part_of


class EntryKind(StrEnum):
    OPENING = "opening"  # the balances with which a period begins
    COLLECTION = "collection"
    PAYOUT_RESERVED = "payout_reserved"
    PAYOUT_PAID = "payout_paid"
    PAYOUT_GIVEN_BACK = "payout_given_back"
    CONTRADICTION = "contradiction"
    RESOLUTION = "resolution"
    TOP_UP = "top_up"
    SETTLEMENT = "settlement"
    SETTLEMENT_RESERVED = "settlement_reserved"
    SETTLEMENT_PAID = "settlement_paid"
    SETTLEMENT_GIVEN_BACK = "settlement_given_back"
    BANK_TRANSFER = "bank_transfer"
    NETWORK_FEE = "network_fee"
    SWEEP = "sweep"
    LINE = "line"
    BANK_LINE = "bank_line"
    SUSPENSE_RELEASE = "suspense_release"
    SUSPENSE_TAKE_BACK = "suspense_take_back"
    ROUNDING = "rounding"
    OPENING_BALANCE = "opening_balance"
    CAPITAL = "capital"
    INTEREST = "interest"
    OTHER_INCOME = "other_income"
    BANK_CHARGE = "bank_charge"
    TAX = "tax"
    VAT = "vat"
    VAT_PAYMENT = "vat_payment"
    UNDO = "undo"
    LATE = "late"  # late moves of a closed day that cannot be separated: out of that day, into the next one
    OTHER = "other"


class MovedAmount(msgspec.Struct, frozen=True):
    """A move of the ledger, or a sum of equal ones."""

    source: str
    target: str
    channel: str | None
    amount: int


class Line(msgspec.Struct, frozen=True):
    account: SubAccount
    amount: int


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    day: date
    kind: EntryKind
    lines: tuple[Line, ...]
    id: str = ""  # the cause of the moves and its step
    merchant_id: str = ""
    reference: str = ""  # the payment's or the bank's
    receipt: str = ""  # the network's
    late_of: date | None = None  # the closed day that it belongs to: it was committed after the close
    refund_of: str = ""  # of a refund: the collection
    is_adopted: bool = False  # the payment, or the settlement, was lost, and is here by a statement
    at: datetime | None = None  # when it was moved; None: it is of a whole day
    evidence: str = ""  # of what operators decided, or what the network has said that made a contradiction


def lines_of(moves: Iterable[MovedAmount], merchant_id: str) -> tuple[Line, ...]:
    """The lines of some moves, one for each account: debits first."""
    amounts: dict[SubAccount, int] = {}
    for move in moves:
        for account, amount in ((move.source, move.amount), (move.target, -move.amount)):
            part = part_of(account, merchant_id=merchant_id, channel=move.channel)
            amounts[part] = amounts.get(part, 0) + amount
    lines = [Line(account, amount) for account, amount in amounts.items() if amount]
    return tuple(sorted(lines, key=lambda each: (each.amount < 0, each.account)))


# Of a merchant's moves, by their step and by the two accounts of the first one.
_STEPS = {
    "contradiction": EntryKind.CONTRADICTION,
    "resolution": EntryKind.RESOLUTION,
    "return": EntryKind.SETTLEMENT_GIVEN_BACK,
}
_ROUTES = {
    ("float", "wallet"): EntryKind.COLLECTION,
    ("float", "fees"): EntryKind.COLLECTION,
    ("wallet", "in_flight"): EntryKind.PAYOUT_RESERVED,
    ("in_flight", "float"): EntryKind.PAYOUT_PAID,
    ("in_flight", "fees"): EntryKind.PAYOUT_PAID,
    ("in_flight", "wallet"): EntryKind.PAYOUT_GIVEN_BACK,
    ("bank", "wallet"): EntryKind.TOP_UP,
    ("wallet", "bank"): EntryKind.SETTLEMENT,
    ("suspense", "wallet"): EntryKind.SUSPENSE_RELEASE,
    ("wallet", "suspense"): EntryKind.SUSPENSE_TAKE_BACK,
    ("wallet", "in_settlement"): EntryKind.SETTLEMENT_RESERVED,
    ("in_settlement", "bank"): EntryKind.SETTLEMENT_PAID,
    ("in_settlement", "fees"): EntryKind.SETTLEMENT_PAID,
    ("in_settlement", "wallet"): EntryKind.SETTLEMENT_GIVEN_BACK,
    ("bank", "in_settlement"): EntryKind.SETTLEMENT_GIVEN_BACK,
    ("fees", "in_settlement"): EntryKind.SETTLEMENT_GIVEN_BACK,
}


def kind_of(step: str, move: MovedAmount) -> EntryKind:
    return _STEPS.get(step) or _ROUTES.get((move.source, move.target), EntryKind.OTHER)


def kind_of_house_booking(kind: str) -> EntryKind:
    """A kind that a newer version has written is `other`."""
    return next((each for each in EntryKind if each == kind), EntryKind.OTHER)
