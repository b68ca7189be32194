"""An owner sets the rules of approval, with the password; a large payout by hand then awaits approval."""

import re
from datetime import timedelta

from malipo import clock
from malipo.merchants.store import approval_rules
from malipo.merchants.store.approval_rules import ApprovalRules
from malipo.payments.batches.batch import BatchStatus
from tests.dashboard.merchant.batches.batch_pages import Office, office
from tests.dashboard.merchant.new_payment.payment_form import PAYOUT, TYPED, key_in
from tests.dashboard.page_client import PASSWORD

__all__ = ["office"]

PATH = "/dashboard/settings/approval"


async def rules_of(office: Office) -> ApprovalRules:
    async with office.database.read() as connection:
        return await approval_rules.get(connection, office.merchant_id)


async def test_at_first_two_people_are_needed_and_no_single_payout_awaits(office: Office) -> None:
    assert await rules_of(office) == ApprovalRules(takes_two=True, above=None)
    page = await office.owner.get(PATH)
    assert re.search(r'name="takesTwo" value="yes" checked', page.text)
    assert "Only one person may approve" in page.words


async def test_an_owner_changes_the_rules_and_the_activity_says_so(office: Office) -> None:
    done = await office.owner.post(PATH, {"takesTwo": "no", "above": "TZS 20,000"})
    assert done.status == 303
    assert await rules_of(office) == ApprovalRules(takes_two=False, above=20_000)
    assert 'value="20,000"' in (await office.owner.get(PATH)).text
    async with office.database.read() as connection:
        actions = await connection.fetch("SELECT action FROM audit_log WHERE merchant_id = $1", office.merchant_id)
    assert "approval.rules_changed" in [row[0] for row in actions]


async def test_an_amount_that_cannot_be_read_changes_nothing(office: Office) -> None:
    refused = await office.owner.post(PATH, {"takesTwo": "no", "above": "a lot"})
    assert refused.status == 400
    assert "Type a whole number of shillings" in refused.words
    assert await rules_of(office) == ApprovalRules(takes_two=True, above=None)


async def test_the_rules_take_the_password_again(office: Office) -> None:
    async with office.database.begin() as tx:
        await tx.execute(
            "UPDATE sessions SET confirmed_at = $2 WHERE person_id = $1",
            office.owner_person.id,
            clock.now() - timedelta(hours=1),
        )
    assert (await office.owner.post(PATH, {"takesTwo": "no", "above": ""})).status == 403
    assert (await rules_of(office)).takes_two
    await office.owner.post(PATH, {"takesTwo": "no", "above": "", "confirm_password": PASSWORD})
    assert not (await rules_of(office)).takes_two


async def test_staff_see_no_rules_and_change_none(office: Office) -> None:
    assert (await office.clerk.get(PATH)).status == 403
    assert (await office.clerk.post(PATH, {"takesTwo": "no", "above": ""})).status == 403


async def test_owners_always_may_approve(office: Office) -> None:
    path = f"/dashboard/settings/people/{office.owner_person.id}/approval"
    refused = await office.owner.post(path, {"allowed": "no"})
    assert refused.status == 409
    assert "only staff can be allowed it" in refused.words


async def test_a_payout_above_the_amount_awaits_approval_and_one_below_is_made(office: Office) -> None:
    await office.owner.post(PATH, {"takesTwo": "yes", "above": "20,000"})
    key = key_in(await office.clerk.get(PAYOUT))
    asked = await office.clerk.post(PAYOUT, TYPED | {"key": key, "step": "review"})
    assert "Yes, submit it for approval" in asked.words
    done = await office.clerk.post(PAYOUT, TYPED | {"key": key, "step": "pay"})
    (batch,) = await office.made()
    assert (done.status, done.to) == (303, f"/dashboard/batches/{batch.id}")
    assert (batch.amount, batch.status) == (25_000, BatchStatus.AWAITING_APPROVAL)
    assert await office.payouts() == []

    again = await office.clerk.post(PAYOUT, TYPED | {"key": key, "step": "pay"})
    assert again.to == done.to
    assert len(await office.made()) == 1, "the form was sent twice"

    key = key_in(await office.clerk.get(PAYOUT))
    await office.clerk.post(PAYOUT, TYPED | {"key": key, "step": "pay", "amount": "20,000"})
    assert await office.payouts() == [("+255754000100", "PENDING", 20_000)]


async def test_a_form_that_was_submitted_makes_no_payout_when_the_rule_is_gone(office: Office) -> None:
    await office.owner.post(PATH, {"takesTwo": "yes", "above": "20,000"})
    key = key_in(await office.clerk.get(PAYOUT))
    done = await office.clerk.post(PAYOUT, TYPED | {"key": key, "step": "pay"})
    await office.owner.post(PATH, {"takesTwo": "yes", "above": ""})
    again = await office.clerk.post(PAYOUT, TYPED | {"key": key, "step": "pay"})
    assert again.to == done.to
    assert await office.payouts() == []
