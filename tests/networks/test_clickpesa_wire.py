"""ClickPesa, byte for byte: an aggregator that reaches HaloPesa both ways, and signs what it is asked to."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from malipo.networks.clickpesa import Clickpesa
from malipo.networks.contract import Answer, FailureCode, Order, Type, Verdict
from malipo.networks.contract import Callback as Heard
from malipo.networks.wire import Wire
from malipo.settings import Settings
from tests.networks.clickpesa_sheet import (
    API_KEY,
    ASK,
    CHECKSUM_KEY,
    CLIENT_ID,
    COLLECTED,
    COLLECTION,
    DISBURSEMENT,
    DONE,
    GET_TOKEN,
    NEXT_TOKEN,
    NEXT_TOKEN_GIVEN,
    ORDERS,
    PAY,
    PAY_OUT,
    PUSH,
    RECEIPT,
    REPLIES,
    STARTED,
    STATUSES,
    TOKEN,
    TOKEN_ENDED,
    TOKEN_GIVEN,
    body,
    listed,
    reply,
    settings,
)
from tests.networks.hostile import UNREADABLE, WRONG_SHAPES
from tests.networks.outcome import (
    AMBIGUOUS,
    FAIL_CFG,
    FLOAT_SHORT,
    INSUFFICIENT,
    LIMIT,
    PENDING,
    RECIPIENT,
    SUCCESS,
    UNKNOWN,
    Outcome,
    assert_fit_to_keep,
)
from tests.networks.teller import After, Reply, Request, Teller, http

Connect = Callable[..., Clickpesa]

TYPES = pytest.mark.parametrize("type_", list(Type))


@pytest.fixture
def clickpesa(teller: Teller, wire: Wire) -> Connect:
    def connect(**changes: Any) -> Clickpesa:
        return Clickpesa(Settings(**settings(teller.port) | changes), wire)

    return connect


@pytest.fixture
def offline() -> Connect:
    """One that only reads: nobody is at the other end."""

    def connect(**changes: Any) -> Clickpesa:
        return Clickpesa(Settings(**settings(9) | changes), Wire())

    return connect


def order(base: Order, **changes: object) -> Order:
    said = {name: getattr(base, name) for name in base.__struct_fields__}
    return Order(**(said | changes))


async def sent(teller: Teller, clickpesa: Connect, type_: Type, said: Reply, **changes: Any) -> Answer:
    teller.always(GET_TOKEN, TOKEN_GIVEN)
    teller.expect(PAY[type_], said)
    return await clickpesa(**changes).send(ORDERS[type_])


async def asked(teller: Teller, clickpesa: Connect, type_: Type, said: Reply) -> Answer:
    teller.always(GET_TOKEN, TOKEN_GIVEN)
    teller.expect(ASK[type_], said)
    return await clickpesa().ask(ORDERS[type_])


# What is sent.


async def test_a_token_is_asked_for_with_two_headers(teller: Teller, clickpesa: Connect) -> None:
    await sent(teller, clickpesa, Type.COLLECTION, STARTED)
    request = teller.heard[0]
    assert (request.method, request.target) == ("POST", "/third-parties/generate-token")
    assert (request.header("client-id"), request.header("api-key")) == (CLIENT_ID, API_KEY)
    assert "authorization" not in request.header_names
    assert request.body in (b"", b"{}")


@TYPES
async def test_a_payment_is_this_object(teller: Teller, clickpesa: Connect, type_: Type) -> None:
    PENDING.check(await sent(teller, clickpesa, type_, REPLIES[type_]))
    _, request = teller.heard
    # A collection's amount is text, a payout's a number.
    expected = {
        Type.COLLECTION: '{"amount":"1500","currency":"TZS","orderReference":"0K3ABCDEFGHJ1234","phoneNumber":"255621000001"}',
        Type.DISBURSEMENT: '{"amount":250000,"currency":"TZS","orderReference":"0K3ABCDEFGHJ5678","phoneNumber":"255692345678"}',
    }
    said = json.loads(request.body)
    assert json.dumps(said, sort_keys=True, separators=(",", ":")) == expected[type_]
    assert f"{request.method} {request.target}" == PAY[type_]
    assert_headers(request, TOKEN)


def assert_headers(request: Request, token: str) -> None:
    assert request.header("Authorization") == f"Bearer {token}"
    assert request.method == "GET" or request.header("Content-Type") == "application/json"
    assert "api-key" not in request.header_names
    assert len(request.header_names) == len(set(request.header_names))


# printf %s '<the object above>' | openssl dgst -sha256 -hmac CHKclickpesa7f3a
# printf %s '1500TZS0K3ABCDEFGHJ1234255621000001' | openssl dgst -sha256 -hmac CHKclickpesa7f3a
# printf %s '250000TZS0K3ABCDEFGHJ5678255692345678' | openssl dgst -sha256 -hmac CHKclickpesa7f3a
@pytest.mark.parametrize(
    ("type_", "form", "checksum"),
    [
        (Type.COLLECTION, "canonical", "6ac8408c42c5d90810b58d2fa92b74d115979be8e8dad7add62218029dbab376"),
        (Type.DISBURSEMENT, "canonical", "85ec21ca2d18f44c4636451ae4258830ab51333cdd2a604831f179d3e823c076"),
        (Type.COLLECTION, "concatenated", "bd3b36d4c81a1ed296046a65ec7a64eddef3ba563ae022ed8dfd4697be0b13cf"),
        (Type.DISBURSEMENT, "concatenated", "59284fee22b33fbb7d8aa0a15ed1946adebd403198bbc58d92de8dee80aa140c"),
    ],
)
async def test_a_payment_carries_a_checksum_where_one_is_agreed(
    teller: Teller, clickpesa: Connect, type_: Type, form: str, checksum: str
) -> None:
    await sent(teller, clickpesa, type_, REPLIES[type_], clickpesa_checksum_key=CHECKSUM_KEY, clickpesa_checksum=form)
    said = json.loads(teller.heard[1].body)
    assert said.pop("checksum") == checksum
    said.pop("checksumMethod", None)
    assert set(said) == {"amount", "currency", "orderReference", "phoneNumber"}
    assert CHECKSUM_KEY.encode() not in teller.heard[1].raw


@TYPES
async def test_a_question_names_our_reference_in_its_path(teller: Teller, clickpesa: Connect, type_: Type) -> None:
    SUCCESS.check(await asked(teller, clickpesa, type_, DONE[type_]))
    request = teller.heard[1]
    assert (f"GET {request.target}", request.body) == (ASK[type_], b"")
    assert_headers(request, TOKEN)


# The token.


@pytest.mark.parametrize("said", ["Bearer " + TOKEN, TOKEN])
async def test_a_token_is_taken_with_its_first_word_or_without(teller: Teller, clickpesa: Connect, said: str) -> None:
    teller.expect(GET_TOKEN, http("200 OK", json.dumps({"success": True, "token": said})))
    teller.expect(PUSH, STARTED)
    PENDING.check(await clickpesa().send(COLLECTION))
    assert teller.heard[1].header("Authorization") == f"Bearer {TOKEN}"


async def test_a_long_token_is_sent_whole(teller: Teller, clickpesa: Connect) -> None:
    token = "eyJ" + "x" * 1500
    teller.expect(GET_TOKEN, http("200 OK", json.dumps({"success": True, "token": f"Bearer {token}"})))
    teller.expect(PUSH, STARTED)
    PENDING.check(await clickpesa().send(COLLECTION))
    assert teller.heard[1].header("Authorization") == f"Bearer {token}"


async def test_one_token_serves_many_calls_at_once(teller: Teller, clickpesa: Connect) -> None:
    def echo(request: Request) -> Reply:
        return reply(Type.COLLECTION, status="PROCESSING", orderReference=json.loads(request.body)["orderReference"])

    teller.expect(GET_TOKEN, replace(TOKEN_GIVEN, delay_seconds=0.05))
    teller.always(PUSH, echo)
    teller.always(ASK[Type.COLLECTION], COLLECTED)
    connector = clickpesa()
    answers = await asyncio.gather(*(connector.send(order(COLLECTION, key=f"0K3ABCDEFGHJ{n:04}")) for n in range(30)))
    assert {each.verdict for each in answers} == {Verdict.WAITING}
    SUCCESS.check(await connector.ask(COLLECTION))
    assert len({each.body for each in teller.on(PUSH)}) == len(teller.on(PUSH)) == 30


@TYPES
async def test_an_ended_token_is_renewed_once_and_the_same_bytes_go_again(
    teller: Teller, clickpesa: Connect, type_: Type
) -> None:
    teller.expect(GET_TOKEN, TOKEN_GIVEN, NEXT_TOKEN_GIVEN)
    teller.expect(PAY[type_], TOKEN_ENDED, REPLIES[type_])
    PENDING.check(await clickpesa(clickpesa_checksum_key=CHECKSUM_KEY).send(ORDERS[type_]))
    first, second = teller.on(PAY[type_])
    assert first.body == second.body
    assert_headers(first, TOKEN)
    assert_headers(second, NEXT_TOKEN)


@TYPES
async def test_a_token_refused_again_is_not_tried_a_third_time(teller: Teller, clickpesa: Connect, type_: Type) -> None:
    teller.expect(GET_TOKEN, TOKEN_GIVEN, NEXT_TOKEN_GIVEN)
    teller.expect(PAY[type_], TOKEN_ENDED, TOKEN_ENDED)
    answer = await clickpesa().send(ORDERS[type_])
    assert answer.verdict in (Verdict.REFUSED, Verdict.UNKNOWN), answer
    assert answer.verdict is Verdict.UNKNOWN or answer.alert is not None


@TYPES
async def test_a_question_whose_token_ended_is_put_again(teller: Teller, clickpesa: Connect, type_: Type) -> None:
    teller.expect(GET_TOKEN, TOKEN_GIVEN, NEXT_TOKEN_GIVEN)
    teller.expect(ASK[type_], TOKEN_ENDED, DONE[type_])
    SUCCESS.check(await clickpesa().ask(ORDERS[type_]))


@TYPES
async def test_a_question_whose_token_is_refused_again_says_nothing(
    teller: Teller, clickpesa: Connect, type_: Type
) -> None:
    teller.expect(GET_TOKEN, TOKEN_GIVEN, NEXT_TOKEN_GIVEN)
    teller.expect(ASK[type_], TOKEN_ENDED, TOKEN_ENDED)
    UNKNOWN.check(await clickpesa().ask(ORDERS[type_]))


@pytest.mark.parametrize(
    "said",
    [
        http("401 Unauthorized", '{"message":"Invalid API key"}'),
        http("403 Forbidden", '{"message":"Forbidden"}'),
        http("200 OK", "{}"),
        http("200 OK", '{"success":false,"token":""}'),
        http("200 OK", '{"success":true,"token":null}'),
        http("200 OK", '{"success":true,"token":"Bearer "}'),
        http("200 OK", '{"success":true,"token":"Bearer a\\r\\nX-Evil: 1"}'),
        http("200 OK", '{"success":true,"token":["Bearer a"]}'),
        http("429 Too Many Requests", '{"message":"Slow down"}'),
        http("500 Internal Server Error", '{"success":true}'),
        http("200 OK", "<html></html>", media_type="text/html"),
        Reply(after=After.RESET),
    ],
)
@TYPES
async def test_without_a_token_nothing_is_sent(teller: Teller, clickpesa: Connect, said: Reply, type_: Type) -> None:
    teller.expect(GET_TOKEN, said, said)
    answer = await clickpesa().send(ORDERS[type_])
    assert answer.verdict in (Verdict.UNSENT, Verdict.REFUSED), answer
    # Only refused credentials may end a payment; anything else is passing trouble.
    is_refusal = said.sent.startswith((b"HTTP/1.1 401", b"HTTP/1.1 403"))
    assert answer.verdict is Verdict.UNSENT or (is_refusal and answer.alert is not None), answer
    assert answer.verdict is Verdict.REFUSED or answer.is_fault, answer
    UNKNOWN.check(await clickpesa().ask(ORDERS[type_]))
    assert teller.lines == [GET_TOKEN, GET_TOKEN]


# What its replies mean.


@TYPES
@pytest.mark.parametrize(("status", "verdict"), STATUSES)
async def test_a_payment_is_read_by_its_status_wherever_it_is_told(
    teller: Teller, clickpesa: Connect, type_: Type, status: str, verdict: Verdict
) -> None:
    teller.always(GET_TOKEN, TOKEN_GIVEN)
    connector = clickpesa()
    teller.expect(PAY[type_], reply(type_, status=status), reply(type_, status=status, http_status=201))
    object_ = body(type_, status=status)
    other = body(type_, status="FAILED" if verdict is Verdict.CONFIRMED else "SUCCESS")
    teller.expect(ASK[type_], reply(type_, status=status), listed(object_), listed(object_, other))
    answers = [await connector.send(ORDERS[type_]) for _ in range(2)]
    answers += [await connector.ask(ORDERS[type_]) for _ in range(3)]
    for answer in answers:
        failure_code = FailureCode.REJECTED if verdict is Verdict.REFUSED else None
        assert (answer.verdict, answer.failure_code) == (verdict, failure_code), answer
        assert verdict is Verdict.UNKNOWN or not answer.is_fault
        assert_fit_to_keep(answer)


@TYPES
@pytest.mark.parametrize("status", [None, True, 1, [], {}, ["SUCCESS"], "S", "SUCCES", "NOT SUCCESS"])
async def test_a_strange_status_is_unknown(teller: Teller, clickpesa: Connect, type_: Type, status: object) -> None:
    UNKNOWN.check(await sent(teller, clickpesa, type_, reply(type_, status=status)))
    UNKNOWN.check(await asked(teller, clickpesa, type_, listed(body(type_, status=status))))


@TYPES
@pytest.mark.parametrize("status", ["SUCCESS", "FAILED", "PROCESSING"])
async def test_a_reply_that_names_another_payment_is_not_believed(
    teller: Teller, clickpesa: Connect, type_: Type, status: str
) -> None:
    other = body(type_, status=status, orderReference="0K3ABCDEFGHJ9999")
    UNKNOWN.check(await sent(teller, clickpesa, type_, http("200 OK", json.dumps(other))))
    UNKNOWN.check(await asked(teller, clickpesa, type_, http("200 OK", json.dumps(other))))
    UNKNOWN.check(await asked(teller, clickpesa, type_, listed(other, body(type_, status=status))))


@TYPES
@pytest.mark.parametrize("said", ["[]", "[[]]", "[null]", "null", "{}", '"SUCCESS"', "[1]"])
async def test_an_answer_without_a_payment_decides_nothing(
    teller: Teller, clickpesa: Connect, type_: Type, said: str
) -> None:
    assert not (await asked(teller, clickpesa, type_, http("200 OK", said))).verdict.is_definite
    UNKNOWN.check(await sent(teller, clickpesa, type_, http("200 OK", said)))


async def test_a_collection_tells_receipt_amount_and_phone(teller: Teller, clickpesa: Connect) -> None:
    answer = await asked(teller, clickpesa, Type.COLLECTION, COLLECTED)
    assert (answer.provider_reference, answer.amount, answer.phone) == (RECEIPT, 1500, "+255621000001")


async def test_a_payout_tells_the_amount_that_was_ordered_and_not_the_one_with_the_fee(
    teller: Teller, clickpesa: Connect
) -> None:
    answer = await asked(teller, clickpesa, Type.DISBURSEMENT, DONE[Type.DISBURSEMENT])
    assert (answer.amount, answer.phone) == (250000, "+255692345678")
    # Where only the sum with the fee is told, the amount is lacking.
    bare = await asked(
        teller, clickpesa, Type.DISBURSEMENT, reply(Type.DISBURSEMENT, status="SUCCESS", amount=251500, fee=1500)
    )
    assert (bare.verdict, bare.amount, bare.lacks_amount) == (Verdict.CONFIRMED, None, True)


@TYPES
async def test_a_success_without_an_amount_lacks_it_and_nothing_else_does(
    teller: Teller, clickpesa: Connect, type_: Type
) -> None:
    for status, verdict in STATUSES:
        answer = await asked(teller, clickpesa, type_, reply(type_, status=status))
        assert answer.lacks_amount == (verdict is Verdict.CONFIRMED), answer
    assert not (await asked(teller, clickpesa, type_, DONE[type_])).lacks_amount


@pytest.mark.parametrize(
    ("said", "amount"),
    [
        (1500, 1500),
        ("1500", 1500),
        ("1500.00", 1500),
        (1500.0, 1500),
        (1, 1),
        (0, 0),
        ("0", 0),
        ("1500.5", -1),
        ("x", -1),
    ],
)
async def test_an_amount_is_a_number_or_nobodys(teller: Teller, clickpesa: Connect, said: object, amount: int) -> None:
    for type_, told in ((Type.COLLECTION, {"collectedAmount": said}), (Type.DISBURSEMENT, {"order": {"amount": said}})):
        answer = await asked(teller, clickpesa, type_, reply(type_, status="SUCCESS", **told))
        assert answer.amount == amount if amount > 0 else (answer.amount is not None and answer.amount < 1), answer


@pytest.mark.parametrize("said", ["255621000001", "+255621000001"])
async def test_a_phone_is_told_as_ours_are(teller: Teller, clickpesa: Connect, said: str) -> None:
    for type_, told in (
        (Type.COLLECTION, {"paymentPhoneNumber": said}),
        (Type.DISBURSEMENT, {"beneficiary": {"accountNumber": said}}),
    ):
        answer = await asked(teller, clickpesa, type_, reply(type_, status="SUCCESS", **told))
        assert answer.phone == "+255621000001"


@pytest.mark.parametrize(
    "wrong", [None, [], 7, "x", {"amount": None, "accountNumber": None}, {"amount": []}, {"amount": {}}]
)
async def test_strange_parts_harm_nobody(teller: Teller, clickpesa: Connect, wrong: object) -> None:
    for type_ in Type:
        said = reply(
            type_, status="SUCCESS", order=wrong, beneficiary=wrong, collectedAmount=wrong, paymentPhoneNumber=wrong,
            paymentReference=wrong, id=wrong, message=wrong,
        )  # fmt: skip
        assert_fit_to_keep(await asked(teller, clickpesa, type_, said))


# Errors.


@pytest.mark.parametrize(
    ("type_", "message", "outcome"),
    [
        (Type.COLLECTION, "Validation failed", AMBIGUOUS),
        (Type.DISBURSEMENT, "Validation failed", AMBIGUOUS),
        (Type.COLLECTION, "Invalid checksum", FAIL_CFG),
        (Type.DISBURSEMENT, "Invalid checksum", FAIL_CFG),
        # The customer's number, and never our configuration.
        (Type.COLLECTION, "Invalid / unsupported phone number", RECIPIENT),
        (Type.DISBURSEMENT, "Invalid / unsupported phone number", RECIPIENT),
        (Type.DISBURSEMENT, "invalid phoneNumber", RECIPIENT),
        (Type.COLLECTION, "Customer has insufficient funds", INSUFFICIENT),
        (Type.DISBURSEMENT, "Insufficient balance", FLOAT_SHORT),
        (Type.DISBURSEMENT, "insufficient balance in your account", FLOAT_SHORT),
        (Type.COLLECTION, "Amount exceeds the maximum limit", LIMIT),
        (Type.DISBURSEMENT, "Amount exceeds the maximum limit", LIMIT),
    ],
)
async def test_a_bad_request_is_refused_for_its_reason(
    teller: Teller, clickpesa: Connect, type_: Type, message: str, outcome: Outcome
) -> None:
    said = http("400 Bad Request", json.dumps({"statusCode": 400, "message": message, "error": "Bad Request"}))
    outcome.check(await sent(teller, clickpesa, type_, said))
    # A question that is refused says nothing of the payment.
    UNKNOWN.check(await asked(teller, clickpesa, type_, said))


@TYPES
@pytest.mark.parametrize(
    "message",
    [
        "Order reference already used",
        "orderReference already exists",
        "Duplicate order reference",
        "Order with reference exists",
    ],
)
async def test_a_reference_that_exists_is_asked_about_whatever_the_status(
    teller: Teller, clickpesa: Connect, type_: Type, message: str
) -> None:
    """The first of the two may have been paid."""
    for status in ("409 Conflict", "400 Bad Request"):
        UNKNOWN.check(await sent(teller, clickpesa, type_, http(status, json.dumps({"message": message}))))


@TYPES
@pytest.mark.parametrize(
    "said",
    ["", "{}", '{"message":""}', '{"message":null}', '{"error":"no"}', "<html>blocked</html>", "[]", '{"message":0}'],
)
async def test_a_bad_request_that_says_nothing_refuses_nothing(
    teller: Teller, clickpesa: Connect, type_: Type, said: str
) -> None:
    UNKNOWN.check(await sent(teller, clickpesa, type_, http("400 Bad Request", said)))


@TYPES
@pytest.mark.parametrize("message", ["Payout is being processed", "Something went wrong", "Not now", "Forbidden"])
async def test_a_bad_request_in_words_that_nobody_has_listed_refuses_nothing(
    teller: Teller, clickpesa: Connect, type_: Type, message: str
) -> None:
    answer = await sent(teller, clickpesa, type_, http("400 Bad Request", json.dumps({"message": message})))
    UNKNOWN.check(answer)
    assert not answer.is_fault
    assert not answer.refuses_us


async def test_an_account_that_may_not_collect_is_refused_and_its_query_says_nothing(
    teller: Teller, clickpesa: Connect
) -> None:
    said = http("404 Not Found", '{"message":"Account has no payment collection methods"}')
    FAIL_CFG.check(await sent(teller, clickpesa, Type.COLLECTION, said))
    UNKNOWN.check(await asked(teller, clickpesa, Type.COLLECTION, said))
    for other in ("Not found", "Order not found"):
        reply_ = http("404 Not Found", json.dumps({"message": other}))
        UNKNOWN.check(await sent(teller, clickpesa, Type.COLLECTION, reply_))


@TYPES
@pytest.mark.parametrize("status", [402, 403, 404, 405, 409, 410, 415, 422, 425])
async def test_another_error_says_nothing(teller: Teller, clickpesa: Connect, type_: Type, status: int) -> None:
    for said in ('{"message":"Insufficient balance"}', "<html></html>", json.dumps(body(type_, status="FAILED"))):
        UNKNOWN.check(await sent(teller, clickpesa, type_, http(f"{status} Whatever", said)))
    said = '{"message":"Not found"}'
    assert not (await asked(teller, clickpesa, type_, http(f"{status} Whatever", said))).verdict.is_definite
    if status == 404:  # the reference is missing, or the whole feature is: nobody can tell
        UNKNOWN.check(await asked(teller, clickpesa, type_, http("404 Not Found", said)))


@TYPES
async def test_too_many_requests_were_not_taken_in(teller: Teller, clickpesa: Connect, type_: Type) -> None:
    said = http("429 Too Many Requests", '{"message":"Too many requests"}')
    answer = await sent(teller, clickpesa, type_, said)
    assert (answer.verdict, answer.is_fault) == (Verdict.UNSENT, True), answer
    UNKNOWN.check(await asked(teller, clickpesa, type_, said))


@TYPES
@pytest.mark.parametrize("status", [408, 500, 502, 503, 504])
async def test_trouble_says_nothing_whatever_stands_in_it(
    teller: Teller, clickpesa: Connect, type_: Type, status: int
) -> None:
    for word in ("SUCCESS", "FAILED"):
        said = reply(type_, status=word, http_status=status)
        for answer in (await sent(teller, clickpesa, type_, said), await asked(teller, clickpesa, type_, said)):
            UNKNOWN.check(answer)
            assert answer.is_fault


@TYPES
async def test_a_success_in_a_bad_request_is_not_believed(teller: Teller, clickpesa: Connect, type_: Type) -> None:
    for status in (400, 404, 409, 422):
        said = reply(type_, status="SUCCESS", http_status=status)
        assert (await sent(teller, clickpesa, type_, said)).verdict is not Verdict.CONFIRMED
        assert (await asked(teller, clickpesa, type_, said)).verdict is not Verdict.CONFIRMED


# Webhooks.

RECEIVED = (
    '{"event":"PAYMENT RECEIVED","data":{"status":"SUCCESS","paymentReference":"HP2611150001","id":"LCP27DE15",'
    '"orderReference":"0K3ABCDEFGHJ1234","collectedAmount":"1500","collectedCurrency":"TZS","message":"Payment received",'
    '"customer":{"customerPhoneNumber":"255621000001","customerName":"Müller & Sons / \\"Juma\\"",'
    '"customerEmail":"a@b.tz"},"paymentPhoneNumber":"255621000001","channel":"HALOPESA","clientId":"IDabc"}'
)
# printf %s '{"data":{"channel":"HALOPESA","clientId":"IDabc","collectedAmount":"1500","collectedCurrency":"TZS",
#   "customer":{"customerEmail":"a@b.tz","customerName":"Müller & Sons / \"Juma\"","customerPhoneNumber":"255621000001"},
#   "id":"LCP27DE15","message":"Payment received","orderReference":"0K3ABCDEFGHJ1234","paymentPhoneNumber":"255621000001",
#   "paymentReference":"HP2611150001","status":"SUCCESS"},"event":"PAYMENT RECEIVED"}'   (on one line)
#   | openssl dgst -sha256 -hmac CHKclickpesa7f3a
RECEIVED_CHECKSUM = "2512c6797c3dc2af00cff2cbb82462c6609134201002615f04c93a555fe56fe3"
REVERSED = (
    '{"data":{"orderReference":"0K3ABCDEFGHJ5678","status":"REVERSED","id":"PO1","fee":1500,"currency":"TZS","amount":251500,'
    '"order":{"currency":"TZS","amount":250000},"beneficiary":{"amount":250000,"accountNumber":"255692345678",'
    '"accountName":"JUMA"}},"event":"PAYOUT REVERSED"'
)
# printf %s '{"data":{"amount":251500,"beneficiary":{"accountName":"JUMA","accountNumber":"255692345678","amount":250000},
#   "currency":"TZS","fee":1500,"id":"PO1","order":{"amount":250000,"currency":"TZS"},"orderReference":"0K3ABCDEFGHJ5678",
#   "status":"REVERSED"},"event":"PAYOUT REVERSED"}'   (on one line) | openssl dgst -sha256 -hmac CHKclickpesa7f3a
REVERSED_CHECKSUM = "0a27048becdf2313572bb794c118f0b6a1811264897c11127b01a07991175642"


def heard(text: str) -> Heard:
    return Heard({"content-type": "application/json"}, text.encode())


@pytest.mark.parametrize("method", ["", ',"checksumMethod":"canonical"'])
@pytest.mark.parametrize(
    ("said", "checksum", "key", "verdict", "amount", "phone"),
    [
        (RECEIVED, RECEIVED_CHECKSUM, COLLECTION.key, Verdict.CONFIRMED, 1500, "+255621000001"),
        (REVERSED, REVERSED_CHECKSUM, DISBURSEMENT.key, Verdict.REFUSED, 250000, "+255692345678"),
    ],
)
def test_a_webhook_with_the_right_checksum_is_signed(
    offline: Connect, said: str, checksum: str, key: str, verdict: Verdict, amount: int, phone: str, method: str
) -> None:
    connector = offline(clickpesa_checksum_key=CHECKSUM_KEY)
    news = connector.read(heard(f'{said},"checksum":"{checksum}"{method}}}'))
    assert news is not None
    assert news.is_signed
    assert (news.key, news.answer.verdict, news.answer.amount, news.answer.phone) == (key, verdict, amount, phone)
    acknowledgement = connector.acknowledge(heard(said), news)
    assert acknowledgement.status == 200


@pytest.mark.parametrize(
    "text",
    [
        f'{RECEIVED},"checksum":"{REVERSED_CHECKSUM}"}}',
        f'{RECEIVED},"checksum":"{"0" * 64}"}}',
        f'{RECEIVED},"checksum":"{RECEIVED_CHECKSUM[:-1]}"}}',
        f'{RECEIVED},"checksum":"é"}}',
        f'{RECEIVED},"x":1,"checksum":"{RECEIVED_CHECKSUM}"}}',
        f'{RECEIVED.replace("1500", "1501")},"checksum":"{RECEIVED_CHECKSUM}"}}',
        f'{RECEIVED.replace("1234", "1235")},"checksum":"{RECEIVED_CHECKSUM}"}}',
        f'{RECEIVED.replace("a@b.tz", "b@b.tz")},"checksum":"{RECEIVED_CHECKSUM}"}}',
        f'{RECEIVED.replace("RECEIVED", "FAILED")},"checksum":"{RECEIVED_CHECKSUM}"}}',
    ],
)
def test_a_webhook_with_a_wrong_checksum_is_not_read(offline: Connect, text: str) -> None:
    for form in ("canonical", "concatenated"):
        connector = offline(clickpesa_checksum_key=CHECKSUM_KEY, clickpesa_checksum=form)
        assert connector.read(heard(text)) is None
        assert connector.acknowledge(heard(text), None).status in range(400, 500)


@pytest.mark.parametrize("checksum", ["1", "true", "[]", "{}", f'["{RECEIVED_CHECKSUM}"]'])
def test_a_checksum_that_is_not_text_signs_nothing(offline: Connect, checksum: str) -> None:
    news = offline(clickpesa_checksum_key=CHECKSUM_KEY).read(heard(f'{RECEIVED},"checksum":{checksum}}}'))
    assert news is None or not news.is_signed


# printf %s 'PAYMENT RECEIVED' | openssl dgst -sha256 -hmac CHKclickpesa7f3a
EVENT_CHECKSUM = "24298c950429370c847cd29ece6124090679123efca88bde26dc74d42336a37e"


def test_a_checksum_of_the_event_alone_does_not_sign_the_payment(offline: Connect) -> None:
    """In the older form the values are joined: those inside of `data` are what it is about."""
    connector = offline(clickpesa_checksum_key=CHECKSUM_KEY, clickpesa_checksum="concatenated")
    for said in (RECEIVED, RECEIVED.replace("1234", "9999")):
        news = connector.read(heard(f'{said},"checksum":"{EVENT_CHECKSUM}"}}'))
        assert news is None or not news.is_signed


def test_a_webhook_without_a_checksum_or_a_key_to_check_it_is_a_hint(offline: Connect) -> None:
    for connector, text in (
        (offline(), f"{RECEIVED}}}"),
        (offline(clickpesa_checksum_key=CHECKSUM_KEY), f"{RECEIVED}}}"),
        (offline(), f'{RECEIVED},"checksum":"{RECEIVED_CHECKSUM}"}}'),
        (offline(), f'{RECEIVED},"checksum":"nonsense"}}'),
    ):
        news = connector.read(heard(text))
        assert news is not None
        assert (news.key, news.is_signed, news.answer.verdict) == (COLLECTION.key, False, Verdict.CONFIRMED)
        assert news.answer.provider_reference == RECEIPT


DONE_WORDS, FAILED_WORDS = ("SUCCESS", "SETTLED"), ("FAILED", "REFUNDED", "REVERSED")
NOTHING = ("", None)


@pytest.mark.parametrize("status", [status for status, _ in STATUSES])
@pytest.mark.parametrize(
    ("event", "verdict", "unless"),
    [
        ("PAYMENT RECEIVED", Verdict.CONFIRMED, (*DONE_WORDS, *NOTHING)),
        ("PAYMENT FAILED", Verdict.REFUSED, (*FAILED_WORDS, *NOTHING)),
        ("PAYOUT INITIATED", Verdict.WAITING, None),
        ("PAYOUT REVERSED", Verdict.REFUSED, None),
        ("PAYOUT REFUNDED", Verdict.REFUSED, None),
        ("DEPOSIT RECEIVED", Verdict.UNKNOWN, None),
        ("PAYOUT COMPLETED", Verdict.UNKNOWN, None),
        ("", Verdict.UNKNOWN, None),
    ],
)
def test_a_webhook_is_read_by_its_event_and_never_by_the_status_beside_it(
    offline: Connect, event: str, verdict: Verdict, unless: tuple[str, ...] | None, status: str
) -> None:
    """The vendor's own sample of a payout that was begun says SUCCESS. Where the two disagree, a question is asked."""
    said = json.dumps({"event": event, "data": body(Type.COLLECTION, status=status)})
    news = offline().read(heard(said))
    assert news is not None
    expected = verdict if unless is None or status in unless else Verdict.UNKNOWN
    assert (news.key, news.answer.verdict) == (COLLECTION.key, expected)
    assert (news.answer.failure_code is not None) == (expected is Verdict.REFUSED)
    assert news.answer.lacks_amount == (expected is Verdict.CONFIRMED)


