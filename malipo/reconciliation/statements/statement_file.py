"""A statement that was imported, and what it covers. Pure."""

from datetime import datetime
from enum import StrEnum

import msgspec

from malipo import clock, money
from malipo.audit_log.actor import SYSTEM_NAME
from malipo.errors import Code, Problem
from malipo.network_statements.profile import StatementProfile
from malipo.network_statements.status_words import Statuses
from malipo.networks.connector import Channel

FETCHED_BY = SYSTEM_NAME  # the importer of files that the worker fetched from a network


class FileProblem(Code):
    """Why a file does not continue the one before it, or is not continued by the one after it. The values are texts;
    those of the first two problems are stored with the file."""

    GAP_BEFORE = "statement_gap_before"
    GAP_AFTER = "statement_gap_after"
    NOT_COVERED = "statement_not_covered"  # no file covers the time before it
    ACCOUNT = "statement_account"  # not a problem: the name of an account inside other sentences
    TEXT = "statement_text"  # a text that another version stored, shown as it is


class PeriodRefusal(Code):
    NO_TIMES = "period_invalid"
    ENDS_FIRST = "period_ends_first"


class LayoutChoice(StrEnum):
    """The part of a layout that an author defined."""

    COLUMNS = "columns"  # the meaning of the columns
    AGGREGATOR = "aggregator"  # whose account its files are of
    MOVED = "moved"  # this word of the status means that money moved
    NOT_MOVED = "not_moved"  # or that no money moved


class LayoutAuthor(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An operator other than the importer who defined how a file is read, and so answers for its lines too."""

    by: str
    said: LayoutChoice
    word: str = ""
    rows: int = 0  # of the file, that have the word


def authors_of(
    profile: StatementProfile, statuses: Statuses, *, carrier_by: str, imported_by: str
) -> tuple[LayoutAuthor, ...]:
    """The authors of a file that was read. `carrier_by` is the operator who last set whose account it is of. Pure."""
    said_by = profile.said_by
    found = [
        LayoutAuthor(by=said_by.columns, said=LayoutChoice.COLUMNS),
        *(LayoutAuthor(by=each, said=LayoutChoice.AGGREGATOR) for each in sorted({said_by.carrier, carrier_by})),
    ]
    for (word, is_moved), rows in sorted(statuses.said.items()):
        choice = LayoutChoice.MOVED if is_moved else LayoutChoice.NOT_MOVED
        found.append(LayoutAuthor(by=said_by.words[word.casefold()], said=choice, word=word, rows=rows))
    return tuple(each for each in found if each.by not in ("", imported_by))


class StatementFile(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    channel: Channel
    account: str
    sha256: bytes
    name: str
    profile: str
    begins_at: datetime | None
    ends_at: datetime | None
    opening: int | None
    closing: int | None
    line_count: int
    new_count: int
    problems: tuple[Problem, ...]
    imported_by: str
    imported_at: datetime
    opening_cents: int = 0  # beside `opening`: the network wrote opening * 100 + opening_cents
    closing_cents: int = 0
    withdrawn_at: datetime | None = None
    authors: tuple[LayoutAuthor, ...] = ()  # of its layout, beside the importer

    @property
    def is_fetched(self) -> bool:
        """Whether the worker fetched it from the network, so that no operator can have invented it."""
        return self.imported_by == FETCHED_BY

    @property
    def begin(self) -> datetime:
        """The beginning of the file, which must state one."""
        assert self.begins_at is not None
        return self.begins_at

    @property
    def end(self) -> datetime:
        """The end of the file, which must state one."""
        assert self.ends_at is not None
        return self.ends_at

    @property
    def where(self) -> str:
        """The account of the statement, for the log and for stored reasons."""
        return f"{self.channel}, account {self.account}" if self.account else str(self.channel)

    @property
    def named_account(self) -> Problem | str:
        """The account of the statement, for a sentence in any language."""
        if not self.account:
            return str(self.channel)
        return Problem(FileProblem.ACCOUNT, channel=self.channel, account=self.account)

    @property
    def is_whole(self) -> bool:
        """Whether it is complete, so that a movement that is not in it did not happen: it adds up, and states its
        period."""
        has_balances = self.opening is not None and self.closing is not None
        return not self.problems and has_balances and self.begins_at is not None

    @property
    def opening_words(self) -> str:
        return "?" if self.opening is None else money.exact(self.opening, self.opening_cents)

    @property
    def closing_words(self) -> str:
        return "?" if self.closing is None else money.exact(self.closing, self.closing_cents)


def gaps_beside(file: StatementFile, before: StatementFile | None, after: StatementFile | None) -> list[Problem]:
    """A problem for each neighbour whose balance differs: the earlier file's closing is not our opening, or our closing
    is not the later file's opening. A file that begins and ends in one minute is not compared, because in a layout
    without seconds the order of such files is not known."""
    before, after = (None if each is None or each.begins_at == each.ends_at else each for each in (before, after))
    found: list[Problem] = []
    if file.begins_at == file.ends_at:
        return found
    if before is not None and before.ends_at == file.begins_at and (change := _change_between(before, file)):
        balances = {"opening": file.opening_words, "closing": before.closing_words}
        missing = money.exact(0, abs(change))
        found.append(Problem(FileProblem.GAP_BEFORE, name=before.name, missing=missing, **balances))
    if after is not None and after.begins_at == file.ends_at and (change := _change_between(file, after)):
        balances = {"closing": file.closing_words, "opening": after.opening_words}
        missing = money.exact(0, abs(change))
        found.append(Problem(FileProblem.GAP_AFTER, name=after.name, missing=missing, **balances))
    return found


def uncovered_before(file: StatementFile, before: StatementFile | None) -> Problem | None:
    """The gap between the file and the one before it, which neither covers. Files may come in any order."""
    change = 0 if before is None else _change_between(before, file)
    if before is None or change == 0 or before.ends_at == file.begins_at:
        return None
    return Problem(
        FileProblem.NOT_COVERED,
        first=_moment(before.ends_at),
        last=_moment(file.begins_at),
        change=f"{'+' if change > 0 else ''}{money.exact(0, change)}",
    )


def _change_between(before: StatementFile, file: StatementFile) -> int:
    """The change of the balance between the two, in cents."""
    if before.closing is None or file.opening is None:
        return 0
    return (file.opening - before.closing) * 100 + file.opening_cents - before.closing_cents


def _moment(at: datetime | None) -> str:
    return "?" if at is None else clock.local(at)
