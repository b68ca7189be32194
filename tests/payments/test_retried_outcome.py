"""Whether a payout that failed may be paid again: every cell of the table."""

import pytest

from malipo.payments.retried_outcome import RetriedOutcome, RetriedPayout, worst
from malipo.payments.transaction import Status

FAILED, IN_DOUBT, PAID = RetriedOutcome.FAILED, RetriedOutcome.IN_DOUBT, RetriedOutcome.PAID
UNREPORTED, SAID_UNPAID, SAID_PAID = None, False, True

# By its status and the latest report after its end: without a doubt, and with one.
GRID = {
    (Status.FAILED, UNREPORTED): (FAILED, IN_DOUBT),
    (Status.FAILED, SAID_UNPAID): (FAILED, IN_DOUBT),
    (Status.FAILED, SAID_PAID): (PAID, PAID),
    (Status.CANCELLED, UNREPORTED): (FAILED, IN_DOUBT),
    (Status.CANCELLED, SAID_UNPAID): (FAILED, IN_DOUBT),
    (Status.CANCELLED, SAID_PAID): (PAID, PAID),
    (Status.COMPLETED, UNREPORTED): (PAID, PAID),
    (Status.COMPLETED, SAID_UNPAID): (FAILED, IN_DOUBT),
    (Status.COMPLETED, SAID_PAID): (PAID, PAID),
    (Status.PROCESSING, UNREPORTED): (IN_DOUBT, IN_DOUBT),
    (Status.PENDING, UNREPORTED): (IN_DOUBT, IN_DOUBT),
}


@pytest.mark.parametrize(("status", "report"), GRID)
def test_a_payout_may_be_paid_again_only_while_it_surely_counts_as_failed(status: Status, report: bool | None) -> None:
    found = tuple(RetriedPayout(status, report, doubt).outcome for doubt in (False, True))
    assert found == GRID[status, report]


A_FAILED, A_DOUBTED, A_PAID = (
    RetriedPayout(Status.FAILED, UNREPORTED, False),
    RetriedPayout(Status.FAILED, UNREPORTED, True),
    RetriedPayout(Status.FAILED, SAID_PAID, False),
)


@pytest.mark.parametrize(
    ("chain", "standing"),
    [
        ([A_FAILED], FAILED),
        ([A_FAILED, A_FAILED], FAILED),
        ([A_FAILED, A_DOUBTED], IN_DOUBT),
        ([A_FAILED, None], IN_DOUBT),
        ([A_PAID, A_FAILED, A_DOUBTED], PAID),
    ],
    ids=["failed", "twice", "doubted", "lost", "paid"],
)
def test_of_a_chain_of_retries_whatever_was_paid_counts(
    chain: list[RetriedPayout | None], standing: RetriedOutcome
) -> None:
    assert worst(chain) is standing
