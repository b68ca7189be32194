"""/v1/payments/disburse/batches, over HTTP."""

import csv
import io
from typing import Any

import aiohttp
import pytest

from malipo import clock
from malipo.accounts.store import credential_resets
from malipo.app.assemble import Service
from malipo.audit_log import store as audit_log
from malipo.db import Database
from malipo.merchants.api_keys import Permission
from malipo.payments.transaction import Status
from tests.api.batches.batch_keys import PATH, Keys, items, key_of, made
from tests.api.batches.batch_keys import keys as keys
from tests.api.conftest import bring, shown
from tests.conftest import Answer, Client, Merchant
from tests.journeys import database_facts


async def test_a_batch_is_made_approved_and_read(
    keys: Keys, database: Database, merchant: Merchant, service: Service
) -> None:
    wanted = items(3)
    wanted[2] |= {"recipientName": "Neema", "description": "Wages", "orderReference": "W46-3"}

    answer = await keys.maker("POST", PATH, {"name": "Wages, week 46", "items": wanted})

    assert answer.status == 201
    batch = answer.body["batch"]
    assert answer.body == {"success": True, "batch": batch}
    created_at = batch["createdAt"]
    head = {"id": batch["id"], "name": "Wages, week 46", "count": 3, "amount": 3003, "fee": 0}
    assert batch == head | {"status": "AWAITING_APPROVAL", "createdAt": created_at}
    assert batch["id"].startswith("bat_")
    assert (await keys.maker("GET", f"{PATH}/{batch['id']}")).body["batch"] == batch

    approved = await keys.approver("POST", f"{PATH}/{batch['id']}/approve")

    assert approved.status == 200
    running = approved.body["batch"]
    counts = {"PENDING": 3, "PROCESSING": 0, "COMPLETED": 0, "FAILED": 0, "CANCELLED": 0}
    times = {"createdAt": created_at, "approvedAt": running["approvedAt"]}
    assert running == head | {"status": "RUNNING", "counts": counts} | times
    listed = (await keys.maker("GET", f"{PATH}/{batch['id']}/items")).body
    assert listed["pagination"] == {"total": 3, "page": 1, "limit": 20, "pages": 1}
    third = listed["items"][2]
    transaction = await shown(keys.maker, third["id"])
    assert (transaction["batchId"], transaction["orderReference"]) == (batch["id"], "W46-3")
    assert third == {
        "index": 2,
        "amount": 1002,
        "fee": 0,
        "channel": "MPESA",
        "recipientPhone": "+255750000002",
        "recipientName": "Neema",
        "description": "Wages",
        "orderReference": "W46-3",
        "id": transaction["id"],
        "reference": transaction["reference"],
        "status": "PENDING",
    }
    for each, status in zip(listed["items"], (Status.COMPLETED, Status.FAILED, Status.COMPLETED), strict=True):
        await bring(service, merchant, each["id"], status)
    done = (await keys.maker("GET", f"{PATH}/{batch['id']}")).body["batch"]
    assert done["status"] == "COMPLETED"
    assert done["counts"] == counts | {"PENDING": 0, "COMPLETED": 2, "FAILED": 1}
    assert done["completedAt"] == (await shown(keys.maker, third["id"]))["completedAt"]
    first, second, _ = (await keys.maker("GET", f"{PATH}/{batch['id']}/items")).body["items"]
    assert (first["providerReference"], second["failureCode"]) == ("NET-42", "declined")


async def test_a_key_of_who_made_it_does_not_approve_it(keys: Keys) -> None:
    batch = await made(keys.maker)
    answer = await keys.maker("POST", f"{PATH}/{batch['id']}/approve")
    assert (answer.status, answer.code) == (403, "second_person_required")
    assert (await keys.maker("GET", f"{PATH}/{batch['id']}")).body["batch"]["status"] == "AWAITING_APPROVAL"


@pytest.mark.parametrize("waiting", ["asha@duka.example", "juma@duka.example"])
async def test_a_key_of_somebody_whom_another_has_reset_neither_makes_nor_approves(
    keys: Keys, database: Database, merchant: Merchant, waiting: str
) -> None:
    batch = await made(keys.maker)
    async with database.begin() as tx:
        await credential_resets.insert_of_person(
            tx, f"crs_{batch['id']}", merchant.id, waiting, "password", reset_by="neema@duka.example", now=clock.now()
        )
    answer = await keys.approver("POST", f"{PATH}/{batch['id']}/approve")
    assert (answer.status, answer.code) == (403, "second_person_waits")
    async with database.begin() as tx:
        await credential_resets.end(tx, [f"crs_{batch['id']}"], vouched_by="rehema", now=clock.now())
    assert (await keys.approver("POST", f"{PATH}/{batch['id']}/approve")).status == 200


