"""A line of a network's statement, in our own terms. Pure."""

from datetime import datetime
from enum import StrEnum

import msgspec

from malipo.errors import Problem


class LineKind(StrEnum):
    """What kind of movement a line is."""

    MONEY = "money"  # a payment: from a customer, or to one
    FEE = "fee"  # the network's charge for a payment; the line has that payment's receipt
    SWEEP = "sweep"  # between our own accounts at the network
    BANK = "bank"  # to or from our bank
    REVERSAL = "reversal"  # a payment that was taken back
    OTHER = "other"


class StatementLine(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    row: int  # number of the row in the file, from 1
    receipt: str  # not unique: a payment and its fee share one
    at: datetime
    amount: int  # change of the account: above 0 came in, below 0 went out
    kind: LineKind
    details: str = ""
    key: str = ""  # our own, where the network repeats it
    phone: str = ""  # as the file has it, often masked
    linked: str = ""  # the receipt of the payment that a reversal takes back
    balance: int | None = None  # balance of the account after this line
    cents: int = 0  # the network wrote amount * 100 + cents; the amount is the nearest, and never 0
    balance_cents: int = 0
    word: str = ""  # of the status, if operators said that it means that money moved


class BadLine(msgspec.Struct, frozen=True, gc=False):
    """A line that cannot be read. The file is refused, and says why for each."""

    row: int
    why: Problem
