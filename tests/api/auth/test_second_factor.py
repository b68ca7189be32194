"""POST /merchant/auth/login of an account with a second factor; without one it is as it was (test_login.py)."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass

import aiohttp
import pytest

from malipo import clock
from malipo.db import Database
from malipo.merchants import manage_people
from malipo.merchants.people import Person
from malipo.merchants.roles import Role
from malipo.merchants.store import merchants, people
from tests.authenticator_app import AuthenticatorApp, enrolled
from tests.cheap_hash import PASSWORD, cheap_hash
from tests.conftest import NOBODY, Answer, Client, Merchant, Running
from tests.journeys.webhook_stack import SECRET_KEY


@dataclass
class Program:
    client: Client
    database: Database
    person: Person

    async def log_in(self, **more: object) -> Answer:
        body = {"email": self.person.email, "password": PASSWORD} | more
        return await self.client("POST", "/merchant/auth/login", body)

    async def with_token(self, token: str, method: str, path: str, body: object = None) -> Answer:
        return await self.client(method, path, body, headers={"Authorization": f"Bearer {token}"})


@pytest.fixture
async def program(running: Running, database: Database, merchant: Merchant) -> AsyncIterator[Program]:
    now = clock.now()
    async with database.begin() as tx:
        await tx.execute("DELETE FROM login_attempts")
        person = await manage_people.add_person(
            tx,
            merchant.id,
            email=f"asha+{secrets.token_hex(6)}@example.com",
            name="",
            role=Role.OWNER,
            actor=NOBODY,
            now=now,
        )
        await people.set_password(tx, person.id, cheap_hash())
    async with aiohttp.ClientSession() as http:
        yield Program(Client(http, running.url, None), database, person)


@pytest.fixture
async def app(program: Program) -> AuthenticatorApp:
    return await enrolled(program.database, program.person.id, secret_key=SECRET_KEY)


async def test_the_first_answer_asks_for_the_code_and_the_same_request_with_it_succeeds(
    program: Program, app: AuthenticatorApp
) -> None:
    asked = await program.log_in()
    assert (asked.status, asked.code, set(asked.body)) == (401, "second_factor_required", {"error"})
    assert asked.headers["WWW-Authenticate"] == "Bearer"
    granted = await program.log_in(code=app.code())
    assert granted.status == 200
    assert set(granted.body) == {"success", "token", "refreshToken", "expiresIn"}
    assert (await program.with_token(granted.body["token"], "GET", "/merchant/api-keys")).status == 200


async def test_a_code_works_once_also_when_it_comes_many_times_at_once(program: Program, app: AuthenticatorApp) -> None:
    code = app.code()
    answers = await asyncio.gather(*(program.log_in(code=code) for _ in range(4)))
    assert sorted(each.status for each in answers) == [200, 401, 401, 401]
    assert {each.code for each in answers if each.status == 401} == {"second_factor_wrong"}


async def test_a_recovery_code_works_once(program: Program, app: AuthenticatorApp) -> None:
    assert (await program.log_in(recoveryCode=app.recovery_codes[0])).status == 200
    again = await program.log_in(recoveryCode=app.recovery_codes[0])
    assert (again.status, again.code) == (401, "second_factor_wrong")


async def test_a_wrong_password_is_refused_before_any_code_is_looked_at(
    program: Program, app: AuthenticatorApp
) -> None:
    wrong = await program.log_in(password="not it at all", code=app.code())
    assert (wrong.status, wrong.code) == (401, "invalid_credentials")
    assert (await program.log_in(code=app.code())).status == 200, "the code is not used up"


async def test_guesses_are_limited(program: Program, app: AuthenticatorApp) -> None:
    for _ in range(5):
        assert (await program.log_in(code=app.wrong_code())).code == "second_factor_wrong"
    refused = await program.log_in(code=app.code())
    assert (refused.status, refused.code) == (429, "too_many_codes")
    assert 0 < int(refused.headers["Retry-After"]) <= 3600


async def test_a_code_that_is_no_text_is_a_wrong_field(program: Program) -> None:
    answer = await program.log_in(code=123456)
    assert (answer.status, answer.code) == (400, "field_invalid")


async def test_without_a_second_factor_a_code_that_is_sent_changes_nothing(program: Program) -> None:
    assert (await program.log_in(code="123456")).status == 200


async def test_where_it_is_required_a_program_is_refused_until_it_is_set_up(program: Program) -> None:
    token = (await program.log_in()).body["token"]
    async with program.database.begin() as tx:
        await merchants.set_second_factor_required(tx, program.person.merchant_id, is_required=True)
    for answer in (await program.log_in(), await program.with_token(token, "GET", "/merchant/api-keys")):
        assert (answer.status, answer.code) == (403, "second_factor_not_enrolled")
    app = await enrolled(program.database, program.person.id, secret_key=SECRET_KEY)
    assert (await program.log_in(code=app.code())).status == 200


async def test_a_confirmation_needs_the_code_too(program: Program, app: AuthenticatorApp) -> None:
    used = app.code()
    token = (await program.log_in(code=used)).body["token"]
    path = "/merchant/auth/confirm"
    asked = await program.with_token(token, "POST", path, {"password": PASSWORD})
    assert (asked.status, asked.code) == (401, "second_factor_required")
    wrong = await program.with_token(token, "POST", path, {"password": PASSWORD, "code": used})
    assert (wrong.status, wrong.code) == (401, "second_factor_wrong")
    right = await program.with_token(token, "POST", path, {"password": PASSWORD, "code": app.code(1)})
    assert right.status == 200


async def test_a_change_of_the_password_needs_the_code_too(program: Program, app: AuthenticatorApp) -> None:
    used = app.code()
    token = (await program.log_in(code=used)).body["token"]
    path, body = "/merchant/auth/password", {"currentPassword": PASSWORD, "newPassword": "mvua ya vuli 12"}
    asked = await program.with_token(token, "POST", path, body)
    assert (asked.status, asked.code) == (401, "second_factor_required")
    wrong = await program.with_token(token, "POST", path, {**body, "code": used})
    assert (wrong.status, wrong.code) == (401, "second_factor_wrong")
    weak = await program.with_token(token, "POST", path, {**body, "newPassword": "short", "code": app.code(1)})
    assert (weak.status, weak.code) == (400, "password_weak")
    right = await program.with_token(token, "POST", path, {**body, "code": app.code(1)})
    assert right.status == 200, "a password that is too weak does not use the code up"
    assert (await program.log_in(password="mvua ya vuli 12", recoveryCode=app.recovery_codes[0])).status == 200
