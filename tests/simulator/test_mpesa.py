"""M-Pesa's wire: who is let in, which field is refused with which code, and what a reply, a query and a callback say."""

import asyncio
import re
import secrets
from typing import Any

import pytest

from tests.simulator.conftest import PATIENT, SPEED, answer_prompt
from tests.simulator.mpesa import Mpesa
from tests.simulator.processes import Listener, Sim, until

PHONE = "+255754123456"


async def test_a_session_is_opened_with_the_sealed_key(mpesa: Mpesa) -> None:
    answer = await mpesa.call("GET", "/getSession/", bearer=mpesa.seal(mpesa.given["apiKey"]))
    assert answer.status == 200
    assert set(answer.body) == {"output_ResponseCode", "output_ResponseDesc", "output_SessionID"}
    assert answer.code == "INS-0"
    assert re.fullmatch("[0-9a-zA-Z]{32}", answer.body["output_SessionID"])


async def test_a_wrong_key_opens_nothing(mpesa: Mpesa) -> None:
    answer = await mpesa.call("GET", "/getSession/", bearer=mpesa.seal("not the key"))
    assert (answer.status, answer.code) == (400, "INS-989")


@pytest.mark.parametrize("bearer", ["", "not base64!", "bm90IHNlYWxlZA=="])
async def test_what_is_not_sealed_for_us_is_refused_by_the_gateway(mpesa: Mpesa, bearer: str) -> None:
    answer = await mpesa.call("GET", "/getSession/", bearer=bearer)
    assert answer.status == 401
    assert list(answer.body) == ["output_error"]


@pytest.mark.parametrize("origin", [None, "elsewhere.example"])
async def test_the_origin_must_be_the_registered_one(mpesa: Mpesa, origin: str | None) -> None:
    answer = await mpesa.call("GET", "/getSession/", bearer=mpesa.seal(mpesa.given["apiKey"]), origin=origin)
    assert (answer.status, list(answer.body)) == (401, ["output_error"])


async def test_only_the_sandbox_takes_a_star_for_an_origin(mpesa: Mpesa) -> None:
    base = mpesa.base.replace("/sandbox/", "/openapi/")
    bearer = mpesa.seal(mpesa.given["apiKey"])
    assert (await mpesa.call("GET", "/getSession/", bearer=bearer, base=base)).status == 401
    registered = mpesa.given["origin"]
    assert (await mpesa.call("GET", "/getSession/", bearer=bearer, base=base, origin=registered)).status == 200
    assert (await mpesa.call("GET", "/getSession/", bearer=bearer, origin=registered)).status == 200


async def test_a_payment_needs_a_session_and_not_the_key(mpesa: Mpesa, sim: Sim) -> None:
    for wrong in (mpesa.given["apiKey"], secrets.token_hex(16)):
        answer = await mpesa.call(
            "POST",
            "/c2bPayment/singleStage/",
            body=mpesa.fields(PHONE, input_PurchasedItemsDesc="Shoes"),
            bearer=mpesa.seal(wrong),
        )
        assert (answer.status, list(answer.body)) == (401, ["output_error"])
    query = await mpesa.call(
        "GET", "/queryTransactionStatus/", query=mpesa.question("1"), bearer=mpesa.seal(mpesa.given["apiKey"])
    )
    assert query.status == 401
    assert (await sim("GET", "/api/book"))["movements"] == []


async def test_a_session_comes_to_life_and_ends(mpesa: Mpesa, sim: Sim) -> None:
    async def until(status: int, code: str) -> None:
        while True:
            answer = await mpesa.ask("1")
            if (answer.status, answer.code) == (status, code):
                return
            await asyncio.sleep(0.02)

    await sim.control(channels={"MPESA": {"sessionDelaySeconds": 600 * SPEED}})
    await mpesa.open()
    assert (await mpesa.ask("1")).status == 401
    await sim.control(channels={"MPESA": {"sessionSeconds": 1.5, "sessionDelaySeconds": 0.05 * SPEED}})
    await mpesa.open()
    await until(400, "INS-23")
    await until(401, "")


