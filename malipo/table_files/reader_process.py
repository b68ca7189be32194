"""Forks a reader for each command of `readers.py`: it reads a CSV or XLSX file, and writes its rows to standard output.
It also reads XML and plain lines as rows (`document_reader.py`), and draws small pictures (`picture_reader.py`).

The file is a reader's standard input, so a reader opens nothing by name. It imports nothing of malipo and has no
environment, so it can reach no secret and no database connection. It limits its own memory and time before it reads the
file; `rows.py` reports the limit that ended it. Each piece of rows is a length of four bytes, and JSON. The process
that forks readers reads no file itself.
"""

import base64
import csv
import json
import os
import re
import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from itertools import islice
from typing import Any, NoReturn

# A piece has at most so many rows, and about so many characters: the parent's memory stays flat.
_ROWS_A_PIECE = 500
_MOST_PIECE = 2 * 1024 * 1024
_MOST_EMPTY_ROWS = 1_048_576  # after the limit of rows: as many as a sheet can have that was formatted to its end
_MOST_ORDER_BYTES = 16 * 1024
_IDLE_SECONDS = 60.0
_NICENESS = 10  # Log-ins and payments come first. A large file comes from a command, which nobody calls by the dozen.
# Cells that the workbook reader does not give as they are: errors such as #N/A, which it leaves out, and whole numbers
# of more than 15 digits, which it rounds. Both are rare, so the sheet is searched before it is parsed again.
_INEXACT = re.compile(rb"""\st\s*=\s*["']e["']|>\s*-?[0-9]{16,}\s*<""")
_WHOLE = re.compile(r"-?[0-9]{16,}")
_OVERLAP = 64  # so that a match across two reads is found
_MOST_INEXACT = 100_000


