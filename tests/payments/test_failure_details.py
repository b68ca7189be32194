"""The detail of a failure that merchants read beside our code: the network's own code and text."""

from typing import Any

import pytest

from malipo.http.accept_language import Language
from malipo.networks.connector import Answer, FailureCode, FailureDetail, Verdict
from malipo.payments import failure_reasons, payment_json
from malipo.payments.dispatch import AnswerSource
from malipo.payments.store import transactions
from malipo.payments.transaction import Transaction, Type
from tests.payments.payment_steps import PaymentSteps
from tests.payments.payment_steps import steps as steps

NEITHER = {"failureDetail", "networkCode"}


def refused(failure_code: FailureCode, detail: FailureDetail | None = None) -> Answer:
    return Answer(verdict=Verdict.REFUSED, failure_code=failure_code, failure_detail=detail)


@pytest.mark.parametrize(
    ("code", "answer", "detail"),
    [
        (
            FailureCode.INVALID_RECIPIENT,
            refused(FailureCode.INVALID_RECIPIENT, FailureDetail.BARRED),
            FailureDetail.BARRED,
        ),
        (FailureCode.INVALID_RECIPIENT, refused(FailureCode.INVALID_RECIPIENT), None),
        # The reason came from a callback, and not from this answer.
        (FailureCode.DECLINED, refused(FailureCode.REJECTED, FailureDetail.BARRED), None),
        # Our own float, whichever answer said so first.
        (FailureCode.CHANNEL_UNAVAILABLE, refused(FailureCode.INSUFFICIENT_FUNDS), FailureDetail.FLOAT_TOO_LOW),
        (FailureCode.CHANNEL_UNAVAILABLE, refused(FailureCode.REJECTED), FailureDetail.FLOAT_TOO_LOW),
    ],
)
def test_a_detail_is_that_of_the_answer_which_ended_it(
    code: FailureCode, answer: Answer, detail: FailureDetail | None
) -> None:
    assert failure_reasons.detail_of(code, answer) is detail


def test_every_detail_has_a_sentence_in_both_languages() -> None:
    details = set(FailureDetail)
    assert failure_reasons.DETAILED_REASONS.keys() == failure_reasons.DETAILED_IN_KISWAHILI.keys() == details


async def _shown(steps: PaymentSteps, transaction: Transaction, language: Language) -> dict[str, Any]:
    async with steps.database.read() as connection:
        found = await transactions.get(connection, transaction.merchant_id, transaction.id)
    assert found is not None
    return payment_json.retrieved(found, language)


async def test_a_refusal_shows_the_networks_code_and_what_it_said(steps: PaymentSteps) -> None:
    sent = await steps.send(Type.DISBURSEMENT)
    no_money = {"failure_code": FailureCode.INSUFFICIENT_FUNDS, "code": "INS-2006"}
    await steps.report(sent, Verdict.REFUSED, AnswerSource.SEND, **no_money)

    shown = await _shown(steps, sent, Language.ENGLISH)
    assert (shown["failureCode"], shown["failureDetail"]) == ("channel_unavailable", "float_too_low")
    assert shown["networkCode"] == "INS-2006"
    assert "holds too little" in shown["failureReason"]
    assert "haina salio" in (await _shown(steps, sent, Language.KISWAHILI))["failureReason"]


async def test_a_paid_payment_and_a_plain_failure_show_no_details(steps: PaymentSteps) -> None:
    paid, failed = [await steps.send(Type.COLLECTION) for _ in range(2)]
    await steps.report(paid, Verdict.CONFIRMED, AnswerSource.SEND, code="INS-0")
    await steps.report(failed, Verdict.REFUSED, AnswerSource.SEND, failure_code=FailureCode.DECLINED)

    for each, also in ((paid, {"failureCode", "failureReason"}), (failed, set[str]())):
        assert (NEITHER | also).isdisjoint(await _shown(steps, each, Language.ENGLISH))
