"""Samples of one operation with our clients: Python, TypeScript and PHP. Pure.

A sample is made of the same example of the contract as the curl command beside it. `CALLS` says which method of the
clients it is, and what is done with the answer. `tests/api/docs/test_reference_samples.py` runs all of them, and
compares what they send with the curl command.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

_LINE = 72  # characters that a call may fill before its arguments get lines of their own


class Gives(Enum):
    ONE = "an object"
    LIST = "a list"
    EACH = "each thing of all pages, one after the other"
    VALUE = "a number"
    EVENTS = "a page of events, and where to go on"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class ClientCall:
    method: str  # as TypeScript and PHP write it
    answer: str = ""  # the name of the variable for the answer
    shows: tuple[str, ...] = ()  # its fields, as the contract writes them
    gives: Gives = Gives.ONE
    keys: tuple[str, ...] = ()  # an Idempotency-Key for each example of its body


CALLS: Mapping[str, ClientCall] = {
    "collect": ClientCall("payments.collect", "payment", ("id", "status"), keys=("order-1042-1", "order-1043-1")),
    "list": ClientCall("payments.list", "payment", ("reference", "amount", "status"), Gives.EACH),
    "disburse": ClientCall("payments.disburse", "payout", ("id", "status"), keys=("wages-W46-17-1", "wages-W46-18-1")),
    "retrieve": ClientCall("payments.get", "payment", ("reference", "status")),
    "receipt": ClientCall("payments.receipt", "receipt", ("reference", "url")),
    "cancel": ClientCall("payments.cancel", "payment", ("reference", "status")),
    "refund": ClientCall("payments.refund", "refund", ("id", "amount"), keys=("return-1042-1", "return-1042-2")),
    "quote": ClientCall("payments.quote", "quote", ("fee", "totalAmount")),
    "lookUpRecipient": ClientCall("recipients.lookUp", "recipient", ("name",)),
    "listChannels": ClientCall("channels.list", "channel", ("channel", "name"), Gives.LIST),
    "createBatch": ClientCall("batches.create", "batch", ("id", "status"), keys=("wages-W46-1",)),
    "listBatches": ClientCall("batches.list", "batch", ("id", "name", "status"), Gives.EACH),
    "getBatch": ClientCall("batches.get", "batch", ("name", "status")),
    "listBatchItems": ClientCall("batches.items", "item", ("index", "recipientPhone", "amount"), Gives.EACH),
    "approveBatch": ClientCall("batches.approve", "batch", ("name", "status")),
    "cancelBatch": ClientCall("batches.cancel", "batch", ("name", "status")),
    "createLink": ClientCall("links.create", "link", ("id", "url"), keys=("order-1042-link", "school-roof")),
    "listLinks": ClientCall("links.list", "link", ("id", "description", "status"), Gives.EACH),
    "getLink": ClientCall("links.get", "link", ("status", "paidAmount")),
    "cancelLink": ClientCall("links.cancel", "link", ("id", "status")),
    "createSettlement": ClientCall(
        "settlements.create", "settlement", ("id", "netAmount"), keys=("to-bank-46", "to-bank-47")
    ),
    "listSettlements": ClientCall("settlements.list", "settlement", ("id", "status", "amount"), Gives.EACH),
    "getSettlement": ClientCall("settlements.get", "settlement", ("status", "amount")),
    "getSettlementReport": ClientCall("settlements.report", "report", ("opening", "closing")),
    "cancelSettlement": ClientCall("settlements.cancel", "settlement", ("id", "status")),
    "getWallet": ClientCall("wallet.get", "wallet", ("available", "reserved")),
    "listWalletEntries": ClientCall("wallet.entries", "entry", ("line", "amount", "balanceAfter"), Gives.EACH),
    "listEvents": ClientCall("events.read", "page", ("id", "event"), Gives.EVENTS),
    "listWebhooksByKey": ClientCall("webhooks.list", "endpoint", ("id", "url"), Gives.LIST),
    "createWebhookByKey": ClientCall("webhooks.create", "endpoint", ("id", "secret")),
    "getWebhookByKey": ClientCall("webhooks.get", "endpoint", ("id", "url")),
    "changeWebhookByKey": ClientCall("webhooks.change", "endpoint", ("id", "url")),
    "deleteWebhookByKey": ClientCall("webhooks.delete", gives=Gives.NOTHING),
    "testWebhookByKey": ClientCall("webhooks.test", "delivery", ("state",)),
    "rotateSecretByKey": ClientCall("webhooks.rotateSecret", "endpoint", ("secret",)),
    "finishRotationByKey": ClientCall("webhooks.finishRotation", "endpoint", ("id", "url")),
    "listDeliveriesByKey": ClientCall("webhooks.deliveries", "delivery", ("id", "event", "state"), Gives.EACH),
    "getDeliveryByKey": ClientCall("webhooks.delivery", "delivery", ("event", "state")),
    "redeliverByKey": ClientCall("webhooks.redeliver", "delivery", ("event", "state")),
    "recoverByKey": ClientCall("webhooks.recover", "recovered", gives=Gives.VALUE),
}


class Several(NamedTuple):
    """Values of one parameter of the query."""

    values: tuple[str, ...]


class ClientSample(NamedTuple):
    language: str
    text: str


def in_languages(call: ClientCall, ids: Sequence[str], fields: Mapping[str, Any]) -> list[ClientSample]:
    """`ids` are those of the path, `fields` all else that is sent: of the query, the body, and the Idempotency-Key."""
    return [
        ClientSample("python", _python(call, ids, fields)),
        ClientSample("typescript", _typescript(call, ids, fields)),
        ClientSample("php", _php(call, ids, fields)),
    ]


def _python(call: ClientCall, ids: Sequence[str], fields: Mapping[str, Any]) -> str:
    named = {in_python(name): _python_value(value) for name, value in fields.items()}
    arguments = [*map(_text, ids), *(f"{name}={value}" for name, value in named.items())]
    code = _joined(f"client.{in_python(call.method)}(", arguments, ")", "    ")
    shown = ", ".join(f"{call.answer}.{in_python(field)}" for field in call.shows)
    first = "from malipo_client import Malipo\n\nclient = Malipo()  # MALIPO_URL and MALIPO_API_KEY\n"
    match call.gives:
        case Gives.ONE:
            then = f"{call.answer} = {code}\nprint({shown})"
        case Gives.LIST | Gives.EACH:
            then = f"for {call.answer} in {code}:\n    print({shown})"
        case Gives.VALUE:
            then = f"{call.answer} = {code}\nprint({call.answer})"
        case Gives.EVENTS:
            shown = ", ".join(f"event.{in_python(field)}" for field in call.shows)
            then = f"{call.answer} = {code}\nfor event in {call.answer}.events:\n    print({shown})\n"
            then += f"print({call.answer}.next)  # Keep it: the next call takes it as after."
        case Gives.NOTHING:
            then = code
    return first + then


def _typescript(call: ClientCall, ids: Sequence[str], fields: Mapping[str, Any]) -> str:
    named = [f"{name}: {_typescript_value(value)}" for name, value in fields.items()]
    head = f"client.{call.method}(" + "".join(f"{_text(each)}, " for each in ids)
    code = _joined(head + "{ ", named, " })", "  ") if named else head.removesuffix(", ") + ")"
    shown = ", ".join(f"{call.answer}.{field}" for field in call.shows)
    first = 'import { Malipo } from "malipo-client";\n\nconst client = new Malipo(); // MALIPO_URL and MALIPO_API_KEY\n'
    match call.gives:
        case Gives.ONE:
            then = f"const {call.answer} = await {code};\nconsole.log({shown});"
        case Gives.LIST:
            then = f"for (const {call.answer} of await {code}) {{\n  console.log({shown});\n}}"
        case Gives.EACH:
            then = f"for await (const {call.answer} of {code}) {{\n  console.log({shown});\n}}"
        case Gives.VALUE:
            then = f"const {call.answer} = await {code};\nconsole.log({call.answer});"
        case Gives.EVENTS:
            shown = ", ".join(f"event.{field}" for field in call.shows)
            then = f"const {call.answer} = await {code};\n"
            then += f"for (const event of {call.answer}.events) {{\n  console.log({shown});\n}}\n"
            then += f"console.log({call.answer}.next); // Keep it: the next call takes it as after."
        case Gives.NOTHING:
            then = f"await {code};"
    return first + then


def _php(call: ClientCall, ids: Sequence[str], fields: Mapping[str, Any]) -> str:
    arguments = [*map(_quoted, ids), *(f"{name}: {_php_value(value)}" for name, value in fields.items())]
    code = _joined(f"$client->{call.method.replace('.', '->')}(", arguments, ")", "    ")
    shown = ", ' ', ".join(f"${call.answer}['{field}']" for field in call.shows)
    first = "require 'Malipo.php';\n\n$client = new Malipo\\Client(); // MALIPO_URL and MALIPO_API_KEY\n"
    match call.gives:
        case Gives.ONE:
            then = f"${call.answer} = {code};\necho {shown}, PHP_EOL;"
        case Gives.LIST | Gives.EACH:
            then = f"foreach ({code} as ${call.answer}) {{\n    echo {shown}, PHP_EOL;\n}}"
        case Gives.VALUE:
            then = f"${call.answer} = {code};\necho ${call.answer}, PHP_EOL;"
        case Gives.EVENTS:
            shown = ", ' ', ".join(f"$event['{field}']" for field in call.shows)
            then = f"${call.answer} = {code};\n"
            then += f"foreach (${call.answer}['events'] as $event) {{\n    echo {shown}, PHP_EOL;\n}}\n"
            then += f"echo ${call.answer}['next'], PHP_EOL; // Keep it: the next call takes it as after."
        case Gives.NOTHING:
            then = f"{code};"
    return first + then


def _joined(head: str, parts: Sequence[str], tail: str, indent: str) -> str:
    """Join the parts in one line if it fits, else put each in a line of its own."""
    flat = f"{head}{', '.join(parts)}{tail}"
    if "\n" not in flat and len(flat) <= _LINE:
        return flat
    inside = ",\n".join(indent + each.replace("\n", f"\n{indent}") for each in parts)
    return f"{head.rstrip()}\n{inside},\n{tail.lstrip()}"


def in_python(name: str) -> str:
    """A name of the contract as Python writes it."""
    return re.sub(r"[A-Z]", lambda found: "_" + found[0].lower(), name)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _python_value(value: Any) -> str:
    match value:
        case bool():
            return str(value)
        case Several():
            return _text(",".join(value.values))
        case dict():
            return _joined("{", [f'"{name}": {_python_value(each)}' for name, each in value.items()], "}", "    ")
        case list():
            return _joined("[", [_python_value(_in_python(each)) for each in value], "]", "    ")
        case _:
            return json.dumps(value, ensure_ascii=False)


def _in_python(item: Any) -> Any:
    """An item of a batch has Python's spelling. Metadata, which is no list, has the merchant's."""
    return {in_python(name): each for name, each in item.items()} if isinstance(item, dict) else item


def _typescript_value(value: Any) -> str:
    match value:
        case Several():
            return _typescript_value([*value.values])
        case dict():
            return _joined("{ ", [f"{name}: {_typescript_value(each)}" for name, each in value.items()], " }", "  ")
        case list():
            return _joined("[", [_typescript_value(each) for each in value], "]", "  ")
        case _:
            return json.dumps(value, ensure_ascii=False)


def _php_value(value: Any) -> str:
    match value:
        case Several():
            return _php_value([*value.values])
        case dict():
            return _joined("[", [f"'{name}' => {_php_value(each)}" for name, each in value.items()], "]", "    ")
        case list():
            return _joined("[", [_php_value(each) for each in value], "]", "    ")
        case str():
            return _quoted(value)
        case _:
            return json.dumps(value)
