"""How one layout of a statement is read: which column is what, how times and signs are written. Data, in profiles/."""

import re
import tomllib
from collections.abc import Iterator
from enum import StrEnum
from functools import cache, cached_property
from importlib import resources
from typing import Any

import msgspec

from malipo import clock
from malipo.network_statements.cell_values import DECIMAL_MARKS
from malipo.network_statements.statement_line import LineKind
from malipo.networks.connector import Channel

_NOT_LETTERS = re.compile(r"[^a-z0-9/]+")
_CURRENCY = re.compile(r"\((?:tzs|tshs?|kshs?|kes|ugx)\.?\)", re.IGNORECASE)


# Status words of networks and portals for a movement that took place.
DONE = ("Completed", "Success", "Successful", "TS")
# Status words of networks and portals for a movement that did not take place and never will.
FAILED = (
    *("Failed", "Fail", "Failure", "Cancelled", "Canceled", "Declined", "Rejected", "Expired", "Unsuccessful"),
    *("TF", "TE"),
)


class StatementField(StrEnum):
    """The meaning of a column."""

    RECEIPT = "receipt"
    AT = "at"
    PAID_IN = "paid_in"
    WITHDRAWN = "withdrawn"
    AMOUNT = "amount"
    DIRECTION = "direction"
    BALANCE = "balance"
    DETAILS = "details"
    REASON = "reason"
    STATUS = "status"
    KEY = "key"
    PARTY = "party"
    LINKED = "linked"


class SignRule(StrEnum):
    """How a layout says whether money came in or went out."""

    TWO_COLUMNS = "two_columns"  # one for each way
    SIGNED = "signed"  # one column, below 0 went out
    DIRECTION = "direction"  # one column without a sign, and one with a word for the way


# Which columns each rule reads.
NEEDED = {
    SignRule.TWO_COLUMNS: (StatementField.PAID_IN, StatementField.WITHDRAWN),
    SignRule.SIGNED: (StatementField.AMOUNT,),
    SignRule.DIRECTION: (StatementField.AMOUNT, StatementField.DIRECTION),
}


class KindRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line is of this kind if its details or reason, in small letters, match the pattern. The first rule that fits
    counts."""

    kind: LineKind
    pattern: str


class HeadingLabels(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The labels above the header row. The value of each stands in a cell to the right of it."""

    account: tuple[str, ...] = ()
    opening: tuple[str, ...] = ()
    closing: tuple[str, ...] = ()
    from_: tuple[str, ...] = ()
    to: tuple[str, ...] = ()


class LayoutOperators(msgspec.Struct, frozen=True):
    """Which operators said how a layout is read. Nothing: it is malipo's own."""

    columns: str = ""  # who saved it
    carrier: str = ""  # who last said whose account it is of
    words: dict[str, str] = {}  # who last said what a word of the status means; words in small letters


class StatementProfile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    name: str
    title: str
    channels: tuple[Channel, ...]
    sign: SignRule
    columns: dict[StatementField, tuple[str, ...]]
    time_formats: tuple[str, ...]
    zone: str = clock.ZONE.key
    decimal_mark: str = "."  # before the cents; the other one, of `.` and `,`, is between thousands
    completed: tuple[str, ...] = ()  # statuses of lines that moved money. None: all lines did
    failed: tuple[str, ...] = FAILED  # statuses of lines that moved none. A word in neither list: refused
    money_in: tuple[str, ...] = ()  # words of the direction column
    money_out: tuple[str, ...] = ()
    kinds: tuple[KindRule, ...] = ()
    key_pattern: str = ""  # finds our key in the details, where it has no column; its first group
    linked_pattern: str = ""  # finds the receipt that a reversal takes back, in its details; its first group
    phone_pattern: str = r"\+?\d{1,6}[*xX]+\d{2,4}|\+?\d{9,12}"
    labels: HeadingLabels = HeadingLabels()
    is_fetched: bool = False  # of files that malipo wrote from a network's API; not for a person's
    carrier: str = ""  # the connector's name, for an aggregator's account, which has payments of several channels
    said_by: LayoutOperators = LayoutOperators()

    @property
    def is_aggregator(self) -> bool:
        return bool(self.carrier)

    @property
    def needed(self) -> tuple[StatementField, ...]:
        return (StatementField.RECEIPT, StatementField.AT, *NEEDED[self.sign])

    @cached_property
    def _names(self) -> dict[str, StatementField]:
        return {folded(name): field for field, names in self.columns.items() for name in names}

    def columns_in(self, row: list[str]) -> dict[StatementField, int] | None:
        """Where each field stands, if this row is the header."""
        found: dict[StatementField, int] = {}
        for number, text in enumerate(row):
            field = self._names.get(folded(text))
            if field is not None:
                found.setdefault(field, number)
        return found if all(field in found for field in self.needed) else None


def folded(name: str) -> str:
    """A column's name without what differs between exports: case, spaces, dots, the currency."""
    return _NOT_LETTERS.sub(" ", _CURRENCY.sub("", name).casefold()).strip()


def decode(name: str, text: str) -> StatementProfile:
    """A profile from its file."""
    fields: dict[str, Any] = {"name": name, **tomllib.loads(text)}
    profile = msgspec.convert(fields, StatementProfile)
    missing = [field for field in profile.needed if field not in profile.columns]
    if missing:
        raise msgspec.ValidationError(f"`columns` has no {', '.join(missing)}")
    if any(rule.pattern != rule.pattern.lower() for rule in profile.kinds):
        raise msgspec.ValidationError("The patterns of `kinds` must be in small letters: they are compared with such")
    if profile.decimal_mark not in DECIMAL_MARKS:
        raise msgspec.ValidationError("`decimal_mark` is . or ,")
    for pattern in (profile.key_pattern, profile.linked_pattern, *(rule.pattern for rule in profile.kinds)):
        re.compile(pattern)
    return profile


@cache
def built_in() -> dict[str, StatementProfile]:
    """The profiles that come with malipo, by name."""
    return {profile.name: profile for profile in _load()}


def _load() -> Iterator[StatementProfile]:
    folder = resources.files("malipo.network_statements").joinpath("profiles")
    for file in sorted(folder.iterdir(), key=lambda each: each.name):
        if file.name.endswith(".toml"):
            yield decode(file.name.removesuffix(".toml"), file.read_text("utf-8"))
