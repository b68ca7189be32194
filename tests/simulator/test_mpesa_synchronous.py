"""M-Pesa in a synchronous application, where the reply is the last word."""

import asyncio
import re
import secrets

import aiohttp
import pytest

from tests.simulator.conftest import PATIENT, SPEED, answer_prompt
from tests.simulator.mpesa import Mpesa
from tests.simulator.processes import Listener, Sim


@pytest.fixture
async def sync(mpesa: Mpesa, sim: Sim) -> Mpesa:
    await sim.control(channels={"MPESA": {"mode": "sync"}})
    assert (await sim("GET", "/api/credentials"))["MPESA"]["mode"] == "sync"
    return mpesa


@pytest.mark.parametrize(
    ("kind", "digits", "status", "code"),
    [
        ("collect", "456", 201, "INS-0"),
        ("collect", "101", 401, "INS-5"),
        ("collect", "102", 422, "INS-2006"),
        ("collect", "103", 408, "INS-9"),
        ("collect", "110", 401, "INS-6"),
        ("disburse", "456", 201, "INS-0"),
        ("disburse", "100", 201, "INS-0"),
        ("disburse", "101", 401, "INS-2002"),
        ("disburse", "102", 422, "INS-2006"),
        ("disburse", "110", 401, "INS-6"),
    ],
)
async def test_a_synchronous_reply_is_final(
    sync: Mpesa, listener: Listener, kind: str, digits: str, status: int, code: str
) -> None:
    answer = await getattr(sync, kind)("+255754123" + digits)
    assert (answer.status, answer.code) == (status, code)
    receipt = answer.body["output_TransactionID"]
    assert re.fullmatch("[0-9A-Z]{12}", receipt) if code == "INS-0" else receipt == "N/A"
    if digits in ("456", "101", "102"):
        await asyncio.sleep(2 / SPEED)
        assert listener.calls == []


async def test_a_synchronous_call_that_is_stuck_is_let_go_at_last(sync: Mpesa, sim: Sim) -> None:
    await sim.control(speed=1000)
    for act in (sync.collect, sync.disburse):
        answer = await act("+255754123109")
        assert (answer.status, answer.code) == (408, "INS-9")


@pytest.mark.usefixtures("unhurried")
async def test_a_synchronous_call_is_held_until_the_customer_answers(sync: Mpesa, sim: Sim) -> None:
    call = asyncio.create_task(sync.collect(PATIENT))
    await asyncio.sleep(0.1)
    assert not call.done()
    await answer_prompt(sim, PATIENT, "approve")
    assert (await call).code == "INS-0"
    assert await sim.charged(PATIENT) == [("charged", 1000)]


@pytest.mark.usefixtures("unhurried")
async def test_a_synchronous_caller_who_hangs_up_is_charged_all_the_same(sync: Mpesa, sim: Sim) -> None:
    reference = secrets.token_hex(16)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await sync.collect(PATIENT, input_ThirdPartyConversationID=reference)
    await answer_prompt(sim, PATIENT, "approve")
    assert await sync.status(reference) == "Completed"


async def test_a_synchronous_reply_can_be_lost(sync: Mpesa, sim: Sim) -> None:
    with pytest.raises(aiohttp.ServerDisconnectedError):
        await sync.disburse("+255754123104")
    assert await sim.charged("+255754123104") == [("paid", 1000)]
