"""Decisions at a network without a status query."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from malipo.networks.connector import Resubmit, Verdict
from malipo.payments.dispatch import AnswerSource, Dispatch, NextAction, ReviewReason
from malipo.payments.network_answer.decide import decide
from malipo.payments.transaction import Cause, Status, Type
from tests.payments.network_answer.answers import (
    RULES,
    Life,
    in_words,
    processing,
    received,
    sent,
    source_of,
    the_dispatch_of,
    unanswerable,
)
from tests.payments.test_transaction import a_transaction

# The same at a network without a query. A callback that is not signed counts if it comes from a listed address and
# repeats the amount; even then a failure never ends a payout. A success that does not count is shown to an operator.
# One above the amount that operators review ("callback-above") does not count either; a failure of such a payment does.
#
#   rest                it waits for a callback
#   unheard             and it is shown to operators, because it may have been paid
#   said_paid           it was reported as paid, and is shown to operators
NO_QUERY = """
    type          status      heard              confirmed      refused        waiting  unknown  missing  not_indexed  unsent

    COLLECTION    PENDING     callback-listed    suspect        suspect        suspect  suspect  suspect  suspect      suspect
    COLLECTION    PENDING     callback-above     suspect        suspect        suspect  suspect  suspect  suspect      suspect
    COLLECTION    PROCESSING  send               completed      failed         rest     unheard  unheard  unheard      again
    COLLECTION    PROCESSING  callback-signed    completed      failed         rest     rest     rest     rest         rest
    COLLECTION    PROCESSING  callback-listed    completed      failed         rest     rest     rest     rest         rest
    COLLECTION    PROCESSING  callback-unsigned  said_paid      -              -        -        -        -            -
    COLLECTION    PROCESSING  callback-above     said_paid      failed         rest     rest     rest     rest         rest
    COLLECTION    COMPLETED   send               -              contradiction  -        -        -        -            -
    COLLECTION    COMPLETED   callback-signed    -              contradiction  -        -        -        -            -
    COLLECTION    COMPLETED   callback-listed    -              contradiction  -        -        -        -            -
    COLLECTION    COMPLETED   callback-unsigned  -              -              -        -        -        -            -
    COLLECTION    COMPLETED   callback-above     -              contradiction  -        -        -        -            -
    COLLECTION    FAILED      send               contradiction  -              -        -        -        -            -
    COLLECTION    FAILED      callback-signed    contradiction  -              -        -        -        -            -
    COLLECTION    FAILED      callback-listed    contradiction  -              -        -        -        -            -
    COLLECTION    FAILED      callback-unsigned  said_paid      -              -        -        -        -            -
    COLLECTION    FAILED      callback-above     said_paid      -              -        -        -        -            -
    COLLECTION    CANCELLED   callback-listed    contradiction  -              -        -        -        -            -
    COLLECTION    CANCELLED   callback-unsigned  said_paid      -              -        -        -        -            -
    COLLECTION    CANCELLED   callback-above     said_paid      -              -        -        -        -            -

    DISBURSEMENT  PENDING     callback-listed    suspect        suspect        suspect  suspect  suspect  suspect      suspect
    DISBURSEMENT  PENDING     callback-above     suspect        suspect        suspect  suspect  suspect  suspect      suspect
    DISBURSEMENT  PROCESSING  send               completed      failed         rest     unheard  unheard  unheard      again
    DISBURSEMENT  PROCESSING  callback-signed    completed      failed         rest     unheard  unheard  unheard      unheard
    DISBURSEMENT  PROCESSING  callback-listed    completed      -              rest     unheard  unheard  unheard      unheard
    DISBURSEMENT  PROCESSING  callback-unsigned  said_paid      -              -        -        -        -            -
    DISBURSEMENT  PROCESSING  callback-above     said_paid      -              rest     unheard  unheard  unheard      unheard
    DISBURSEMENT  COMPLETED   send               -              contradiction  -        -        -        -            -
    DISBURSEMENT  COMPLETED   callback-signed    -              contradiction  -        -        -        -            -
    DISBURSEMENT  COMPLETED   callback-listed    -              -              -        -        -        -            -
    DISBURSEMENT  COMPLETED   callback-unsigned  -              -              -        -        -        -            -
    DISBURSEMENT  COMPLETED   callback-above     -              -              -        -        -        -            -
    DISBURSEMENT  FAILED      send               contradiction  -              -        -        -        -            -
    DISBURSEMENT  FAILED      callback-signed    contradiction  -              -        -        -        -            -
    DISBURSEMENT  FAILED      callback-listed    contradiction  -              -        -        -        -            -
    DISBURSEMENT  FAILED      callback-unsigned  said_paid      -              -        -        -        -            -
    DISBURSEMENT  FAILED      callback-above     said_paid      -              -        -        -        -            -
    DISBURSEMENT  CANCELLED   callback-listed    contradiction  -              -        -        -        -            -
    DISBURSEMENT  CANCELLED   callback-unsigned  said_paid      -              -        -        -        -            -
    DISBURSEMENT  CANCELLED   callback-above     said_paid      -              -        -        -        -            -
