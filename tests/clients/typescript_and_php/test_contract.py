"""The clients held against the contract: routes, keys, fields, values, versions."""

import json
import re
import subprocess
from typing import Any

import pytest

from malipo.api import openapi
from malipo.api.docs.samples import CALLS
from tests.clients.typescript_and_php.programs import PHP, TYPESCRIPT, built_typescript, here

CONTRACT = openapi.load()
SCHEMAS: dict[str, Any] = CONTRACT["components"]["schemas"]
TYPES = (TYPESCRIPT / "src" / "types.ts").read_text()


def operations() -> dict[str, dict[str, Any]]:
    """All that takes an API key."""
    return {
        f"{method.upper()} {path}": operation
        for path, methods in CONTRACT["paths"].items()
        for method, operation in methods.items()
        if any("apiKey" in each for each in operation.get("security", []))
    }


@pytest.fixture(scope="module")
def routes() -> dict[str, dict[str, Any]]:
    program = f'import {{ ROUTES }} from "{built_typescript() / "routes.js"}"; console.log(JSON.stringify(ROUTES))'
    said = subprocess.run(
        [here("node"), "--input-type=module", "-e", program], check=True, capture_output=True, text=True
    )
    found: dict[str, dict[str, Any]] = json.loads(said.stdout)
    return found


def test_every_route_for_api_keys_has_a_method_in_typescript_and_no_other(routes: dict[str, dict[str, Any]]) -> None:
    named = [f"{route['method']} {route['path']}" for route in routes.values()]
    assert sorted(named) == sorted(operations())
    source = "".join(path.read_text() for path in (TYPESCRIPT / "src").glob("*.ts"))
    assert [name for name in routes if f"ROUTES.{name}" not in source] == []


