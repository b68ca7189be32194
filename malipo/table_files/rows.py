"""The rows of a CSV or XLSX file, one after another, in constant memory.

A file from outside is read in a process of its own (`reader_process.py`), with limits of memory, time and size. This
process reads only the beginning of the file, and gets the rows in pieces of bounded size.
"""

import csv
import io
import signal
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path

import msgspec

from malipo.errors import Code, Refusal
from malipo.table_files.limits import STATEMENT, ReadingLimits
from malipo.table_files.readers import Reader, start_reader

Cell = str | int | float | datetime | None

_SAMPLE_BYTES = 64 * 1024
_MEGABYTE = 1024 * 1024
_LARGE_BYTES = 10 * _MEGABYTE  # Pages take no such file: only the command line does.
DELIMITERS = ",;\t|"


class TableRefusal(Code):
    EMPTY = "table_empty"
    NO_TABLE = "table_none"
    DAMAGED = "table_damaged"
    MEMORY = "table_memory"
    SECONDS = "table_seconds"
    SECONDS_OF_A_PAGE = "table_seconds_of_a_page"
    UNPACKED = "table_unpacked"
    ROWS = "table_rows"
    COLUMNS = "table_columns"
    CELLS = "table_cells"
    CHARACTERS = "table_characters"


class NotATable(Refusal):
    """The file is neither CSV nor XLSX, or it is damaged, or it is too large."""


class LimitMet(NotATable):
    """A limit has ended the reading, or would have. `limit` is its name in `ReadingLimits`."""

    def __init__(self, limit: str, code: TableRefusal, *, most: int, name: str = "") -> None:
        super().__init__(code=code, most=most, name=name)
        self.limit = limit


class Stop:
    """Ends a reading in a thread whose caller no longer waits."""

    def __init__(self) -> None:
        self._is_set = False
        self._reader: Reader | None = None

    def attach(self, reader: Reader) -> None:
        self._reader = reader
        if self._is_set:
            reader.kill()

    def set(self) -> None:
        self._is_set = True
        if self._reader is not None:
            self._reader.kill()


# Of the thread that reads. A reading has no other parameter for it, since only pages can be left by who waits.
CURRENT_STOP: ContextVar[Stop | None] = ContextVar("CURRENT_STOP", default=None)


class _ReadCommand(msgspec.Struct):
    """The command for the reader."""

    is_workbook: bool
    is_picture: bool
    document: str  # `xml` or `lines`, else nothing
    is_large: bool
    encoding: str | None  # None: UTF-8 if all of it is, else the Windows code page
    delimiter: str
    memory_bytes: int
    seconds: int
    unpacked_bytes: int
    rows: int
    columns: int
    cells: int
    characters: int
    cell_characters: int
    cuts: int | None


class _Piece(msgspec.Struct):
    rows: list[list[str | int | float | None]] = []
    dates: list[tuple[int, int, datetime]] = []  # row and column in this piece: JSON has no times
    is_last: bool = False
    stopped: str | None = None
    detail: str = ""


_decode = msgspec.json.Decoder(_Piece).decode


def rows_of(
    path: Path, limits: ReadingLimits = STATEMENT, *, choose_delimiter: Callable[[str], str] | None = None
) -> Iterator[list[Cell]]:
    """The rows of a file. `choose_delimiter` reads the beginning of a CSV file."""
    beginning = beginning_of(path)
    if beginning.startswith(b"PK\x03\x04"):
        return _read(path, limits, is_workbook=True)
    encoding = _wide_encoding(beginning)
    if beginning.startswith((b"\xd0\xcf\x11\xe0", b"<", b"%PDF")) or (b"\x00" in beginning and encoding is None):
        raise NotATable(code=TableRefusal.NO_TABLE, name=path.name)
    sample = beginning.decode(encoding or _encoding_of_sample(beginning), "replace")
    return _read(path, limits, encoding=encoding, delimiter=(choose_delimiter or _delimiter)(sample))


def elements_of(path: Path, limits: ReadingLimits = STATEMENT) -> Iterator[list[Cell]]:
    """The elements of an XML file as rows (`document_reader.py`)."""
    return _read(path, limits, document="xml")


