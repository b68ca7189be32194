"""Reads an ISO 20022 statement: camt.053.001.08, and .02 and those between. Pure.

The elements come as rows (`table_files/document_reader.py`). Only what is named here is read; everything else is passed
over, because each bank adds what it likes.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta

import msgspec

from malipo import clock, money
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

Row = Sequence[object]

_NAMESPACE = re.compile(r"urn:iso:std:iso:20022:tech:xsd:camt\.053\.001\.\d\d")
_AMOUNT = re.compile(r"(\d{1,15})(?:\.(\d{1,5}))?", re.ASCII)
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_BOOKED = "BOOK"
_NOT_PROVIDED = frozenset(("", "NOTPROVIDED", "NONREF"))
_OPENINGS, _CLOSINGS = ("OPBD", "PRCD"), ("CLBD",)
_MOST_DETAILS = 1000
_MOST_REFERENCE = 100


class Element(msgspec.Struct, gc=False):
    """An element with what stands in it."""

    name: str
    text: str = ""
    currency: str = ""
    children: list["Element"] = []

    def all(self, path: str) -> list["Element"]:
        """The elements at a path of names below this one."""
        found = [self]
        for name in path.split("/"):
            found = [child for each in found for child in each.children if child.name == name]
        return found

    def first(self, *paths: str) -> "Element | None":
        return next((found for path in paths for found in self.all(path)), None)

    def text_of(self, *paths: str) -> str:
        """The text of the first of these elements that has one."""
        return next((found.text for path in paths for found in self.all(path) if found.text), "")


def is_camt053(namespace: str) -> bool:
    return _NAMESPACE.fullmatch(namespace) is not None


def read(rows: Iterable[Row]) -> list[BankStatement]:
    """The statements of a file, in its order."""
    return [_statement(each, number) for number, each in enumerate(_statements(rows), 1)]


def _statements(rows: Iterable[Row]) -> Iterator[Element]:
    """Each element `Stmt`, whole. What stands outside of them is not kept."""
    open_: list[Element] = []
    for row in rows:
        mark, name = row[0], str(row[1])
        if mark == "(":
            if open_ or name == "Stmt":
                open_.append(Element(name))
        elif mark == "=" and open_:
            open_[-1].children.append(Element(name, str(row[2] or ""), str(row[3] or "")))
        elif mark == ")" and open_:
            closed = open_.pop()
            if open_:
                open_[-1].children.append(closed)
            else:
                yield closed


def _statement(stmt: Element, number: int) -> BankStatement:
    entries: list[BankEntry] = []
    unreadable: list[UnreadableEntry] = []
    pending = 0
    for row, ntry in enumerate(stmt.all("Ntry"), 1):
        where = row if number == 1 else number * 1_000_000 + row
        if ntry.text_of("Sts/Cd", "Sts") not in (_BOOKED, ""):
            pending += 1
            continue
        try:
            entries += _entries(ntry, where)
        except EntryUnreadable as error:
            unreadable.append(UnreadableEntry(where, error.problem))
    problems: list[Problem] = []
    opening, closing = _balance(stmt, _OPENINGS, problems), _balance(stmt, _CLOSINGS, problems)
    begins_on, ends_on = _period(stmt, opening, closing, entries)
    if stmt.text_of("StmtPgntn/LastPgInd") == "false" and closing is None:
        problems.append(Problem(StatementProblem.CUT))
    return BankStatement(
        account=stmt.text_of("Acct/Id/Othr/Id", "Acct/Id/IBAN"),
        id=stmt.text_of("Id", "ElctrncSeqNb"),
        opening=None if opening is None else opening[0],
        closing=None if closing is None else closing[0],
        begins_on=begins_on,
        ends_on=ends_on,
        entries=tuple(entries),
        unreadable=tuple(unreadable),
        pending=pending,
        problems=tuple(problems),
    )


_Balance = tuple[int, date | None, str]  # cents, its day, and its code


def _balance(stmt: Element, codes: Sequence[str], problems: list[Problem]) -> _Balance | None:
    """The first of several of a code: pages of one statement may repeat it."""
    for code in codes:
        for balance in stmt.all("Bal"):
            if balance.text_of("Tp/CdOrPrtry/Cd") != code:
                continue
            try:
                cents = _signed(balance.first("Amt"), balance.text_of("CdtDbtInd"))
                day = balance.text_of("Dt/Dt", "Dt/DtTm")
                return cents, None if not day else _day(day), code
            except EntryUnreadable as error:
                problems.append(error.problem)
    return None


def _period(
    stmt: Element, opening: _Balance | None, closing: _Balance | None, entries: Sequence[BankEntry]
) -> tuple[date | None, date | None]:
    try:
        first, last = stmt.text_of("FrToDt/FrDtTm"), stmt.text_of("FrToDt/ToDtTm")
        if first and last:
            ends_on = _day(last)
            # "Until midnight" is the end of the day before.
            if _is_midnight(last) and ends_on > _day(first):
                ends_on -= timedelta(days=1)
            return _day(first), ends_on
    except EntryUnreadable:
        pass
    opened_on = None if opening is None else opening[1]
    closed_on = None if closing is None else closing[1]
    if opening is not None and opening[2] == "PRCD" and opened_on is not None:
        # The balance with which an earlier day has closed.
        return opened_on + timedelta(days=1), closed_on
    return period_between(opened_on, closed_on, entries)


def _entries(ntry: Element, row: int) -> list[BankEntry]:
    """One entry; or the parts of a sum, if the statement lists them all with their amounts."""
    sign = ntry.text_of("CdtDbtInd")
    cents = _signed(ntry.first("Amt"), sign)
    booked_on = _day(ntry.text_of("BookgDt/Dt", "BookgDt/DtTm", "ValDt/Dt", "ValDt/DtTm"))
    is_reversal = ntry.text_of("RvslInd") in ("true", "1")
    reference = _reference(ntry.text_of("AcctSvcrRef"))
    batch = [*ntry.all("NtryDtls/Btch")]
    details = ntry.all("NtryDtls/TxDtls")
    whole = BankEntry(
        row=row,
        booked_on=booked_on,
        cents=cents,
        reference=reference,
        is_reversal=is_reversal,
        details=_words(ntry.text_of("AddtlNtryInf")),
    )
    if len(details) > 1 and len(parts := [_part(each, whole, sign) for each in details]) == len(details):
        found = [each for each in parts if each is not None]
        if len(found) == len(parts):
            if sum(each.cents for each in found) != cents:
                raise EntryUnreadable(EntryProblem.PARTS)
            return found
    message = next((each.text_of("MsgId", "PmtInfId") for each in batch), "")
    if len(details) == 1:
        return [_with_details(whole, details[0], message)]
    return [
        msgspec.structs.replace(
            whole,
            message_id=_id(message or next((each.text_of("Refs/MsgId", "Refs/PmtInfId") for each in details), "")),
            details=_words(whole.details, *(_remittance(each) for each in details[:3])),
        )
    ]


def _part(details: Element, whole: BankEntry, sign: str) -> BankEntry | None:
    """A part of a sum; None if its amount is not said."""
    amount = details.first("Amt", "AmtDtls/TxAmt/Amt", "AmtDtls/InstdAmt/Amt")
    if amount is None:
        return None
    part = _with_details(whole, details, "")
    cents = _signed(amount, details.text_of("CdtDbtInd") or sign)
    reference = _reference(details.text_of("Refs/AcctSvcrRef")) or whole.reference
    return msgspec.structs.replace(part, cents=cents, reference=reference, is_part=True)


def _with_details(whole: BankEntry, details: Element, message: str) -> BankEntry:
    reason = details.text_of("RtrInf/Rsn/Cd", "RtrInf/Rsn/Prtry")
    more = details.text_of("RtrInf/AddtlInf")
    return msgspec.structs.replace(
        whole,
        reference=whole.reference or _reference(details.text_of("Refs/AcctSvcrRef", "Refs/TxId")),
        key=_id(details.text_of("Refs/EndToEndId", "Refs/InstrId")),
        message_id=_id(details.text_of("Refs/MsgId", "Refs/PmtInfId") or message),
        reason=_words(f"{reason} {more}"),
        details=_words(whole.details, _remittance(details), details.text_of("AddtlTxInf")),
    )


def _remittance(details: Element) -> str:
    texts = [each.text for each in details.all("RmtInf/Ustrd")]
    names = [details.text_of("RltdPties/Cdtr/Pty/Nm", "RltdPties/Cdtr/Nm")]
    names.append(details.text_of("RltdPties/Dbtr/Pty/Nm", "RltdPties/Dbtr/Nm"))
    return " ".join(each for each in (*texts, *names) if each)


def _signed(amount: Element | None, sign: str) -> int:
    """The amount in cents with its sign. No schema lets an amount have one of its own."""
    if amount is None:
        raise EntryUnreadable(EntryProblem.AMOUNT, amount="")
    if amount.currency != money.CURRENCY:
        raise EntryUnreadable(EntryProblem.CURRENCY, currency=amount.currency)
    match = _AMOUNT.fullmatch(amount.text)
    if match is None or (match[2] or "")[2:].strip("0"):
        raise EntryUnreadable(EntryProblem.AMOUNT, amount=amount.text[:60])
    cents = int(match[1]) * 100 + int(f"{match[2] or ''}00"[:2])
    if sign not in ("CRDT", "DBIT"):
        raise EntryUnreadable(EntryProblem.SIGN, sign=sign[:60])
    return cents if sign == "CRDT" else -cents


def _day(text: str) -> date:
    """The day in Dar es Salaam, of a day or of a time."""
    try:
        if _DAY.fullmatch(text[:10]) and len(text) > 10 and text[10] == "T":
            moment = datetime.fromisoformat(text)
            return moment.date() if moment.tzinfo is None else clock.day_of(moment)
        return date.fromisoformat(text[:10])
    except ValueError:
        raise EntryUnreadable(EntryProblem.DAY, day=text[:60]) from None


def _is_midnight(text: str) -> bool:
    return "T00:00:00" in text


def _id(text: str) -> str:
    text = text.strip()
    return "" if text.upper() in _NOT_PROVIDED else text[:_MOST_REFERENCE]


_reference = _id


def _words(*texts: str) -> str:
    """The texts one after another. Banks repeat themselves: what is in an earlier one already is left out."""
    found = ""
    for text in texts:
        words = " ".join(text.split())
        if words not in found:
            found = f"{found} {words}".strip()
    return found[:_MOST_DETAILS]
