"""After a restore: what is done about a payment that may have been sent before, compared with a grid written by hand."""

import pytest
from msgspec.structs import replace

from malipo.networks.connector import Resubmit, Verdict
from malipo.payments.dispatch import AnswerSource, Decision, Dispatch, NextAction, QueryRules, ReviewReason
from malipo.payments.network_answer.decide import decide
from malipo.payments.transaction import Cause, Status, Type
from tests.payments.network_answer.answers import received
from tests.payments.test_transaction import a_transaction

RULES = QueryRules(poll_seconds=(10, 60, 300), not_found_seconds=300, not_indexed_seconds=1800)

# A payment that was not sent, as far as we know. What each answer of its network means, where the network refuses
# duplicates, where it does not, and where it has no query; young and old as it is since the restore. Open at the
# restore, or taken in since, when a merchant repeats what may have been sent before.
#
# A fault is an answer that was not received.
#
#   sent     the network has it: it counts as sent, and is queried
#   goes     the network does not have it: it may be sent
#   held     only an operator can release it
#   later    its network is queried again
GRID = """
    type          taken_in  verdict      seconds  duplicates_refused  unsafe  cannot_query
    COLLECTION    before    confirmed    0        sent                sent    sent
    COLLECTION    before    refused      0        sent                sent    sent
    COLLECTION    before    waiting      0        sent                sent    sent
    COLLECTION    before    unknown      9999     later               later   held
    COLLECTION    before    unsent       9999     later               later   held
    COLLECTION    before    missing      299      later               later   held
    COLLECTION    before    missing      300      goes                goes    goes
    COLLECTION    before    not_indexed  1799     later               later   held
    COLLECTION    before    not_indexed  1800     goes                goes    goes
    COLLECTION    since     confirmed    10       sent                sent    sent
    COLLECTION    since     refused      10       sent                sent    sent
    COLLECTION    since     waiting      10       sent                sent    sent
    COLLECTION    since     unknown      10       goes                goes    goes
    COLLECTION    since     fault        9999     later               later   goes
    COLLECTION    since     unsent       9999     later               later   goes
    COLLECTION    since     missing      10       goes                goes    goes
    COLLECTION    since     not_indexed  10       goes                goes    goes
    DISBURSEMENT  before    confirmed    0        sent                sent    sent
    DISBURSEMENT  before    refused      0        sent                sent    sent
    DISBURSEMENT  before    waiting      0        sent                sent    sent
    DISBURSEMENT  before    unknown      9999     later               later   held
    DISBURSEMENT  before    unsent       9999     later               later   held
    DISBURSEMENT  before    missing      299      later               later   held
    DISBURSEMENT  before    missing      300      goes                held    held
    DISBURSEMENT  before    not_indexed  1799     later               later   held
    DISBURSEMENT  before    not_indexed  1800     goes                held    held
    DISBURSEMENT  since     confirmed    10       sent                sent    sent
    DISBURSEMENT  since     unknown      10       later               later   held
    DISBURSEMENT  since     unknown      9999     later               later   held
    DISBURSEMENT  since     missing      299      later               later   held
    DISBURSEMENT  since     missing      300      goes                held    held
    DISBURSEMENT  since     not_indexed  1799     later               later   held
    DISBURSEMENT  since     not_indexed  1800     goes                held    held
"""
_, *ROWS = [line.split() for line in GRID.strip().splitlines()]


def queried_first(seconds: float, *, taken_in: str = "before", query_count: int = 0) -> Dispatch:
    """So many seconds after the restore was detected."""
    queued = seconds + 60 if taken_in == "before" else seconds / 2
    return Dispatch(is_asked_first=True, sent_seconds_ago=seconds, queued_seconds_ago=queued, query_count=query_count)


@pytest.mark.parametrize(("type_", "taken_in", "verdict", "seconds", "refused", "unsafe", "cannot"), ROWS)
def test_after_a_restore_a_payment_goes_only_when_its_network_surely_has_nothing_of_it(
    type_: str, taken_in: str, verdict: str, seconds: str, refused: str, unsafe: str, cannot: str
) -> None:
    given = queried_first(float(seconds), taken_in=taken_in)
    news = received(Verdict.UNKNOWN, is_fault=True) if verdict == "fault" else received(Verdict(verdict))
    for expected, reported in (
        (refused, replace(news, resubmit=Resubmit.DUPLICATES_REFUSED)),
        (unsafe, replace(news, resubmit=Resubmit.UNSAFE)),
        (cannot, replace(news, resubmit=Resubmit.UNSAFE, cannot_query=frozenset(Type))),
    ):
        assert _follows(decide(a_transaction(Type(type_)), given, reported, RULES)) == expected


