"""What is done about a payment when something is heard of it, held against a grid written by hand from the specification."""

import itertools
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from malipo.networks.connector import Answer, FailureCode, Resubmit, Verdict
from malipo.payments.dispatch import Act, Attention, Decision, Dispatch, LatestAnswer, Next, ReceivedAnswer, Rules
from malipo.payments.network_answer.after_end import follow_up
from malipo.payments.network_answer.decide import decide
from malipo.payments.transaction import Cause, Status, Transaction, Type, next_status
from tests.payments.test_transaction import a_transaction

NOW = datetime(2026, 11, 15, 8, 30, tzinfo=UTC)
RULES = Rules(poll_seconds=(10, 60, 300), not_found_seconds=300, follow_up_seconds=(600, 3600, 21_600))

# What follows from each verdict, by what the payment is, where it stands and how we heard. A payment that was sent once, a
# moment ago. After the end, what comes by itself finds nothing to be done; an answer, the question that was asked. A reply
# after a failure, which does not say that nothing was taken in, is a worker's who slept and has sent it after all.
#
#   completed, failed   the payment ends
#   failed+             and its network is asked again in ten minutes, in case it was paid after all
#   later, now          its network is asked, on the schedule or at once
#   again               it is sent again: provably nothing was
#   suspect             we have not sent it, and yet somebody speaks of it: it counts as sent, its network is asked before
#                       anything is, and an operator is told
#   contradiction       what the merchant saw stays; the network's float follows its word, and it is asked again
#   done                it was asked, and there is no more to ask
#   -                   nothing
GRID = """
    type          status      heard              confirmed      refused        waiting    unknown    missing    not_indexed  unsent

    COLLECTION    PENDING     send               suspect        suspect        suspect    suspect    suspect    suspect      suspect
    COLLECTION    PENDING     ask                suspect        suspect        suspect    suspect    suspect    suspect      suspect
    COLLECTION    PENDING     callback-signed    suspect        suspect        suspect    suspect    suspect    suspect      suspect
    COLLECTION    PENDING     callback-unsigned  suspect        suspect        suspect    suspect    suspect    suspect      suspect
    COLLECTION    PROCESSING  send               completed      failed         later      later      later      later        again
    COLLECTION    PROCESSING  ask                completed      failed         later      later      later      later        later
    COLLECTION    PROCESSING  callback-signed    completed      failed         later      later      later      later        later
    COLLECTION    PROCESSING  callback-unsigned  now            now            now        now        now        now          now
    COLLECTION    COMPLETED   send               -              now            -          -          -          -            -
    COLLECTION    COMPLETED   ask                done           contradiction  later      later      later      later        later
    COLLECTION    COMPLETED   callback-signed    -              now            -          -          -          -            -
    COLLECTION    COMPLETED   callback-unsigned  -              now            -          -          -          -            -
    COLLECTION    FAILED      send               contradiction  -              now        now        -          -            -
    COLLECTION    FAILED      ask                contradiction  later          later      later      later      later        later
    COLLECTION    FAILED      callback-signed    contradiction  -              -          -          -          -            -
    COLLECTION    FAILED      callback-unsigned  now            -              -          -          -          -            -
    COLLECTION    CANCELLED   send               contradiction  -              now        now        -          -            -
    COLLECTION    CANCELLED   ask                contradiction  later          later      later      later      later        later
    COLLECTION    CANCELLED   callback-signed    contradiction  -              -          -          -          -            -
    COLLECTION    CANCELLED   callback-unsigned  now            -              -          -          -          -            -

    DISBURSEMENT  PENDING     send               suspect        suspect        suspect    suspect    suspect    suspect      suspect
    DISBURSEMENT  PENDING     ask                suspect        suspect        suspect    suspect    suspect    suspect      suspect
    DISBURSEMENT  PENDING     callback-signed    suspect        suspect        suspect    suspect    suspect    suspect      suspect
    DISBURSEMENT  PENDING     callback-unsigned  suspect        suspect        suspect    suspect    suspect    suspect      suspect
    DISBURSEMENT  PROCESSING  send               completed      failed+        later      later      later      later        again
    DISBURSEMENT  PROCESSING  ask                completed      failed+        later      later      later      later        later
    DISBURSEMENT  PROCESSING  callback-signed    completed      failed+        later      later      later      later        later
    DISBURSEMENT  PROCESSING  callback-unsigned  now            now            now        now        now        now          now
    DISBURSEMENT  COMPLETED   send               -              now            -          -          -          -            -
    DISBURSEMENT  COMPLETED   ask                done           contradiction  later      later      later      later        later
    DISBURSEMENT  COMPLETED   callback-signed    -              now            -          -          -          -            -
    DISBURSEMENT  COMPLETED   callback-unsigned  -              now            -          -          -          -            -
    DISBURSEMENT  FAILED      send               contradiction  -              now        now        -          -            -
    DISBURSEMENT  FAILED      ask                contradiction  later          later      later      later      later        later
    DISBURSEMENT  FAILED      callback-signed    contradiction  -              -          -          -          -            -
    DISBURSEMENT  FAILED      callback-unsigned  now            -              -          -          -          -            -
    DISBURSEMENT  CANCELLED   send               contradiction  -              now        now        -          -            -
    DISBURSEMENT  CANCELLED   ask                contradiction  later          later      later      later      later        later
    DISBURSEMENT  CANCELLED   callback-signed    contradiction  -              -          -          -          -            -
    DISBURSEMENT  CANCELLED   callback-unsigned  now            -              -          -          -          -            -
"""
HEARD = {
    "send": (Act.SEND, True),
    "ask": (Act.ASK, True),
    "callback-signed": (Act.CALLBACK, True),
    "callback-unsigned": (Act.CALLBACK, False),
}
HEADER, *ROWS = [line.split() for line in GRID.splitlines() if line.strip()]
CELLS = [
    (Type(type_), Status(status), heard, Verdict(verdict), cell)
    for type_, status, heard, *cells in ROWS
    for verdict, cell in zip(HEADER[3:], cells, strict=True)
]


