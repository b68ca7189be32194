"""What a bank's statement says of our account, in our own terms. Pure.

Amounts are in cents, because a bank charges cents. Above 0 came in, below 0 went out.
"""

from collections.abc import Sequence
from datetime import date, timedelta
from itertools import pairwise
from typing import NamedTuple

import msgspec

from malipo.errors import Code, Problem


class EntryProblem(Code):
    """Why an entry of a statement cannot be read."""

    CURRENCY = "bank_entry_currency"
    AMOUNT = "bank_entry_amount"
    SIGN = "bank_entry_sign"
    DAY = "bank_entry_day"
    PARTS = "bank_entry_parts"  # what the parts of a sum add up to is not the sum
    FORMAT = "bank_entry_format"


class StatementProblem(Code):
    """Why a statement does not add up, or does not show all of its time."""

    SUM = "bank_statement_sum"
    NO_OPENING = "bank_statement_no_opening"
    NO_CLOSING = "bank_statement_no_closing"
    NOT_CONTINUED = "bank_statement_not_continued"  # the next statement of the file opens otherwise
    NOT_FOLLOWING = "bank_statement_not_following"  # the file does not open with what the one before closed with
    OUTSIDE = "bank_statement_outside"  # an entry of a day that the statement does not have
    CUT = "bank_statement_cut"  # a file that ends before it is complete


class EntryUnreadable(ValueError):  # noqa: N818
    def __init__(self, code: EntryProblem, /, **values: object) -> None:
        super().__init__(code)
        self.problem = Problem(code, **values)


class BankEntry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One movement of our account; or one part of a sum, if the statement lists the parts."""

    row: int  # where it stands in the file: its number, from 1
    booked_on: date
    cents: int
    reference: str = ""  # the bank's own
    key: str = ""  # the EndToEndId
    message_id: str = ""  # of the payout file: its MsgId, or its PmtInfId
    reason: str = ""  # why money came back
    is_reversal: bool = False  # the bank takes back what it had booked, or gives back
    details: str = ""
    is_part: bool = False  # of a sum that the bank booked
    balance: int | None = None  # after it, where the layout has one


class UnreadableEntry(msgspec.Struct, frozen=True):
    row: int
    why: Problem


class BankStatement(msgspec.Struct, frozen=True, kw_only=True):
    """One statement of a file. None where it does not say."""

    account: str
    id: str = ""
    opening: int | None = None  # in cents
    closing: int | None = None
    begins_on: date | None = None
    ends_on: date | None = None
    entries: tuple[BankEntry, ...] = ()
    unreadable: tuple[UnreadableEntry, ...] = ()
    pending: int = 0  # entries that the bank has not booked, and that count for nothing
    problems: tuple[Problem, ...] = ()


class Period(NamedTuple):
    begins_on: date | None
    ends_on: date | None


def period_between(opening_on: date | None, closing_on: date | None, entries: Sequence[BankEntry]) -> Period:
    """The days that a statement has, if it says only the days of its balances.

    Some banks date the opening balance with the first day, and some with the day before. A day is taken as covered only
    if that is sure: the day of the opening counts if it is the only one, or has an entry.
    """
    begins_on = opening_on
    if opening_on is not None and closing_on is not None and opening_on < closing_on:
        has_entry = any(each.booked_on <= opening_on for each in entries)
        begins_on = opening_on if has_entry else opening_on + timedelta(days=1)
    return Period(begins_on, closing_on)


def problems_of(statement: BankStatement) -> list[Problem]:
    """Why the statement does not add up. With any of these it cannot show that a movement is missing."""
    found = list(statement.problems)
    if statement.opening is None:
        found.append(Problem(StatementProblem.NO_OPENING))
    if statement.closing is None:
        found.append(Problem(StatementProblem.NO_CLOSING))
    if statement.opening is not None and statement.closing is not None:
        expected = statement.opening + sum(each.cents for each in statement.entries)
        if expected != statement.closing:
            values = {"said": cents_words(statement.closing), "computed": cents_words(expected)}
            found.append(Problem(StatementProblem.SUM, **values))
    outside = [each for each in statement.entries if not _is_within(each.booked_on, statement)]
    if outside:
        found.append(Problem(StatementProblem.OUTSIDE, row=str(outside[0].row), day=outside[0].booked_on.isoformat()))
    return found


def _is_within(day: date, statement: BankStatement) -> bool:
    begins, ends = statement.begins_on, statement.ends_on
    return (begins is None or begins <= day) and (ends is None or day <= ends)


def cents_words(cents: int) -> str:
    """`-1,059.40`, as a bank writes it."""
    shillings, rest = divmod(abs(cents), 100)
    return f"{'-' if cents < 0 else ''}{shillings:,}.{rest:02}"


def joined(statements: Sequence[BankStatement]) -> BankStatement:
    """The statements of one account in one file as one: days, or pages, in the order of the file or by their days. Each
    must open with what the one before closed with."""
    assert statements
    by_day = sorted(statements, key=lambda each: (each.begins_on or each.ends_on or date.min, each.ends_on or date.min))
    ordered = by_day if all(each.ends_on for each in statements) and _continues(by_day) else list(statements)
    found: list[Problem] = [*ordered[0].problems]
    for before, after in pairwise(ordered):
        found += after.problems
        if before.closing is not None and after.opening is not None and before.closing != after.opening:
            values = {"closing": cents_words(before.closing), "opening": cents_words(after.opening)}
            found.append(Problem(StatementProblem.NOT_CONTINUED, **values))
    begins = [each.begins_on for each in ordered if each.begins_on is not None]
    ends = [each.ends_on for each in ordered if each.ends_on is not None]
    return BankStatement(
        account=statements[0].account,
        id=", ".join(dict.fromkeys(each.id for each in ordered if each.id))[:200],
        opening=ordered[0].opening,
        closing=ordered[-1].closing,
        begins_on=min(begins, default=None),
        ends_on=max(ends, default=None),
        entries=tuple(entry for each in ordered for entry in each.entries),
        unreadable=tuple(entry for each in ordered for entry in each.unreadable),
        pending=sum(each.pending for each in ordered),
        problems=tuple(found),
    )


def _continues(statements: Sequence[BankStatement]) -> bool:
    return all(before.closing == after.opening for before, after in pairwise(statements))
