"""Answers about another amount or phone, and hints: what is believed of them."""

from typing import Any

import pytest

from malipo.networks.connector import FailureCode, Verdict
from malipo.payments.dispatch import AnswerSource, NextAction, ReviewReason
from malipo.payments.network_answer.decide import decide
from malipo.payments.transaction import Cause, Status, Type
from tests.payments.network_answer.answers import (
    HEARD,
    OTHERS,
    RULES,
    Life,
    processing,
    received,
    sent,
    the_dispatch_of,
)
from tests.payments.test_transaction import a_transaction


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("how", ["send", "ask", "callback-signed", "callback-unsigned"])
@pytest.mark.parametrize("verdict", Verdict)
@pytest.mark.parametrize("type_", Type)
def test_an_answer_about_another_amount_or_phone_ends_nothing_and_needs_attention(
    type_: Type, verdict: Verdict, how: str, other: dict[str, Any]
) -> None:
    act, is_trusted = HEARD[how]
    answer = received(verdict, act, is_trusted=is_trusted, **other)

    decision = decide(processing(type_), the_dispatch_of(Status.PROCESSING, act), answer, RULES)

    assert decision.cause is None
    assert decision.dispatch is not None
    assert decision.dispatch.next_action is NextAction.QUERY
    assert decision.dispatch.review_reason is ReviewReason.DIFFERS


@pytest.mark.parametrize("same", [{}, {"amount": 1000}, {"phone": "+255754000001"}])
def test_an_answer_that_repeats_our_amount_and_phone_is_believed(same: dict[str, Any]) -> None:
    assert decide(processing(), sent(), received(Verdict.CONFIRMED, **same), RULES).cause is Cause.CONFIRMED


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("status", [Status.COMPLETED, Status.FAILED, Status.CANCELLED])
@pytest.mark.parametrize("type_", Type)
def test_an_answer_about_another_amount_or_phone_contradicts_nothing(
    type_: Type, status: Status, other: dict[str, Any]
) -> None:
    says = Verdict.REFUSED if status is Status.COMPLETED else Verdict.CONFIRMED
    given_ = the_dispatch_of(status, AnswerSource.QUERY)
    assert not decide(a_transaction(type_, status), given_, received(says, **other), RULES).is_contradiction


def test_a_callback_that_overtakes_the_reply_leaves_it_to_the_worker_who_is_sending() -> None:
    for verdict in (Verdict.WAITING, Verdict.UNKNOWN, Verdict.MISSING, Verdict.UNSENT):
        decision = decide(processing(), sent(NextAction.SENDING), received(verdict, AnswerSource.CALLBACK), RULES)
        assert decision.dispatch is not None
        assert (decision.dispatch.next_action, decision.wait_seconds) == (NextAction.SENDING, None)


def test_a_hint_that_overtakes_the_reply_is_not_forgotten_when_the_reply_comes() -> None:
    life = Life(processing())
    assert life.report(received(Verdict.REFUSED, AnswerSource.CALLBACK, is_trusted=False)).wait_seconds == 0
    assert life.report(received(Verdict.WAITING, AnswerSource.SEND)).wait_seconds == 0
    assert life.report(received(Verdict.WAITING)).wait_seconds == 60, "once was enough"


def test_a_hint_keeps_what_waits_to_be_sent_again_from_being_sent_before_it_was_queried() -> None:
    decision = decide(
        processing(), sent(NextAction.SEND), received(Verdict.CONFIRMED, AnswerSource.CALLBACK, is_trusted=False), RULES
    )
    assert decision.dispatch is not None
    assert (decision.dispatch.next_action, decision.wait_seconds) == (NextAction.QUERY, 0)


# What a hint says of the reason, what the answer then says, and what is reported to the merchant.
REASONS = """
    type          hint                answer              told
    COLLECTION    -                   -                   rejected
    COLLECTION    -                   declined            declined
    COLLECTION    declined            -                   declined
    COLLECTION    declined            rejected            declined
    COLLECTION    declined            expired             expired
    COLLECTION    insufficient_funds  rejected            insufficient_funds
    DISBURSEMENT  -                   -                   rejected
    DISBURSEMENT  declined            rejected            rejected
    DISBURSEMENT  invalid_recipient   rejected            invalid_recipient
    DISBURSEMENT  invalid_recipient   limit_exceeded      limit_exceeded
    DISBURSEMENT  -                   declined            rejected
    DISBURSEMENT  -                   expired             rejected
    DISBURSEMENT  -                   insufficient_funds  channel_unavailable
    DISBURSEMENT  insufficient_funds  rejected            channel_unavailable
"""
_, *REASON_ROWS = [line.split() for line in REASONS.strip().splitlines()]


@pytest.mark.parametrize(("type_", "hint", "answer", "reported"), REASON_ROWS)
def test_a_hint_only_colours_the_reason(type_: str, hint: str, answer: str, reported: str) -> None:
    def code(word: str) -> FailureCode | None:
        return None if word == "-" else FailureCode(word)

    life = Life(processing(Type(type_)))
    hinted = life.report(received(Verdict.REFUSED, AnswerSource.CALLBACK, is_trusted=False, failure_code=code(hint)))
    assert hinted.cause is None, "it ends nothing"

    ended = life.report(received(Verdict.REFUSED, failure_code=code(answer)))

    assert (ended.cause, ended.failure_code) == (Cause.REFUSED, FailureCode(reported))


def test_a_hint_of_failure_does_not_stand_against_a_confirmation() -> None:
    life = Life(processing())
    life.report(received(Verdict.REFUSED, AnswerSource.CALLBACK, is_trusted=False, failure_code=FailureCode.DECLINED))
    life.report(received(Verdict.CONFIRMED))
    assert life.transaction.status is Status.COMPLETED
