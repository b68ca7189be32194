"""The menu of every page and the overview show what awaits a person's approval, only to people who may approve."""

import re
import secrets
from datetime import timedelta

from malipo import clock
from malipo.merchants.roles import Role
from malipo.merchants.store import approval_rules
from malipo.merchants.store.approval_rules import ApprovalRules
from malipo.payments.batches.batch import BatchStatus
from tests.conftest import Running, make_merchant
from tests.dashboard.merchant.batches.batch_pages import Office, office
from tests.dashboard.merchant.batches.test_two_people import colleague
from tests.dashboard.merchant.batches.test_waiting_owner import taken
from tests.dashboard.page_client import Seen, Surfer, add_person, surfing

__all__ = ["colleague", "office", "taken"]

PAGES = ("/dashboard", "/dashboard/transactions", "/dashboard/wallet", "/dashboard/batches", "/dashboard/settings")
ONE = b"Name,Phone,Network,Amount\nAsha Juma,0754000101,M-Pesa,4000\n"


def counts_in(seen: Seen) -> list[str]:
    """Beside the menu when it is folded, in it, and in the menu of wide screens."""
    assert seen.status == 200
    return re.findall(r'class="count"><span aria-hidden="true">([\d,]+)</span>', seen.text)


async def _takes_one(office: Office) -> None:
    async with office.database.begin() as tx:
        await approval_rules.save(tx, office.merchant_id, ApprovalRules(takes_two=False, above=None))


async def test_every_page_shows_the_owner_how_many_batches_await_them(office: Office) -> None:
    assert counts_in(await office.owner.get("/dashboard")) == []
    first = await office.submitted()
    second = await office.submitted(ONE)
    for path in PAGES:
        seen = await office.owner.get(path)
        assert counts_in(seen) == ["2", "2", "2"], path
        assert "2 batches await your approval" in seen.words
    shown = await office.owner.get("/dashboard")
    assert "TZS 7,000 in all. Nothing is paid before you approve." in shown.words
    assert re.findall(r'item-title"><a href="(/dashboard/batches/bat_\w+)"', shown.text) == [first, second]
    assert shown.words.count("Proposed by Neema Clerk") == 2
    assert "TZS 4,000" in shown.words
    await office.owner.post(f"{first}/approve")
    assert counts_in(await office.owner.get("/dashboard")) == ["1"] * 3
    await office.owner.post(f"{second}/cancel")
    shown = await office.owner.get("/dashboard")
    assert counts_in(shown) == []
    assert "Proposed by" not in shown.words


async def test_who_may_not_approve_is_told_of_none(office: Office, running: Running) -> None:
    await office.submitted()
    viewer = await add_person(
        office.database, office.merchant_id, f"v+{secrets.token_hex(6)}@example.com", Role.VIEWER, name="Viewer"
    )
    stranger = await add_person(
        office.database, (await make_merchant(office.database)).id, f"s+{secrets.token_hex(6)}@example.com"
    )
    assert counts_in(await office.clerk.get("/dashboard")) == []
    for email in (viewer.email, stranger.email):
        async with surfing(running.url, seen_from=f"10.67.0.{secrets.randbelow(250) + 1}") as surfer:
            await surfer.log_in(email)
            shown = await surfer.get("/dashboard")
            assert counts_in(shown) == []
            assert "Proposed by" not in shown.words


async def test_ones_own_proposals_count_only_where_one_person_may_pay(office: Office) -> None:
    staff = office.clerk
    office.clerk = office.owner
    await office.submitted()
    office.clerk = staff
    assert counts_in(await office.owner.get("/dashboard")) == []
    await office.submitted(ONE)
    shown = await office.owner.get("/dashboard")
    assert counts_in(shown) == ["1"] * 3
    assert "TZS 4,000" in shown.words
    assert "TZS 3,000" not in shown.words
    await _takes_one(office)
    assert counts_in(await office.owner.get("/dashboard")) == ["2"] * 3


async def test_weaker_rules_count_from_when_they_hold(office: Office) -> None:
    office.clerk = office.owner
    await office.submitted()
    weaker = ApprovalRules(takes_two=False, above=None)
    async with office.database.begin() as tx:
        await approval_rules.insert_waiting(
            tx, office.merchant_id, weaker, requested_by=office.owner_person.email, now=clock.now() - timedelta(hours=1)
        )
    assert counts_in(await office.owner.get("/dashboard")) == []
    await office.wait_for_rules()
    assert counts_in(await office.owner.get("/dashboard")) == ["1"] * 3


async def test_somebody_who_waits_to_be_vouched_for_is_told_of_none(office: Office, colleague: Surfer) -> None:
    page = await office.submitted()
    assert counts_in(await colleague.get("/dashboard")) == []
    assert (await colleague.post(f"{page}/approve")).status == 403
    assert counts_in(await office.owner.get("/dashboard")) == ["1"] * 3
    office.clerk = colleague
    await office.submitted(ONE)
    assert counts_in(await office.owner.get("/dashboard")) == ["1"] * 3, "the colleague may be the owner"


async def test_nor_an_owner_whose_account_an_operator_may_have_where_one_person_pays(
    office: Office, taken: Surfer
) -> None:
    await _takes_one(office)
    page = await office.submitted()
    assert counts_in(await taken.get("/dashboard")) == []
    assert (await taken.post(f"{page}/approve")).status == 403


async def test_the_list_shows_those_that_await_approval_alone(office: Office) -> None:
    first = await office.submitted()
    await office.owner.post(f"{first}/approve")
    await office.submitted(ONE)
    waiting = next(each for each in await office.made() if each.status is BatchStatus.AWAITING_APPROVAL)
    shown = await office.owner.get("/dashboard/batches?status=AWAITING_APPROVAL")
    assert re.findall(r'<tr id="(bat_\w+)"', shown.text) == [waiting.id]
    assert "No such batch" in (await office.owner.get("/dashboard/batches?status=CANCELLED")).words
    assert len(re.findall(r'<tr id="bat_', (await office.owner.get("/dashboard/batches?status=other")).text)) == 2
