"""The files beside this, and what is read of them. `python -m tests.payments.batches.spreadsheet.golden` makes the XLSX files."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from openpyxl import Workbook

from malipo.networks.connector import Channel
from malipo.payments.batches.spreadsheet.read_sheet import PayoutSheet, read_sheet
from malipo.payments.batches.spreadsheet.spreadsheet_line import SpreadsheetLine, lines_of
from malipo.payments.payment_request import PaymentTerms

FILES = Path(__file__).parent / "files"
TERMS = PaymentTerms("REF", dict.fromkeys(Channel, 5_000_000))

# As a bookkeeper keeps them: numbers that were typed as numbers, one of them as a text, and a date that nobody needs.
SALARIES: list[list[Any]] = [
    ["Mkono Trading, salaries"],
    [],
    ["No", "Employee", "Phone", "Net pay", "Paid on"],
    [1, "Asha Juma", 754000101, 450000, datetime(2026, 11, 30)],
    [2, "Baraka Mushi", 255655000102, 380000.0, datetime(2026, 11, 30)],
    [3, "Celina Mrema", "0682000103", "512,500", None],
    [4, "Daudi Komba", 621000104.0, 295000, None],
    [None, None, None, None, None],
    [None, "TOTAL", None, 1637500, None],
]


def write_workbook(path: Path, rows: Sequence[Sequence[Any]]) -> Path:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    for row in rows:
        sheet.append(list(row))
    book.save(path)
    return path


def lines_in(path: Path) -> tuple[PayoutSheet, list[SpreadsheetLine]]:
    sheet = read_sheet(path)
    return sheet, lines_of(sheet, {}, TERMS)


def brief(line: SpreadsheetLine) -> tuple[object, ...]:
    """Row, number, network, amount, name."""
    values = line.values
    return (line.row, *(values.get(name) for name in ("recipientPhone", "channel", "amount", "recipientName")))


if __name__ == "__main__":
    write_workbook(FILES / "salaries.xlsx", SALARIES)
