"""A reported success is never forgotten."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from malipo.networks.connector import Resubmit, Verdict
from malipo.payments.dispatch import AnswerSource, NextAction, ReviewReason
from malipo.payments.network_answer.failure import follow_up
from malipo.payments.transaction import Status, Type
from tests.payments.network_answer.answers import Life, processing, received


# An unsigned callback reports that it was paid. Whatever else is received, it is never FAILED without the network's own
# report, and never sent a second time.
@pytest.mark.parametrize("type_", Type)
@pytest.mark.parametrize("verdict", [Verdict.MISSING, Verdict.NOT_INDEXED, Verdict.UNKNOWN])
def test_a_reported_success_is_never_forgotten(type_: Type, verdict: Verdict) -> None:
    life = Life(processing(type_))
    life.report(received(Verdict.CONFIRMED, AnswerSource.CALLBACK, is_trusted=False))
    for _ in range(50):
        life.now += timedelta(hours=1)
        life.report(received(verdict, resubmit=Resubmit.DUPLICATES_REFUSED))

    assert life.transaction.status is Status.PROCESSING
    assert life.sendings == 1
    assert life.dispatch is not None
    assert life.dispatch.review_reason is ReviewReason.SAID_PAID, (
        "an operator is shown it when the schedule is at its end"
    )


@pytest.mark.parametrize("type_", Type)
def test_a_reported_success_does_not_stand_against_the_networks_own_report(type_: Type) -> None:
    life = Life(processing(type_))
    life.report(received(Verdict.CONFIRMED, AnswerSource.CALLBACK, is_trusted=False))
    for _ in range(2):  # Two queries were under way.
        life.now += timedelta(seconds=5)
        life.report(replace(received(Verdict.REFUSED), age_seconds=20))
        assert not life.transaction.status.is_final, "that answer is older than the success"
    life.now += timedelta(seconds=5)
    decision = life.report(replace(received(Verdict.REFUSED), age_seconds=1))
    assert life.transaction.status is Status.FAILED
    assert decision.dispatch is not None, "and it is asked about again"
    assert decision.dispatch.is_success_reported


def test_a_refusal_that_comes_after_a_success_was_reported_is_queried() -> None:
    life = Life(processing())
    life.report(received(Verdict.CONFIRMED, AnswerSource.CALLBACK, is_trusted=False))
    life.report(received(Verdict.REFUSED, AnswerSource.SEND))
    assert life.transaction.status is Status.PROCESSING


def test_a_payment_reported_paid_is_not_sent_again_although_the_connection_was_refused() -> None:
    life = Life(processing())
    life.report(received(Verdict.CONFIRMED, AnswerSource.CALLBACK, is_trusted=False))
    life.report(received(Verdict.UNSENT, AnswerSource.SEND))
    assert life.dispatch is not None
    assert life.dispatch.next_action is NextAction.QUERY


def test_a_success_that_was_reported_after_the_end_and_is_never_confirmed_is_shown_to_an_operator() -> None:
    life = Life(replace(processing(), status=Status.FAILED), dispatch=follow_up(None, "mpesa"))
    life.report(received(Verdict.CONFIRMED, AnswerSource.CALLBACK, is_trusted=False))
    for _ in range(10):
        life.report(received(Verdict.UNKNOWN))
    assert life.dispatch is not None
    assert life.dispatch.review_reason is ReviewReason.SAID_PAID
