"""The client and the contract say the same: every route, every parameter, every field."""

import ast
import inspect
import re
import typing
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import malipo_client
import pytest
from malipo_client.operation import Resource, flow, listing, operation
from malipo_client.records import Record, camel
from malipo_client.request import Request
from malipo_client.resources import batches, events, links, payments, settlements, wallet, webhooks

from malipo.api import openapi

ROOT = Path(__file__).parents[3]
Method = operation[Any, Any] | listing[Any, Any] | flow[Any, Any]

# The iterators turn the pages, `…_csv` asks for the other format, and lists always have every field.
BY_ITSELF = {"page", "limit", "before", "after", "format", "view"}
# Which schemas a record reads.
SCHEMAS = {
    "Transaction": ("Transaction", "TransactionInFull", "EventTransaction", "CollectionCreated", "DisbursementCreated"),
    "Batch": ("Batch", "BatchCreated", "BatchListed"),
    "Link": ("Link", "LinkCreated", "EventLink"),
    "Settlement": ("Settlement", "SettlementCreated"),
    "Channel": ("ChannelProfile",),
    "Webhook": ("Webhook", "WebhookCreated", "WebhookRotated"),
    "Event": ("FeedEvent",),
}
NOT_IN_WEBHOOKS = {("Event", "createdAt"), ("Event", "transaction")}  # or not in those of batches
IN_OTHER_EVENTS = {
    ("Event", "batch"),
    ("Event", "link"),
    ("Event", "settlement"),
}  # in place of the transaction, where it was asked for
NOT_IN_SCHEMAS = {"EventPage", "StatusLog", "Record", "SettlementSum"}  # They stand inside of others.


@cache
def contract() -> dict[str, Any]:
    return openapi.load()


def resolved(node: Any) -> Any:
    while "$ref" in node:
        found: Any = contract()
        for part in node["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        node = found
    return node


def routes() -> dict[tuple[str, str], dict[str, Any]]:
    """What takes an API key. Routes under /merchant are for people, who log in, and have no place in a program."""
    return {
        (method.upper(), path): details
        for path, methods in contract()["paths"].items()
        for method, details in methods.items()
        if any("apiKey" in each for each in details.get("security", ()))
    }


def methods() -> Iterator[tuple[str, Method]]:
    for module in (payments, batches, links, settlements, wallet, events, webhooks):
        for name, resource in vars(module).items():
            if inspect.isclass(resource) and issubclass(resource, Resource) and resource is not Resource:
                for each, value in vars(resource).items():
                    if isinstance(value, operation | listing | flow):
                        yield f"{name}.{each}", value


METHODS = dict(methods())


def described(method: Method) -> Request[Any]:
    """The request of a method when every argument is given."""
    given = {
        name: _sample(each) for name, each in inspect.signature(method.describe).parameters.items() if name != "self"
    }
    made: Any = method.describe(None, **given)
    return made if isinstance(made, Request) else next(made)


def _sample(parameter: inspect.Parameter) -> Any:
    kind = str(parameter.annotation).partition(" |")[0]
    return {"str": "x", "int": 1, "float": 1.0, "bool": True}.get(kind, [] if kind.startswith("Sequence") else {})


def test_every_route_for_a_key_has_a_method_and_every_method_has_a_route() -> None:
    made = {(request.method, request.path) for request in map(described, METHODS.values())}
    assert made == set(routes())
    assert len(METHODS) > len(made) > 25


@pytest.mark.parametrize("name", METHODS)
def test_every_parameter_can_be_given_and_none_is_made_up(name: str) -> None:
    request = described(METHODS[name])
    route = routes()[request.method, request.path]
    parameters = [resolved(each) for each in route.get("parameters", ())]
    query = {each["name"] for each in parameters if each["in"] == "query"}
    assert query - set(request.query) <= BY_ITSELF
    assert set(request.query) <= query
    assert set(request.ids) == {each["name"] for each in parameters if each["in"] == "path"}
    takes_key = any(each["name"] == "Idempotency-Key" for each in parameters)
    assert (request.idempotency_key is not None) is takes_key, "whatever takes a key is sent with one"
    assert set(request.body or {}) == set(_fields_of_body(route))
    assert request.query.get("wait", 0) == request.wait_seconds, "the answer is waited for as long as it may be held"


def _fields_of_body(route: dict[str, Any]) -> dict[str, Any]:
    if "requestBody" not in route:
        return {}
    schema = resolved(resolved(route["requestBody"])["content"]["application/json"]["schema"])
    return dict(schema["properties"])


@pytest.mark.parametrize("name", METHODS)
def test_an_argument_is_optional_where_the_contract_says_so(name: str) -> None:
    request = described(METHODS[name])
    route = routes()[request.method, request.path]
    if "requestBody" not in route:
        return
    required = resolved(resolved(route["requestBody"])["content"]["application/json"]["schema"]).get("required", [])
    needed = [
        camel(each.name)
        for each in inspect.signature(METHODS[name].describe).parameters.values()
        if each.kind is inspect.Parameter.KEYWORD_ONLY and each.default is inspect.Parameter.empty
    ]
    assert sorted(needed) == sorted(required)


def records() -> dict[str, type[Record]]:
    found = {name: each for name, each in vars(malipo_client).items() if inspect.isclass(each)}
    return {name: each for name, each in found.items() if issubclass(each, Record) and name not in NOT_IN_SCHEMAS}


@pytest.mark.parametrize("name", records())
def test_a_record_has_the_fields_of_its_schemas_and_says_which_are_always_there(name: str) -> None:
    record = records()[name]
    hints = {key: hint for key, hint in typing.get_type_hints(record).items() if not key.startswith("_")}
    shapes = [_shape(contract()["components"]["schemas"][each]) for each in SCHEMAS.get(name, (name,))]
    fields = {field for properties, _ in shapes for field in properties}
    made = {name for name, each in vars(record).items() if isinstance(each, property)} & {"type"}
    assert {camel(each) for each in [*hints, *made]} == fields | {
        field for each, field in IN_OTHER_EVENTS if each == name
    }
    always = set.intersection(*(set(required) for _, required in shapes))
    nullable = {field for properties, _ in shapes for field, each in properties.items() if _may_be_null(each)}
    certain = {camel(key) for key, hint in hints.items() if type(None) not in typing.get_args(hint)}
    assert certain | made == always - nullable - {field for each, field in NOT_IN_WEBHOOKS if each == name} | made


def _shape(schema: Any) -> tuple[dict[str, Any], list[str]]:
    """The properties and the required ones, of all parts that are not conditions."""
    schema = resolved(schema)
    properties = {key: each for key, each in schema.get("properties", {}).items() if isinstance(each, dict)}
    required = list(schema.get("required", ()))
    for part in schema.get("allOf", ()):
        if "if" not in part:
            more, needed = _shape(part)
            properties, required = properties | more, required + needed
    return properties, required


def _may_be_null(schema: Any) -> bool:
    schema = resolved(schema)
    return "null" in schema.get("type", ()) or any(_may_be_null(each) for each in schema.get("anyOf", ()))


def test_the_readme_shows_nothing_that_does_not_exist() -> None:
    page = (ROOT / "clients" / "python" / "README.md").read_text()
    for sample in re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        ast.parse(sample, feature_version=(3, 9))
    called = set(re.findall(r"malipo\.(\w+)\.(\w+)\(", page))
    client = malipo_client.Malipo("key", "https://pay.example.com")
    assert called
    assert [each for each in called if not callable(getattr(getattr(client, each[0], None), each[1], None))] == []
