"""The published contract as data, and what something is held against it with."""

from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema_rs
import msgspec

from malipo.api import openapi

Schema = Mapping[str, Any]

CONTRACT: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(openapi.load()))


def operations() -> Iterator[tuple[str, Schema]]:
    for path, methods in CONTRACT["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


OPERATIONS = dict(operations())
# What is sent to merchants, by the event.
SENT: dict[str, Schema] = {event: methods["post"] for event, methods in CONTRACT["webhooks"].items()}


def resolved(value: Any) -> Any:
    while "$ref" in value:
        target: Any = CONTRACT
        for step in value["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        value = target
    return value


def faults(value: Any, schema: Schema) -> list[str]:
    """How a value breaks its schema."""
    validator = jsonschema_rs.Draft202012Validator(
        {**schema, "components": CONTRACT["components"]}, validate_formats=True
    )
    return [error.message for error in validator.iter_errors(value)]


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
    if "items" in schema:
        yield from loose(schema["items"], f"{place}[]")


def responses() -> Iterator[tuple[str, str, Schema]]:
    """Every response: where it stands, its status, what it is. The last ones belong to no route, but to any address."""
    for label, operation in operations():
        for status, response in operation["responses"].items():
            yield f"{label} {status}", status, resolved(response)
    for status, name in (("400", "NotHttp"), ("404", "NotFound"), ("405", "MethodNotAllowed")):
        yield name, status, CONTRACT["components"]["responses"][name]
