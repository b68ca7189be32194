"""Two-step log-in of a merchant's person: the code after the password, and before sensitive acts."""

import asyncio
import re
from contextlib import AsyncExitStack

from tests.authenticator_app import AuthenticatorApp
from tests.conftest import Running
from tests.dashboard.business import Business
from tests.dashboard.business import business as business
from tests.dashboard.merchant.second_factor.second_factor_steps import (
    CODE,
    PAGES_IN_ORDER,
    deeds,
    is_in,
    password_typed,
)
from tests.dashboard.merchant.second_factor.second_factor_steps import app as app
from tests.dashboard.merchant.second_factor.second_factor_steps import stack as stack
from tests.dashboard.page_client import PASSWORD


async def test_after_the_password_comes_the_code_and_before_it_nothing_is_open(
    business: Business, app: AuthenticatorApp
) -> None:
    surfer = business.surfer
    seen = await surfer.post(
        "/dashboard/login", {"email": business.owner.email, "password": PASSWORD, "next": "/dashboard/wallet"}
    )
    assert (seen.status, seen.to) == (303, f"{CODE}?next=/dashboard/wallet")
    assert "malipo_session" not in seen.cookies
    for part in ("HttpOnly", "Path=/dashboard/login", "Max-Age=600", "SameSite=lax"):
        assert part in seen.cookies["malipo_login"]
    for page in PAGES_IN_ORDER:
        if page.method == "GET" and page.right is not None:
            path = page.path.replace("{id}", "x").replace("{delivery}", "x")
            assert (await surfer.get(path)).to.startswith("/dashboard/login?next="), path
    assert await business.sessions() == []

    assert (await surfer.get(seen.to)).status == 200
    wrong = await surfer.post(CODE, {"code": app.wrong_code(), "next": "/dashboard/wallet"})
    assert (wrong.status, await business.sessions()) == (400, [])
    right = await surfer.post(CODE, {"code": app.code(), "next": "/dashboard/wallet"})
    assert (right.status, right.to) == (303, "/dashboard/wallet")
    assert await business.is_in()
    assert (await surfer.post(CODE, {"code": app.code(1)})).to == "/dashboard/login", "it became one session"


async def test_a_wrong_password_reveals_nothing_of_a_second_factor(business: Business, app: AuthenticatorApp) -> None:
    seen = await business.surfer.post("/dashboard/login", {"email": business.owner.email, "password": "not it at all"})
    assert (seen.status, "malipo_login" in seen.cookies) == (400, False)
    assert "The email or the password is not right." in seen.words


async def test_a_session_cookie_cannot_be_made_of_a_log_in_that_waits(
    business: Business, app: AuthenticatorApp
) -> None:
    seen = await business.surfer.post("/dashboard/login", {"email": business.owner.email, "password": PASSWORD})
    token = re.split("[=;]", seen.cookies["malipo_login"])[1]
    assert (await business.surfer.get("/dashboard", headers={"Cookie": f"malipo_session={token}"})).status == 303


async def test_the_same_code_at_once_logs_in_once(
    business: Business, app: AuthenticatorApp, running: Running, stack: AsyncExitStack
) -> None:
    surfers = [await password_typed(running, stack, business.owner.email) for _ in range(4)]
    code = app.code()
    seen = await asyncio.gather(*(each.post(CODE, {"code": code}) for each in surfers))
    assert sorted(each.status for each in seen) == [303, 400, 400, 400]
    assert len(await business.sessions()) == 1
    late = await password_typed(running, stack, business.owner.email)
    assert (await late.post(CODE, {"code": code})).status == 400


async def test_the_same_log_in_sent_twice_at_once_becomes_one_session(
    business: Business, app: AuthenticatorApp
) -> None:
    await business.surfer.post("/dashboard/login", {"email": business.owner.email, "password": PASSWORD})
    seen = await asyncio.gather(*(business.surfer.post(CODE, {"recovery": each}) for each in app.recovery_codes[:3]))
    assert {each.status for each in seen} == {303}
    assert len(await business.sessions()) == 1


