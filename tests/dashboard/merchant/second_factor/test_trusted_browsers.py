"""Trusted browsers: for thirty days they are not asked for a code, unless the password or the second factor changes."""

import re
from contextlib import AsyncExitStack
from datetime import timedelta

from malipo import clock
from tests.authenticator_app import AuthenticatorApp
from tests.conftest import Running
from tests.dashboard.business import Business
from tests.dashboard.business import business as business
from tests.dashboard.merchant.second_factor.second_factor_steps import (
    CODE,
    PATH,
    RECOVERY_CODES,
    deeds,
    is_in,
    password_typed,
)
from tests.dashboard.merchant.second_factor.second_factor_steps import app as app
from tests.dashboard.merchant.second_factor.second_factor_steps import stack as stack
from tests.dashboard.page_client import PASSWORD, Seen, Surfer, add_person

_END = re.compile(r"/dashboard/settings/browsers/\w+/end")


async def trusted(running: Running, stack: AsyncExitStack, business: Business, app: AuthenticatorApp) -> Surfer:
    """A browser in which the owner has asked not to be asked, logged out again."""
    await app.wait()
    surfer = await password_typed(running, stack, business.owner.email)
    assert (await surfer.post(CODE, {"code": app.code(), "trust": "yes"})).status == 303
    await surfer.get("/dashboard")
    await surfer.post("/dashboard/logout")
    return surfer


async def log_in(surfer: Surfer, business: Business, password: str = PASSWORD) -> Seen:
    return await surfer.log_in(business.owner.email, password)


async def test_a_trusted_browser_is_not_asked_and_another_is(
    business: Business, app: AuthenticatorApp, running: Running, stack: AsyncExitStack
) -> None:
    surfer = await trusted(running, stack, business, app)
    for _ in range(2):
        assert (await log_in(surfer, business)).to == "/dashboard"
        await surfer.post("/dashboard/logout")
    assert (await log_in(business.surfer, business)).to.startswith(CODE)
    assert "browser.trusted" in await deeds(business)


async def test_who_did_not_ask_for_it_is_asked_again(
    business: Business, app: AuthenticatorApp, running: Running, stack: AsyncExitStack
) -> None:
    surfer = await password_typed(running, stack, business.owner.email)
    await surfer.post(CODE, {"code": app.code()})
    await surfer.get("/dashboard")
    await surfer.post("/dashboard/logout")
    assert (await log_in(surfer, business)).to.startswith(CODE)


async def test_a_password_alone_makes_no_browser_known(
    business: Business, app: AuthenticatorApp, running: Running, stack: AsyncExitStack
) -> None:
    await password_typed(running, stack, business.owner.email)
    async with business.database.read() as connection:
        found = await connection.fetchval("SELECT count(*) FROM known_browsers WHERE person_id = $1", business.owner.id)
    assert found == 0


async def test_trust_ends_after_thirty_days(
    business: Business, app: AuthenticatorApp, running: Running, stack: AsyncExitStack
) -> None:
    surfer = await trusted(running, stack, business, app)
    async with business.database.begin() as tx:
        until = await tx.fetchval("SELECT trusted_until FROM known_browsers WHERE person_id = $1", business.owner.id)
        await tx.execute("UPDATE known_browsers SET trusted_until = now() WHERE person_id = $1", business.owner.id)
    assert timedelta(days=29, hours=23) < until - clock.now() <= timedelta(days=30)
    assert (await log_in(surfer, business)).to.startswith(CODE)
    await surfer.post(CODE, {"recovery": app.recovery_codes[-1]})
    seen = await surfer.get("/dashboard/settings")
    assert (seen.status, _END.search(seen.text)) == (200, None), "nor is it listed"


