"""Answers after the end: contradictions, disputes, and follow-up queries."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from malipo.networks.connector import FailureCode, Verdict
from malipo.payments.dispatch import AnswerSource, Decision, Dispatch, LatestAnswer, ReviewReason
from malipo.payments.network_answer.decide import decide
from malipo.payments.network_answer.failure import follow_up
from malipo.payments.transaction import Cause, Status, Type
from tests.payments.network_answer.answers import NOW, RULES, Life, in_words, processing, received, sent, unanswerable
from tests.payments.test_transaction import a_transaction


def test_a_network_that_denies_it_after_the_end_is_believed_when_it_has_had_the_time() -> None:
    life = Life(replace(processing(), status=Status.FAILED), dispatch=follow_up(None, "mpesa"))
    life.report(received(Verdict.CONFIRMED, AnswerSource.CALLBACK, is_trusted=False))
    life.now += timedelta(seconds=5)
    life.report(replace(received(Verdict.REFUSED), age_seconds=10))
    assert life.dispatch is not None
    assert life.dispatch.is_success_reported, "that answer is older than the callback"
    life.report(replace(received(Verdict.REFUSED), age_seconds=1))
    assert life.dispatch is not None
    assert not life.dispatch.is_success_reported


# After the end: which failures are queried again, at which times, and what ends that.
@pytest.mark.parametrize(
    ("type_", "failure", "is_asked"),
    [(Type.DISBURSEMENT, failure, True) for failure in FailureCode]
    + [
        (Type.COLLECTION, failure, failure in (FailureCode.EXPIRED, FailureCode.NOT_RECEIVED))
        for failure in FailureCode
    ],
)
def test_an_ended_payment_that_may_have_been_paid_is_queried_again(
    type_: Type, failure: FailureCode, is_asked: bool
) -> None:
    decision = decide(processing(type_), sent(), received(Verdict.REFUSED, failure_code=failure), RULES)
    assert in_words(sent(), decision) == ("failed+" if is_asked else "failed")
    cannot = replace(received(Verdict.REFUSED, failure_code=failure), cannot_query=frozenset(Type))
    assert decide(processing(type_), sent(), cannot, RULES).dispatch is None, "nobody can be asked"


@pytest.mark.parametrize("verdict", [Verdict.REFUSED, Verdict.UNKNOWN, Verdict.WAITING, Verdict.MISSING])
def test_queries_after_the_end_follow_their_own_schedule_and_stop(verdict: Verdict) -> None:
    life = Life(processing())
    waits = [life.report(received(Verdict.REFUSED)).wait_seconds]
    while life.dispatch is not None:
        waits.append(life.report(received(verdict)).wait_seconds)
    assert waits == [600, 3000, 18_000, None], "at 10 minutes, one hour and six hours after the end"


@pytest.mark.parametrize("verdict", [Verdict.WAITING, Verdict.CONFIRMED])
def test_an_additional_query_uses_up_none_of_the_schedule(verdict: Verdict) -> None:
    life = Life(processing())
    life.report(received(Verdict.REFUSED))
    life.now = life.ended_at + timedelta(seconds=100)
    act = AnswerSource.SEND if verdict is Verdict.WAITING else AnswerSource.CALLBACK
    life.report(received(verdict, act, is_trusted=act is AnswerSource.SEND))
    for seconds in range(101, 121):
        life.now = life.ended_at + timedelta(seconds=seconds)
        life.report(received(Verdict.REFUSED))
    assert life.dispatch is not None, "it is still asked about"
    life.now = life.ended_at + timedelta(seconds=21_599)
    assert life.report(received(Verdict.REFUSED)).wait_seconds == 1


def test_another_amount_that_was_shown_stays_shown_after_a_failure() -> None:
    differs = decide(processing(), sent(), unanswerable(Verdict.CONFIRMED, "callback-signed", amount=999), RULES)
    failed = decide(processing(), differs.dispatch, unanswerable(Verdict.REFUSED, "callback-signed"), RULES)
    assert failed.cause is Cause.REFUSED
    assert failed.dispatch is not None
    assert (failed.dispatch.review_reason, failed.dispatch.is_follow_up) == (ReviewReason.DIFFERS, True)


@pytest.mark.parametrize("type_", Type)
def test_a_signed_failure_after_success_is_queried_and_shown_until_the_network_reports_which(type_: Type) -> None:
    completed = replace(processing(type_), status=Status.COMPLETED)
    doubted = decide(completed, None, received(Verdict.REFUSED, AnswerSource.CALLBACK), RULES).dispatch
    assert doubted is not None
    assert doubted.review_reason is ReviewReason.DISPUTED
    silent: Dispatch | None = doubted
    for _ in range(9):
        silent = decide(completed, silent, received(Verdict.UNKNOWN), RULES).dispatch
    assert silent is not None
    assert silent.review_reason is ReviewReason.DISPUTED, "for as long as nobody knows"
    sure = replace(doubted, is_hinted=False)
    assert decide(completed, sure, received(Verdict.CONFIRMED), RULES) == Decision(), "it was late"
    assert decide(completed, sure, received(Verdict.REFUSED), RULES).is_contradiction


def test_a_query_does_not_undo_what_was_signed_and_an_operator_is_shown_the_dispute() -> None:
    failed = replace(processing(), status=Status.FAILED)
    said = LatestAnswer(is_paid=True, source=AnswerSource.CALLBACK)
    decision = decide(failed, follow_up(None, "mpesa"), received(Verdict.REFUSED), RULES, last=said)
    assert not decision.is_contradiction
    assert decision.dispatch is not None
    assert decision.dispatch.review_reason is ReviewReason.DISPUTED

    signed = decide(failed, decision.dispatch, received(Verdict.REFUSED, AnswerSource.CALLBACK), RULES, last=said)
    assert not signed.is_contradiction, "it may be the first failure, reported once more"
    unasked = unanswerable(Verdict.REFUSED, "callback-signed")
    shown = decide(failed, None, unasked, RULES, last=said)
    assert shown.dispatch is not None
    assert shown.dispatch.review_reason is ReviewReason.DISPUTED, "where nobody can be asked, too"
    for act in (AnswerSource.QUERY, None):
        asked = decide(failed, None, received(Verdict.REFUSED), RULES, last=LatestAnswer(is_paid=True, source=act))
        assert asked.is_contradiction, "and a query undoes what a query or an operator said"


@pytest.mark.parametrize("verdict", [Verdict.WAITING, Verdict.UNKNOWN, Verdict.MISSING, Verdict.UNSENT])
def test_answers_without_an_outcome_through_the_whole_schedule_do_not_contradict(verdict: Verdict) -> None:
    transaction = a_transaction(Type.DISBURSEMENT, Status.FAILED)
    doubt = decide(transaction, None, received(Verdict.CONFIRMED, AnswerSource.CALLBACK, is_trusted=False), RULES)
    dispatch, waits = doubt.dispatch, []
    for seconds in (0, 60, 360, 600, 3600, 21_600):
        assert dispatch is not None
        late = replace(dispatch, is_hinted=False, queued_seconds_ago=seconds, success_seconds_ago=seconds)
        decision = decide(transaction, late, received(verdict), RULES)
        assert not decision.is_contradiction
        dispatch = decision.dispatch
        waits.append(decision.wait_seconds)
    assert waits == [60, 300, 240, 3000, 18_000, 86_400], "on both schedules; then an operator is shown it"
    assert dispatch is not None
    assert dispatch.review_reason is ReviewReason.SAID_PAID


# A reply that the customer is being asked, by when it came and what ended the payment.
@pytest.mark.parametrize(
    ("replied", "status", "failure", "word"),
    [
        ("before the end", Status.FAILED, FailureCode.DECLINED, "-"),
        ("with the end", Status.FAILED, FailureCode.INSUFFICIENT_FUNDS, "-"),
        ("after the end", Status.FAILED, FailureCode.DECLINED, "now"),
        ("and was written at once", Status.FAILED, FailureCode.DECLINED, "now"),
        ("before the end", Status.FAILED, FailureCode.NOT_RECEIVED, "now"),
        ("before the end", Status.FAILED, FailureCode.EXPIRED, "now"),
        ("before the end", Status.CANCELLED, None, "now"),
        ("after the end", Status.CANCELLED, None, "now"),
        ("before the end", Status.COMPLETED, None, "-"),
        ("after the end", Status.COMPLETED, None, "-"),
    ],
)
def test_a_reply_that_was_written_after_the_end_asks_the_network_only_if_it_came_after_it(
    replied: str, status: Status, failure: FailureCode | None, word: str
) -> None:
    moment = {"before the end": -0.9, "with the end": 0.0, "after the end": 0.001}.get(replied)
    ended = replace(processing(Type.COLLECTION), status=status, ended_at=NOW, failure_code=failure)
    reply = received(Verdict.WAITING, AnswerSource.SEND)
    if moment is not None:
        reply = replace(reply, replied_at=NOW + timedelta(seconds=moment))
    assert in_words(None, decide(ended, None, reply, RULES)) == word
