"""/merchant: people log in, stay in, and are out at once when they must be."""

import asyncio
import json
import secrets
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

import aiohttp
import pytest

from malipo import clock
from malipo.accounts.passwords import Passwords
from malipo.db import Database
from malipo.merchants import manage_people, onboard
from malipo.merchants.password_links import make_link
from malipo.merchants.roles import Role
from malipo.merchants.store import people
from tests.cheap_hash import PASSWORD, cheap_hash
from tests.conftest import NOBODY, Answer, Client, Merchant, Running


@dataclass
class Door:
    """The live service, and ways to come in."""

    client: Client
    database: Database
    merchant: Merchant
    tag: str

    def own(self, email: str) -> str:
        """The email as only this test has it: an email has one account in the whole service."""
        return email.replace("@", f"+{self.tag}@")

    async def add(
        self, email: str, role: Role = Role.OWNER, merchant: Merchant | None = None, *, password_hash: str | None = None
    ) -> str:
        async with self.database.begin() as tx:
            person = await manage_people.add_person(
                tx,
                (merchant or self.merchant).id,
                email=self.own(email),
                name="",
                role=role,
                actor=NOBODY,
                now=clock.now(),
            )
            await people.set_password(tx, person.id, password_hash or cheap_hash())
        return person.id

    async def log_in(self, email: str, password: str = PASSWORD) -> Answer:
        return await self.client("POST", "/merchant/auth/login", {"email": self.own(email), "password": password})

    async def token(self, email: str) -> str:
        answer = await self.log_in(email)
        assert answer.status == 200, answer.body
        return str(answer.body["token"])

    async def with_token(self, token: str, method: str, path: str, body: object = None) -> Answer:
        return await self.client(method, path, body, headers={"Authorization": f"Bearer {token}"})


@pytest.fixture
async def door(running: Running, database: Database, merchant: Merchant) -> AsyncIterator[Door]:
    async with database.begin() as tx:
        await tx.execute("DELETE FROM login_attempts")
    async with aiohttp.ClientSession() as http:
        yield Door(Client(http, running.url, None), database, merchant, secrets.token_hex(6))


async def test_log_in_gives_a_token_for_an_hour_and_a_refresh_token(door: Door) -> None:
    await door.add("asha@example.com")
    answer = await door.log_in(" Asha@Example.com ")
    assert answer.status == 200
    assert set(answer.body) == {"success", "token", "refreshToken", "expiresIn"}
    assert answer.body["expiresIn"] == 3600
    assert (await door.with_token(answer.body["token"], "GET", "/merchant/api-keys")).status == 200


async def test_a_wrong_password_and_an_unknown_email_look_the_same(door: Door) -> None:
    await door.add("asha@example.com")
    wrong, unknown = await door.log_in("asha@example.com", "not it"), await door.log_in("juma@example.com", "not it")
    assert (wrong.status, wrong.code, wrong.body) == (unknown.status, unknown.code, unknown.body)
    assert (wrong.status, wrong.code) == (401, "invalid_credentials")


async def test_guessing_is_throttled_also_when_all_guesses_come_at_once(door: Door) -> None:
    # While one is checked, which takes as long as it does for a person, the others come.
    await door.add("asha@example.com", password_hash=await Passwords().hash(PASSWORD))
    answers = await asyncio.gather(*(door.log_in("asha@example.com", f"guess {n}") for n in range(20)))
    assert sorted(answer.status for answer in answers) == [401] * 5 + [429] * 15
    refused = next(answer for answer in answers if answer.status == 429)
    assert refused.code == "too_many_attempts"
    assert 0 < int(refused.headers["Retry-After"]) <= 900
    assert (await door.log_in("asha@example.com")).status == 429, "not even with the right password"


async def test_a_right_password_forgets_the_wrong_ones(door: Door) -> None:
    await door.add("asha@example.com")
    for _ in range(3):
        for n in range(4):
            assert (await door.log_in("asha@example.com", f"guess {n}")).status == 401
        assert (await door.log_in("asha@example.com")).status == 200


async def test_good_log_ins_are_no_attempts_however_many(door: Door) -> None:
    await door.add("asha@example.com")
    for _ in range(55):
        assert (await door.log_in("asha@example.com")).status == 200


async def test_a_refresh_token_works_once_and_its_reuse_ends_the_session(door: Door) -> None:
    await door.add("asha@example.com")
    first = (await door.log_in("asha@example.com")).body
    second = await door.client("POST", "/merchant/auth/refresh", {"refreshToken": first["refreshToken"]})
    assert second.status == 200
    assert second.body["refreshToken"] != first["refreshToken"]
    assert (await door.with_token(second.body["token"], "GET", "/merchant/people")).status == 200

    stolen = await door.client("POST", "/merchant/auth/refresh", {"refreshToken": first["refreshToken"]})
    assert (stolen.status, stolen.code) == (401, "invalid_token")
    assert (await door.with_token(second.body["token"], "GET", "/merchant/people")).status == 401
    later = await door.client("POST", "/merchant/auth/refresh", {"refreshToken": second.body["refreshToken"]})
    assert later.status == 401


