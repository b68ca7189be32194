"""An owner sets the rules of approval, with the password; a large payout by hand then awaits approval."""

import asyncio
import itertools
import re
import secrets
from collections.abc import AsyncIterator
from datetime import timedelta
from html import unescape

import pytest

from malipo import clock
from malipo.audit_log.actor import Actor
from malipo.merchants import four_eyes
from malipo.merchants.store import approval_rules, people
from malipo.merchants.store.approval_rules import ApprovalRules
from malipo.payments.batches.batch import BatchStatus
from tests.conftest import Running
from tests.dashboard.merchant.batches.batch_pages import Office, office
from tests.dashboard.merchant.new_payment.payment_form import PAYOUT, TYPED, key_in
from tests.dashboard.page_client import PASSWORD, Surfer, add_person, surfing

__all__ = ["office"]

PATH = "/dashboard/settings/approval"
_numbers = itertools.count(100_200)


@pytest.fixture
async def second(office: Office, running: Running) -> AsyncIterator[Surfer]:
    """Another owner, in a browser of their own."""
    person = await add_person(office.database, office.merchant_id, f"second+{secrets.token_hex(6)}@example.com")
    async with surfing(running.url, seen_from=f"10.62.0.{secrets.randbelow(250) + 1}") as surfer:
        await surfer.log_in(person.email)
        yield surfer


async def rules_of(office: Office) -> ApprovalRules:
    async with office.database.read() as connection:
        return await approval_rules.get(connection, office.merchant_id, now=clock.now())


async def test_at_first_two_people_are_needed_and_no_single_payout_awaits(office: Office) -> None:
    assert await rules_of(office) == ApprovalRules(takes_two=True, above=None)
    page = await office.owner.get(PATH)
    assert re.search(r'name="takesTwo" value="yes" checked', page.text)
    assert "Only one person may approve" in page.words


async def test_an_owner_changes_the_rules_and_the_activity_says_so(office: Office) -> None:
    done = await office.owner.post(PATH, {"takesTwo": "no", "above": "TZS 20,000"})
    assert done.status == 303
    assert await rules_of(office) == ApprovalRules(takes_two=True, above=20_000), "what is weaker waits"
    await office.wait_for_rules()
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
    await office.wait_for_rules()
    assert not (await rules_of(office)).takes_two


@pytest.mark.parametrize(
    ("before", "wanted", "at_once"),
    [
        (("yes", ""), ("yes", "20,000"), ApprovalRules(True, 20_000)),
        (("yes", "20,000"), ("yes", "10,000"), ApprovalRules(True, 10_000)),
        (("yes", "20,000"), ("yes", "20,001"), ApprovalRules(True, 20_000)),
        (("yes", "20,000"), ("yes", ""), ApprovalRules(True, 20_000)),
        (("yes", "20,000"), ("no", "20,000"), ApprovalRules(True, 20_000)),
        (("yes", "20,000"), ("no", "5,000"), ApprovalRules(True, 5000)),
    ],
)
async def test_what_is_stricter_holds_at_once_and_what_is_weaker_in_72_hours(
    office: Office, before: tuple[str, str], wanted: tuple[str, str], at_once: ApprovalRules
) -> None:
    await office.owner.post(PATH, {"takesTwo": before[0], "above": before[1]})
    await office.owner.post(PATH, {"takesTwo": wanted[0], "above": wanted[1]})
    assert await rules_of(office) == at_once
    await office.wait_for_rules()
    amount = int(wanted[1].replace(",", "")) if wanted[1] else None
    assert await rules_of(office) == ApprovalRules(wanted[0] == "yes", amount)


async def test_another_owner_confirms_weaker_rules_and_who_asked_cannot(office: Office, second: Surfer) -> None:
    await office.owner.post(PATH, {"takesTwo": "no", "above": ""})
    page = await office.owner.get(PATH)
    assert "has asked for weaker rules" in page.words
    assert "Confirm the weaker rules" not in page.words
    shown = await second.get(PATH)
    seen = re.search(r'name="seen" value="([^"]*)"', shown.text)
    assert seen is not None
    refused = await office.owner.post(f"{PATH}/confirm", {"seen": unescape(seen[1])})
    assert (refused.status, (await rules_of(office)).takes_two) == (403, True)
    assert "Another owner must confirm this" in refused.words
    assert (await second.post(f"{PATH}/confirm", {"seen": "2026-01-01T00:00:00+00:00"})).status == 409
    assert (await second.post(f"{PATH}/confirm", {"seen": "yesterday"})).status == 409
    assert (await rules_of(office)).takes_two
    assert (await second.post(f"{PATH}/confirm", {"seen": unescape(seen[1])})).status == 303
    assert not (await rules_of(office)).takes_two


async def test_every_owner_can_keep_the_rules_as_they_are(office: Office, second: Surfer) -> None:
    await office.owner.post(PATH, {"takesTwo": "no", "above": ""})
    await second.post(PATH, {"takesTwo": "yes", "above": ""})
    await office.wait_for_rules()
    assert (await rules_of(office)).takes_two


