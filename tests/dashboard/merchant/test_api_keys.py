"""/dashboard/keys: a key is made in words, shown once, and taken back after a question."""

import itertools
import re
import secrets
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network

import pytest

from malipo import clock
from malipo.dashboard.merchant.api_keys import PRESETS
from malipo.db import Database
from malipo.merchants.api_keys import MOST_PER_MERCHANT, PAYING, Permission, StoredKey
from malipo.merchants.roles import Role
from malipo.merchants.store import api_keys
from tests.conftest import Merchant, Running, make_merchant
from tests.dashboard.page_client import Seen, Surfer, add_person, surfing

PATH = "/dashboard/keys"
GOOD = [("name", "Web shop"), ("permissions", "payments.read"), ("permissions", "wallet.read"), ("environment", "live")]
_KEY = re.compile(r"mlp_(?:live|test)_[0-9a-f]{40}")
_numbers = itertools.count(1)


@pytest.fixture
async def shop(database: Database) -> Merchant:
    return await make_merchant(database)


@pytest.fixture
async def surfer(running: Running) -> AsyncIterator[Surfer]:
    async with surfing(running.url, seen_from=f"10.41.0.{next(_numbers)}") as surfer:
        yield surfer


@pytest.fixture
async def owner(surfer: Surfer, database: Database, shop: Merchant) -> Surfer:
    return await logged_in(surfer, database, shop.id)


async def logged_in(surfer: Surfer, database: Database, merchant_id: str, role: Role = Role.OWNER) -> Surfer:
    person = await add_person(database, merchant_id, f"{role}+{secrets.token_hex(6)}@example.com", role)
    assert (await surfer.log_in(person.email)).status == 303
    return surfer


async def stored(database: Database, shop: Merchant) -> list[StoredKey]:
    async with database.read() as connection:
        return await api_keys.find_all(connection, shop.id)


def key_in(seen: Seen) -> str:
    found = set(_KEY.findall(seen.text))
    assert len(found) == 1
    return str(found.pop())


async def status_with(surfer: Surfer, key: str) -> int:
    async with surfer.http.get(f"{surfer.url}/v1/wallet", headers={"x-api-key": key}) as answer:
        return answer.status


async def test_a_new_key_works_and_is_shown_this_once(owner: Surfer) -> None:
    made = await owner.post(PATH, GOOD)

    assert made.status == 201
    key = key_in(made)
    assert "it is shown only this once" in made.words
    assert await status_with(owner, key) == 200
    listed = await owner.get(PATH)
    assert f"mlp_live_…{key[-4:]}" in listed.words
    assert _KEY.search(listed.text) is None


async def test_what_was_chosen_is_what_the_key_may_do(owner: Surfer, database: Database, shop: Merchant) -> None:
    fields = [
        ("name", " Till 4 "),
        ("permissions", "payments.create"),
        ("environment", "test"),
        ("expires", "2031-03-01"),
        ("addresses", "196.41.0.10\r\n196.41.32.0/24, 2c0f:f248::/32"),
    ]

    assert (await owner.post(PATH, fields)).status == 201

    key = (await stored(database, shop))[-1]
    assert (key.name, key.prefix, key.permissions) == ("Till 4", "mlp_test_", (Permission.PAYMENTS_CREATE,))
    assert key.expires_at == datetime(2031, 3, 1, 20, 59, 59, tzinfo=UTC)  # the day's end in Dar es Salaam
    assert key.ip_allowlist == tuple(map(ip_network, ("196.41.0.10/32", "196.41.32.0/24", "2c0f:f248::/32")))
    listed = (await owner.get(PATH)).words
    assert "Only from 196.41.0.10, 196.41.32.0/24, 2c0f:f248::/32" in listed
    assert "Until 1 Mar 2031, 23:59:59" in listed


async def test_a_key_may_end_today(owner: Surfer, database: Database, shop: Merchant) -> None:
    today = (clock.now() + timedelta(hours=3)).date()

    assert (await owner.post(PATH, [*GOOD, ("expires", today.isoformat())])).status == 201


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("name", "", "Please fill this in."),
        ("name", "x" * 101, "At most 100 characters."),
        ("permissions", "", "Choose at least one permission."),
        ("permissions", "everything", "Choose at least one permission."),
        ("expires", "2020-01-01", "This is not a date, or not one that fits here."),
        ("expires", "tomorrow", "This is not a date, or not one that fits here."),
        ("expires", "0001-01-01", "This is not a date, or not one that fits here."),
        ("addresses", "196.41.0.10 shop.example.com", "One of these is not an IP address or network"),
        ("addresses", "196.41.0.10/16", "One of these is not an IP address or network"),
    ],
)
async def test_a_mistake_is_said_beside_its_field_and_what_was_typed_stays(
    owner: Surfer, database: Database, shop: Merchant, name: str, value: str, said: str
) -> None:
    fields = [each for each in GOOD if each[0] != name] + ([(name, value)] if value else [])

    seen = await owner.post(PATH, fields)

    assert seen.status == 400
    assert said in seen.words
    assert f'id="field-{name}-wrong"' in seen.text
    assert len(re.findall(r'id="field-\w+-wrong"', seen.text)) == 1
    if name != "name":
        assert 'value="Web shop"' in seen.text
    if name != "permissions":
        assert 'value="wallet.read" checked' in seen.text
        assert 'value="payments.create" checked' not in seen.text
    assert len(await stored(database, shop)) == 1


