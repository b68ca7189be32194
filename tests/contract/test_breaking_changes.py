"""Which changes of a contract break programs, and which do not: a table that was written by hand."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.breaking_changes import breaking_changes

Change = Callable[[Any], Any]

CONTRACT: dict[str, Any] = {
    "paths": {
        "/v1/things": {
            "post": {
                "operationId": "makeThing",
                "security": [{"apiKey": ["things.create"]}],
                "parameters": [
                    {"name": "view", "in": "query", "schema": {"type": "string", "enum": ["short", "full"]}},
                    {"$ref": "#/components/parameters/Key"},
                ],
                "requestBody": {
                    "required": False,
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/NewThing"}}},
                },
                "responses": {
                    "201": {"$ref": "#/components/responses/Made"},
                    "400": {"headers": {}, "content": {"application/json": {"schema": {"type": "object"}}}},
                },
            },
            "get": {"operationId": "listThings", "security": [], "responses": {"200": {"content": {}}}},
        },
    },
    "webhooks": {
        "thing.made": {
            "post": {
                "parameters": [{"name": "id", "in": "header", "required": True, "schema": {"type": "string"}}],
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}},
            }
        }
    },
    "components": {
        "parameters": {"Key": {"name": "Key", "in": "header", "schema": {"type": "string", "maxLength": 255}}},
        "responses": {
            "Made": {
                "headers": {"Limit": {"required": True, "schema": {"type": "integer", "minimum": 0}}},
                "content": {
                    "application/json": {"schema": {"$ref": "#/components/schemas/Thing"}},
                    "text/csv": {"schema": {"type": "string"}},
                },
            }
        },
        "schemas": {
            "NewThing": {
                "type": "object",
                "required": ["amount"],
                "properties": {
                    "amount": {"type": "integer", "minimum": 500, "maximum": 1000},
                    "name": {"type": ["string", "null"], "minLength": 1, "maxLength": 64},
                    "colour": {"type": "string", "enum": ["red", "green"]},
                    "tags": {"type": "array", "maxItems": 5, "items": {"type": "string"}},
                    "size": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                    "extra": {"type": "object", "additionalProperties": {"type": "string"}},
                },
            },
            "Thing": {
                "type": "object",
                "required": ["id", "status"],
                "properties": {
                    "id": {"type": "string", "pattern": "^th_"},
                    "status": {"type": "string", "enum": ["OPEN", "DONE"]},
                    "reason": {"type": "string", "enum": ["late"], "x-may-grow": True},
                    "amount": {"type": "integer"},
                    "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Thing"}},
                },
                "allOf": [{"if": {"required": ["reason"]}, "then": {"required": ["amount"]}}],
            },
        },
    },
}


def make(contract: Any) -> Any:
    return contract["paths"]["/v1/things"]["post"]


def new(contract: Any) -> Any:
    return contract["components"]["schemas"]["NewThing"]


def sent(contract: Any) -> Any:
    """What a request may have, by field."""
    return new(contract)["properties"]


def thing(contract: Any) -> Any:
    return contract["components"]["schemas"]["Thing"]


def properties_of(contract: Any) -> Any:
    """What a response and a webhook have, by field."""
    return thing(contract)["properties"]


def made(contract: Any) -> Any:
    return contract["components"]["responses"]["Made"]


WHOLE_BODY = "POST /v1/things body"
BREAKING: dict[str, tuple[Change, str]] = {
    "a path is gone": (lambda c: c["paths"].clear(), "POST /v1/things: is gone"),
    "an operation is gone": (lambda c: c["paths"]["/v1/things"].pop("get"), "GET /v1/things: is gone"),
    "an operation has another id": (lambda c: make(c).update(operationId="create"), "operationId was makeThing"),
    "another permission": (lambda c: make(c).update(security=[{"apiKey": ["all"]}]), "needs other credentials"),
    "a key where none was needed": (
        lambda c: c["paths"]["/v1/things"]["get"].update(security=[{"apiKey": ["things.read"]}]),
        "needs other credentials",
    ),
    "a parameter is gone": (lambda c: make(c)["parameters"].pop(0), "view: is gone"),
    "a parameter takes less": (lambda c: make(c)["parameters"][0]["schema"]["enum"].pop(), "'full' is not expected"),
    "a parameter is required": (lambda c: make(c)["parameters"][0].update(required=True), "view: is required now"),
    "a new parameter is required": (
        lambda c: make(c)["parameters"].append({"name": "x", "in": "query", "required": True, "schema": {}}),
        "x: is required now",
    ),
    "a parameter is written in another way": (
        lambda c: make(c)["parameters"][0].update(explode=False),
        "view: is written in another way",
    ),
    "a shared parameter takes less": (
        lambda c: c["components"]["parameters"]["Key"]["schema"].update(maxLength=64),
        "Key: maxLength 255 against 64",
    ),
    "the body is required": (lambda c: make(c)["requestBody"].update(required=True), "body: is required now"),
    "a media type is taken no more": (
        lambda c: make(c)["requestBody"].update(content={"text/csv": {"schema": {}}}),
        "application/json is gone",
    ),
    "a field is required": (lambda c: new(c)["required"].append("name"), f"{WHOLE_BODY}.name: is required now"),
    "a new field is required": (
        lambda c: (sent(c).update(new={}), new(c)["required"].append("new")),
        f"{WHOLE_BODY}.new: is required now",
    ),
    "a field is read no more": (lambda c: sent(c).pop("colour"), f"{WHOLE_BODY}.colour: is gone"),
    "a value is taken no more": (lambda c: sent(c)["colour"]["enum"].pop(), "colour: 'green' is not expected"),
    "another type is taken": (lambda c: sent(c)["amount"].update(type="string"), "amount: may be integer"),
    "null is taken no more": (lambda c: sent(c)["name"].update(type="string"), "name: one of its forms"),
    "a form is taken no more": (lambda c: sent(c)["size"]["anyOf"].pop(), "size: one of its forms"),
    "a larger minimum": (lambda c: sent(c)["amount"].update(minimum=501), "amount: minimum 500 against 501"),
    "a smaller maximum": (lambda c: sent(c)["amount"].update(maximum=999), "amount: maximum 1000 against 999"),
    "a new bound": (lambda c: sent(c)["tags"].update(minItems=1), "tags: minItems None against 1"),
    "a new pattern": (lambda c: sent(c)["tags"]["items"].update(pattern="^a"), "tags[]: pattern None against ^a"),
    "a new list of values": (lambda c: sent(c)["tags"]["items"].update(enum=["a"]), "tags[]: may be anything"),
    "values of a map take less": (
        lambda c: sent(c)["extra"]["additionalProperties"].update(maxLength=1),
        "extra.*: maxLength None against 1",
    ),
    "a new rule in a request": (lambda c: new(c).update(allOf=[{"required": ["name"]}]), "body: another rule"),
    "a good status is gone": (lambda c: make(c)["responses"].pop("201"), "201: is gone"),
    "a header is gone": (lambda c: made(c)["headers"].pop("Limit"), "Limit: is gone"),
    "a header is not always there": (
        lambda c: made(c)["headers"]["Limit"].update(required=False),
        "Limit: is not always there now",
    ),
    "a header may be less": (lambda c: made(c)["headers"]["Limit"]["schema"].update(minimum=-1), "Limit: minimum -1"),
    "a media type is sent no more": (lambda c: made(c)["content"].pop("text/csv"), "201: text/csv is gone"),
    "a field is sent no more": (lambda c: properties_of(c).pop("amount"), "201.amount: is gone"),
    "a field is not always sent": (lambda c: thing(c)["required"].remove("status"), "status: is not always there"),
    "a field may be null": (
        lambda c: properties_of(c)["amount"].update(type=["integer", "null"]),
        "amount: one of its forms",
    ),
    "a field has another type": (lambda c: properties_of(c)["amount"].update(type="string"), "amount: may be string"),
    "a whole number may be broken": (
        lambda c: properties_of(c)["amount"].update(type="number"),
        "amount: may be number",
    ),
    "a new value that no program knows": (
        lambda c: properties_of(c)["status"]["enum"].append("HELD"),
        "201.status: 'HELD' is not expected",
    ),
    "any value": (lambda c: properties_of(c)["status"].pop("enum"), "status: may be anything"),
    "ids look different": (
        lambda c: properties_of(c)["id"].update(pattern="^thing_"),
        "id: pattern ^thing_ against ^th_",
    ),
    "a rule holds no more": (lambda c: thing(c).pop("allOf"), "201: another rule"),
    "an event is gone": (lambda c: c["webhooks"].clear(), "webhook thing.made: is gone"),
    "a webhook has a field less": (lambda c: properties_of(c).pop("amount"), "webhook thing.made.amount: is gone"),
    "a webhook has a header less": (
        lambda c: c["webhooks"]["thing.made"]["post"]["parameters"].clear(),
        "webhook thing.made id: is gone",
    ),
}
HARMLESS: dict[str, Change] = {
    "nothing": lambda c: None,
    "a new path": lambda c: c["paths"].update({"/v1/others": c["paths"]["/v1/things"]}),
    "a new operation": lambda c: c["paths"]["/v1/things"].update(delete=make(c)),
    "another permission will do too": lambda c: make(c)["security"].append({"apiKey": ["things.make"]}),
    "no credentials any more": lambda c: make(c).update(security=[]),
    "a new parameter": lambda c: make(c)["parameters"].append({"name": "x", "in": "query", "schema": {}}),
    "a new field in a request": lambda c: sent(c).update(new={"type": "string"}),
    "a field is required no more": lambda c: new(c)["required"].clear(),
    "a new value in a request": lambda c: sent(c)["colour"]["enum"].append("blue"),
    "any value in a request": lambda c: sent(c)["colour"].pop("enum"),
    "a type more in a request": lambda c: sent(c)["amount"].update(type=["integer", "string"]),
    "a number where a whole one was taken": lambda c: sent(c)["amount"].update(type="number"),
    "a form more in a request": lambda c: sent(c)["size"]["anyOf"].append({"type": "string"}),
    "wider bounds in a request": lambda c: sent(c)["amount"].update(minimum=1, maximum=2000),
    "no bounds in a request": lambda c: (sent(c)["name"].pop("maxLength"), sent(c)["amount"].pop("minimum")),
    "null written in another way": lambda c: sent(c).update(
        name={"anyOf": [{"type": "string", "minLength": 1, "maxLength": 64}, {"type": "null"}]}
    ),
    "a media type more in a request": lambda c: make(c)["requestBody"]["content"].update({"text/csv": {"schema": {}}}),
    "a new error": lambda c: make(c)["responses"].update({"409": {"content": {}}}),
    "an error less": lambda c: make(c)["responses"].pop("400"),
    "a new header": lambda c: made(c)["headers"].update(Rest={"schema": {}}),
    "a new field in a response": lambda c: properties_of(c).update(new={"type": "string"}),
    "a field is always sent": lambda c: thing(c)["required"].append("amount"),
    "a new value of a list that may grow": lambda c: properties_of(c)["reason"]["enum"].append("lost"),
    "a value is sent no more": lambda c: properties_of(c)["status"]["enum"].remove("OPEN"),
    "narrower bounds in a response": lambda c: properties_of(c)["amount"].update(minimum=0),
    "a new rule in a response": lambda c: thing(c)["allOf"].append({"required": ["id"]}),
    "responses may have more fields": lambda c: thing(c).update(additionalProperties=True),
    "a new event": lambda c: c["webhooks"].update({"thing.lost": c["webhooks"]["thing.made"]}),
    "a name for what stood there": lambda c: made(c)["content"].update(
        {"application/json": {"schema": copy.deepcopy(thing(c))}}
    ),
}


def changed(change: Change) -> Any:
    after = copy.deepcopy(CONTRACT)
    change(after)
    return after


@pytest.mark.parametrize("name", BREAKING)
def test_a_change_that_breaks_programs_is_found_and_named(name: str) -> None:
    change, words = BREAKING[name]
    found = breaking_changes(CONTRACT, changed(change))
    assert any(words in each for each in found), found


@pytest.mark.parametrize("name", HARMLESS)
def test_a_change_that_breaks_nothing_is_let_through(name: str) -> None:
    assert breaking_changes(CONTRACT, changed(HARMLESS[name])) == []


def test_the_way_back_of_an_addition_is_a_removal() -> None:
    """Whatever was added once must stay: an addition undone is found."""
    added = ("a new path", "a new operation", "a new parameter", "a new field in a request", "a new event")
    for name in (*added, "a new header", "a new field in a response", "a new value in a request"):
        assert breaking_changes(changed(HARMLESS[name]), CONTRACT), name