class ReadingStopped(Exception):  # noqa: N818 - the parent makes a refusal of it.
    """The file is not read further: the name of the limit, or `damaged`."""

    def __init__(self, why: str, detail: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.detail = detail


def main() -> None:
    """Read files until the process that started this one has ended, or until no command came for a while and no reader
    runs."""
    sys.path.insert(0, sys.argv[1])  # Python was started without them, which is faster.
    line = socket.socket(fileno=0)
    line.settimeout(_IDLE_SECONDS)
    readers: set[int] = set()
    while True:
        try:
            request, files, _, _ = socket.recv_fds(line, _MOST_ORDER_BYTES, 2)
        except TimeoutError:
            if readers:
                continue
            return
        if not request:
            return
        if not files:
            act, which = request.split()
            line.send(end_of(int(which), readers, kills=act == b"kill"))
            continue
        command = json.loads(request)
        if command["is_workbook"]:  # Once here, and not in each reader.
            import_workbooks()
        elif command["is_picture"]:
            reader_beside("picture_reader")
        if not (pid := os.fork()):
            become_reader(line, files, command)
        for file in files:
            os.close(file)
        readers.add(pid)
        line.send(b"%d" % pid)


def end_of(pid: int, readers: set[int], *, kills: bool) -> bytes:
    """The exit code of a reader; negative if a signal has ended it. Only this process waits for it, so its number is
    still its own."""
    if pid not in readers:
        return b"%d" % -signal.SIGKILL
    if kills:
        os.kill(pid, signal.SIGKILL)
    ended, status = os.waitpid(pid, 0 if kills else os.WNOHANG)
    if not ended:
        return b"alive"
    readers.remove(pid)
    return b"%d" % os.waitstatus_to_exitcode(status)


def become_reader(line: socket.socket, files: list[int], command: dict[str, Any]) -> NoReturn:
    try:
        line.detach()
        for number, file in enumerate(files):
            os.dup2(file, number)  # The first takes the place of the line.
            os.close(file)
        read(command)
    finally:
        os._exit(0)


def read(command: dict[str, Any]) -> None:
    limit_process(command)
    try:
        if command["is_picture"]:
            send_picture(command)
            return
        send_all(rows_of(command), command)
        send({"is_last": True})
    except ReadingStopped as stopped:
        send({"is_last": True, "stopped": stopped.why, "detail": stopped.detail})
    except MemoryError:
        send({"is_last": True, "stopped": "memory"})
    except BrokenPipeError:
        pass  # Nobody waits any more.
    except (csv.Error, UnicodeDecodeError) as error:
        send({"is_last": True, "stopped": "damaged", "detail": str(error)[:200]})
    except BaseException as error:  # A damaged workbook can raise anything, also a panic of the reader.
        send({"is_last": True, "stopped": "damaged", "detail": str(error)[:200]})


def limit_process(command: dict[str, Any]) -> None:
    if not command["is_large"]:
        os.nice(_NICENESS)
    for kind, soft, hard in (
        (resource.RLIMIT_AS, command["memory_bytes"], command["memory_bytes"]),
        (resource.RLIMIT_CPU, command["seconds"], command["seconds"] + 1),
        (resource.RLIMIT_FSIZE, 0, 0),  # It writes no file.
        (resource.RLIMIT_CORE, 0, 0),
    ):
        resource.setrlimit(kind, (soft, hard))


def send(message: dict[str, Any]) -> None:
    _write(json.dumps(message).encode())


def _write(content: bytes) -> None:
    left = memoryview(len(content).to_bytes(4, "big") + content)
    while left:
        left = left[os.write(1, left) :]


def send_all(rows: Iterator[list[Any]], command: dict[str, Any]) -> None:
    """Send all rows in pieces, until a limit is reached. Empty rows at the end do not count."""
    left_rows, left_cells, left_text = command["rows"], command["cells"], command["characters"]
    most_columns, cuts, left_empty = command["columns"], command["cuts"], _MOST_EMPTY_ROWS
    encode, has_dates = _encoder(command), command["is_workbook"]
    while piece := list(islice(rows, _ROWS_A_PIECE)):
        if cuts is not None:
            piece = [[each[:cuts] if type(each) is str else each for each in row[:most_columns]] for row in piece]
        elif any(len(row) > most_columns and any(row[most_columns:]) for row in piece):
            raise ReadingStopped("columns")
        if len(piece) > left_rows:
            left_empty -= len(piece)
            if left_empty < 0 or any(cell for row in piece[left_rows:] for cell in row):
                raise ReadingStopped("rows")
            piece = piece[:left_rows]
        left_rows -= len(piece)
        left_cells -= sum(map(len, piece))
        if left_cells < 0:
            raise ReadingStopped("cells")
        if piece:
            left_text -= send_piece(piece, left_text, encode, has_dates=has_dates)


def _encoder(command: dict[str, Any]) -> Callable[[Any], bytes]:
    """The encoder of the rows; of a large file the faster one, which takes a while to import."""
    if command["is_large"]:
        import msgspec

        return msgspec.json.encode
    return lambda message: json.dumps(message, ensure_ascii=False).encode(errors="replace")


def send_piece(piece: list[list[Any]], most: int, encode: Callable[[Any], bytes], *, has_dates: bool) -> int:
    """Send a piece. Returns about how many characters it had, with marks between cells, and with letters of several
    bytes counted by their bytes."""
    dates = _take_dates(piece) if has_dates else []
    content = encode({"rows": piece, "dates": dates})
    if rb"\u0000" in content and any("\0" in cell for row in piece for cell in row if type(cell) is str):
        raise ReadingStopped("damaged", "it has NUL characters")  # No database keeps one.
    if len(content) > most:
        raise ReadingStopped("characters")
    if len(content) > _MOST_PIECE and len(piece) > 1:
        for number, column, moment in dates:
            piece[number][column] = datetime.fromisoformat(moment)
        half = len(piece) // 2
        sent = send_piece(piece[:half], most, encode, has_dates=has_dates)
        return sent + send_piece(piece[half:], most - sent, encode, has_dates=has_dates)
    if len(content) > 4 * _MOST_PIECE:
        raise ReadingStopped("characters")
    _write(content)
    return len(content)


def _take_dates(piece: list[list[Any]]) -> list[tuple[int, int, str]]:
    """Take the times out of the rows, because JSON has none: they are sent beside the rows."""
    dates = []
    for number, row in enumerate(piece):
        for column, cell in enumerate(row):
            if isinstance(cell, datetime):
                dates.append((number, column, cell.isoformat()))
                row[column] = None
    return dates


def rows_of(command: dict[str, Any]) -> Iterator[list[Any]]:
    if command["is_workbook"]:
        return workbook_rows(command)
    return document_rows(command) if command["document"] else text_rows(command)


def document_rows(command: dict[str, Any]) -> Iterator[list[Any]]:
    documents = reader_beside("document_reader")
    try:
        if command["document"] == "xml":
            yield from documents.element_rows(command)
        else:
            yield from documents.line_rows(command, _encoding())
    except documents.NotRead as not_read:
        raise ReadingStopped(not_read.why, not_read.detail) from None


def text_rows(command: dict[str, Any]) -> Iterator[list[Any]]:
    csv.field_size_limit(command["cell_characters"])
    encoding = command["encoding"] or _encoding()
    os.lseek(0, 0, os.SEEK_SET)
    with open(0, encoding=encoding, newline="", closefd=False) as file:
        yield from csv.reader(file, delimiter=command["delimiter"])


def _encoding() -> str:
    """Old spreadsheets write the Windows code page; everything else is UTF-8, perhaps with a mark."""
    os.lseek(0, 0, os.SEEK_SET)
    with open(0, encoding="utf-8", closefd=False) as file:
        try:
            while file.read(1 << 20):
                pass
        except UnicodeDecodeError:
            return "cp1252"
    return "utf-8-sig"


def import_workbooks() -> None:
    """Import what only workbooks need, which takes a while."""
    for name in ("zipfile", "xml.parsers.expat", "python_calamine"):
        import_module(name)


def reader_beside(name: str) -> Any:
    """Import another reader from a file beside this one. That of pictures needs a library that takes a while to
    import."""
    if name not in sys.modules:
        found = spec_from_file_location(name, os.path.join(os.path.dirname(__file__), f"{name}.py"))
        assert found is not None
        assert found.loader is not None
        sys.modules[name] = module_from_spec(found)
        found.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def send_picture(command: dict[str, Any]) -> None:
    pictures = reader_beside("picture_reader")
    try:
        with open(0, "rb", closefd=False) as file:
            content, _, _ = pictures.draw(file, command)
    except pictures.NotDrawn as not_drawn:
        send({"stopped": not_drawn.why})
    else:
        send({"picture": base64.b64encode(content).decode()})


def workbook_rows(command: dict[str, Any]) -> Iterator[list[Any]]:
    """The rows of the first sheet."""
    import zipfile

    from python_calamine import CalamineWorkbook, SheetTypeEnum

    with open(0, "rb", closefd=False) as file:
        archive = zipfile.ZipFile(file)
        if sum(each.file_size for each in archive.infolist()) > command["unpacked_bytes"]:
            raise ReadingStopped("unpacked_bytes")
        file.seek(0)
        book = CalamineWorkbook.from_filelike(file)
        at = next(
            (number for number, each in enumerate(book.sheets_metadata) if each.typ == SheetTypeEnum.WorkSheet), None
        )
        if at is None:
            raise ReadingStopped("damaged", "it has no sheet")
        exact = inexact_cells(archive, at)
        sheet = book.get_sheet_by_index(at)
        if sheet.end is not None and sheet.end[0] >= command["rows"] + _MOST_EMPTY_ROWS:
            raise ReadingStopped("rows")  # At once: it would send nothing while it counts, and be taken to hang.
        # Rows begin with the first column that has anything, and columns are counted from A.
        left = [None] * (sheet.start[1] if sheet.start else 0)
        for number, row in enumerate(sheet.iter_rows()):
            cells = [*left, *(value_of(cell) for cell in row)]
            for column, text in exact.get(number, ()):
                cells += [None] * (column + 1 - len(cells))
                cells[column] = text
            yield cells


def value_of(cell: Any) -> Any:
    """The value of a cell for a statement or a list of payouts: a text, a number, a time, or None for an empty cell."""
    if type(cell) is str:
        return cell or None
    if type(cell) is float:
        if abs(cell) >= 1e15 or cell != cell:  # Not exact any more: it must not pass for one that is.
            return repr(cell)
        return int(cell) if cell.is_integer() else cell
    if isinstance(cell, datetime):
        return cell
    if isinstance(cell, date):
        return datetime(cell.year, cell.month, cell.day)
    return str(cell)


def inexact_cells(archive: Any, at: int) -> dict[int, list[tuple[int, str]]]:
    """Find, by row from 0, the column and the text of each cell that the workbook reader would change."""
    name = _part_of(archive, at)
    if name is None or not _has_inexact(archive, name):
        return {}
    found: dict[int, list[tuple[int, str]]] = {}
    for row, column, text in _texts(archive, name):
        found.setdefault(row, []).append((column, text))
    return found


def _has_inexact(archive: Any, name: str) -> bool:
    with archive.open(name) as file:
        before = b""
        while piece := file.read(1 << 18):
            if not before and not piece.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"<"):
                return True  # Another encoding: the parser below knows it.
            if _INEXACT.search(before + piece):
                return True
            before = piece[-_OVERLAP:]
    return False


