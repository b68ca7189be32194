"""The lines of a spreadsheet, each with its values, what is wrong with them and what was repaired. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from malipo.networks.channels import channel_of
from malipo.networks.connector import Channel
from malipo.payments.batches.request import item_of
from malipo.payments.batches.spreadsheet.cell_values import (
    ORDINARY,
    CellValue,
    Quality,
    RepairKind,
    amount_cell,
    channel_cell,
    clean,
    phone_cell,
)
from malipo.payments.batches.spreadsheet.columns import SheetColumn
from malipo.payments.batches.spreadsheet.read_sheet import PayoutSheet, SheetRow
from malipo.payments.payment_request import Terms
from malipo.validation.fields import Fields

# What can be typed on the page, by the names of its inputs, and the same in a request.
FIELDS = {
    "phone": "recipientPhone",
    "amount": "amount",
    "channel": "channel",
    "name": "recipientName",
    "description": "description",
    "order_reference": "orderReference",
}
DIGITS_LOST = "digits_lost"
_NAMES = {request_name: name for name, request_name in FIELDS.items()}
_NAME_COLUMNS = (SheetColumn.NAME, SheetColumn.MIDDLE_NAME, SheetColumn.LAST_NAME)

Typed = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Problem:
    field: str
    code: str  # as in the API's errors
    bounds: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Repair:
    field: str
    kind: RepairKind
    was: str  # in the file


@dataclass(frozen=True, slots=True)
class SpreadsheetLine:
    row: int
    typed: Typed  # what the page shows to be mended
    values: Mapping[str, object]  # as a request has them
    problems: tuple[Problem, ...]
    repairs: tuple[Repair, ...]
    usual_channel: Channel | None  # of the number, if it is another: only a hint

    @property
    def amount(self) -> int:
        """0 where it cannot be read."""
        amount = self.values.get("amount")
        return amount if isinstance(amount, int) else 0

    @property
    def is_repaired(self) -> bool:
        return any(each.kind not in ORDINARY for each in self.repairs)

    def problem_with(self, field: str) -> Problem | None:
        return next((each for each in self.problems if each.field == field), None)

    def repair_of(self, field: str) -> Repair | None:
        return next((each for each in self.repairs if each.field == field), None)


def lines_of(sheet: PayoutSheet, edits: Mapping[int, Typed], terms: Terms) -> list[SpreadsheetLine]:
    """`edits` are what somebody has typed instead, by row. They count as typed: nothing in them is in doubt."""
    return [_line(each, sheet.columns, edits.get(each.number, {}), terms) for each in sheet.rows]


def _line(row: SheetRow, columns: Mapping[SheetColumn, int], edited: Typed, terms: Terms) -> SpreadsheetLine:
    texts = {**_texts(row, columns), **edited}
    phone, amount = phone_cell(texts["phone"]), amount_cell(texts["amount"])
    channel = channel_cell(texts["channel"])
    suggested = channel_of(str(phone.value)) if phone.quality is not Quality.WRONG else None
    is_guessed = channel is None and not clean(texts["channel"]) and suggested is not None
    values: dict[str, object] = {
        "recipientPhone": phone.value,
        "amount": amount.value,
        "channel": suggested if is_guessed else channel or clean(texts["channel"]),
        "recipientName": texts["name"],
        "description": texts["description"],
        "orderReference": texts["order_reference"],
    }
    values = {name: value for name, value in values.items() if value != ""}
    problems = [*_doubts(phone, amount), *_problems(values, terms)]
    return SpreadsheetLine(
        row=row.number,
        typed=texts | _proposed(phone, amount) | {"channel": str(values.get("channel", ""))},
        values=values,
        problems=tuple(problems),
        repairs=tuple(_repairs(phone, amount, texts, is_guessed=is_guessed)),
        usual_channel=suggested if channel is not None and suggested is not channel else None,
    )


def _texts(row: SheetRow, columns: Mapping[SheetColumn, int]) -> dict[str, str]:
    def text(column: SheetColumn) -> str:
        at = columns.get(column)
        return "" if at is None or at >= len(row.cells) else clean(row.cells[at])

    return {
        "phone": text(SheetColumn.PHONE),
        "amount": text(SheetColumn.AMOUNT),
        "channel": text(SheetColumn.CHANNEL),
        "name": " ".join(part for column in _NAME_COLUMNS if (part := text(column))),
        "description": text(SheetColumn.DESCRIPTION),
        "order_reference": text(SheetColumn.ORDER_REFERENCE),
    }


def _doubts(phone: CellValue, amount: CellValue) -> Iterator[Problem]:
    for field, value in (("phone", phone), ("amount", amount)):
        if value.quality is Quality.DOUBTFUL:
            yield Problem(field, DIGITS_LOST, {})


def _proposed(phone: CellValue, amount: CellValue) -> dict[str, str]:
    """What can be read is shown as it would be sent, so that it is looked at before it is saved."""
    read = {"phone": phone, "amount": amount}
    return {name: str(value.value) for name, value in read.items() if value.quality is not Quality.WRONG}


def _problems(values: Mapping[str, object], terms: Terms) -> Iterator[Problem]:
    """By the same checks as an item of the API has."""
    fields = Fields(values)
    item_of(fields, 0, terms)
    for mistake in fields.mistakes:
        yield Problem(_NAMES[mistake.field], mistake.code, mistake.bounds)


def _repairs(phone: CellValue, amount: CellValue, texts: Typed, *, is_guessed: bool) -> Iterator[Repair]:
    for field, value in (("phone", phone), ("amount", amount)):
        if value.repair is not None:
            yield Repair(field, value.repair, texts[field])
    if is_guessed:
        yield Repair("channel", RepairKind.NETWORK_BY_PREFIX, "")
