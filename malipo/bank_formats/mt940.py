"""Reads SWIFT's MT940, with the habits of banks: several statements and pages in one file, with or without the blocks
of the envelope, lines cut in the middle of a word. Pure: the lines come from the process that reads files."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date

import msgspec

from malipo import money
from malipo.bank_formats.bank_entry import (
    BankEntry,
    BankStatement,
    EntryProblem,
    EntryUnreadable,
    StatementProblem,
    UnreadableEntry,
    period_between,
)
from malipo.errors import Problem

_TAG = re.compile(r":(\d\d[A-Z]?):(.*)", re.DOTALL)
_BALANCE = re.compile(r"([CD])(\d{6})([A-Z]{3})(\d{1,15},\d{0,2})", re.ASCII)
# Value date, entry date, mark, funds code, amount, type, reference of ours, reference of the bank, more.
_LINE = re.compile(
    r"(\d{6})(\d{4})?(RC|RD|EC|ED|C|D)([A-Z])?(\d{1,15},\d{0,2})([A-Z][A-Z0-9]{3})([^\n]{0,35}?)"
    r"(?://([^\n]{0,34}))?(?:\n(.*))?",
    re.ASCII | re.DOTALL,
)
_KEY = re.compile(r"(?:/EREF/|\bEREF[+:]|/ROC/)\s*([A-Za-z0-9\-]{1,35})")
_MESSAGE = re.compile(r"(?:/PREF/|/MREF/|\bMREF[+:]|\bKREF[+:]|/KREF/)\s*([A-Za-z0-9\-]{1,35})")
_REASON = re.compile(r"(?:/RTRN/|/RETN/|\bRETURN REASON[+: ]+)\s*([^/\n]{1,70})")
_NO_REFERENCE = frozenset(("", "NONREF", "NOREF"))
_MOST_DETAILS = 1000
_SIGNS = {"C": 1, "D": -1, "RC": -1, "RD": 1}


class _Page(msgspec.Struct):
    """The fields of one message, in their order."""

    row: int
    fields: list[tuple[int, str, str]] = []  # the number of the line, the tag, the text with its further lines
    is_complete: bool = False  # it has a closing balance


def is_mt940(text: str) -> bool:
    """Whether a file begins as an MT940 does."""
    lines = [each.strip() for each in text.splitlines()[:12]]
    return any(each.startswith((":20:", "{1:", "{4:")) for each in lines) and any(
        each.startswith((":25:", ":28", "{4:", "{1:")) for each in lines
    )


def read(rows: Iterable[Sequence[object]]) -> list[BankStatement]:
    """The statements of a file, in its order."""
    return [_statement(each) for each in _pages(str(row[0] or "") if row else "" for row in rows)]


def _pages(lines: Iterable[str]) -> Iterator[_Page]:
    page: _Page | None = None
    for number, line in enumerate(lines, 1):
        text = _without_envelope(line)
        found = _TAG.fullmatch(text)
        if found is None:
            if page is not None and page.fields and text and text != "-":
                row, tag, before = page.fields[-1]
                page.fields[-1] = (row, tag, f"{before}\n{text}")
            continue
        tag, text = found[1], found[2].rstrip()
        if tag == "20" or (page is None and tag == "25"):
            if page is not None:
                yield page
            page = _Page(number)
        if page is not None:
            page.fields.append((number, tag, text))
            page.is_complete = page.is_complete or tag in ("62F", "62M")
    if page is not None:
        yield page


def _without_envelope(line: str) -> str:
    """The line without the blocks before its first tag, and without the block's end."""
    if line.startswith("{"):
        at = line.find("{4:")
        line = line[at + 3 :] if at >= 0 else ""
    return "-" if line.startswith("-}") else line