def test_a_payment_received_without_a_status_is_received(offline: Connect) -> None:
    for status in ({}, {"status": None}, {"status": ""}):
        data_ = body(Type.COLLECTION, collectedAmount="1500") | status
        news = offline().read(heard(json.dumps({"event": "PAYMENT RECEIVED", "data": data_})))
        assert news is not None
        assert (news.answer.verdict, news.answer.amount, news.answer.lacks_amount) == (Verdict.CONFIRMED, 1500, False)
    for strange in ("[]", "{}", "7", "true", '["SUCCESS"]'):
        data_ = body(Type.COLLECTION, collectedAmount="1500", status=json.loads(strange))
        news = offline().read(heard(json.dumps({"event": "PAYMENT RECEIVED", "data": data_})))
        assert news is not None
        assert news.answer.verdict is Verdict.UNKNOWN


def test_an_event_about_data_of_the_other_type_says_nothing(offline: Connect) -> None:
    payout = {"beneficiary": {"accountNumber": "255692345678"}, "order": {"amount": 250000}}
    for event, status, more in (
        ("PAYMENT RECEIVED", "SUCCESS", payout),
        ("PAYMENT FAILED", "FAILED", payout),
        ("PAYOUT REVERSED", "REVERSED", {"collectedAmount": "1500"}),
        ("PAYOUT INITIATED", "SUCCESS", {"collectedAmount": "1500"}),
    ):
        data_ = body(Type.COLLECTION, status=status) | more
        news = offline().read(heard(json.dumps({"event": event, "data": data_})))
        assert news is not None
        assert news.answer.verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("reference", ["", None, 7, True, [], {}, "a b", "../x", "A" * 10_000, "0K3'--", "\u0660"])