# A refund, whose key may be that of a lost one of another amount: what each answer means, by the amount that it names.
@pytest.mark.parametrize(
    ("verdict", "unnamed", "same", "other"),
    [
        (Verdict.CONFIRMED, "held", "sent", "sent"),
        (Verdict.WAITING, "held", "sent", "sent"),
        (Verdict.REFUSED, "sent", "sent", "sent"),
        (Verdict.UNKNOWN, "later", "later", "later"),
        (Verdict.MISSING, "goes", "goes", "goes"),
    ],
)
@pytest.mark.parametrize("taken_in", ["before", "since"])
def test_a_refund_that_the_network_has_without_an_amount_waits_for_operators(
    verdict: Verdict, unnamed: str, same: str, other: str, taken_in: str
) -> None:
    refund = replace(a_transaction(Type.DISBURSEMENT), refund_of="txn_1")
    given = queried_first(300, taken_in=taken_in)
    for expected, amount in ((unnamed, None), (same, refund.amount), (other, refund.amount - 1)):
        reported = replace(received(verdict, amount=amount), resubmit=Resubmit.DUPLICATES_REFUSED)
        decision = decide(refund, given, reported, RULES)
        assert _follows(decision) == expected
        assert decision.dispatch is not None
        # So that a release of the channel does not send it, nor does "not found" end it.
        assert decision.dispatch.is_success_reported == (verdict is Verdict.CONFIRMED)


def _follows(decision: Decision) -> str:
    dispatch = decision.dispatch
    assert dispatch is not None
    if decision.cause is not None:
        assert (decision.cause, dispatch.next_action, dispatch.send_count) == (Cause.SUBMITTED, NextAction.QUERY, 1)
        return "sent"
    if not dispatch.is_asked_first:
        assert (dispatch.next_action, decision.wait_seconds) == (NextAction.SEND, 0)
        return "goes"
    return "held" if dispatch.review_reason is ReviewReason.RESTORED else "later"


# When its network is asked again, by the schedule 10, 60, 300: but "not known" no later than it counts, and a second.
@pytest.mark.parametrize(
    ("verdict", "seconds", "query_count", "wait_seconds"),
    [
        (Verdict.MISSING, 0, 0, 60),
        (Verdict.MISSING, 240, 0, 60),
        (Verdict.MISSING, 250, 0, 51),
        (Verdict.MISSING, 299.5, 0, 1.5),
        (Verdict.MISSING, 100, 1, 201),
        (Verdict.NOT_INDEXED, 0, 0, 60),
        (Verdict.NOT_INDEXED, 1000, 7, 300),
        (Verdict.NOT_INDEXED, 1600, 7, 201),
        (Verdict.UNKNOWN, 250, 0, 60),
        (Verdict.UNKNOWN, 1799, 7, 300),
        (Verdict.UNSENT, 9999, 7, 300),
    ],
)
@pytest.mark.parametrize("type_", Type)
def test_a_network_that_does_not_know_it_is_queried_again_as_soon_as_that_counts(
    type_: Type, verdict: Verdict, seconds: float, query_count: int, wait_seconds: float
) -> None:
    decision = decide(a_transaction(type_), queried_first(seconds, query_count=query_count), received(verdict), RULES)
    assert decision.wait_seconds == pytest.approx(wait_seconds)
    assert decision.dispatch is not None
    assert decision.dispatch.is_asked_first


# After how many answers an operator is shown a payment that is queried first.
@pytest.mark.parametrize(
    ("verdict", "is_fault", "query_count", "is_shown"),
    [
        (Verdict.UNKNOWN, False, 1, False),
        (Verdict.UNKNOWN, False, 2, True),
        (Verdict.UNKNOWN, True, 2, False),
        (Verdict.UNKNOWN, True, 4, True),
        (Verdict.MISSING, False, 2, False),
        (Verdict.NOT_INDEXED, False, 2, False),
    ],
)
def test_a_network_whose_answers_say_nothing_is_shown_soon(
    verdict: Verdict, is_fault: bool, query_count: int, is_shown: bool
) -> None:
    rules = QueryRules(poll_seconds=(10, 60, 300, 900, 3600), not_found_seconds=300, not_indexed_seconds=1800)
    given = queried_first(100, query_count=query_count)
    decision = decide(a_transaction(Type.DISBURSEMENT), given, received(verdict, is_fault=is_fault), rules)
    assert decision.dispatch is not None
    assert (decision.dispatch.review_reason is ReviewReason.RESTORED) is is_shown


