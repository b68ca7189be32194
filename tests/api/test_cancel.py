"""POST /v1/payments/:id/cancel: only a payment that was not sent to a network can be cancelled."""

import asyncio

import pytest

from malipo.app.assemble import Service
from malipo.payments.transaction import Status
from tests.api.conftest import bring, created, shown, wallet
from tests.api.response_fields import BODIES, BOTH, RETRIEVED
from tests.conftest import PAYOUT, Client, Merchant


@pytest.mark.parametrize("name", ["id", "reference"])
@BOTH
async def test_a_pending_transaction_is_cancelled_and_cancelling_it_again_is_no_error(
    api: Client, type_: str, name: str
) -> None:
    transaction = await created(api, BODIES[type_])

    first = await api("POST", f"/v1/payments/{transaction[name]}/cancel")
    again = await api("POST", f"/v1/payments/{transaction[name]}/cancel")

    assert first.status == again.status == 200
    assert first.body == again.body
    assert first.body["transaction"] == await shown(api, transaction["id"])
    assert first.body["transaction"]["status"] == "CANCELLED"
    assert set(first.body["transaction"]) == RETRIEVED[type_]
    assert await wallet(api) == (1_000_000, 0)


@pytest.mark.parametrize("status", [Status.PROCESSING, Status.COMPLETED, Status.FAILED])
@BOTH
async def test_a_payment_that_its_network_has_cannot_be_cancelled(
    api: Client, service: Service, merchant: Merchant, type_: str, status: Status
) -> None:
    transaction = await created(api, BODIES[type_])
    await bring(service, merchant, transaction["id"], status)
    before = await shown(api, transaction["id"]), await wallet(api)

    answer = await api("POST", f"/v1/payments/{transaction['id']}/cancel")

    assert answer.status == 409
    assert answer.code == "not_cancellable"
    assert set(answer.body) == {"error"}
    assert (await shown(api, transaction["id"]), await wallet(api)) == before


async def test_twenty_cancels_at_once_give_the_money_back_once(api: Client) -> None:
    transaction = await created(api, PAYOUT)
    assert await wallet(api) == (999_000, 1_000)

    answers = await asyncio.gather(*(api("POST", f"/v1/payments/{transaction['id']}/cancel") for _ in range(20)))

    assert {answer.status for answer in answers} == {200}
    assert await wallet(api) == (1_000_000, 0)
