"""A cookie alone is not enough for a sensitive act: the password must have been typed a short time ago."""

import re
import secrets
from html import unescape

import pytest

from malipo.accounts.reauthentication import SensitiveAct
from malipo.dashboard.merchant.routes import PAGES
from malipo.merchants.roles import Role
from malipo.merchants.store import api_keys, people
from tests.dashboard.business import Business
from tests.dashboard.business import business as business
from tests.dashboard.page_client import PASSWORD, Seen, add_person

_HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)">')
KEY = [("name", "Till 7"), ("permissions", "payments.read"), ("permissions", "payments.create")]

# Which pages are which act, written by hand.
ACTS = {
    ("POST", "/dashboard/keys"): SensitiveAct.API_KEYS,
    ("GET", "/dashboard/keys/new"): SensitiveAct.API_KEYS,
    ("GET", "/dashboard/keys/{id}/edit"): SensitiveAct.API_KEYS,
    ("POST", "/dashboard/keys/{id}/edit"): SensitiveAct.API_KEYS,
    ("GET", "/dashboard/keys/{id}/revoke"): SensitiveAct.API_KEYS,
    ("POST", "/dashboard/keys/{id}/revoke"): SensitiveAct.API_KEYS,
    ("POST", "/dashboard/settings/payments/idempotency-key"): SensitiveAct.API_KEYS,
    ("GET", "/dashboard/batches/{id}/approve"): SensitiveAct.APPROVAL,
    ("POST", "/dashboard/batches/{id}/approve"): SensitiveAct.APPROVAL,
    ("GET", "/dashboard/bank-accounts/new"): SensitiveAct.BANK_ACCOUNT,
    ("POST", "/dashboard/bank-accounts/new"): SensitiveAct.BANK_ACCOUNT,
    ("POST", "/dashboard/bank-accounts/{id}/confirm"): SensitiveAct.BANK_ACCOUNT,
    ("POST", "/dashboard/settlements/schedule"): SensitiveAct.SETTLEMENT,
    ("POST", "/dashboard/settings/approval"): SensitiveAct.PEOPLE,
    ("POST", "/dashboard/settings/approval/confirm"): SensitiveAct.APPROVAL,
    ("POST", "/dashboard/settings/vouch"): SensitiveAct.APPROVAL,
    ("POST", "/dashboard/settings/people/{id}/approval"): SensitiveAct.PEOPLE,
    ("POST", "/dashboard/settings/profile"): SensitiveAct.PUBLIC_PROFILE,
    ("POST", "/dashboard/settings/people"): SensitiveAct.PEOPLE,
    ("GET", "/dashboard/settings/people/new"): SensitiveAct.PEOPLE,
    ("POST", "/dashboard/settings/people/{id}/role"): SensitiveAct.PEOPLE,
    ("POST", "/dashboard/settings/people/{id}/link"): SensitiveAct.PASSWORD_LINK,
    ("POST", "/dashboard/settings/people/{id}/mail"): SensitiveAct.PASSWORD_LINK,
    ("GET", "/dashboard/settings/people/{id}/remove"): SensitiveAct.PEOPLE,
    ("POST", "/dashboard/settings/people/{id}/remove"): SensitiveAct.PEOPLE,
    ("POST", "/dashboard/settings/people/{id}/second-factor"): SensitiveAct.PEOPLE,
    ("POST", "/dashboard/settings/people/second-factor"): SensitiveAct.PEOPLE,
    ("POST", "/dashboard/settings/second-factor"): SensitiveAct.SECOND_FACTOR,
    ("POST", "/dashboard/settings/second-factor/codes"): SensitiveAct.SECOND_FACTOR,
}


async def later(business: Business, interval: str, *columns: str) -> None:
    """So long ago the password was typed, or the session was used."""
    changes = ", ".join(f"{each} = {each} - interval '{interval}'" for each in columns or ("confirmed_at",))
    async with business.database.begin() as tx:
        await tx.execute(f"UPDATE sessions SET {changes} WHERE person_id = $1", business.owner.id)