def _parse(archive: Any, name: str, begin: Callable[[str, dict[str, str]], None], **more: Any) -> None:
    from xml.parsers import expat

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = begin
    for handler, function in more.items():
        setattr(parser, handler, function)
    # Entities are of no use in a sheet, and can name each other without end.
    parser.EntityDeclHandler = _refuse_entity
    with archive.open(name) as file:
        parser.ParseFile(file)


def _refuse_entity(*arguments: Any) -> None:
    raise ReadingStopped("damaged", "it declares entities")


def _part_of(archive: Any, at: int) -> str | None:
    """The part of the archive that is this sheet."""
    sheets: list[str] = []
    targets: dict[str, str] = {}

    def sheet(name: str, fields: dict[str, str]) -> None:
        if name.endswith(" sheet"):
            sheets.append(next((fields[key] for key in fields if key.endswith("relationships id")), ""))

    def relation(name: str, fields: dict[str, str]) -> None:
        if name.endswith(" Relationship"):
            targets[fields.get("Id", "")] = fields.get("Target", "")

    _parse(archive, "xl/workbook.xml", sheet)
    _parse(archive, "xl/_rels/workbook.xml.rels", relation)
    if at >= len(sheets):
        return None
    target = targets.get(sheets[at], "")
    name = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
    return name if name in archive.namelist() else None


