"""The client's retries and their keys, against a real server that fails as servers do."""

import pickle
from collections.abc import Callable
from contextlib import suppress
from heapq import heappop, heappush
from math import ceil
from typing import Any

import pytest
from malipo_client import (
    ApiError,
    AuthenticationFailed,
    Conflict,
    ConnectionFailed,
    CursorLost,
    IdempotencyKeyReused,
    InsufficientBalance,
    InvalidRequest,
    MalipoError,
    NotFound,
    OutcomeUnknown,
    PermissionDenied,
    RateLimited,
    Unavailable,
)
from malipo_client.errors import error_of
from malipo_client.request import Answer, Request, nothing
from malipo_client.retry import Retries

from tests.clients.python.conftest import Both
from tests.clients.python.misbehaving_service import NOTHING, MisbehavingService, answer, error
from tests.conftest import free_port

PAYOUT: dict[str, Any] = {"amount": 1000, "channel": "MPESA", "recipient_phone": "+255754000001"}
HALF = answer()[:-9]
PASSING = {
    "a lost answer": NOTHING,
    "half of an answer": HALF,
    "503 unavailable": error(503, "unavailable", Retry_After="0"),
    "503 outcome unknown": error(503, "outcome_unknown"),
    "500": error(500, "internal_error"),
    "502 of a proxy": b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 6\r\n\r\n<html>",
    "429": error(429, "rate_limited", Retry_After="0"),
    "a page in place of an answer": b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>",
    "no HTTP": b"SSH-2.0-OpenSSH\r\n\r\n",
}


@pytest.mark.parametrize("trouble", PASSING.values(), ids=PASSING)
def test_a_payout_is_sent_again_with_the_same_key_until_it_is_answered(
    service: MisbehavingService, connect: Callable[..., Both], trouble: bytes
) -> None:
    service.answers = [trouble]

    payout = connect(retries=1)("payments.disburse", **PAYOUT)

    first, second = service.received
    assert (payout.id, payout.amount) == ("txn_1", 1000)
    assert first.line == second.line == "POST /v1/payments/disburse HTTP/1.1"
    assert first.key == second.key
    assert len(first.key) == 32
    assert first.body == second.body


def test_each_call_has_a_key_of_its_own_unless_one_is_given(service: MisbehavingService, call: Both) -> None:
    for _ in range(2):
        call("payments.disburse", **PAYOUT)
    for _ in range(2):
        call("payments.disburse", **PAYOUT, idempotency_key="payslip-77")
    call("payments.refund", "txn_1")
    keys = [each.key for each in service.received]
    assert len(set(keys)) == 4
    assert keys[2:4] == ["payslip-77"] * 2


def test_a_refund_of_nothing_in_particular_is_not_a_refund_of_all(service: MisbehavingService, call: Both) -> None:
    with pytest.raises(TypeError, match="leave it out to refund all that is left"):
        call("payments.refund", "txn_1", amount=None)
    assert service.received == []
    call("payments.refund", "txn_1")
    assert b"amount" not in service.received[0].body


def test_a_client_that_gives_up_raises_with_the_key_to_go_on_with(
    service: MisbehavingService, connect: Callable[..., Both]
) -> None:
    call = connect(retries=0)
    service.answers = [NOTHING]
    with pytest.raises(ConnectionFailed) as lost:
        call("payments.disburse", **PAYOUT)
    service.answers = [error(503, "outcome_unknown")]
    with pytest.raises(OutcomeUnknown) as unknown:
        call("payments.disburse", **PAYOUT, idempotency_key=lost.value.idempotency_key)
    assert lost.value.was_sent
    assert {each.key for each in service.received} == {lost.value.idempotency_key} == {unknown.value.idempotency_key}


@pytest.mark.parametrize(
    "trouble", [NOTHING, HALF, error(500, "internal_error"), error(503), error(503, "outcome_unknown")]
)
def test_what_the_service_would_do_twice_is_not_sent_twice(
    service: MisbehavingService, call: Both, trouble: bytes
) -> None:
    service.answers = [trouble]
    with pytest.raises(MalipoError):
        call("webhooks.create", url="https://shop.example.com/", events=["*"])
    assert len(service.received) == 1


@pytest.mark.parametrize("trouble", [error(503, "unavailable"), error(429, "rate_limited", Retry_After="0")])
def test_unless_it_is_certain_that_nothing_was_done(service: MisbehavingService, call: Both, trouble: bytes) -> None:
    endpoint = {"id": "wh_1", "url": "https://shop.example.com/", "events": ["*"], "isActive": True, "secret": "s"}
    service.answers = [trouble, answer(201, {"endpoint": endpoint})]
    assert call("webhooks.create", url="https://shop.example.com/", events=["*"]).secret == "s"