async def test_five_wrong_codes_end_the_log_in(
    business: Business, app: AuthenticatorApp, running: Running, stack: AsyncExitStack
) -> None:
    surfer = await password_typed(running, stack, business.owner.email)
    for _ in range(4):
        assert (await surfer.post(CODE, {"code": app.wrong_code()})).status == 400
    fifth = await surfer.post(CODE, {"code": app.wrong_code()})
    assert (fifth.status, fifth.to) == (303, "/dashboard/login")
    assert "Log in again." in (await surfer.get("/dashboard/login")).words
    right = await surfer.post(CODE, {"code": app.code()}, headers={"Cookie": "x=y"})
    assert (right.to, await business.sessions()) == ("/dashboard/login", [])
    assert (await deeds(business)).count("second_factor.code_failed") == 5


async def test_twenty_wrong_codes_at_once_are_five(
    business: Business, app: AuthenticatorApp, running: Running, stack: AsyncExitStack
) -> None:
    surfer = await password_typed(running, stack, business.owner.email)
    await asyncio.gather(*(surfer.post(CODE, {"code": app.wrong_code()}) for _ in range(20)))
    assert (await deeds(business)).count("second_factor.code_failed") == 5


async def test_new_log_ins_do_not_give_new_guesses_without_end_and_a_recovery_code_still_works(
    business: Business, app: AuthenticatorApp, running: Running, stack: AsyncExitStack
) -> None:
    for _ in range(2):
        surfer = await password_typed(running, stack, business.owner.email, address="10.99.0.1")
        for _ in range(5):
            await surfer.post(CODE, {"code": app.wrong_code()})
    surfer = await password_typed(running, stack, business.owner.email, address="10.99.0.1")
    refused = await surfer.post(CODE, {"code": app.code()})
    assert refused.status == 429
    assert 0 < int(refused.headers["Retry-After"]) <= 3600
    assert (await surfer.post(CODE, {"recovery": app.recovery_codes[3]})).status == 303
    assert await is_in(surfer)


async def test_whoever_has_the_password_and_guesses_codes_does_not_keep_its_owner_out(
    business: Business, app: AuthenticatorApp, running: Running, stack: AsyncExitStack
) -> None:
    """From eight networks, more than anybody may guess in a day: then only the owner's own browser is let in."""
    known = await password_typed(running, stack, business.owner.email, address="10.98.1.1")
    assert (await known.post(CODE, {"code": app.code(-1)})).status == 303
    await known.post("/dashboard/logout")

    async def guess(networks: range) -> None:
        for network in networks:
            surfer = await password_typed(running, stack, business.owner.email, address=f"10.97.{network}.1")
            for _ in range(5):
                await surfer.post(CODE, {"code": app.wrong_code()})

    await guess(range(2))  # Ten wrong ones, as in the attack.
    elsewhere = await password_typed(running, stack, business.owner.email, address="10.98.2.1")
    assert (await elsewhere.post(CODE, {"code": app.code()})).status == 303, "also in a new browser"

    await guess(range(2, 9))
    new = await password_typed(running, stack, business.owner.email, address="10.98.3.1")
    assert (await new.post(CODE, {"code": app.code(1)})).status == 429
    await known.post("/dashboard/login", {"email": business.owner.email, "password": PASSWORD})
    assert (await known.post(CODE, {"code": app.code(1)})).status == 303
    assert await is_in(known)


async def test_a_log_in_waits_ten_minutes(
    business: Business, app: AuthenticatorApp, running: Running, stack: AsyncExitStack
) -> None:
    surfer = await password_typed(running, stack, business.owner.email)
    async with business.database.begin() as tx:
        life = await tx.fetchval(
            "SELECT expires_at - created_at FROM pending_logins WHERE account_id = $1", business.owner.id
        )
        await tx.execute("UPDATE pending_logins SET expires_at = now() WHERE account_id = $1", business.owner.id)
    assert life.total_seconds() == 600
    assert (await surfer.get(CODE)).to == "/dashboard/login"
    assert (await surfer.post(CODE, {"code": app.code()})).to == "/dashboard/login"
    assert await business.sessions() == []


