"""Whether statements cover a day, and what an account held by them. Pure."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from malipo import clock
from malipo.reconciliation.statements.statement_file import StatementFile

# A heading says "to 23:59:59", or "to 23:59". What moved after that is in the next file, which then opens differently.
_CUT_SHORT = timedelta(minutes=1)


def missing(files: Sequence[StatementFile], begins: datetime, ends: datetime, *, balance: int | None) -> list[str]:
    """What keeps these files of an account from covering the time, in sentences.

    `balance` is what the account held by the last close. Between two files, and before the first, nothing is missing if
    the next one opens with what the one before it closed with.
    """
    if not files:
        return [f"There is no statement of {_span(begins, ends)}."]
    found, reached = [], begins
    is_followed = False
    for file in sorted((each for each in files if each.is_whole), key=_begin):
        assert file.begins_at is not None
        if is_followed or (reached >= ends - _CUT_SHORT and file.begins_at >= ends):
            break
        ended = file.ends_at or file.begins_at
        if ended < begins:
            balance = file.closing
            continue
        if file.begins_at > reached + _CUT_SHORT and file.opening != balance:
            found.append(f"No statement covers {_span(reached, min(file.begins_at, ends))}.")
        is_followed = file.begins_at >= ends
        if ended >= reached:
            reached, balance = max(reached, ended), file.closing
    if reached < ends - _CUT_SHORT and not is_followed:
        found.append(f"No statement covers {_span(reached, ends)}.")
    return found + [_problems(each) for each in files if found and not each.is_whole and _overlaps(each, begins, ends)]


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


def _begin(file: StatementFile) -> datetime:
    assert file.begins_at is not None
    return file.begins_at


def _overlaps(file: StatementFile, begins: datetime, ends: datetime) -> bool:
    return file.begins_at is None or file.ends_at is None or (file.begins_at < ends and file.ends_at > begins)


def _problems(file: StatementFile) -> str:
    why = file.problems[0] if file.problems else "It does not say which time it covers, or has no balances."
    return f"{file.name} does not count: {why}"


def _span(begins: datetime, ends: datetime) -> str:
    return f"{_moment(begins)} to {_moment(ends)}"


def _moment(moment: datetime) -> str:
    return f"{moment.astimezone(clock.ZONE):%Y-%m-%d %H:%M:%S}"
