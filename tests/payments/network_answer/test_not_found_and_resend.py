""" "There is no such payment": when it counts, and what follows."""

import pytest
from msgspec.structs import replace

from malipo.networks.connector import FailureCode, Resubmit, Verdict
from malipo.payments.dispatch import AnswerSource, NextAction, ReviewReason
from malipo.payments.network_answer.decide import decide
from malipo.payments.transaction import Cause, Status, Type
from tests.payments.network_answer.answers import RULES, Life, in_words, processing, received, sent


# "Unknown, or not indexed yet": how many such answers in a row before, how long after the last sending.
@pytest.mark.parametrize(
    ("before", "seconds", "is_failed"), [(5, 1800, True), (4, 1800, False), (5, 1799, False), (99, 1799, False)]
)
def test_unknown_or_not_indexed_counts_after_half_an_hour_and_six_in_a_row(
    before: int, seconds: int, is_failed: bool
) -> None:
    given_ = sent(not_indexed_count=before, sent_seconds_ago=seconds)
    decision = decide(processing(Type.COLLECTION), given_, received(Verdict.NOT_INDEXED), RULES)
    assert (decision.cause is Cause.REFUSED) == is_failed
    if is_failed:
        assert decision.failure_code is FailureCode.NOT_RECEIVED
    payout = decide(processing(), given_, received(Verdict.NOT_INDEXED, resubmit=Resubmit.UNSAFE), RULES)
    assert payout.cause is None, "a payout never fails because it is not found"


@pytest.mark.parametrize("verdict", [Verdict.UNKNOWN, Verdict.WAITING, Verdict.MISSING])
def test_any_other_answer_begins_the_row_of_six_anew(verdict: Verdict) -> None:
    decision = decide(processing(Type.COLLECTION), sent(not_indexed_count=5), received(verdict), RULES)
    assert decision.dispatch is not None
    assert decision.dispatch.not_indexed_count == 0


# "Not found": how many such answers before, how long after the last sending, and what follows.
NOT_FOUND = """
    type          resubmit             sends  acknowledged  before  seconds  follows
    COLLECTION    unsafe               1      no            0       9999     later
    COLLECTION    unsafe               1      no            1       9999     later
    COLLECTION    unsafe               1      no            2       299      later
    COLLECTION    unsafe               1      no            2       300      failed+
    COLLECTION    unsafe               1      no            9       299      later
    COLLECTION    duplicates_refused   1      no            2       300      failed+
    COLLECTION    query_authoritative  1      no            2       300      failed+
    COLLECTION    duplicates_refused   1      yes           2       300      forgotten
    COLLECTION    unsafe               1      yes           9       9999     forgotten
    COLLECTION    unsafe               1      yes           0       9999     later
    DISBURSEMENT  duplicates_refused   1      no            0       9999     later
    DISBURSEMENT  duplicates_refused   1      no            1       9999     later
    DISBURSEMENT  duplicates_refused   1      no            2       299      later
    DISBURSEMENT  duplicates_refused   1      no            2       300      again
    DISBURSEMENT  duplicates_refused   2      no            2       300      again
    DISBURSEMENT  duplicates_refused   3      no            2       300      not_found
    DISBURSEMENT  duplicates_refused   1      yes           2       300      forgotten
    DISBURSEMENT  query_authoritative  1      no            2       300      not_found
    DISBURSEMENT  query_authoritative  1      no            2       299      later
    DISBURSEMENT  query_authoritative  1      yes           2       300      forgotten
    DISBURSEMENT  unsafe               1      no            2       300      not_found
    DISBURSEMENT  unsafe               1      no            1       9999     later
    DISBURSEMENT  unsafe               1      yes           2       300      forgotten
"""
_, *NOT_FOUND_ROWS = [line.split() for line in NOT_FOUND.strip().splitlines()]


