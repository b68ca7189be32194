"""CSV that a spreadsheet opens without running anything in it (CSV injection). Pure. Every export is written here."""

import csv
import io
from collections.abc import Iterable, Sequence

from malipo import phone

# A spreadsheet treats a text that begins with one of these as a formula; the wide ones where people type them.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


class PhoneCell(str):
    """A phone number of a payment, in our format: its plus begins no formula. Whatever else it holds is guarded."""

    __slots__ = ()


def csv_lines(rows: Iterable[Sequence[str | int]]) -> str:
    """The lines of a CSV file. Numbers stay numbers, also negative ones. Text that looks like a formula gets an
    apostrophe before it."""
    text = io.StringIO()
    csv.writer(text).writerows([_cell(each) for each in row] for row in rows)
    return text.getvalue()


def _cell(value: str | int) -> str | int:
    if isinstance(value, PhoneCell) and phone.is_valid(value):
        return value
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