def test_a_reference_that_cannot_be_ours_is_nobodys(offline: Connect, reference: object) -> None:
    said = {"event": "PAYMENT RECEIVED", "data": {"orderReference": reference, "status": "SUCCESS"}}
    assert offline().read(heard(json.dumps(said))) is None


@pytest.mark.parametrize("name", UNREADABLE | WRONG_SHAPES)
def test_a_webhook_that_cannot_be_understood_is_refused(offline: Connect, name: str) -> None:
    for key in (None, CHECKSUM_KEY):
        connector = offline(clickpesa_checksum_key=key)
        callback = Heard({}, (UNREADABLE | WRONG_SHAPES)[name])
        assert connector.read(callback) is None
        assert connector.acknowledge(callback, None).status in range(400, 500)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["SUCCESS", "FAILED", "PAYMENT RECEIVED", COLLECTION.key, RECEIVED_CHECKSUM]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
data = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        ("orderReference", "status", "collectedAmount", "order", "beneficiary", "paymentPhoneNumber", "id", "checksum"),
        values,
    ),
)


@hypothesis_settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    said=st.fixed_dictionaries({}, optional={"event": values, "data": data | values, "checksum": values}),
    raw=st.binary(max_size=99),
    form=st.sampled_from(["canonical", "concatenated"]),
)
def test_no_webhook_brings_it_down(offline: Connect, said: dict[str, object], raw: bytes, form: str) -> None:
    connector = offline(clickpesa_checksum_key=CHECKSUM_KEY, clickpesa_checksum=form)
    for content in (json.dumps(said).encode(), raw):
        news = connector.read(Heard({}, content))
        connector.acknowledge(Heard({}, content), news)
        if news is not None:
            assert not news.is_signed
            assert_fit_to_keep(news.answer)
            inside = said["data"]
            assert isinstance(inside, dict)
            if news.answer.verdict is Verdict.CONFIRMED:
                assert str(said["event"]).strip().upper() == "PAYMENT RECEIVED"
                assert inside.get("status") in (*DONE_WORDS, *NOTHING)