def lines_of(path: Path, limits: ReadingLimits = STATEMENT) -> Iterator[list[Cell]]:
    """The lines of a text file, one for each row."""
    return _read(path, limits, document="lines")


def beginning_of(path: Path) -> bytes:
    """The beginning of a file, long enough to recognise its type."""
    with path.open("rb") as file:
        beginning = file.read(_SAMPLE_BYTES)
    if not beginning.strip():
        raise NotATable(code=TableRefusal.EMPTY, name=path.name)
    return beginning


def line_count(path: Path) -> int | None:
    """About how many lines a CSV file has, before it is read; None if it cannot be estimated."""
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


def _encoding_of_sample(beginning: bytes) -> str:
    """The encoding of a sample, for the delimiter only. The sample may end within a letter."""
    try:
        beginning.decode()
    except UnicodeDecodeError as error:
        return "cp1252" if error.start < len(beginning) - 3 else "utf-8-sig"
    return "utf-8-sig"


def _delimiter(sample: str) -> str:
    """The delimiter that divides most lines into the same number of cells. A heading has fewer."""

    def cells(delimiter: str) -> int:
        try:
            counts = [len(row) for row in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)]
        except csv.Error:
            return 0
        return sum(count for count in counts if count > 2)

    return max(DELIMITERS, key=cells)


def _read(
    path: Path,
    limits: ReadingLimits,
    *,
    is_workbook: bool = False,
    document: str = "",
    encoding: str | None = None,
    delimiter: str = ",",
) -> Iterator[list[Cell]]:
    # A large file may take longer; a small file that unpacks to a large one may not.
    size = path.stat().st_size
    seconds = limits.seconds + size // _MEGABYTE
    command = _ReadCommand(
        is_workbook=is_workbook,
        is_picture=False,
        document=document,
        is_large=size > _LARGE_BYTES,
        encoding=encoding,
        delimiter=delimiter,
        **{**msgspec.structs.asdict(limits), "seconds": seconds},
    )
    kind = "XLSX" if is_workbook else {"": "CSV", "xml": "XML", "lines": "MT940"}[document]
    with path.open("rb") as file:
        reader = start_reader(file, msgspec.json.encode(command))
    if (stop := CURRENT_STOP.get()) is not None:
        stop.attach(reader)
    try:
        for piece in map(_decode, reader.messages()):
            for number, column, moment in piece.dates:
                piece.rows[number][column] = moment  # type: ignore[call-overload]
            yield from piece.rows  # type: ignore[misc]
            if piece.stopped is not None:
                raise _refusal(path.name, piece.stopped, piece.detail, limits, seconds, kind=kind)
            if piece.is_last:
                return
        raise _refusal(path.name, _cause_of_death(reader), "", limits, seconds, kind=kind)
    finally:
        reader.kill()
        reader.output.close()


def _cause_of_death(reader: Reader) -> str:
    """The limit that ended the reader, which could not report it itself."""
    code = reader.exit_code(1)
    if code is None:
        return "seconds"  # It runs, and sends nothing.
    # The kernel ends it for its time; a library that gets no memory ends itself.
    return "seconds" if -code in (signal.SIGXCPU, signal.SIGKILL) else "memory"


def _refusal(name: str, why: str, detail: str, limits: ReadingLimits, seconds: int, *, kind: str) -> NotATable:
    if why == "damaged":
        return NotATable(code=TableRefusal.DAMAGED, name=name, kind=kind, detail=detail)
    code, most = {
        "memory": (TableRefusal.MEMORY, limits.memory_bytes // _MEGABYTE),
        "seconds": (TableRefusal.SECONDS, seconds),
        "unpacked_bytes": (TableRefusal.UNPACKED, limits.unpacked_bytes // _MEGABYTE),
        "rows": (TableRefusal.ROWS, limits.rows),
        "columns": (TableRefusal.COLUMNS, limits.columns),
        "cells": (TableRefusal.CELLS, limits.cells),
        "characters": (TableRefusal.CHARACTERS, limits.characters),
    }[why]
    return LimitMet(why, code, name=name, most=most)