async def test_a_refresh_token_sent_ten_times_at_once_is_granted_at_most_once(door: Door) -> None:
    await door.add("asha@example.com")
    token = (await door.log_in("asha@example.com")).body["refreshToken"]
    answers = await asyncio.gather(
        *(door.client("POST", "/merchant/auth/refresh", {"refreshToken": token}) for _ in range(10))
    )
    assert [answer.status for answer in answers].count(200) == 1


async def test_log_out_ends_the_session_at_once(door: Door) -> None:
    await door.add("asha@example.com")
    token, other = await door.token("asha@example.com"), await door.token("asha@example.com")
    assert (await door.with_token(token, "POST", "/merchant/auth/logout")).status == 200
    assert (await door.with_token(token, "GET", "/merchant/people")).status == 401
    assert (await door.with_token(other, "GET", "/merchant/people")).status == 200, "another session goes on"


async def test_a_changed_password_ends_every_session_and_is_the_new_one(door: Door) -> None:
    await door.add("asha@example.com")
    token, other = await door.token("asha@example.com"), await door.token("asha@example.com")
    body = {"currentPassword": PASSWORD, "newPassword": "mvua ya vuli 12"}
    assert (await door.with_token(token, "POST", "/merchant/auth/password", body)).status == 200
    for each in (token, other):
        assert (await door.with_token(each, "GET", "/merchant/people")).status == 401
    assert (await door.log_in("asha@example.com")).status == 401
    assert (await door.log_in("asha@example.com", "mvua ya vuli 12")).status == 200


@pytest.mark.parametrize(
    ("current", "new", "code"),
    [
        ("wrong", "mvua ya vuli 12", "password_wrong"),
        (PASSWORD, "short", "password_weak"),
        (PASSWORD, "aaaaaaaaaaaaaaa", "password_weak"),
        (PASSWORD, "asha@example.com", "password_weak"),
    ],
)
async def test_a_bad_new_password_changes_nothing(door: Door, current: str, new: str, code: str) -> None:
    await door.add("asha@example.com")
    token = await door.token("asha@example.com")
    answer = await door.with_token(
        token, "POST", "/merchant/auth/password", {"currentPassword": current, "newPassword": door.own(new)}
    )
    assert (answer.status, answer.code) == (400, code)
    assert (await door.with_token(token, "GET", "/merchant/people")).status == 200


async def test_a_link_lets_a_person_choose_a_password_once(door: Door) -> None:
    await door.add("asha@example.com")
    async with door.database.begin() as tx:
        person = await people.find_by_email(tx, door.own("asha@example.com"))
        assert person is not None
        old = await make_link(tx, person, actor=NOBODY, now=clock.now())
        link = await make_link(tx, person, actor=NOBODY, now=clock.now())
        expired = await make_link(tx, person, actor=NOBODY, now=clock.now() - timedelta(days=2))
        good = await make_link(tx, person, actor=NOBODY, now=clock.now())

    async def reset(token: str, password: str) -> Answer:
        return await door.client("POST", "/merchant/auth/reset", {"token": token, "password": password})

    for bad in (old, link, expired, "mpl_made_up"):
        answer = await reset(bad, "mvua ya vuli 12")
        assert (answer.status, answer.code) == (400, "link_invalid")
    assert (await reset(good, "short")).code == "password_weak", "and the link is not used up"
    assert (await reset(good, "mvua ya vuli 12")).status == 200
    assert (await reset(good, "mvua ya masika 5")).code == "link_invalid"
    assert (await door.log_in("asha@example.com", "mvua ya vuli 12")).status == 200


async def test_a_token_that_is_not_ours_opens_nothing(door: Door) -> None:
    await door.add("asha@example.com")
    token = await door.token("asha@example.com")
    head, body, signature = token.split(".")
    none = urlsafe_b64encode(json.dumps({"alg": "none", "typ": "JWT"}).encode()).decode().rstrip("=")
    for bad in ("", "x", f"{head}.{body}.", f"{none}.{body}.", f"{head}.{body}.{signature[::-1]}", token + "x"):
        answer = await door.with_token(bad, "GET", "/merchant/people")
        assert (answer.status, answer.code) == (401, "invalid_token")


async def test_an_expired_session_or_token_opens_nothing(door: Door) -> None:
    await door.add("asha@example.com")
    token = await door.token("asha@example.com")
    async with door.database.begin() as tx:
        await tx.execute("UPDATE sessions SET expires_at = now() - interval '1 second' WHERE ended_at IS NULL")
    assert (await door.with_token(token, "GET", "/merchant/people")).status == 401


