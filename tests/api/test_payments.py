"""/v1/payments: what is created, shown and refused, field by field."""

import asyncio
import re
from datetime import timedelta
from typing import Any

import pytest

from malipo import clock
from malipo.app.assemble import Service
from malipo.payments.transaction import Cause, Status
from tests.api.conftest import bring, created, move, shown, total
from tests.api.response_fields import (
    ADDED_TO_LISTED,
    ADDED_TO_RETRIEVED,
    BODIES,
    BOTH,
    CREATED,
    LISTED,
    REACHED,
    RETRIEVED,
    ROUTES,
    moment,
)
from tests.conftest import COLLECTION, PAYOUT, Client, Merchant


async def test_a_collection_is_created_pending_with_exactly_the_fields_of_the_contract(api: Client) -> None:
    answer = await api("POST", "/v1/payments", COLLECTION | {"description": "Sukari", "unknown": 1})

    assert answer.status == 201
    assert list(answer.body) == ["success", "transaction"]
    assert answer.body["success"] is True
    transaction = answer.body["transaction"]
    assert set(transaction) == CREATED["COLLECTION"]
    assert {name: transaction[name] for name in transaction if name not in ("id", "reference", "createdAt")} == {
        "amount": 1000,
        "fee": 0,
        "netAmount": 1000,
        "channel": "MPESA",
        "status": "PENDING",
        "buyerPhone": "+255754000001",
        "buyerName": "Asha",
        "description": "Sukari",
    }
    assert "Idempotency-Replayed" not in answer.headers
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["X-Request-Id"].startswith("req_")


async def test_a_disbursement_is_created_pending_with_exactly_the_fields_of_the_contract(api: Client) -> None:
    answer = await api("POST", "/v1/payments/disburse", PAYOUT | {"description": "Mshahara", "unknown": 1})

    assert answer.status == 201
    assert list(answer.body) == ["success", "transaction"]
    assert answer.body["success"] is True
    transaction = answer.body["transaction"]
    assert set(transaction) == CREATED["DISBURSEMENT"]
    assert {name: transaction[name] for name in transaction if name not in ("id", "reference", "createdAt")} == {
        "type": "DISBURSEMENT",
        "amount": 1000,
        "fee": 0,
        "netAmount": 1000,
        "channel": "AIRTEL_MONEY",
        "status": "PENDING",
        "recipientPhone": "+255684000001",
        "recipientName": "Juma",
        "description": "Mshahara",
    }


@BOTH
async def test_ids_references_and_times_have_their_form(api: Client, type_: str) -> None:
    transaction = await created(api, BODIES[type_])

    assert re.fullmatch(r"txn_[0-9a-z]{16,}", transaction["id"])
    assert re.fullmatch(r"MLP-[0-9A-Z]+", transaction["reference"])
    assert abs(clock.now() - moment(transaction["createdAt"])) < timedelta(seconds=30)


async def test_a_hundred_transactions_have_a_hundred_ids_and_references(api: Client) -> None:
    transactions = await asyncio.gather(*(created(api, COLLECTION) for _ in range(100)))

    assert len({each["id"] for each in transactions}) == 100
    assert len({each["reference"] for each in transactions}) == 100


@BOTH
async def test_what_was_not_sent_is_shown_empty(api: Client, type_: str) -> None:
    required = {name: value for name, value in BODIES[type_].items() if not name.endswith("Name")}
    party = "buyer" if type_ == "COLLECTION" else "recipient"

    transaction = await created(api, required)
    later = await shown(api, transaction["id"])

    assert set(transaction) == CREATED[type_]
    assert transaction[f"{party}Name"] == ""
    assert transaction["description"] == ""
    assert later[f"{party}Name"] == ""
    assert later["description"] == ""
    assert later["metadata"] == {}


@BOTH
async def test_null_is_the_same_as_not_sent(api: Client, type_: str) -> None:
    party = "buyer" if type_ == "COLLECTION" else "recipient"
    nulls = {f"{party}Name": None, "description": None, "metadata": None}

    later = await shown(api, (await created(api, BODIES[type_] | nulls))["id"])

    assert (later[f"{party}Name"], later["description"], later["metadata"]) == ("", "", {})


@BOTH
async def test_metadata_comes_back_as_it_was_sent(api: Client, type_: str) -> None:
    metadata = {"orderId": "A-17", "n": 12, "f": 0.5, "yes": True, "no": False, "nothing": None, "ä 🙂": "Žluťoučký"}

    later = await shown(api, (await created(api, BODIES[type_] | {"metadata": metadata}))["id"])

    assert later["metadata"] == metadata
    assert list(later["metadata"]) == list(metadata)


