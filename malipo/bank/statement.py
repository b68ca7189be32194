"""A bank's statement as it is stored: its lines, each with what tells it apart, and what it contradicts. Pure.

The same movement comes in several files: a day and its month, or two formats. Of an entry, the day, the bank's
reference, the amount and its place among equal ones are the same in all of them. Its parts are not: one format lists
the transfers of a sum, and another has only the sum. So an entry that is known keeps the lines that it has.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from enum import StrEnum
from itertools import groupby
from typing import NamedTuple

import msgspec

from malipo import clock
from malipo.bank.coverage import Covering, covering
from malipo.bank_formats.bank_entry import BankEntry, BankStatement, StatementProblem, cents_words, problems_of
from malipo.errors import Code, Problem
from malipo.settlement import business_days

ID_PREFIX = "bst_"


class StatementState(StrEnum):
    WAITING = "waiting"  # for a second operator: nothing of it counts yet
    TAKEN = "taken"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"


class BankImportRefusal(Code):
    NO_STATEMENT = "bank_import_no_statement"
    UNKNOWN_ACCOUNT = "bank_import_unknown_account"
    WHICH_ACCOUNT = "bank_import_which_account"
    OTHER_ACCOUNT = "bank_import_other_account"
    UNREADABLE = "bank_import_unreadable"
    DOES_NOT_ADD_UP = "bank_import_does_not_add_up"
    CONTRADICTS = "bank_import_contradicts"
    NO_SUCH = "bank_statement_unknown"
    NOT_TAKEN = "bank_statement_not_taken"
    HAS_EFFECTS = "bank_statement_has_effects"


class BankRowProblem(Code):
    ROW = "bank_import_row"
    NO_DAYS = "bank_import_no_days"
    BALANCE = "bank_import_balance"
    ONLY_THERE = "bank_import_only_there"
    ONLY_HERE = "bank_import_only_here"


class EntryKey(NamedTuple):
    """What tells an entry of an account apart from all others."""

    booked_on: date
    reference: str  # the bank's own; if it gives none, the EndToEndId
    cents: int  # of the entry, whatever its parts
    nth: int  # of those of the same day that are equal in all of that


class NewLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a file: an entry, or a part of one."""

    entry: EntryKey
    part: int  # 0: the entry has no parts
    cents: int
    reference: str
    key: str
    message_id: str
    reason: str
    is_reversal: bool
    details: str


