"""Workbooks, written row by row in constant memory. A text stays a text in them, and never becomes a formula.

The rows of each sheet wait in a file of their own until the workbook is closed. Writing takes processor time: use a
thread.
"""

from collections.abc import Sequence
from datetime import datetime
from enum import Enum, auto
from typing import IO, Any

MOST_ROWS = 1_048_576  # of a sheet, by its format
_WHOLE = "#,##0"
_MOMENT = "yyyy-mm-dd hh:mm:ss"

Cell = str | int | datetime | None


class RowStyle(Enum):
    PLAIN = auto()
    TITLE = auto()
    HEADER = auto()
    SUM = auto()
    SOFT = auto()  # what counts for less


_LOOKS: dict[RowStyle, dict[str, Any]] = {
    RowStyle.PLAIN: {},
    RowStyle.TITLE: {"bold": True, "font_size": 14},
    RowStyle.HEADER: {"bold": True, "bottom": 1, "bg_color": "#E6F0EB"},
    RowStyle.SUM: {"bold": True, "top": 1},
    RowStyle.SOFT: {"font_color": "#6C7671"},
}


class Sheet:
    """One sheet. Its rows are added from the top."""

    def __init__(self, workbook: "Workbook", sheet: Any) -> None:
        self._workbook = workbook
        self._sheet = sheet
        self.row_count = 0

    def add(self, cells: Sequence[Cell] = (), style: RowStyle = RowStyle.PLAIN) -> None:
        row, sheet = self.row_count, self._sheet
        assert row < MOST_ROWS, "more rows than a sheet can have"
        for column, cell in enumerate(cells):
            if isinstance(cell, str):
                sheet.write_string(row, column, cell, self._workbook.format_of(style, None))
            elif isinstance(cell, datetime):
                sheet.write_datetime(row, column, cell.replace(tzinfo=None), self._workbook.format_of(style, _MOMENT))
            elif cell is not None:
                sheet.write_number(row, column, cell, self._workbook.format_of(style, _WHOLE))
        self.row_count += 1

    def keep_header_in_view(self) -> None:
        """Keep the rows that were added so far in view while a reader scrolls."""
        self._sheet.freeze_panes(self.row_count, 0)


class Workbook:
    """A workbook, complete when it is closed. Its rows wait in `folder` until then."""

    def __init__(self, file: IO[bytes], folder: str) -> None:
        # Most processes never write one.
        from xlsxwriter import Workbook as Book  # type: ignore[import-untyped]

        self._book = Book(file, {"constant_memory": True, "tmpdir": folder})
        self._book.use_zip64()
        self._formats: dict[tuple[RowStyle, str | None], Any] = {}

    def sheet(self, name: str, widths: Sequence[int]) -> Sheet:
        """Widths of the columns, in characters."""
        sheet = self._book.add_worksheet(name)
        for column, width in enumerate(widths):
            sheet.set_column(column, column, width)
        sheet.set_landscape()
        sheet.fit_to_pages(1, 0)
        return Sheet(self, sheet)

    def format_of(self, style: RowStyle, number_format: str | None) -> Any:
        key = style, number_format
        if key not in self._formats:
            looks = _LOOKS[style] | ({} if number_format is None else {"num_format": number_format})
            self._formats[key] = self._book.add_format(looks)
        return self._formats[key]

    def close(self) -> None:
        self._book.close()
