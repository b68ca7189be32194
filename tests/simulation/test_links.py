"""The payment links of a seed: the same at every draw, to phones that nobody else has; and what the oracle says of
single attempts."""

from dataclasses import replace

import pytest

from simulation.batches.planned import batches_of
from simulation.links import link_oracle, planned
from simulation.links.link_oracle import OneLink
from simulation.links.link_rows import AttemptRow, LinkRow
from simulation.links.merchant_links import LinkReplies
from simulation.links.planned import PlannedCustomer, PlannedLink
from simulation.plan import draw

SEEDS = range(200)


def _customers() -> list[tuple[PlannedLink, PlannedCustomer]]:
    return [
        (link, each) for seed in SEEDS for link in planned.draw(seed, ["MPESA", "HALOPESA"]) for each in link.customers
    ]


def test_a_seed_has_the_same_links_at_every_draw_and_their_customers_have_phones_of_their_own() -> None:
    for seed in SEEDS:
        plan = draw(seed, payments=25)
        assert plan.links == planned.draw(seed, plan.channels) == draw(seed, payments=3).links
        phones = [phone for link in plan.links for each in link.customers for phone in (each.phone, each.other_phone)]
        assert len(set(phones)) == len(phones)
        others = {payment.phone for payment in plan.payments}
        others |= {item.phone for batch in batches_of(plan) for item in batch.items}
        assert not set(phones) & others


def test_a_third_of_the_seeds_have_no_links_and_the_others_one_to_three() -> None:
    counts = [len(draw(seed, payments=1).links) for seed in range(600)]
    assert set(counts) == {0, 1, 2, 3}
    assert 150 < counts.count(0) < 250


def test_links_are_of_every_kind_and_customers_have_every_habit() -> None:
    drawn = _customers()
    assert {each.habit for _, each in drawn} == set(planned._HABITS)
    links = {id(link): link for link, _ in drawn}.values()
    assert {link.places for link in links} == {None, 1, 2}
    assert {link.amount is None for link in links} == {True, False}
    assert {link.expires_after is None for link in links} == {True, False}
    assert {link.cancelled_after is None for link in links} == {True, False}


def test_who_presses_at_two_links_at_once_presses_at_links_of_one_merchant() -> None:
    """A number is one merchant's: the oracle tells whose the money is by it."""
    found = 0
    for seed in SEEDS:
        links = {link.number: link for link in planned.draw(seed, ["MPESA"])}
        for link in links.values():
            for each in link.customers:
                if each.elsewhere is not None:
                    found += 1
                    assert links[each.elsewhere].merchant == link.merchant
                    assert each.elsewhere != link.number
    assert found


PAID = AttemptRow(
    link_id="lnk_1",
    id="txn_1",
    phone="+255754000200",
    late=None,
    status="COMPLETED",
    failure_code=None,
    amount=2000,
    floated=2000,
    created_at=2.0,
    ended_at=4.0,
    reported_at=None,
    is_corrected=False,
)
LATER = replace(PAID, id="txn_2", status="FAILED", failure_code="expired", reported_at=9.0, is_corrected=True)


def _one(*attempts: AttemptRow, expires_at: float | None = None, cancelled_at: float | None = None) -> OneLink:
    link = PlannedLink(
        number=0,
        merchant=0,
        amount=2000,
        is_reusable=False,
        max_payments=None,
        at=1.0,
        expires_after=None,
        cancelled_after=None,
        is_raced=False,
        customers=(),
    )
    row = LinkRow("mer_1", "lnk_1", "abc", expires_at, cancelled_at, has_been_paid=False)
    return OneLink(link, LinkReplies(), row, list(attempts), [])


@pytest.mark.parametrize(
    ("late", "expires_at", "cancelled_at", "is_right"),
    [
        (None, None, None, True),
        (None, 4.0, None, True),
        (None, 3.9, None, False),
        (None, None, 3.9, False),
        ("expired", 3.9, None, True),
        ("expired", 4.1, None, False),
        ("cancelled", None, 3.9, True),
        ("cancelled", 3.9, None, False),
        ("already_paid", None, None, False),
    ],
)
def test_money_is_late_by_when_it_was_known_to_have_come(
    late: str | None, expires_at: float | None, cancelled_at: float | None, *, is_right: bool
) -> None:
    paid = replace(PAID, late=late)
    assert link_oracle.is_lateness_right(_one(paid, expires_at=expires_at, cancelled_at=cancelled_at), paid) is is_right


def test_money_that_operators_decide_about_after_the_end_of_a_link_came_when_its_network_reported_it() -> None:
    paid = replace(LATER, first_known_at=5.0)
    assert link_oracle.is_lateness_right(_one(paid, cancelled_at=6.0), paid)
    assert not link_oracle.is_lateness_right(_one(paid, cancelled_at=4.9), paid)


def test_a_second_payment_is_late_because_another_has_filled_the_link() -> None:
    late = replace(LATER, late="already_paid")
    assert link_oracle.is_lateness_right(_one(PAID, late), late)
    assert not link_oracle.is_lateness_right(_one(replace(PAID, status="FAILED", floated=0), late), late)


OTHER = replace(PAID, id="txn_2", phone="+255754000201", created_at=5.0)
ENTERED = replace(PAID, id="txn_3", is_adopted=True)
TAKEN_BACK = replace(PAID, id="txn_4", floated=0, is_corrected=True)


@pytest.mark.parametrize(
    ("one", "is_excused"),
    [
        (PAID, False),
        (replace(ENTERED, created_at=6.0), True),
        (replace(ENTERED, created_at=4.9), False),  # The link knew of it when the second was asked.
        (replace(ENTERED, created_at=6.0, phone=OTHER.phone), False),
        (replace(TAKEN_BACK, reported_at=4.9), True),
        (replace(TAKEN_BACK, reported_at=5.1), False),
        (replace(TAKEN_BACK, reported_at=4.9, floated=2000), False),  # It was given again.
    ],
)
def test_a_link_counts_neither_what_is_entered_later_nor_what_was_taken_back(
    one: AttemptRow, *, is_excused: bool
) -> None:
    assert (link_oracle.not_counted_yet([one, OTHER]) == [one]) is is_excused


@pytest.mark.parametrize(
    ("attempt", "scene"),
    [
        (PAID, "paid"),
        (LATER, "paid"),
        (replace(PAID, floated=0, is_corrected=True), "taken_back"),
        (replace(LATER, floated=0), "not_paid"),
        (replace(PAID, status="CANCELLED", floated=0), "not_paid"),
        (replace(PAID, status="PROCESSING", floated=0, ended_at=None), "in_doubt"),
        (None, "form"),
    ],
)
def test_a_page_shows_what_the_ledger_and_the_status_say(attempt: AttemptRow | None, scene: str) -> None:
    shown = {"paid", "taken_back", "not_paid", "in_doubt", "form"}
    assert shown & set(link_oracle.scenes_of(attempt)) == {scene}


def test_what_counts_against_the_limits_of_a_number_is_what_was_not_paid() -> None:
    open_ = replace(PAID, status="PROCESSING", floated=0, ended_at=None)
    declined = replace(PAID, status="FAILED", failure_code="declined", floated=0)
    no_account = replace(declined, failure_code="invalid_recipient")
    assert [link_oracle.is_unanswered(each) for each in (PAID, open_, LATER, declined, no_account)] == [
        False,
        True,
        True,
        False,
        False,
    ]
    assert [link_oracle.is_unpaid(each) for each in (PAID, open_, LATER, declined, no_account)] == [
        False,
        True,
        True,
        True,
        False,
    ]