@BOTH
async def test_texts_of_the_greatest_length_are_taken_as_they_are(api: Client, type_: str) -> None:
    party = "buyer" if type_ == "COLLECTION" else "recipient"
    long = {
        f"{party}Name": "é" * 100,
        "description": "🙂" * 255,
        "metadata": {f"{n:040}": "x" * 500 for n in range(50)},
    }

    later = await shown(api, (await created(api, BODIES[type_] | long))["id"])

    assert {name: later[name] for name in long} == long


@pytest.mark.parametrize("channel", ["MPESA", "TIGO_PESA", "AIRTEL_MONEY", "HALOPESA"])
@BOTH
async def test_the_channel_decides_whatever_the_number_begins_with(api: Client, type_: str, channel: str) -> None:
    transaction = await created(api, BODIES[type_] | {"channel": channel})

    assert transaction["channel"] == channel


@pytest.mark.parametrize("amount", [500, 501, 9_999_999, 10_000_000])
async def test_amounts_up_to_both_ends_are_taken(api: Client, amount: int) -> None:
    assert (await created(api, COLLECTION | {"amount": amount}))["amount"] == amount


@BOTH
async def test_all_mistakes_are_reported_at_once(api: Client, type_: str) -> None:
    party = "buyer" if type_ == "COLLECTION" else "recipient"
    wrong = {
        "amount": 499,
        "channel": "VISA",
        f"{party}Phone": "0754000001",
        f"{party}Name": "x" * 101,
        "description": "x" * 256,
        "metadata": [],
    }

    answer = await api("POST", ROUTES[type_], wrong, headers={"Idempotency-Key": "two words"})

    assert answer.status == 400
    assert set(answer.body) == {"error", "details"}
    assert set(answer.body["details"]) == {*wrong, "Idempotency-Key"}
    assert all(isinstance(message, str) for messages in answer.body["details"].values() for message in messages)
    assert "500" in answer.body["details"]["amount"][0]
    assert "hone number format is invalid" in answer.body["details"][f"{party}Phone"][0]
    assert answer.code == "validation_failed"
    assert await total(api) == 0


@BOTH
async def test_every_required_field_is_named_when_nothing_is_sent(api: Client, type_: str) -> None:
    party = "buyer" if type_ == "COLLECTION" else "recipient"

    answer = await api("POST", ROUTES[type_], {})

    assert answer.status == 400
    assert set(answer.body["details"]) == {"amount", "channel", f"{party}Phone"}


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("amount", 499, "amount_too_small"),
        ("amount", 10_000_001, "amount_too_large"),
        ("amount", "1000", "amount_invalid"),
        ("amount", 1000.0, "amount_invalid"),
        ("amount", True, "amount_invalid"),
        ("amount", None, "field_required"),
        ("channel", "mpesa", "channel_invalid"),
        ("buyerPhone", "+255554000001", "phone_invalid"),
        ("buyerPhone", "+25575400000", "phone_invalid"),
        ("buyerPhone", "+2557540000011", "phone_invalid"),
        ("buyerPhone", "255754000001", "phone_invalid"),
        ("buyerPhone", "+255754000001\n", "phone_invalid"),
        ("buyerPhone", "+255754٠٠٠٠٠١", "phone_invalid"),
        ("buyerName", "x" * 101, "text_too_long"),
        ("description", "x" * 256, "text_too_long"),
        ("metadata", {"x" * 41: 1}, "metadata_invalid"),
        ("metadata", {"": 1}, "metadata_invalid"),
        ("metadata", {"a": "x" * 501}, "metadata_invalid"),
        ("metadata", {"a": {}}, "metadata_invalid"),
        ("metadata", {"a": []}, "metadata_invalid"),
        ("metadata", {str(n): n for n in range(51)}, "metadata_invalid"),
    ],
)
async def test_a_single_mistake_is_named_and_has_a_code_of_its_own(
    api: Client, field: str, value: Any, code: str
) -> None:
    answer = await api("POST", "/v1/payments", COLLECTION | {field: value})

    assert answer.status == 400
    assert answer.code == code
    assert set(answer.body) == {"error", "details"}
    assert list(answer.body["details"]) == [field]
    assert await total(api) == 0


