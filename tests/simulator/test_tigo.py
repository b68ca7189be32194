"""Tigo Pesa's wire: the token, the push and its codes, the query and the cash-in in XML, and the callback."""

import asyncio
from typing import Any

import pytest

from tests.simulator.conftest import SPEED
from tests.simulator.processes import Call, Listener, Sim, until
from tests.simulator.tigo import Tigo

PHONE = "+255714123456"
PATIENT = "+255714123100"


async def test_a_token_is_given_for_a_password(tigo: Tigo) -> None:
    answer = await tigo.log_in()
    assert answer.status == 200
    assert set(answer.body) == {"access_token", "token_type", "expires_in"}
    assert (answer.body["token_type"], answer.body["expires_in"]) == ("bearer", 3600)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"password": "wrong"}, "invalid_grant"),
        ({"username": ""}, "invalid_grant"),
        ({"grant_type": "client_credentials"}, "unsupported_grant_type"),
    ],
)
async def test_a_wrong_log_in_is_refused(tigo: Tigo, changes: dict[str, str], error: str) -> None:
    answer = await tigo.log_in(**changes)
    assert (answer.status, answer.body["error"]) == (400, error)
    assert "access_token" not in answer.body


@pytest.mark.usefixtures("unhurried")
async def test_a_push_is_accepted_and_not_yet_paid(tigo: Tigo, sim: Sim) -> None:
    reference = tigo.reference()
    answer = await tigo.collect(PATIENT, 2500, reference)
    assert answer.status == 200
    assert answer.body == {
        "ResponseCode": "BILLER-18-0000-S",
        "ResponseStatus": True,
        "ResponseDescription": "Request has been sent to the user",
        "ReferenceID": reference,
    }
    assert await sim.charged(PATIENT) == []
    (prompt,) = await sim("GET", "/api/prompts")
    assert (prompt["channel"], prompt["amount"], prompt["state"]) == ("TIGO_PESA", 2500, "waiting")


@pytest.mark.parametrize("authorization", ["", "bearer nonsense", "Basic x"])
async def test_a_push_needs_a_token(tigo: Tigo, authorization: str) -> None:
    answer = await tigo.push(tigo.push_fields(PHONE), Authorization=authorization)
    assert (answer.status, list(answer.body)) == (401, ["Message"])


async def test_a_token_ends(tigo: Tigo, sim: Sim) -> None:
    await sim.control(channels={"TIGO_PESA": {"tokenSeconds": 0.1}})
    await tigo.open()
    await asyncio.sleep(0.15)
    assert (await tigo.collect(PHONE)).status == 401


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Username": ""}, "DebitMandate-10-2001-E"),
        ({"Password": ""}, "DebitMandate-10-2003-E"),
        ({"Password": "wrong"}, "DebitMandate-10-3000-E"),
        ({"Username": "wrong"}, "DebitMandate-10-3000-E"),
    ],
)
async def test_a_push_needs_the_name_and_the_password_as_well(tigo: Tigo, headers: dict[str, str], code: str) -> None:
    answer = await tigo.push(tigo.push_fields(PHONE), **headers)
    assert (answer.status, answer.code, answer.body["ResponseStatus"]) == (200, code, False)


BAD_PUSH = [
    ("CustomerMSISDN", None, "DebitMandate-10-2002-E"),
    ("CustomerMSISDN", "0714123456", "DebitMandate-10-2004-V"),
    ("CustomerMSISDN", "+255714123456", "DebitMandate-10-2004-V"),
    ("CustomerMSISDN", "254714123456", "DebitMandate-10-2004-V"),
    ("BillerMSISDN", None, "DebitMandate-10-2038-V"),
    ("BillerMSISDN", "255710009999", "BILLER-18-3040-E"),
    ("ReferenceID", None, "DebitMandate-10-2020-V"),
    ("ReferenceID", "OTHER123", "DebitMandate-10-2020-V"),
    ("ReferenceID", "DEMO", "DebitMandate-10-2020-V"),
    ("ReferenceID", "DEMO-1", "DebitMandate-10-2020-V"),
    ("Amount", None, "BILLER-18-3019-E"),
    ("Amount", 0, "BILLER-18-3019-E"),
    ("Amount", -5, "BILLER-18-3019-E"),
    ("Amount", 10.5, "BILLER-18-3019-E"),
    ("Amount", True, "BILLER-18-3019-E"),
    ("Amount", "ten", "BILLER-18-3019-E"),
    ("Amount", 10**10, "BILLER-18-3019-E"),
]