def _statement(page: _Page) -> BankStatement:
    entries: list[BankEntry] = []
    unreadable: list[UnreadableEntry] = []
    problems: list[Problem] = []
    opening = closing = None
    account = id_ = ""
    pending = 0
    for index, (row, tag, text) in enumerate(page.fields):
        try:
            match tag:
                case "20":
                    id_ = text.strip()
                case "25" | "25P":
                    account = text.partition("\n")[0].strip()
                case "28C" | "28":
                    id_ = f"{id_} {text.strip()}".strip()
                case "60F" | "60M":
                    opening = _balance(text)
                case "62F" | "62M":
                    closing = _balance(text)
                case "61":
                    entry = _entry(row, text, _details(page, index))
                    if entry is None:
                        pending += 1
                    else:
                        entries.append(entry)
                case _:
                    pass  # 86 belongs to the line before it; 21, 64, 65 and 90 are of no use here.
        except EntryUnreadable as error:
            if tag == "61":
                unreadable.append(UnreadableEntry(row, error.problem))
            else:
                problems.append(error.problem)
    if not page.is_complete:
        problems.append(Problem(StatementProblem.CUT))
    opened_on = None if opening is None else opening[1]
    closed_on = None if closing is None else closing[1]
    begins_on, ends_on = period_between(opened_on, closed_on, entries)
    return BankStatement(
        account=_number_of(account),
        id=id_,
        opening=None if opening is None else opening[0],
        closing=None if closing is None else closing[0],
        begins_on=begins_on,
        ends_on=ends_on,
        entries=tuple(entries),
        unreadable=tuple(unreadable),
        pending=pending,
        problems=tuple(problems),
    )


def _number_of(account: str) -> str:
    """The account's number, without the bank's code before it and the currency after it."""
    number = account.rpartition("/")[2].strip()
    return number.removesuffix(money.CURRENCY).strip()


def _details(page: _Page, index: int) -> str:
    """The text of the field 86 after a line."""
    if index + 1 < len(page.fields) and page.fields[index + 1][1] == "86":
        return page.fields[index + 1][2]
    return ""


def _balance(text: str) -> tuple[int, date]:
    match = _BALANCE.fullmatch(text.strip())
    if match is None:
        raise EntryUnreadable(EntryProblem.FORMAT, text=text[:60])
    if match[3] != money.CURRENCY:
        raise EntryUnreadable(EntryProblem.CURRENCY, currency=match[3])
    return _cents(match[4]) * _SIGNS[match[1]], _day(match[2])


def _entry(row: int, text: str, details: str) -> BankEntry | None:
    """None: the bank expects it, and has not booked it."""
    match = _LINE.fullmatch(text)
    if match is None:
        raise EntryUnreadable(EntryProblem.FORMAT, text=text.partition("\n")[0][:60])
    value_date, entry_date, mark, _, amount, _, ours, theirs, more = match.groups()
    if mark in ("EC", "ED"):
        return None
    booked_on = _day(value_date)
    if entry_date:
        booked_on = _near(booked_on, entry_date)
    # Lines of 65 characters are cut in the middle of a word, so references are looked for in the lines joined.
    tight, wide = details.replace("\n", ""), " ".join(details.split())
    reference = "" if ours.strip() in _NO_REFERENCE else ours.strip()
    found_key, found_message, found_reason = _KEY.search(tight), _MESSAGE.search(tight), _REASON.search(tight)
    return BankEntry(
        row=row,
        booked_on=booked_on,
        cents=_cents(amount) * _SIGNS[mark],
        reference=(theirs or "").strip(),
        key=found_key[1] if found_key else reference,
        # A file that was booked as a sum has its id where a transfer has its key.
        message_id=found_message[1] if found_message else reference,
        reason=found_reason[1].strip() if found_reason else "",
        is_reversal=mark.startswith("R"),
        details=" ".join(f"{(more or '').strip()} {wide}".split())[:_MOST_DETAILS],
    )


def _cents(text: str) -> int:
    whole, _, fraction = text.partition(",")
    return int(whole) * 100 + int(f"{fraction}00"[:2])


def _day(text: str) -> date:
    try:
        return date(2000 + int(text[:2]), int(text[2:4]), int(text[4:6]))
    except ValueError:
        raise EntryUnreadable(EntryProblem.DAY, day=text) from None


def _near(value_date: date, entry_date: str) -> date:
    """The entry's day has no year: it is the one nearest to the value's day."""
    found = []
    for year in (value_date.year - 1, value_date.year, value_date.year + 1):
        try:
            found.append(date(year, int(entry_date[:2]), int(entry_date[2:])))
        except ValueError:
            continue
    if not found:
        raise EntryUnreadable(EntryProblem.DAY, day=entry_date)
    return min(found, key=lambda each: abs(each - value_date))