def test_what_takes_a_key_is_sent_with_one_and_what_is_handed_over_is_answered(
    routes: dict[str, dict[str, Any]],
) -> None:
    for route in routes.values():
        operation = operations()[f"{route['method']} {route['path']}"]
        takes = {"$ref": "#/components/parameters/Idempotency-Key"} in operation.get("parameters", [])
        assert route.get("isKeyed", False) is takes, route
        (success,) = (answer for status, answer in operation["responses"].items() if status.startswith("2"))
        schema = success["content"]["application/json"]["schema"]
        schema = SCHEMAS[schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema
        assert route.get("gives", "success") in schema["required"], route


def test_every_route_for_api_keys_has_a_method_in_php_and_no_other() -> None:
    source = (PHP / "Malipo.php").read_text()
    direct = re.findall(r"client->request\('([A-Z]+)', (?:path\()?'([^']+)'", source)
    paid = re.findall(r"pay\((?:path\()?'([^']+)'", source)
    # Where the path has a line of its own before the request.
    apart = re.findall(r"\$path = path\('([^']+)'.*?client->request\('([A-Z]+)', \$path", source, re.DOTALL)
    called = {
        *(f"{method} {path}" for method, path in direct),
        *(f"POST {path}" for path in paid),
        *(f"{method} {path}" for path, method in apart),
    }
    assert called == set(operations())


# The lists turn pages by themselves and have every field; events are read on by `after`, which is an argument.
BY_ITSELF = {"page", "limit", "before", "view", "format"}


@pytest.mark.parametrize("name", CALLS)
def test_every_parameter_can_be_given_in_php(name: str) -> None:
    (operation,) = (each for each in operations().values() if each["operationId"] == name)
    parameters = [here_or_named(each) for each in operation.get("parameters", ())]
    fields = {each["name"] for each in parameters if each["in"] == "query"} - BY_ITSELF
    if "requestBody" in operation:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        fields |= set(here_or_named(schema)["properties"])
    kind, method = CALLS[name].method.split(".")
    source = (PHP / "Malipo.php").read_text()
    (body,) = re.findall(rf"^final class {kind.capitalize()}\n{{\n(.*?)^}}", source, re.DOTALL | re.MULTILINE)
    (given,) = re.findall(rf"public function {method}\((.*?)\): ", body, re.DOTALL)
    if "...$filters" not in given:
        assert fields - set(re.findall(r"\$(\w+)", given)) == set()
    takes_key = any(each["name"] == "Idempotency-Key" for each in parameters)
    assert ("$idempotencyKey" in given) is takes_key


def here_or_named(node: Any) -> Any:
    while "$ref" in node:
        *_, kind, name = node["$ref"].split("/")
        node = CONTRACT["components"][kind][name]
    return node


ANSWERS = {
    "Correction": ["Correction"],
    "Quote": ["Quote"],
    "Batch": ["Batch"],
    "BatchItem": ["BatchItem"],
    "Link": ["Link"],
    "LatePayment": ["LatePayment"],
    "Settlement": ["Settlement"],
    "SettlementReport": ["SettlementReport"],
    "SettlementEntry": ["SettlementEntry"],
    "Wallet": ["Wallet"],
    "WalletEntry": ["WalletEntry"],
    "ChannelProfile": ["ChannelProfile"],
    "Recipient": ["Recipient"],
    "Delivery": ["Delivery"],
    "Attempt": ["Attempt"],
    "Transaction": ["Transaction", "TransactionInFull", "EventTransaction"],
    "PaymentEvent": ["FeedEvent"],
    "Webhook": ["Webhook", "WebhookRotated"],
}
REQUESTS = {
    "NewCollection": "NewCollection",
    "NewDisbursement": "NewDisbursement",
    "NewRefund": "NewRefund",
    "NewQuote": "NewQuote",
    "NewBatch": "NewBatch",
    "NewBatchItem": "NewBatchItem",
    "NewLink": "NewLink",
    "NewSettlement": "NewSettlement",
    "NewWebhook": "NewWebhook",
    "WebhookChange": "WebhookChange",
}
# What an endpoint's other answers, and a webhook, do not have.
OPTIONAL_TOO = {"Webhook": {"createdAt"}, "PaymentEvent": {"createdAt"}, "Transaction": {"statusLogs"}}

# In place of the transaction, in an event that only who asks for it gets.
IN_OTHER_EVENTS = {"PaymentEvent": {"batch", "link", "settlement"}}


def fields_of(interface: str) -> tuple[set[str], set[str]]:
    """Those that are there always, and those that may be."""
    (body,) = re.findall(
        rf"^export interface {interface} (?:extends \w+ )?{{\n(.*?)^}}", TYPES, re.DOTALL | re.MULTILINE
    )
    found = re.findall(r"^  (\w+)(\??):", body, re.MULTILINE)
    return {name for name, mark in found if not mark}, {name for name, mark in found if mark}


@pytest.mark.parametrize("interface", ANSWERS)
def test_an_answer_in_typescript_has_the_fields_of_the_contract(interface: str) -> None:
    schemas = [SCHEMAS[name] for name in ANSWERS[interface]]
    always = set.intersection(*(set(schema["required"]) for schema in schemas)) - OPTIONAL_TOO.get(interface, set())
    there = {name for schema in schemas for name, value in schema["properties"].items() if value is not False}
    assert fields_of(interface) == (always, there - always | IN_OTHER_EVENTS.get(interface, set()))


@pytest.mark.parametrize("interface", REQUESTS)
def test_a_request_in_typescript_has_the_fields_of_the_contract(interface: str) -> None:
    schema = SCHEMAS[REQUESTS[interface]]
    always = set(schema.get("required", []))
    assert fields_of(interface) == (always, set(schema["properties"]) - always)


VALUES = {
    "Channel": SCHEMAS["Channel"]["enum"],
    "TransactionType": SCHEMAS["Type"]["enum"],
    "Status": SCHEMAS["Status"]["enum"],
    "BatchStatus": SCHEMAS["BatchStatus"]["enum"],
    "LinkStatus": SCHEMAS["LinkStatus"]["enum"],
    "SettlementStatus": SCHEMAS["SettlementStatus"]["enum"],
    "SettlementGroup": SCHEMAS["SettlementGroup"]["enum"],
    "EntryKind": SCHEMAS["EntryKind"]["enum"],
    "EventName": SCHEMAS["Event"]["enum"],
    "DeliveryState": SCHEMAS["DeliveryState"]["enum"],
    "FailureCode": SCHEMAS["Transaction"]["properties"]["failureCode"]["enum"],
    "FailureDetail": SCHEMAS["Transaction"]["properties"]["failureDetail"]["enum"],
}


@pytest.mark.parametrize("name", VALUES)
def test_a_type_of_words_has_the_words_of_the_contract(name: str) -> None:
    (union,) = re.findall(rf"^export type {name} =(.*?);", TYPES, re.DOTALL | re.MULTILINE)
    assert re.findall(r'"([^"]+)"', union) == VALUES[name]


def test_the_filters_are_those_of_the_list() -> None:
    listed = {each.get("name") for each in CONTRACT["paths"]["/v1/payments"]["get"]["parameters"]} - {None}
    always, may_be = fields_of("PaymentFilters")
    assert (always, may_be) == (set(), (listed - {"view", "before"}) | {"from", "to", "language"})


def test_nothing_is_needed() -> None:
    assert json.loads((TYPESCRIPT / "package.json").read_text()).get("dependencies", {}) == {}


def test_the_lock_names_no_host() -> None:
    assert "http" not in re.sub(r'"(?:url|funding)": "[^"]*"', "", (TYPESCRIPT / "package-lock.json").read_text())
