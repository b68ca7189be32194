"""The rows of a CSV or XLSX file, one after another, however many there are."""

import csv
import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path

from malipo.errors import Refusal
from malipo.network_statements.cell_values import Cell

# Of an XLSX file when it is unpacked: a small file can hold a very large one.
_MOST_BYTES = 2 * 1024**3
# What reading a damaged or made-up XLSX file raises, by what is wrong with it.
_DAMAGED = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)
_SAMPLE_BYTES = 64 * 1024
DELIMITERS = ",;\t|"


class NotATable(Refusal):
    """The file is neither CSV nor XLSX, or it is damaged."""


def rows_of(
    path: Path,
    *,
    most_bytes: int = _MOST_BYTES,
    most_columns: int | None = None,
    choose_delimiter: Callable[[str], str] | None = None,
) -> Iterator[list[Cell]]:
    """`most_bytes` of an XLSX file, when it is unpacked; `choose_delimiter` looks at the beginning of a CSV file."""
    with path.open("rb") as file:
        beginning = file.read(_SAMPLE_BYTES)
    if not beginning.strip():
        raise NotATable(f"{path.name} is empty.")
    if beginning.startswith(b"PK\x03\x04"):
        return _sheet(path, most_bytes, most_columns)
    is_wide = _wide_encoding(beginning) is not None
    if beginning.startswith((b"\xd0\xcf\x11\xe0", b"<", b"%PDF")) or (b"\x00" in beginning and not is_wide):
        raise NotATable(f"{path.name} is not CSV or XLSX. Open it in a spreadsheet, and save it as one of these.")
    return _lines(path, beginning, choose_delimiter or _delimiter)


def _lines(path: Path, beginning: bytes, choose_delimiter: Callable[[str], str]) -> Iterator[list[Cell]]:
    encoding = _wide_encoding(beginning) or _encoding(path)
    delimiter = choose_delimiter(beginning.decode(encoding, "replace"))
    with path.open(encoding=encoding, newline="") as file:
        try:
            yield from csv.reader(file, delimiter=delimiter)
        except (csv.Error, UnicodeDecodeError) as error:
            raise NotATable(f"{path.name} cannot be read as CSV: {error}.") from None


def line_count(path: Path) -> int | None:
    """About as many lines as a CSV file has, before it is read; None if that cannot be told."""
    with path.open("rb") as file:
        if file.read(2) == b"PK":
            return None
        file.seek(0)
        return sum(piece.count(b"\n") for piece in iter(lambda: file.read(1 << 20), b""))


def _wide_encoding(beginning: bytes) -> str | None:
    """Two bytes a letter, as spreadsheet programs write "Unicode text": by its mark, or where no other is possible.

    Without a mark, every second byte of what is mostly English is 0, and none of the others is.
    """
    if beginning.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    even, odd = beginning[0::2], beginning[1::2]
    for encoding, letters, zeros in (("utf-16-le", even, odd), ("utf-16-be", odd, even)):
        if len(beginning) >= 8 and b"\x00" not in letters and zeros.count(0) >= 0.9 * len(zeros):
            return encoding
    return None


def _encoding(path: Path) -> str:
    """Old spreadsheets write the Windows code page; everything else is UTF-8, perhaps with a mark."""
    with path.open(encoding="utf-8") as file:
        try:
            while file.read(1 << 20):
                pass
        except UnicodeDecodeError:
            return "cp1252"
    return "utf-8-sig"


def _delimiter(sample: str) -> str:
    """What divides most lines into the same number of cells; a heading has fewer."""

    def cells(delimiter: str) -> int:
        counts = [len(row) for row in csv.reader(io.StringIO(sample), delimiter=delimiter)]
        return sum(count for count in counts if count > 2)

    return max(DELIMITERS, key=cells)


def _sheet(path: Path, most_bytes: int, most_columns: int | None) -> Iterator[list[Cell]]:
    """The first sheet."""
    from openpyxl import load_workbook  # Few commands need it, and it takes a while to import.

    try:
        with path.open("rb") as file:  # By us, because what cannot be read would leave it open.
            if sum(each.file_size for each in zipfile.ZipFile(file).infolist()) > most_bytes:
                raise NotATable(f"{path.name} is too large. Save it as CSV.")
            with closing(load_workbook(file, read_only=True, data_only=True)) as book:
                sheet = book.worksheets[0]
                sheet.reset_dimensions()  # Some programs write a size that is not true.
                for row in sheet.iter_rows(max_col=most_columns, values_only=True):
                    yield [_cell(value) for value in row]
    except _DAMAGED as error:
        raise NotATable(f"{path.name} cannot be read as XLSX: {error}.") from None


def _cell(value: object) -> Cell:
    return value if value is None or isinstance(value, str | int | float | datetime) else str(value)
