"""The meaning of AzamPay's replies: those that end a payout, and the many that must not."""

import json
from typing import Any

import pytest

from malipo.networks.azampay import replies
from malipo.networks.connector import Answer, FailureCode, PaymentInstruction, Verdict
from tests.networks.azampay_spec import (
    ACCEPTED_ORDER,
    NETWORK_ID,
    RECEIPT,
    STATUSES,
    query_reply,
    refused,
)
from tests.networks.scripted_server import Reply, http, received
from tests.networks.verdict_words import (
    AMBIGUOUS,
    FAIL_CFG,
    FLOAT_SHORT,
    PENDING,
    REJECTED,
    UNKNOWN,
    Outcome,
    assert_fit_to_keep,
)

DUPLICATES = [
    "Detected duplicate transaction: Duplicate ExternalReferenceId: 0K3ABCDEFGHJ5678",
    "Duplicate External Reference Id",
    "Invalid request data: ExternalReferenceId: duplicate. Reference Id: 0HN0",
]
REFUSALS = {
    "Invalid BankName.": FAIL_CFG,
    "Invalid Checksum": FAIL_CFG,
    "Potential SQL Injection Detected": AMBIGUOUS,
    "Invalid request data: Destination.AccountNumber: AccountNumber can only contain alphanumeric characters": AMBIGUOUS,
}


def sent(said: Reply) -> Answer:
    return replies.of_payment(received(said))


def asked(said: Reply, order: PaymentInstruction = ACCEPTED_ORDER) -> Answer:
    return replies.of_query(received(said), order)


# The reply to a payout.


@pytest.mark.parametrize("status", ["Pending", "success", "Failure", None, 7])
def test_an_acceptance_is_never_the_end_whatever_word_stands_in_it(status: object) -> None:
    PENDING.check(sent(query_reply(status=status)))


@pytest.mark.parametrize("network_id", [None, "", 7, [], "a b", "a&bankName=Yas", "x" * 65, "näme"])
def test_an_acceptance_that_gives_no_id_is_unknown(network_id: object) -> None:
    answer = sent(query_reply(pgReferenceId=network_id))
    UNKNOWN.check(answer)
    assert answer.network_id is None


@pytest.mark.parametrize("status", [200, 400, 403, 409])
@pytest.mark.parametrize("message", DUPLICATES)
def test_a_reference_that_it_has_is_asked_about_whatever_the_status(message: str, status: int) -> None:
    """The first of the two may have been paid. It does not come with the first one's id."""
    answer = sent(refused(status, message))
    UNKNOWN.check(answer)
    assert (answer.is_fault, answer.refuses_us, answer.network_id) == (False, False, None)


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("message", REFUSALS)
def test_what_it_does_not_take_in_is_refused(message: str, status: int) -> None:
    REFUSALS[message].check(sent(refused(status, message)))
    # A question that is refused says nothing of the payout.
    UNKNOWN.check(asked(refused(status, message)))


@pytest.mark.parametrize("message", REFUSALS)
def test_a_refusal_of_what_may_be_taken_in_is_none(message: str) -> None:
    """Under another status, beside an id or beside a success nobody has ever seen these words."""
    for status in (201, 302, 402, 403, 404, 409, 415, 422):
        UNKNOWN.check(sent(refused(status, message)))
    for changes in ({"pgReferenceId": NETWORK_ID}, {"pgReferenceId": 7}, {"success": True}):
        UNKNOWN.check(sent(refused(400, message, **changes)))


def test_a_validation_in_the_form_of_the_framework_is_a_refusal() -> None:
    said = {
        "type": "https://tools.ietf.org/html/rfc7231#section-6.5.1",
        "title": "One or more validation errors occurred.",
        "status": 400,
        "traceId": "00-c1",
        "errors": {"Destination.FullName": ["The FullName field is required."]},
    }
    AMBIGUOUS.check(sent(http("400 Bad Request", json.dumps(said))))


