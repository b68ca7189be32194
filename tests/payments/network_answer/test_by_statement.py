"""The effect of a statement's line on its payment, compared with a grid written by hand from the specification."""

import itertools

import pytest
from msgspec.structs import replace

from malipo.networks.connector import Verdict
from malipo.payments.dispatch import AnswerSource, Decision, Dispatch, LatestAnswer, NextAction, ReviewReason
from malipo.payments.network_answer.decide import decide
from malipo.payments.network_answer.failure import follow_up
from malipo.payments.transaction import Cause, Status, Type
from tests.payments.network_answer.answers import RULES, processing, received, sent
from tests.payments.test_transaction import a_transaction

# The line of a payment, and the line of its reversal, by status and by what was reported last: nothing but what led to
# the status; or since then, by a query, by a signed callback, by operators, or by an earlier line, that it was paid or not.
#
#   completed      it ends
#   both           it is submitted and ends, in one commit
#   suspect        it counts as sent, its network is queried, and it is shown to operators
#   queried        its network is queried at once; it stays open, and is not sent again
#   contradiction  the status stays, the float follows, and nothing is asked any more
#   -              nothing changes
GRID = """
    status      reported              payment        reversal

    PENDING     nothing               both           suspect
    PROCESSING  nothing               completed      queried

    COMPLETED   nothing               -              contradiction
    COMPLETED   ask-unpaid            contradiction  -
    COMPLETED   callback-unpaid       contradiction  -
    COMPLETED   operators-unpaid      contradiction  -
    COMPLETED   statement-unpaid      contradiction  -
    COMPLETED   ask-paid              -              contradiction
    COMPLETED   callback-paid         -              contradiction
    COMPLETED   operators-paid        -              contradiction
    COMPLETED   statement-paid        -              contradiction

    FAILED      nothing               contradiction  -
    FAILED      ask-unpaid            contradiction  -
    FAILED      callback-unpaid       contradiction  -
    FAILED      operators-unpaid      contradiction  -
    FAILED      statement-unpaid      contradiction  -
    FAILED      ask-paid              -              contradiction
    FAILED      callback-paid         -              contradiction
    FAILED      operators-paid        -              contradiction
    FAILED      statement-paid        -              contradiction

    CANCELLED   nothing               contradiction  -
    CANCELLED   ask-unpaid            contradiction  -
    CANCELLED   callback-unpaid       contradiction  -
    CANCELLED   operators-unpaid      contradiction  -
    CANCELLED   statement-unpaid      contradiction  -
    CANCELLED   ask-paid              -              contradiction
    CANCELLED   callback-paid         -              contradiction
    CANCELLED   operators-paid        -              contradiction
    CANCELLED   statement-paid        -              contradiction
"""
_, *ROWS = [line.split() for line in GRID.splitlines() if line.strip()]
CELLS = [
    (type_, Status(status), reported, line, cell)
    for status, reported, *cells in ROWS
    for line, cell in zip((Verdict.CONFIRMED, Verdict.REFUSED), cells, strict=True)
    for type_ in Type
]


def last_of(reported: str) -> LatestAnswer | None:
    if reported == "nothing":
        return None
    who, _, what = reported.partition("-")
    return LatestAnswer(what == "paid", None if who == "operators" else AnswerSource(who))


def dispatch_of(status: Status) -> Dispatch | None:
    if status.is_final:
        return replace(follow_up(None, "mpesa"), review_reason=ReviewReason.DISPUTED)
    return Dispatch() if status is Status.PENDING else sent(NextAction.SEND)


