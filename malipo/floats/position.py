"""The float of a channel: by the ledger, as last read at the network, and whether it covers payouts. Pure.

Readings are only for warnings. They never decide a payout: it is paid from the merchant's wallet, and the network
refuses it if our account there is too low.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from malipo.networks.connector import Channel

# After this time a reading is old. An old reading counts only if it is lower than the ledger's balance.
_OLD = timedelta(hours=24)


class Source(StrEnum):
    """Where a reading comes from."""

    NETWORK = "network"  # a worker asked the network
    STATEMENT = "statement"  # the closing balance of an imported statement
    OPERATOR = "operator"  # an operator read it on the network's pages


class FloatReading(NamedTuple):
    channel: str
    account: str  # which account, if we have several at that network
    amount: int
    source: Source
    read_at: datetime
    noted_by: str
    is_shared: bool = False  # other channels are paid out of the same account


class Position(NamedTuple):
    channel: Channel
    ledger: int  # the balance by the ledger
    readings: Sequence[FloatReading]  # the latest of each account
    in_flight: int  # in payouts that have not ended and are paid from there
    asked: frozenset[str] = frozenset()  # accounts whose balance the network's call returns
    unread: frozenset[str] = frozenset()  # accounts that have received money from the bank, and have no reading

    @property
    def reading(self) -> int | None:
        """The last read balance of all accounts together."""
        return sum(each.amount for each in self.readings) if self.readings else None

    @property
    def read_at(self) -> datetime | None:
        """The time of the oldest reading that counts."""
        return min((each.read_at for each in self.readings), default=None)

    @property
    def difference(self) -> int | None:
        """The reading minus the ledger's balance; None if an account is shared or was never read."""
        if self.reading is None or self.unread or any(each.is_shared for each in self.readings):
            return None
        return self.reading - self.ledger

    def cover(self, now: datetime) -> int:
        """The balance after all payouts in flight; negative if it does not cover them.

        A payout that the network has just paid counts twice until it is completed here, so the cover errs on the low
        side.
        """
        # Payouts are paid from the account whose balance the network's call returns, if it has one; money in other
        # accounts does not cover them.
        paying = [each for each in self.readings if not self.asked or each.account in self.asked]
        at_network = sum(each.amount for each in paying) if paying else self.ledger
        if any(now - each.read_at > _OLD for each in paying):
            at_network = min(at_network, self.ledger)
        return at_network - self.in_flight


def position_of(
    channel: Channel,
    *,
    ledger: int,
    readings: Iterable[FloatReading],
    in_flight: dict[str, int],
    accounts: Iterable[str] = (),
) -> Position:
    """`readings` are the latest of each account and source, of any channel; payouts in flight are by channel.

    `accounts` are those of this channel that transfers between it and the bank name.
    """
    ours = [each for each in readings if each.channel == channel]
    latest: dict[str, FloatReading] = {}
    for each in sorted(ours, key=lambda each: each.read_at):
        latest[each.account] = each
    is_shared = any(each.is_shared for each in latest.values())
    named = frozenset(accounts)
    return Position(
        channel=channel,
        ledger=ledger,
        readings=[latest[account] for account in sorted(latest)],
        in_flight=sum(in_flight.values()) if is_shared else in_flight.get(channel, 0),
        asked=frozenset(each.account for each in ours if each.source is Source.NETWORK),
        unread=frozenset() if named == {""} else named - latest.keys(),  # where none is named there is one
    )
