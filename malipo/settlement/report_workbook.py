"""The report of a settlement as a workbook: the sums on one sheet, every line on another. In the words of the API, so
that a program and an accountant read the same names; pages give them a function that translates."""

from collections.abc import Callable
from typing import IO

from malipo.clock import ZONE
from malipo.settlement.report import COLUMNS, Report, ReportLine
from malipo.table_files.xlsx_export import MOST_ROWS, RowStyle, Sheet, Workbook

MOST_LINES = MOST_ROWS - 1


class ReportWorkbook:
    """Written row by row, and complete when it is closed."""

    def __init__(self, report: Report, file: IO[bytes], folder: str, words: Callable[[str], str] = str) -> None:
        self._words = words
        self._book = Workbook(file, folder)
        self._summarise(report)
        self._number = 0
        self._lines = self._next_sheet()

    def add(self, lines: list[ReportLine]) -> None:
        if self._lines.row_count + len(lines) > MOST_ROWS:
            self._lines = self._next_sheet()
        for line in lines:
            at = line.at.astimezone(ZONE).replace(microsecond=0)
            amounts = (line.gross, line.fee, line.net, line.balance)
            names = (line.cause_id, line.reference, line.order_reference)
            self._lines.add([line.number, line.group.value, *amounts, *names, at])

    def close(self) -> None:
        self._book.close()

    def _next_sheet(self) -> Sheet:
        self._number += 1
        name = self._words("Lines")
        sheet = self._book.sheet(
            name if self._number == 1 else f"{name} {self._number}", (8, 22, 16, 12, 16, 18, 32, 26, 20, 20)
        )
        sheet.add(COLUMNS, RowStyle.HEADER)
        sheet.keep_header_in_view()
        return sheet

    def _summarise(self, report: Report) -> None:
        sheet = self._book.sheet(self._words("Summary"), (34, 10, 18, 16, 18))
        sheet.add([report.settlement.reference], RowStyle.TITLE)
        if report.settlement.bank_reference is not None:
            sheet.add(["bankReference", None, None, None, report.settlement.bank_reference])
        sheet.add(["group", "count", "gross", "fee", "net"], RowStyle.HEADER)
        sheet.add(["opening", None, None, None, report.opening], RowStyle.SUM)
        for each in report.sums:
            sheet.add([each.group.value, each.count, each.gross, each.fee, each.net])
        sheet.add(["closing", None, None, None, report.closing], RowStyle.SUM)
