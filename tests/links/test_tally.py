"""The counts that ended attempts add to a link, and the events that follow. Without a database."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from malipo.links.count import Tally
from malipo.links.link import Late, Link
from malipo.links.store.attempts import EndedAttempt
from malipo.outbox.event import Event

NOON = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
ONCE = Link(
    merchant_id="mer_1", id="lnk_1", code="c", amount=1000, description="Order", created_at=NOON, created_by="key_1"
)
THRICE = replace(ONCE, is_reusable=True, max_payments=3)
OPEN = replace(ONCE, is_reusable=True)


def an_attempt(
    name: str, *, is_paid: bool = True, was_paid: bool = False, late: Late | None = None, at: datetime = NOON
) -> EndedAttempt:
    return EndedAttempt(name, 1000, was_paid, late, is_paid, at if is_paid else None)


def test_a_payment_fills_a_link_that_is_paid_once_and_the_next_one_is_late() -> None:
    tally = Tally(ONCE)

    counted = [tally.add(an_attempt(name)) for name in ("a", "b")]

    assert (tally.count, tally.amount, tally.filled_at) == (1, 1000, NOON)
    assert [each.late for each in counted] == [None, Late.ALREADY_PAID]
    assert tally.events == [(Event.LINK_PAID, "a"), (Event.LINK_LATE, "b")]


def test_what_failed_changes_nothing() -> None:
    tally = Tally(ONCE)

    assert tally.add(an_attempt("a", is_paid=False)).late is None

    assert (tally.count, tally.amount, tally.filled_at, tally.events) == (0, 0, None, [])


@pytest.mark.parametrize(("link", "paid_before", "is_told"), [(THRICE, 1, False), (THRICE, 2, True), (OPEN, 99, False)])
def test_a_reusable_link_is_paid_when_it_was_paid_as_often_as_it_may_be(
    link: Link, paid_before: int, is_told: bool
) -> None:
    tally = Tally(replace(link, paid_count=paid_before))

    tally.add(an_attempt("a"))

    assert tally.count == 1
    assert tally.events == ([(Event.LINK_PAID, "a")] if is_told else [])


@pytest.mark.parametrize(
    ("link", "why"),
    [
        (replace(ONCE, expires_at=NOON - timedelta(seconds=1)), Late.EXPIRED),
        (replace(OPEN, expires_at=NOON - timedelta(seconds=1)), Late.EXPIRED),
        (replace(ONCE, cancelled_at=NOON - timedelta(seconds=1)), Late.CANCELLED),
        (replace(ONCE, paid_count=1, paid_at=NOON), Late.ALREADY_PAID),
    ],
)
def test_late_money_has_one_event_and_never_fills_a_link(link: Link, why: Late) -> None:
    tally = Tally(link)

    counted = tally.add(an_attempt("a"))

    assert (counted.late, tally.count, tally.filled_at) == (why, 0, None)
    assert tally.events == [(Event.LINK_LATE, "a")]
    again = Tally(link)
    again.add(replace_counted(counted))
    assert (again.count, again.events) == (0, [])


def replace_counted(counted: EndedAttempt) -> EndedAttempt:
    """As it is read when it is counted once more."""
    return counted._replace(was_paid=counted.is_paid)


def test_money_that_is_taken_back_leaves_the_count_and_comes_back_into_it_untold() -> None:
    paid = replace(ONCE, paid_count=1, paid_amount=1000, paid_at=NOON)
    back = Tally(paid)
    counted = back.add(an_attempt("a", is_paid=False, was_paid=True))
    assert (back.count, back.amount, back.events) == (-1, -1000, [])

    again = Tally(replace(paid, paid_count=0, paid_amount=0))
    counted = again.add(replace_counted(counted)._replace(is_paid=True, paid_at=NOON))

    assert (counted.late, again.count, again.filled_at, again.events) == (None, 1, None, [])


def test_late_money_that_is_taken_back_and_comes_again_stays_late() -> None:
    full = replace(ONCE, paid_count=1, paid_at=NOON)
    for is_paid in (False, True):
        tally = Tally(full)
        counted = tally.add(an_attempt("b", is_paid=is_paid, was_paid=not is_paid, late=Late.ALREADY_PAID))
        assert (counted.late, tally.count, tally.events) == (Late.ALREADY_PAID, 0, [])
