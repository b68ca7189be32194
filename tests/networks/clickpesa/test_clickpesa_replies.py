"""The meaning of ClickPesa's replies and errors, and which of them decide nothing."""

import json

import pytest

from malipo.networks.clickpesa import replies as clickpesa_replies
from malipo.networks.connector import Answer, FailureCode, Type, Verdict
from tests.networks.clickpesa.connector import TYPES
from tests.networks.clickpesa_spec import (
    COLLECTED,
    DONE,
    ORDERS,
    RECEIPT,
    STATUSES,
    body,
    listed,
    reply,
)
from tests.networks.scripted_server import Reply, http, received
from tests.networks.verdict_words import (
    AMBIGUOUS,
    FAIL_CFG,
    FLOAT_SHORT,
    INSUFFICIENT,
    LIMIT,
    RECIPIENT,
    UNKNOWN,
    Outcome,
    assert_fit_to_keep,
)


def sent(type_: Type, said: Reply) -> Answer:
    return clickpesa_replies.of_payment(received(said), ORDERS[type_])


def asked(type_: Type, said: Reply) -> Answer:
    return clickpesa_replies.of_query(received(said), ORDERS[type_])


# What its replies mean.


@TYPES
@pytest.mark.parametrize(("status", "verdict"), STATUSES)
def test_a_payment_is_read_by_its_status_in_every_kind_of_reply(type_: Type, status: str, verdict: Verdict) -> None:
    object_ = body(type_, status=status)
    other = body(type_, status="FAILED" if verdict is Verdict.CONFIRMED else "SUCCESS")
    replies = [reply(type_, status=status), reply(type_, status=status, http_status=201)]
    answers = [sent(type_, each) for each in replies]
    replies = [reply(type_, status=status), listed(object_), listed(object_, other)]
    answers += [asked(type_, each) for each in replies]
    for answer in answers:
        failure_code = FailureCode.REJECTED if verdict is Verdict.REFUSED else None
        assert (answer.verdict, answer.failure_code) == (verdict, failure_code), answer
        assert verdict is Verdict.UNKNOWN or not answer.is_fault
        assert_fit_to_keep(answer)


@TYPES
@pytest.mark.parametrize("status", [None, True, 1, [], {}, ["SUCCESS"], "S", "SUCCES", "NOT SUCCESS"])
def test_a_strange_status_is_unknown(type_: Type, status: object) -> None:
    UNKNOWN.check(sent(type_, reply(type_, status=status)))
    UNKNOWN.check(asked(type_, listed(body(type_, status=status))))


@TYPES
@pytest.mark.parametrize("said", ["[]", "[[]]", "[null]", "null", "{}", '"SUCCESS"', "[1]"])
def test_an_answer_without_a_payment_decides_nothing(type_: Type, said: str) -> None:
    assert not asked(type_, http("200 OK", said)).verdict.is_definite
    UNKNOWN.check(sent(type_, http("200 OK", said)))


def test_a_collection_shows_receipt_amount_and_phone() -> None:
    answer = asked(Type.COLLECTION, COLLECTED)
    assert (answer.provider_reference, answer.amount, answer.phone) == (RECEIPT, 1500, "+255621000001")


def test_a_payout_shows_the_amount_that_was_ordered_and_not_the_one_with_the_fee() -> None:
    answer = asked(Type.DISBURSEMENT, DONE[Type.DISBURSEMENT])
    assert (answer.amount, answer.phone) == (250000, "+255692345678")
    # Where only the sum with the fee is told, the amount is lacking.
    bare = asked(Type.DISBURSEMENT, reply(Type.DISBURSEMENT, status="SUCCESS", amount=251500, fee=1500))
    assert (bare.verdict, bare.amount, bare.lacks_amount) == (Verdict.CONFIRMED, None, True)


@TYPES
def test_a_success_without_an_amount_lacks_it_and_nothing_else_does(type_: Type) -> None:
    for status, verdict in STATUSES:
        answer = asked(type_, reply(type_, status=status))
        assert answer.lacks_amount == (verdict is Verdict.CONFIRMED), answer
    assert not asked(type_, DONE[type_]).lacks_amount


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
def test_an_amount_is_a_number_or_nobodys(said: object, amount: int) -> None:
    for type_, reported in (
        (Type.COLLECTION, {"collectedAmount": said}),
        (Type.DISBURSEMENT, {"order": {"amount": said}}),
    ):
        answer = asked(type_, reply(type_, status="SUCCESS", **reported))
        assert answer.amount == amount if amount > 0 else (answer.amount is not None and answer.amount < 1), answer


