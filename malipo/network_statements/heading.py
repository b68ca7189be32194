"""Reads what stands above the lines of a statement: its account, its period and its balances. Pure."""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

import msgspec

from malipo.errors import Code
from malipo.network_statements.cell_values import TIME_FORMATS, CellUnreadable, cents_of, is_day, text_of, times
from malipo.network_statements.profile import HeadingLabels, StatementProfile, folded
from malipo.table_files.rows import Cell

# As exports and banks name them, whatever the layout is. A layout's own labels come first.
_COMMON = HeadingLabels(
    opening=(
        *("Opening Balance", "Previous Balance", "Starting Balance", "Balance B/F", "Balance BF", "B/F"),
        *("Balance Brought Forward", "Brought Forward", "Salio la Kuanzia", "Salio Anzia"),
    ),
    closing=(
        *("Closing Balance", "Ending Balance", "Balance C/F", "Balance CF", "C/F", "Balance Carried Forward"),
        *("Carried Forward", "Salio la Kufunga", "Salio la Mwisho"),
    ),
    from_=(
        *("From", "From Date", "Date From", "Start Date", "Period From", "Time Period From", "Statement From"),
        *("Kuanzia", "Tangu"),
    ),
    to=("To", "To Date", "Date To", "End Date", "Period To", "Time Period To", "Statement To", "Hadi"),
)
_PERIODS = ("Period", "Statement Period", "Time Period", "Date Range", "Kipindi")
_Reader = Callable[[Cell], datetime]
_LABELLED = re.compile(r"([^:=]{1,40}?)\s*[:=]\s*(.+)", re.DOTALL)
_FROM_TO = re.compile(r"(?:.*\b(?:from|kuanzia|between)\s+)?(.+?)\s+(?:to|until|and|hadi|[-–])\s+(.+)", re.IGNORECASE)


class HeadingValue(Code):
    ANY = "value_above_header"


class StatementHeading(msgspec.Struct, frozen=True, kw_only=True):
    """None where the file does not say."""

    account: str | None = None
    opening: int | None = None  # in cents
    closing: int | None = None  # in cents
    begins: datetime | None = None
    ends: datetime | None = None
    ends_on_a_day: bool = False  # its end is a day without a time: that day may be in it or not

    def ends_at(self, last_line: datetime | None) -> datetime | None:
        """The time until which the file has everything. Of a day without a time, as far as its lines go."""
        if self.ends is None or last_line is None:
            return self.ends or last_line
        is_in_that_day = self.ends_on_a_day and self.ends < last_line < self.ends + timedelta(days=1)
        return last_line if is_in_that_day else self.ends


def read_heading(rows: list[list[Cell]], profile: StatementProfile) -> StatementHeading:
    """Labels and values stand anywhere in these rows; a value is in the next cell that is not empty, or in the same."""
    values: dict[str, Cell] = {}
    for row in rows:
        for number, cell in enumerate(row):
            if cell and (name := folded(text_of(cell))):
                values.setdefault(name, _next(row, number + 1))
            if isinstance(cell, str) and (found := _LABELLED.fullmatch(cell.strip())):
                values.setdefault(folded(found[1]), found[2])
    own = profile.labels
    time_of = times((*profile.time_formats, *TIME_FORMATS), profile.zone)
    try:
        begins, ends = _find(values, own.from_), _find(values, own.to)
        read = StatementHeading(
            account=text_of(_find(values, own.account)) or None,
            opening=cents_of(_find(values, (*own.opening, *_COMMON.opening)), profile.decimal_mark),
            closing=cents_of(_find(values, (*own.closing, *_COMMON.closing)), profile.decimal_mark),
        )
        begins, ends = _period(rows, values, begins, ends, time_of)
        return msgspec.structs.replace(
            read,
            begins=None if begins is None else time_of(begins),
            ends=None if ends is None else time_of(ends),
            ends_on_a_day=is_day(ends),
        )
    except CellUnreadable as error:
        raise error.of(HeadingValue.ANY) from None


def _find(values: dict[str, Cell], names: Iterable[str]) -> Cell:
    return next((values[folded(name)] for name in names if values.get(folded(name)) is not None), None)


def _period(
    rows: Sequence[list[Cell]], values: dict[str, Cell], begins: Cell, ends: Cell, time_of: _Reader
) -> tuple[Cell, Cell]:
    """The layout's own labels; else the usual ones, else a sentence: what is no time there is something else."""
    both = _find(values, _PERIODS)
    sentences = [both, *(cell for row in rows for cell in row if isinstance(cell, str))]
    if ends is None and begins is not None and not _is_time(begins, time_of):
        sentences.insert(0, begins)  # "Period", "1 November 2026 to 30 November 2026"
        begins = None
    if begins is None and _is_time(usual := _find(values, _COMMON.from_), time_of):
        begins = usual
    if ends is None and _is_time(usual := _find(values, _COMMON.to), time_of):
        ends = usual
    if begins is None and ends is None:
        for cell in sentences:
            found = _FROM_TO.fullmatch(text_of(cell))
            if found and _is_time(found[1], time_of) and _is_time(found[2], time_of):
                return found[1], found[2]
    return begins, ends


def _is_time(cell: Cell, time_of: _Reader) -> bool:
    if cell is None:
        return False
    try:
        time_of(cell)
    except CellUnreadable:
        return False
    return True


def balances_in(row: list[Cell], profile: StatementProfile, balance: Cell) -> dict[str, int]:
    """The opening or closing balance, in cents, in a row that stands among the lines but is no movement."""
    found: dict[str, int] = {}
    for number, cell in enumerate(row):
        name = folded(text_of(cell))
        for which, names in (("opening", _COMMON.opening), ("closing", _COMMON.closing)):
            if name and name in {folded(each) for each in names}:
                value = balance if text_of(balance) else _next(row, number + 1)
                cents = cents_of(value, profile.decimal_mark)
                if cents is not None:
                    found[which] = cents
    return found


def _next(row: list[Cell], after: int) -> Cell:
    return next((cell for cell in row[after:] if text_of(cell)), None)