def sent(next_act: Next = Next.ASK, **changes: Any) -> Dispatch:
    """Sent once, a moment ago."""
    return replace(Dispatch(route="mpesa", next_act=next_act, sends=1, sent_seconds=5), **changes)


def heard(verdict: Verdict, act: Act = Act.ASK, *, is_trusted: bool = True, **answer: Any) -> ReceivedAnswer:
    resubmit = answer.pop("resubmit", Resubmit.UNSAFE)
    return ReceivedAnswer(
        route="mpesa", act=act, answer=Answer(verdict=verdict, **answer), is_trusted=is_trusted, resubmit=resubmit
    )


def processing(type_: Type = Type.DISBURSEMENT) -> Transaction:
    return a_transaction(type_, Status.PROCESSING)


_SUSPECT = Dispatch(route="mpesa", next_act=Next.ASK, sends=1, attention=Attention.UNSENT)


def in_words(given: Dispatch | None, decision: Decision) -> str:
    """What a decision comes to, in the words of the grid."""
    if decision.cause is Cause.SUBMITTED:
        assert decision.dispatch is not None
        unheard = replace(decision.dispatch, is_success_heard=False, success_seconds=None)
        assert (unheard, decision.wait_seconds) == (_SUSPECT, 0)
        return "suspect"
    if decision.cause is not None:
        assert not decision.is_contradiction
        if decision.dispatch is not None:
            assert (decision.cause, decision.dispatch.is_follow_up) == (Cause.REFUSED, True)
            assert (decision.dispatch.next_act, decision.wait_seconds) == (Next.ASK, 600)
            return "failed+"
        return {Cause.CONFIRMED: "completed", Cause.REFUSED: "failed"}[decision.cause]
    assert decision.failure_code is None, "only what failed has a reason"
    if decision.is_contradiction:
        assert decision.dispatch is None or decision.dispatch.is_follow_up
        return "contradiction"
    dispatch = decision.dispatch
    if dispatch is None:
        return "-" if given is None else "done"
    if decision.wait_seconds is None:
        assert dispatch == given, "what is not taken up again stays as it is"
        return "-"
    if dispatch.next_act is Next.SEND:
        return "again"
    return "now" if decision.wait_seconds == 0 else "later"


def the_dispatch_of(status: Status, act: Act) -> Dispatch | None:
    if status is Status.PENDING:
        return Dispatch()
    if status is Status.PROCESSING:
        return sent(Next.SENDING if act is Act.SEND else Next.ASK)
    return Dispatch(route="mpesa", next_act=Next.ASK, is_follow_up=True) if act is Act.ASK else None


@pytest.mark.parametrize(("type_", "status", "how", "verdict", "expected"), CELLS)
def test_what_is_heard_leads_where_the_grid_says(
    type_: Type, status: Status, how: str, verdict: Verdict, expected: str
) -> None:
    act, is_trusted = HEARD[how]
    given_ = the_dispatch_of(status, act)

    decision = decide(a_transaction(type_, status), given_, heard(verdict, act, is_trusted=is_trusted), RULES)

    assert in_words(given_, decision) == expected
    assert (decision.failure_code is not None) == expected.startswith("failed")
    if not status.is_final and verdict is Verdict.CONFIRMED and decision.dispatch is not None:
        assert decision.dispatch.is_success_heard, "a success that was heard is never forgotten"


def test_the_grid_leaves_no_cell_out() -> None:
    assert len(CELLS) == len({cell[:4] for cell in CELLS})
    assert {cell[:4] for cell in CELLS} == set(itertools.product(Type, Status, HEARD, Verdict))