async def test_one_session_may_be_sealed_many_times(mpesa: Mpesa) -> None:
    session = await mpesa.call("GET", "/getSession/", bearer=mpesa.seal(mpesa.given["apiKey"]))
    for _ in range(3):
        mpesa.bearer = mpesa.seal(session.body["output_SessionID"])
        assert (await mpesa.ask("1")).code == "INS-23"


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/getSession/"), ("GET", "/b2cPayment/"), ("POST", "/nowhere/"), ("GET", "/")]
)
async def test_an_unknown_path_is_the_gateways_error(mpesa: Mpesa, method: str, path: str) -> None:
    answer = await mpesa.call(method, path)
    assert (answer.status, list(answer.body)) == (404, ["output_error"])


async def test_another_market_is_refused(mpesa: Mpesa) -> None:
    answer = await mpesa.call("GET", "/getSession/", base=mpesa.base.replace("vodacomTZN", "vodafoneGHA"))
    assert (answer.status, answer.code) == (400, "INS-998")


BAD_FIELDS = [
    ("input_Amount", "", 400, "INS-20"),
    ("input_Amount", None, 400, "INS-20"),
    ("input_Amount", "ten", 400, "INS-15"),
    ("input_Amount", "-5", 400, "INS-15"),
    ("input_Amount", "1,000", 400, "INS-15"),
    ("input_Amount", "0", 400, "INS-15"),
    ("input_Amount", "10.50", 400, "INS-15"),
    ("input_Amount", True, 400, "INS-21"),
    ("input_Amount", 10.5, 400, "INS-15"),
    ("input_CustomerMSISDN", "+255754123456", 400, "INS-2051"),
    ("input_CustomerMSISDN", "0754123456", 400, "INS-2051"),
    ("input_CustomerMSISDN", "254754123456", 400, "INS-2051"),
    ("input_CustomerMSISDN", "255754123456\n", 400, "INS-2051"),
    ("input_CustomerMSISDN", "000000000010", 400, "INS-2051"),
    ("input_Country", "TZA", 400, "INS-998"),
    ("input_Currency", "USD", 400, "INS-26"),
    ("input_ServiceProviderCode", "1", 400, "INS-13"),
    ("input_ServiceProviderCode", "999999", 400, "INS-13"),
    ("input_TransactionReference", "A" * 21, 400, "INS-17"),
    ("input_TransactionReference", "A-1", 400, "INS-17"),
    ("input_ThirdPartyConversationID", "a-b", 400, "INS-28"),
    ("input_ThirdPartyConversationID", "a" * 41, 400, "INS-28"),
]


@pytest.mark.parametrize("kind", ["collect", "disburse"])
async def test_a_bad_field_is_refused_with_its_code(mpesa: Mpesa, sim: Sim, kind: str) -> None:
    observed = []
    for field, value, _, _ in BAD_FIELDS:
        answer = await getattr(mpesa, kind)(PHONE, **{field: value})
        observed.append((field, value, answer.status, answer.code))
    assert observed == BAD_FIELDS
    assert await sim("GET", "/api/book") == {"movements": [], "charged": 0, "paid": 0}


@pytest.mark.parametrize("text", ["Shoes!", "Viatu – jozi", "a" * 257])
async def test_a_description_has_letters_digits_and_spaces(mpesa: Mpesa, text: str) -> None:
    assert (await mpesa.collect(PHONE, input_PurchasedItemsDesc=text)).code == "INS-30"
    assert (await mpesa.disburse(PHONE, input_PaymentItemsDesc=text)).code == "INS-31"


async def test_each_kind_wants_its_own_description(mpesa: Mpesa) -> None:
    fields = mpesa.fields(PHONE, input_PurchasedItemsDesc="Shoes")
    assert (await mpesa.call("POST", "/b2cPayment/", body=fields)).code == "INS-20"


@pytest.mark.parametrize("body", [[], "text", None])
async def test_a_body_that_is_no_object_is_refused(mpesa: Mpesa, body: Any) -> None:
    assert (await mpesa.call("POST", "/b2cPayment/", body=body)).code == "INS-21"


async def test_whole_shillings_may_have_a_point(mpesa: Mpesa, sim: Sim) -> None:
    assert (await mpesa.disburse(PHONE, "2000.00")).code == "INS-0"
    assert await sim.charged(PHONE) == [("paid", 2000)]