@pytest.mark.parametrize("verdict", Verdict)
def test_after_a_restore_a_callback_about_a_payment_that_was_not_sent_has_its_network_queried(verdict: Verdict) -> None:
    callback = received(verdict, AnswerSource.CALLBACK, is_trusted=False)
    decision = decide(a_transaction(Type.DISBURSEMENT), queried_first(9999), callback, RULES)
    assert decision.cause is Cause.SUBMITTED
    assert decision.dispatch is not None
    assert (decision.dispatch.next_action, decision.dispatch.is_asked_first) == (NextAction.QUERY, False)


# A merchant repeats a collection that operators adopted from a line without a key. Its network reports what it has.
#
#   held      operators decide; nothing is credited, and nothing is sent
#   ends      it is another payment, and is COMPLETED
#   sent      the same, of one that is asked first: it counts as sent, and is queried
ADOPTED = """
    status      source     receipt  outcome
    PENDING     ask        QK1      held
    PENDING     ask        -        held
    PENDING     ask        QK2      sent
    PROCESSING  send       QK1      held
    PROCESSING  ask        QK1      held
    PROCESSING  ask        -        held
    PROCESSING  ask        QK2      ends
    PROCESSING  callback   QK1      held
    PROCESSING  callback   -        held
    PROCESSING  callback   QK2      ends
    PROCESSING  statement  QK1      held
    PROCESSING  statement  QK2      ends
    PROCESSING  statement  -        ends
"""


@pytest.mark.parametrize("row", [line.split() for line in ADOPTED.strip().splitlines()[1:]], ids=" ".join)
def test_a_report_about_an_adopted_payment_does_not_end_its_repeat(row: list[str]) -> None:
    status, source, receipt, outcome = row
    is_pending = status == "PENDING"
    transaction = replace(a_transaction(Type.COLLECTION), status=Status(status))
    dispatch = Dispatch(
        connector=None if is_pending else "mpesa",
        next_action=NextAction.SEND if is_pending else NextAction.SENDING,
        is_asked_first=is_pending,
        sent_seconds_ago=100,
        queued_seconds_ago=10,
    )
    result = received(Verdict.CONFIRMED, AnswerSource(source), provider_reference=None if receipt == "-" else receipt)
    decision = decide(transaction, dispatch, result, RULES, adopted_receipts=("QK1",))
    if outcome == "held":
        assert decision.cause is None
        assert decision.dispatch is not None
        assert decision.dispatch.review_reason is ReviewReason.RESEMBLES_ADOPTED
        assert decision.dispatch.is_success_reported
        assert decision.dispatch.is_asked_first is is_pending
        assert decision.dispatch.next_action is (NextAction.SEND if is_pending else NextAction.QUERY)
        assert decision.wait_seconds is not None
        assert decision.wait_seconds > 10**9, "nothing is due"
    else:
        assert decision.cause is (Cause.CONFIRMED if outcome == "ends" else Cause.SUBMITTED)


@pytest.mark.parametrize("verdict", Verdict)
@pytest.mark.parametrize("source", [AnswerSource.SEND, AnswerSource.QUERY, AnswerSource.CALLBACK])
def test_no_report_ends_a_payment_that_resembles_an_adopted_one(source: AnswerSource, verdict: Verdict) -> None:
    """Whatever its receipt: it may be about the payment that was lost."""
    transaction = a_transaction(Type.DISBURSEMENT, Status.PROCESSING)
    held = Dispatch(
        connector="mpesa",
        next_action=NextAction.QUERY,
        sent_seconds_ago=100,
        send_count=1,
        review_reason=ReviewReason.RESEMBLES_ADOPTED,
    )
    decision = decide(transaction, held, received(verdict, source, provider_reference="QK2"), RULES)
    assert (decision.cause, decision.wait_seconds) == (None, None)
    assert decision.dispatch is not None
    assert decision.dispatch.review_reason is ReviewReason.RESEMBLES_ADOPTED
    assert decision.dispatch.next_action is NextAction.QUERY


@pytest.mark.parametrize("status", [Status.FAILED, Status.COMPLETED, Status.CANCELLED])
@pytest.mark.parametrize("has_follow_up", [True, False])
def test_a_report_about_an_adopted_payment_contradicts_no_repeat_that_has_ended(
    status: Status, has_follow_up: bool
) -> None:
    transaction = replace(a_transaction(Type.COLLECTION), status=status)
    dispatch = Dispatch(connector="mpesa", next_action=NextAction.QUERY, is_follow_up=True) if has_follow_up else None
    result = received(Verdict.CONFIRMED, AnswerSource.QUERY, provider_reference="QK1")
    assert decide(transaction, dispatch, result, RULES, adopted_receipts=("QK1",)) == Decision()