@pytest.fixture
async def stale(business: Business) -> Business:
    """The owner is logged in; the password was typed eleven minutes ago."""
    await business.surfer.log_in(business.owner.email)
    await later(business, "11 minutes")
    return business


def asks(seen: Seen) -> bool:
    return "Confirm that it is you" in seen.words and 'name="confirm_password"' in seen.text


def kept(seen: Seen) -> list[tuple[str, str]]:
    """The fields that the page which asks will send."""
    found = [(name, unescape(value)) for name, value in _HIDDEN.findall(seen.text.partition("<main")[2])]
    return [(name, value) for name, value in found if name != "token"]


async def keys(business: Business) -> set[str]:
    async with business.database.read() as connection:
        return {each.name for each in await api_keys.find_all(connection, business.merchant_id)}


def test_the_acts_are_those_of_the_table() -> None:
    assert {(page.method, page.path): page.act for page in PAGES if page.act is not None} == ACTS


async def test_every_page_of_an_act_asks(stale: Business) -> None:
    for method, path in ACTS:
        place = path.replace("{id}", stale.owner.id)
        seen = await (stale.surfer.get(place) if method == "GET" else stale.surfer.post(place))
        if method == "GET":
            assert (seen.status, seen.to) == (303, f"/dashboard/confirm?next={place}")
        else:
            assert (seen.status, asks(seen)) == (403, True), place


async def test_a_stolen_cookie_makes_no_key(stale: Business) -> None:
    seen = await stale.surfer.post("/dashboard/keys", KEY)
    assert seen.status == 403
    assert asks(seen)
    assert "<title>Error" not in seen.text, "it only asks"
    assert "Till 7" not in await keys(stale)
    wrong = await stale.surfer.post("/dashboard/keys", [*KEY, ("confirm_password", "mvua ya masika 1")])
    assert (wrong.status, "<title>Error: " in wrong.text) == (400, True)
    assert "Till 7" not in await keys(stale)


async def test_a_stolen_cookie_makes_no_password_link(stale: Business) -> None:
    seen = await stale.surfer.post(f"/dashboard/settings/people/{stale.owner.id}/link")
    assert (seen.status, "mpl_" in seen.text) == (403, False)
    assert asks(seen)


async def test_a_stolen_cookie_adds_and_changes_and_removes_nobody(stale: Business) -> None:
    email = f"mwizi+{secrets.token_hex(6)}@example.com"
    staff = await add_person(stale.database, stale.merchant_id, f"juma+{secrets.token_hex(6)}@example.com", Role.STAFF)
    for path, fields in (
        ("", {"email": email, "name": "Mwizi", "role": "owner"}),
        (f"/{staff.id}/role", {"role": "owner"}),
        (f"/{staff.id}/remove", {}),
    ):
        seen = await stale.surfer.post(f"/dashboard/settings/people{path}", fields)
        assert (seen.status, asks(seen)) == (403, True), path
    async with stale.database.read() as connection:
        assert await people.find_by_email(connection, email) is None
        assert await people.get(connection, stale.merchant_id, staff.id) == await people.find_by_email(
            connection, staff.email
        )
        assert (await people.find_by_email(connection, staff.email)).role is Role.STAFF  # type: ignore[union-attr]


async def test_a_form_is_kept_and_goes_on_with_the_password(stale: Business) -> None:
    asked = await stale.surfer.post("/dashboard/keys", [*KEY, ("addresses", '10.0.0.1\n"><b>')])
    assert kept(asked) == [*KEY, ("addresses", '10.0.0.1\n"><b>')]

    wrong = await stale.surfer.post("/dashboard/keys", [*KEY, ("confirm_password", "not this one")])
    assert (wrong.status, asks(wrong)) == (400, True)
    assert "This is not your current password." in wrong.words
    assert kept(wrong) == KEY
    assert "not this one" not in wrong.text

    done = await stale.surfer.post("/dashboard/keys", [*KEY, ("confirm_password", PASSWORD)])
    assert done.status == 201
    assert "Till 7" in await keys(stale)
    assert (await stale.surfer.post("/dashboard/keys", [("name", "Till 8"), *KEY[1:]])).status == 201, "for a while"