class StoredStatement(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    payer_account_id: str
    sha256: bytes
    name: str
    format: str
    begins_on: date | None
    ends_on: date | None
    opening: int | None  # in cents
    closing: int | None
    line_count: int
    new_count: int
    problems: tuple[str, ...]  # codes of what does not add up, and was accepted
    state: StatementState
    amount: int  # of the settlements that it alone would end
    imported_by: str
    imported_at: datetime
    decided_by: str | None = None
    decided_at: datetime | None = None

    @property
    def is_taken(self) -> bool:
        return self.state is StatementState.TAKEN

    @property
    def is_complete(self) -> bool:
        """Whether a movement of its days that it does not have did not happen."""
        values = (self.begins_on, self.ends_on, self.opening, self.closing)
        return not self.problems and None not in values

    @property
    def covering(self) -> Covering | None:
        """The days that it covers, if any."""
        if not self.is_complete:
            return None
        assert self.begins_on is not None
        assert self.ends_on is not None
        assert self.opening is not None
        assert self.closing is not None
        return covering(
            begins_on=self.begins_on,
            ends_on=self.ends_on,
            opening=self.opening,
            closing=self.closing,
            imported_on=clock.day_of(self.imported_at),
        )


def lines_of(entries: Sequence[BankEntry]) -> list[NewLine]:
    """The lines of a statement. Parts of a sum stand one after another, with the row of their entry."""
    seen: Counter[tuple[date, str, int]] = Counter()
    found: list[NewLine] = []
    for _, grouped in groupby(entries, key=lambda each: (each.row, each.is_part)):
        parts = list(grouped)
        first = parts[0]
        same = (first.booked_on, first.reference or first.key, sum(each.cents for each in parts))
        entry = EntryKey(*same, nth=seen[same])
        seen[same] += 1
        for number, each in enumerate(parts, 1):
            found.append(
                NewLine(
                    entry=entry,
                    part=number if each.is_part else 0,
                    cents=each.cents,
                    reference=each.reference,
                    key=each.key,
                    message_id=each.message_id,
                    reason=each.reason,
                    is_reversal=each.is_reversal,
                    details=each.details,
                )
            )
    return found


def what_is_wrong(statement: BankStatement, neighbours: Iterable[StoredStatement]) -> list[Problem]:
    """Why a statement cannot show that a movement is missing; nothing: it can."""
    found = problems_of(statement)
    if statement.begins_on is None or statement.ends_on is None:
        found.append(Problem(BankRowProblem.NO_DAYS))
        return found
    for each in neighbours:
        if each.begins_on is None or each.ends_on is None:
            continue
        if _follows(each.ends_on, statement.begins_on) and _differ(each.closing, statement.opening):
            found.append(_not_following(each.name, each.closing, statement.opening))
        if _follows(statement.ends_on, each.begins_on) and _differ(statement.closing, each.opening):
            found.append(_not_following(each.name, statement.closing, each.opening))
    return found


def _follows(ends_on: date, begins_on: date) -> bool:
    return ends_on < begins_on and not business_days.any_between(
        date.fromordinal(ends_on.toordinal() + 1), date.fromordinal(begins_on.toordinal() - 1)
    )


def _differ(closing: int | None, opening: int | None) -> bool:
    return closing is not None and opening is not None and closing != opening


def _not_following(name: str, closing: int | None, opening: int | None) -> Problem:
    assert closing is not None
    assert opening is not None
    return Problem(
        StatementProblem.NOT_FOLLOWING, name=name, closing=cents_words(closing), opening=cents_words(opening)
    )


class KnownStatement(msgspec.Struct, frozen=True):
    """A statement that counts, with its entries."""

    statement: StoredStatement
    entries: frozenset[EntryKey]


def contradictions(
    statement: BankStatement, lines: Sequence[NewLine], known: KnownStatement, *, is_complete: bool
) -> list[Problem]:
    """How a file contradicts a statement that counts, in the days that both have and that were over then. Nothing: it
    does not.

    Of a known one that is complete, no entry may be new. If the new one is complete too, it has all of them, and both
    have the same balance on its first day.
    """
    days = known.statement.covering
    if days is None or statement.begins_on is None or statement.ends_on is None:
        return []
    first, last = max(days.begins_on, statement.begins_on), min(days.ends_on, statement.ends_on)
    if first > last:
        return []
    new = {each.entry for each in lines if first <= each.entry.booked_on <= last}
    old = {each for each in known.entries if first <= each.booked_on <= last}
    found = []
    if here := sorted(new - old):
        found.append(Problem(BankRowProblem.ONLY_HERE, **_values_of(here)))
    if is_complete and (there := sorted(old - new)):
        found.append(Problem(BankRowProblem.ONLY_THERE, **_values_of(there)))
    if is_complete and not found:
        entries = {each.entry for each in lines}
        ours = _balance_before(first, statement.begins_on, statement.opening, entries)
        theirs = _balance_before(first, days.begins_on, days.opening, known.entries)
        if ours != theirs:
            values = {"ours": cents_words(ours), "theirs": cents_words(theirs)}
            found.append(Problem(BankRowProblem.BALANCE, day=first.isoformat(), **values))
    return found


def _values_of(entries: Sequence[EntryKey]) -> dict[str, object]:
    """How many there are, and the first of them."""
    first = entries[0]
    return {
        "count": len(entries),
        "day": first.booked_on.isoformat(),
        "amount": cents_words(first.cents),
        "reference": first.reference or "-",
    }


def _balance_before(day: date, begins_on: date, opening: int | None, entries: Iterable[EntryKey]) -> int:
    """The balance when a day began, by a statement that has it."""
    assert opening is not None
    assert begins_on <= day
    return opening + sum(each.cents for each in entries if each.booked_on < day)