@pytest.mark.parametrize("status", list(Status))
@BOTH
async def test_each_status_shows_exactly_its_fields(
    api: Client, service: Service, merchant: Merchant, type_: str, status: Status
) -> None:
    transaction = await created(api, BODIES[type_])
    await bring(service, merchant, transaction["id"], status)

    retrieved = await api("GET", f"/v1/payments/{transaction['id']}")
    listed = await api("GET", "/v1/payments")

    assert retrieved.status == 200
    assert list(retrieved.body) == ["success", "transaction"]
    assert retrieved.body["success"] is True
    assert set(retrieved.body["transaction"]) == RETRIEVED[type_] | ADDED_TO_RETRIEVED.get(status, set())
    assert retrieved.body["transaction"]["status"] == status
    assert listed.status == 200
    assert list(listed.body) == ["success", "transactions", "pagination"]
    assert listed.body["success"] is True
    [line] = listed.body["transactions"]
    assert set(line) == LISTED[type_] | ADDED_TO_LISTED.get(status, set())
    # What both places show is the same.
    assert line == {name: retrieved.body["transaction"][name] for name in line}
    unchanged = set(transaction) - {"status"}
    assert {name: retrieved.body["transaction"][name] for name in unchanged} == {
        name: transaction[name] for name in unchanged
    }


@pytest.mark.parametrize("status", list(Status))
@BOTH
async def test_the_status_log_has_every_status_in_order(
    api: Client, service: Service, merchant: Merchant, type_: str, status: Status
) -> None:
    transaction = await created(api, BODIES[type_])
    await bring(service, merchant, transaction["id"], status)

    later = await shown(api, transaction["id"])

    assert all(set(entry) == {"status", "timestamp"} for entry in later["statusLogs"])
    assert [entry["status"] for entry in later["statusLogs"]] == REACHED[status]
    times = [moment(entry["timestamp"]) for entry in later["statusLogs"]]
    assert times == sorted(times)
    assert later["statusLogs"][0]["timestamp"] == later["createdAt"] == transaction["createdAt"]
    if status is Status.COMPLETED:
        assert later["completedAt"] == later["statusLogs"][-1]["timestamp"]


async def test_a_collection_that_no_network_took_failed_without_processing(
    api: Client, service: Service, merchant: Merchant
) -> None:
    transaction = await created(api, COLLECTION)
    await move(service, merchant, transaction["id"], Cause.LAPSED)

    later = await shown(api, transaction["id"])

    assert [entry["status"] for entry in later["statusLogs"]] == ["PENDING", "FAILED"]
    assert "completedAt" not in later


@BOTH
async def test_what_the_network_said_is_shown(api: Client, service: Service, merchant: Merchant, type_: str) -> None:
    paid = await created(api, BODIES[type_])
    refused = await created(api, BODIES[type_])
    await bring(service, merchant, paid["id"], Status.COMPLETED)
    await bring(service, merchant, refused["id"], Status.FAILED)

    paid, refused = await shown(api, paid["id"]), await shown(api, refused["id"])

    assert paid["providerReference"] == "NET-42"
    assert refused["failureCode"] == "declined"
    assert refused["failureReason"] == "The customer declined."


@BOTH
async def test_a_transaction_is_found_by_its_id_and_by_its_reference(api: Client, type_: str) -> None:
    transaction = await created(api, BODIES[type_])

    by_id = await api("GET", f"/v1/payments/{transaction['id']}")
    by_reference = await api("GET", f"/v1/payments/{transaction['reference']}")

    assert by_id.status == by_reference.status == 200
    assert by_id.body == by_reference.body


@pytest.mark.parametrize("name", ["id", "reference"])
@BOTH
async def test_another_merchants_transaction_does_not_exist(
    api: Client, stranger: Merchant, type_: str, name: str
) -> None:
    transaction = await created(api, BODIES[type_])
    other = api.as_(stranger.key)

    retrieved = await other("GET", f"/v1/payments/{transaction[name]}")
    cancelled = await other("POST", f"/v1/payments/{transaction[name]}/cancel")
    listed = await other("GET", "/v1/payments")

    for answer in (retrieved, cancelled):
        assert answer.status == 404
        assert answer.code == "transaction_not_found"
        assert set(answer.body) == {"error"}
    assert listed.body["transactions"] == []
    assert (await shown(api, transaction["id"]))["status"] == "PENDING"


@pytest.mark.parametrize("name", ["txn_01", "MLP-NOBODY", "x", "txn_" + "0" * 26, "MLP-" + "0" * 16])
async def test_an_unknown_name_is_not_found(api: Client, name: str) -> None:
    retrieved = await api("GET", f"/v1/payments/{name}")
    cancelled = await api("POST", f"/v1/payments/{name}/cancel")

    for answer in (retrieved, cancelled):
        assert answer.status == 404
        assert answer.code == "transaction_not_found"
        assert set(answer.body) == {"error"}
