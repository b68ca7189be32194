"""The collection for Postman and Bruno: every request of it can be sent. tests/api/test_contract_page.py asks for it."""

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from malipo.api.docs import postman
from tests.api.published_contract import PUBLISHED, STRICT, faults, operations, resolved

COLLECTION = postman.at(postman.collection_file(PUBLISHED), "http://127.0.0.1:8080")


def requests(items: Any = COLLECTION["item"]) -> Iterator[tuple[str, Any]]:
    """Every request of the collection, under its method and path as the contract writes them."""
    for each in items:
        if "item" in each:
            yield from requests(each["item"])
        else:
            path = "/".join(
                f"{{{part[1:]}}}" if part.startswith(":") else part for part in each["request"]["url"]["path"]
            )
            yield f"{each['request']['method']} /{path}", each


def test_it_has_every_operation_once() -> None:
    assert sorted(label for label, _ in requests()) == sorted(label for label, _ in operations(PUBLISHED))


def test_every_request_can_be_sent_as_it_stands() -> None:
    strict = dict(operations(STRICT))
    for label, item in requests():
        operation, request = strict[label], item["request"]
        asked = {each["name"]: each for each in (resolved(one, STRICT) for one in operation.get("parameters", ()))}
        url = request["url"]
        assert url["raw"] == "/".join(["{{baseUrl}}", *url["path"]]), label
        named = [part[1:] for part in url["path"] if part.startswith(":")]
        assert [each["key"] for each in url.get("variable", ())] == named, label
        assert {each["key"] for each in url.get("query", ())} == {
            name for name, each in asked.items() if each["in"] == "query"
        }
        assert all(each["disabled"] for each in url.get("query", ())), label
        assert ("body" in request) == ("requestBody" in operation), label
        if "body" in request:
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            assert faults(json.loads(request["body"]["raw"]), schema) == [], label
            assert {"key": "Content-Type", "value": "application/json"} in request["header"]


def test_credentials_are_those_that_the_route_needs() -> None:
    kinds = {"apiKey": "apikey", "bearer": "bearer"}
    strict = dict(operations(STRICT))
    for label, item in requests():
        needed = [(scheme, need) for each in strict[label]["security"] for scheme, need in each.items()]
        answer = item["request"]["auth"]["type"]
        assert {answer} == ({kinds[scheme] for scheme, _ in needed} or {"noauth"}), label
        assert all(f"`{name}`" in item["request"]["description"] for _, names in needed for name in names), label


def test_a_request_that_is_sent_twice_by_mistake_pays_once() -> None:
    keyed = {
        label
        for label, item in requests()
        if {"Idempotency-Key": "{{idempotencyKey}}"}.items()
        <= {each["key"]: each["value"] for each in item["request"]["header"]}.items()
    }
    assert keyed == {
        "POST /v1/payments",
        "POST /v1/payments/disburse",
        "POST /v1/payments/disburse/batches",
        "POST /v1/payments/{id}/refund",
        "POST /v1/settlements",
        "POST /v1/links",
    }


def test_every_variable_is_defined_and_no_secret_is_in_it() -> None:
    defined = {each["key"]: each["value"] for each in COLLECTION["variable"]}
    assert set(re.findall(rb"\{\{(\w+)\}\}", msgspec.json.encode(COLLECTION))) == {name.encode() for name in defined}
    assert (defined["baseUrl"], defined["apiKey"], defined["token"]) == ("http://127.0.0.1:8080", "", "")


def test_examples_of_responses_fit_the_contract() -> None:
    strict = dict(operations(STRICT))
    for label, item in requests():
        for example in item["response"]:
            response = resolved(strict[label]["responses"][str(example["code"])], STRICT)
            assert faults(json.loads(example["body"]), response["content"]["application/json"]["schema"]) == [], label