def in_production(mpesa: Mpesa) -> Mpesa:
    mpesa.base = mpesa.base.replace("/sandbox/", "/openapi/")
    return mpesa


async def test_only_the_sandbox_takes_an_amount_as_a_number(mpesa: Mpesa, sim: Sim) -> None:
    assert (await mpesa.disburse(PHONE, input_Amount=2000)).code == "INS-0"
    assert (await mpesa.disburse(PHONE, input_Amount=2500.0)).code == "INS-0"
    fields = mpesa.fields(PHONE, input_PaymentItemsDesc="Salary") | {"input_Amount": 3000}
    answer = await in_production(mpesa).call("POST", "/b2cPayment/", body=fields, origin=mpesa.given["origin"])
    assert (answer.status, answer.code) == (400, "INS-21")
    assert await sim.charged(PHONE) == [("paid", 2000), ("paid", 2500)]


TEST_NUMBER = "000000000001"


async def test_the_sandboxs_test_number_pays_and_is_paid(mpesa: Mpesa, sim: Sim, listener: Listener) -> None:
    assert (await mpesa.collect(TEST_NUMBER)).code == "INS-0"
    assert (await mpesa.disburse(TEST_NUMBER, 700)).code == "INS-0"
    await until(lambda: len(listener.calls) == 2)
    assert {call.body["input_ResultCode"] for call in listener.calls} == {"INS-0"}
    assert sorted(await sim.charged(TEST_NUMBER)) == [("charged", 1000), ("paid", 700)]


TRIGGERS = {
    "collect": ["INS-9", "INS-9", "INS-6", "INS-1", "INS-6", "INS-15", "INS-2006", "INS-16"],
    "disburse": ["INS-1", "INS-6", "INS-9", "INS-15", "INS-2006", "INS-16", "INS-2051", "INS-2051"],
}


@pytest.mark.parametrize("kind", TRIGGERS)
async def test_the_sandboxs_other_numbers_fail_each_in_its_way(mpesa: Mpesa, sim: Sim, kind: str) -> None:
    codes = [(await getattr(mpesa, kind)(f"{number:012}")).code for number in range(2, 10)]
    assert codes == TRIGGERS[kind]
    assert (await sim("GET", "/api/prompts"), (await sim("GET", "/api/book"))["movements"]) == ([], [])


async def test_in_production_no_number_is_for_tests(mpesa: Mpesa) -> None:
    for msisdn in (TEST_NUMBER, "000000000006"):
        fields = mpesa.fields(msisdn, input_PurchasedItemsDesc="Shoes")
        answer = await in_production(mpesa).call(
            "POST", "/c2bPayment/singleStage/", body=fields, origin=mpesa.given["origin"]
        )
        assert answer.code == "INS-2051"


async def test_the_sandbox_can_be_asked_about_payments_that_never_were(mpesa: Mpesa) -> None:
    found = [await mpesa.status(f"{number:012}") for number in (1, 2, 3, 7, 4)]
    assert found == ["Completed", "INS-1", "INS-6", "INS-16", "INS-23"]


async def test_an_accepted_request_has_no_receipt(mpesa: Mpesa) -> None:
    for act in (mpesa.collect, mpesa.disburse):
        reference = secrets.token_hex(16)
        answer = await act(PHONE, input_ThirdPartyConversationID=reference)
        assert answer.status == 201
        assert set(answer.body) == {
            "output_ResponseCode",
            "output_ResponseDesc",
            "output_ConversationID",
            "output_ThirdPartyConversationID",
        }
        assert answer.body["output_ThirdPartyConversationID"] == reference
        assert re.fullmatch("[0-9a-f]{32}", answer.body["output_ConversationID"])


@pytest.mark.parametrize("first", ["collect", "disburse"])
@pytest.mark.parametrize("second", ["collect", "disburse"])
async def test_a_repeated_conversation_is_refused_and_pays_nothing(
    mpesa: Mpesa, sim: Sim, first: str, second: str
) -> None:
    reference = secrets.token_hex(16)
    await getattr(mpesa, first)(PHONE, input_ThirdPartyConversationID=reference)
    answer = await getattr(mpesa, second)(PHONE, input_ThirdPartyConversationID=reference)
    assert (answer.status, answer.code) == (409, "INS-10")
    assert answer.body["output_TransactionID"] == "N/A"
    await asyncio.sleep(4 / SPEED)
    assert len((await sim("GET", "/api/book"))["movements"]) == 1