async def test_an_owner_whom_the_other_has_just_made_confirms_nothing(office: Office, second: Surfer) -> None:
    """One owner could be both."""
    async with office.database.begin() as tx:
        person = (await people.find_all(tx, office.merchant_id))[-1]
        await four_eyes.note_reset(
            tx, person, "password", actor=Actor(office.owner_person.email, "test"), now=clock.now()
        )
    await office.owner.post(PATH, {"takesTwo": "no", "above": ""})
    shown = await second.get(PATH)
    assert "Confirm the weaker rules" not in shown.words
    async with office.database.read() as connection:
        waiting = (await approval_rules.find(connection, office.merchant_id, now=clock.now())).waiting
    assert waiting is not None
    refused = await second.post(f"{PATH}/confirm", {"seen": waiting.requested_at.isoformat()})
    assert (refused.status, (await rules_of(office)).takes_two) == (403, True)


async def test_with_one_owner_the_page_says_that_the_rules_protect_nothing(office: Office) -> None:
    says = "These rules then protect nothing from that owner"
    assert says in (await office.owner.get(PATH)).words
    second = await add_person(office.database, office.merchant_id, f"second+{secrets.token_hex(6)}@example.com")
    assert says not in (await office.owner.get(PATH)).words
    async with office.database.begin() as tx:
        actor = Actor(office.owner_person.email, "test")
        await four_eyes.note_reset(tx, second, "password", actor=actor, now=clock.now())
    assert says in (await office.owner.get(PATH)).words, "that one does not count yet"


async def test_staff_see_no_rules_and_change_none(office: Office) -> None:
    assert (await office.clerk.get(PATH)).status == 403
    assert (await office.clerk.post(PATH, {"takesTwo": "no", "above": ""})).status == 403


async def test_owners_always_may_approve(office: Office) -> None:
    path = f"/dashboard/settings/people/{office.owner_person.id}/approval"
    refused = await office.owner.post(path, {"allowed": "no"})
    assert refused.status == 409
    assert "Only for staff can this be changed" in refused.words


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

    await _pay(office, "20,000")
    assert [payout[1:] for payout in await office.payouts()] == [("PENDING", 20_000)]


def another(amount: str) -> dict[str, str]:
    """Nobody is warned that it is paid a second time."""
    return TYPED | {"phone": f"0754{next(_numbers)}", "orderReference": "", "amount": amount, "step": "pay"}


async def _pay(office: Office, amount: str) -> None:
    key = key_in(await office.clerk.get(PAYOUT))
    done = await office.clerk.post(PAYOUT, another(amount) | {"key": key})
    assert done.status == 303, done.words


async def test_many_payouts_do_not_pass_by_the_amount(office: Office) -> None:
    """Twelve of 100,000 where 500,000 needs approval, in small."""
    await office.owner.post(PATH, {"takesTwo": "yes", "above": "5,000"})
    for _ in range(12):
        await _pay(office, "1,000")
    assert sum(amount for *_, amount in await office.payouts()) == 5000
    assert [each.amount for each in await office.made()] == [1000] * 7
    assert {each.status for each in await office.made()} == {BatchStatus.AWAITING_APPROVAL}


async def test_many_payouts_at_once_do_not_pass_by_it_either(office: Office) -> None:
    await office.owner.post(PATH, {"takesTwo": "yes", "above": "5,000"})
    keys = [key_in(await office.clerk.get(PAYOUT)) for _ in range(12)]
    fields = [another("1,000") | {"key": key} for key in keys]
    done = await asyncio.gather(*(office.clerk.post(PAYOUT, each) for each in fields))
    assert {each.status for each in done} == {303}
    assert sum(amount for *_, amount in await office.payouts()) == 5000
    assert len(await office.made()) == 7


async def test_what_another_has_approved_does_not_count_and_yesterday_does_not_either(office: Office) -> None:
    await office.owner.post(PATH, {"takesTwo": "yes", "above": "5,000"})
    await _pay(office, "5,001")
    (batch,) = await office.made()
    assert (await office.owner.post(f"/dashboard/batches/{batch.id}/approve")).status == 303
    await _pay(office, "5,000")
    assert [amount for *_, amount in await office.payouts()] == [5001, 5000]
    async with office.database.begin() as tx:
        await tx.execute(
            "UPDATE transactions SET created_at = created_at - interval '1 day' WHERE merchant_id = $1",
            office.merchant_id,
        )
    await _pay(office, "5,000")
    assert len(await office.made()) == 1


async def test_somebody_who_is_no_second_person_yet_pays_out_nothing_alone(office: Office) -> None:
    """Else each account that an owner makes would be another amount of the day."""
    await office.owner.post(PATH, {"takesTwo": "yes", "above": "5,000"})
    async with office.database.begin() as tx:
        clerk = await people.find_by_email(tx, office.clerk_email)
        assert clerk is not None
        actor = Actor(office.owner_person.email, "test")
        await four_eyes.note_reset(tx, clerk, "password", actor=actor, now=clock.now())
    await _pay(office, "1,000")
    (batch,) = await office.made()
    assert await office.payouts() == []
    refused = await office.owner.post(f"/dashboard/batches/{batch.id}/approve")
    assert refused.status == 403
    assert "do not count as a second person" in refused.words


async def test_a_form_that_was_submitted_makes_no_payout_when_the_rule_is_gone(office: Office) -> None:
    await office.owner.post(PATH, {"takesTwo": "yes", "above": "20,000"})
    key = key_in(await office.clerk.get(PAYOUT))
    done = await office.clerk.post(PAYOUT, TYPED | {"key": key, "step": "pay"})
    await office.owner.post(PATH, {"takesTwo": "yes", "above": ""})
    again = await office.clerk.post(PAYOUT, TYPED | {"key": key, "step": "pay"})
    assert again.to == done.to
    assert await office.payouts() == []
