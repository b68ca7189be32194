"""Networks that forget what they have taken: a key that is used again in time is a new payment."""

import asyncio

import pytest

from tests.simulator.conftest import SPEED
from tests.simulator.halopesa import Halopesa
from tests.simulator.merchant_clients import Merchant
from tests.simulator.processes import Sim

KINDS = [
    ("MPESA", "collection"),
    ("MPESA", "disbursement"),
    ("AIRTEL_MONEY", "collection"),
    ("AIRTEL_MONEY", "disbursement"),
    ("TIGO_PESA", "collection"),
    ("TIGO_PESA", "disbursement"),
    ("HALOPESA", "collection"),
    ("CLICKPESA", "collection"),
    ("CLICKPESA", "disbursement"),
    ("AZAMPAY", "disbursement"),
]


@pytest.mark.parametrize(("channel", "kind"), KINDS)
async def test_a_key_that_was_forgotten_moves_money_again(
    sim: Sim, merchants: dict[str, Merchant], channel: str, kind: str
) -> None:
    merchant = merchants[channel]
    phone, reference = merchant.start + "456", merchant.reference()
    first = await merchant.pay(kind, phone, reference)
    await sim.control(channels={channel: {"forgetSeconds": 86_400}})
    assert await merchant.pay(kind, phone, reference) != first
    await sim.control(channels={channel: {"forgetSeconds": 0.001}})
    assert await merchant.pay(kind, phone, reference) == first
    await asyncio.sleep(4 / SPEED)
    movement = "charged" if kind == "collection" else "paid"
    assert await sim.charged(phone) == [(movement, 1000)] * 2
    # Nothing but time makes it forget.
    await sim.control(channels={channel: {"forgetSeconds": 0}})
    assert await merchant.pay(kind, phone, reference) != first


async def test_a_query_then_reports_the_newer_payment(sim: Sim, merchants: dict[str, Merchant]) -> None:
    merchant = merchants["MPESA"]
    reference = merchant.reference()
    await merchant.pay("disbursement", merchant.start + "456", reference)
    await sim.control(channels={"MPESA": {"forgetSeconds": 0.001}})
    await merchant.pay("disbursement", merchant.start + "109", reference)
    assert await merchant.status("disbursement", reference) == "Pending"


async def test_halopesa_forgets_its_requests_too(sim: Sim, halopesa: Halopesa) -> None:
    fields = halopesa.sign(halopesa.fields("+255621123456", "1000", "order1"))
    assert [(await halopesa.send(fields)).code for _ in range(2)] == ["0", "9004"]
    await sim.control(channels={"HALOPESA": {"forgetSeconds": 0.001}})
    assert (await halopesa.send(fields)).code == "0"