async def test_a_bad_field_of_a_push_is_refused(tigo: Tigo, sim: Sim) -> None:
    observed = []
    for field, value, _ in BAD_PUSH:
        answer = await tigo.push(tigo.push_fields(PHONE) | {field: value})
        observed.append((field, value, answer.code))
        assert (answer.status, answer.body["ResponseStatus"]) == (200, False)
    assert observed == BAD_PUSH
    assert await sim("GET", "/api/prompts") == []


async def test_an_amount_may_be_text(tigo: Tigo) -> None:
    assert (await tigo.collect(PHONE, "1000")).code == "BILLER-18-0000-S"


async def test_a_push_that_is_no_object_is_refused(tigo: Tigo) -> None:
    assert (await tigo.push([])).status == 400


async def test_a_repeated_reference_is_refused_and_pays_nothing(tigo: Tigo, sim: Sim) -> None:
    reference = tigo.reference()
    await tigo.collect(PHONE, 1000, reference)
    again = await tigo.collect(PHONE, 1000, reference)
    assert (again.code, again.body["ResponseStatus"]) == ("DuplicateRefID", False)
    await asyncio.sleep(4 / SPEED)
    assert await sim.charged(PHONE) == [("charged", 1000)]


def acknowledgement(call: Call, code: str = "BILLER-30-0000-S") -> dict[str, Any]:
    return {
        "ResponseCode": code,
        "ResponseStatus": True,
        "ResponseDescription": "Callback successful",
        "ReferenceID": call.body["ReferenceID"],
    }


@pytest.mark.parametrize("form", ["boolean", "string"])
async def test_a_callback_says_true_in_one_of_two_ways(tigo: Tigo, sim: Sim, listener: Listener, form: str) -> None:
    await sim.control(channels={"TIGO_PESA": {"callbackStatus": form}})
    reference = tigo.reference()
    await tigo.collect(PHONE, 1500, reference)
    await until(lambda: bool(listener.calls))
    body = listener.calls[0].body
    assert body.pop("MFSTransactionID").isdecimal()
    assert body == {
        "Status": True if form == "boolean" else "true",
        "Description": "Transaction processed successfully",
        "ReferenceID": reference,
        "Amount": "1500",
    }


async def test_a_callback_of_a_failure_has_a_reason_and_no_receipt(tigo: Tigo, listener: Listener) -> None:
    await tigo.collect("+255714123102")
    await until(lambda: bool(listener.calls))
    body = listener.calls[0].body
    assert (body["Status"], body["Description"]) == (False, "Customer has insufficient funds")
    assert "MFSTransactionID" not in body


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "acknowledged"),
        ({"ResponseCode": "BILLER-18-0000-S"}, "acknowledged"),
        ({"ResponseCode": "BILLER-30-3030-E"}, "acknowledged, but wrongly: ResponseCode"),
        ({"ResponseStatus": "true"}, "acknowledged, but wrongly: ResponseStatus"),
        ({"ResponseDescription": None}, "acknowledged, but wrongly: ResponseDescription"),
        ({"ReferenceID": "x"}, "acknowledged, but wrongly: ReferenceID"),
    ],
)
async def test_an_acknowledgement_is_judged(
    tigo: Tigo, sim: Sim, listener: Listener, changes: dict[str, Any], verdict: str
) -> None:
    async def answer(call: Call) -> tuple[int, Any]:
        return 200, acknowledgement(call) | changes

    listener.answering = answer
    await tigo.collect(PHONE)
    await until(lambda: bool(listener.calls))
    await asyncio.sleep(0.02)
    assert (await sim("GET", "/api/seen?limit=1"))[0]["verdict"] == verdict


async def test_a_query_reports_what_was_posted(tigo: Tigo, listener: Listener) -> None:
    reference = tigo.reference()
    await tigo.collect(PHONE, 1500, reference)
    await until(lambda: bool(listener.calls))
    body = (await tigo.ask(reference)).body
    assert (body["RESULTCODE"], body["TXNSTATUS"]) == ("0", "Posted")
    assert body["TXNID"] == listener.calls[0].body["MFSTransactionID"]
    assert (body["EXTERNALREFID"], body["AMOUNT"], body["MSISDN"]) == (reference, "1500", PHONE[1:])


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("TYPE", "Other", "GetSOError003"),
        ("PIN", "99999", "GetSOError001"),
        ("MSISDN", "255710009999", "GetSOError001"),
        ("EXTERNALREFID", "nothing", "GetSOError010"),
    ],
)
async def test_a_bad_query_is_refused(tigo: Tigo, field: str, value: str, code: str) -> None:
    answer = await tigo.command("queryPath", tigo.question("x") | {field: value})
    assert (answer.body["RESULTCODE"], answer.body["TXNSTATUS"], answer.body["TXNID"]) == (code, "", "")


