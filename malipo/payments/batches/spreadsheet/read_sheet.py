"""Reads a CSV or XLSX file into rows of text, and finds its header and its totals. The values are not checked here."""

import csv
import io
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import msgspec

from malipo.errors import Invalid
from malipo.network_statements.cell_values import text_of
from malipo.payments.batches.spreadsheet.columns import SheetColumn, delimiter_score, find_header, guess_columns
from malipo.payments.batches.spreadsheet.repaired_cells import Quality, amount_cell, phone_cell
from malipo.table_files.limits import PAYOUTS
from malipo.table_files.rows import DELIMITERS, Cell, NotATable, rows_of

MOST_LINES = 5000
MOST_FILE_BYTES = 4 * 1024 * 1024
_MOST_COLUMNS = PAYOUTS.columns
_LETTER = re.compile(r"[^\W\d_]")
_TOTAL = re.compile(r"(grand )?total|sub ?total|jumla( kuu)?|sum", re.IGNORECASE)


class NoLines(Invalid):
    def __init__(self) -> None:
        super().__init__("The file has no lines.")


class TooManyLines(Invalid):
    def __init__(self) -> None:
        super().__init__(f"A file may have at most {MOST_LINES} lines.")


class SheetRow(msgspec.Struct, frozen=True, array_like=True):
    number: int  # in the file, from 1
    cells: list[str]


class PayoutSheet(msgspec.Struct, frozen=True):
    header: list[str]  # empty if the file has none
    rows: list[SheetRow]
    columns: dict[SheetColumn, int]
    totals: list[SheetRow] = []  # rows that are the sum of others: they are not paid


def read_sheet(path: Path) -> PayoutSheet:
    """Raises NotATable, NoLines or TooManyLines, whatever the file holds."""
    rows = _filled_rows(path)
    at = find_header([each.cells for each in rows])
    header = [] if at is None else rows[at].cells
    below = rows if at is None else rows[at + 1 :]
    columns = guess_columns(header, [each.cells for each in below])
    left, totals = _without_totals([each for each in below if each.cells != header], columns)
    if not left:
        raise NoLines
    if len(left) > MOST_LINES:
        raise TooManyLines
    return PayoutSheet(header, left, columns, totals)


def _filled_rows(path: Path) -> list[SheetRow]:
    rows: list[SheetRow] = []
    for number, cells in enumerate(rows_of(path, PAYOUTS, choose_delimiter=_choose_delimiter), 1):
        texts = [_text(each) for each in cells]
        while texts and not texts[-1]:
            texts.pop()
        if texts:
            rows.append(SheetRow(number, texts))
        if len(rows) > MOST_LINES + 100:
            raise TooManyLines
    return rows


def _text(cell: Cell) -> str:
    """A number without the fraction that spreadsheets give it."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    if isinstance(cell, datetime):
        return cell.isoformat(" ")
    return text_of(cell).replace("\0", "")


def _choose_delimiter(sample: str) -> str:
    lines = "\n".join(sample.splitlines()[:60])

    def score(delimiter: str) -> tuple[int, int]:
        try:
            return delimiter_score(list(csv.reader(io.StringIO(lines, newline=""), delimiter=delimiter)))
        except csv.Error:
            return 0, 0

    return max(DELIMITERS, key=score)


def _without_totals(rows: list[SheetRow], columns: dict[SheetColumn, int]) -> tuple[list[SheetRow], list[SheetRow]]:
    """Separate the totals. A total has no phone number, and the word "total" or only the sum of the lines above it."""
    left: list[SheetRow] = []
    totals: list[SheetRow] = []
    above = 0
    phone_at = columns.get(SheetColumn.PHONE, _MOST_COLUMNS)
    for row in rows:
        amount = total_of(row, columns)
        has_phone = phone_at < len(row.cells) and phone_cell(row.cells[phone_at]).quality is not Quality.WRONG
        is_sum = amount == above and len(left) > 1 and not any(_LETTER.search(cell) for cell in row.cells)
        if not has_phone and (is_sum or any(_TOTAL.fullmatch(cell.rstrip(" :.")) for cell in row.cells)):
            totals.append(row)
        else:
            left.append(row)
            above += amount or 0
    return left, totals


def rechosen(sheet: PayoutSheet, columns: Mapping[SheetColumn, int]) -> PayoutSheet:
    """The sheet with columns that a person has chosen. A first row with neither a number nor an amount there is a
    header."""
    header, rows = sheet.header, sheet.rows
    if not header and len(rows) > 1 and not _is_payable(rows[0], columns):
        header, rows = rows[0].cells, rows[1:]
    return PayoutSheet(header, rows, dict(columns), sheet.totals)


def _is_payable(row: SheetRow, columns: Mapping[SheetColumn, int]) -> bool:
    texts = {each: row.cells[at] for each, at in columns.items() if at < len(row.cells)}
    values = phone_cell(texts.get(SheetColumn.PHONE, "")), amount_cell(texts.get(SheetColumn.AMOUNT, ""))
    return any(each.quality is not Quality.WRONG for each in values)


def total_of(row: SheetRow, columns: dict[SheetColumn, int]) -> int | None:
    """The total that a file itself states, to be compared with the sum of its lines."""
    at = columns.get(SheetColumn.AMOUNT)
    if at is None or at >= len(row.cells):
        return None
    amount = amount_cell(row.cells[at]).value
    return amount if isinstance(amount, int) else None


__all__ = ["MOST_LINES", "NoLines", "NotATable", "PayoutSheet", "SheetRow", "TooManyLines", "read_sheet", "total_of"]