async def test_deactivation_ends_sessions_and_nobody_logs_in(door: Door) -> None:
    await door.add("asha@example.com")
    token = await door.token("asha@example.com")
    async with door.database.begin() as tx:
        await onboard.set_active(tx, door.merchant.id, is_active=False, actor=NOBODY, now=clock.now())
    assert (await door.with_token(token, "GET", "/merchant/people")).status == 401
    answer = await door.log_in("asha@example.com")
    assert (answer.status, answer.code) == (403, "merchant_inactive")
    async with door.database.begin() as tx:
        await onboard.set_active(tx, door.merchant.id, is_active=True, actor=NOBODY, now=clock.now())
    assert (await door.with_token(token, "GET", "/merchant/people")).status == 401, "an ended session stays ended"


async def test_a_key_is_made_shown_once_used_and_revoked(door: Door) -> None:
    await door.add("asha@example.com")
    token = await door.token("asha@example.com")
    body = {"name": "till", "permissions": ["wallet.read"], "environment": "test", "expiresAt": "2099-01-01"}
    made = await door.with_token(token, "POST", "/merchant/api-keys", body)
    assert made.status == 201
    assert set(made.body) == {"success", "apiKey", "message"}
    key = made.body["apiKey"]
    assert set(key) == {
        "id", "name", "key", "prefix", "last4", "permissions", "environment", "createdAt", "expiresAt",
    }  # fmt: skip
    assert key["key"].startswith("mlp_test_")
    assert key["key"].endswith(key["last4"])
    assert (await door.client.as_(key["key"])("GET", "/v1/wallet")).status == 200
    assert (await door.client.as_(key["key"])("GET", "/v1/payments")).status == 403

    listed = await door.with_token(token, "GET", "/merchant/api-keys")
    assert key["id"] in [each["id"] for each in listed.body["apiKeys"]]
    assert key["key"] not in json.dumps(listed.body)
    assert (await door.with_token(token, "DELETE", f"/merchant/api-keys/{key['id']}")).status == 200
    assert (await door.client.as_(key["key"])("GET", "/v1/wallet")).status == 401
    assert (await door.with_token(token, "DELETE", f"/merchant/api-keys/{key['id']}")).status == 404


async def test_a_merchant_has_at_most_20_keys_also_when_all_are_made_at_once(door: Door) -> None:
    await door.add("asha@example.com")
    token = await door.token("asha@example.com")
    body = {"name": "till", "permissions": ["wallet.read"]}
    answers = await asyncio.gather(*(door.with_token(token, "POST", "/merchant/api-keys", body) for _ in range(25)))
    assert [answer.status for answer in answers].count(201) == 19, "the test's own key is the first"
    assert {answer.code for answer in answers if answer.status != 201} == {"too_many_keys"}


async def test_all_bad_fields_of_a_key_are_named_at_once(door: Door) -> None:
    await door.add("asha@example.com")
    token = await door.token("asha@example.com")
    body = {"name": "", "permissions": [], "environment": "prod", "expiresAt": "2001-01-01", "ipAllowlist": ["x"]}
    answer = await door.with_token(token, "POST", "/merchant/api-keys", body)
    assert answer.status == 400
    assert set(answer.body["details"]) == {"name", "permissions", "environment", "expiresAt", "ipAllowlist"}


async def test_people_have_roles_and_a_merchant_keeps_an_owner(door: Door) -> None:
    owner_id = await door.add("asha@example.com")
    token = await door.token("asha@example.com")
    added = await door.with_token(
        token, "POST", "/merchant/people", {"email": door.own("juma@example.com"), "role": "viewer"}
    )
    assert added.status == 201
    taken = await door.with_token(
        token, "POST", "/merchant/people", {"email": door.own("JUMA@example.com"), "role": "staff"}
    )
    assert (taken.status, taken.code) == (409, "email_taken")
    reset = {"token": added.body["passwordToken"], "password": PASSWORD}
    assert (await door.client("POST", "/merchant/auth/reset", reset)).status == 200
    viewer = await door.token("juma@example.com")
    body = {"name": "x", "permissions": ["wallet.read"]}
    refused = await door.with_token(viewer, "POST", "/merchant/api-keys", body)
    assert (refused.status, refused.code) == (403, "role_insufficient")

    for method, sent in (("PATCH", {"role": "staff"}), ("DELETE", None)):
        last = await door.with_token(token, method, f"/merchant/people/{owner_id}", sent)
        assert (last.status, last.code) == (409, "last_owner")
    juma = added.body["person"]["id"]
    promoted = await door.with_token(token, "PATCH", f"/merchant/people/{juma}", {"role": "owner"})
    assert promoted.body["person"]["role"] == "owner"
    assert (await door.with_token(viewer, "POST", "/merchant/api-keys", body)).status == 201, "at once"
    assert (await door.with_token(token, "DELETE", f"/merchant/people/{juma}")).status == 200
    assert (await door.with_token(viewer, "GET", "/merchant/people")).status == 401, "at once"
