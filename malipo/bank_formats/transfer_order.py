"""What a payout file orders: which account pays, and which transfers. Pure.

Every format is written from the same values, in the same order, and takes nothing from elsewhere: no clock, no chance.
The same order always has the same bytes.
"""

from datetime import date, datetime

import msgspec


class TransferOrder(msgspec.Struct, frozen=True, kw_only=True):
    """One transfer to a merchant's bank account."""

    key: str  # the EndToEndId, 16 characters
    amount: int  # whole shillings
    name: str  # of the account's holder
    bic: str
    account: str  # the number, as text: letters and leading zeros occur
    text: str  # what the receiver reads


class FileOrder(msgspec.Struct, frozen=True, kw_only=True):
    """A payout file: transfers of one of our bank accounts on one day."""

    message_id: str  # 16 characters, so that a statement in MT940 has all of it
    created_at: datetime
    pays_on: date
    payer_name: str
    payer_bic: str
    payer_account: str
    books_one_sum: bool | None = None  # what the bank is asked for; None: it does as agreed with it
    urgent_above: int | None = None  # transfers above this amount go by the real-time rail
    transfers: tuple[TransferOrder, ...]

    @property
    def total(self) -> int:
        return sum(each.amount for each in self.transfers)
