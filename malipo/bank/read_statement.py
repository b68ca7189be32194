"""Reads a bank's file: camt.053, MT940, or a table by the layout of its account. It says whose it is."""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from pathlib import Path

import msgspec

from malipo import clock
from malipo.bank.payer_account import PayerAccount, plain_number
from malipo.bank.statement import BankImportRefusal, BankRowProblem
from malipo.bank_formats import camt053, mt940
from malipo.bank_formats.bank_entry import BankEntry, BankStatement, UnreadableEntry, joined
from malipo.errors import Invalid, Problem, Refusal
from malipo.network_statements.heading import StatementHeading
from malipo.network_statements.read_statement import read_statement
from malipo.network_statements.statement_line import BadLine, StatementLine
from malipo.table_files.limits import BANK_STATEMENT
from malipo.table_files.rows import beginning_of, elements_of, lines_of

_MOMENT = timedelta(milliseconds=1)
_MOST_UNREADABLE = 20  # that are reported; more would not help


class ReadStatement(msgspec.Struct, frozen=True):
    """What a file says of one of our accounts."""

    account: PayerAccount
    statement: BankStatement
    format: str
    name: str  # of the file
    sha256: bytes
    path: Path


class NotImported(Refusal):
    """The file is no statement of ours, or cannot be read."""


def read_file(path: Path, accounts: Sequence[PayerAccount], *, number: str = "") -> list[ReadStatement]:
    """The statements of a file, one for each account that it names. `number` is the account that the operator names: a
    table need not say it."""
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").digest()
    kind, found = _read(path, accounts, number)
    if not found:
        raise NotImported(code=BankImportRefusal.NO_STATEMENT, name=path.name)
    _refuse_unreadable(path.name, found)
    whose = [(account_of(each.account or number, accounts), each) for each in found]
    if number and any(account != account_of(number, accounts) for account, _ in whose):
        raise NotImported(code=BankImportRefusal.OTHER_ACCOUNT, name=path.name, account=whose[0][0].number)
    return [
        ReadStatement(account, joined([each for of, each in whose if of == account]), kind, path.name, sha256, path)
        for account in dict.fromkeys(account for account, _ in whose)
    ]


def account_of(number: str, accounts: Iterable[PayerAccount]) -> PayerAccount:
    """Our account with this number."""
    plain = plain_number(number)
    for each in accounts:
        if plain_number(each.number) == plain:
            return each
    raise NotImported(code=BankImportRefusal.UNKNOWN_ACCOUNT, account=number or "?")


def _read(path: Path, accounts: Sequence[PayerAccount], number: str) -> tuple[str, list[BankStatement]]:
    beginning = beginning_of(path)
    if beginning.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return "camt.053", camt053.read(elements_of(path, BANK_STATEMENT))
    if mt940.is_mt940(beginning.decode("latin-1")):
        return "MT940", mt940.read(lines_of(path, BANK_STATEMENT))
    if not number and len(accounts) != 1:
        raise Invalid(code=BankImportRefusal.WHICH_ACCOUNT)
    return "table", [_table(path, account_of(number, accounts) if number else accounts[0])]


def _table(path: Path, account: PayerAccount) -> BankStatement:
    reader = read_statement(path, account.statement_profile)
    entries: list[BankEntry] = []
    unreadable: list[UnreadableEntry] = []
    for line in reader.lines:
        if isinstance(line, BadLine):
            unreadable.append(UnreadableEntry(line.row, line.why))
        else:
            entries.append(_entry(line))
    heading = reader.heading
    begins, ends = _days(heading)
    return BankStatement(
        account=heading.account or account.number,
        opening=heading.opening,
        closing=heading.closing,
        begins_on=begins,
        ends_on=ends,
        entries=tuple(entries),
        unreadable=tuple(unreadable),
    )


def _days(heading: StatementHeading) -> tuple[date | None, date | None]:
    """The days of the heading. "Until midnight" is the end of the day before."""
    begins = None if heading.begins is None else clock.day_of(heading.begins)
    if heading.ends is None or heading.ends_on_a_day or begins is None:
        return begins, None if heading.ends is None else clock.day_of(heading.ends)
    return begins, max(begins, clock.day_of(heading.ends - _MOMENT))


def _entry(line: StatementLine) -> BankEntry:
    return BankEntry(
        row=line.row,
        booked_on=clock.day_of(line.at),
        cents=line.amount * 100 + line.cents,
        reference=line.receipt,
        key=line.key,
        message_id=line.key,
        details=line.details,
    )


def _refuse_unreadable(name: str, statements: Iterable[BankStatement]) -> None:
    """A file with an entry that cannot be read is refused whole: nobody could say what it means."""
    if bad := [entry for each in statements for entry in each.unreadable]:
        rows = [Problem(BankRowProblem.ROW, row=str(each.row), why=each.why) for each in bad[:_MOST_UNREADABLE]]
        raise NotImported(code=BankImportRefusal.UNREADABLE, name=name, problems=rows)
