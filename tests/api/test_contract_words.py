"""The words and the examples of the contract: those of the code, described, and fitting its schemas."""

import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec
import pytest

from malipo.ledger.statement import WalletLineKind
from malipo.merchants.api_keys import Environment, Permission
from malipo.merchants.roles import Role
from malipo.networks.connector import Channel, FailureDetail
from malipo.outbox.event import TEST_EVENT, Event
from malipo.payments.batches.batch import BatchStatus, WarningCode
from malipo.payments.transaction import CorrectionReason, FailureCode, Status, Type
from malipo.webhooks.delivery_state import DeliveryState
from malipo.webhooks.endpoint import EVERY
from tests.api.published_contract import (
    CONTRACT,
    PUBLISHED,
    STRICT,
    Schema,
    examples_of,
    faults,
    loose,
    operations,
    resolved,
    responses,
)

ERRORS = Path(__file__).parents[2] / "docs" / "errors.md"


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("Channel", Channel),
        ("Status", Status),
        ("Type", Type),
        ("EntryKind", WalletLineKind),
        ("Permission", Permission),
        ("Role", Role),
        ("BatchStatus", BatchStatus),
        ("Event", Event),
        ("DeliveryState", DeliveryState),
    ],
)
def test_its_words_are_the_codes_words(schema: str, words: type[StrEnum]) -> None:
    assert CONTRACT["components"]["schemas"][schema]["enum"] == list(words)


def test_the_words_inside_its_objects_are_the_codes_words() -> None:
    schemas = CONTRACT["components"]["schemas"]
    assert set(schemas["Transaction"]["properties"]["failureCode"]["enum"]) == set(FailureCode)
    correction = schemas["Correction"]["properties"]
    assert correction["reason"]["enum"] == list(CorrectionReason)
    assert schemas["Transaction"]["properties"]["failureDetail"]["enum"] == list(FailureDetail)
    assert correction["outcome"]["enum"] == [Status.COMPLETED, Status.FAILED]
    assert schemas["Subscription"]["items"]["anyOf"][1]["const"] == EVERY
    assert schemas["NewApiKey"]["properties"]["environment"]["enum"] == [*Environment, None]
    assert schemas["ToldEvent"]["enum"] == [*Event, TEST_EVENT]


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (WalletLineKind, CONTRACT["components"]["schemas"]["EntryKind"]),
        (FailureCode, CONTRACT["components"]["schemas"]["Transaction"]["properties"]["failureCode"]),
        (FailureDetail, CONTRACT["components"]["schemas"]["Transaction"]["properties"]["failureDetail"]),
        (CorrectionReason, CONTRACT["components"]["schemas"]["Correction"]["properties"]["reason"]),
        (WarningCode, CONTRACT["components"]["schemas"]["BatchWarning"]["properties"]["code"]),
        (BatchStatus, CONTRACT["components"]["schemas"]["BatchStatus"]),
        (Permission, CONTRACT["components"]["schemas"]["Permission"]),
    ],
)
def test_every_word_is_described_where_it_is_listed(words: type[StrEnum], place: Schema) -> None:
    assert re.findall(r"(?:^|[.] )\s*([A-Za-z_.]+):", " ".join(place["description"].split())) == list(words)


def test_its_error_codes_are_the_documented_ones_with_the_same_statuses() -> None:
    documented = set(re.findall(r"^\| (\d{3}) \| `([a-z_]+)` \|", ERRORS.read_text(), re.MULTILINE))
    documented -= {("503", "loop_stuck")}  # of a worker's own port, which is no part of the API
    reported = {
        (status, code)
        for _, status, response in responses()
        for code in response["headers"].get("X-Error-Code", {}).get("schema", {}).get("enum", ())
    }
    assert reported == documented
    explained = [each["const"] for each in CONTRACT["components"]["schemas"]["ErrorCode"]["oneOf"]]
    assert sorted(explained) == sorted(code for _, code in documented)


def test_every_error_declares_the_header_of_its_code() -> None:
    """So that a generated client shows it. What networks call is answered in their own forms."""
    undeclared = [
        place
        for place, status, response in responses()
        if status >= "400"
        and "/callbacks/" not in place
        and not response["headers"].get("X-Error-Code", {}).get("required")
    ]
    assert undeclared == []


def examples() -> Iterator[tuple[str, Any, Schema]]:
    """Every example, with the schema that it must fit."""

    for label, operation in operations(STRICT):
        for parameter in operation.get("parameters", []):
            parameter = resolved(parameter, STRICT)
            yield from examples_of(f"{label} {parameter['name']}", parameter)
        for media in operation.get("requestBody", {}).get("content", {}).values():
            yield from examples_of(label, media)
    for place, _, response in responses(STRICT):
        for type_, media in response["content"].items():
            if media["schema"].get("format") != "binary":
                yield from examples_of(f"{place} {type_}", media)
        for name, header in response["headers"].items():
            if name != "X-Error-Code":
                yield from examples_of(f"{place} {name}", resolved(header, STRICT))


def in_schemas(schema: Any, place: str) -> Iterator[tuple[str, Any, Schema]]:
    """Every example and every default inside a schema."""
    if isinstance(schema, dict):
        values = [*schema["examples"]] if isinstance(schema.get("examples"), list) else []
        values += [schema["default"]] if "default" in schema and "type" in schema else []
        yield from ((f"{place} {index}", value, schema) for index, value in enumerate(values))
        for key, each in schema.items():
            if key not in ("example", "examples", "enum"):
                yield from in_schemas(each, f"{place}.{key}")
    elif isinstance(schema, list):
        for index, each in enumerate(schema):
            yield from in_schemas(each, f"{place}.{index}")


def test_every_example_fits_its_schema() -> None:
    found = [*examples(), *in_schemas(STRICT["components"], "components"), *in_schemas(STRICT["paths"], "paths")]
    assert [f"{place}: {fault}" for place, value, schema in found for fault in faults(value, schema)] == []


def test_an_example_with_a_field_that_no_schema_names_is_found() -> None:
    """Also in a request, where the service itself would only ignore it."""
    for place, value, schema in examples():
        if isinstance(value, dict) and isinstance(resolved(schema, STRICT).get("properties"), dict):
            reported = faults({**value, "fieldThatNobodyHas": 1}, schema)
            assert reported or place == "GET /openapi.json 200 application/json", place


def test_no_answer_may_carry_a_field_that_the_contract_does_not_name() -> None:
    found = [
        each
        for place, _, response in responses()
        for media in response["content"].values()
        for each in loose(media["schema"], place)
    ]
    assert found == ["GET /openapi.json 200"]


def test_what_merchants_read_tells_them_to_expect_new_fields() -> None:
    schemas = PUBLISHED["components"]["schemas"]
    # Only these are refused: without the amount that a misspelt field was meant to be, one refunds everything, one lets
    # customers type how much they pay, and one settles the whole wallet.
    strict = {"NewRefund", "NewLink", "NewSettlement"}
    assert {name for name in strict if schemas[name]["additionalProperties"] is False} == strict
    others = PUBLISHED | {"components": PUBLISHED["components"] | {"schemas": schemas | dict.fromkeys(strict)}}
    assert b'"additionalProperties":false' not in msgspec.json.encode(others)


def test_what_is_not_for_merchants_is_not_in_their_contract() -> None:
    assert {path.split("/")[1] for path in PUBLISHED["paths"]} == {"v1", "merchant", "openapi.json"}
