"""A bank's statement as it is stored: its lines, each with its identity, and what it contradicts. Pure.

The same movement comes in several files: a day and its month, or two formats. Of an entry, the day, the bank's
reference, the amount and its place among equal ones are the same in all of them. Its parts are not: one format lists
the transfers of a sum, and another has only the sum. So an entry that is known keeps the lines that it has.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from itertools import groupby
from typing import NamedTuple

import msgspec

from malipo import clock
from malipo.bank_evidence.banking_days import BankingDays
from malipo.bank_evidence.coverage import Covering, covering
from malipo.bank_evidence.which_count import StatementState
from malipo.bank_formats.bank_entry import BankEntry, BankStatement, StatementProblem, cents_words, problems_of
from malipo.errors import Code, Problem

ID_PREFIX = "bst_"


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
    OF_OTHERS = "bank_import_of_others"


class EntryKey(NamedTuple):
    """What identifies an entry among all of an account."""

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
    def counts(self) -> bool:
        return self.state.counts

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


def what_is_wrong(
    statement: BankStatement, neighbours: Iterable[StoredStatement], banking_days: BankingDays
) -> list[Problem]:
    """Why a statement cannot show that a movement is missing; nothing: it can. Where a day between two of them may have
    been a banking day, its own statement may be missing, and explain the balances."""
    found = problems_of(statement)
    if statement.begins_on is None or statement.ends_on is None:
        found.append(Problem(BankRowProblem.NO_DAYS))
        return found
    for each in neighbours:
        if each.begins_on is None or each.ends_on is None:
            continue
        if banking_days.follows(each.ends_on, statement.begins_on) and _differ(each.closing, statement.opening):
            found.append(_not_following(each.name, each.closing, statement.opening))
        if banking_days.follows(statement.ends_on, each.begins_on) and _differ(statement.closing, each.opening):
            found.append(_not_following(each.name, statement.closing, each.opening))
    return found


def _differ(closing: int | None, opening: int | None) -> bool:
    return closing is not None and opening is not None and closing != opening


def _not_following(name: str, closing: int | None, opening: int | None) -> Problem:
    assert closing is not None
    assert opening is not None
    return Problem(
        StatementProblem.NOT_FOLLOWING, name=name, closing=cents_words(closing), opening=cents_words(opening)
    )


class EntryNames(NamedTuple):
    """What an entry says that it is of."""

    keys: frozenset[str]  # EndToEndIds, of its parts too
    messages: frozenset[str]  # MsgIds
    parts: int


class KnownStatement(msgspec.Struct, frozen=True):
    """A statement that counts, with its entries."""

    statement: StoredStatement
    entries: Mapping[EntryKey, EntryNames]


def names_of(lines: Iterable[NewLine]) -> dict[EntryKey, EntryNames]:
    found: dict[EntryKey, list[NewLine]] = {}
    for each in lines:
        found.setdefault(each.entry, []).append(each)
    return {
        entry: EntryNames(
            frozenset(each.key for each in of_entry if each.key),
            frozenset(each.message_id for each in of_entry if each.message_id),
            len(of_entry),
        )
        for entry, of_entry in found.items()
    }


def contradictions(new: KnownStatement, old: KnownStatement) -> list[Problem]:
    """How a new statement contradicts one that counts. Nothing: it does not.

    A statement has all entries of the days that it covers. So the other has no other ones there: neither the new one
    in days that the old one covers, nor the old one in days that the new one covers. That finds a forged line also if
    its statement covers nothing, because it does not add up, or was imported on its own last day. An entry that both
    have is of the same transfer, and a day that both cover begins with the same balance.
    """
    found = []
    new_days, old_days = new.statement.covering, old.statement.covering
    if here := sorted(set(_entries_in(new.entries, old_days)) - set(old.entries)):
        found.append(Problem(BankRowProblem.ONLY_HERE, **_values_of(here)))
    if there := sorted(set(_entries_in(old.entries, new_days)) - set(new.entries)):
        found.append(Problem(BankRowProblem.ONLY_THERE, **_values_of(there)))
    both = set(new.entries) & set(old.entries)
    if others := sorted(each for each in both if _are_of_others(new.entries[each], old.entries[each])):
        found.append(Problem(BankRowProblem.OF_OTHERS, **_values_of(others)))
    if new_days is not None and old_days is not None and not found:
        first, last = max(new_days.begins_on, old_days.begins_on), min(new_days.ends_on, old_days.ends_on)
        ours, theirs = _balance_before(first, new_days, new.entries), _balance_before(first, old_days, old.entries)
        if first <= last and ours != theirs:
            values = {"ours": cents_words(ours), "theirs": cents_words(theirs)}
            found.append(Problem(BankRowProblem.BALANCE, day=first.isoformat(), **values))
    return found


def _entries_in(entries: Iterable[EntryKey], days: Covering | None) -> list[EntryKey]:
    if days is None:
        return []
    return [each for each in entries if days.begins_on <= each.booked_on <= days.ends_on]


def _are_of_others(new: EntryNames, old: EntryNames) -> bool:
    """Whether two files say that an entry is of different transfers. MT940 has one field for key and MsgId, and one
    format lists the parts of a sum: then they must have one name in common."""
    if new.parts > 1 and old.parts > 1:
        return new.keys != old.keys
    names, known = new.keys | new.messages, old.keys | old.messages
    return bool(names and known) and not names & known


def _values_of(entries: Sequence[EntryKey]) -> dict[str, object]:
    """How many there are, and the first of them."""
    first = entries[0]
    return {
        "count": len(entries),
        "day": first.booked_on.isoformat(),
        "amount": cents_words(first.cents),
        "reference": first.reference or "-",
    }


def _balance_before(day: date, days: Covering, entries: Iterable[EntryKey]) -> int:
    """The balance when a day began, by a statement that covers it."""
    return days.opening + sum(each.cents for each in entries if each.booked_on < day)