async def test_an_approval_by_a_key_is_in_the_audit_log_as_that_of_a_person_is(
    keys: Keys, database: Database, merchant: Merchant
) -> None:
    batch = await made(keys.maker)
    for _ in range(2):  # The second changes nothing, and is no second entry.
        assert (await keys.approver("POST", f"{PATH}/{batch['id']}/approve")).status == 200
    async with database.read() as connection:
        found = await audit_log.find(connection, merchant_id=merchant.id, limit=20)
    [entry] = [each for each in found if each.action.startswith("batch.")]
    assert (entry.action, entry.address) == ("batch.approved", "127.0.0.1")
    assert entry.actor.startswith("key key_")
    assert entry.details == {"batch": batch["id"], "items": 3, "amount": batch["amount"]}


async def test_a_key_needs_the_permission_to_approve(api: Client, database: Database, merchant: Merchant) -> None:
    maker = api.as_(await key_of(database, merchant, "asha@duka.example"))
    other = api.as_(await key_of(database, merchant, "juma@duka.example", Permission.PAYMENTS_CREATE))
    batch = await made(maker)
    answer = await other("POST", f"{PATH}/{batch['id']}/approve")
    assert (answer.status, answer.code) == (403, "permission_missing")


async def test_too_little_in_the_wallet_is_a_400_and_nothing_happens(keys: Keys) -> None:
    wanted = [each | {"amount": 400_000} for each in items(3)]
    batch = (await keys.maker("POST", PATH, {"items": wanted})).body["batch"]
    answer = await keys.approver("POST", f"{PATH}/{batch['id']}/approve")
    assert (answer.status, answer.code) == (400, "insufficient_balance")
    wallet = (await keys.maker("GET", "/v1/wallet")).body["wallet"]
    assert (wallet["available"], wallet["reserved"]) == (1_000_000, 0)


async def test_bad_items_are_named_all_at_once(keys: Keys, database: Database, merchant: Merchant) -> None:
    wanted = items(4)
    wanted[3]["amount"] = 12.5
    wanted[1]["recipientPhone"] = "0754000001"

    answer = await keys.maker("POST", PATH, {"items": wanted})

    assert (answer.status, answer.code) == (400, "validation_failed")
    assert set(answer.body["details"]) == {"items[3].amount", "items[1].recipientPhone"}
    assert (await keys.maker("GET", PATH)).body["pagination"]["total"] == 0


@pytest.mark.parametrize("body", [{}, {"items": []}, {"items": {}}, {"items": "x"}, {"items": None}])
async def test_a_batch_without_items_is_refused(keys: Keys, body: dict[str, Any]) -> None:
    answer = await keys.maker("POST", PATH, body)
    assert answer.status == 400
    assert list(answer.body["details"]) == ["items"]


async def test_the_same_key_gives_the_first_answer_again(keys: Keys) -> None:
    body, headers = {"items": [*items(2), *items(1)]}, {"Idempotency-Key": "wages-46"}
    first = await keys.maker("POST", PATH, body, headers=headers)
    assert first.body["batch"]["warnings"] == [
        {
            "index": 2,
            "code": "repeated_item",
            "message": "items[2] repeats items[0]: the same number and amount.",
        }
    ]
    await keys.approver("POST", f"{PATH}/{first.body['batch']['id']}/approve")

    again = await keys.maker("POST", PATH, body, headers=headers)

    assert (again.status, again.body) == (201, first.body)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.headers["Idempotency-Replayed-Status"] == "RUNNING"
    other = await keys.maker("POST", PATH, {"items": items(1)}, headers=headers)
    assert (other.status, other.code) == (409, "idempotency_key_reused")
    single = await keys.maker("POST", "/v1/payments/disburse", items(1)[0], headers=headers)
    assert single.status == 201, "a key belongs to its route"


