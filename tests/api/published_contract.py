"""The contract as data, and what something is held against it with.

PUBLISHED is what merchants read. CONTRACT also has the routes that are no part of it, and its objects in responses and
webhooks are closed: merchants' programs must expect new fields, but the service sends none that is not written down.
"""

import copy
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import yaml

from malipo.api import openapi

Schema = Mapping[str, Any]

INTERNAL_ROUTES = Path(__file__).parents[1] / "contract" / "internal_routes.yaml"
PUBLISHED: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(openapi.load()))


def with_internal_routes(contract: dict[str, Any]) -> dict[str, Any]:
    internal = yaml.safe_load(INTERNAL_ROUTES.read_text("utf-8"))
    whole = copy.deepcopy(contract)
    whole["paths"] |= msgspec.json.decode(msgspec.json.encode(internal["paths"]))
    whole["components"]["schemas"]["ErrorCode"]["oneOf"] += internal["errorCodes"]
    return whole


def operations(contract: Schema) -> Iterator[tuple[str, Schema]]:
    for path, methods in contract["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def closed(contract: dict[str, Any], *, with_requests: bool = False) -> dict[str, Any]:
    """The contract with no object that may have fields which its schema does not name."""
    strict = copy.deepcopy(contract)
    done: set[int] = set()
    answers = [each for _, operation in operations(strict) for each in operation["responses"].values()]
    for response in (*answers, *strict["components"]["responses"].values()):
        for media in response.get("content", {}).values():
            _close(media["schema"], strict, done)
    for methods in strict["webhooks"].values():
        _close(methods["post"]["requestBody"]["content"]["application/json"]["schema"], strict, done)
    if with_requests:
        for _, operation in operations(strict):
            for media in operation.get("requestBody", {}).get("content", {}).values():
                _close(media["schema"], strict, done)
    return strict


def _close(schema: Any, contract: Schema, done: set[int]) -> None:
    if not isinstance(schema, dict) or id(schema) in done:
        return
    done.add(id(schema))
    if "$ref" in schema:
        _close(_target(schema["$ref"], contract), contract, done)
    if "properties" in schema and schema.get("type") == "object":
        schema.setdefault("additionalProperties", False)
    inner = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]
    for each in (*inner, *schema.get("anyOf", ()), *schema.get("oneOf", ())):
        _close(each, contract, done)


def _target(ref: str, contract: Schema) -> Any:
    target: Any = contract
    for step in ref.removeprefix("#/").split("/"):
        target = target[step]
    return target


WHOLE = with_internal_routes(PUBLISHED)
CONTRACT = closed(WHOLE)
# Whoever sends unknown fields is not refused; an example that has one is wrong.
STRICT = closed(WHOLE, with_requests=True)
OPERATIONS = dict(operations(CONTRACT))
# What is sent to merchants, by the event.
SENT: dict[str, Schema] = {event: methods["post"] for event, methods in CONTRACT["webhooks"].items()}


def resolved(value: Any, contract: Schema = CONTRACT) -> Any:
    while "$ref" in value:
        value = _target(value["$ref"], contract)
    return value


def faults(value: Any, schema: Schema) -> list[str]:
    """How a value breaks its schema. Fields that no schema names are faults, in requests too."""
    return [error.message for error in _validator(msgspec.json.encode(schema)).iter_errors(value)]


@cache
def _validator(schema_text: bytes) -> jsonschema_rs.Draft202012Validator:
    """Made once for each schema, and only with what it names: otherwise all components would be compiled each time."""
    schema = msgspec.json.decode(schema_text)
    named: dict[str, Any] = {}
    _collect(schema, named)
    return jsonschema_rs.Draft202012Validator({**schema, "components": {"schemas": named}}, validate_formats=True)


def _collect(value: Any, named: dict[str, Any]) -> None:
    """The schemas that are named in this one, and in those."""
    if isinstance(value, dict):
        name = str(value.get("$ref", "")).removeprefix("#/components/schemas/")
        if name and name not in named:
            named[name] = STRICT["components"]["schemas"][name]
            _collect(named[name], named)
        for each in value.values():
            _collect(each, named)
    elif isinstance(value, list):
        for each in value:
            _collect(each, named)


def examples_of(place: str, media: Schema) -> Iterator[tuple[str, Any, Schema]]:
    """The examples of a parameter, a header or a body, each with the schema that it must fit."""
    assert "example" in media or media.get("examples"), f"{place} has no example"
    for name, each in media.get("examples", {"": {"value": media.get("example")}}).items():
        yield f"{place} {name}".strip(), each["value"], media["schema"]


def loose(schema: Any, place: str) -> Iterator[str]:
    """Where an object may have fields that its schema does not name."""
    schema = resolved(schema)
    if "properties" in schema and schema.get("additionalProperties") is not False:
        yield place
    for name, each in schema.get("properties", {}).items():
        yield from loose(each, f"{place}.{name}")
    for each in schema.get("anyOf", ()):
        yield from loose(each, place)
    if "items" in schema:
        yield from loose(schema["items"], f"{place}[]")


def responses(contract: Schema = CONTRACT) -> Iterator[tuple[str, str, Schema]]:
    """Every response: where it stands, its status, what it is. The last ones belong to no route, but to any address."""
    for label, operation in operations(contract):
        for status, response in operation["responses"].items():
            yield f"{label} {status}", status, resolved(response, contract)
    for status, name in (("400", "NotHttp"), ("404", "NotFound"), ("405", "MethodNotAllowed")):
        yield name, status, contract["components"]["responses"][name]