@pytest.mark.parametrize("said", ["255621000001", "+255621000001"])
def test_a_phone_in_any_form_is_read_as_ours_are_written(said: str) -> None:
    for type_, reported in (
        (Type.COLLECTION, {"paymentPhoneNumber": said}),
        (Type.DISBURSEMENT, {"beneficiary": {"accountNumber": said}}),
    ):
        answer = asked(type_, reply(type_, status="SUCCESS", **reported))
        assert answer.phone == "+255621000001"


@pytest.mark.parametrize(
    "wrong", [None, [], 7, "x", {"amount": None, "accountNumber": None}, {"amount": []}, {"amount": {}}]
)
def test_strange_parts_harm_nobody(wrong: object) -> None:
    for type_ in Type:
        said = reply(
            type_, status="SUCCESS", order=wrong, beneficiary=wrong, collectedAmount=wrong, paymentPhoneNumber=wrong,
            paymentReference=wrong, id=wrong, message=wrong,
        )  # fmt: skip
        assert_fit_to_keep(asked(type_, said))


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
def test_a_bad_request_is_refused_for_its_reason(type_: Type, message: str, outcome: Outcome) -> None:
    said = http("400 Bad Request", json.dumps({"statusCode": 400, "message": message, "error": "Bad Request"}))
    outcome.check(sent(type_, said))
    # A question that is refused says nothing of the payment.
    UNKNOWN.check(asked(type_, said))


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
def test_a_reference_that_exists_is_asked_about_whatever_the_status(type_: Type, message: str) -> None:
    """The first of the two may have been paid."""
    for status in ("409 Conflict", "400 Bad Request"):
        UNKNOWN.check(sent(type_, http(status, json.dumps({"message": message}))))


@TYPES
@pytest.mark.parametrize(
    "said",
    ["", "{}", '{"message":""}', '{"message":null}', '{"error":"no"}', "<html>blocked</html>", "[]", '{"message":0}'],
)
def test_a_bad_request_that_says_nothing_refuses_nothing(type_: Type, said: str) -> None:
    UNKNOWN.check(sent(type_, http("400 Bad Request", said)))


@TYPES
@pytest.mark.parametrize("message", ["Payout is being processed", "Something went wrong", "Not now", "Forbidden"])
def test_a_bad_request_in_words_that_nobody_has_listed_refuses_nothing(type_: Type, message: str) -> None:
    answer = sent(type_, http("400 Bad Request", json.dumps({"message": message})))
    UNKNOWN.check(answer)
    assert not answer.is_fault
    assert not answer.refuses_us


def test_an_account_that_may_not_collect_is_refused_and_its_query_says_nothing() -> None:
    said = http("404 Not Found", '{"message":"Account has no payment collection methods"}')
    FAIL_CFG.check(sent(Type.COLLECTION, said))
    UNKNOWN.check(asked(Type.COLLECTION, said))
    for other in ("Not found", "Order not found"):
        reply_ = http("404 Not Found", json.dumps({"message": other}))
        UNKNOWN.check(sent(Type.COLLECTION, reply_))


@TYPES
@pytest.mark.parametrize("status", [402, 403, 404, 405, 409, 410, 415, 422, 425])
def test_another_error_says_nothing(type_: Type, status: int) -> None:
    for said in ('{"message":"Insufficient balance"}', "<html></html>", json.dumps(body(type_, status="FAILED"))):
        UNKNOWN.check(sent(type_, http(f"{status} Whatever", said)))
    said = '{"message":"Not found"}'
    assert not asked(type_, http(f"{status} Whatever", said)).verdict.is_definite
    if status == 404:  # the reference is missing, or the whole feature is: nobody can tell
        UNKNOWN.check(asked(type_, http("404 Not Found", said)))


@TYPES
def test_too_many_requests_were_not_taken_in(type_: Type) -> None:
    said = http("429 Too Many Requests", '{"message":"Too many requests"}')
    answer = sent(type_, said)
    assert (answer.verdict, answer.is_fault) == (Verdict.UNSENT, True), answer
    UNKNOWN.check(asked(type_, said))


@TYPES
def test_a_success_in_a_bad_request_is_not_believed(type_: Type) -> None:
    for status in (400, 404, 409, 422):
        said = reply(type_, status="SUCCESS", http_status=status)
        assert sent(type_, said).verdict is not Verdict.CONFIRMED
        assert asked(type_, said).verdict is not Verdict.CONFIRMED
