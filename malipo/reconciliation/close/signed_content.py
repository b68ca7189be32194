"""The close of a day, as data: two columns for each channel, what is open between them, and the trial balance. Pure.

All of this is hashed and signed, and nothing else. It does not depend on who closes the day, or when.
"""

import hashlib
from collections.abc import Mapping
from datetime import date, datetime
from enum import StrEnum

import msgspec
from msgspec.structs import replace

MOST_ITEMS = 500  # the largest of a channel; the others are only summed


class ChangeKind(StrEnum):
    """Why an account at a network changed: the same kinds for a statement and for the ledger."""

    IN = "in"  # customers paid
    OUT = "out"  # payouts
    FEES = "fees"  # what the network took
    REVERSALS = "reversals"
    BANK = "bank"
    SWEEPS = "sweeps"
    OTHER = "other"
    ROUNDING = "rounding"  # cents that have added up to shillings


class OpenReason(StrEnum):
    """Why one side has an amount that the other side has not, at the end of the day: the first that applies, in this
    order (`store/open_items.py`)."""

    ROUNDING = "rounding"  # cents, which the two sides round at different moments: at most a shilling of an account
    TIMING = "timing"  # both sides have it, on different days
    EXCEPTION = "exception"  # operators see it as an exception, or have decided about it
    OTHER_CARRIER = "other_carrier"  # an aggregator carried it, of which there is no statement at all
    EXPECTED = "expected"  # in the ledger shortly before midnight: the next statement has it, or it is an exception
    TRANSFER = "transfer"  # between bank and network, on its way
    ACCEPTED = "accepted"  # two operators accepted it with the close of an earlier day
    NO_STATEMENT = "no_statement"  # the day was closed without a statement of the channel
    UNEXPLAINED = "unexplained"


class ItemKind(StrEnum):
    """The kind of thing that is open."""

    PAYMENT = "payment"
    BOOKING = "booking"
    LINE = "line"
    FEE = "fee"  # the fees of a file
    SWEEP = "sweep"  # the sweeps of a file
    BALANCE = "balance"  # of an account: it does not follow from the lines
    ROUNDING = "rounding"  # of an account's cents
    LATE = "late"  # moves that were written after the close of their day


class OpenItem(msgspec.Struct, frozen=True, kw_only=True):
    """One open item at the end of the day."""

    amount: int  # statement minus ledger
    reason: OpenReason
    side: str  # which side has it: statement, ledger, or both, with different amounts
    what: ItemKind
    name: str  # the network's receipt, the bank's reference, or the file
    account: str = ""
    payment: str = ""
    merchant: str = ""
    exception: str = ""  # its id
    kind: str = ""  # of the exception, or of the line
    day: date  # when it happened
    since: date  # the first day at whose end it was open


class Sum(msgspec.Struct, frozen=True):
    count: int
    amount: int


class CloseReading(msgspec.Struct, frozen=True, kw_only=True):
    """A balance that was read at the network, by its API or by an operator, and the balance by the statement at that
    moment. Closes of earlier versions have only the amount."""

    amount: int
    read_at: datetime | None = None
    stated: int | None = None  # None: no statement of that account covers the moment

    @property
    def difference(self) -> int | None:
        return None if self.stated is None else self.amount - self.stated


class CloseColumn(msgspec.Struct, frozen=True, kw_only=True):
    opening: int
    changes: Mapping[ChangeKind, int]
    closing: int


class ColumnRow(msgspec.Struct, frozen=True):
    """One row of the two columns."""

    name: str
    statement: int | None
    ledger: int

    @property
    def difference(self) -> int | None:
        return None if self.statement is None else self.statement - self.ledger


class ChannelClose(msgspec.Struct, frozen=True, kw_only=True):
    channel: str
    ledger: CloseColumn
    statement: CloseColumn | None  # None: the day is closed without one
    accounts: Mapping[str, int]  # what each account at the network holds, by the last statement that was counted
    learned_later: int = 0  # the change by late lines for closed days, in this day's statement
    readings: Mapping[str, CloseReading | int] = {}  # the last reading of the day, by account
    open: Mapping[OpenReason, Sum] = {}
    items: tuple[OpenItem, ...] = ()

    @property
    def difference(self) -> int | None:
        """Statement minus ledger, at the end of the day."""
        return None if self.statement is None else self.statement.closing - self.ledger.closing

    @property
    def last_readings(self) -> list[tuple[str, CloseReading]]:
        """The last reading of each account, by its name."""
        read = self.readings.items()
        return [(account, CloseReading(amount=each) if isinstance(each, int) else each) for account, each in read]

    @property
    def rows(self) -> list[ColumnRow]:
        """The two columns side by side, from the opening to the closing."""
        if (statement := self.statement) is None:
            statement = CloseColumn(opening=0, changes={}, closing=0)
        rows = [
            ColumnRow("opening", statement.opening, self.ledger.opening),
            *(ColumnRow(each, statement.changes.get(each, 0), self.ledger.changes.get(each, 0)) for each in ChangeKind),
            ColumnRow("closing", statement.closing, self.ledger.closing),
        ]
        return rows if self.statement else [replace(row, statement=None) for row in rows]

    @property
    def adds_up(self) -> bool:
        """Whether every difference between the two columns is explained."""
        return OpenReason.UNEXPLAINED not in self.open

    @property
    def agrees(self) -> bool:
        """Whether there is no difference between the two columns."""
        return self.adds_up and not self.difference

    @property
    def unexplained(self) -> int:
        return self.open[OpenReason.UNEXPLAINED].amount if OpenReason.UNEXPLAINED in self.open else 0


class DayClose(msgspec.Struct, frozen=True, kw_only=True):
    day: date
    channels: tuple[ChannelClose, ...]
    balances: Mapping[str, int]  # of every account at the end of the day, from the moves
    changes: Mapping[str, int]  # of every account, in the day
    wallets: int  # the stored wallets, minus the moves since; it must equal the sum of the moves
    in_flight: int
    owed: int  # by merchants, at the end of the day; it is no account. In earlier versions: when the day was closed
    routes: Mapping[str, int]  # the day's moves between each two accounts, so that a move written later is noticed
    late: Mapping[str, int]  # moves of the day before that were written after its close

    @property
    def trial_balance(self) -> int:
        """Zero, unless the stored wallets differ from the moves."""
        others = sum(amount for name, amount in self.balances.items() if name not in ("wallet", "in_flight"))
        return others + self.wallets + self.in_flight

    @property
    def adds_up(self) -> bool:
        return self.trial_balance == 0 and all(each.adds_up for each in self.channels)

    @property
    def agrees(self) -> bool:
        return self.adds_up and all(each.agrees for each in self.channels)

    @property
    def without(self) -> list[str]:
        """The channels that moved and have no statement."""
        return [each.channel for each in self.channels if each.statement is None]


_encoder = msgspec.json.Encoder(order="sorted")


def encode(close: DayClose) -> str:
    """The canonical text: equal closes have equal texts."""
    return _encoder.encode(close).decode()


def decode(text: str) -> DayClose:
    return msgspec.json.decode(text, type=DayClose)


def hash_of(previous: bytes | None, content: str) -> bytes:
    """The hash of a close and, through the hash of the close before it, of all before."""
    return hashlib.sha256((previous or b"") + content.encode()).digest()