async def test_a_refused_field_does_not_use_up_the_conversation(mpesa: Mpesa) -> None:
    reference = secrets.token_hex(16)
    await mpesa.collect(PHONE, "ten", input_ThirdPartyConversationID=reference)
    assert (await mpesa.collect(PHONE, input_ThirdPartyConversationID=reference)).code == "INS-0"


async def test_a_query_finds_a_payment_by_each_of_its_names(mpesa: Mpesa, listener: Listener) -> None:
    reference = secrets.token_hex(16)
    accepted = await mpesa.disburse(PHONE, input_ThirdPartyConversationID=reference)
    await until(lambda: bool(listener.calls))
    receipt = listener.calls[0].body["input_TransactionID"]
    for name in (reference, accepted.body["output_ConversationID"], receipt):
        answer = await mpesa.ask(name)
        assert answer.status == 200
        assert answer.body["output_ResponseTransactionStatus"] == "Completed"
        assert answer.body["output_OriginalTransactionID"] == receipt
        assert answer.body["output_Reversed"] == "False"


@pytest.mark.usefixtures("unhurried")
async def test_a_query_says_well_asked_whatever_became_of_it(mpesa: Mpesa, sim: Sim) -> None:
    reference = secrets.token_hex(16)
    await mpesa.collect(PATIENT, input_ThirdPartyConversationID=reference)
    waiting = await mpesa.ask(reference)
    assert (waiting.code, waiting.body["output_ResponseTransactionStatus"]) == ("INS-0", "Pending")
    assert waiting.body["output_OriginalTransactionID"] == "N/A"
    await answer_prompt(sim, PATIENT, "decline")
    declined = await mpesa.ask(reference)
    assert (declined.code, declined.body["output_ResponseTransactionStatus"]) == ("INS-0", "Cancelled")


async def test_what_is_not_there_is_not_found(mpesa: Mpesa) -> None:
    answer = await mpesa.ask("nothing")
    assert (answer.status, answer.code) == (400, "INS-23")


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("input_QueryReference", "a-b", "INS-21"),
        ("input_QueryReference", "a" * 33, "INS-21"),
        ("input_QueryReference", "", "INS-20"),
        ("input_ServiceProviderCode", "999999", "INS-13"),
        ("input_ThirdPartyConversationID", "a-b", "INS-28"),
        ("input_ThirdPartyConversationID", "", "INS-20"),
        ("input_Country", "GHA", "INS-998"),
    ],
)
async def test_a_bad_query_is_refused_with_its_code(mpesa: Mpesa, field: str, value: str, code: str) -> None:
    answer = await mpesa.call("GET", "/queryTransactionStatus/", query=mpesa.question("1") | {field: value})
    assert (answer.status, answer.code) == (400, code)


async def test_a_callback_carries_both_ids_and_the_receipt(mpesa: Mpesa, listener: Listener) -> None:
    reference = secrets.token_hex(16)
    accepted = await mpesa.disburse(PHONE, input_ThirdPartyConversationID=reference)
    await until(lambda: bool(listener.calls))
    call = listener.calls[0]
    assert call.headers["Content-Type"] == "application/json"
    assert re.fullmatch("[0-9A-Z]{12}", call.body["input_TransactionID"])
    assert call.body == {
        "input_OriginalConversationID": accepted.body["output_ConversationID"],
        "input_TransactionID": call.body["input_TransactionID"],
        "input_ResultCode": "INS-0",
        "input_ResultDesc": "Request processed successfully",
        "input_ThirdPartyConversationID": reference,
    }


async def test_a_callback_of_a_failure_has_no_receipt(mpesa: Mpesa, listener: Listener) -> None:
    await mpesa.collect("+255754123101")
    await until(lambda: bool(listener.calls))
    assert listener.calls[0].body["input_TransactionID"] == "N/A"