"""
HEADER, *NO_QUERY_ROWS = [line.split() for line in NO_QUERY.splitlines() if line.strip()]


@pytest.mark.parametrize(
    ("type_", "status", "how", "verdict", "expected"),
    [
        (Type(type_), Status(status), how, Verdict(verdict), cell)
        for type_, status, how, *cells in NO_QUERY_ROWS
        for verdict, cell in zip(HEADER[3:], cells, strict=True)
    ],
)
def test_without_a_query_an_answer_leads_where_the_grid_says(
    type_: Type, status: Status, how: str, verdict: Verdict, expected: str
) -> None:
    given_ = the_dispatch_of(status, source_of(how)[0])

    decision = decide(a_transaction(type_, status), given_, unanswerable(verdict, how, amount=1000), RULES)

    if decision.wait_seconds == 86_400:
        assert decision.dispatch is not None
        assert (decision.dispatch.review_reason or "rest") == expected
    elif expected == "said_paid":
        assert decision.dispatch is not None
        assert (decision.dispatch.review_reason, decision.wait_seconds) == (ReviewReason.SAID_PAID, None)
    else:
        assert in_words(given_, decision) == expected


@pytest.mark.parametrize("type_", Type)
def test_where_there_is_no_query_a_success_of_another_amount_is_not_believed(type_: Type) -> None:
    """A connector whose network always names the amount says so of a callback without one: it is of no payment."""
    for wrong in ({"amount": 999}, {"amount": 1001}, {"lacks_amount": True}):
        news = unanswerable(Verdict.CONFIRMED, "callback-listed", **wrong)
        decision = decide(processing(type_), sent(), news, RULES)
        assert decision.cause is None
        assert decision.dispatch is not None


def test_a_list_of_addresses_counts_only_where_there_is_no_query() -> None:
    news = replace(unanswerable(Verdict.CONFIRMED, "callback-listed", amount=1000), cannot_query=frozenset())
    assert in_words(sent(), decide(processing(), sent(), news, RULES)) == "now"
    other = replace(news, cannot_query=frozenset({Type.COLLECTION}))
    assert in_words(sent(), decide(processing(), sent(), other, RULES)) == "now", "of a payout it can be asked"


def test_a_payment_that_somebody_speaks_of_too_early_is_sent_only_when_its_network_does_not_know_it() -> None:
    life = Life(a_transaction(Type.DISBURSEMENT), dispatch=Dispatch())
    life.report(received(Verdict.WAITING, AnswerSource.CALLBACK, is_trusted=False))
    assert life.transaction.status is Status.PROCESSING
    for _ in range(3):
        assert life.dispatch is not None
        assert life.dispatch.next_action is NextAction.QUERY
        life.now += timedelta(seconds=301)
        life.report(received(Verdict.MISSING, resubmit=Resubmit.DUPLICATES_REFUSED))
    assert life.dispatch is not None
    assert life.dispatch.next_action is NextAction.SEND


def test_a_payout_that_was_reported_paid_is_not_sent_again_where_there_is_no_query() -> None:
    given_ = sent(NextAction.SEND, send_count=0)
    news = unanswerable(Verdict.CONFIRMED, "callback-unsigned")
    decision = decide(processing(), given_, news, RULES)
    assert decision.dispatch is not None
    assert (decision.dispatch.next_action, decision.dispatch.review_reason) == (
        NextAction.QUERY,
        ReviewReason.SAID_PAID,
    )


def test_a_payment_of_just_the_amount_that_operators_review_is_believed() -> None:
    news = unanswerable(Verdict.CONFIRMED, "callback-listed")
    for amount, cause in ((1000, Cause.CONFIRMED), (999, None), (0, None), (None, Cause.CONFIRMED)):
        assert decide(processing(), sent(), replace(news, review_amount=amount), RULES).cause is cause


@pytest.mark.parametrize("how", ["send", "ask", "callback-signed"])
def test_any_answer_but_an_unsigned_callback_is_believed_whatever_the_amount(how: str) -> None:
    news = replace(unanswerable(Verdict.CONFIRMED, how), review_amount=0)
    assert decide(processing(), sent(), news, RULES).cause is Cause.CONFIRMED


def test_a_failure_after_a_success_that_operators_review_ends_it_and_it_stays_on_their_list() -> None:
    life = Life(processing(Type.COLLECTION), dispatch=sent())
    reached = []
    for verdict in (Verdict.CONFIRMED, Verdict.REFUSED):
        life.report(unanswerable(verdict, "callback-above"))
        reached.append(life.transaction.status)
    assert reached == [Status.PROCESSING, Status.FAILED]
    assert life.dispatch is not None
    assert life.dispatch.review_reason is ReviewReason.SAID_PAID