async def test_a_page_is_returned_to(stale: Business) -> None:
    path = "/dashboard/keys/new?from=here"
    sent = await stale.surfer.get(path)
    assert sent.status == 303
    assert sent.to.startswith("/dashboard/confirm?next=")
    asked = await stale.surfer.get(sent.to)
    assert asked.status == 200
    assert kept(asked) == [("next", path)]

    wrong = await stale.surfer.post("/dashboard/confirm", {"next": path, "confirm_password": "not this one"})
    assert (wrong.status, kept(wrong)) == (400, [("next", path)])
    done = await stale.surfer.post("/dashboard/confirm", {"next": path, "confirm_password": PASSWORD})
    assert (done.status, done.to) == (303, path)
    assert (await stale.surfer.get(path)).status == 200


async def test_the_way_back_stays_on_the_site(stale: Business) -> None:
    fields = {"next": "https://evil.example/", "confirm_password": PASSWORD}
    assert (await stale.surfer.post("/dashboard/confirm", fields)).to == "/dashboard"


async def test_wrong_passwords_count_as_attempts_to_log_in(stale: Business) -> None:
    for _ in range(5):
        seen = await stale.surfer.post("/dashboard/confirm", {"confirm_password": "not this one"})
        assert seen.status == 400
    locked = await stale.surfer.post("/dashboard/keys", [*KEY, ("confirm_password", PASSWORD)])
    assert (locked.status, asks(locked)) == (429, True)
    assert int(locked.headers["Retry-After"]) > 0
    assert (await stale.surfer.log_in(stale.owner.email)).status == 429


async def test_a_forged_form_confirms_nothing(stale: Business) -> None:
    forged = await stale.surfer.post("/dashboard/confirm", {"confirm_password": PASSWORD}, token="0" * 64)
    assert forged.status == 403
    assert asks(await stale.surfer.post("/dashboard/keys", KEY))


async def test_other_pages_do_not_ask(stale: Business) -> None:
    for path in ("/dashboard", "/dashboard/keys", "/dashboard/settings", "/dashboard/settings/people"):
        assert (await stale.surfer.get(path)).status == 200


@pytest.mark.parametrize(("interval", "column"), [("13 hours", "last_used_at"), ("8 days", "confirmed_at")])
async def test_after_a_long_time_every_page_asks(business: Business, interval: str, column: str) -> None:
    await business.surfer.log_in(business.owner.email)
    await later(business, interval, column)
    sent = await business.surfer.get("/dashboard/wallet")
    assert (sent.status, sent.to) == (303, "/dashboard/confirm?next=/dashboard/wallet")
    assert asks(await business.surfer.post("/dashboard/collect", {"amount": "1000"}))
    assert (await business.surfer.get("/dashboard/live")).status == 303
    done = await business.surfer.post("/dashboard/confirm", {"confirm_password": PASSWORD})
    assert (done.status, done.to) == (303, "/dashboard")
    assert (await business.surfer.get("/dashboard/wallet")).status == 200


async def test_a_session_in_use_does_not_ask(business: Business) -> None:
    await business.surfer.log_in(business.owner.email)
    for _ in range(2):  # Eleven hours and eleven hours; the page between them is a use.
        await later(business, "11 hours", "last_used_at")
        assert (await business.surfer.get("/dashboard/wallet")).status == 200


async def test_whoever_is_asked_can_log_out_instead(business: Business) -> None:
    await business.surfer.log_in(business.owner.email)
    await later(business, "8 days")
    await business.surfer.get("/dashboard/confirm")
    assert (await business.surfer.post("/dashboard/logout")).to == "/dashboard/login"
    assert await business.sessions() == []


async def test_passwords_in_a_form_are_not_kept(business: Business) -> None:
    await business.surfer.log_in(business.owner.email)
    await later(business, "8 days")
    fields = {"current": PASSWORD, "password": "korosho saba mezani", "again": "korosho saba mezani"}
    seen = await business.surfer.post("/dashboard/settings/password", fields)
    assert asks(seen)
    assert "korosho" not in seen.text
    assert PASSWORD not in seen.text
