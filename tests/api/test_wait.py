"""GET /v1/payments/:id?wait=: the answer is held until the status changes, or the seconds have passed."""

import asyncio

import pytest

from malipo.app.assemble import Service
from malipo.payments.transaction import Cause, Status
from tests.api.conftest import bring, created, move
from tests.conftest import COLLECTION, Client, Merchant


async def test_waiting_ends_when_the_status_changes(api: Client, service: Service, merchant: Merchant) -> None:
    transaction = await created(api, COLLECTION)
    loop = asyncio.get_running_loop()
    began = loop.time()
    waiting = asyncio.create_task(api("GET", f"/v1/payments/{transaction['reference']}?wait=20"))
    await asyncio.sleep(0.5)
    assert not waiting.done()

    await move(service, merchant, transaction["id"], Cause.SUBMITTED)
    answer = await waiting

    assert answer.status == 200
    assert answer.body["transaction"]["status"] == "PROCESSING"
    assert loop.time() - began < 20


async def test_waiting_for_something_final_is_answered_at_once(
    api: Client, service: Service, merchant: Merchant
) -> None:
    ids = []
    for status in (Status.COMPLETED, Status.FAILED, Status.CANCELLED):
        ids.append((await created(api, COLLECTION))["id"])
        await bring(service, merchant, ids[-1], status)
    loop = asyncio.get_running_loop()
    began = loop.time()

    answers = await asyncio.gather(*(api("GET", f"/v1/payments/{id_}?wait=30") for id_ in ids))

    assert [answer.body["transaction"]["status"] for answer in answers] == ["COMPLETED", "FAILED", "CANCELLED"]
    assert loop.time() - began < 30


async def test_waiting_ends_after_its_seconds_with_what_there_is(api: Client) -> None:
    transaction = await created(api, COLLECTION)
    loop = asyncio.get_running_loop()
    began = loop.time()

    answer = await api("GET", f"/v1/payments/{transaction['id']}?wait=1")

    assert 1 <= loop.time() - began < 20
    assert answer.status == 200
    assert answer.body["transaction"]["status"] == "PENDING"


async def test_not_waiting_is_answered_at_once(api: Client) -> None:
    transaction = await created(api, COLLECTION)
    loop = asyncio.get_running_loop()
    began = loop.time()

    answer = await api("GET", f"/v1/payments/{transaction['id']}?wait=0")

    assert answer.status == 200
    assert loop.time() - began < 20


@pytest.mark.parametrize("seconds", ["31", "-1", "1.5", "", "soon", "1e1", "%2B5", "99999999999999999999"])
async def test_a_wait_that_is_no_number_from_0_to_30_is_refused(api: Client, seconds: str) -> None:
    transaction = await created(api, COLLECTION)

    answer = await api("GET", f"/v1/payments/{transaction['id']}?wait={seconds}")

    assert answer.status == 400
    assert list(answer.body["details"]) == ["wait"]


async def test_waiting_for_what_does_not_exist_is_not_found_at_once(api: Client) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()

    answer = await api("GET", "/v1/payments/MLP-NOBODY?wait=30")

    assert answer.status == 404
    assert loop.time() - began < 30
