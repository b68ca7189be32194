"""Through the pages: an owner who invites a colleague and keeps the link is still one person."""

import re
import secrets
from collections.abc import AsyncIterator
from html import unescape

import pytest

from malipo import clock
from malipo.merchants import manage_people
from malipo.merchants.password_links import make_link
from malipo.merchants.roles import Role
from malipo.payments.batches.batch import BatchStatus
from tests.conftest import Running
from tests.dashboard.merchant.batches.batch_pages import RIGHT, Office, office
from tests.dashboard.page_client import Surfer, add_person, surfing
from tests.operators.booking_steps import ASHA

__all__ = ["office"]

PEOPLE = "/dashboard/settings/people"
NEW = "korosho saba mezani"
SAYS = "May not approve yet"
LINE = "1 person cannot approve payouts yet"


@pytest.fixture
async def second(office: Office, running: Running) -> AsyncIterator[Surfer]:
    """Another owner, in a browser of their own."""
    person = await add_person(office.database, office.merchant_id, f"second+{secrets.token_hex(6)}@example.com")
    async with surfing(running.url, seen_from=f"10.63.0.{secrets.randbelow(250) + 1}") as surfer:
        await surfer.log_in(person.email)
        yield surfer


@pytest.fixture
async def colleague(office: Office, running: Running) -> AsyncIterator[Surfer]:
    """Invited by the owner, who used the link."""
    email = f"colleague+{secrets.token_hex(6)}@example.com"
    seen = await office.owner.post(PEOPLE, {"name": "Colleague", "email": email, "role": "owner"})
    link = re.search(r"token=(mpl_[\w-]+)", unescape(seen.text))
    assert link is not None
    async with surfing(running.url, seen_from=f"10.64.0.{secrets.randbelow(250) + 1}") as surfer:
        chosen = {"link": link[1], "password": NEW, "again": NEW}
        assert (await surfer.post("/dashboard/password", chosen)).status == 303
        assert (await surfer.log_in(email, NEW)).status == 303
        yield surfer


async def _submitted_by(surfer: Surfer, office: Office) -> str:
    office.clerk = surfer
    return await office.submitted(RIGHT)


async def test_an_owner_does_not_approve_as_the_colleague_whom_they_have_invited(
    office: Office, colleague: Surfer
) -> None:
    page = await _submitted_by(office.owner, office)
    assert "Approve…" not in (await colleague.get(page)).words
    assert (await colleague.get(f"{page}/approve")).status == 303, "there is nothing to ask"
    refused = await colleague.post(f"{page}/approve")
    assert refused.status == 403
    assert "they do not count as a second person" in refused.words
    assert await office.payouts() == []
    assert [each.status for each in await office.made()] == [BatchStatus.AWAITING_APPROVAL]


async def test_nor_what_they_have_made_as_that_colleague(office: Office, colleague: Surfer) -> None:
    page = await _submitted_by(colleague, office)
    shown = await office.owner.get(page)
    assert "It can be approved when an owner who had no part in that has vouched" in shown.words
    assert (await office.owner.post(f"{page}/approve")).status == 403
    assert await office.payouts() == []


async def test_another_owner_sees_it_vouches_and_then_they_are_two(
    office: Office, colleague: Surfer, second: Surfer
) -> None:
    page = await _submitted_by(office.owner, office)
    for surfer in (second, office.owner):
        assert LINE in (await surfer.get("/dashboard")).words
        assert LINE not in (await surfer.get(page)).words, "it stands on the overview only"
    shown = await second.get(PEOPLE)
    assert (SAYS in shown.words, "I vouch for Colleague" in shown.words) == (True, True)
    named = dict(re.findall(r'name="(email|reset)" value="([^"]+)"', shown.text))
    own = await office.owner.get(PEOPLE)
    assert SAYS in own.words
    assert "I vouch for" not in own.words, "whoever invited them has nothing to say about it"

    for surfer, status in ((office.owner, 403), (colleague, 403)):
        assert (await surfer.post("/dashboard/settings/vouch", named)).status == status
    assert (await second.post("/dashboard/settings/vouch", named | {"reset": "crs_of_another_day"})).status == 409
    assert (await colleague.post(f"{page}/approve")).status == 403

    assert (await second.post("/dashboard/settings/vouch", named)).status == 303
    assert SAYS not in (await second.get(PEOPLE)).words
    assert LINE not in (await second.get("/dashboard")).words
    assert (await colleague.post(f"{page}/approve")).status == 303
    assert len(await office.payouts()) == 2


async def test_staff_get_no_message(office: Office, colleague: Surfer) -> None:
    assert LINE not in (await office.clerk.get("/dashboard")).words


async def test_for_a_viewer_nobody_needs_to_vouch(office: Office) -> None:
    email = f"auditor+{secrets.token_hex(6)}@example.com"
    seen = await office.owner.post(PEOPLE, {"name": "Auditor", "email": email, "role": "viewer"})
    assert seen.status == 201
    assert "cannot approve payouts yet" not in (await office.owner.get("/dashboard")).words
    assert SAYS not in (await office.owner.get(PEOPLE)).words


async def test_staff_who_approve_nothing_are_shown_only_if_an_operator_has_added_them(office: Office) -> None:
    email = f"till+{secrets.token_hex(6)}@example.com"
    await office.owner.post(PEOPLE, {"name": "Till", "email": email, "role": "staff"})
    assert "cannot approve payouts yet" not in (await office.owner.get("/dashboard")).words
    assert SAYS in (await office.owner.get(PEOPLE)).words, "and of whom the owner has added, on the page of people"

    email, now = f"other+{secrets.token_hex(6)}@example.com", clock.now()
    async with office.database.begin() as tx:
        person = await manage_people.add_person(
            tx, office.merchant_id, email=email, name="Other", role=Role.STAFF, actor=ASHA, now=now
        )
        await make_link(tx, person, actor=ASHA, now=now)
    assert LINE in (await office.owner.get("/dashboard")).words


async def test_a_waiting_batch_says_who_can_approve_it_and_from_when(office: Office, colleague: Surfer) -> None:
    page = await _submitted_by(office.owner, office)
    shown = await office.owner.get(page)
    assert "Colleague can approve it from" in shown.words
    assert "Sooner, if an owner who had no part in adding them vouches." in shown.words
    assert "Nobody may approve it" not in shown.words
    approval = await office.owner.get("/dashboard/settings/approval")
    assert SAYS in approval.words
