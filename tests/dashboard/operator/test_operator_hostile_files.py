"""Statements that are made to do harm, sent to the operators' page and given to the command.

Each is refused in words, nothing is imported, and an honest file is imported after it. The command gets all of them, and
the pages, which read them with the same functions, one that each step refuses; `./test --slow` sends all of them to the
pages too. The limits of operators' files are in `malipo/table_files/limits.py`, and in docs/statement-imports.md.
"""

import secrets
from collections.abc import Callable
from pathlib import Path

import pytest

from malipo.db import Database
from tests.dashboard.operator.operator_pages import OperatorPages
from tests.dashboard.operator.operator_pages import operator_pages as operator_pages
from tests.dashboard.operator.statement_pages import an_account, generic, import_from, send, sent
from tests.journeys.operator_commands import malipo
from tests.table_files import hostile_workbooks

HEADER = b"receipt,time,amount,balance\n"
LINE = b"R1,2026-11-01 10:00,5000,5000\n"
SLOW = "takes longer than"
NO_HEADER = "looks like the header of a statement"
# More than is looked at before the file is given to its reader.
HONEST = HEADER + b"".join(b"A%d,2026-11-01 10:00,5000,%d\n" % (each, each * 5000) for each in range(1, 3000))


def _utf_16(text: bytes) -> bytes:
    return b"\xff\xfe" + text.decode().encode("utf-16-le")


def _line(receipt: bytes = b"R1", time: bytes = b"2026-11-01 10:00", amount: bytes = b"5000") -> bytes:
    return HEADER + b",".join([receipt, time, amount, b"5000"]) + b"\n"


# What is sent, and what is said of it.
FILES: dict[str, tuple[Callable[[], bytes], str]] = {
    "a workbook of 520 MB in less than 1 MB": (hostile_workbooks.bomb, "is larger than 512 MB when it is unpacked"),
    "a sheet that is said to be 2 GiB": (hostile_workbooks.declared_size, "is larger than 512 MB when it is unpacked"),
    "a sheet of 60 MB that is said to be 100 bytes": (hostile_workbooks.understated_size, "cannot be read as XLSX"),
    "two cells far apart": (hostile_workbooks.far_cell, "needs more than 512 MB of memory"),
    "one long text in 200,000 cells": (
        lambda: hostile_workbooks.shared_text(14_000),
        "needs more than 512 MB of memory",
    ),
    "half a million cells in 3 kB": (hostile_workbooks.many_cells, NO_HEADER),
    "6 MB of styles in 17 kB": (hostile_workbooks.many_styles, NO_HEADER),
    "elements in elements": (hostile_workbooks.deep_xml, NO_HEADER),
    "an entity that names a file": (
        lambda: hostile_workbooks.entities('SYSTEM "file:///etc/passwd"'),
        "it declares entities",
    ),
    "entities that name each other": (lambda: hostile_workbooks.entities('"&b;"'), "it declares entities"),
    "no workbook behind its mark": (lambda: b"PK\x03\x04" + b"malipo" * 100, "cannot be read as XLSX"),
    "NUL bytes": (lambda: HEADER + b"\x00" * 100, "is not CSV or XLSX"),
    "NUL bytes further down": (lambda: HONEST + b"R\x00X,2026-11-01 10:00,5000,15000000\n", "it has NUL characters"),
    "half a letter of UTF-16": (lambda: _utf_16(HEADER + LINE) + b"\xd8", "cannot be read as CSV"),
    "NUL letters of UTF-16": (lambda: _utf_16(HEADER + b"R\x00X,2026-11-01 10:00,1,1\n"), "it has NUL characters"),
    "a cell of 40,000 letters": (lambda: _line(b"R" * 40_000), "field larger than field limit"),
    "a receipt of 20,000 letters": (lambda: _line(secrets.token_hex(10_000).encode()), "more than 200 characters"),
    "300 columns": (lambda: HEADER + b"x," * 300 + b"x\n", "has more than 256 columns"),
    "an amount of 5,000 digits": (lambda: _line(amount=b"9" * 5000), "more than any account holds"),
    "an amount of 20 digits": (lambda: _line(amount=b"9" * 20), "more than any account holds"),
    "an amount in a thousand million powers": (lambda: _line(amount=b"1e999999999"), "which is not an amount"),
    "the year 9999": (lambda: _line(time=b"9999-12-31 23:59"), "no statement is of that year"),
    "the year 9999, in another zone": (lambda: _line(time=b"9999-12-31T23:59-11:00"), "no statement is of that year"),
    "the thirteenth month": (lambda: _line(time=b"2026-13-01T10:00Z"), "there is no such time"),
    "a balance above the lines of 5,000 digits": (
        lambda: b"opening balance," + b"9" * 5000 + b"\n" + HEADER + LINE,
        "more than any account holds",
    ),
    "a time above the lines of the year 9999": (
        lambda: b"from,2026-11-01 00:00\nto,9999-12-31 23:59\n" + HEADER + LINE,
        "no statement is of that year",
    ),
}