def _texts(archive: Any, name: str) -> Iterable[tuple[int, int, str]]:
    found: list[tuple[int, int, str]] = []
    row = column = -1
    kind, text, is_value = "", "", False

    def begin(element: str, fields: dict[str, str]) -> None:
        nonlocal row, column, kind, text, is_value
        tag = element.rpartition(" ")[2]
        if tag == "row":
            row, column = int(fields["r"]) - 1 if "r" in fields else row + 1, -1
        elif tag == "c":
            column = _column(fields["r"]) if "r" in fields else column + 1
            kind, text = fields.get("t", "n"), ""
        elif tag == "v":
            is_value = kind in ("e", "n")

    def add_text(piece: str) -> None:
        nonlocal text
        if is_value and len(text) < 100:
            text += piece

    def end(element: str) -> None:
        nonlocal is_value
        if not is_value or not element.endswith(" v"):
            return
        is_value = False
        if kind == "e" or _WHOLE.fullmatch(text.strip()):
            found.append((row, column, text.strip()))
            if len(found) > _MOST_INEXACT:
                raise ReadingStopped("cells")

    _parse(archive, name, begin, CharacterDataHandler=add_text, EndElementHandler=end)
    return found


def _column(reference: str) -> int:
    """The index of a cell's column: 1 for `B7`."""
    number = 0
    for letter in reference:
        if not letter.isalpha():
            break
        number = number * 26 + ord(letter.upper()) - 64
    return number - 1


if __name__ == "__main__":
    main()
