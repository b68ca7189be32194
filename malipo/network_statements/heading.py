"""What stands above the lines of a statement: whose it is, for which time, and its balances. Pure."""

from datetime import datetime

import msgspec

from malipo.network_statements.cell_values import Cell, Unreadable, cents_of, text_of, times
from malipo.network_statements.profile import Profile, folded


class Heading(msgspec.Struct, frozen=True, kw_only=True):
    """None where the file does not say."""

    account: str | None = None
    opening: int | None = None  # in cents
    closing: int | None = None  # in cents
    begins: datetime | None = None
    ends: datetime | None = None


def read_heading(rows: list[list[Cell]], profile: Profile) -> Heading:
    """Labels and values stand anywhere in these rows; a value is in the next cell that is not empty."""
    labels, time_of = profile.labels, times(profile.time_formats, profile.zone)
    values = {folded(text_of(cell)): _next(row, number + 1) for row in rows for number, cell in enumerate(row) if cell}

    def find(names: tuple[str, ...]) -> Cell:
        return next((values[folded(name)] for name in names if values.get(folded(name)) is not None), None)

    try:
        begins, ends = find(labels.from_), find(labels.to)
        return Heading(
            account=text_of(find(labels.account)) or None,
            opening=cents_of(find(labels.opening), profile.decimal_mark),
            closing=cents_of(find(labels.closing), profile.decimal_mark),
            begins=None if begins is None else time_of(begins),
            ends=None if ends is None else time_of(ends),
        )
    except Unreadable as error:
        raise Unreadable(f"A value above the header {error}.") from None


def _next(row: list[Cell], after: int) -> Cell:
    return next((cell for cell in row[after:] if text_of(cell)), None)
