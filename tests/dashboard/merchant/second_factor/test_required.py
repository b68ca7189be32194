"""Two-step log-in of a merchant's people: required of everybody, and reset for one."""

import secrets
from contextlib import AsyncExitStack

import pytest

from malipo.merchants.people import Person
from malipo.merchants.roles import Role
from tests.authenticator_app import AuthenticatorApp, enrolled
from tests.conftest import Running, make_merchant
from tests.dashboard.business import Business
from tests.dashboard.business import business as business
from tests.dashboard.merchant.second_factor.second_factor_steps import (
    CODE,
    PAGES_IN_ORDER,
    PATH,
    deeds,
    is_in,
    password_typed,
    set_up,
)
from tests.dashboard.merchant.second_factor.second_factor_steps import app as app
from tests.dashboard.merchant.second_factor.second_factor_steps import stack as stack
from tests.dashboard.page_client import PASSWORD, add_person, surfing


@pytest.fixture
async def staff(business: Business) -> Person:
    return await add_person(
        business.database, business.merchant_id, f"juma+{secrets.token_hex(4)}@example.com", Role.STAFF
    )


async def require(business: Business, app: AuthenticatorApp) -> None:
    surfer = business.surfer
    await surfer.post("/dashboard/login", {"email": business.owner.email, "password": PASSWORD})
    assert (await surfer.post(CODE, {"code": app.code()})).status == 303
    await surfer.get("/dashboard/settings/people")
    seen = await surfer.post("/dashboard/settings/people/second-factor", {"required": "yes"})
    assert seen.to == "/dashboard/settings/people"


async def test_an_owner_without_one_cannot_require_it(business: Business) -> None:
    await business.surfer.log_in(business.owner.email)
    seen = await business.surfer.post("/dashboard/settings/people/second-factor", {"required": "yes"})
    assert seen.status == 409
    assert "Set up your own two-step log-in first." in seen.words


async def test_who_must_have_one_is_led_there_and_can_do_nothing_else(
    business: Business, app: AuthenticatorApp, staff: Person, running: Running
) -> None:
    async with surfing(running.url, seen_from="10.79.0.1") as surfer:
        await surfer.log_in(staff.email)
        await require(business, app)
        for page in PAGES_IN_ORDER:
            if page.right is None or page.path in (PATH, "/dashboard/logout", "/dashboard/confirm"):
                continue
            path = page.path.replace("{id}", "x").replace("{delivery}", "x")
            seen = await (surfer.get(path) if page.method == "GET" else surfer.post(path))
            assert (seen.status, seen.to) == (303, PATH), path
        led = await surfer.get(PATH)
        assert "It is required for you." in led.words
        assert "New payout" not in led.words, "there is nowhere else to go"
        await set_up(surfer)
        assert await is_in(surfer)
    assert "second_factor.required" in await deeds(business)


async def test_a_log_in_of_who_must_have_one_leads_there(
    business: Business, app: AuthenticatorApp, staff: Person, running: Running
) -> None:
    await require(business, app)
    async with surfing(running.url, seen_from="10.79.0.2") as surfer:
        await surfer.log_in(staff.email)
        assert (await surfer.get("/dashboard")).to == PATH
    await business.surfer.post("/dashboard/settings/people/second-factor", {"required": "no"})
    async with surfing(running.url, seen_from="10.79.0.3") as surfer:
        await surfer.log_in(staff.email)
        assert await is_in(surfer)


async def test_an_owner_resets_anothers_and_not_their_own(
    business: Business, app: AuthenticatorApp, staff: Person, running: Running, stack: AsyncExitStack
) -> None:
    theirs = await enrolled(business.database, staff.id)
    juma = await password_typed(running, stack, staff.email)
    assert (await juma.post(CODE, {"code": theirs.code()})).status == 303
    await juma.get("/dashboard")
    path = "/dashboard/settings/people/{}/second-factor"
    assert (await juma.post(path.format(business.owner.id))).status == 403, "staff may not"
    await business.surfer.post("/dashboard/login", {"email": business.owner.email, "password": PASSWORD})
    await business.surfer.post(CODE, {"code": app.code()})
    await business.surfer.get("/dashboard/settings/people")
    assert (await business.surfer.post(path.format(business.owner.id))).status == 409
    assert (await business.surfer.post(path.format(staff.id))).to == f"/dashboard/settings/people/{staff.id}"
    assert not await is_in(juma), "their sessions have ended"
    async with surfing(running.url, seen_from="10.79.0.4") as surfer:
        assert (await surfer.log_in(staff.email)).to == "/dashboard"
    assert (await deeds(business))[-1] == "second_factor.reset"
    assert (await business.surfer.post(path.format(staff.id))).status == 409, "there is none any more"


async def test_nobody_resets_that_of_another_merchants_person(business: Business, running: Running) -> None:

    stranger = await add_person(
        business.database, (await make_merchant(business.database)).id, f"eva+{secrets.token_hex(4)}@example.com"
    )
    theirs = await enrolled(business.database, stranger.id)
    await business.surfer.log_in(business.owner.email)
    seen = await business.surfer.post(f"/dashboard/settings/people/{stranger.id}/second-factor")
    assert seen.status == 404
    async with business.database.read() as connection:
        assert await connection.fetchval("SELECT count(*) FROM second_factors WHERE account_id = $1", stranger.id) == 1
    assert theirs.account_id == stranger.id


async def test_it_goes_with_the_person(business: Business, staff: Person) -> None:
    await enrolled(business.database, staff.id)
    await business.surfer.log_in(business.owner.email)
    await business.surfer.post(f"/dashboard/settings/people/{staff.id}/remove")
    async with business.database.read() as connection:
        assert await connection.fetchval("SELECT count(*) FROM second_factors WHERE account_id = $1", staff.id) == 0
