"""The approvers of each payment that awaits approval, by a grid written by hand, and the number in the menu."""

from datetime import UTC, datetime

import pytest

from malipo.accounts.store.credential_resets import CredentialReset
from malipo.payments.batches.approvers import ApproverRules, AwaitedApprovals, AwaitingOfMaker, awaited_of

ASHA, JUMA, NEW = "asha@duka.example", "juma@duka.example", "new@duka.example"
RESETS = [CredentialReset("crs_1", NEW, "password", JUMA, datetime(2026, 11, 15, tzinfo=UTC))]


@pytest.mark.parametrize(
    ("email", "maker", "takes_two", "takes_one"),
    [
        (ASHA, JUMA, True, True),
        (ASHA, ASHA, False, True),
        (ASHA, None, False, True),  # Nobody knows who made the key.
        (ASHA, "operator salma", True, True),  # made by a key of an operator
        (ASHA, NEW, False, True),  # JUMA may be who made it.
        (NEW, ASHA, False, True),
        (NEW, NEW, False, True),
    ],
)
def test_one_person_approves_a_batch_that_certainly_another_has_made(
    email: str, maker: str | None, takes_two: bool, takes_one: bool
) -> None:
    assert ApproverRules(True, RESETS).may_approve(email, maker) is takes_two
    assert ApproverRules(False, RESETS).may_approve(email, maker) is takes_one
    assert ApproverRules(False, RESETS, {email}).may_approve(email, maker) is False, "an operator may be them"


def test_batches_that_await_a_person_are_counted_without_those_they_may_not_approve() -> None:
    awaiting = [AwaitingOfMaker(JUMA, 2, 30_000), AwaitingOfMaker(ASHA, 5, 1_000), AwaitingOfMaker(None, 1, 700)]
    assert awaited_of(ASHA, awaiting, ApproverRules(True)) == AwaitedApprovals(2, 30_000, [JUMA])
    assert awaited_of(ASHA, awaiting, ApproverRules(False)) == AwaitedApprovals(8, 31_700, [JUMA, ASHA, None])
    assert awaited_of(NEW, awaiting, ApproverRules(True, RESETS)) == AwaitedApprovals(0, 0, [])