@pytest.mark.parametrize(("type_", "resubmit", "sends", "acknowledged", "before", "seconds", "follows"), NOT_FOUND_ROWS)
def test_not_found_counts_when_it_was_said_three_times_and_long_enough_after_the_last_sending(
    type_: str, resubmit: str, sends: str, acknowledged: str, before: str, seconds: str, follows: str
) -> None:
    given_ = sent(
        send_count=int(sends),
        is_acknowledged=acknowledged == "yes",
        not_found_count=int(before),
        sent_seconds_ago=int(seconds),
    )

    decision = decide(processing(Type(type_)), given_, received(Verdict.MISSING, resubmit=Resubmit(resubmit)), RULES)

    review_reason = decision.dispatch.review_reason if decision.dispatch is not None else None
    assert (review_reason or in_words(given_, decision)) == follows
    if follows == "failed+":
        assert decision.failure_code is FailureCode.NOT_RECEIVED
    elif follows == "again":
        assert decision.dispatch == replace(given_, next_action=NextAction.SEND, not_found_count=0), (
            "it is counted anew"
        )
        assert decision.wait_seconds == 0
    else:
        assert in_words(given_, decision) == "later", "a payment under review is still queried"
        assert decision.dispatch is not None
        assert decision.dispatch.not_found_count == int(before) + 1


@pytest.mark.parametrize(
    ("act", "is_trusted"), [(AnswerSource.SEND, True), (AnswerSource.CALLBACK, True), (AnswerSource.CALLBACK, False)]
)
def test_not_found_counts_only_as_the_answer_to_a_query(act: AnswerSource, is_trusted: bool) -> None:
    given_ = sent(not_found_count=9, sent_seconds_ago=3600)
    answer = received(Verdict.MISSING, act, is_trusted=is_trusted, resubmit=Resubmit.DUPLICATES_REFUSED)

    for type_ in Type:
        decision = decide(processing(type_), given_, answer, RULES)

        assert decision.cause is None
        assert decision.dispatch is not None
        assert (decision.dispatch.next_action, decision.dispatch.not_found_count) == (NextAction.QUERY, 9)


def test_a_network_that_has_it_after_all_is_not_held_to_what_it_did_not_know_before() -> None:
    given_ = sent(not_found_count=2, sent_seconds_ago=3600)
    waiting = decide(processing(), given_, received(Verdict.WAITING), RULES).dispatch
    assert waiting is not None
    assert (waiting.not_found_count, waiting.is_acknowledged) == (0, True)


def test_a_payout_that_is_never_found_is_sent_three_times_and_then_left_to_an_operator() -> None:
    life = Life(processing())
    for _ in range(30):
        life.report(received(Verdict.MISSING, AnswerSource.QUERY, resubmit=Resubmit.DUPLICATES_REFUSED))
        assert life.dispatch is not None
        if life.dispatch.next_action is NextAction.SEND:
            life.send()

    assert life.sendings == 3
    assert life.transaction.status is Status.PROCESSING
    assert life.dispatch is not None
    assert life.dispatch.review_reason is ReviewReason.NOT_FOUND
    assert life.dispatch.next_action is NextAction.QUERY


def test_connections_that_were_refused_are_no_sendings() -> None:
    life = Life(processing())
    for _ in range(20):
        assert life.report(received(Verdict.UNSENT, AnswerSource.SEND)).wait_seconds == 5
        life.send()
    assert life.dispatch is not None
    assert life.dispatch.send_count == 1

    life.report(received(Verdict.REFUSED, AnswerSource.SEND))
    assert life.transaction.status is Status.FAILED, "of all those, one has arrived"


@pytest.mark.parametrize("type_", Type)
def test_a_refusal_of_a_second_sending_is_not_believed(type_: Type) -> None:
    given_ = sent(NextAction.SENDING, send_count=2)
    refused = decide(processing(type_), given_, received(Verdict.REFUSED, AnswerSource.SEND), RULES)
    assert in_words(given_, refused) == "later"

    asked = decide(processing(type_), refused.dispatch, received(Verdict.REFUSED, AnswerSource.QUERY), RULES)
    assert asked.cause is Cause.REFUSED, "of a question it is"


def test_a_signed_refusal_after_a_second_sending_may_be_of_the_second_and_is_queried() -> None:
    refused = decide(processing(), sent(send_count=2), received(Verdict.REFUSED, AnswerSource.CALLBACK), RULES)
    assert refused.cause is None
    assert refused.dispatch is not None
    assert refused.dispatch.next_action is NextAction.QUERY


def test_a_second_sending_that_is_confirmed_is_believed() -> None:
    decision = decide(
        processing(), sent(NextAction.SENDING, send_count=2), received(Verdict.CONFIRMED, AnswerSource.SEND), RULES
    )
    assert decision.cause is Cause.CONFIRMED
