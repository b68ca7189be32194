"""Which requests the clients repeat and which they never repeat: nothing is paid twice, whatever the connection does."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.clients.typescript_and_php.misbehaving_service import (
    PAYMENT,
    Behaviour,
    Service,
    a_page,
    code,
    good,
    hangs_up,
    hangs_up_halfway,
    misbehaving,
    says,
    takes_long,
)
from tests.clients.typescript_and_php.programs import Program, Refused

COLLECTION: dict[str, Any] = {"amount": 1000, "channel": "MPESA", "buyerPhone": "+255754000001"}


@pytest.fixture
def service() -> Iterator[Service]:
    """One for each test: what the client of the test before gave up may arrive late on a busy machine."""
    with misbehaving() as service:
        yield service


def ask(program: Program, service: Service, call: str, *ids: str, retries: int = 3, **fields: Any) -> Any:
    options = {"apiKey": "mlp_live_1", "baseUrl": service.url, "retries": retries, "timeout": 1}
    return program.ask(call, *ids, options=options, **fields)


PASSING: dict[str, Behaviour] = {
    "nobody answers": hangs_up,
    "half an answer": hangs_up_halfway,
    "too slow": takes_long,
    "a page of somebody else": a_page,
    "a success without what was asked for": says(200, {"success": True}),
    "503 unavailable": code(503, "unavailable"),
    "503 outcome_unknown": code(503, "outcome_unknown"),
    "503 restored": code(503, "restored"),
    "503 of a proxy": says(503, b"<html>", Retry_After="0"),
    "502 of a proxy": says(502, b"<html>"),
    "500 internal_error": code(500, "internal_error"),
    "429 rate_limited": code(429, "rate_limited"),
    "408 body_too_slow": code(408, "body_too_slow"),
}


@pytest.mark.parametrize("case", PASSING)
def test_a_payment_is_sent_again_with_the_same_key_and_body(program: Program, service: Service, case: str) -> None:
    service.behave(PASSING[case], good)
    made = ask(program, service, "payments.collect", **COLLECTION)
    assert {name: made[name] for name in PAYMENT} == PAYMENT
    first, second = service.got
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert len(first.headers["idempotency-key"]) >= 32
    assert first.body == second.body == COLLECTION
    assert (first.method, first.path, first.headers["x-api-key"]) == ("POST", "/v1/payments", "mlp_live_1")


ENDS = {
    "400": (400, "amount_too_small", "InvalidRequest"),
    "balance": (400, "insufficient_balance", "InsufficientBalance"),
    "401": (401, "invalid_api_key", "AuthenticationFailed"),
    "403": (403, "permission_missing", "PermissionDenied"),
    "404": (404, "transaction_not_found", "NotFound"),
    "409": (409, "not_refundable", "Conflict"),
    "key": (409, "idempotency_key_reused", "IdempotencyKeyReused"),
    "413": (413, "body_too_large", "InvalidRequest"),
    "too much": (503, "query_timeout", "Unavailable"),
    "302": (302, "", "ApiError"),
    "307": (307, "", "ApiError"),
}


@pytest.mark.parametrize("case", ENDS)
def test_what_would_be_answered_the_same_again_is_not_sent_again(program: Program, service: Service, case: str) -> None:
    """Nor to anywhere else: a redirect would take the key along."""
    status, name, kind = ENDS[case]
    headers = {"X_Error_Code": name} if name else {"Location": service.url + "/elsewhere"}
    service.behave(says(status, {"error": "No."}, X_Request_Id="req_1", **headers), good)
    with pytest.raises(Refused) as refused:
        ask(program, service, "payments.collect", idempotencyKey="order-1", **COLLECTION)
    answer = refused.value.details
    assert refused.value.kind == kind
    assert {"ApiError", "MalipoError"} <= set(refused.value.kinds)
    assert (answer["message"], answer["status"], answer["code"]) == ("No.", status, name or f"http_{status}")
    assert (answer["requestId"], answer["idempotencyKey"]) == ("req_1", "order-1")
    assert len(service.got) == 1


def test_after_the_last_retry_the_error_has_the_key_to_go_on_with(program: Program, service: Service) -> None:
    service.behave(code(503, "outcome_unknown"))
    with pytest.raises(Refused, match="OutcomeUnknown") as refused:
        ask(
            program,
            service,
            "payments.disburse",
            retries=2,
            amount=1000,
            channel="MPESA",
            recipientPhone="+255754000001",
        )
    assert len(service.got) == 3
    assert {each.headers["idempotency-key"] for each in service.got} == {refused.value.details["idempotencyKey"]}
    service.behave(hangs_up)
    with pytest.raises(Refused, match="ConnectionFailed") as refused:
        ask(program, service, "payments.refund", "txn_1", retries=0, idempotencyKey="refund-1")
    assert refused.value.details["idempotencyKey"] == "refund-1"
    assert len(service.got) == 1


LOST = {
    "nobody answers": hangs_up,
    "a page of somebody else": a_page,
    "503 outcome_unknown": code(503, "outcome_unknown"),
    "502 of a proxy": says(502, b"<html>"),
    "500 internal_error": code(500, "internal_error"),
}


@pytest.mark.parametrize("case", LOST)
def test_a_refusal_after_a_lost_answer_says_nothing_of_the_payment(
    program: Program, service: Service, case: str
) -> None:
    """The first try was perhaps done: who believes the refusal asks the customer twice."""
    service.behave(LOST[case], code(401, "invalid_api_key"))
    with pytest.raises(Refused, match="OutcomeUnknown: It may have been done") as refused:
        ask(program, service, "payments.collect", idempotencyKey="order-1", **COLLECTION)
    answer = refused.value.details
    assert (answer["status"], answer["code"], answer["idempotencyKey"]) == (503, "outcome_unknown", "order-1")
    assert answer["cause"] == "AuthenticationFailed"
    assert len(service.got) == 2


@pytest.mark.parametrize("case", [case for case in ENDS if case not in ("key", "too much")])
def test_so_it_is_with_every_refusal(program: Program, service: Service, case: str) -> None:
    status, name, kind = ENDS[case]
    service.behave(hangs_up, says(status, {"error": "No."}, **({"X_Error_Code": name} if name else {})))
    with pytest.raises(Refused, match="OutcomeUnknown") as refused:
        ask(program, service, "payments.collect", **COLLECTION)
    assert refused.value.details["cause"] == kind


def test_but_a_key_of_another_request_a_read_and_what_was_never_lost_are_told_as_they_are(
    program: Program, service: Service
) -> None:
    service.behave(hangs_up, code(409, "idempotency_key_reused"))
    with pytest.raises(Refused, match="IdempotencyKeyReused"):
        ask(program, service, "payments.collect", **COLLECTION)
    service.behave(hangs_up, code(404, "transaction_not_found"))
    with pytest.raises(Refused, match="NotFound"):
        ask(program, service, "payments.get", "txn_1")
    service.behave(code(503, "unavailable"), code(401, "invalid_api_key"))
    with pytest.raises(Refused, match="AuthenticationFailed"):
        ask(program, service, "payments.collect", **COLLECTION)


def test_two_calls_have_two_keys(program: Program, service: Service) -> None:
    service.behave(good)
    for _ in range(2):
        ask(program, service, "payments.collect", **COLLECTION)
    assert len({each.headers["idempotency-key"] for each in service.got}) == 2


def test_retry_after_is_obeyed_and_a_long_one_is_the_callers(program: Program, service: Service) -> None:
    service.behave(code(429, "rate_limited", Retry_After="1"), good)
    began = time.monotonic()
    ask(program, service, "payments.collect", **COLLECTION)
    assert time.monotonic() - began >= 1
    service.behave(code(503, "on_hold", Retry_After="61"), good)
    with pytest.raises(Refused, match="Unavailable") as refused:
        ask(program, service, "payments.collect", **COLLECTION)
    assert refused.value.details["retryAfter"] == 61
    assert len(service.got) == 1


def test_a_rate_limit_does_not_count_as_a_retry_but_who_wants_none_does_not_wait(
    program: Program, service: Service
) -> None:
    service.behave(*[code(429, "rate_limited")] * 3, good)
    ask(program, service, "payments.collect", retries=1, **COLLECTION)
    assert len(service.got) == 4
    for retries, name, seconds in ((0, "rate_limited", "0"), (3, "rate_limited", "61"), (0, "lookup_limit", "0")):
        service.behave(code(429, name, Retry_After=seconds), good)
        with pytest.raises(Refused, match="RateLimited"):
            ask(program, service, "payments.collect", retries=retries, **COLLECTION)
        assert len(service.got) == 1


DOUBTFUL = ["nobody answers", "503 outcome_unknown", "502 of a proxy", "500 internal_error", "a page of somebody else"]


@pytest.mark.parametrize("case", DOUBTFUL)
def test_what_has_no_key_and_may_have_been_done_is_not_sent_again(
    program: Program, service: Service, case: str
) -> None:
    """A second endpoint, or a second secret, would be one too many."""
    service.behave(PASSING[case], good)
    with pytest.raises(Refused):
        ask(program, service, "webhooks.rotateSecret", "wh_1")
    assert len(service.got) == 1


@pytest.mark.parametrize("case", ["503 unavailable", "429 rate_limited"])
def test_what_was_not_done_is_sent_again_without_a_key(program: Program, service: Service, case: str) -> None:
    service.behave(PASSING[case], says(200, {"success": True, "endpoint": {"secret": "whsec_"}}))
    assert ask(program, service, "webhooks.rotateSecret", "wh_1") == {"secret": "whsec_"}
    assert ["idempotency-key" in each.headers for each in service.got] == [False, False]


@pytest.mark.parametrize("id_", ["", "txn_1/refund", "..", "a b", "x" * 65, "txn_1\n", "?status=FAILED"])
def test_what_is_no_id_goes_nowhere(program: Program, service: Service, id_: str) -> None:
    service.behave(good)
    for call in ("payments.get", "payments.refund"):
        with pytest.raises(Refused, match=r"(?s)^MalipoError: .* is no id"):
            ask(program, service, call, id_)
    assert service.got == []


@pytest.mark.parametrize("key", ["", "order 1", "order\r\nx-api-key: other", "é", "x" * 256])
def test_what_is_no_key_goes_nowhere(program: Program, service: Service, key: str) -> None:
    service.behave(good)
    with pytest.raises(Refused, match="MalipoError: The idempotencyKey"):
        ask(program, service, "payments.collect", idempotencyKey=key, **COLLECTION)
    assert service.got == []


@pytest.mark.parametrize("amount", [None, "1000", 10.5])
def test_a_refund_of_a_wrong_amount_is_not_a_refund_of_everything(
    program: Program, service: Service, amount: Any
) -> None:
    """As JSON it could be null, and that means all that is left."""
    service.behave(good)
    with pytest.raises(Refused, match=r"MalipoError|TypeError"):
        ask(program, service, "payments.refund", "txn_1", amount=amount)
    assert service.got == []
    ask(program, service, "payments.refund", "txn_1")
    assert service.got[0].body == {}


def test_without_an_api_key_there_is_no_client(program: Program) -> None:
    with pytest.raises(Refused, match="MalipoError: No API key: set MALIPO_API_KEY"):
        program.ask("payments.get", "txn_1")


@pytest.mark.parametrize("given", [{}, {"baseUrl": ""}, {"baseUrl": "/"}])
def test_without_an_address_there_is_no_client(program: Program, given: dict[str, Any]) -> None:
    with pytest.raises(Refused, match="MalipoError: No address: set MALIPO_URL, or pass baseUrl"):
        program.ask("payments.get", "txn_1", options={"apiKey": "mlp_live_1", **given})


def test_the_next_page_begins_behind_the_last_one(program: Program, service: Service) -> None:
    page = [{"id": f"txn_{number}"} for number in range(2)]
    service.behave(says(200, {"success": True, "transactions": page}), says(200, {"success": True, "transactions": []}))
    assert ask(program, service, "payments.list", pageSize=2) == page
    assert [each.path.split("?")[0] for each in service.got] == ["/v1/payments"] * 2
    assert "before=txn_1" in service.got[1].path


def test_an_answer_that_is_given_again_says_so_and_has_the_status_of_now(program: Program, service: Service) -> None:
    body = {"success": True, "transaction": PAYMENT}
    replay = {"Idempotency_Replayed": "true", "Idempotency_Replayed_Status": "FAILED"}
    service.behave(says(201, body), says(201, body, **replay), says(201, body, Idempotency_Replayed="true"))

    made = [ask(program, service, "payments.collect", **COLLECTION) for _ in range(3)]

    assert [each["isReplay"] for each in made] == [False, True, True]
    assert [each["currentStatus"] for each in made] == ["PENDING", "FAILED", "PENDING"]
    assert [each["status"] for each in made] == ["PENDING"] * 3, "the body is the first answer"
