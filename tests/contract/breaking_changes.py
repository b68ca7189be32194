"""What a new version of a contract takes away from programs that were written for the old one. Pure.

One question is asked in two directions: can whoever receives live with everything that the other side may send? Of a
request the old program sends and the new service receives; of a response, and of a webhook, the new service sends and the
old program receives. Both sides ignore fields that they do not know, so new fields are harmless. A list that is marked
`x-may-grow` may get new values in a response.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Schema = Mapping[str, Any]
Contract = Mapping[str, Any]

# For each bound: whether a larger number lets less through.
_BOUNDS = {
    "minimum": True,
    "exclusiveMinimum": True,
    "minLength": True,
    "minItems": True,
    "minProperties": True,
    "maximum": False,
    "exclusiveMaximum": False,
    "maxLength": False,
    "maxItems": False,
    "maxProperties": False,
}
# Whoever receives must find these as they were: whether one pattern lets more through than another nobody can tell.
_EXACT = ("pattern", "format", "uniqueItems", "propertyNames", "not", "multipleOf")


def breaking_changes(old: Contract, new: Contract) -> list[str]:
    comparison = _Comparison(old, new)
    return [*comparison.operations(), *comparison.webhooks()]


class _Comparison:
    def __init__(self, old: Contract, new: Contract) -> None:
        self._old, self._new = old, new

    def operations(self) -> Iterator[str]:
        for path, methods in self._old["paths"].items():
            for method, operation in methods.items():
                place = f"{method.upper()} {path}"
                after = self._new["paths"].get(path, {}).get(method)
                if after is None:
                    yield f"{place}: is gone"
                else:
                    yield from self._operation(place, operation, after)

    def webhooks(self) -> Iterator[str]:
        for event, methods in self._old.get("webhooks", {}).items():
            place = f"webhook {event}"
            if event not in self._new.get("webhooks", {}):
                yield f"{place}: is gone"
                continue
            old, new = methods["post"], self._new["webhooks"][event]["post"]
            before, after = _parameters(old, self._old), _parameters(new, self._new)
            for key, parameter in before.items():
                yield from self._header(f"{place} {key[1]}", parameter, after.get(key))
            yield from self._answer_content(place, old["requestBody"]["content"], new["requestBody"]["content"])

    def _operation(self, place: str, old: Schema, new: Schema) -> Iterator[str]:
        if old["operationId"] != new["operationId"]:
            yield f"{place}: operationId was {old['operationId']}"
        # Each entry lets somebody in: another one is an addition.
        if new["security"] and not (old["security"] and all(each in new["security"] for each in old["security"])):
            yield f"{place}: needs other credentials or permissions"
        yield from self._asked(place, _parameters(old, self._old), _parameters(new, self._new))
        yield from self._body(place, old.get("requestBody", {}), new.get("requestBody", {}))
        for status, response in old["responses"].items():
            before = _resolved(response, self._old)
            if status in new["responses"]:
                yield from self._response(f"{place} {status}", before, _resolved(new["responses"][status], self._new))
            elif status.startswith("2"):
                yield f"{place} {status}: is gone"

    def _asked(self, place: str, old: Mapping[Any, Schema], new: Mapping[Any, Schema]) -> Iterator[str]:
        for key, parameter in new.items():
            if parameter.get("required") and not old.get(key, {}).get("required"):
                yield f"{place} {key[1]}: is required now"
        for key, parameter in old.items():
            if key not in new:
                # It would be ignored silently, such as a filter that filters no more.
                yield f"{place} {key[1]}: is gone"
            else:
                yield from self._taken(f"{place} {key[1]}", parameter["schema"], new[key]["schema"])
                if any(parameter.get(name) != new[key].get(name) for name in ("style", "explode")):
                    yield f"{place} {key[1]}: is written in another way"

    def _body(self, place: str, old: Schema, new: Schema) -> Iterator[str]:
        if new.get("required") and not old.get("required"):
            yield f"{place} body: is required now"
        for type_, media in old.get("content", {}).items():
            if type_ not in new.get("content", {}):
                yield f"{place} body: {type_} is gone"
            else:
                yield from self._taken(f"{place} body", media["schema"], new["content"][type_]["schema"])

    def _response(self, place: str, old: Schema, new: Schema) -> Iterator[str]:
        for name, header in old.get("headers", {}).items():
            after = new.get("headers", {}).get(name)
            yield from self._header(
                f"{place} {name}", _resolved(header, self._old), after and _resolved(after, self._new)
            )
        yield from self._answer_content(place, old.get("content", {}), new.get("content", {}))

    def _header(self, place: str, old: Schema, new: Schema | None) -> Iterator[str]:
        if new is None:
            yield f"{place}: is gone"
        else:
            if old.get("required") and not new.get("required"):
                yield f"{place}: is not always there now"
            yield from self._told(place, old["schema"], new["schema"])

    def _answer_content(self, place: str, old: Schema, new: Schema) -> Iterator[str]:
        for type_, media in old.items():
            if type_ not in new:
                yield f"{place}: {type_} is gone"
            else:
                yield from self._told(place, media["schema"], new[type_]["schema"])

    def _taken(self, place: str, old: Schema, new: Schema) -> Iterator[str]:
        """Does the new service take what the old program sends?"""
        return _Direction(self._old, self._new, is_request=True).misfits(place, old, new)

    def _told(self, place: str, old: Schema, new: Schema) -> Iterator[str]:
        """Does the old program understand what the new service sends?"""
        return _Direction(self._new, self._old, is_request=False).misfits(place, new, old)


class _Direction:
    """From whoever sends to whoever receives, each with the contract that they know."""

    def __init__(self, sender: Contract, receiver: Contract, *, is_request: bool) -> None:
        self._sender, self._receiver, self._is_request = sender, receiver, is_request
        self._under_way: set[tuple[int, int]] = set()

    def misfits(self, place: str, sent: Any, received: Any) -> Iterator[str]:
        sent, received = _schema(sent, self._sender), _schema(received, self._receiver)
        pair = (id(sent.get("properties")), id(received.get("properties")))
        if "properties" in sent and pair in self._under_way:
            return  # A schema that contains itself.
        self._under_way.add(pair)
        sent_forms, received_forms = _forms(sent), _forms(received)
        if len(sent_forms) > 1 or len(received_forms) > 1:
            for form in sent_forms:
                if not any(not list(self.misfits(place, form, each)) for each in received_forms):
                    yield f"{place}: one of its forms is not expected"
        else:
            yield from self._values(place, sent_forms[0], received_forms[0])
            yield from self._fields(place, sent_forms[0], received_forms[0])
        self._under_way.discard(pair)

    def _values(self, place: str, sent: Schema, received: Schema) -> Iterator[str]:
        if unexpected := _types(sent) - _types(received):
            yield f"{place}: may be {', '.join(sorted(unexpected))}, which is not expected"
        known = _choices(received)
        may_grow = not self._is_request and sent.get("x-may-grow") is True
        if known is not None and not may_grow:
            possible = _choices(sent)
            if possible is None:
                yield f"{place}: may be anything, and some values are expected"
            else:
                yield from (f"{place}: {value!r} is not expected" for value in possible if value not in known)
        if _choices(sent) is None:
            yield from self._rules(place, sent, received)
        yield from (f"{place}: another rule" for rule in received.get("allOf", ()) if rule not in sent.get("allOf", ()))

    def _rules(self, place: str, sent: Schema, received: Schema) -> Iterator[str]:
        for bound, is_least in _BOUNDS.items():
            if bound in received:
                limit, possible = received[bound], sent.get(bound)
                if possible is None or (possible < limit if is_least else possible > limit):
                    yield f"{place}: {bound} {possible} against {limit}"
        for name in _EXACT:
            if name in received and sent.get(name) != received[name]:
                yield f"{place}: {name} {sent.get(name)} against {received[name]}"

    def _fields(self, place: str, sent: Schema, received: Schema) -> Iterator[str]:
        has, expected = _named(sent), _named(received)
        for name in received.get("required", ()):
            if name not in sent.get("required", ()):
                yield f"{place}.{name}: {'is required now' if self._is_request else 'is not always there now'}"
        # A field that the service no longer reads would be ignored silently; one that it no longer sends is missed.
        lost = set(has) - set(expected) if self._is_request else set(expected) - set(has)
        yield from (f"{place}.{name}: is gone" for name in sorted(lost))
        for name in has.keys() & expected.keys():
            yield from self.misfits(f"{place}.{name}", has[name], expected[name])
        if "items" in received:
            yield from self.misfits(f"{place}[]", sent.get("items", {}), received["items"])
        if isinstance(received.get("additionalProperties"), dict):
            yield from self.misfits(
                f"{place}.*", sent.get("additionalProperties", {}), received["additionalProperties"]
            )


def _parameters(operation: Schema, contract: Contract) -> dict[tuple[str, str], Schema]:
    found = [_resolved(each, contract) for each in operation.get("parameters", ())]
    return {(each["in"], each["name"]): each for each in found}


def _resolved(value: Any, contract: Contract) -> Any:
    while "$ref" in value:
        value = _at(value["$ref"], contract)
    return value


def _schema(value: Schema, contract: Contract) -> Schema:
    """A schema with what its name stands for; what stands beside the name counts too."""
    if "$ref" not in value:
        return value
    beside = {key: each for key, each in value.items() if key != "$ref"}
    return {**_schema(_at(value["$ref"], contract), contract), **beside}


def _at(ref: str, contract: Contract) -> Any:
    target: Any = contract
    for step in ref.removeprefix("#/").split("/"):
        target = target[step]
    return target


def _forms(schema: Schema) -> Sequence[Schema]:
    """What a value may be, where there are several."""
    for name in ("anyOf", "oneOf"):
        if name in schema and _choices(schema) is None:
            rest = {key: each for key, each in schema.items() if key != name}
            return [{**rest, **each} for each in schema[name]]
    if isinstance(schema.get("type"), list) and _choices(schema) is None:
        return [{**schema, "type": each} for each in schema["type"]]
    return [schema]


def _types(schema: Schema) -> set[str]:
    """The types that a value may have. A number may also be whole."""
    named = schema.get("type", ["string", "integer", "number", "boolean", "object", "array", "null"])
    types = {named} if isinstance(named, str) else set(named)
    return types | {"integer"} if "number" in types else types


def _named(schema: Schema) -> dict[str, Any]:
    """The fields that there may be: one with the schema `false` is named so that it is not there."""
    return {name: each for name, each in schema.get("properties", {}).items() if each is not False}


def _choices(schema: Schema) -> list[Any] | None:
    """The values that are possible, where they are listed."""
    if "const" in schema:
        return [schema["const"]]
    if "enum" in schema:
        return list(schema["enum"])
    if "oneOf" in schema and all("const" in each for each in schema["oneOf"]):
        return [each["const"] for each in schema["oneOf"]]
    return None
