"""A link's status, what is too late, and where the customer is sent back to."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from malipo.links.link import Late, Link, LinkStatus, return_address, status_of, why_late

NOW = datetime(2026, 11, 15, 9, 0, tzinfo=UTC)
LINK = Link(
    merchant_id="mer_1",
    id="lnk_1",
    code="c",
    amount=1000,
    description="Order 1042",
    created_at=NOW,
    created_by="key_1",
)

# cancelled, paid, expired: the status
STATUSES = """
    -          -     -        ACTIVE
    -          -     expired  EXPIRED
    -          paid  -        PAID
    -          paid  expired  PAID
    cancelled  -     -        CANCELLED
    cancelled  -     expired  CANCELLED
    cancelled  paid  -        PAID
    cancelled  paid  expired  PAID
"""


@pytest.mark.parametrize("row", STATUSES.strip().splitlines())
def test_the_status_follows_from_what_is_known(row: str) -> None:
    cancelled, paid, expired, status = row.split()
    found = status_of(is_cancelled=cancelled != "-", is_paid=paid != "-", is_expired=expired != "-")
    assert found is LinkStatus(status)


def test_a_link_is_paid_when_it_was_paid_as_often_as_it_may_be_and_stays_so() -> None:
    assert replace(LINK, paid_count=1).status is LinkStatus.PAID
    assert replace(LINK, paid_at=NOW).status is LinkStatus.PAID
    reusable = replace(LINK, is_reusable=True)
    assert replace(reusable, paid_count=1000).status is LinkStatus.ACTIVE
    assert replace(reusable, max_payments=3, paid_count=2).status is LinkStatus.ACTIVE
    assert replace(reusable, max_payments=3, paid_count=3).status is LinkStatus.PAID


# paid before or after: the end of the link's time, its cancellation; whether it was full: why it is late
LATE = """
    -       -       free  -
    -       -       full  already_paid
    before  -       free  -
    before  -       full  already_paid
    after   -       free  expired
    after   -       full  already_paid
    -       before  free  -
    -       before  full  already_paid
    -       after   free  cancelled
    -       after   full  cancelled
    before  before  free  -
    before  before  full  already_paid
    before  after   free  cancelled
    before  after   full  cancelled
    after   before  free  expired
    after   before  full  already_paid
    after   after   free  cancelled
    after   after   full  cancelled
"""


@pytest.mark.parametrize("row", LATE.strip().splitlines())
def test_money_is_late_after_the_end_and_when_nothing_more_was_to_be_paid(row: str) -> None:
    expiry, cancellation, places, why = row.split()
    moments = {"-": None, "before": NOW + timedelta(seconds=1), "after": NOW - timedelta(seconds=1)}
    found = why_late(
        paid_at=NOW, is_full=places == "full", expires_at=moments[expiry], cancelled_at=moments[cancellation]
    )
    assert found is (None if why == "-" else Late(why))


@pytest.mark.parametrize(
    ("wanted", "sent"),
    [
        (None, None),
        ("https://duka.example", "https://duka.example?link=lnk_1"),
        ("https://duka.example/orders/7", "https://duka.example/orders/7?link=lnk_1"),
        ("https://duka.example/?order=7#paid", "https://duka.example/?order=7&link=lnk_1#paid"),
    ],
)
def test_the_customer_is_sent_back_with_the_links_id_and_nothing_else(wanted: str | None, sent: str | None) -> None:
    assert return_address(replace(LINK, return_url=wanted)) == sent
