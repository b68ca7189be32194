"""/dashboard/settings: the people of a business, who come by a link, have a role, and go."""

import re
from html import unescape

import pytest

from malipo.db import Database
from malipo.merchants.people import Person
from malipo.merchants.roles import Role
from tests.conftest import Merchant, Running
from tests.dashboard.merchant.settings_owner import NEW, PATH, an_email, everybody
from tests.dashboard.merchant.settings_owner import owner as owner
from tests.dashboard.merchant.settings_owner import shop as shop
from tests.dashboard.merchant.settings_owner import surfer as surfer
from tests.dashboard.page_client import Surfer, add_person, surfing


async def test_somebody_new_gets_a_link_that_works_once(
    surfer: Surfer, running: Running, database: Database, shop: Merchant
) -> None:
    email = an_email()

    added = await surfer.post(f"{PATH}/people", {"name": "Juma", "email": email.upper(), "role": "viewer"})

    assert added.status == 201
    link = re.search(rf"<code>({re.escape(surfer.url)}/dashboard/password\?token=mpl_[^<]+)</code>", added.text)
    assert link is not None
    assert (await everybody(database, shop))[email] is Role.VIEWER
    assert "mpl_" not in (await surfer.get(f"{PATH}/people")).text
    async with surfing(running.url, seen_from="10.43.3.1") as juma:
        path = unescape(link[1]).removeprefix(surfer.url)
        assert email in (await juma.get(path)).text
        chosen = {"link": path.partition("token=")[2], "password": NEW, "again": NEW}
        assert (await juma.post("/dashboard/password", chosen)).status == 303
        assert (await juma.log_in(email, NEW)).status == 303
        assert (await juma.get(f"{PATH}/people")).status == 403


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("name", "", "Please fill this in."),
        ("email", "", "Please fill this in."),
        ("email", "nobody", "This is not an email address."),
        ("role", "", "Please fill this in."),
        ("role", "king", "Choose a role."),
    ],
)
async def test_a_mistake_adds_nobody(
    surfer: Surfer, database: Database, shop: Merchant, name: str, value: str, said: str
) -> None:
    fields = {"name": "Juma", "email": an_email(), "role": "staff", name: value}

    seen = await surfer.post(f"{PATH}/people", fields)

    assert seen.status == 400
    assert re.findall(r'id="field-(\w+)-wrong"', seen.text) == [name]
    assert said in seen.words
    assert len(await everybody(database, shop)) == 1


async def test_an_email_has_one_account(surfer: Surfer, owner: Person, database: Database, shop: Merchant) -> None:
    seen = await surfer.post(f"{PATH}/people", {"name": "Juma", "email": owner.email, "role": "viewer"})

    assert seen.status == 400
    assert "already has an account" in seen.words
    assert await everybody(database, shop) == {owner.email: Role.OWNER}


async def test_a_role_is_changed_and_counts_at_once(
    surfer: Surfer, running: Running, database: Database, shop: Merchant
) -> None:
    colleague = await add_person(database, shop.id, an_email(), Role.VIEWER)
    async with surfing(running.url, seen_from="10.43.3.2") as own:
        await own.log_in(colleague.email)
        assert (await own.get("/dashboard/keys/new")).status == 403

        changed = await surfer.post(f"{PATH}/people/{colleague.id}/role", {"role": "owner"})

        assert changed.to == f"{PATH}/people"
        assert (await own.get("/dashboard/keys/new")).status == 200


async def test_the_last_owner_stays_one(surfer: Surfer, owner: Person, database: Database, shop: Merchant) -> None:
    await add_person(database, shop.id, an_email(), Role.STAFF)
    path = f"{PATH}/people/{owner.id}"

    for act, fields in (("role", {"role": "staff"}), ("remove", {})):
        refused = await surfer.post(f"{path}/{act}", fields)
        assert refused.status == 409
        assert "needs an owner" in refused.words

    assert (await everybody(database, shop))[owner.email] is Role.OWNER
    assert (await surfer.get(PATH)).status == 200


async def test_an_owner_among_others_may_step_down(
    surfer: Surfer, owner: Person, database: Database, shop: Merchant
) -> None:
    await add_person(database, shop.id, an_email())

    done = await surfer.post(f"{PATH}/people/{owner.id}/role", {"role": "viewer"})

    assert (done.status, done.to) == (303, PATH)
    assert (await surfer.get(done.to)).status == 200
    assert (await surfer.get(f"{PATH}/people")).status == 403


async def test_removing_asks_first_and_ends_every_session_of_theirs(
    surfer: Surfer, running: Running, database: Database, shop: Merchant
) -> None:
    colleague = await add_person(database, shop.id, an_email(), Role.STAFF)
    path = f"{PATH}/people/{colleague.id}/remove"
    async with surfing(running.url, seen_from="10.43.3.3") as own:
        await own.log_in(colleague.email)
        assert colleague.email in (await surfer.get(path)).words
        assert (await own.get(PATH)).status == 200

        assert (await surfer.post(path)).to == f"{PATH}/people"

        assert (await own.get(PATH)).status == 303
        assert (await own.log_in(colleague.email)).status == 400
    assert colleague.email not in await everybody(database, shop)


async def test_a_new_link_puts_the_one_before_out_of_use(
    surfer: Surfer, database: Database, shop: Merchant, running: Running
) -> None:
    colleague = await add_person(database, shop.id, an_email(), Role.STAFF)
    links = []
    for _ in range(2):
        seen = await surfer.post(f"{PATH}/people/{colleague.id}/link")
        assert seen.status == 201
        links += re.findall(r"/dashboard/password\?token=mpl_[\w-]+", seen.text)[:1]
    async with surfing(running.url, seen_from="10.43.3.4") as own:
        assert [(await own.get(link)).status for link in links] == [400, 200]
        assert (await own.log_in(colleague.email)).status == 303  # The password holds until another is chosen.