# The same at a network that cannot be asked. A callback that is not signed counts if it comes from a listed address and
# repeats the amount; even then a failure never ends a payout. A success that does not count is shown to an operator.
#
#   rest                nobody can be asked: it waits for a callback
#   unheard             and an operator is told, because it may have been paid
#   said_paid           somebody says that it was paid, and an operator is shown that
NO_QUERY = """
    type          status      heard              confirmed      refused        waiting  unknown  missing  not_indexed  unsent

    COLLECTION    PENDING     callback-listed    suspect        suspect        suspect  suspect  suspect  suspect      suspect
    COLLECTION    PROCESSING  send               completed      failed         rest     unheard  unheard  unheard      again
    COLLECTION    PROCESSING  callback-signed    completed      failed         rest     rest     rest     rest         rest
    COLLECTION    PROCESSING  callback-listed    completed      failed         rest     rest     rest     rest         rest
    COLLECTION    PROCESSING  callback-unsigned  said_paid      -              -        -        -        -            -
    COLLECTION    COMPLETED   send               -              contradiction  -        -        -        -            -
    COLLECTION    COMPLETED   callback-signed    -              contradiction  -        -        -        -            -
    COLLECTION    COMPLETED   callback-listed    -              contradiction  -        -        -        -            -
    COLLECTION    COMPLETED   callback-unsigned  -              -              -        -        -        -            -
    COLLECTION    FAILED      send               contradiction  -              -        -        -        -            -
    COLLECTION    FAILED      callback-signed    contradiction  -              -        -        -        -            -
    COLLECTION    FAILED      callback-listed    contradiction  -              -        -        -        -            -
    COLLECTION    FAILED      callback-unsigned  said_paid      -              -        -        -        -            -
    COLLECTION    CANCELLED   callback-listed    contradiction  -              -        -        -        -            -
    COLLECTION    CANCELLED   callback-unsigned  said_paid      -              -        -        -        -            -

    DISBURSEMENT  PENDING     callback-listed    suspect        suspect        suspect  suspect  suspect  suspect      suspect
    DISBURSEMENT  PROCESSING  send               completed      failed         rest     unheard  unheard  unheard      again
    DISBURSEMENT  PROCESSING  callback-signed    completed      failed         rest     unheard  unheard  unheard      unheard
    DISBURSEMENT  PROCESSING  callback-listed    completed      -              rest     unheard  unheard  unheard      unheard
    DISBURSEMENT  PROCESSING  callback-unsigned  said_paid      -              -        -        -        -            -
    DISBURSEMENT  COMPLETED   send               -              contradiction  -        -        -        -            -
    DISBURSEMENT  COMPLETED   callback-signed    -              contradiction  -        -        -        -            -
    DISBURSEMENT  COMPLETED   callback-listed    -              -              -        -        -        -            -
    DISBURSEMENT  COMPLETED   callback-unsigned  -              -              -        -        -        -            -
    DISBURSEMENT  FAILED      send               contradiction  -              -        -        -        -            -
    DISBURSEMENT  FAILED      callback-signed    contradiction  -              -        -        -        -            -
    DISBURSEMENT  FAILED      callback-listed    contradiction  -              -        -        -        -            -
    DISBURSEMENT  FAILED      callback-unsigned  said_paid      -              -        -        -        -            -
    DISBURSEMENT  CANCELLED   callback-listed    contradiction  -              -        -        -        -            -
    DISBURSEMENT  CANCELLED   callback-unsigned  said_paid      -              -        -        -        -            -
"""
NO_QUERY_ROWS = [line.split() for line in NO_QUERY.splitlines() if line.strip()][1:]


def unanswerable(verdict: Verdict, how: str, **answer: Any) -> ReceivedAnswer:
    """Heard of a network that cannot be asked."""
    act, is_trusted = HEARD[how.replace("listed", "unsigned")]
    news = heard(verdict, act, is_trusted=is_trusted, **answer)
    return replace(news, is_listed=how == "callback-listed", cannot_ask=frozenset(Type))


@pytest.mark.parametrize(
    ("type_", "status", "how", "verdict", "expected"),
    [
        (Type(type_), Status(status), how, Verdict(verdict), cell)
        for type_, status, how, *cells in NO_QUERY_ROWS
        for verdict, cell in zip(HEADER[3:], cells, strict=True)
    ],
)
def test_where_nobody_can_be_asked_what_is_heard_leads_where_the_grid_says(
    type_: Type, status: Status, how: str, verdict: Verdict, expected: str
) -> None:
    given_ = the_dispatch_of(status, HEARD[how.replace("listed", "unsigned")][0])

    decision = decide(a_transaction(type_, status), given_, unanswerable(verdict, how, amount=1000), RULES)

    if decision.wait_seconds == 86_400:
        assert decision.dispatch is not None
        assert (decision.dispatch.attention or "rest") == expected
    elif expected == "said_paid":
        assert decision.dispatch is not None
        assert (decision.dispatch.attention, decision.wait_seconds) == (Attention.SAID_PAID, None)
    else:
        assert in_words(given_, decision) == expected


@pytest.mark.parametrize("type_", Type)
def test_where_nobody_can_be_asked_a_success_of_another_amount_is_not_believed(type_: Type) -> None:
    """A connector whose network always names the amount says so of a callback without one: it is of no payment."""
    for wrong in ({"amount": 999}, {"amount": 1001}, {"lacks_amount": True}):
        news = unanswerable(Verdict.CONFIRMED, "callback-listed", **wrong)
        decision = decide(processing(type_), sent(), news, RULES)
        assert decision.cause is None
        assert decision.dispatch is not None


def test_a_list_of_addresses_counts_only_where_nobody_can_be_asked() -> None:
    news = replace(unanswerable(Verdict.CONFIRMED, "callback-listed", amount=1000), cannot_ask=frozenset())
    assert in_words(sent(), decide(processing(), sent(), news, RULES)) == "now"
    other = replace(news, cannot_ask=frozenset({Type.COLLECTION}))
    assert in_words(sent(), decide(processing(), sent(), other, RULES)) == "now", "of a payout it can be asked"


def test_a_payment_that_somebody_speaks_of_too_early_is_sent_only_when_its_network_does_not_know_it() -> None:
    life = Life(a_transaction(Type.DISBURSEMENT), dispatch=Dispatch())
    life.hear(heard(Verdict.WAITING, Act.CALLBACK, is_trusted=False))
    assert life.transaction.status is Status.PROCESSING
    for _ in range(3):
        assert life.dispatch is not None
        assert life.dispatch.next_act is Next.ASK
        life.now += timedelta(seconds=301)
        life.hear(heard(Verdict.MISSING, resubmit=Resubmit.DUPLICATES_REFUSED))
    assert life.dispatch is not None
    assert life.dispatch.next_act is Next.SEND