async def _files(database: Database) -> int:
    async with database.read() as connection:
        return int(await connection.fetchval("SELECT count(*) FROM statement_files"))


@pytest.mark.timeout(600)  # Its reader comes after everything else on the machine.
@pytest.mark.parametrize("name", FILES)
async def test_the_command_refuses_a_hostile_file_in_words_and_imports_nothing(
    operator_pages: OperatorPages, database: Database, database_url: str, name: str, tmp_path: Path
) -> None:
    make, words = FILES[name]
    before = await _files(database)
    path = tmp_path / "taarifa.xlsx"
    path.write_bytes(make())
    how = {"database_url": database_url, "operator": (await operator_pages.operator("asha")).name}
    said = await malipo("statements", "import", str(path), "--channel", "TIGO_PESA", "--new-account", **how)
    assert (said.code, said.out, "Traceback" in said.err) == (2, "", False), said.err
    # On a busy machine, time may be the first limit that is met.
    assert words in said.err or SLOW in said.err
    assert "root:" not in said.err
    assert await _files(database) == before


# One that each step refuses: its kind, its reader, the search for its header, its heading, its lines.
AT_PAGES = (
    "NUL bytes",
    "two cells far apart",
    "elements in elements",
    "a balance above the lines of 5,000 digits",
    "an amount of 5,000 digits",
    "an entity that names a file",
)


@pytest.mark.timeout(600)  # The page reads it three times.
@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[] if each in AT_PAGES else [pytest.mark.slow]) for each in FILES]
)
async def test_the_pages_refuse_a_hostile_file_in_words_and_import_nothing(
    operator_pages: OperatorPages, database: Database, name: str
) -> None:
    make, words = FILES[name]
    before = await _files(database)
    asha = await operator_pages.operator("asha")
    page = await sent(asha, make(), account=an_account())
    seen, refused = await asha.surfer.get(page), await import_from(asha, page)
    assert (seen.status, refused.status) == (200, 400), seen.words
    assert words in refused.words or SLOW in refused.words
    assert "root:" not in seen.text + refused.text
    assert await _files(database) == before
    assert (await asha.surfer.get("/operator/statements")).status == 200, "the pages go on"


async def test_after_that_honest_files_are_imported_also_of_two_bytes_a_letter(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    content = _utf_16(generic([("R1", 5000), ("R2", -1200)], opening=100))
    hostile = await sent(asha, hostile_workbooks.far_cell(), account=an_account())
    honest = await sent(asha, content, account=an_account())
    assert (await import_from(asha, hostile)).status == 400
    assert (await import_from(asha, honest)).status == 303


@pytest.mark.parametrize(
    ("begins", "ends"), [("2026-11-01", "9999-12-31"), ("0001-01-01", "2026-11-02"), ("2026-11-01", "9999-12-31 23:59")]
)
async def test_a_time_that_is_typed_has_a_year_of_this_century(
    operator_pages: OperatorPages, begins: str, ends: str
) -> None:
    asha = await operator_pages.operator("asha")
    refused = await send(asha, HEADER + LINE, account=an_account(), begins=begins, ends=ends)
    assert (refused.status, 'class="wrong"' in refused.text) == (400, True)
