"""Reads a statement by its profile: first the heading, then line by line, in the order of the file."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from malipo import money
from malipo.errors import Code, Refusal
from malipo.network_statements.cell_values import CellUnreadable, cents_of, text_of, times
from malipo.network_statements.heading import StatementHeading, balances_in, read_heading
from malipo.network_statements.profile import SignRule, StatementField, StatementProfile
from malipo.network_statements.statement_line import BadLine, LineKind, StatementLine
from malipo.network_statements.status_words import Statuses
from malipo.table_files.rows import Cell, rows_of

Read = TypeVar("Read")

_MOST_RECEIPT = 200  # An index has it, and takes no long text.
# A header that did not come by then is not in the file.
MOST_ROWS_BEFORE_HEADER = 60


class LayoutRefusal(Code):
    NO_HEADER = "layout_no_header"
    HEADING = "layout_heading"


class ColumnName(Code):
    """The name, for messages, of a column whose cells may be unreadable."""

    AMOUNT = "column_amount"
    PAID_IN = "column_paid_in"
    WITHDRAWN = "column_withdrawn"
    BALANCE = "column_balance"
    TIME = "column_time"


class RowProblem(Code):
    NO_RECEIPT = "row_no_receipt"
    LONG_RECEIPT = "row_long_receipt"
    NO_AMOUNT = "row_no_amount"
    IN_AND_OUT = "row_in_and_out"
    DIRECTION = "row_direction"


class UnknownLayout(Refusal):
    """No row of the file has the columns that the profile needs."""


@dataclass
class StatementReader:
    """Reads a statement, whose lines can be read once. Balances in rows among them, and their statuses, are known once
    they were read."""

    profile: StatementProfile
    heading: StatementHeading
    columns: list[str]
    statuses: Statuses
    lines: Iterator[StatementLine | BadLine] = iter(())


def read_statement(path: Path, profile: StatementProfile) -> StatementReader:
    rows = rows_of(path)
    before: list[list[Cell]] = []
    for row in rows:
        where = profile.columns_in([text_of(cell) for cell in row])
        if where is not None:
            try:
                heading = read_heading(before, profile)
            except CellUnreadable as error:
                raise UnknownLayout(code=LayoutRefusal.HEADING, name=path.name, why=error.problem) from None
            statement = StatementReader(profile, heading, [text_of(cell) for cell in row], Statuses(profile))
            statement.lines = _lines(statement, rows, where, first_row=len(before) + 2)
            return statement
        before.append(row)
        if len(before) > MOST_ROWS_BEFORE_HEADER:
            break
    wanted = ", ".join(profile.columns[field][0] for field in profile.needed)
    raise UnknownLayout(code=LayoutRefusal.NO_HEADER, name=path.name, columns=wanted, profile=profile.name)


def _lines(
    statement: StatementReader, rows: Iterator[list[Cell]], where: dict[StatementField, int], *, first_row: int
) -> Iterator[StatementLine | BadLine]:
    pick_cells, read = _cell_picker(where), _line_reader(statement.profile)
    has_status = bool(statement.profile.completed) and StatementField.STATUS in where
    is_moved, is_said = statement.statuses.is_moved, statement.statuses.is_said
    for number, row in enumerate(rows, first_row):
        if not any(row):
            continue
        cells, word = pick_cells(row), ""
        if not text_of(cells.receipt) and _note_balances(statement, row, cells):
            continue
        if has_status:
            word = text_of(cells.status)
            # A sum below the lines has neither a receipt nor a status.
            if not word and not text_of(cells.receipt):
                continue
            # A line that failed moved no money: it is not evidence of anything.
            if not is_moved(word, number):
                continue
        try:
            line = read(number, cells)
            yield msgspec.structs.replace(line, word=word) if is_said(word) else line
        except CellUnreadable as error:
            if any(text_of(cell) for cell in row):
                yield BadLine(number, error.problem)


def _note_balances(statement: StatementReader, row: list[Cell], cells: "_Cells") -> bool:
    """Whether the row says what the account held before or after the lines. The heading has the last word."""
    try:
        found = balances_in(row, statement.profile, cells.balance)
    except CellUnreadable:
        return False
    missing = {name: cents for name, cents in found.items() if getattr(statement.heading, name) is None}
    statement.heading = msgspec.structs.replace(statement.heading, **missing)
    return bool(found)


class _Cells(NamedTuple):
    """The cells of one row by their meaning. None: the layout has no such column, or the row ends before it."""

    receipt: Cell
    at: Cell
    paid_in: Cell
    withdrawn: Cell
    amount: Cell
    direction: Cell
    balance: Cell
    details: Cell
    reason: Cell
    status: Cell
    key: Cell
    party: Cell
    linked: Cell


def _cell_picker(where: dict[StatementField, int]) -> Callable[[list[Cell]], _Cells]:
    # One cell that is always empty, at the end of each row, stands for the columns that the layout does not have.
    pick = itemgetter(*(where.get(StatementField(name), -1) for name in _Cells._fields))
    most = max(where.values())

    def pick_cells(row: list[Cell]) -> _Cells:
        padded = [*row, *[None] * max(most + 1 - len(row), 1)]
        return _Cells._make(pick(padded))

    return pick_cells


def _line_reader(profile: StatementProfile) -> Callable[[int, _Cells], StatementLine]:
    time_of = times(profile.time_formats, profile.zone)
    read_amount = _amount_reader(profile)
    amount_in = _SIGNS[profile.sign](profile, read_amount)
    kind_of = kind_reader(profile)
    find_key, find_linked = _finder(profile.key_pattern), _finder(profile.linked_pattern)
    find_phone = re.compile(profile.phone_pattern).search

    def read(number: int, cells: _Cells) -> StatementLine:
        details, reason = text_of(cells.details), text_of(cells.reason)
        amount, cents = money.split_movement(amount_in(cells))
        receipt = text_of(cells.receipt)
        if not receipt:
            raise CellUnreadable(RowProblem.NO_RECEIPT)
        if len(receipt) > _MOST_RECEIPT:
            raise CellUnreadable(RowProblem.LONG_RECEIPT, most=_MOST_RECEIPT)
        kind = kind_of(reason, details)
        linked = text_of(cells.linked) or (find_linked(details) if kind is LineKind.REVERSAL else "")
        phone = find_phone(text_of(cells.party) or details)
        exact_balance = _named(ColumnName.BALANCE, read_amount, cells.balance)
        balance, balance_cents = (None, 0) if exact_balance is None else money.split(exact_balance)
        return StatementLine(
            row=number,
            receipt=receipt,
            at=_named(ColumnName.TIME, time_of, cells.at),
            amount=amount,
            kind=kind,
            details=details or reason,
            key=text_of(cells.key) or find_key(details),
            phone=phone[0] if phone else "",
            linked=linked,
            balance=balance,
            cents=cents,
            balance_cents=balance_cents,
        )

    return read


def _finder(pattern: str) -> Callable[[str], str]:
    """Finds what the first group of a pattern stands for; nothing, if there is no pattern."""
    if not pattern:
        return lambda text: ""
    search = re.compile(pattern).search
    return lambda text: found[1] if (found := search(text)) else ""


def kind_reader(profile: StatementProfile) -> Callable[[str, str], LineKind]:
    # Both in small letters: a search that ignores case takes several times as long.
    searches = [re.compile(rule.pattern).search for rule in profile.kinds]
    kinds = [*(rule.kind for rule in profile.kinds), LineKind.MONEY]

    @lru_cache(maxsize=256)  # Reasons are few, and so are the details of fees.
    def first_rule(text: str) -> int:
        text = text.lower()
        return next((number for number, search in enumerate(searches) if search(text)), len(searches))

    return lambda reason, details: kinds[min(first_rule(reason), first_rule(details))]


_Amount = Callable[[Cell], int | None]  # in cents


def _amount_reader(profile: StatementProfile) -> _Amount:
    mark = profile.decimal_mark
    return lambda cell: cents_of(cell, mark)


def _two_columns(profile: StatementProfile, read: _Amount) -> Callable[[_Cells], int]:
    """Some exports write what was withdrawn with a minus, some without: it always went out."""

    def amount_in(cells: _Cells) -> int:
        paid_in = _named(ColumnName.PAID_IN, read, cells.paid_in) or 0
        withdrawn = _named(ColumnName.WITHDRAWN, read, cells.withdrawn) or 0
        if paid_in and withdrawn:
            came, went = money.exact(0, paid_in), money.exact(0, withdrawn)
            raise CellUnreadable(RowProblem.IN_AND_OUT, came=came, went=went)
        return paid_in or -abs(withdrawn)

    return amount_in


def _signed(profile: StatementProfile, read: _Amount) -> Callable[[_Cells], int]:
    return lambda cells: _required_amount(cells, read)


def _by_direction(profile: StatementProfile, read: _Amount) -> Callable[[_Cells], int]:
    money_in = {each.casefold() for each in profile.money_in}
    money_out = {each.casefold() for each in profile.money_out}

    def amount_in(cells: _Cells) -> int:
        amount, word = _required_amount(cells, read), text_of(cells.direction).casefold()
        if word in money_in:
            return amount
        if word in money_out:
            return -abs(amount)
        raise CellUnreadable(RowProblem.DIRECTION, word=word, known=profile.money_in + profile.money_out)

    return amount_in


def _required_amount(cells: _Cells, read: _Amount) -> int:
    amount = _named(ColumnName.AMOUNT, read, cells.amount)
    if amount is None:
        raise CellUnreadable(RowProblem.NO_AMOUNT)
    return amount


_SIGNS = {
    SignRule.TWO_COLUMNS: _two_columns,
    SignRule.SIGNED: _signed,
    SignRule.DIRECTION: _by_direction,
}


def _named(column: ColumnName, read: Callable[[Cell], Read], cell: Cell) -> Read:
    try:
        return read(cell)
    except CellUnreadable as error:
        raise error.of(column) from None