async def test_a_new_password_ends_what_waits_for_a_code(
    business: Business, app: AuthenticatorApp, running: Running, stack: AsyncExitStack
) -> None:
    waiting = await password_typed(running, stack, business.owner.email)
    surfer = await password_typed(running, stack, business.owner.email)
    await surfer.post(CODE, {"code": app.code()})
    await surfer.get("/dashboard/settings")
    fields = {"current": PASSWORD, "password": "ndizi mbivu sita 6", "again": "ndizi mbivu sita 6"}
    fields["code"] = app.recovery_codes[0]
    assert (await surfer.post("/dashboard/settings/password", fields)).to == "/dashboard/login"
    assert (await waiting.post(CODE, {"code": app.code(1)})).to == "/dashboard/login"


async def test_a_recovery_code_lets_in_once_and_is_reported(
    business: Business, app: AuthenticatorApp, running: Running, stack: AsyncExitStack
) -> None:
    surfer = await password_typed(running, stack, business.owner.email)
    assert (await surfer.post(CODE, {"recovery": app.recovery_codes[0].upper()})).status == 303
    again = await password_typed(running, stack, business.owner.email)
    assert (await again.post(CODE, {"recovery": app.recovery_codes[0]})).status == 400
    shown = (await surfer.get("/dashboard/settings/activity")).words
    assert "Used a recovery code; 9 are left" in shown
    assert "Typed a wrong code" in shown


async def test_a_sensitive_act_needs_the_code_too(business: Business, app: AuthenticatorApp) -> None:
    surfer = business.surfer
    await surfer.post("/dashboard/login", {"email": business.owner.email, "password": PASSWORD})
    await surfer.post(CODE, {"code": app.code()})
    await surfer.get("/dashboard")
    async with business.database.begin() as tx:
        await tx.execute(
            "UPDATE sessions SET confirmed_at = confirmed_at - interval '11 minutes' WHERE person_id = $1",
            business.owner.id,
        )
    asked = await surfer.get("/dashboard/confirm?next=/dashboard/keys/new")
    assert 'name="confirm_code"' in asked.text
    fields = {"next": "/dashboard/keys/new", "confirm_password": PASSWORD}
    assert (await surfer.post("/dashboard/confirm", fields)).status == 400
    assert (await surfer.post("/dashboard/confirm", fields | {"confirm_code": app.wrong_code()})).status == 400
    assert (await surfer.get("/dashboard/keys/new")).status == 303
    assert (await surfer.post("/dashboard/confirm", fields | {"confirm_code": app.code(1)})).to == "/dashboard/keys/new"
    assert (await surfer.get("/dashboard/keys/new")).status == 200


async def test_without_a_second_factor_no_code_is_asked_for(business: Business) -> None:
    await business.surfer.log_in(business.owner.email)
    assert 'name="confirm_code"' not in (await business.surfer.get("/dashboard/confirm")).text


async def test_a_new_password_needs_a_code_and_the_page_asks_for_it(business: Business, app: AuthenticatorApp) -> None:
    surfer = business.surfer
    await surfer.post("/dashboard/login", {"email": business.owner.email, "password": PASSWORD})
    await surfer.post(CODE, {"code": app.code()})
    path, new = "/dashboard/settings/password", "twiga jangwa 55 nane"
    fields = {"current": PASSWORD, "password": new, "again": new}
    assert 'name="code"' in (await surfer.get("/dashboard/settings")).text

    asked = await surfer.post(path, fields)
    assert (asked.status, re.findall(r'id="field-(\w+)-wrong"', asked.text)) == (400, ["code"])
    assert "Type the code that your app shows." in asked.words
    wrong = await surfer.post(path, {**fields, "code": app.wrong_code()})
    assert (wrong.status, re.findall(r'id="field-(\w+)-wrong"', wrong.text)) == (400, ["code"])
    assert await is_in(surfer)

    assert (await surfer.post(path, {**fields, "code": app.code(1)})).status == 303
    assert not await is_in(surfer)


async def test_without_a_second_factor_a_new_password_needs_no_code(business: Business) -> None:
    await business.surfer.post("/dashboard/login", {"email": business.owner.email, "password": PASSWORD})
    assert 'name="code"' not in (await business.surfer.get("/dashboard/settings")).text