async def test_not_every_partner_has_a_query(tigo: Tigo, sim: Sim) -> None:
    await sim.control(channels={"TIGO_PESA": {"hasQuery": False}})
    assert (await tigo.ask("x")).status == 404


async def test_a_cash_in_is_paid_at_once_and_cannot_be_asked_about(tigo: Tigo, sim: Sim) -> None:
    answer = await tigo.disburse(PHONE, "7000", "salary1")
    assert answer.body.pop("TXNID").isdecimal()
    assert answer.body == {
        "TYPE": "RESMFICI",
        "REFERENCEID": "salary1",
        "TXNSTATUS": "200",
        "MESSAGE": "Cash in successful",
    }
    assert await sim.charged(PHONE) == [("paid", 7000)]
    assert await tigo.status("salary1") == "GetSOError010"


BAD_CASH_IN = [
    ("TYPE", "REQMFCI", "100"),
    ("REFERENCEID", "", "100"),
    ("REFERENCEID", "a" * 21, "100"),
    ("MSISDN", "255710009999", "02117"),
    ("PIN", "99999", "00026"),
    ("MSISDN1", "714123456", "60074"),
    ("MSISDN1", "255814123456", "60074"),
    ("AMOUNT", "10.5", "00042"),
    ("AMOUNT", "", "00042"),
    ("AMOUNT", "12345678901", "00042"),
    ("AMOUNT", "0", "60017"),
]


async def test_a_bad_cash_in_is_refused(tigo: Tigo, sim: Sim) -> None:
    observed = []
    for field, value, _ in BAD_CASH_IN:
        answer = await tigo.command("cashInPath", tigo.cash_in_fields(PHONE) | {field: value})
        observed.append((field, value, answer.body["TXNSTATUS"]))
        assert answer.body["TXNID"] == ""
    assert observed == BAD_CASH_IN
    assert (await sim("GET", "/api/book"))["movements"] == []


async def test_a_recipient_may_be_written_with_a_nought(tigo: Tigo, sim: Sim) -> None:
    assert (await tigo.command("cashInPath", tigo.cash_in_fields("0714123456"))).code == "200"
    assert await sim.charged(PHONE) == [("paid", 1000)]


async def test_a_repeated_cash_in_is_left_open_and_pays_nothing(tigo: Tigo, sim: Sim) -> None:
    await tigo.disburse(PHONE, "1000", "salary2")
    again = await tigo.disburse(PHONE, "1000", "salary2")
    assert (again.code, again.body["MESSAGE"]) == ("100", "Duplicate REFERENCEID")
    assert await sim.charged(PHONE) == [("paid", 1000)]


async def test_a_general_error_may_come_after_the_money_moved(tigo: Tigo, sim: Sim) -> None:
    await sim.control(channels={"TIGO_PESA": {"generalErrorRate": 1}})
    answer = await tigo.disburse(PHONE)
    assert (answer.code, answer.body["TXNID"]) == ("100", "")
    assert await sim.charged(PHONE) == [("paid", 1000)]


async def test_a_partner_has_one_spelling_of_the_type(tigo: Tigo, sim: Sim) -> None:
    await sim.control(channels={"TIGO_PESA": {"cashInType": "REQMFICIK"}})
    assert (await tigo.disburse(PHONE)).code == "100"
    answer = await tigo.command("cashInPath", tigo.cash_in_fields(PHONE) | {"TYPE": "REQMFICIK"})
    assert (answer.code, answer.body["TYPE"]) == ("200", "RESMFICIK")


@pytest.mark.parametrize("path", ["queryPath", "cashInPath"])
@pytest.mark.parametrize("raw", [b"", b"<COMMAND>", b"{}", b"<!DOCTYPE x><COMMAND/>"])
async def test_what_is_no_plain_xml_is_refused(tigo: Tigo, path: str, raw: bytes) -> None:
    assert (await tigo.command(path, {}, raw=raw)).status == 400


async def test_an_unknown_path_is_not_found(tigo: Tigo, sim: Sim) -> None:
    async with sim.http.get(f"{sim.url}/tigo/GetToken") as answer:
        assert answer.status == 404
