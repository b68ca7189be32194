"""How many prompts of pay pages reach a number: the table, against one that was written by hand."""

import pytest

from malipo.links.prompt_limits import LIMITS, LOOKED_AT, Counted, LimitedSubject, PromptLimit, counts_as, limit_met
from malipo.networks.connector import FailureCode
from malipo.payments.transaction import Status

# What the prompt of a payment counts as: u unanswered, n not paid, p pressed.
GRID = """
PENDING                        u n p
PROCESSING                     u n p
COMPLETED                      -
CANCELLED                      p
FAILED  declined               n p
FAILED  expired                u n p
FAILED  insufficient_funds     n p
FAILED  invalid_recipient      p
FAILED  limit_exceeded         n p
FAILED  not_received           u n p
FAILED  channel_unavailable    p
FAILED  rejected               n p
FAILED  something_new          n p
FAILED                         n p
"""
_ROWS = [(line[:31].split(), line[31:].split()) for line in GRID.strip().split("\n")]


def test_each_status_and_each_reason_has_a_row() -> None:
    rows = {tuple(what) for what, _ in _ROWS}
    assert {(status.value,) for status in Status} <= rows
    assert {("FAILED", code.value) for code in FailureCode} <= rows


@pytest.mark.parametrize(("what", "counted"), _ROWS)
def test_what_a_prompt_counts_as(what: list[str], counted: list[str]) -> None:
    found = counts_as(Status(what[0]), what[1] if len(what) > 1 else None)
    letters = {Counted.UNANSWERED: "u", Counted.UNPAID: "n", Counted.PRESSED: "p"}
    assert {letters[each] for each in found} == set(counted) - {"-"}


def test_the_limits_are_those_of_the_documentation() -> None:
    """docs/pay-pages.md says so."""
    assert [(each.subject, each.counted, each.most, each.span.total_seconds() / 3600) for each in LIMITS] == [
        ("number", "unanswered", 3, 1),
        ("number", "unpaid", 5, 24),
        ("link", "unanswered", 300, 1),
        ("address", "unanswered", 300, 1),
        ("link", "pressed", 400, 1),
        ("address", "pressed", 400, 1),
    ]
    assert max(each.most for each in LIMITS) < LOOKED_AT, "a limit is met within what is looked at"


@pytest.mark.parametrize("limit", LIMITS)
def test_one_less_than_a_limit_leaves_room_and_the_limit_does_not(limit: PromptLimit) -> None:
    subject, counted, most, _ = limit
    assert limit_met({(subject, counted): most - 1}) is None
    assert limit_met({(subject, counted): most}) == limit
    assert limit_met({(subject, counted): most + 1}) == limit


def test_nothing_that_was_asked_of_a_link_counts_against_a_number() -> None:
    assert limit_met({(LimitedSubject.LINK, Counted.UNPAID): 10_000}) is None
    assert limit_met({}) is None