async def test_revoking_asks_first_and_then_the_key_is_refused(
    owner: Surfer, database: Database, shop: Merchant
) -> None:
    (key,) = await stored(database, shop)
    path = f"{PATH}/{key.id}/revoke"

    asked = await owner.get(path)
    assert asked.status == 200
    assert f"{key.prefix}…{key.last4}" in asked.words
    assert await status_with(owner, shop.key) == 200

    done = await owner.post(path)

    assert (done.status, done.to) == (303, PATH)
    assert await status_with(owner, shop.key) == 401
    assert "No API keys yet" in (await owner.get(PATH)).words
    assert (await owner.get(path)).status == 404


async def test_a_full_ring_of_keys_takes_no_more_and_says_so(owner: Surfer, database: Database, shop: Merchant) -> None:
    for _ in range(MOST_PER_MERCHANT - 1):
        assert (await owner.post(PATH, GOOD)).status == 201

    refused = await owner.post(PATH, GOOD)

    assert refused.status == 409
    assert "Revoke one first." in refused.words
    assert 'value="Web shop"' in refused.text
    assert len(await stored(database, shop)) == MOST_PER_MERCHANT
    assert f'href="{PATH}/new"' not in (await owner.get(PATH)).text


async def test_an_expired_key_says_that_it_is(owner: Surfer, database: Database, shop: Merchant) -> None:
    async with database.begin() as tx:
        await tx.execute("UPDATE api_keys SET expires_at = now() - interval '1 day' WHERE merchant_id = $1", shop.id)

    assert "Expired" in (await owner.get(PATH)).words


async def test_a_name_is_only_ever_text(owner: Surfer) -> None:
    bad = "<script>alert(1)</script>{{7*7}}{name}"
    pages = [await owner.post(PATH, [("name", bad), *GOOD[1:]]), await owner.get(PATH)]
    id_ = re.findall(rf"{PATH}/(key_\w+)/revoke", pages[1].text)[0]
    pages.append(await owner.get(f"{PATH}/{id_}/revoke"))

    for seen in pages:
        assert bad in seen.words.replace("&lt;", "<") or bad in seen.text.replace("&lt;", "<").replace("&gt;", ">")
        assert "<script>" not in seen.text


@pytest.mark.parametrize("role", [Role.STAFF, Role.VIEWER])
async def test_whoever_does_not_rule_sees_keys_and_no_buttons(
    surfer: Surfer, database: Database, shop: Merchant, role: Role
) -> None:
    await logged_in(surfer, database, shop.id, role)

    seen = await surfer.get(PATH)

    assert seen.status == 200
    assert f"…{shop.key[-4:]}" in seen.words
    assert "/revoke" not in seen.text
    assert f"{PATH}/new" not in seen.text


async def test_limits_for_payouts_are_typed_shown_and_checked(
    owner: Surfer, database: Database, shop: Merchant
) -> None:
    wrong = await owner.post(PATH, [*GOOD, ("payoutLimit", "a lot"), ("dailyPayoutLimit", "100")])
    assert wrong.status == 400
    assert "Type a whole number of shillings" in wrong.words
    assert "The least is TZS 500." in wrong.words
    paying = [*GOOD, ("permissions", "payments.disburse")]
    made = await owner.post(PATH, [*paying, ("payoutLimit", "50,000"), ("dailyPayoutLimit", "TZS 500,000")])
    assert made.status == 201
    for seen in (made, await owner.get(PATH)):
        assert "At most TZS 50,000 for one payout; At most TZS 500,000 for all payouts of a day" in seen.words
    key = (await stored(database, shop))[-1]
    assert (key.payout_limit, key.daily_payout_limit) == (50_000, 500_000)


# Changing a key


def fields_of(seen: Seen) -> list[tuple[str, str]]:
    """What a browser would send of the form, as it was served."""
    texts = re.findall(r'name="(name|seen|payoutLimit|dailyPayoutLimit)"[^>]* value="([^"]*)"', seen.text)
    return texts + re.findall(r'name="(permissions)" value="([^"]*)" checked', seen.text)