async def test_a_person_sees_the_trusted_browsers_and_ends_the_trust(
    business: Business, app: AuthenticatorApp, running: Running, stack: AsyncExitStack
) -> None:
    surfer = await trusted(running, stack, business, app)
    await log_in(surfer, business)
    seen = await surfer.get("/dashboard/settings")
    end = _END.search(seen.text)
    assert end, seen.words
    colleague = await add_person(business.database, business.merchant_id, f"c+{business.owner.id}@example.com".lower())
    await business.surfer.log_in(colleague.email)
    assert (await business.surfer.post(end[0])).status == 404, "it is not theirs"
    assert (await surfer.post(end[0])).to == "/dashboard/settings#browsers"
    assert not _END.search((await surfer.get("/dashboard/settings")).text)
    await surfer.post("/dashboard/logout")
    assert (await log_in(surfer, business)).to.startswith(CODE)
    assert (await deeds(business))[-1] == "browser.trust_ended"


async def test_a_new_password_ends_the_trust(
    business: Business, app: AuthenticatorApp, running: Running, stack: AsyncExitStack
) -> None:
    surfer, new = await trusted(running, stack, business, app), "ndizi mbivu sita 6"
    await log_in(surfer, business)
    await surfer.get("/dashboard/settings")
    await surfer.post(
        "/dashboard/settings/password",
        {"current": PASSWORD, "code": app.recovery_codes[0], "password": new, "again": new},
    )
    assert (await log_in(surfer, business, new)).to.startswith(CODE)


async def test_a_change_of_the_second_factor_ends_the_trust_everywhere(
    business: Business, app: AuthenticatorApp, running: Running, stack: AsyncExitStack
) -> None:
    one, other = [await trusted(running, stack, business, app) for _ in range(2)]
    await log_in(one, business)
    await one.get(f"{PATH}/remove")
    removed = await one.post(f"{PATH}/remove", {"password": PASSWORD, "code": app.recovery_codes[0]})
    assert removed.to == "/dashboard/settings"
    async with business.database.read() as connection:
        left = await connection.fetchval(
            "SELECT count(*) FROM known_browsers WHERE person_id = $1 AND trusted_until IS NOT NULL", business.owner.id
        )
    assert (left, await is_in(other)) == (0, False)


async def test_in_a_trusted_browser_the_code_is_asked_for_before_a_sensitive_act(
    business: Business, app: AuthenticatorApp, running: Running, stack: AsyncExitStack
) -> None:
    """Whoever copied the browser's cookie and knows the password gets no further than the pages."""
    surfer = await trusted(running, stack, business, app)
    await app.wait()
    assert (await log_in(surfer, business)).to == "/dashboard"
    assert (await surfer.get("/dashboard/settings")).status == 200
    assert (await surfer.get("/dashboard/keys/new")).to.startswith("/dashboard/confirm")
    made = await surfer.post(f"{PATH}/codes")
    assert (made.status, RECOVERY_CODES.findall(made.text)) == (403, [])
    proof = {"confirm_password": PASSWORD}
    for code in ("", app.wrong_code()):
        assert (await surfer.post(f"{PATH}/codes", proof | {"confirm_code": code})).status == 400
    assert "second_factor.recovery_codes_made" not in await deeds(business)
    made = await surfer.post(f"{PATH}/codes", proof | {"confirm_code": app.code()})
    assert len(RECOVERY_CODES.findall(made.text)) == 10
    assert (await surfer.get("/dashboard/keys/new")).status == 200, "it is confirmed now"


async def test_somebody_elses_log_in_takes_no_trust_along(
    business: Business, app: AuthenticatorApp, running: Running, stack: AsyncExitStack
) -> None:
    """A thief with the browser's cookie logs in with an account of their own, and gets the next cookie."""
    surfer = await trusted(running, stack, business, app)
    thief = await add_person(business.database, business.merchant_id, f"t+{business.owner.id}@example.com".lower())
    assert (await surfer.log_in(thief.email)).to == "/dashboard"
    await surfer.post("/dashboard/logout")
    assert (await log_in(surfer, business)).to.startswith(CODE)
