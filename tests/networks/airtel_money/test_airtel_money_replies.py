"""Airtel Money's replies, cell by cell of its tables: what the connector makes of each."""

from collections.abc import Callable

import pytest

from malipo.networks.airtel_money import replies as airtel_money_replies
from malipo.networks.airtel_money.connector import AirtelMoney
from malipo.networks.connector import Answer, PaymentInstruction, Type, Verdict
from tests.networks.airtel_money_spec import (
    ACCEPTED,
    ACCEPTED_WITH_A_POINT,
    ASK,
    CODES,
    COLLECT,
    COLLECTED,
    COLLECTION,
    DISBURSE,
    DISBURSEMENT,
    DONE,
    GET_TOKEN,
    LETTERS,
    NOT_COLLECTED,
    ORDERS,
    PAID_OUT,
    PAID_OUT_WITHOUT_STATUS,
    PAY,
    RECEIPT,
    RESULT_CODES,
    TOKEN_GIVEN,
    coded,
    query_reply,
    result_coded,
)
from tests.networks.scripted_server import Reply, ScriptedServer, http, received
from tests.networks.verdict_words import AMBIGUOUS, MISSING, PENDING, SUCCESS, UNKNOWN, Outcome

Connect = Callable[..., AirtelMoney]

TYPES = pytest.mark.parametrize("type_", list(Type))
PAGE = "<!DOCTYPE html><html><body>Not here</body></html>"


def order(**changes: object) -> PaymentInstruction:
    said = {name: getattr(COLLECTION, name) for name in COLLECTION.__struct_fields__}
    return PaymentInstruction(**(said | changes))


def check_enquiry(answer: Answer, status: int, outcome: Outcome) -> None:
    """By the table, where the enquiry went well; one that was itself refused says nothing."""
    (outcome if status == 200 or outcome is MISSING else UNKNOWN).check(answer)


@pytest.mark.parametrize("reply", [ACCEPTED, ACCEPTED_WITH_A_POINT])
async def test_success_to_a_collection_only_says_that_the_prompt_was_sent(
    server: ScriptedServer, airtel: Connect, reply: Reply
) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    server.expect(COLLECT, reply)
    answer = await airtel().send(COLLECTION)
    PENDING.check(answer)
    assert answer.provider_reference is None


async def test_a_disbursement_is_answered_at_once(server: ScriptedServer, airtel: Connect) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    without_reference = PAID_OUT.sent.partition(b"\r\n\r\n")[2].replace(b'"reference_id":"18764502354",', b"")
    server.expect(DISBURSE, PAID_OUT, PAID_OUT_WITHOUT_STATUS, http("200 OK", without_reference))
    connector = airtel()
    for reference in ("18764502354", "18764502354", RECEIPT):
        answer = await connector.send(DISBURSEMENT)
        SUCCESS.check(answer)
        assert answer.provider_reference == reference


@pytest.mark.parametrize(
    "body",
    [
        '{"status":{"response_code":"DP00900001001","code":"200","success":false,"result_code":"ESB000010"}}',
        '{"status":{"code":"200","success":true,"result_code":"ESB000010","message":"SUCCESS"}}',
        '{"data":{"transaction":{"id":"0K3ABCDEFGHJ5678","status":"SUCCESS"}},"status":{"code":"200","success":true}}',
        '{"data":{"transaction":{"id":"0K3ABCDEFGHJ5678","airtel_money_id":"MP210603.1234.L06941"}}}',
        '{"status":{"response_code":"DP00800001001","code":"200","success":true}}',
        '{"status":"TS"}',
        '{"transaction":{"status":"TS"}}',
        '{"data":{"status":"TS"}}',
    ],
)
async def test_a_disbursement_that_is_not_plainly_paid_is_not_taken_for_paid(
    server: ScriptedServer, airtel: Connect, body: str
) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    server.expect(DISBURSE, http("200 OK", body))
    answer = await airtel().send(DISBURSEMENT)
    assert not answer.verdict.is_definite


def read_payment(reply: Reply, type_: Type) -> Answer:
    return airtel_money_replies.of_payment(received(reply), ORDERS[type_])


def read_enquiry(reply: Reply, type_: Type) -> Answer:
    return airtel_money_replies.of_query(received(reply), ORDERS[type_])


@pytest.mark.parametrize(("type_", "code", "on_payment", "on_enquiry"), CODES)
def test_a_payment_is_read_by_its_response_code(
    type_: Type, code: str, on_payment: Outcome, on_enquiry: Outcome
) -> None:
    for status in (200, 400, 403, 409):
        answer = read_payment(coded(status, code), type_)
        on_payment.check(answer)
        assert answer.provider_reference is None
        if on_payment.verdict is Verdict.REFUSED:
            assert answer.code == code
            assert "Words for people" in answer.detail
    for status in (408, 500, 502, 503, 504):
        UNKNOWN.check(read_payment(coded(status, code), type_))


