"""Which time an account's statements cover. Pure.

Only whole files count: they add up, and say from when to when they are. Between two of them nothing is missing if they
overlap, or if the later one opens with the balance that the earlier one closes with, to the cent.

Matching calls a payment absent only in a time that is covered; the close of a day needs statements that cover the day.
Both ask here. They differ in one thing, and each takes the reading that cannot lose money: two files that meet, or are
up to a minute apart, and whose balances differ. For matching, something is missing between them: a payment of that
minute would be called absent although the network paid it. For the close, the day is covered, and what the balances
differ by is an open item that nothing explains, so it takes two operators; if the statements counted as missing, one
operator could close the day without them.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from malipo import clock
from malipo.errors import Code, Problem
from malipo.reconciliation.statements.statement_file import StatementFile

# A network may book a payment some hours after it has reported it. One that is open may still be paid for a while.
AFTER_END = timedelta(hours=6)
AFTER_SENDING = timedelta(hours=24)

# A heading says "to 23:59:59", or "to 23:59". What moved after that is in the next file, which then opens differently.
_CUT_SHORT = timedelta(minutes=1)

Span = tuple[datetime, datetime]


class CoverageProblem(Code):
    """What keeps statements from covering a day."""

    NO_STATEMENT = "coverage_no_statement"
    NOT_COVERED = "coverage_not_covered"
    FILE = "coverage_file"  # that does not count
    UNKNOWN_TIME = "coverage_unknown_time"
    ACCOUNT = "coverage_account"  # which of several
    CHANNEL = "coverage_channel"


class _Stretch(NamedTuple):
    """Files without a gap between them."""

    begins: datetime
    ends: datetime
    first: StatementFile
    last: StatementFile  # of those, the one that ends last


def spans_of(files: Iterable[StatementFile]) -> list[Span]:
    """The times in which a payment that files of one account do not have is absent."""
    return [(each.begins, each.ends) for each in _stretches(files)]


def covered_by_all(accounts: Iterable[Iterable[Span]]) -> list[Span]:
    """The times that every account of a channel covers: a payment may be in any of them."""
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
    """What keeps these files of an account from covering a day.

    `balance` is what the account held by the last close, in whole shillings. Nothing is missing before the first file
    if that one opens with it.
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
        reached, balance = max(reached, each.ends), None
    if reached < ends - _CUT_SHORT:
        found.append(Problem(CoverageProblem.NOT_COVERED, first=clock.local(reached), last=clock.local(ends)))
    return found + [_why_not(each) for each in files if found and not each.is_whole and _overlaps(each, begins, ends)]


def last_before(files: Sequence[StatementFile], moment: datetime) -> StatementFile | None:
    """The whole file that knows best what the account held then: the one that goes nearest to it, and came last."""
    begun = [each for each in files if each.is_whole and _begin(each) < moment]
    return max(
        begun, key=lambda each: (min(each.ends_at or _begin(each), moment), each.imported_at, each.id), default=None
    )


def first_from(files: Sequence[StatementFile], moment: datetime) -> StatementFile | None:
    """The whole file that knows what the account held then; if none does, the next one."""
    before = last_before(files, moment)
    after = [each for each in files if each.is_whole and _begin(each) >= moment]
    if before is not None and before.ends_at is not None and before.ends_at > moment:
        return before
    return min(after, key=_begin, default=before)


def covering(files: Sequence[StatementFile], moment: datetime) -> StatementFile | None:
    """A whole file that knows what the account held then: the one that came last."""
    whole = [each for each in files if each.is_whole and _begin(each) <= moment <= (each.ends_at or _begin(each))]
    return max(whole, key=lambda each: (each.imported_at, each.id), default=None)


def begins_before(files: Sequence[StatementFile], moment: datetime) -> bool:
    return any(each.begins_at is None or each.begins_at < moment for each in files)


def _stretches(files: Iterable[StatementFile], *, apart: timedelta | None = None) -> list[_Stretch]:
    """With `apart`, files that are at most so long apart are one stretch, whatever their balances say."""
    whole = [each for each in files if each.is_whole and each.ends_at is not None]
    found: list[_Stretch] = []
    for file in sorted(whole, key=lambda each: (_begin(each), _end(each))):
        begin, end = _begin(file), _end(file)
        if not found or not _continues(found[-1].last, file, apart=apart):
            found.append(_Stretch(begin, end, file, file))
        elif end >= found[-1].ends:
            found[-1] = found[-1]._replace(ends=end, last=file)
    return found


def _continues(before: StatementFile, file: StatementFile, *, apart: timedelta | None) -> bool:
    overlaps = _begin(file) < _end(before)
    is_near = apart is not None and _begin(file) <= _end(before) + apart
    closed, opens = (before.closing, before.closing_cents), (file.opening, file.opening_cents)
    return overlaps or is_near or closed == opens


def _begin(file: StatementFile) -> datetime:
    assert file.begins_at is not None
    return file.begins_at


def _end(file: StatementFile) -> datetime:
    assert file.ends_at is not None
    return file.ends_at


def _overlaps(file: StatementFile, begins: datetime, ends: datetime) -> bool:
    return file.begins_at is None or file.ends_at is None or (file.begins_at < ends and file.ends_at > begins)


def _why_not(file: StatementFile) -> Problem:
    why = file.problems[0] if file.problems else Problem(CoverageProblem.UNKNOWN_TIME)
    return Problem(CoverageProblem.FILE, name=file.name, why=why)