# A callback that is not signed says that it was paid. What follows, whatever else is heard, is never FAILED without the
# network's own word, and never a second sending.
@pytest.mark.parametrize("type_", Type)
@pytest.mark.parametrize("verdict", [Verdict.MISSING, Verdict.NOT_INDEXED, Verdict.UNKNOWN])
def test_a_success_that_was_heard_is_never_forgotten(type_: Type, verdict: Verdict) -> None:
    life = Life(processing(type_))
    life.hear(heard(Verdict.CONFIRMED, Act.CALLBACK, is_trusted=False))
    for _ in range(50):
        life.now += timedelta(hours=1)
        life.hear(heard(verdict, resubmit=Resubmit.DUPLICATES_REFUSED))

    assert life.transaction.status is Status.PROCESSING
    assert life.sendings == 1
    assert life.dispatch is not None
    assert life.dispatch.attention is Attention.SAID_PAID, "an operator is shown it when the schedule is at its end"


@pytest.mark.parametrize("type_", Type)
def test_a_success_that_was_heard_does_not_stand_against_the_networks_own_word(type_: Type) -> None:
    life = Life(processing(type_))
    life.hear(heard(Verdict.CONFIRMED, Act.CALLBACK, is_trusted=False))
    for _ in range(2):  # Two questions were under way.
        life.now += timedelta(seconds=5)
        life.hear(replace(heard(Verdict.REFUSED), age_seconds=20))
        assert not life.transaction.status.is_final, "that answer is older than the success"
    life.now += timedelta(seconds=5)
    decision = life.hear(replace(heard(Verdict.REFUSED), age_seconds=1))
    assert life.transaction.status is Status.FAILED
    assert decision.dispatch is not None, "and it is asked about again"
    assert decision.dispatch.is_success_heard


def test_a_refusal_that_comes_after_a_success_was_heard_is_asked_about() -> None:
    life = Life(processing())
    life.hear(heard(Verdict.CONFIRMED, Act.CALLBACK, is_trusted=False))
    life.hear(heard(Verdict.REFUSED, Act.SEND))
    assert life.transaction.status is Status.PROCESSING


def test_what_was_heard_of_is_not_sent_again_although_the_connection_was_refused() -> None:
    life = Life(processing())
    life.hear(heard(Verdict.CONFIRMED, Act.CALLBACK, is_trusted=False))
    life.hear(heard(Verdict.UNSENT, Act.SEND))
    assert life.dispatch is not None
    assert life.dispatch.next_act is Next.ASK


def test_a_success_that_was_heard_after_the_end_and_is_never_confirmed_is_shown_to_an_operator() -> None:
    life = Life(replace(processing(), status=Status.FAILED), dispatch=follow_up(None, "mpesa"))
    life.hear(heard(Verdict.CONFIRMED, Act.CALLBACK, is_trusted=False))
    for _ in range(10):
        life.hear(heard(Verdict.UNKNOWN))
    assert life.dispatch is not None
    assert life.dispatch.attention is Attention.SAID_PAID


def test_a_network_that_denies_it_after_the_end_is_believed_when_it_has_had_the_time() -> None:
    life = Life(replace(processing(), status=Status.FAILED), dispatch=follow_up(None, "mpesa"))
    life.hear(heard(Verdict.CONFIRMED, Act.CALLBACK, is_trusted=False))
    life.now += timedelta(seconds=5)
    life.hear(replace(heard(Verdict.REFUSED), age_seconds=10))
    assert life.dispatch is not None
    assert life.dispatch.is_success_heard, "that answer is older than the callback"
    life.hear(replace(heard(Verdict.REFUSED), age_seconds=1))
    assert life.dispatch is not None
    assert not life.dispatch.is_success_heard


# After the end: which failures are asked about again, at which times, and what ends that.
@pytest.mark.parametrize(
    ("type_", "failure", "is_asked"),
    [(Type.DISBURSEMENT, failure, True) for failure in FailureCode]
    + [
        (Type.COLLECTION, failure, failure in (FailureCode.EXPIRED, FailureCode.NOT_RECEIVED))
        for failure in FailureCode
    ],
)
def test_what_may_yet_turn_out_to_be_paid_is_asked_about_again(
    type_: Type, failure: FailureCode, is_asked: bool
) -> None:
    decision = decide(processing(type_), sent(), heard(Verdict.REFUSED, failure_code=failure), RULES)
    assert in_words(sent(), decision) == ("failed+" if is_asked else "failed")
    cannot = replace(heard(Verdict.REFUSED, failure_code=failure), cannot_ask=frozenset(Type))
    assert decide(processing(type_), sent(), cannot, RULES).dispatch is None, "nobody can be asked"


@pytest.mark.parametrize("verdict", [Verdict.REFUSED, Verdict.UNKNOWN, Verdict.WAITING, Verdict.MISSING])
def test_questions_after_the_end_follow_their_own_schedule_and_stop(verdict: Verdict) -> None:
    life = Life(processing())
    waits = [life.hear(heard(Verdict.REFUSED)).wait_seconds]
    while life.dispatch is not None:
        waits.append(life.hear(heard(verdict)).wait_seconds)
    assert waits == [600, 3000, 18_000, None], "at 10 minutes, one hour and six hours after the end"