@pytest.mark.parametrize(("type_", "code", "on_payment", "on_enquiry"), CODES)
def test_an_enquiry_without_letters_is_read_by_its_response_code(
    type_: Type, code: str, on_payment: Outcome, on_enquiry: Outcome
) -> None:
    for status in (200, 400):
        answer = read_enquiry(coded(status, code, success=on_enquiry is SUCCESS), type_)
        check_enquiry(answer, status, on_enquiry)
    for status in (408, 500, 502, 503, 504):
        UNKNOWN.check(read_enquiry(coded(status, code), type_))


@pytest.mark.parametrize(("code", "on_payment", "on_enquiry"), RESULT_CODES)
def test_without_a_response_code_the_result_code_is_read(code: str, on_payment: Outcome, on_enquiry: Outcome) -> None:
    for type_ in Type:
        for status in (200, 400):
            for reply in (result_coded(status, code), coded(status, "", result_code=code), coded(status, code)):
                on_payment.check(read_payment(reply, type_))
                check_enquiry(read_enquiry(reply, type_), status, on_enquiry)
        UNKNOWN.check(read_payment(result_coded(500, code), type_))


@TYPES
async def test_an_ok_that_names_no_outcome_is_none(server: ScriptedServer, airtel: Connect, type_: Type) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    server.expect(PAY[type_], result_coded(200, "ESB000010"))
    server.expect(ASK[type_], result_coded(200, "ESB000010"))
    connector = airtel()
    assert not (await connector.send(ORDERS[type_])).verdict.is_definite
    assert not (await connector.query(ORDERS[type_])).verdict.is_definite


@pytest.mark.parametrize(("letters", "collection", "disbursement"), LETTERS)
@TYPES
def test_an_enquiry_is_read_by_its_letters_whatever_the_code_beside_them(
    type_: Type, letters: str, collection: Outcome, disbursement: Outcome
) -> None:
    outcome = collection if type_ is Type.COLLECTION else disbursement
    family = "DP008" if type_ is Type.COLLECTION else "DP009"
    for code in (f"{family}00001001", f"{family}00001006", f"{family}00001000", "", "ESB000008"):
        for success in (True, False):
            outcome.check(read_enquiry(query_reply(ORDERS[type_], letters, code=code, success=success), type_))
    for status in (408, 500, 502, 503, 504):
        UNKNOWN.check(read_enquiry(query_reply(ORDERS[type_], letters, code="", success=True, status=status), type_))


@pytest.mark.parametrize("letters", ["TX", "SUCCESS", "Success.", "T", "", None, 1, True, ["TS"], {"TS": "TS"}])
@TYPES
async def test_letters_that_nobody_knows_leave_the_word_to_the_code(
    server: ScriptedServer, airtel: Connect, type_: Type, letters: object
) -> None:
    family = "DP008" if type_ is Type.COLLECTION else "DP009"
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    server.expect(
        ASK[type_],
        query_reply(ORDERS[type_], letters, code=f"{family}00001006", success=True, airtel_money_id=RECEIPT),
        query_reply(ORDERS[type_], letters, code=f"{family}00001003", success=False),
        query_reply(ORDERS[type_], letters, code="", success=True, airtel_money_id=RECEIPT),
    )
    connector = airtel()
    assert not (await connector.query(ORDERS[type_])).verdict.is_definite
    assert (await connector.query(ORDERS[type_])).verdict in (Verdict.REFUSED, Verdict.UNKNOWN)
    UNKNOWN.check(await connector.query(ORDERS[type_]))


async def test_the_portals_own_samples_are_read_as_the_portal_means_them(
    server: ScriptedServer, airtel: Connect
) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    server.expect(ASK[Type.COLLECTION], COLLECTED, NOT_COLLECTED)
    server.expect(ASK[Type.DISBURSEMENT], DONE[Type.DISBURSEMENT])
    connector = airtel()
    answer = await connector.query(COLLECTION)
    SUCCESS.check(answer)
    assert answer.provider_reference == RECEIPT
    answer = await connector.query(COLLECTION)
    assert (answer.verdict, answer.alert) == (Verdict.REFUSED, None)
    answer = await connector.query(DISBURSEMENT)
    SUCCESS.check(answer)
    assert answer.provider_reference == "18764502354"


