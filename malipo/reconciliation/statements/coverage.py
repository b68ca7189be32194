"""Which time the statements of an account cover. Pure.

Only complete files count: they add up, and state their period. Nothing is missing between two of them if they overlap,
or if the later one opens with the closing balance of the earlier one, to the cent.

Matching calls a payment absent only in a covered time, and the close of a day needs statements that cover the day. The
two differ in one case, and each takes the reading that cannot lose money: two files that meet, or are up to a minute
apart, and whose balances differ. For matching, the time between them is not covered: a payment of that minute would be
called absent although the network paid it. For the close, the day is covered, and the difference of the balances is an
unexplained open item, which takes two operators; if the statements counted as missing, one operator could close the day
without them.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from malipo import clock
from malipo.errors import Code, Problem
from malipo.reconciliation.statements.statement_file import StatementFile

# A network may book a payment some hours after reporting it, and an open payment may still be paid for a while.
AFTER_END = timedelta(hours=6)
AFTER_SENDING = timedelta(hours=24)

# A header may state "to 23:59:59" or "to 23:59". Later movements are in the next file, which then has another opening
# balance.
_CUT_SHORT = timedelta(minutes=1)

Span = tuple[datetime, datetime]


class CoverageProblem(Code):
    """Why statements do not cover a day."""

    NO_STATEMENT = "coverage_no_statement"
    NOT_COVERED = "coverage_not_covered"
    FILE = "coverage_file"  # a file that does not count
    UNKNOWN_TIME = "coverage_unknown_time"
    ACCOUNT = "coverage_account"  # the account, if there are several
    CHANNEL = "coverage_channel"


class _Stretch(NamedTuple):
    """Files without a gap between them."""

    begins: datetime
    ends: datetime
    first: StatementFile
    last: StatementFile  # the file that ends last


def spans_of(files: Iterable[StatementFile]) -> list[Span]:
    """The times in which a payment is absent if no file of this account has it."""
    return [(each.begins, each.ends) for each in _stretches(files)]


def covered_by_all(accounts: Iterable[Iterable[Span]]) -> list[Span]:
    """The times that every account of a channel covers, because a payment may be in any of the accounts."""
    common: list[Span] | None = None
    for spans in accounts:
        spans = list(spans)
        common = (
            spans
            if common is None
            else [
                (max(a[0], b[0]), min(a[1], b[1])) for a in common for b in spans if max(a[0], b[0]) < min(a[1], b[1])
            ]
        )
    return common or []


def missing(files: Sequence[StatementFile], begins: datetime, ends: datetime, *, balance: int | None) -> list[Problem]:
    """Why these files of an account do not cover a day; empty if they do.

    `balance` is the account's balance by the last close, in whole shillings. Nothing is missing before the first file
    if it opens with that balance.
    """
    if not files:
        return [Problem(CoverageProblem.NO_STATEMENT, first=clock.local(begins), last=clock.local(ends))]
    found, reached = [], begins
    for each in _stretches(files, apart=_CUT_SHORT):
        if reached >= ends - _CUT_SHORT:
            break
        if each.ends >= begins and each.begins > reached + _CUT_SHORT and each.first.opening != balance:
            last = min(each.begins, ends)
            found.append(Problem(CoverageProblem.NOT_COVERED, first=clock.local(reached), last=clock.local(last)))
        reached = max(reached, each.ends)
        balance = None  # It is that before the first stretch only.
    if reached < ends - _CUT_SHORT:
        found.append(Problem(CoverageProblem.NOT_COVERED, first=clock.local(reached), last=clock.local(ends)))
    return found + [_why_not(each) for each in files if found and not each.is_whole and _overlaps(each, begins, ends)]


def last_before(files: Sequence[StatementFile], moment: datetime) -> StatementFile | None:
    """The complete file that shows the balance at a moment best: it ends nearest before the moment, and was imported
    last."""
    begun = [each for each in files if each.is_whole and each.begin < moment]
    return max(
        begun, key=lambda each: (min(each.ends_at or each.begin, moment), each.imported_at, each.id), default=None
    )


def first_from(files: Sequence[StatementFile], moment: datetime) -> StatementFile | None:
    """A complete file that covers the moment; if there is none, the next one."""
    before = last_before(files, moment)
    after = [each for each in files if each.is_whole and each.begin >= moment]
    if before is not None and before.ends_at is not None and before.ends_at > moment:
        return before
    return min(after, key=lambda file: file.begin, default=before)


def covering(files: Sequence[StatementFile], moment: datetime) -> StatementFile | None:
    """A complete file that covers the moment: the one that was imported last."""
    whole = [each for each in files if each.is_whole and each.begin <= moment <= (each.ends_at or each.begin)]
    return max(whole, key=lambda each: (each.imported_at, each.id), default=None)


def begins_before(files: Sequence[StatementFile], moment: datetime) -> bool:
    return any(each.begins_at is None or each.begins_at < moment for each in files)


def _stretches(files: Iterable[StatementFile], *, apart: timedelta | None = None) -> list[_Stretch]:
    """The files as stretches without a gap. With `apart`, files at most so long apart are one stretch, whatever their
    balances."""
    whole = [each for each in files if each.is_whole and each.ends_at is not None]
    found: list[_Stretch] = []
    for file in sorted(whole, key=lambda each: (each.begin, each.end)):
        begin, end = file.begin, file.end
        if not found or not _continues(found[-1].last, file, apart=apart):
            found.append(_Stretch(begin, end, file, file))
        elif end >= found[-1].ends:
            found[-1] = found[-1]._replace(ends=end, last=file)
    return found


def _continues(before: StatementFile, file: StatementFile, *, apart: timedelta | None) -> bool:
    overlaps = file.begin < before.end
    is_near = apart is not None and file.begin <= before.end + apart
    closed, opens = (before.closing, before.closing_cents), (file.opening, file.opening_cents)
    return overlaps or is_near or closed == opens


def _overlaps(file: StatementFile, begins: datetime, ends: datetime) -> bool:
    return file.begins_at is None or file.ends_at is None or (file.begins_at < ends and file.ends_at > begins)


def _why_not(file: StatementFile) -> Problem:
    why = file.problems[0] if file.problems else Problem(CoverageProblem.UNKNOWN_TIME)
    return Problem(CoverageProblem.FILE, name=file.name, why=why)
