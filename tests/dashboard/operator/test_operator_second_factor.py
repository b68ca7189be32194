"""Two-step log-in of operators: required, set up at the first log-in, asked for, and reset at the command line."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from malipo.app.assemble import Service
from malipo.audit_log import store as audit_log
from malipo.dashboard.operator.routes import PAGES
from malipo.db import Database
from malipo.payments.transaction import Status
from tests.authenticator_app import AuthenticatorApp, enrolled
from tests.conftest import NO_LIMITS, Running, make_merchant, starting, until_ready
from tests.dashboard.merchant.second_factor.second_factor_steps import set_up
from tests.dashboard.operator.operator_pages import Operator, OperatorPages, proposal_on, seen_on
from tests.dashboard.operator.operator_pages import operator_pages as operator_pages
from tests.dashboard.page_client import PASSWORD, surfing
from tests.journeys.operator_commands import malipo
from tests.journeys.operator_sessions import session_of

PATH = "/operator/account/second-factor"
CODE = "/operator/login/code"


@pytest.fixture(scope="module")
async def strict(tmp_path_factory: pytest.TempPathFactory, database_url: str) -> AsyncIterator[Running]:
    """The same site as operators have it who have set nothing: a second factor is required."""
    with starting(tmp_path_factory.mktemp("strict")) as start:
        yield await until_ready(start("api", database_url=database_url, trusted_proxies="127.0.0.1", **NO_LIMITS))


@pytest.fixture
async def strict_pages(service: Service, strict: Running, database: Database) -> AsyncIterator[OperatorPages]:
    async with AsyncExitStack() as stack:
        yield OperatorPages(service, strict, await make_merchant(database), stack)


async def app_of(pages: OperatorPages, operator: Operator) -> AuthenticatorApp:
    async with pages.service.queries.database.read() as connection:
        account_id = await connection.fetchval("SELECT id FROM operators WHERE name = $1", operator.name)
    return await enrolled(pages.service.queries.database, account_id)


async def test_the_first_log_in_leads_to_the_set_up_and_opens_nothing_else(strict_pages: OperatorPages) -> None:
    asha = await strict_pages.hire("asha")
    await asha.log_in()
    for page in PAGES:
        if page.is_for_everybody or page.path in (PATH, "/operator/logout", "/operator/confirm"):
            continue
        path = page.path.replace("{payment}", "txn_1").replace("{id}", "x")
        seen = await (asha.surfer.get(path) if page.method == "GET" else asha.surfer.post(path))
        assert (seen.status, seen.to) == (303, PATH), path
    assert "It is required for you." in (await asha.surfer.get(PATH)).words
    key, codes = await set_up(asha.surfer, PATH)
    assert (len(key), len(codes)) == (32, 10)
    assert (await asha.surfer.get("/operator")).status == 200


async def test_where_it_is_optional_nobody_is_led_anywhere(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    assert (await asha.surfer.get("/operator")).status == 200


async def test_after_the_password_comes_the_code(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.hire("asha")
    app = await app_of(operator_pages, asha)
    seen = await asha.log_in()
    assert (seen.to, "malipo_operator" in seen.cookies) == (f"{CODE}?next=/operator", False)
    assert (await asha.surfer.get("/operator")).to.startswith("/operator/login")
    assert (await asha.surfer.post(CODE, {"code": app.wrong_code()})).status == 400
    assert (await asha.surfer.post(CODE, {"code": app.code()})).to == "/operator"
    assert (await asha.surfer.get("/operator")).status == 200


async def test_an_operators_right_password_without_a_code_is_written_down(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.hire("asha")
    await app_of(operator_pages, asha)
    await asha.log_in()
    async with operator_pages.service.queries.database.read() as connection:
        found = await audit_log.find(connection, limit=50)
    entries = [(each.action, each.address) for each in found if asha.name in each.actor]
    assert entries == [("login.code_asked", asha.address)]


async def test_in_a_trusted_browser_an_approval_still_needs_a_code(operator_pages: OperatorPages) -> None:
    asha, juma = await operator_pages.hire("asha"), await operator_pages.operator("juma")
    app, payment = await app_of(operator_pages, asha), await operator_pages.late()
    await asha.log_in()
    assert (await asha.surfer.post(CODE, {"code": app.code(), "trust": "yes"})).to == "/operator"
    await asha.surfer.get("/operator/networks")
    await asha.surfer.post("/operator/logout")
    await app.wait()
    assert (await asha.log_in()).to == "/operator", "no code to log in"
    await juma.propose(payment, "completed")
    proposal = proposal_on(await asha.look(payment))
    asked = await asha.decide("approve", payment, proposal)
    assert (asked.status, 'name="confirm_code"' in asked.text) == (403, True)
    assert await operator_pages.status(payment) is Status.PROCESSING
    assert (await asha.surfer.post("/operator/account/second-factor/codes")).status == 403
    proof = {
        "proposal": proposal,
        "seen": seen_on(await asha.look(payment)),
        "confirm_password": PASSWORD,
        "confirm_code": app.code(),
    }
    await asha.surfer.post(f"/operator/cases/{payment.reference}/approve", proof)
    assert await operator_pages.status(payment) is not Status.PROCESSING


async def test_the_same_code_at_once_logs_in_once(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.hire("asha")
    app = await app_of(operator_pages, asha)
    browsers = [Operator(asha.name, "", (await operator_pages.browser()).surfer) for _ in range(3)]
    for each in browsers:
        await each.log_in()
    code = app.code()
    seen = await asyncio.gather(*(each.surfer.post(CODE, {"code": code}) for each in browsers))
    assert sorted(each.status for each in seen) == [303, 400, 400]


async def test_a_log_in_that_waits_on_one_site_is_worth_nothing_on_the_other(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.hire("asha")
    app = await app_of(operator_pages, asha)
    cookie = (await asha.log_in()).cookies["malipo_operator_login"].partition(";")[0].partition("=")[2]
    async with surfing(operator_pages.running.url) as surfer:
        seen = await surfer.post(
            "/dashboard/login/code", {"code": app.code()}, headers={"Cookie": f"malipo_login={cookie}"}
        )
    assert (seen.to, "malipo_session" in seen.cookies) == ("/dashboard/login", False)


async def test_sessions_are_listed_and_ended(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    elsewhere = [Operator(asha.name, "", (await operator_pages.browser()).surfer) for _ in range(3)]
    for each in elsewhere:
        each.surfer.headers["User-Agent"] = "Mozilla/5.0 (Windows NT 10.0) Gecko Firefox/120"
        await each.log_in()
    juma = await operator_pages.operator("juma")
    seen = await asha.surfer.get("/operator/account")
    assert seen.words.count("Firefox on Windows") >= 3
    assert seen.words.count("Here") == 1
    assert seen.words.count("Last seen") == 4
    ends = sorted(
        {part.partition('"')[0] for part in seen.text.split('action="/operator/account/sessions/')[1:]} - {"end"}
    )
    assert len(ends) == 3
    assert (await juma.surfer.post(f"/operator/account/sessions/{ends[0]}")).status == 404, "not anothers'"
    assert (await asha.surfer.post(f"/operator/account/sessions/{ends[0]}")).status == 303
    assert [(await each.surfer.get("/operator")).status for each in elsewhere].count(200) == 2
    assert (await asha.surfer.post("/operator/account/sessions/end")).status == 303
    assert [(await each.surfer.get("/operator")).status for each in elsewhere].count(200) == 0
    assert (await asha.surfer.get("/operator")).status == 200


async def test_a_log_in_from_a_new_place_is_reported(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    thief = Operator(asha.name, "", (await operator_pages.browser()).surfer)
    await thief.log_in()
    assert "Was this you?" in (await asha.surfer.get("/operator/ledger")).words
    assert "Was this you?" not in (await thief.surfer.get("/operator/ledger")).words


async def test_it_is_reset_at_the_command_line(operator_pages: OperatorPages, database_url: str) -> None:
    asha = await operator_pages.hire("asha")
    app = await app_of(operator_pages, asha)
    await asha.log_in()
    await asha.surfer.post(CODE, {"code": app.code()})
    juma = await operator_pages.hire("juma")
    session = session_of(database_url, juma.name)
    for expected in (0, 2):
        command = ("operators", "reset-second-factor", asha.name)
        done = await malipo(*command, database_url=database_url, operator_session=session)
        assert done.code == expected, done.err
    assert (await asha.surfer.get("/operator")).status == 303, "the session has ended"
    assert (await asha.log_in()).to == "/operator"
    async with operator_pages.service.queries.database.read() as connection:
        found = await audit_log.find(connection, limit=50)
    assert next(each.details for each in found if each.action == "second_factor.reset") == {"account": asha.name}
