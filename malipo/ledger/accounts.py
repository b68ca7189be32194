"""Accounts, and moves between them. Pure: nothing here reads or writes.

A move takes an amount from one account and gives it to another, so all balances always sum to zero. A positive
balance is money the house owes (a wallet) or has earned (fees); a negative one is money the house holds
somewhere else (a network's float, the bank) or has spent (what networks charged). What a wallet may spend: `wallet.py`.
"""

from collections.abc import Sequence
from enum import StrEnum

import msgspec

HOUSE = "house"  # instead of a merchant's id, for moves that concern no merchant. It has no wallet.


class Account(StrEnum):
    WALLET = "wallet"  # what a merchant may spend
    IN_FLIGHT = "in_flight"  # a merchant's money in payouts that have not ended
    IN_SETTLEMENT = "in_settlement"  # a merchant's money in settlements to its bank that have not ended
    FLOAT = "float"  # what a network holds for us, one for each channel
    BANK = "bank"  # what operators brought in and took out
    FEES = "fees"  # what the house has earned
    SUSPENSE = "suspense"  # money whose owner is not decided yet
    LOSSES = "losses"  # written off: what the house has paid instead of somebody else
    NETWORK_FEES = "network_fees"  # what networks have charged the house
    ROUNDING = "rounding"  # shillings that cents of statements add up to, and that no booking of them has
    EQUITY = "equity"  # what was there at the beginning, and what the owners have put in or taken out since
    INTEREST = "interest"  # what the bank has paid the house
    OTHER_INCOME = "other_income"
    BANK_CHARGES = "bank_charges"  # what the bank has charged the house
    TAXES = "taxes"  # what the house has paid in taxes
    VAT = "vat"  # the VAT in invoiced fees, which the house owes to the state


class Step(StrEnum):
    """Which step of its cause a move belongs to. A payment opens and ends once; its corrections have ordinals."""

    OPEN = "open"
    END = "end"
    CONTRADICTION = "contradiction"  # the network reports another outcome than before, and its float follows
    RESOLUTION = "resolution"  # it is decided whose money that is, or whose loss
    BOOKING = "booking"
    RETURN = "return"  # the bank gives a settlement back


class Move(msgspec.Struct, frozen=True):
    source: Account
    target: Account
    amount: int
    channel: str | None = None  # which float, when one of the two is a float

    def __post_init__(self) -> None:
        assert self.amount > 0, "a move of nothing is no move"
        assert self.source is not self.target, "a move goes somewhere"
        assert (self.channel is not None) == (Account.FLOAT in (self.source, self.target))

    def change_of(self, account: Account) -> int:
        """What this move does to an account's balance."""
        if account is self.target:
            return self.amount
        return -self.amount if account is self.source else 0


class Posting(msgspec.Struct, frozen=True):
    """The moves of one step of one cause."""

    merchant_id: str
    cause_id: str
    step: Step
    moves: Sequence[Move]
    ordinal: int = 1
    owed: int = 0  # how much more the wallet owes afterwards; negative: less