def test_a_service_that_is_not_there_is_tried_as_often_as_was_said(connect: Callable[..., Both]) -> None:
    call = connect(base_url=f"http://127.0.0.1:{free_port()}", retries=1)
    with pytest.raises(ConnectionFailed, match="No connection") as failed:
        call("payments.get", "txn_1")
    assert not failed.value.was_sent


REFUSED: list[tuple[int, str, type[ApiError]]] = [
    (400, "amount_too_small", InvalidRequest),
    (400, "insufficient_balance", InsufficientBalance),
    (400, "cursor_lost", CursorLost),
    (401, "invalid_api_key", AuthenticationFailed),
    (403, "permission_missing", PermissionDenied),
    (404, "transaction_not_found", NotFound),
    (409, "refund_in_progress", Conflict),
    (409, "idempotency_key_reused", IdempotencyKeyReused),
    (413, "body_too_large", InvalidRequest),
    (429, "lookup_limit", RateLimited),
    (503, "on_hold", Unavailable),
    (307, "", ApiError),
]


@pytest.mark.parametrize(("status", "code", "kind"), REFUSED)
def test_a_refusal_is_not_sent_again_and_says_everything(
    service: MisbehavingService, call: Both, status: int, code: str, kind: type[ApiError]
) -> None:
    # For an hour is longer than anybody waits inside of a call; and nobody is followed elsewhere.
    service.answers = [error(status, code, Retry_After="3600", Location=service.url)]
    with pytest.raises(ApiError) as raised:
        call("payments.disburse", **PAYOUT)
    refused = raised.value
    assert type(refused) is kind
    assert (refused.status, refused.code, refused.retry_after) == (status, code or "http_307", 3600)
    assert (refused.message, str(refused)) == ("Not now.", "Not now. Too much.")
    assert (refused.details, refused.request_id) == ({"amount": ["Too much."]}, "req_1")
    assert refused.idempotency_key == service.received[0].key
    assert len(service.received) == 1
    assert "req_1" in repr(refused)


LOST = {
    "a lost answer": NOTHING,
    "503 outcome unknown": error(503, "outcome_unknown"),
    "500": error(500, "internal_error"),
    "502 of a proxy": PASSING["502 of a proxy"],
    "a page in place of an answer": PASSING["a page in place of an answer"],
}
SAYS_NO: list[tuple[int, str]] = [(status, code) for status, code, _ in REFUSED if code != "idempotency_key_reused"]


@pytest.mark.parametrize("lost", LOST.values(), ids=LOST)
def test_a_refusal_after_a_lost_answer_says_nothing_of_the_payment(
    service: MisbehavingService, connect: Callable[..., Both], lost: bytes
) -> None:
    """The first try was perhaps done: who believes the refusal asks the customer twice."""
    service.answers = [lost, error(401, "invalid_api_key")]
    with pytest.raises(OutcomeUnknown, match="It may have been done") as raised:
        connect()("payments.collect", amount=1000, channel="MPESA", buyer_phone="+255754000001")
    unknown, refusal = raised.value, raised.value.__cause__
    assert type(refusal) is AuthenticationFailed
    assert (unknown.status, unknown.code, unknown.request_id) == (503, "outcome_unknown", "req_1")
    assert {each.key for each in service.received} == {unknown.idempotency_key}
    assert len(service.received) == 2


@pytest.mark.parametrize(("status", "code"), SAYS_NO)
def test_so_it_is_with_every_refusal(service: MisbehavingService, call: Both, status: int, code: str) -> None:
    service.answers = [error(500, "internal_error"), error(status, code, Retry_After="3600")]
    with pytest.raises(OutcomeUnknown) as raised:
        call("payments.disburse", **PAYOUT)
    assert raised.value.retry_after == 3600
    last = raised.value.__cause__ or raised.value
    assert isinstance(last, ApiError)
    assert last.status == status


def test_but_a_key_of_another_request_a_read_and_what_was_never_lost_are_told_as_they_are(
    service: MisbehavingService, connect: Callable[..., Both]
) -> None:
    service.answers = [NOTHING, error(409, "idempotency_key_reused")]
    with pytest.raises(IdempotencyKeyReused):
        connect()("payments.disburse", **PAYOUT)
    service.answers = [NOTHING, error(404, "transaction_not_found")]
    with pytest.raises(NotFound):
        connect()("payments.get", "txn_1")
    service.answers = [error(503, "unavailable", Retry_After="0"), error(401, "invalid_api_key")]
    with pytest.raises(AuthenticationFailed):
        connect()("payments.disburse", **PAYOUT)


def test_that_the_last_try_did_not_connect_does_not_mean_that_none_was_sent() -> None:
    made = Retries(Request("POST", "/", nothing), most=1)
    made.pause_after(ConnectionFailed("Lost.", was_sent=True))
    with pytest.raises(ConnectionFailed) as raised:
        made.pause_after(ConnectionFailed("Refused.", was_sent=False))
    assert raised.value.was_sent


