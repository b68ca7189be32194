"""A link for a password dies with whatever made it: the session, the password, the role, the person."""

import re
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

import pytest

from malipo import clock, ids
from malipo.accounts.tokens import hash_of
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import operator_at
from malipo.merchants import manage_people
from malipo.merchants.password_links import make_link
from malipo.merchants.people import Person
from malipo.merchants.roles import Role
from malipo.operators import login as operators
from malipo.operators import store as operator_store
from tests.conftest import NOBODY
from tests.dashboard.business import Business
from tests.dashboard.business import business as business
from tests.dashboard.page_client import PASSWORD, Surfer, add_person, surfing

_LINK = re.compile(r"mpl_[\w-]{20,}")
NEW = "korosho saba mezani"


@dataclass
class Links:
    """An owner with a session, a colleague for whom a link was made in it, and another browser of the owner's."""

    business: Business
    staff: Person
    link: str
    elsewhere: Surfer

    async def works(self) -> bool:
        async with surfing(self.business.surfer.url, seen_from="10.61.0.1") as reader:
            page = await reader.get(f"/dashboard/password?token={self.link}")
            fields = {"link": self.link, "password": "short", "again": "short"}
            form = await reader.post("/dashboard/password", fields)  # Too weak, so that it is not used up.
        assert (page.status == 200) == ('name="link"' in form.text)
        return page.status == 200


@pytest.fixture
async def links(business: Business) -> AsyncIterator[Links]:
    staff = await add_person(
        business.database, business.merchant_id, f"juma+{secrets.token_hex(6)}@example.com", Role.STAFF
    )
    await business.surfer.log_in(business.owner.email)
    made = await business.surfer.post(f"/dashboard/settings/people/{staff.id}/link")
    found = _LINK.search(made.text)
    assert found, made.words
    async with surfing(business.surfer.url, seen_from=business.address) as elsewhere:
        await elsewhere.log_in(business.owner.email)
        links = Links(business, staff, found[0], elsewhere)
        assert await links.works()
        yield links


async def _log_out(links: Links) -> None:
    await links.business.surfer.post("/dashboard/logout")


async def _end_from_elsewhere(links: Links) -> None:
    await links.elsewhere.post("/dashboard/settings/sessions/end")


async def _change_password(links: Links) -> None:
    fields = {"current": PASSWORD, "password": NEW, "again": NEW}
    assert (await links.elsewhere.post("/dashboard/settings/password", fields)).status == 303


async def _change_the_receivers_password(links: Links) -> None:
    async with surfing(links.business.surfer.url, seen_from="10.61.0.2") as juma:
        await juma.log_in(links.staff.email)
        fields = {"current": PASSWORD, "password": NEW, "again": NEW}
        assert (await juma.post("/dashboard/settings/password", fields)).status == 303


async def _change_the_receivers_role(links: Links) -> None:
    await links.elsewhere.post(f"/dashboard/settings/people/{links.staff.id}/role", {"role": "owner"})


async def _take_the_makers_role(links: Links) -> None:
    database, merchant_id = links.business.database, links.business.merchant_id
    await add_person(database, merchant_id, f"neema+{secrets.token_hex(6)}@example.com")
    async with database.begin() as tx:
        await manage_people.change_role(tx, links.business.owner, Role.VIEWER, actor=NOBODY, now=clock.now())


async def _remove_the_maker(links: Links) -> None:
    database, merchant_id = links.business.database, links.business.merchant_id
    await add_person(database, merchant_id, f"neema+{secrets.token_hex(6)}@example.com")
    async with database.begin() as tx:
        await manage_people.remove_person(tx, links.business.owner, actor=NOBODY, now=clock.now())


async def _wait_for_a_day(links: Links) -> None:
    async with links.business.database.begin() as tx:
        found = await tx.fetchval(
            "SELECT expires_at - created_at FROM password_links WHERE hash = $1", hash_of(links.link)
        )
        assert found == timedelta(days=1)
        await tx.execute("UPDATE password_links SET expires_at = now() WHERE hash = $1", hash_of(links.link))


ENDS: list[Callable[[Links], Awaitable[None]]] = [
    _log_out,
    _end_from_elsewhere,
    _change_password,
    _change_the_receivers_password,
    _change_the_receivers_role,
    _take_the_makers_role,
    _remove_the_maker,
    _wait_for_a_day,
]


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
async def test_a_link_dies(links: Links, end: Callable[[Links], Awaitable[None]]) -> None:
    await end(links)
    assert not await links.works()


async def test_a_session_that_is_merely_old_keeps_its_links(links: Links) -> None:
    async with links.business.database.begin() as tx:
        await tx.execute("UPDATE sessions SET expires_at = now() WHERE person_id = $1", links.business.owner.id)
    assert await links.works()


async def test_an_operators_link_dies_with_the_operators_password_and_with_the_operator(business: Business) -> None:
    name = f"asha.{secrets.token_hex(4)}"
    actor = operator_at(name, "here")
    async with business.database.begin() as tx:
        await operator_store.insert_operator(tx, ids.mint("opr_", clock.now()), name, now=clock.now())
        first = await make_link(tx, business.owner, actor=actor, now=clock.now())
    links = Links(business, business.owner, first, business.surfer)
    assert await links.works()
    async with business.database.begin() as tx:
        await operators.set_password(tx, name, "x", actor=actor, now=clock.now())
    assert not await links.works()
    async with business.database.begin() as tx:
        links.link = await make_link(tx, business.owner, actor=actor, now=clock.now())
    assert await links.works()
    async with business.database.begin() as tx:
        await tx.execute("DELETE FROM operators WHERE name = $1", name)
    assert not await links.works()


async def test_making_and_using_a_link_stand_in_the_audit_log(links: Links) -> None:
    async with surfing(links.business.surfer.url, seen_from="10.61.0.3") as juma:
        fields = {"link": links.link, "password": NEW, "again": NEW}
        assert (await juma.post("/dashboard/password", fields)).status == 303
    async with links.business.database.read() as connection:
        found = await audit_log.find(connection, merchant_id=links.business.merchant_id, limit=20)
    shown = [(each.action, each.actor, each.address) for each in found if each.action.startswith("password_link")]
    assert shown == [
        ("password_link.used", links.staff.email, "10.61.0.3"),
        ("password_link.made", links.business.owner.email, links.business.address),
    ]
    seen = await links.business.surfer.get("/dashboard/settings/activity")
    assert "Used a link for a new password" in seen.words
