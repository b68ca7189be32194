"""Any answers, received in any order."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from malipo.networks.connector import FailureCode, Resubmit, Verdict
from malipo.payments.dispatch import AnswerSource, Decision, Dispatch, NextAction, ReceivedAnswer
from malipo.payments.network_answer.decide import decide
from malipo.payments.transaction import Cause, Status, Type
from tests.payments.network_answer.answers import HEARD, OTHERS, RULES, Life, processing, received
from tests.payments.test_transaction import a_transaction

HEARINGS = st.builds(
    lambda how, verdict, failure, other, resubmit: received(
        verdict, HEARD[how][0], is_trusted=HEARD[how][1], failure_code=failure, resubmit=resubmit, **other
    ),
    st.sampled_from(list(HEARD)),
    st.sampled_from(Verdict),
    st.none() | st.sampled_from(FailureCode),
    st.sampled_from([{}, {}, {}, *OTHERS]),
    st.sampled_from(Resubmit),
)
# What is needed for a second sending comes often enough to be seen together with everything else.
NOT_FOUNDS = st.just(received(Verdict.MISSING, resubmit=Resubmit.DUPLICATES_REFUSED))
STEPS = st.lists(
    st.tuples(HEARINGS, st.sampled_from([0, 1, 60, 4000])) | st.tuples(NOT_FOUNDS, st.just(301)), max_size=25
)


@given(st.sampled_from(Type), st.booleans(), STEPS)
def test_whatever_is_received_in_whatever_order_a_payment_ends_only_as_its_network_certainly_said(
    type_: Type, is_sent: bool, steps: list[tuple[ReceivedAnswer, int]]
) -> None:
    life = Life(processing(type_)) if is_sent else Life(a_transaction(type_), dispatch=Dispatch())
    for news, seconds in steps:
        before, dispatch = life.transaction.status, life.dispatch
        life.now += timedelta(seconds=seconds)

        decision = life.report(news)

        if before.is_final:
            assert decision.cause is None
            assert life.transaction.status is before
            assert not decision.is_contradiction or news.is_trusted
        elif before is Status.PENDING:
            assert decision.cause is Cause.SUBMITTED, "and nothing else"
        elif decision.cause is not None:
            assert dispatch is not None
            _assert_certain(type_, dispatch, news, decision)
        if not life.transaction.status.is_final:
            assert life.dispatch is not None, "an open payment always has a next act"
            if life.dispatch.next_action is NextAction.SEND:
                assert news.source in (AnswerSource.SEND, AnswerSource.QUERY)
                life.send()
            assert life.dispatch.send_count <= 3


def _assert_certain(type_: Type, dispatch: Dispatch, news: ReceivedAnswer, decision: Decision) -> None:
    assert news.is_trusted
    assert (news.answer.amount, news.answer.phone) == (None, None), "what it repeats is of another payment"
    if decision.cause is Cause.CONFIRMED:
        assert news.answer.verdict is Verdict.CONFIRMED
    elif news.answer.verdict in (Verdict.MISSING, Verdict.NOT_INDEXED):
        assert not dispatch.is_success_reported
        assert type_ is Type.COLLECTION, "a payout never fails because it is not found"
        assert news.source is AnswerSource.QUERY
        assert not dispatch.is_acknowledged
    else:
        assert news.answer.verdict is Verdict.REFUSED
        assert news.source is AnswerSource.QUERY or dispatch.send_count <= 1, (
            "what is refused twice over may have been paid the first time"
        )


@given(st.sampled_from(Type), st.sampled_from([status for status in Status if status.is_final]), STEPS)
def test_no_answer_after_the_end_changes_the_status(
    type_: Type, status: Status, steps: list[tuple[ReceivedAnswer, int]]
) -> None:
    dispatch: Dispatch | None = None
    for news, _ in steps:
        decision = decide(a_transaction(type_, status), dispatch, news, RULES)
        assert decision.cause is None
        assert decision.failure_code is None
        assert not decision.is_contradiction or (news.is_trusted and news.answer.verdict.is_definite)
        assert decision.dispatch is None or decision.dispatch.next_action is NextAction.QUERY, (
            "what has ended is never sent"
        )
        dispatch = decision.dispatch