@pytest.mark.parametrize("status", [200, 400, 402])
def test_an_expired_request_is_asked_about_and_somebody_sets_the_clock(status: int) -> None:
    """It may have expired on its way back from being taken in: nobody has said that it had not."""
    answer = sent(refused(status, "Request expired"))
    UNKNOWN.check(answer)
    assert answer.is_fault
    assert "clock" in (answer.alert or "")


@pytest.mark.parametrize("status", [200, 400, 402, 403, 404, 409, 422])
@pytest.mark.parametrize(
    "message",
    ["Insufficient balance", "Transaction failed", "Transaction not found", "Failure", "", None, 7, ["Invalid"]],
)
def test_what_nobody_has_listed_refuses_nothing(status: int, message: object) -> None:
    answer = sent(refused(status, message))
    UNKNOWN.check(answer)
    assert not answer.is_fault
    assert not answer.refuses_us
    UNKNOWN.check(asked(refused(status, message)))


# The answer to a question.


@pytest.mark.parametrize(("status", "verdict"), STATUSES)
def test_a_payout_is_what_its_status_says(status: str, verdict: Verdict) -> None:
    answer = asked(query_reply(status=status))
    failure_code = FailureCode.REJECTED if verdict is Verdict.REFUSED else None
    assert (answer.verdict, answer.failure_code) == (verdict, failure_code), answer
    assert not answer.is_fault
    assert_fit_to_keep(answer)


@pytest.mark.parametrize("status", [None, True, 1, [], {}, ["success"]])
def test_a_strange_status_is_unknown(status: object) -> None:
    UNKNOWN.check(asked(query_reply(status=status)))


def test_a_success_of_the_question_is_not_one_of_the_payout() -> None:
    """The published form of the answer has no status at all."""
    UNKNOWN.check(asked(query_reply(message="Your transaction is in process")))
    UNKNOWN.check(asked(query_reply(message="Transaction completed", data="success")))


@pytest.mark.parametrize("changes", [{"success": False}, {"success": None}, {"success": "true"}, {"statusCode": 400}])
def test_the_failure_of_a_question_is_not_one_of_the_payout(changes: dict[str, Any]) -> None:
    """A refused question has the status "Failure" too. Taken for the payout's, it would be paid a second time."""
    for status in ("Failure", "success"):
        UNKNOWN.check(asked(query_reply(status=status, **changes)))
        UNKNOWN.check(asked(query_reply(status=status, http_status=400)))


@pytest.mark.parametrize(
    ("message", "outcome"),
    [
        ("Insufficient balance on collection. Current balance 388.0", FLOAT_SHORT),
        ("Destination wallet is locked", REJECTED),
        (None, REJECTED),
    ],
)
def test_a_failure_has_the_reason_that_its_words_give(message: str | None, outcome: Outcome) -> None:
    outcome.check(asked(query_reply(status="failure", message=message)))


@pytest.mark.parametrize(
    ("said", "amount"), [("250000", 250000), (250000, 250000), ("250000.00", 250000), (None, None), ("x", -1)]
)
def test_an_amount_is_a_number_or_nobodys(said: object, amount: int | None) -> None:
    answer = asked(query_reply(status="success", amount=said))
    # The published form has none, so that its lack is no fault.
    assert (answer.amount, answer.lacks_amount) == (amount, False)


def test_the_receipt_is_the_networks_or_else_azampays() -> None:
    for receipt, expected in ((RECEIPT, RECEIPT), (None, NETWORK_ID), ("N/A", NETWORK_ID)):
        answer = asked(query_reply(status="success", fspReferenceId=receipt))
        assert answer.provider_reference == expected


@pytest.mark.parametrize("wrong", [None, [], 7, "x", {"amount": None}, [[]]])
def test_strange_parts_harm_nobody(wrong: object) -> None:
    said = query_reply(status="success", amount=wrong, message=wrong, fspReferenceId=wrong, operator=wrong)
    assert_fit_to_keep(asked(said))
    assert_fit_to_keep(sent(said))
