"""Transfers between a network and the bank, with the bank's reference. The same reference books once."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from malipo import clock, ids
from malipo.db import Tx
from malipo.errors import Conflict
from malipo.ledger import house_bookings
from malipo.ledger.accounts import Account
from malipo.ledger.bookings import BookingRefusal, ReferenceReused
from malipo.ledger.house_bookings import ID_PREFIX, HouseBooking
from malipo.ledger.store import house_bookings as store
from malipo.ledger.store.closed_days import first_open_day


class TransferKind(StrEnum):
    TO_BANK = "to_bank"  # the network paid out to our bank account
    FROM_BANK = "from_bank"  # we paid from the bank into our account at the network


@dataclass(frozen=True, slots=True)
class Transfer:
    """A transfer, identified by its channel and its bank reference."""

    kind: TransferKind
    channel: str
    account: str  # which account, if we have several at that network
    amount: int
    bank_reference: str
    merchant_id: None = None  # A transfer concerns no merchant.

    @property
    def change(self) -> int:
        """The change of the network's account."""
        return self.amount if self.kind is TransferKind.FROM_BANK else -self.amount


async def is_booked(tx: Tx, transfer: Transfer) -> bool:
    """Whether this transfer was booked and not undone. The same reference for another transfer is a conflict."""
    found = [
        house_bookings.booking_of(row)
        for row in await store.find_transfers(tx, transfer.channel, transfer.bank_reference)
    ]
    if found and [(each.change, each.account) for each in found] != [(transfer.change, transfer.account)]:
        raise ReferenceReused(code=BookingRefusal.BOOKED_OTHERWISE, reference=transfer.bank_reference)
    return bool(found)


async def book(
    tx: Tx, transfer: Transfer, *, booked_by: str, approved_by: str | None = None, booking_id: str = "", now: datetime
) -> bool:
    """Book a transfer. Returns False if it was booked before; then nothing has changed."""
    source, target = house_bookings.ends_of(transfer.change, Account.BANK)
    booking = HouseBooking(
        id=booking_id or ids.mint(ID_PREFIX, now),
        kind=house_bookings.HouseBookingKind.BANK_TRANSFER,
        channel=transfer.channel,
        account=transfer.account,
        source=source,
        target=target,
        amount=transfer.amount,
        reference=transfer.bank_reference,
        # A commit may come long after its time.
        value_date=house_bookings.value_date_of(clock.day_of(now), first_open_day=await first_open_day(tx)),
        booked_by=booked_by,
        approved_by=approved_by,
    )
    return bool(await house_bookings.book(tx, [booking], now=now)) or not await is_booked(tx, transfer)


async def book_proposed(
    tx: Tx, booking_id: str, transfer: Transfer, *, requested_by: str, approved_by: str | None, now: datetime
) -> None:
    """Book an approved proposal, under the proposal's own id."""
    if not await book(tx, transfer, booked_by=requested_by, approved_by=approved_by, booking_id=booking_id, now=now):
        raise Conflict(code=BookingRefusal.BOOKED_WITHOUT_PROPOSAL, reference=transfer.bank_reference)