def pauses(error: MalipoError, *, number: int, retries: int = 5) -> list[float]:
    """The pause before the attempt of this number, drawn often; none if the error is raised before."""
    drawn = []
    with suppress(MalipoError):
        for _ in range(200):
            made = Retries(Request("GET", "/", nothing), most=retries)
            drawn.append([made.pause_after(error) for _ in range(number)][-1])
    return sorted(drawn)


def refusal(code: str, retry_after: int) -> ApiError:
    return error_of(Answer(429, {"retry-after": str(retry_after), "x-error-code": code}, b"{}"))


def test_pauses_grow_are_drawn_and_obey_the_service() -> None:
    lost = ConnectionFailed("x", was_sent=True)
    for number, longest in ((1, 0.5), (2, 1.0), (3, 2.0), (4, 4.0), (5, 8.0)):
        drawn = pauses(lost, number=number)
        assert 0 <= drawn[0] < longest / 4
        assert longest / 2 < drawn[-1] <= longest
    assert pauses(lost, number=6) == []
    result = pauses(refusal("rate_limited", 29), number=2)
    assert 29 <= result[0] < result[-1] <= 31


@pytest.mark.parametrize(
    ("error", "number"),
    [
        (refusal("rate_limited", 61), 1),
        (refusal("rate_limited", 29), 3),  # In all it would be more than a minute.
        (refusal("lookup_limit", 1), 1),  # This one is over tomorrow.
        (error_of(Answer(409, {}, b"")), 1),
    ],
)
def test_nobody_is_kept_waiting_for_what_takes_too_long(error: ApiError, number: int) -> None:
    assert pauses(error, number=number) == []


def test_a_rate_limit_does_not_count_as_a_retry_but_who_wants_none_does_not_wait() -> None:
    limit = refusal("rate_limited", 1)
    for retries, answers in ((1, 20), (0, 0)):
        made = Retries(Request("GET", "/", nothing), most=retries)
        waited: list[float] = []
        with suppress(RateLimited):
            while True:
                waited.append(made.pause_after(limit))
        assert sum(waited) <= 61
        assert len(waited) <= 61
        assert (len(waited) > answers / 2) is (retries > 0)


@pytest.mark.parametrize("spread_seconds", [60, 2], ids=["used evenly", "used at once"])
def test_whoever_waits_for_a_rate_limit_gets_through(spread_seconds: int) -> None:
    """Virtual time: 90 calls at once, at a limit of 100 that is used up. The window is malipo's rule."""
    admitted = [-10 - spread_seconds + spread_seconds * number / 100 for number in range(100)]
    turns = [(number / 1000, number, Retries(Request("GET", "/", nothing), most=3)) for number in range(90)]
    tries = 0
    while turns:
        now, number, retries = heappop(turns)
        tries += 1
        admitted = [each for each in admitted if each > now - 60]
        if len(admitted) < 100:
            admitted.append(now)
            continue
        limit = refusal("rate_limited", ceil(min(admitted) + 60 - now))
        heappush(turns, (now + retries.pause_after(limit), number, retries))
    assert tries < 90 * 12, "and does not knock all the time"


def test_where_a_lost_feed_goes_on_is_named() -> None:
    body = b'{"error": "Lost.", "details": {"goOn": ["1794790803-119"]}}'
    lost = error_of(Answer(400, {"x-error-code": "cursor_lost"}, body))
    assert isinstance(lost, CursorLost)
    assert lost.go_on == "1794790803-119"


def test_an_answer_that_is_given_again_says_so_and_has_the_status_of_now(
    service: MisbehavingService, connect: Callable[..., Both]
) -> None:
    replay = {"Idempotency_Replayed": "true", "Idempotency_Replayed_Status": "FAILED"}
    batch = {"success": True, "batch": {"id": "bat_1", "status": "AWAITING_APPROVAL"}}
    service.answers = [
        answer(201),
        answer(201, **replay),
        answer(201, Idempotency_Replayed="true"),
        answer(201, batch, Idempotency_Replayed="true", Idempotency_Replayed_Status="RUNNING"),
    ]
    call = connect()
    made = [call("payments.disburse", **PAYOUT) for _ in range(3)]
    made.append(call("batches.create", items=[]))

    assert [each.is_replay for each in made] == [False, True, True, True]
    assert [each.current_status for each in made] == ["PENDING", "FAILED", "PENDING", "RUNNING"]
    assert [each.status for each in made] == ["PENDING"] * 3 + ["AWAITING_APPROVAL"], "the body is the first answer"
    assert pickle.loads(pickle.dumps(made[1])).is_replay  # noqa: S301 - ours
