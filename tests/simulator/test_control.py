"""The switches: what they do to the wire, and which values they take."""

import asyncio
import secrets
import time
from typing import Any

import aiohttp
import pytest

from tests.simulator.conftest import SPEED
from tests.simulator.mpesa import Mpesa
from tests.simulator.processes import Sim

PHONE = "+255754123456"


async def outcomes(mpesa: Mpesa, count: int) -> list[str]:
    """What became of so many payouts, one after the other."""
    found = []
    for _ in range(count):
        try:
            answer = await mpesa.disburse(PHONE, 500)
            found.append("html" if isinstance(answer.body, str) else answer.code)
        except aiohttp.ServerDisconnectedError:
            found.append("cut")
    return found


async def paid(sim: Sim) -> int:
    return len(await sim.charged(PHONE))


@pytest.mark.parametrize(
    ("switch", "reply", "moved"),
    [
        ({"errorRate": 1}, "html", 0),
        ({"lostRequestRate": 1}, "cut", 0),
        ({"lostReplyRate": 1}, "cut", 3),
        ({"isDown": True}, "cut", 0),
    ],
)
async def test_a_mishap_is_total_at_a_share_of_one(
    sim: Sim, mpesa: Mpesa, switch: dict[str, Any], reply: str, moved: int
) -> None:
    await sim.control(channels={"MPESA": switch})
    assert await outcomes(mpesa, 3) == [reply] * 3
    assert await paid(sim) == moved


async def test_a_share_is_a_share_and_a_seed_repeats_it(sim: Sim, mpesa: Mpesa) -> None:
    runs = []
    for _ in range(2):
        await sim.control(seed=7, channels={"MPESA": {"lostReplyRate": 0.5}})
        runs.append(await outcomes(mpesa, 20))
    assert runs[0] == runs[1]
    assert 3 <= runs[0].count("cut") <= 17
    assert await paid(sim) == 40


async def test_latency_is_waited_for(sim: Sim, mpesa: Mpesa) -> None:
    await sim.control(channels={"MPESA": {"latencySeconds": 0.2 * SPEED}})
    began = time.monotonic()
    await mpesa.disburse(PHONE)
    assert time.monotonic() - began >= 0.2


async def test_one_networks_trouble_is_not_the_others(sim: Sim, mpesa: Mpesa) -> None:
    await sim.control(channels={"AIRTEL_MONEY": {"isDown": True}})
    assert await outcomes(mpesa, 1) == ["INS-0"]


async def test_a_switch_for_all_is_for_all_who_have_it(sim: Sim) -> None:
    await sim.control(all={"errorRate": 0.25, "mode": "sync"})
    channels = (await sim("GET", "/api/control"))["channels"]
    assert {each["errorRate"] for each in channels.values()} == {0.25}
    assert [name for name, each in channels.items() if "mode" in each] == ["MPESA"]
    assert channels["MPESA"]["mode"] == "sync"


async def test_what_is_new_can_be_hidden_from_queries(sim: Sim, mpesa: Mpesa) -> None:
    await sim.control(channels={"MPESA": {"notFoundSeconds": 86_400}})
    reference = secrets.token_hex(16)
    await mpesa.disburse(PHONE, input_ThirdPartyConversationID=reference)
    assert await mpesa.status(reference) == "INS-23"
    again = await mpesa.disburse(PHONE, input_ThirdPartyConversationID=reference)
    assert again.code == "INS-10"
    await sim.control(channels={"MPESA": {"notFoundSeconds": 0.1 * SPEED}})
    await asyncio.sleep(0.15)
    assert await mpesa.status(reference) == "Completed"


async def test_time_can_go_faster(sim: Sim, mpesa: Mpesa) -> None:
    await sim.control(speed=1000)
    await mpesa.collect("+255754123103")
    await asyncio.sleep(0.1)
    assert [each["state"] for each in await sim("GET", "/api/prompts")] == ["expired"]


BAD_PATCHES: list[tuple[dict[str, Any], list[str]]] = [
    ({"speed": 0}, ["speed"]),
    ({"speed": "fast"}, ["speed"]),
    ({"seed": 1.5}, ["seed"]),
    ({"tempo": 2}, ["tempo"]),
    ({"channels": {"MPESA": {"errorRate": 1.1, "mode": "later"}}}, ["errorRate", "mode"]),
    ({"channels": {"MPESA": {"latencySeconds": -1}, "NOBODY": {}}}, ["latencySeconds", "NOBODY"]),
    ({"channels": {"AIRTEL_MONEY": {"mode": "sync"}}}, ["AIRTEL_MONEY.mode"]),
    ({"channels": {"MPESA": 5}}, ["MPESA"]),
    ({"channels": []}, ["channels"]),
    ({"channels": {"MPESA": {"queryError": ""}, "TIGO_PESA": {"queryError": 5}}}, ["MPESA.queryError", "TIGO_PESA.q"]),
    ({"channels": {"CLICKPESA": {"queryError": "INS-1"}}}, ["queryError"]),
    ({"channels": {"CLICKPESA": {"queryError": "204", "initiatedStatus": ""}}}, ["queryError", "initiatedStatus"]),
    ({"channels": {"HALOPESA": {"queryError": "9012"}}}, ["HALOPESA.queryError"]),
    ({"channels": {"AIRTEL_MONEY": {"wrongQueryCredentials": 1}}}, ["wrongQueryCredentials"]),
    ({"channels": {"MPESA": {"notFoundCode": "INS-1", "pendingAnswer": None}}}, ["notFoundCode", "pendingAnswer"]),
    ({"all": {"forgetSeconds": -1, "callbackDelaySeconds": "late"}}, ["forgetSeconds", "callbackDelaySeconds"]),
    ({"all": {"forgetSeconds": None}}, ["forgetSeconds"]),
    ({"all": {"isUp": True}}, ["isUp"]),
    ({"all": {"isDown": "yes"}}, ["isDown"]),
]


async def test_each_bad_value_is_named_and_nothing_is_changed(sim: Sim) -> None:
    before = await sim("GET", "/api/control")
    for patch, names in BAD_PATCHES:
        asked = patch | {"all": patch.get("all", {}) | {"merchant": "X"}}
        refused = await sim("PATCH", "/api/control", asked, status=400)
        assert [name for name in names if name not in refused["error"]] == []
    assert await sim("GET", "/api/control") == before


async def test_a_switch_that_may_be_off_is_put_off_by_null(sim: Sim) -> None:
    for value in ("INS-999", None):
        await sim.control(channels={"MPESA": {"queryError": value}})
        assert (await sim("GET", "/api/control"))["channels"]["MPESA"]["queryError"] == value


async def test_the_merchants_name_is_on_the_prompt(sim: Sim, mpesa: Mpesa) -> None:
    await sim.control(channels={"MPESA": {"merchant": "Duka la Asha"}})
    await mpesa.collect("+255754123100")
    assert (await sim("GET", "/api/prompts"))[0]["merchant"] == "Duka la Asha"
