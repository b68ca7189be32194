"""A statement from text, read as an operator's file is: in the process that reads files."""

from pathlib import Path

from malipo.bank_formats import camt053, mt940
from malipo.bank_formats.bank_entry import BankStatement
from malipo.table_files.limits import BANK_STATEMENT
from malipo.table_files.rows import elements_of, lines_of


def camt_of(folder: Path, text: str | bytes) -> list[BankStatement]:
    path = folder / "statement.xml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return camt053.read(elements_of(path, BANK_STATEMENT))


def mt940_of(folder: Path, text: str) -> list[BankStatement]:
    path = folder / "statement.sta"
    path.write_text(text, newline="")
    return mt940.read(lines_of(path, BANK_STATEMENT))
