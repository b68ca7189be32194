"""The lines of a spreadsheet: each with its values, their problems and their repairs. Pure."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from malipo.networks.channel_names_and_prefixes import channel_of, choice_for
from malipo.networks.connector import Channel
from malipo.payments.batches.request import item_of
from malipo.payments.batches.spreadsheet.columns import SheetColumn
from malipo.payments.batches.spreadsheet.read_sheet import PayoutSheet, SheetRow
from malipo.payments.batches.spreadsheet.repaired_cells import (
    ORDINARY,
    CellValue,
    Quality,
    RepairKind,
    amount_cell,
    channel_cell,
    clean,
    phone_cell,
)
from malipo.payments.payment_request import PaymentTerms
from malipo.validation.fields import Fields

# The fields that can be typed on the page, by the names of its inputs, and their names in a request.
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
class FieldProblem:
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
    typed: Typed  # the texts that the page shows for editing
    chosen_channel: str  # "": none was chosen, so it follows from the number
    values: Mapping[str, object]  # as a request has them
    problems: tuple[FieldProblem, ...]
    repairs: tuple[Repair, ...]
    usual_channel: Channel | None  # the number's usual channel, if it is another one: only a hint
    changed: Mapping[str, str]  # the fields that a person changed → the text in the file

    @property
    def amount(self) -> int:
        """0 where it cannot be read."""
        amount = self.values.get("amount")
        return amount if isinstance(amount, int) else 0

    @property
    def is_changed(self) -> bool:
        return bool(self.changed)

    @property
    def is_repaired(self) -> bool:
        return any(each.kind not in ORDINARY for each in self.repairs)

    def problem_with(self, field: str) -> FieldProblem | None:
        return next((each for each in self.problems if each.field == field), None)

    def repair_of(self, field: str) -> Repair | None:
        return next((each for each in self.repairs if each.field == field), None)


def lines_of(sheet: PayoutSheet, edits: Mapping[int, Typed], terms: PaymentTerms) -> list[SpreadsheetLine]:
    """The lines of a sheet. `edits` are the texts that a person typed instead, by row; they are not doubted."""
    return [_line(each, sheet.columns, edits.get(each.number, {}), terms) for each in sheet.rows]


def keep_choice(row: SheetRow, columns: Mapping[SheetColumn, int], before: Typed, typed: Typed) -> Typed:
    """The typed texts of a line. If the number was changed to one of another network, and the chosen network was left
    as it was, the choice is dropped, and the network follows from the number again."""
    if "phone" not in typed or "channel" not in typed:
        return typed
    in_file = _texts(row, columns)
    read = _read({**in_file, **before})
    last = read if read.phone.quality is not Quality.WRONG else _read(in_file)
    choice = choice_for(
        typed["channel"],
        str(phone_cell(typed["phone"]).value),
        chosen_before=str(channel_cell(read.texts["channel"]) or ""),
        phone_before=str(last.phone.value),
    )
    return {**typed, "channel": choice}


def _line(row: SheetRow, columns: Mapping[SheetColumn, int], edited: Typed, terms: PaymentTerms) -> SpreadsheetLine:
    in_file = _texts(row, columns)
    of_file = _read(in_file)
    read = _read({**in_file, **edited}) if edited else of_file
    is_by_number = not clean(in_file["channel"]) and read.values.get("channel") == read.suggested is not None
    changed = {
        name: in_file[name]
        for name in edited
        if read.values.get(FIELDS[name]) != of_file.values.get(FIELDS[name])
        and not (name == "channel" and is_by_number)
    }
    channel = channel_cell(read.texts["channel"])
    problems = [*_doubts(read.phone, read.amount), *_problems(read.values, terms)]
    if "channel" not in read.values and any(each.field == "phone" for each in problems):
        # The channel follows from the number, so only the number is wrong.
        problems = [each for each in problems if each.field != "channel"]
    return SpreadsheetLine(
        row=row.number,
        typed={**read.texts, **_proposed(read.phone, read.amount), "channel": str(read.values.get("channel", ""))},
        chosen_channel="" if not clean(read.texts["channel"]) else str(read.values.get("channel", "")),
        values=read.values,
        problems=tuple(problems),
        repairs=tuple(_repairs(of_file, changed, is_by_number=is_by_number)),
        usual_channel=read.suggested if channel is not None and read.suggested is not channel else None,
        changed=changed,
    )


@dataclass(frozen=True, slots=True)
class _Read:
    """The texts of a line, and their meaning."""

    texts: Typed
    phone: CellValue
    amount: CellValue
    suggested: Channel | None  # the channel that the number suggests
    values: Mapping[str, object]  # as a request has them


def _read(texts: Typed) -> _Read:
    phone, amount = phone_cell(texts["phone"]), amount_cell(texts["amount"])
    suggested = channel_of(str(phone.value)) if phone.quality is not Quality.WRONG else None
    channel = channel_cell(texts["channel"])
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
    return _Read(texts, phone, amount, suggested, values)


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


def _doubts(phone: CellValue, amount: CellValue) -> Iterator[FieldProblem]:
    for field, value in (("phone", phone), ("amount", amount)):
        if value.quality is Quality.DOUBTFUL:
            yield FieldProblem(field, DIGITS_LOST, {})


def _proposed(phone: CellValue, amount: CellValue) -> dict[str, str]:
    """The texts for the page. A readable value is shown as it would be sent, so that a person sees it before saving."""
    read = {"phone": phone, "amount": amount}
    return {name: str(value.value) for name, value in read.items() if value.quality is not Quality.WRONG}


def _problems(values: Mapping[str, object], terms: PaymentTerms) -> Iterator[FieldProblem]:
    """The problems of a line, by the same checks as for an item in the API."""
    fields = Fields(values)
    item_of(fields, 0, terms)
    for mistake in fields.mistakes:
        yield FieldProblem(_NAMES[mistake.field], mistake.code, mistake.bounds)


def _repairs(of_file: _Read, changed: Collection[str], *, is_by_number: bool) -> Iterator[Repair]:
    """The repairs of a line. A field that a person changed has none."""
    for field, value in (("phone", of_file.phone), ("amount", of_file.amount)):
        if value.repair is not None and field not in changed:
            yield Repair(field, value.repair, of_file.texts[field])
    if is_by_number:
        yield Repair("channel", RepairKind.NETWORK_BY_PREFIX, "")
