"""Schemas as rows of a table: each field with its type, and its rule in words. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SchemaField:
    path: str  # the objects that it is in, with a dot after each
    name: str
    type: str
    is_required: bool
    words: str
    choices: tuple[str, ...]
    rule: str


class Schemas:
    """Reads the schemas of a contract, in which a name may stand for a thing."""

    def __init__(self, contract: Schema) -> None:
        self._contract = contract

    def resolved(self, value: Schema) -> dict[str, Any]:
        """The thing itself, where only its name stands; words beside the name go before the thing's own."""
        beside = {key: each for key, each in value.items() if key != "$ref"}
        if "$ref" in value:
            target: Any = self._contract
            for step in value["$ref"].removeprefix("#/").split("/"):
                target = target[step]
            return self.resolved(target) | beside
        # A field that may be null is shown as what it is otherwise.
        others = [each for each in value.get("anyOf", ()) if each.get("type") != "null"]
        return self.resolved(others[0]) | beside if len(others) == 1 else beside

    def fields(self, schema: Schema, path: str = "") -> Iterator[SchemaField]:
        """The fields of an object, each followed by the fields inside it."""
        schema = self.resolved(schema)
        if "anyOf" in schema:
            schema = self.resolved(schema["anyOf"][0])  # of several forms the usual one, which stands first
        for name, each in schema.get("properties", {}).items():
            yield self.field(name, each, path=path, is_required=name in schema.get("required", ()))
            inner = self.resolved(each)
            yield from self.fields(inner, f"{path}{name}.")
            yield from self.fields(inner.get("items", {}), f"{path}{name}[].")

    def field(self, name: str, schema: Schema, *, is_required: bool, path: str = "") -> SchemaField:
        schema = self.resolved(schema)
        choices = schema.get("enum") or self.resolved(schema.get("items", {})).get("enum") or ()
        return SchemaField(
            path,
            name,
            self._type(schema),
            is_required,
            schema.get("description", ""),
            tuple(str(choice) for choice in choices if choice is not None),
            ", ".join(_rules(schema)),
        )

    def _type(self, schema: Schema) -> str:
        schema = self.resolved(schema)
        if "anyOf" in schema:
            named = [self._type(each) for each in schema["anyOf"] if each.get("type") != "null"]
            return " or ".join(dict.fromkeys(named))
        types = schema["type"]
        type_ = next(each for each in types if each != "null") if isinstance(types, list) else types
        if type_ == "array":
            return f"array of {self._type(schema['items'])}"
        return str(schema["format"]) if schema.get("format") in ("date", "date-time") else str(type_)


def _rules(schema: Schema) -> Iterator[str]:
    if "const" in schema:
        yield f"always `{'true' if schema['const'] is True else schema['const']}`"
    yield from _between(schema.get("minimum"), schema.get("maximum"), "")
    yield from _between(schema.get("minLength"), schema.get("maxLength"), " characters")
    yield from _between(schema.get("minItems"), schema.get("maxItems"), "")
    if "default" in schema:
        yield f"default `{schema['default']}`"


def _between(least: int | None, most: int | None, unit: str) -> Iterator[str]:
    if least is not None and most is not None:
        yield f"{least:,}{unit}" if least == most else f"{least:,} to {most:,}{unit}"
    elif most is not None:
        yield f"up to {most:,}{unit}"
    elif least is not None:
        yield f"at least {least:,}{unit}"