@pytest.mark.parametrize("verdict", [Verdict.WAITING, Verdict.CONFIRMED])
def test_a_question_that_is_asked_besides_uses_up_none_of_the_schedule(verdict: Verdict) -> None:
    life = Life(processing())
    life.hear(heard(Verdict.REFUSED))
    life.now = life.ended_at + timedelta(seconds=100)
    act = Act.SEND if verdict is Verdict.WAITING else Act.CALLBACK
    life.hear(heard(verdict, act, is_trusted=act is Act.SEND))
    for seconds in range(101, 121):
        life.now = life.ended_at + timedelta(seconds=seconds)
        life.hear(heard(Verdict.REFUSED))
    assert life.dispatch is not None, "it is still asked about"
    life.now = life.ended_at + timedelta(seconds=21_599)
    assert life.hear(heard(Verdict.REFUSED)).wait_seconds == 1


def test_nothing_is_sent_that_is_said_to_be_paid_where_nobody_can_be_asked() -> None:
    given_ = sent(Next.SEND, sends=0)
    news = unanswerable(Verdict.CONFIRMED, "callback-unsigned")
    decision = decide(processing(), given_, news, RULES)
    assert decision.dispatch is not None
    assert (decision.dispatch.next_act, decision.dispatch.attention) == (Next.ASK, Attention.SAID_PAID)


def test_another_amount_that_was_shown_stays_shown_after_a_failure() -> None:
    differs = decide(processing(), sent(), unanswerable(Verdict.CONFIRMED, "callback-signed", amount=999), RULES)
    failed = decide(processing(), differs.dispatch, unanswerable(Verdict.REFUSED, "callback-signed"), RULES)
    assert failed.cause is Cause.REFUSED
    assert failed.dispatch is not None
    assert (failed.dispatch.attention, failed.dispatch.is_follow_up) == (Attention.DIFFERS, True)


@pytest.mark.parametrize("type_", Type)
def test_a_signed_failure_after_success_is_asked_about_and_shown_until_the_network_says_which(type_: Type) -> None:
    completed = replace(processing(type_), status=Status.COMPLETED)
    doubted = decide(completed, None, heard(Verdict.REFUSED, Act.CALLBACK), RULES).dispatch
    assert doubted is not None
    assert doubted.attention is Attention.DISPUTED
    silent: Dispatch | None = doubted
    for _ in range(9):
        silent = decide(completed, silent, heard(Verdict.UNKNOWN), RULES).dispatch
    assert silent is not None
    assert silent.attention is Attention.DISPUTED, "for as long as nobody knows"
    sure = replace(doubted, is_hinted=False)
    assert decide(completed, sure, heard(Verdict.CONFIRMED), RULES) == Decision(), "it was late"
    assert decide(completed, sure, heard(Verdict.REFUSED), RULES).is_contradiction


def test_a_query_does_not_undo_what_was_signed_and_an_operator_is_shown_the_dispute() -> None:
    failed = replace(processing(), status=Status.FAILED)
    said = LatestAnswer(is_paid=True, act=Act.CALLBACK)
    decision = decide(failed, follow_up(None, "mpesa"), heard(Verdict.REFUSED), RULES, last=said)
    assert not decision.is_contradiction
    assert decision.dispatch is not None
    assert decision.dispatch.attention is Attention.DISPUTED

    signed = decide(failed, decision.dispatch, heard(Verdict.REFUSED, Act.CALLBACK), RULES, last=said)
    assert not signed.is_contradiction, "it may be the first failure, told once more"
    unasked = unanswerable(Verdict.REFUSED, "callback-signed")
    shown = decide(failed, None, unasked, RULES, last=said)
    assert shown.dispatch is not None
    assert shown.dispatch.attention is Attention.DISPUTED, "where nobody can be asked, too"
    for act in (Act.ASK, None):
        asked = decide(failed, None, heard(Verdict.REFUSED), RULES, last=LatestAnswer(is_paid=True, act=act))
        assert asked.is_contradiction, "and a query undoes what a query or an operator said"


# "Unknown, or not indexed yet": how often in a row it was said before, how long after the last sending.
@pytest.mark.parametrize(
    ("before", "seconds", "is_failed"), [(5, 1800, True), (4, 1800, False), (5, 1799, False), (99, 1799, False)]
)
def test_unknown_or_not_indexed_counts_after_half_an_hour_and_six_in_a_row(
    before: int, seconds: int, is_failed: bool
) -> None:
    given_ = sent(not_indexed=before, sent_seconds=seconds)
    decision = decide(processing(Type.COLLECTION), given_, heard(Verdict.NOT_INDEXED), RULES)
    assert (decision.cause is Cause.REFUSED) == is_failed
    if is_failed:
        assert decision.failure_code is FailureCode.NOT_RECEIVED
    payout = decide(processing(), given_, heard(Verdict.NOT_INDEXED, resubmit=Resubmit.UNSAFE), RULES)
    assert payout.cause is None, "a payout never fails because it is not found"


@pytest.mark.parametrize("verdict", [Verdict.UNKNOWN, Verdict.WAITING, Verdict.MISSING])
def test_any_other_answer_begins_the_row_of_six_anew(verdict: Verdict) -> None:
    decision = decide(processing(Type.COLLECTION), sent(not_indexed=5), heard(verdict), RULES)
    assert decision.dispatch is not None
    assert decision.dispatch.not_indexed == 0


