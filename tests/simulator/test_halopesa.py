"""HaloPesa's wire: the checksum, the clock, the codes, and callbacks that are final and that are not."""

import asyncio
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.simulator.conftest import SPEED
from tests.simulator.halopesa import Halopesa, fields_of
from tests.simulator.processes import Call, Listener, Sim, until

PHONE = "+255621123456"
PATIENT = "+255621123100"


@pytest.mark.usefixtures("unhurried")
async def test_a_push_is_accepted_and_not_yet_paid(halopesa: Halopesa, sim: Sim) -> None:
    answer = await halopesa.collect(PATIENT, "2500", "order1")
    assert answer.status == 200
    assert answer.body.pop("response_time").isdecimal()
    assert answer.body == {
        "response_code": "0",
        "message": "Success",
        "referenceid": "order1",
        "response_type": "ACK",
        "addition_data": "",
    }
    (prompt,) = await sim("GET", "/api/prompts")
    assert (prompt["channel"], prompt["amount"], prompt["phone"]) == ("HALOPESA", 2500, PATIENT)


BAD_FIELDS = [
    ("requestid", "", "9001"),
    ("amount", "", "9001"),
    ("amount", "10.5", "9001"),
    ("amount", "0", "9001"),
    ("sender_msisdn", "0621123456", "9001"),
    ("username", "other", "9003"),
    ("password", "wrong", "9003"),
    ("function_code", "QUERY", "9008"),
    ("function_code", "", "9008"),
    ("request_time", "yesterday", "9006"),
    ("request_time", "20261399000000", "9006"),
    ("beneficiary_accountid", "1", "9010"),
    ("business_no", "1", "9010"),
    ("referenceid", "a b", "9005"),
    ("referenceid", "a" * 65, "9005"),
]


async def test_a_bad_field_is_refused_with_its_code(halopesa: Halopesa, sim: Sim) -> None:
    observed = []
    for field, value, _ in BAD_FIELDS:
        answer = await halopesa.send(halopesa.sign(halopesa.fields(PHONE) | {field: value}))
        observed.append((field, value, answer.code))
        assert answer.status == 200
    assert observed == BAD_FIELDS
    assert await sim("GET", "/api/prompts") == []


@pytest.mark.parametrize("field", ["requestid", "request_time", "amount", "sender_msisdn", "referenceid"])
async def test_the_checksum_covers_it(halopesa: Halopesa, field: str) -> None:
    fields = halopesa.sign(halopesa.fields(PHONE))
    digit = fields[field][-1]
    changed = fields | {field: fields[field][:-1] + ("1" if digit != "1" else "2")}
    assert (await halopesa.send(changed)).code == "9007"


@pytest.mark.parametrize("checksum", ["", "x", "A" * 64])
async def test_a_wrong_checksum_is_refused(halopesa: Halopesa, checksum: str) -> None:
    assert (await halopesa.send(halopesa.fields(PHONE) | {"check_sum": checksum})).code == "9007"


async def test_a_checksum_in_capitals_is_another(halopesa: Halopesa) -> None:
    fields = halopesa.sign(halopesa.fields(PHONE))
    assert (await halopesa.send(fields | {"check_sum": fields["check_sum"].upper()})).code == "9007"


@pytest.mark.parametrize(("minutes", "code"), [(-4, "0"), (4, "0"), (-6, "9006"), (6, "9006"), (180, "9006")])
async def test_a_clock_may_be_a_little_off(halopesa: Halopesa, minutes: int, code: str) -> None:
    time = datetime.now(ZoneInfo("Africa/Dar_es_Salaam")) + timedelta(minutes=minutes)
    fields = halopesa.fields(PHONE) | {"request_time": time.strftime("%Y%m%d%H%M%S")}
    assert (await halopesa.send(halopesa.sign(fields))).code == code


async def test_a_business_number_need_not_be_given(halopesa: Halopesa) -> None:
    fields = halopesa.fields(PHONE)
    del fields["business_no"]
    assert (await halopesa.send(halopesa.sign(fields))).code == "0"


@pytest.mark.parametrize("field", ["requestid", "referenceid"])
async def test_a_repeat_is_refused_and_pays_nothing(halopesa: Halopesa, sim: Sim, field: str) -> None:
    first, second = halopesa.fields(PHONE), halopesa.fields(PHONE)
    assert (await halopesa.send(halopesa.sign(first))).code == "0"
    assert (await halopesa.send(halopesa.sign(second | {field: first[field]}))).code == "9004"
    await asyncio.sleep(4 / SPEED)
    assert await sim.charged(PHONE) == [("charged", 1000)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "<Envelope>",
        "<Envelope/>",
        "<request><requestid>1</requestid></request>",
        "<!DOCTYPE a [<!ENTITY b 'c'>]><Envelope><HaloPesaServiceAPI><request/></HaloPesaServiceAPI></Envelope>",
    ],
)
async def test_what_cannot_be_read_is_said_to_be_so(halopesa: Halopesa, text: str) -> None:
    assert (await halopesa.post(text)).code == "9001"


@pytest.mark.parametrize("form", ["bare", "enveloped"])
async def test_a_final_callback_carries_the_receipt(
    halopesa: Halopesa, sim: Sim, listener: Listener, form: str
) -> None:
    await sim.control(channels={"HALOPESA": {"callbackForm": form}})
    await halopesa.collect(PHONE, "1500", "order2")
    await until(lambda: len(listener.calls) == 2)
    assert listener.calls[0].headers["Content-Type"].startswith("text/xml")
    assert (b"HaloPesaServiceAPIResponse" in listener.calls[1].raw) == (form == "enveloped")
    assert (b"<ReferenceID>" in listener.calls[1].raw) == (form == "enveloped")
    interim, final = (fields_of(call.raw) for call in listener.calls)
    assert (interim["response_type"], interim["response_code"], interim["addition_data"]) == ("ACK", "0", "")
    assert (final["response_type"], final["response_code"]) == ("FIN", "0")
    assert final["addition_data"].isdecimal()
    assert interim["referenceid"] == final["referenceid"] == "order2"


async def test_the_callback_that_is_not_final_can_be_left_out(halopesa: Halopesa, sim: Sim, listener: Listener) -> None:
    await sim.control(channels={"HALOPESA": {"sendsInterim": False}})
    await halopesa.collect(PHONE)
    await until(lambda: bool(listener.calls))
    assert fields_of(listener.calls[0].raw)["response_type"] == "FIN"


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        (b"<r><response_code>0</response_code><ReferenceID>order3</ReferenceID></r>", "acknowledged"),
        (b"<r><response_code>1</response_code><ReferenceID>order3</ReferenceID></r>", "response_code"),
        (b"<r><response_code>0</response_code><ReferenceID>other</ReferenceID></r>", "ReferenceID"),
        (b"OK", "not XML"),
    ],
)
async def test_an_acknowledgement_is_judged(
    halopesa: Halopesa, sim: Sim, listener: Listener, body: bytes, verdict: str
) -> None:
    async def answer(call: Call) -> tuple[int, Any]:
        return 200, body

    listener.answering = answer
    await halopesa.collect(PHONE, "1000", "order3")
    await until(lambda: len(listener.calls) == 2)
    async with asyncio.timeout(240):
        while len(result := [each for each in await sim("GET", "/api/seen") if each["direction"] == "out"]) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    assert result[0]["verdict"].endswith(verdict)


async def test_an_unknown_path_is_not_found(halopesa: Halopesa, sim: Sim) -> None:
    async with sim.http.get(f"{sim.url}/halopesa/ServiceAPI") as answer:
        assert answer.status == 404