async def test_batches_are_listed_newest_first(keys: Keys) -> None:
    first, second = await made(keys.maker, 1), await made(keys.maker, 2)
    await keys.maker("POST", f"{PATH}/{first['id']}/cancel")

    listed = (await keys.maker("GET", PATH)).body

    assert [each["id"] for each in listed["batches"]] == [second["id"], first["id"]]
    assert listed["pagination"] == {"total": 2, "page": 1, "limit": 20, "pages": 1}
    waiting = (await keys.maker("GET", f"{PATH}?status=AWAITING_APPROVAL")).body["batches"]
    assert [each["id"] for each in waiting] == [second["id"]]
    assert (await keys.maker("GET", f"{PATH}?status=X")).code == "status_invalid"


async def test_items_have_pages(keys: Keys) -> None:
    batch = await made(keys.maker, 5)
    await keys.approver("POST", f"{PATH}/{batch['id']}/approve")
    pages = [(await keys.maker("GET", f"{PATH}/{batch['id']}/items?limit=2&page={page}")).body for page in (1, 3, 4)]
    assert [[each["index"] for each in page["items"]] for page in pages] == [[0, 1], [4], []]
    assert pages[0]["pagination"] == {"total": 5, "page": 1, "limit": 2, "pages": 3}


async def test_the_result_is_a_file_with_what_was_sent_and_what_became_of_it(
    keys: Keys, http: aiohttp.ClientSession, service: Service, merchant: Merchant
) -> None:
    wanted = items(2)
    wanted[1] |= {"recipientName": "=SUM(A1)", "orderReference": "W46-2"}
    batch = (await keys.maker("POST", PATH, {"items": wanted})).body["batch"]
    await keys.approver("POST", f"{PATH}/{batch['id']}/approve")
    first, second = (await keys.maker("GET", f"{PATH}/{batch['id']}/items")).body["items"]
    await bring(service, merchant, first["id"], Status.COMPLETED)
    await bring(service, merchant, second["id"], Status.FAILED)

    headers = {"x-api-key": str(keys.maker.key)}
    async with http.get(f"{keys.maker.url}{PATH}/{batch['id']}/items?format=csv", headers=headers) as answer:
        text = await answer.text()

    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    names, *rows = csv.reader(io.StringIO(text, newline=""))
    assert [dict(zip(names, row, strict=True)) for row in rows] == [
        {
            "amount": "1000",
            "channel": "MPESA",
            "recipientPhone": "'+255750000000",
            "recipientName": "",
            "description": "",
            "orderReference": "",
            "fee": "0",
            "id": first["id"],
            "reference": first["reference"],
            "status": "COMPLETED",
            "providerReference": "NET-42",
            "failureCode": "",
            "failureReason": "",
        },
        {
            "amount": "1001",
            "channel": "MPESA",
            "recipientPhone": "'+255750000001",
            "recipientName": "'=SUM(A1)",
            "description": "",
            "orderReference": "W46-2",
            "fee": "0",
            "id": second["id"],
            "reference": second["reference"],
            "status": "FAILED",
            "providerReference": "",
            "failureCode": "declined",
            "failureReason": "The customer declined.",
        },
    ]


async def test_another_merchants_batch_is_not_found(keys: Keys, stranger: Merchant, database: Database) -> None:
    batch = await made(keys.maker)
    thief = keys.maker.as_(stranger.key)

    async def refused(method: str, path: str) -> Answer:
        return await thief(method, f"{PATH}/{path}")

    for id_ in (batch["id"], "bat_nowhere", "bat_%00"):
        for method, path in (
            ("GET", id_),
            ("GET", f"{id_}/items"),
            ("POST", f"{id_}/approve"),
            ("POST", f"{id_}/cancel"),
        ):
            answer = await refused(method, path)
            assert (answer.status, answer.code) == (404, "batch_not_found"), (method, path)
    assert (await thief("GET", PATH)).body["batches"] == []
    assert (await keys.maker("GET", f"{PATH}/{batch['id']}")).body["batch"]["status"] == "AWAITING_APPROVAL"


async def test_cancelling_over_http(keys: Keys, database: Database) -> None:
    batch = await made(keys.maker)
    await keys.approver("POST", f"{PATH}/{batch['id']}/approve")
    answer = await keys.maker("POST", f"{PATH}/{batch['id']}/cancel")
    assert answer.status == 200
    assert answer.body["batch"]["counts"]["CANCELLED"] == 3
    assert "cancelledAt" in answer.body["batch"]
    wallet = (await keys.maker("GET", "/v1/wallet")).body["wallet"]
    assert (wallet["available"], wallet["reserved"]) == (1_000_000, 0)
    await database_facts.assert_clean(database)
