"""Writes a payout file as CSV, in columns that a layout says. Pure: the same order has the same bytes.

The layouts of Tanzania's banks are not public, so a layout is data: an operator writes it from the bank's own sample.
"""

import csv
import io
import tomllib
from collections.abc import Callable, Mapping
from datetime import date
from enum import StrEnum
from functools import cache
from importlib import resources

import msgspec

from malipo import money
from malipo.bank_formats.bank_text import bank_text
from malipo.bank_formats.transfer_order import FileOrder, TransferOrder
from malipo.errors import Code, Invalid

_MOST_COLUMNS = 60
_MOST_TEXT = 140


class PayoutLayoutRefusal(Code):
    UNREADABLE = "payout_layout_unreadable"


class CellValue(StrEnum):
    """What a column has."""

    LINE = "line"  # the number of the line, from 1
    KEY = "key"
    AMOUNT = "amount"
    CURRENCY = "currency"
    NAME = "name"
    ACCOUNT = "account"
    BIC = "bic"
    TEXT = "text"
    DATE = "date"
    MESSAGE = "message"  # the id of the file
    COUNT = "count"
    TOTAL = "total"
    PAYER_NAME = "payer_name"
    PAYER_ACCOUNT = "payer_account"
    PAYER_BIC = "payer_bic"
    CONSTANT = "constant"  # the same words in each line: `constant`


class Column(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    title: str = ""
    value: CellValue
    constant: str = ""
    most: int = _MOST_TEXT  # characters of a name or text


class PayoutLayout(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    title: str
    columns: tuple[Column, ...]
    header: bool = True
    delimiter: str = ","
    date_format: str = "%Y-%m-%d"
    cents: bool = False  # amounts are written as 1000.00
    encoding: str = "utf-8"
    # For a bank that has its own codes instead of BICs.
    bank_codes: Mapping[str, str] = {}


class LayoutUnreadable(Invalid):
    """The layout cannot be read, or a file in it could not be paid from."""

    def __init__(self, why: str) -> None:
        super().__init__(code=PayoutLayoutRefusal.UNREADABLE, why=why)


_NEEDED = (CellValue.KEY, CellValue.AMOUNT, CellValue.ACCOUNT)


def decode(text: str) -> PayoutLayout:
    """A layout from TOML. A file without key, amount or account could not be paid, or not be found again."""
    try:
        layout = msgspec.convert(tomllib.loads(text), PayoutLayout)
        "".encode(layout.encoding)
        date(2026, 1, 31).strftime(layout.date_format).encode(layout.encoding)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, LookupError, ValueError) as error:
        raise LayoutUnreadable(str(error)) from None
    missing = [each for each in _NEEDED if each not in {column.value for column in layout.columns}]
    if missing:
        raise LayoutUnreadable(f"`columns` has no {', '.join(missing)}")
    if len(layout.columns) > _MOST_COLUMNS or layout.delimiter not in (",", ";", "\t", "|"):
        raise LayoutUnreadable(f"at most {_MOST_COLUMNS} columns, divided by a comma, semicolon, tab or |")
    if any(each.most < 1 for each in layout.columns):
        raise LayoutUnreadable("`most` is at least 1")
    return layout


@cache
def generic() -> str:
    """The layout that comes with malipo."""
    return resources.files("malipo.bank_formats").joinpath("payout_layouts", "generic.toml").read_text("utf-8")


def write(order: FileOrder, layout: PayoutLayout) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=layout.delimiter, lineterminator="\r\n")
    if layout.header:
        writer.writerow([each.title for each in layout.columns])
    for number, transfer in enumerate(order.transfers, 1):
        writer.writerow([_cell(column, layout, order, transfer, number) for column in layout.columns])
    # What the encoding lacks was taken out of the texts; only titles and constants could have it.
    return out.getvalue().encode(layout.encoding, "replace")


def _cell(column: Column, layout: PayoutLayout, order: FileOrder, transfer: TransferOrder, number: int) -> str:
    return _CELLS[column.value](column, layout, order, transfer, number)


def _amount(layout: PayoutLayout, amount: int) -> str:
    return f"{amount}.00" if layout.cents else str(amount)


_Cell = Callable[[Column, PayoutLayout, FileOrder, TransferOrder, int], str]
_CELLS: dict[CellValue, _Cell] = {
    CellValue.LINE: lambda _column, _layout, _order, _transfer, number: str(number),
    CellValue.KEY: lambda _column, _layout, _order, transfer, _: transfer.key,
    CellValue.AMOUNT: lambda _column, layout, _order, transfer, _: _amount(layout, transfer.amount),
    CellValue.CURRENCY: lambda *_: money.CURRENCY,
    CellValue.NAME: lambda column, _layout, _order, transfer, _: bank_text(transfer.name, column.most),
    CellValue.ACCOUNT: lambda _column, _layout, _order, transfer, _: transfer.account,
    CellValue.BIC: lambda _column, layout, _order, transfer, _: layout.bank_codes.get(transfer.bic, transfer.bic),
    CellValue.TEXT: lambda column, _layout, _order, transfer, _: bank_text(transfer.text, column.most),
    CellValue.DATE: lambda _column, layout, order, _transfer, _: order.pays_on.strftime(layout.date_format),
    CellValue.MESSAGE: lambda _column, _layout, order, _transfer, _: order.message_id,
    CellValue.COUNT: lambda _column, _layout, order, _transfer, _: str(len(order.transfers)),
    CellValue.TOTAL: lambda _column, layout, order, _transfer, _: _amount(layout, order.total),
    CellValue.PAYER_NAME: lambda column, _layout, order, _transfer, _: bank_text(order.payer_name, column.most),
    CellValue.PAYER_ACCOUNT: lambda _column, _layout, order, _transfer, _: order.payer_account,
    CellValue.PAYER_BIC: lambda _column, _layout, order, _transfer, _: order.payer_bic,
    CellValue.CONSTANT: lambda column, *_: column.constant,
}
