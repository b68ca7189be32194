"""What lies in the simulated networks' accounts before the first payment, booked, so that the demo's floats agree."""

from datetime import datetime, timedelta

from malipo import clock, ids
from malipo.db import Tx
from malipo.ledger import house_bookings
from malipo.ledger.accounts import Account
from malipo.ledger.house_bookings import HouseBooking, HouseBookingKind
from malipo.ledger.store.closed_days import first_open_day
from malipo.networks.connector import Channel

# As the simulator has it, in each of its accounts. HaloPesa's payouts are paid from ClickPesa's.
_OPENING = 50_000_000
_ACCOUNTS = [*((channel, "") for channel in Channel), (Channel.HALOPESA, "clickpesa")]


async def book_opening_floats(tx: Tx, *, now: datetime) -> None:
    """Once, and long enough ago that the day before the first can be closed: its statements open with it."""
    if await first_open_day(tx) is not None:
        return
    source, target = house_bookings.ends_of(_OPENING, Account.EQUITY)
    bookings = [
        HouseBooking(
            id=ids.mint(house_bookings.ID_PREFIX, now),
            kind=HouseBookingKind.OPENING_BALANCE,
            channel=channel,
            account=account,
            source=source,
            target=target,
            amount=_OPENING,
            reference=f"OPENING {channel} {account}".strip(),
            value_date=clock.day_of(now) - timedelta(days=2),
            evidence="what lies in the simulated account before the first payment",
            booked_by="demo",
        )
        for channel, account in _ACCOUNTS
    ]
    await house_bookings.book(tx, bookings, now=now)