# "I do not know it": how often it was said before, how long after the last sending, and what follows.
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
        sends=int(sends),
        is_acknowledged=acknowledged == "yes",
        not_founds=int(before),
        sent_seconds=int(seconds),
    )

    decision = decide(processing(Type(type_)), given_, heard(Verdict.MISSING, resubmit=Resubmit(resubmit)), RULES)

    attention = decision.dispatch.attention if decision.dispatch is not None else None
    assert (attention or in_words(given_, decision)) == follows
    if follows == "failed+":
        assert decision.failure_code is FailureCode.NOT_RECEIVED
    elif follows == "again":
        assert decision.dispatch == replace(given_, next_act=Next.SEND, not_founds=0), "it is counted anew"
        assert decision.wait_seconds == 0
    else:
        assert in_words(given_, decision) == "later", "whoever needs attention is still asked about"
        assert decision.dispatch is not None
        assert decision.dispatch.not_founds == int(before) + 1


@pytest.mark.parametrize(("act", "is_trusted"), [(Act.SEND, True), (Act.CALLBACK, True), (Act.CALLBACK, False)])
def test_not_found_counts_only_as_the_answer_to_a_question(act: Act, is_trusted: bool) -> None:
    given_ = sent(not_founds=9, sent_seconds=3600)
    answer = heard(Verdict.MISSING, act, is_trusted=is_trusted, resubmit=Resubmit.DUPLICATES_REFUSED)

    for type_ in Type:
        decision = decide(processing(type_), given_, answer, RULES)

        assert decision.cause is None
        assert decision.dispatch is not None
        assert (decision.dispatch.next_act, decision.dispatch.not_founds) == (Next.ASK, 9)


def test_a_network_that_has_it_after_all_is_not_held_to_what_it_did_not_know_before() -> None:
    given_ = sent(not_founds=2, sent_seconds=3600)
    waiting = decide(processing(), given_, heard(Verdict.WAITING), RULES).dispatch
    assert waiting is not None
    assert (waiting.not_founds, waiting.is_acknowledged) == (0, True)


@dataclass
class Life:
    """A payment's whole way, with a worker who does at once whatever is due."""

    transaction: Transaction
    dispatch: Dispatch | None = None
    now: datetime = NOW
    sendings: int = 0
    sent_at: datetime = NOW
    last: LatestAnswer | None = None
    ended_at: datetime = NOW
    success_at: datetime | None = None

    def __post_init__(self) -> None:
        if self.dispatch is None:
            self.dispatch = Dispatch(route="mpesa")
            self.send()

    def send(self) -> None:
        """What a claim does."""
        assert self.dispatch is not None
        assert self.dispatch.next_act is Next.SEND
        self.sendings += 1
        self.sent_at = self.now
        self.dispatch = replace(self.dispatch, next_act=Next.SENDING, sends=self.dispatch.sends + 1)

    def hear(self, news: ReceivedAnswer) -> Decision:
        if self.dispatch is not None:
            self.dispatch = replace(
                self.dispatch,
                sent_seconds=(self.now - self.sent_at).total_seconds(),
                queued_seconds=(self.now - self.ended_at).total_seconds() if self.dispatch.is_follow_up else 0,
                success_seconds=(self.now - self.success_at).total_seconds() if self.success_at else None,
            )
        decision = decide(self.transaction, self.dispatch, news, RULES, last=self.last)
        if decision.is_contradiction:
            self.last = LatestAnswer(news.answer.verdict is Verdict.CONFIRMED, news.act)
        if decision.cause is not None:
            status = next_status(self.transaction.type, self.transaction.status, decision.cause)
            assert status is not None, "a decision leads somewhere"
            self.transaction = replace(self.transaction, status=status)
            self.ended_at = self.now
        self.dispatch = decision.dispatch
        if self.dispatch is not None and self.dispatch.success_seconds == 0:
            self.success_at = self.now
        if self.dispatch is None or not self.dispatch.is_success_heard:
            self.success_at = None
        self.now += timedelta(seconds=decision.wait_seconds or 0)
        return decision


def test_a_payout_that_is_never_found_is_sent_three_times_and_then_left_to_an_operator() -> None:
    life = Life(processing())
    for _ in range(30):
        life.hear(heard(Verdict.MISSING, Act.ASK, resubmit=Resubmit.DUPLICATES_REFUSED))
        assert life.dispatch is not None
        if life.dispatch.next_act is Next.SEND:
            life.send()

    assert life.sendings == 3
    assert life.transaction.status is Status.PROCESSING
    assert life.dispatch is not None
    assert life.dispatch.attention is Attention.NOT_FOUND
    assert life.dispatch.next_act is Next.ASK


def test_connections_that_were_refused_are_no_sendings() -> None:
    life = Life(processing())
    for _ in range(20):
        assert life.hear(heard(Verdict.UNSENT, Act.SEND)).wait_seconds == 5
        life.send()
    assert life.dispatch is not None
    assert life.dispatch.sends == 1

    life.hear(heard(Verdict.REFUSED, Act.SEND))
    assert life.transaction.status is Status.FAILED, "of all those, one has arrived"