def in_words(given: Dispatch | None, decision: Decision) -> str:
    dispatch = decision.dispatch
    assert dispatch is None or dispatch.next_action is not NextAction.SEND, "no line ever leads to a sending"
    if decision.is_contradiction:
        assert decision == Decision(is_contradiction=True)
        return "contradiction"
    if decision.cause is Cause.CONFIRMED:
        assert dispatch is None
        return "both" if decision.is_submitted_first else "completed"
    if decision.cause is Cause.SUBMITTED:
        assert dispatch is not None
        assert (dispatch.review_reason, dispatch.connector) == (ReviewReason.UNSENT, "mpesa")
        return "suspect"
    assert decision.cause is None
    if decision.wait_seconds == 0:
        assert dispatch is not None
        assert dispatch.is_success_reported, "it neither fails nor is sent again without a query's answer"
        return "queried"
    assert dispatch in (None, given)
    return "-"


@pytest.mark.parametrize(("type_", "status", "reported", "line", "expected"), CELLS)
def test_a_line_leads_where_the_grid_says(
    type_: Type, status: Status, reported: str, line: Verdict, expected: str
) -> None:
    given = dispatch_of(status)
    result = received(line, AnswerSource.STATEMENT, amount=1000)
    decision = decide(a_transaction(type_, status), given, result, RULES, last=last_of(reported))
    assert in_words(given, decision) == expected


def test_the_grid_leaves_no_cell_out() -> None:
    said = [f"{who}-{what}" for who in ("ask", "callback", "operators", "statement") for what in ("paid", "unpaid")]
    ended = itertools.product((Status.COMPLETED, Status.FAILED, Status.CANCELLED), ["nothing", *said])
    rows = {*ended, (Status.PENDING, "nothing"), (Status.PROCESSING, "nothing")}
    assert {cell[1:3] for cell in CELLS} == rows
    assert len(CELLS) == len(rows) * 4


@pytest.mark.parametrize("type_", Type)
@pytest.mark.parametrize("status", Status)
def test_a_line_of_another_amount_ends_nothing_and_contradicts_nothing(type_: Type, status: Status) -> None:
    result = received(Verdict.CONFIRMED, AnswerSource.STATEMENT, amount=1001)
    decision = decide(a_transaction(type_, status), dispatch_of(status), result, RULES)
    assert decision.cause in (None, Cause.SUBMITTED)
    assert not decision.is_contradiction
    assert decision.dispatch is not None
    assert decision.dispatch.next_action is NextAction.QUERY


@pytest.mark.parametrize("type_", Type)
@pytest.mark.parametrize("status", [Status.PENDING, Status.PROCESSING])
def test_a_line_that_waits_for_a_second_operator_ends_nothing(type_: Type, status: Status) -> None:
    result = received(Verdict.CONFIRMED, AnswerSource.STATEMENT, is_trusted=False, amount=1000)
    decision = decide(a_transaction(type_, status), dispatch_of(status), result, RULES)
    assert decision.cause in (None, Cause.SUBMITTED)
    assert decision.dispatch is not None
    assert (decision.dispatch.next_action, decision.wait_seconds) == (NextAction.QUERY, 0), "its network is queried"


@pytest.mark.parametrize("is_paid", [True, False])
@pytest.mark.parametrize("source", [AnswerSource.SEND, AnswerSource.QUERY, AnswerSource.CALLBACK])
@pytest.mark.parametrize("status", [Status.COMPLETED, Status.FAILED, Status.CANCELLED])
def test_a_statement_has_the_last_word_whoever_reports_something_else(
    status: Status, source: AnswerSource, is_paid: bool
) -> None:
    other = Verdict.REFUSED if is_paid else Verdict.CONFIRMED
    last = LatestAnswer(is_paid, AnswerSource.STATEMENT)
    ended = a_transaction(Type.DISBURSEMENT, status)
    assert decide(ended, follow_up(None, "mpesa"), received(other, source), RULES, last=last) == Decision()


def test_a_reversal_without_a_query_is_shown_to_operators_and_not_sent_again() -> None:
    result = replace(received(Verdict.REFUSED, AnswerSource.STATEMENT, amount=1000), cannot_query=frozenset(Type))
    dispatch = decide(processing(), sent(NextAction.SEND), result, RULES).dispatch
    assert dispatch is not None
    assert (dispatch.next_action, dispatch.review_reason) == (NextAction.QUERY, ReviewReason.SAID_PAID)
