"""/operator: who comes in, who stays out, and for how long."""

import re
import secrets
from datetime import timedelta

from malipo.dashboard.operator.routes import PAGES
from malipo.payments.transaction import Status
from tests.dashboard.operator.operator_pages import Operator, OperatorPages, proposal_on
from tests.dashboard.operator.operator_pages import operator_pages as operator_pages
from tests.dashboard.page_client import PASSWORD, add_person


async def test_forged_forms_are_refused(operator_pages: OperatorPages) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    payout = await operator_pages.late()
    await asha.propose(payout, "failed")
    fields = {"proposal": proposal_on(await juma.look(payout))}
    for path in [f"/operator/cases/{payout.reference}/{act}" for act in ("propose", "approve", "reject")] + [
        "/operator/ledger",
        "/operator/logout",
        "/operator/language",
    ]:
        forged = [
            await juma.surfer.post(path, fields, token=""),
            await juma.surfer.post(path, fields, token=asha.surfer.token),
            await juma.surfer.post(path, fields, headers={"Origin": "https://evil.example"}),
        ]
        assert [each.status for each in forged] == [403, 403, 403], path
    assert await operator_pages.status(payout) is Status.PROCESSING
    assert (await juma.approve(payout)).status == 303, "and is still logged in"


# Written by hand.
FOR_EVERYBODY = {
    ("GET", "/operator/login"),
    ("POST", "/operator/login"),
    ("GET", "/operator/login/code"),
    ("POST", "/operator/login/code"),
    ("POST", "/operator/language"),
}


async def test_nothing_is_shown_to_who_is_not_logged_in(operator_pages: OperatorPages) -> None:
    stranger = (await operator_pages.browser()).surfer
    for page in PAGES:
        path = re.sub(r"\{\w+\}", "some_1", page.path)
        if (page.method, page.path) in FOR_EVERYBODY:
            continue
        seen = await (stranger.get(path) if page.method == "GET" else stranger.post(path))
        expected = f"/operator/login?next={path}" if page.method == "GET" else "/operator/login"
        assert (seen.status, seen.to) == (303, expected), path


async def test_merchants_cookies_do_not_open_the_operators_pages_nor_the_other_way_round(
    operator_pages: OperatorPages,
) -> None:
    email = f"owner-{secrets.token_hex(4)}@example.com"
    await add_person(operator_pages.service.queries.database, operator_pages.merchant.id, email)
    browser = await operator_pages.browser()
    owner = (await browser.surfer.log_in(email)).cookies["malipo_session"]
    assert (await browser.surfer.get("/operator")).to.startswith("/operator/login")

    asha = await operator_pages.hire("asha")
    operator = (await asha.log_in()).cookies["malipo_operator"]
    assert (await asha.surfer.get("/dashboard")).to.startswith("/dashboard/login")

    owners, operators = (re.split("[=;]", each)[1] for each in (owner, operator))
    stranger = (await operator_pages.browser()).surfer
    swapped = {"Cookie": f"malipo_operator={owners}; malipo_session={operators}"}
    assert (await stranger.get("/operator", headers=swapped)).to.startswith("/operator/login")
    assert (await stranger.get("/dashboard", headers=swapped)).to.startswith("/dashboard/login")
    assert (await stranger.get("/operator", headers={"Cookie": f"malipo_operator={operators}"})).status == 200


async def test_the_cookie_goes_nowhere_else_and_no_script_reads_it(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.hire("asha")
    cookie = (await asha.log_in()).cookies["malipo_operator"]
    for part in ("HttpOnly", "Path=/operator", "Max-Age=43200", "SameSite=lax"):
        assert part in cookie
    assert "Secure" not in cookie
    fields = {"name": asha.name, "password": PASSWORD}
    over_tls = await asha.surfer.post("/operator/login", fields, headers={"X-Forwarded-Proto": "https"})
    assert "Secure" in over_tls.cookies["malipo_operator"]


async def test_a_session_ends_with_the_log_out_and_with_the_day(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.hire("asha")
    sealed = (await asha.log_in()).cookies["malipo_operator"].partition(";")[0]
    assert (await asha.surfer.post("/operator/logout")).to == "/operator/login"
    replayed = await (await operator_pages.browser()).surfer.get("/operator", headers={"Cookie": sealed})
    assert replayed.status == 303

    await asha.log_in()
    async with operator_pages.service.queries.database.begin() as tx:
        mine = "FROM operators o WHERE o.id = s.operator_id AND o.name = $1 AND s.ended_at IS NULL"
        life = await tx.fetchval(
            f"SELECT expires_at - s.created_at FROM operator_sessions s, LATERAL (SELECT 1 {mine}) AS of_hers",
            asha.name,
        )
        await tx.execute(f"UPDATE operator_sessions s SET expires_at = now() {mine}", asha.name)
    assert life == timedelta(hours=12)
    assert (await asha.surfer.get("/operator")).status == 303


async def test_guesses_are_counted_by_place_and_forgiven_to_who_knows(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.hire("asha")
    for _ in range(4):
        assert (await asha.log_in(password="not it at all")).status == 400
    assert (await asha.log_in()).status == 303
    for _ in range(5):
        assert (await asha.log_in(password="not it at all")).status == 400, "those from before are forgiven"
    refused = await asha.log_in()
    assert refused.status == 429
    assert int(refused.headers["Retry-After"]) > 0
    elsewhere = Operator(asha.name, "", (await operator_pages.browser()).surfer)
    assert (await elsewhere.log_in(asha.name.upper())).status == 303


async def test_an_unknown_operator_and_one_without_a_password_get_the_answer_of_a_wrong_password(
    operator_pages: OperatorPages,
) -> None:
    known, bare = await operator_pages.hire("asha"), await operator_pages.hire("juma")
    async with operator_pages.service.queries.database.begin() as tx:
        await tx.execute("UPDATE operators SET password_hash = NULL WHERE name = $1", bare.name)
    said = [await known.log_in(password="wrong"), await bare.log_in(), await known.log_in("nobody\0\x07")]
    assert [each.status for each in said] == [400, 400, 400]
    assert all("The name or the password is not right." in each.words for each in said)


async def test_a_log_in_leads_only_to_our_own_pages(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.hire("asha")
    for next_, to in (
        ("/operator/ledger", "/operator/ledger"),
        ("//evil.example", "/operator"),
        ("/dashboard", "/operator"),
    ):
        fields = {"name": asha.name, "password": PASSWORD, "next": next_}
        assert (await asha.surfer.post("/operator/login", fields)).to == to