# The rest of the contract.


def test_it_says_what_it_is(offline: Connect) -> None:
    connector = offline(clickpesa_concurrency=7, clickpesa_timeout_seconds=33)
    assert (connector.name, connector.concurrency) == ("clickpesa", 7)
    assert connector.timeout_seconds >= 33
    assert all(connector.may_ask(type_) for type_ in Type)


async def test_a_knock_moves_no_money(teller: Teller, clickpesa: Connect) -> None:
    teller.always(GET_TOKEN, TOKEN_GIVEN)
    assert not (await clickpesa().probe()).is_fault
    assert set(teller.lines) == {GET_TOKEN}


async def test_a_knock_that_hears_of_trouble_is_a_fault(teller: Teller, clickpesa: Connect) -> None:
    for said in (http("500 Internal Server Error"), http("503 Service Unavailable"), Reply(after=After.RESET)):
        teller.always(GET_TOKEN, said)
        assert (await clickpesa().probe()).is_fault


async def test_a_payout_and_a_collection_go_to_their_own_places(teller: Teller, clickpesa: Connect) -> None:
    teller.expect(GET_TOKEN, TOKEN_GIVEN)
    teller.expect(PUSH, STARTED)
    teller.expect(PAY_OUT, REPLIES[Type.DISBURSEMENT])
    connector = clickpesa()
    await connector.send(COLLECTION)
    await connector.send(DISBURSEMENT)
    assert teller.lines == [GET_TOKEN, PUSH, PAY_OUT]
