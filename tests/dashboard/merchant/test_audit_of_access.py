"""The audit log has every log-in, failed log-in and log-out, and its page shows them in both languages."""

from datetime import timedelta

import aiohttp

from malipo import clock
from malipo.accounts import failed_login_audit
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor, operator_at
from tests.authenticator_app import enrolled
from tests.conftest import Client
from tests.dashboard.business import Business
from tests.dashboard.business import business as business
from tests.dashboard.page_client import PASSWORD, surfing


async def deeds(business: Business) -> list[tuple[str, str, str]]:
    """What was done, by whom and from where; oldest first."""
    async with business.database.read() as connection:
        rows = await connection.fetch(
            "SELECT action, actor, address FROM audit_log WHERE merchant_id = $1 AND id > $2 ORDER BY id",
            business.merchant_id,
            "",
        )
    return [tuple(row) for row in rows if row["action"].startswith(("session", "login"))]


async def test_failed_log_ins_and_log_outs_are_written_down(business: Business) -> None:
    email, address = business.owner.email, business.address
    await business.surfer.log_in(email, "not this one")
    await business.surfer.log_in(email)
    await business.surfer.post("/dashboard/logout")
    assert await deeds(business) == [
        ("login.failed", email, address),
        ("session.begun", email, address),
        ("session.logged_out", email, address),
    ]
    await business.surfer.log_in(email)
    page = (await business.surfer.get("/dashboard/settings/activity")).words
    assert "Did not get in: the password was wrong" in page
    assert "Logged out" in page
    assert "not this one" not in page
    swahili = (await business.surfer.get("/dashboard/settings/activity", headers={"Accept-Language": "sw"})).words
    assert "Hakuingia: nenosiri halikuwa sahihi" in swahili


async def test_right_passwords_without_a_code_are_written_down_and_do_not_fill_the_log(business: Business) -> None:
    email, address = business.owner.email, business.address
    await enrolled(business.database, business.owner.id)
    credentials = {"email": email, "password": PASSWORD}
    await business.surfer.post("/dashboard/login", credentials)
    assert await deeds(business) == [("login.code_asked", email, address)]
    async with aiohttp.ClientSession() as http:
        client = Client(http, business.surfer.url, None)
        for _ in range(7):
            assert (await client("POST", "/merchant/auth/login", credentials)).status == 401
            await business.surfer.post("/dashboard/login", credentials)
    assert [each[0] for each in await deeds(business)] == ["login.code_asked"] * 10
    await failed_login_audit.report(business.database, now=clock.now() + timedelta(hours=1), most=1000)
    assert [each[0] for each in await deeds(business)][10:] == ["login.code_asked_often"]


async def test_a_right_password_without_a_code_is_written_down_also_where_somebody_is_logged_in(
    business: Business,
) -> None:
    await business.surfer.log_in(business.owner.email)
    await enrolled(business.database, business.owner.id)
    await business.surfer.get("/dashboard/confirm")
    assert (await business.surfer.post("/dashboard/confirm", {"confirm_password": PASSWORD})).status == 400
    assert [each[0] for each in await deeds(business)] == ["session.begun", "login.code_asked"]


async def test_the_page_shows_right_passwords_and_codes_in_both_languages(business: Business) -> None:
    app = await enrolled(business.database, business.owner.id)
    for _ in range(12):
        await business.surfer.log_in(business.owner.email)
        await business.surfer.post("/dashboard/login/code", {"code": app.wrong_code()})
    await failed_login_audit.report(business.database, now=clock.now() + timedelta(hours=1), most=1000)
    await business.surfer.post("/dashboard/login/code", {"recovery": app.recovery_codes[0]})
    page = (await business.surfer.get("/dashboard/settings/activity")).words
    for words in (
        "Typed the right password, and was asked for a code",
        "Within an hour: the right password 2 more times, and a code was asked for",
        "Within an hour: 0 more wrong codes, and 7 codes that were not looked at",
    ):
        assert words in page
    swahili = (await business.surfer.get("/dashboard/settings/activity", headers={"Accept-Language": "sw"})).words
    for words in (
        "Aliandika nenosiri sahihi, na akaombwa msimbo",
        "Ndani ya saa moja: nenosiri sahihi mara 2 zaidi, na msimbo uliombwa",
        "Ndani ya saa moja: msimbo usio sahihi mara 0 zaidi, na misimbo 7 ambayo haikuangaliwa",
    ):
        assert words in swahili


async def test_what_was_not_looked_at_is_counted_and_not_written_down(business: Business) -> None:
    for n in range(9):
        await business.surfer.log_in(business.owner.email, f"guess {n}")
    assert [each[0] for each in await deeds(business)] == ["login.failed"] * 5
    async with business.database.read() as connection:
        row = await connection.fetchrow(
            "SELECT sum(failures), sum(throttled) FROM failed_logins WHERE name = $1", business.owner.email
        )
    assert tuple(row or ()) == (5, 4)


async def test_a_refresh_token_that_comes_back_is_written_down_once(business: Business) -> None:
    async with aiohttp.ClientSession() as http:
        client = Client(http, business.surfer.url, None)
        credentials = {"email": business.owner.email, "password": PASSWORD}
        granted = (await client("POST", "/merchant/auth/login", credentials)).body
        for _ in range(4):
            await client("POST", "/merchant/auth/refresh", {"refreshToken": granted["refreshToken"]})
    assert [each[0] for each in await deeds(business)] == ["session.begun", "session.refresh_reused"]


async def test_a_session_that_is_ended_is_written_down(business: Business) -> None:
    await business.surfer.log_in(business.owner.email)
    async with surfing(business.surfer.url, seen_from=business.address) as other:
        await other.log_in(business.owner.email)
        await other.post("/dashboard/settings/sessions/end")
    assert [each[0] for each in await deeds(business)][-1] == "session.others_ended"


async def test_an_operator_with_an_email_for_a_name_is_not_shown_to_merchants(business: Business) -> None:
    await business.surfer.log_in(business.owner.email)
    async with business.database.begin() as tx:
        for actor in (operator_at("juma@psp.example", "10.77.0.1"), Actor("user juma@psp.example", "10.77.0.2")):
            await audit_log.append(
                tx, actor, "tariff.set", now=clock.now(), merchant_id=business.merchant_id, type="COLLECTION"
            )
    page = (await business.surfer.get("/dashboard/settings/activity")).text
    assert ("juma@psp.example" in page, "10.77.0" in page) == (False, False)
    assert (business.owner.email in page, business.address in page) == (True, True)


async def test_sessions_that_are_not_shown_are_counted(business: Business) -> None:
    await business.surfer.log_in(business.owner.email)
    async with business.database.begin() as tx:
        columns = [
            row["column_name"]
            for row in await tx.fetch(
                "SELECT column_name FROM information_schema.columns "
                "WHERE table_schema = current_schema() AND table_name = 'sessions' AND is_generated = 'NEVER'"
            )
        ]
        copied = ["id || n" if each == "id" else each for each in columns]
        await tx.execute(
            f"INSERT INTO sessions ({', '.join(columns)}) SELECT {', '.join(copied)} "
            "FROM sessions, generate_series(1, 50) n WHERE person_id = $1",
            business.owner.id,
        )
    assert "1 more is not shown." in (await business.surfer.get("/dashboard/settings")).words
