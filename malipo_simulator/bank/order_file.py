"""Reads a payout file as a bank does: pain.001.001.09, or a table with a header. It refuses what banks refuse."""

import csv
import io
import re
from datetime import date
from decimal import Decimal, InvalidOperation
from xml.etree import ElementTree as ET

import msgspec

_NAMESPACE = "{urn:iso:std:iso:20022:tech:xsd:pain.001.001.09}"
_TAKEN = re.compile(r"[A-Za-z0-9/\-?:().,'+ ]*")
_BIC = re.compile(r"[A-Z]{6}[A-Z0-9]{2}([A-Z0-9]{3})?")
_MOST_ID = 35


class FileRefused(Exception):  # noqa: N818
    """The bank refuses the file whole; the text says why."""


class OrderLine(msgspec.Struct, frozen=True):
    end_to_end: str
    amount: int
    name: str
    bic: str
    account: str
    text: str


class OrderFile(msgspec.Struct, frozen=True):
    message_id: str
    account: str  # that pays
    day: date
    one_sum: bool | None
    lines: list[OrderLine]


def read(content: bytes) -> OrderFile:
    return _pain(content) if content.lstrip()[:1] == b"<" else _table(content)


def _pain(content: bytes) -> OrderFile:
    try:
        root = ET.fromstring(content)  # noqa: S314 - a file that the simulator's own user hands in.
    except ET.ParseError as error:
        raise FileRefused(f"FF01 not XML: {error}") from None
    if root.tag != f"{_NAMESPACE}Document":
        raise FileRefused(f"FF01 not pain.001.001.09: {root.tag}")
    message = _at(root, "CstmrCdtTrfInitn")
    payments = message.findall(f"{_NAMESPACE}PmtInf")
    if len(payments) != 1:
        raise FileRefused("FF01 one payment information expected")
    header, payment = _at(message, "GrpHdr"), payments[0]
    lines = [_transfer(each) for each in payment.findall(f"{_NAMESPACE}CdtTrfTxInf")]
    for where in (header, payment):
        _check_sums(where, lines)
    if _text(payment, "PmtMtd") != "TRF":
        raise FileRefused("FF01 not a transfer")
    one_sum = payment.find(f"{_NAMESPACE}BtchBookg")
    return _checked(
        OrderFile(
            message_id=_text(header, "MsgId"),
            account=_text(payment, "DbtrAcct", "Id", "Othr", "Id"),
            day=date.fromisoformat(_text(payment, "ReqdExctnDt", "Dt")),
            one_sum=None if one_sum is None else one_sum.text == "true",
            lines=lines,
        )
    )


def _transfer(each: ET.Element) -> OrderLine:
    amount = _at(each, "Amt", "InstdAmt")
    if amount.get("Ccy") != "TZS":
        raise FileRefused(f"AM03 currency {amount.get('Ccy')}")
    return OrderLine(
        end_to_end=_text(each, "PmtId", "EndToEndId"),
        amount=_whole(amount.text or ""),
        name=_text(each, "Cdtr", "Nm"),
        bic=_text(each, "CdtrAgt", "FinInstnId", "BICFI"),
        account=_text(each, "CdtrAcct", "Id", "Othr", "Id"),
        text=_text(each, "RmtInf", "Ustrd"),
    )


def _check_sums(where: ET.Element, lines: list[OrderLine]) -> None:
    count, total = where.findtext(f"{_NAMESPACE}NbOfTxs"), where.findtext(f"{_NAMESPACE}CtrlSum")
    if count is not None and int(count) != len(lines):
        raise FileRefused("AM18 number of transactions")
    if total is not None and Decimal(total) != sum(each.amount for each in lines):
        raise FileRefused("AM10 control sum")


def _table(content: bytes) -> OrderFile:
    """The table that malipo's generic layout writes: by the names of its columns."""
    rows = list(csv.DictReader(io.StringIO(content.decode(), newline="")))
    if not rows:
        raise FileRefused("FF01 an empty file")
    try:
        return _checked(
            OrderFile(
                message_id=rows[0]["File"],
                account=rows[0]["Debit account"],
                day=date.fromisoformat(rows[0]["Date"]),
                one_sum=None,
                lines=[
                    OrderLine(
                        row["Reference"],
                        _whole(row["Amount"]),
                        row["Name"],
                        row["Bank"],
                        row["Credit account"],
                        row["Narrative"],
                    )
                    for row in rows
                ],
            )
        )
    except KeyError as error:
        raise FileRefused(f"FF01 no column {error}") from None


def _checked(order: OrderFile) -> OrderFile:
    if not order.lines:
        raise FileRefused("FF01 no transfer")
    for text in (order.message_id, *(each.end_to_end for each in order.lines)):
        if not 0 < len(text) <= _MOST_ID or text.startswith("/") or text.endswith("/") or "//" in text:
            raise FileRefused(f"FF01 identification {text!r}")
    for each in order.lines:
        for text in (each.name, each.text, each.end_to_end, each.account):
            if not _TAKEN.fullmatch(text) or not text.strip():
                raise FileRefused(f"FF01 characters of {text!r}")
        if not _BIC.fullmatch(each.bic):
            raise FileRefused(f"RC01 bank {each.bic!r}")
    return order


def _at(element: ET.Element, *path: str) -> ET.Element:
    for name in path:
        found = element.find(f"{_NAMESPACE}{name}")
        if found is None:
            raise FileRefused(f"FF01 {name} is missing")
        element = found
    return element


def _text(element: ET.Element, *path: str) -> str:
    return (_at(element, *path).text or "").strip()


def _whole(text: str) -> int:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        raise FileRefused(f"AM12 amount {text!r}") from None
    if amount <= 0 or amount != amount.to_integral_value():
        raise FileRefused(f"AM12 amount {text!r}")
    return int(amount)
