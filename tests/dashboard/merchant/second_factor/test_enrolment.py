"""Two-step log-in of a merchant's person: set up, recovery codes, and removed."""

import secrets

from tests.authenticator_app import AuthenticatorApp
from tests.conftest import Running
from tests.dashboard.business import Business
from tests.dashboard.business import business as business
from tests.dashboard.merchant.second_factor.second_factor_steps import (
    CODE,
    PATH,
    RECOVERY_CODES,
    code_of,
    deeds,
    is_in,
    set_up,
    shown,
)
from tests.dashboard.merchant.second_factor.second_factor_steps import app as app
from tests.dashboard.merchant.second_factor.second_factor_steps import stack as stack
from tests.dashboard.page_client import PASSWORD, add_person, surfing


async def test_it_is_set_up_with_a_picture_that_is_drawn_here_and_a_code(business: Business) -> None:
    await business.surfer.log_in(business.owner.email)
    seen = await business.surfer.get(PATH)
    key, enrolment = shown(seen)
    assert '<svg viewBox="0 0' in seen.text
    assert 'role="img"' in seen.text
    assert "style=" not in seen.text
    assert key not in enrolment

    wrong = await business.surfer.post(PATH, {"enrolment": enrolment, "code": "12345"})
    assert wrong.status == 400
    assert "This code is not right" in wrong.words
    assert shown(wrong)[0] == key, "the picture was scanned already"

    done = await business.surfer.post(PATH, {"enrolment": enrolment, "code": code_of(key)})
    assert done.status == 201
    assert len(set(RECOVERY_CODES.findall(done.text))) == 10
    after = await business.surfer.get(PATH)
    assert "Recovery codes left 10" in after.words
    assert not RECOVERY_CODES.search(after.text)
    assert await deeds(business) == ["second_factor.enrolled"]


async def test_setting_it_up_ends_the_sessions_that_began_with_a_password_alone(
    business: Business, running: Running
) -> None:
    async with surfing(running.url, seen_from="10.78.0.1") as elsewhere:
        await elsewhere.log_in(business.owner.email)
        await business.surfer.log_in(business.owner.email)
        await set_up(business.surfer)
        assert (await is_in(elsewhere), await business.is_in()) == (False, True)


async def test_somebody_elses_enrolment_cannot_be_put_under_ones_own_name(business: Business, running: Running) -> None:
    other = await add_person(business.database, business.merchant_id, f"juma+{secrets.token_hex(4)}@example.com")
    await business.surfer.log_in(business.owner.email)
    key, enrolment = shown(await business.surfer.get(PATH))
    async with surfing(running.url, seen_from="10.78.0.2") as surfer:
        await surfer.log_in(other.email)
        seen = await surfer.post(PATH, {"enrolment": enrolment, "code": code_of(key)})
    assert (seen.status, shown(seen)[0] == key) == (400, False)


async def test_a_stolen_cookie_sets_up_nothing_and_sees_no_key(business: Business) -> None:
    await business.surfer.log_in(business.owner.email)
    key, enrolment = shown(await business.surfer.get(PATH))
    async with business.database.begin() as tx:
        await tx.execute(
            "UPDATE sessions SET confirmed_at = confirmed_at - interval '11 minutes' WHERE person_id = $1",
            business.owner.id,
        )
    assert (await business.surfer.get(PATH)).to.startswith("/dashboard/confirm?next=")
    seen = await business.surfer.post(PATH, {"enrolment": enrolment, "code": code_of(key)})
    assert (seen.status, await deeds(business)) == (403, [])


async def test_removing_needs_the_password_and_a_code(business: Business, app: AuthenticatorApp) -> None:
    surfer = business.surfer
    await surfer.post("/dashboard/login", {"email": business.owner.email, "password": PASSWORD})
    await surfer.post(CODE, {"code": app.code()})
    await surfer.get(f"{PATH}/remove")
    for password, code in (
        (PASSWORD, ""),
        (PASSWORD, app.wrong_code()),
        (PASSWORD, app.code()),
        ("wrong", app.code(1)),
    ):
        seen = await surfer.post(f"{PATH}/remove", {"password": password, "code": code})
        assert seen.status == 400, (password, code)
    assert "second_factor.removed" not in await deeds(business)
    assert (
        await surfer.post(f"{PATH}/remove", {"password": PASSWORD, "code": app.code(1)})
    ).to == "/dashboard/settings"
    assert (await deeds(business))[-1] == "second_factor.removed"
    await surfer.post("/dashboard/logout")
    assert (await surfer.log_in(business.owner.email)).to == "/dashboard"


async def test_a_recovery_code_is_enough_to_remove_it(business: Business, app: AuthenticatorApp) -> None:
    surfer = business.surfer
    await surfer.post("/dashboard/login", {"email": business.owner.email, "password": PASSWORD})
    await surfer.post(CODE, {"code": app.code()})
    await surfer.get(f"{PATH}/remove")
    seen = await surfer.post(f"{PATH}/remove", {"password": PASSWORD, "code": app.recovery_codes[0]})
    assert seen.to == "/dashboard/settings"


async def test_new_recovery_codes_are_shown_once(business: Business, app: AuthenticatorApp) -> None:
    surfer = business.surfer
    await surfer.post("/dashboard/login", {"email": business.owner.email, "password": PASSWORD})
    await surfer.post(CODE, {"code": app.code()})
    await surfer.get(PATH)
    seen = await surfer.post(f"{PATH}/codes")
    new = RECOVERY_CODES.findall(seen.text)
    assert (seen.status, len(new), set(new) & set(app.recovery_codes)) == (201, 10, set())
    assert not RECOVERY_CODES.search((await surfer.get(f"{PATH}/codes")).text)