async def test_a_key_is_changed_and_the_next_request_is_held_against_it(
    owner: Surfer, database: Database, shop: Merchant
) -> None:
    text = key_in(await owner.post(PATH, [*GOOD, ("permissions", "payments.create"), ("payoutLimit", "50,000")]))
    path = f"{PATH}/{(await stored(database, shop))[-1].id}/edit"
    asked = await owner.get(path)
    offered = re.findall(r'name="permissions" value="([^"]*)"', asked.text)
    assert offered == ["payments.read", "payments.collect", "payments.disburse", "payments.create", "wallet.read"]
    fields = [
        each for each in fields_of(asked) if each not in (("permissions", "wallet.read"), ("payoutLimit", "50,000"))
    ]

    done = await owner.post(path, [*fields, ("payoutLimit", "")])

    assert (done.status, done.to) == (303, PATH)
    key = (await stored(database, shop))[-1]
    assert (key.name, key.payout_limit) == ("Web shop", None)
    assert set(key.permissions) == {"payments.read", "payments.create"}
    assert await status_with(owner, text) == 403  # the wallet


async def test_a_mistake_in_a_change_is_said_beside_its_field(
    owner: Surfer, database: Database, shop: Merchant
) -> None:
    await owner.post(PATH, GOOD)
    key = (await stored(database, shop))[-1]
    path = f"{PATH}/{key.id}/edit"
    fields = dict(fields_of(await owner.get(path)))

    wrong = await owner.post(path, [("name", ""), ("seen", fields["seen"]), ("payoutLimit", "100")])

    assert wrong.status == 400
    assert set(re.findall(r'id="field-(\w+)-wrong"', wrong.text)) == {"name", "permissions", "payoutLimit"}
    grown = await owner.post(path, [*GOOD, ("permissions", "payments.create"), ("seen", fields["seen"])])
    assert grown.status == 400
    assert "A key can only lose permissions." in grown.words
    assert (await stored(database, shop))[-1] == key


async def test_of_two_who_change_a_key_the_second_sees_what_the_first_has_saved(
    owner: Surfer, database: Database, shop: Merchant
) -> None:
    await owner.post(PATH, GOOD)
    path = f"{PATH}/{(await stored(database, shop))[-1].id}/edit"
    fields = [each for each in fields_of(await owner.get(path)) if each[0] != "name"]
    assert (await owner.post(path, [*fields, ("name", "Till 1")])).status == 303

    refused = await owner.post(path, [*fields, ("name", "Till 2")])

    assert refused.status == 409
    assert "Another person has changed this key" in refused.words
    assert 'value="Till 1"' in refused.text
    again = [each for each in fields_of(refused) if each[0] != "name"]
    assert (await owner.post(path, [*again, ("name", "Till 2")])).status == 303
    assert (await stored(database, shop))[-1].name == "Till 2"


async def test_a_key_that_was_revoked_meanwhile_is_said_to_be(
    owner: Surfer, database: Database, shop: Merchant
) -> None:
    await owner.post(PATH, GOOD)
    key = (await stored(database, shop))[-1]
    fields = fields_of(await owner.get(f"{PATH}/{key.id}/edit"))
    await owner.post(f"{PATH}/{key.id}/revoke")

    done = await owner.post(f"{PATH}/{key.id}/edit", fields)

    assert (done.status, done.to) == (303, PATH)
    assert "That key was revoked meanwhile." in (await owner.get(PATH)).words
    assert (await owner.get(f"{PATH}/{key.id}/edit")).status == 404


async def test_the_page_says_what_a_test_key_is(owner: Surfer) -> None:
    for path in (PATH, f"{PATH}/new"):
        words = (await owner.get(path)).words
        assert "A key with “test” in it moves real money like any other" in words
        assert "a service with simulated networks (a sandbox)" in words


async def test_a_key_is_made_for_what_it_is_for(owner: Surfer, database: Database, shop: Merchant) -> None:
    """A web shop's key cannot spend the wallet; what was ticked before another use was chosen does not count."""
    for preset, may in PRESETS.items():
        made = await owner.post(
            PATH,
            [
                *(("name", preset), ("preset", preset), ("permissions", "payments.disburse"), ("environment", "live")),
                ("payoutLimit", "" if preset == "payroll" else "typed before another use was chosen"),
            ],
        )
        assert made.status == 201, preset
        assert (PAYING.isdisjoint(may)) is (preset != "payroll")
        key = (await stored(database, shop))[-1]
        assert set(key.permissions) == set(may)
    await owner.post(PATH, [("name", "All"), *(("permissions", each) for each in Permission), ("environment", "live")])
    listed = (await owner.get(PATH)).words
    assert listed.count("Cannot pay out") == 2
    assert "Everything" in listed
    asked = await owner.get(f"{PATH}/new")
    assert 'value="payments.create"' not in asked.text, "it is the two others in one"
    assert re.search(r'value="web_shop" checked', asked.text)
