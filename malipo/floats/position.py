"""The float of a channel: by the ledger, as it was last seen at the network, and how far it covers payouts. Pure.

A reading warns people. Nothing is ever spent on one: a payout is paid from the merchant's wallet, and refused by the
network if our account there cannot pay it.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from malipo.networks.connector import Channel

# After so long a network may hold anything. An old reading is believed only if it says less than the ledger.
_OLD = timedelta(hours=24)


class Source(StrEnum):
    """Who says it."""

    NETWORK = "network"  # asked by a worker
    STATEMENT = "statement"  # the closing balance of one that was imported
    OPERATOR = "operator"  # as an operator saw it on the network's pages


class FloatReading(NamedTuple):
    channel: str
    account: str  # of several at that network
    amount: int
    source: Source
    read_at: datetime
    noted_by: str
    is_shared: bool = False  # other channels are paid out of the same account


class Position(NamedTuple):
    channel: Channel
    ledger: int  # what should lie there
    readings: Sequence[FloatReading]  # the latest of each account
    in_flight: int  # in payouts that have not ended and are paid from there
    asked: frozenset[str] = frozenset()  # the accounts that the network's own call reads
    unread: frozenset[str] = frozenset()  # accounts that have money of the bank's, and no reading

    @property
    def reading(self) -> int | None:
        """What was last seen there, in all accounts."""
        return sum(each.amount for each in self.readings) if self.readings else None

    @property
    def read_at(self) -> datetime | None:
        """Of the oldest reading that counts."""
        return min((each.read_at for each in self.readings), default=None)

    @property
    def difference(self) -> int | None:
        """What was seen less what should be there; None where an account is shared, or was never looked at."""
        if self.reading is None or self.unread or any(each.is_shared for each in self.readings):
            return None
        return self.reading - self.ledger

    def cover(self, now: datetime) -> int:
        """What is left after all payouts in flight; below 0 if it does not cover them.

        A payout that was just paid counts twice until it is completed here: rather too little than too much.
        """
        # Payouts are paid from the account that is asked for, where one is; money in others does not cover them.
        paying = [each for each in self.readings if not self.asked or each.account in self.asked]
        held = sum(each.amount for each in paying) if paying else self.ledger
        if any(now - each.read_at > _OLD for each in paying):
            held = min(held, self.ledger)
        return held - self.in_flight


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