@pytest.mark.parametrize("type_", Type)
def test_a_refusal_of_a_second_sending_is_not_believed(type_: Type) -> None:
    given_ = sent(Next.SENDING, sends=2)
    refused = decide(processing(type_), given_, heard(Verdict.REFUSED, Act.SEND), RULES)
    assert in_words(given_, refused) == "later"

    asked = decide(processing(type_), refused.dispatch, heard(Verdict.REFUSED, Act.ASK), RULES)
    assert asked.cause is Cause.REFUSED, "of a question it is"


def test_a_signed_refusal_after_a_second_sending_may_be_of_the_second_and_is_asked_about() -> None:
    refused = decide(processing(), sent(sends=2), heard(Verdict.REFUSED, Act.CALLBACK), RULES)
    assert refused.cause is None
    assert refused.dispatch is not None
    assert refused.dispatch.next_act is Next.ASK


def test_a_second_sending_that_is_confirmed_is_believed() -> None:
    decision = decide(processing(), sent(Next.SENDING, sends=2), heard(Verdict.CONFIRMED, Act.SEND), RULES)
    assert decision.cause is Cause.CONFIRMED


OTHERS: list[dict[str, Any]] = [
    {"amount": 1001},
    {"phone": "+255754000002"},
    {"amount": 1001, "phone": "+255754000001"},
]


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("how", ["send", "ask", "callback-signed", "callback-unsigned"])
@pytest.mark.parametrize("verdict", Verdict)
@pytest.mark.parametrize("type_", Type)
def test_an_answer_about_another_amount_or_phone_ends_nothing_and_needs_attention(
    type_: Type, verdict: Verdict, how: str, other: dict[str, Any]
) -> None:
    act, is_trusted = HEARD[how]
    answer = heard(verdict, act, is_trusted=is_trusted, **other)

    decision = decide(processing(type_), the_dispatch_of(Status.PROCESSING, act), answer, RULES)

    assert decision.cause is None
    assert decision.dispatch is not None
    assert decision.dispatch.next_act is Next.ASK
    assert decision.dispatch.attention is Attention.DIFFERS


@pytest.mark.parametrize("same", [{}, {"amount": 1000}, {"phone": "+255754000001"}])
def test_an_answer_that_repeats_our_amount_and_phone_is_believed(same: dict[str, Any]) -> None:
    assert decide(processing(), sent(), heard(Verdict.CONFIRMED, **same), RULES).cause is Cause.CONFIRMED


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("status", [Status.COMPLETED, Status.FAILED, Status.CANCELLED])
@pytest.mark.parametrize("type_", Type)
def test_an_answer_about_another_amount_or_phone_contradicts_nothing(
    type_: Type, status: Status, other: dict[str, Any]
) -> None:
    says = Verdict.REFUSED if status is Status.COMPLETED else Verdict.CONFIRMED
    given_ = the_dispatch_of(status, Act.ASK)
    assert not decide(a_transaction(type_, status), given_, heard(says, **other), RULES).is_contradiction


def test_questions_follow_the_schedule_and_its_last_pause_repeats() -> None:
    life = Life(processing())
    waits = [life.hear(heard(Verdict.WAITING, Act.SEND)).wait_seconds]
    waits += [life.hear(heard(verdict)).wait_seconds for verdict in (Verdict.WAITING, Verdict.UNKNOWN) * 3]
    assert waits == [10, 60, 300, 300, 300, 300, 300]


def test_a_schedule_of_one_pause_repeats_it() -> None:
    rules = Rules(poll_seconds=(7,), not_found_seconds=300)
    for asks in range(3):
        assert decide(processing(), sent(asks=asks), heard(Verdict.UNKNOWN), rules).wait_seconds == 7


def test_what_comes_by_itself_does_not_move_the_schedule_on() -> None:
    decision = decide(processing(), sent(asks=1), heard(Verdict.WAITING, Act.CALLBACK), RULES)
    assert decision.dispatch is not None
    assert (decision.dispatch.asks, decision.wait_seconds) == (1, 60)


def test_a_callback_that_overtakes_the_reply_leaves_it_to_the_worker_who_is_sending() -> None:
    for verdict in (Verdict.WAITING, Verdict.UNKNOWN, Verdict.MISSING, Verdict.UNSENT):
        decision = decide(processing(), sent(Next.SENDING), heard(verdict, Act.CALLBACK), RULES)
        assert decision.dispatch is not None
        assert (decision.dispatch.next_act, decision.wait_seconds) == (Next.SENDING, None)


def test_a_hint_that_overtakes_the_reply_is_not_forgotten_when_the_reply_comes() -> None:
    life = Life(processing())
    assert life.hear(heard(Verdict.REFUSED, Act.CALLBACK, is_trusted=False)).wait_seconds == 0
    assert life.hear(heard(Verdict.WAITING, Act.SEND)).wait_seconds == 0
    assert life.hear(heard(Verdict.WAITING)).wait_seconds == 60, "once was enough"


def test_a_hint_keeps_what_waits_to_be_sent_again_from_being_sent_before_it_was_asked_about() -> None:
    decision = decide(processing(), sent(Next.SEND), heard(Verdict.CONFIRMED, Act.CALLBACK, is_trusted=False), RULES)
    assert decision.dispatch is not None
    assert (decision.dispatch.next_act, decision.wait_seconds) == (Next.ASK, 0)


# What a hint says of the reason, what the answer then says, and what the merchant is told.
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