async def test_money_given_back_to_the_customer_is_a_failure_that_calls_the_operator(
    server: ScriptedServer, airtel: Connect
) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    server.expect(ASK[Type.COLLECTION], query_reply(COLLECTION, "TR", code="DP00800001001", success=True))
    AMBIGUOUS.check(await airtel().query(COLLECTION))


@pytest.mark.parametrize(("letters", "collection", "disbursement"), LETTERS)
async def test_letters_in_the_answer_to_a_payment_decide(
    server: ScriptedServer, airtel: Connect, letters: str, collection: Outcome, disbursement: Outcome
) -> None:
    """A collection's are not documented, for it is answered before the customer is: there they may be left unread."""
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    server.expect(DISBURSE, query_reply(DISBURSEMENT, letters, code="", success=True))
    server.expect(COLLECT, query_reply(COLLECTION, letters, code="", success=True))
    connector = airtel()
    disbursement.check(await connector.send(DISBURSEMENT))
    assert (await connector.send(COLLECTION)).verdict in (collection.verdict, Verdict.WAITING, Verdict.UNKNOWN)


@pytest.mark.parametrize(("type_", "code"), [(Type.COLLECTION, "DP00900001001"), (Type.DISBURSEMENT, "DP00800001001")])
async def test_a_success_of_the_other_kind_is_none(
    server: ScriptedServer, airtel: Connect, type_: Type, code: str
) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    server.expect(PAY[type_], coded(200, code, result_code="ESB000010", success=True))
    server.expect(ASK[type_], coded(200, code, result_code="ESB000010", success=True))
    connector = airtel()
    assert not (await connector.send(ORDERS[type_])).verdict.is_definite
    assert not (await connector.query(ORDERS[type_])).verdict.is_definite


@TYPES
@pytest.mark.parametrize("status", [400, 403, 404, 405, 409, 415, 422])
async def test_an_error_that_airtel_did_not_word_says_nothing(
    server: ScriptedServer, airtel: Connect, type_: Type, status: int
) -> None:
    """It may be a proxy's, and it may be the answer to a second sending."""
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    connector = airtel()
    for body in ("{}", '{"error":"blocked"}', '{"status":"error"}', '{"status":400,"message":"Bad request"}'):
        server.expect(PAY[type_], http(f"{status} Whatever", body))
        UNKNOWN.check(await connector.send(ORDERS[type_]))


@TYPES
async def test_an_unknown_id_is_missing_only_in_airtels_own_words(
    server: ScriptedServer, airtel: Connect, type_: Type
) -> None:
    not_found = "DP00800001025" if type_ is Type.COLLECTION else "DP00900001015"
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    connector = airtel()
    for reply in (
        coded(404, not_found),
        coded(200, not_found),
        coded(404, "", result_code="ESB000045"),
        result_coded(404, "ESB000045"),
        result_coded(200, "ESB000045"),
    ):
        server.expect(ASK[type_], reply)
        MISSING.check(await connector.query(ORDERS[type_]))
    for reply in (
        # A wrong path of ours would be answered like this too, for ever.
        http("404 Not Found", '{"status":{"code":"404","message":"Transaction not found","success":false}}'),
        http("404 Not Found", PAGE, media_type="text/html"),
        http("404 Not Found"),
        http("404 Not Found", "{}"),
        http("404 Not Found", '{"error":"no route matched"}'),
        http("404 Not Found", '{"status":404,"error":"Not Found","path":"/standard/v1/payments/"}'),
        http("404 Not Found", '{"status":"not found"}'),
    ):
        server.expect(ASK[type_], reply)
        UNKNOWN.check(await connector.query(ORDERS[type_]))


@TYPES
async def test_a_payment_sent_to_a_page_that_is_not_there_is_neither_paid_nor_missing(
    server: ScriptedServer, airtel: Connect, type_: Type
) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    server.expect(PAY[type_], http("404 Not Found", PAGE, media_type="text/html"))
    UNKNOWN.check(await airtel().send(ORDERS[type_]))


@TYPES
@pytest.mark.parametrize("body", ["", PAGE, '{"status":{"code":"429","success":false,"message":"Slow down"}}'])
async def test_too_many_requests_means_that_this_one_was_not_taken_in(
    server: ScriptedServer, airtel: Connect, type_: Type, body: str
) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    server.expect(PAY[type_], http("429 Too Many Requests", body, "Retry-After: 5"))
    server.expect(ASK[type_], http("429 Too Many Requests", body, "Retry-After: 5"))
    connector = airtel()
    assert (await connector.send(ORDERS[type_])).verdict is Verdict.UNSENT
    UNKNOWN.check(await connector.query(ORDERS[type_]))