@pytest.mark.parametrize(("type_", "hint", "answer", "told"), REASON_ROWS)
def test_a_hint_only_colours_the_reason(type_: str, hint: str, answer: str, told: str) -> None:
    def code(word: str) -> FailureCode | None:
        return None if word == "-" else FailureCode(word)

    life = Life(processing(Type(type_)))
    hinted = life.hear(heard(Verdict.REFUSED, Act.CALLBACK, is_trusted=False, failure_code=code(hint)))
    assert hinted.cause is None, "it ends nothing"

    ended = life.hear(heard(Verdict.REFUSED, failure_code=code(answer)))

    assert (ended.cause, ended.failure_code) == (Cause.REFUSED, FailureCode(told))


def test_a_hint_of_failure_does_not_stand_against_a_confirmation() -> None:
    life = Life(processing())
    life.hear(heard(Verdict.REFUSED, Act.CALLBACK, is_trusted=False, failure_code=FailureCode.DECLINED))
    life.hear(heard(Verdict.CONFIRMED))
    assert life.transaction.status is Status.COMPLETED


@pytest.mark.parametrize("verdict", [Verdict.WAITING, Verdict.UNKNOWN, Verdict.MISSING, Verdict.UNSENT])
def test_whoever_cannot_say_otherwise_through_the_whole_schedule_does_not_contradict(verdict: Verdict) -> None:
    transaction = a_transaction(Type.DISBURSEMENT, Status.FAILED)
    doubt = decide(transaction, None, heard(Verdict.CONFIRMED, Act.CALLBACK, is_trusted=False), RULES)
    dispatch, waits = doubt.dispatch, []
    for seconds in (0, 60, 360, 600, 3600, 21_600):
        assert dispatch is not None
        late = replace(dispatch, is_hinted=False, queued_seconds=seconds, success_seconds=seconds)
        decision = decide(transaction, late, heard(verdict), RULES)
        assert not decision.is_contradiction
        dispatch = decision.dispatch
        waits.append(decision.wait_seconds)
    assert waits == [60, 300, 240, 3000, 18_000, 86_400], "on both schedules; then an operator is shown it"
    assert dispatch is not None
    assert dispatch.attention is Attention.SAID_PAID


HEARINGS = st.builds(
    lambda how, verdict, failure, other, resubmit: heard(
        verdict, HEARD[how][0], is_trusted=HEARD[how][1], failure_code=failure, resubmit=resubmit, **other
    ),
    st.sampled_from(list(HEARD)),
    st.sampled_from(Verdict),
    st.none() | st.sampled_from(FailureCode),
    st.sampled_from([{}, {}, {}, *OTHERS]),
    st.sampled_from(Resubmit),
)
# What is needed for a second sending comes often enough to be seen together with everything else.
NOT_FOUNDS = st.just(heard(Verdict.MISSING, resubmit=Resubmit.DUPLICATES_REFUSED))
STEPS = st.lists(
    st.tuples(HEARINGS, st.sampled_from([0, 1, 60, 4000])) | st.tuples(NOT_FOUNDS, st.just(301)), max_size=25
)


@given(st.sampled_from(Type), st.booleans(), STEPS)
def test_whatever_is_heard_in_whatever_order_a_payment_ends_only_as_its_network_certainly_said(
    type_: Type, is_sent: bool, steps: list[tuple[ReceivedAnswer, int]]
) -> None:
    life = Life(processing(type_)) if is_sent else Life(a_transaction(type_), dispatch=Dispatch())
    for news, seconds in steps:
        before, dispatch = life.transaction.status, life.dispatch
        life.now += timedelta(seconds=seconds)

        decision = life.hear(news)

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
            if life.dispatch.next_act is Next.SEND:
                assert news.act in (Act.SEND, Act.ASK)
                life.send()
            assert life.dispatch.sends <= 3


def _assert_certain(type_: Type, dispatch: Dispatch, news: ReceivedAnswer, decision: Decision) -> None:
    assert news.is_trusted
    assert (news.answer.amount, news.answer.phone) == (None, None), "what it repeats is of another payment"
    if decision.cause is Cause.CONFIRMED:
        assert news.answer.verdict is Verdict.CONFIRMED
    elif news.answer.verdict in (Verdict.MISSING, Verdict.NOT_INDEXED):
        assert not dispatch.is_success_heard
        assert type_ is Type.COLLECTION, "a payout never fails because it is not found"
        assert news.act is Act.ASK
        assert not dispatch.is_acknowledged
    else:
        assert news.answer.verdict is Verdict.REFUSED
        assert news.act is Act.ASK or dispatch.sends <= 1, (
            "what is refused twice over may have been paid the first time"
        )


@given(st.sampled_from(Type), st.sampled_from([status for status in Status if status.is_final]), STEPS)
def test_nothing_that_is_heard_after_the_end_ever_changes_the_status(
    type_: Type, status: Status, steps: list[tuple[ReceivedAnswer, int]]
) -> None:
    dispatch: Dispatch | None = None
    for news, _ in steps:
        decision = decide(a_transaction(type_, status), dispatch, news, RULES)
        assert decision.cause is None
        assert decision.failure_code is None
        assert not decision.is_contradiction or (news.is_trusted and news.answer.verdict.is_definite)
        assert decision.dispatch is None or decision.dispatch.next_act is Next.ASK, "what has ended is never sent"
        dispatch = decision.dispatch
