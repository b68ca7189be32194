"""Through the pages and the API: an owner whose password an operator has just set does not get around the 72 hours."""

import secrets
from collections.abc import AsyncIterator

import pytest

from malipo import clock
from malipo.merchants.api_keys import Permission
from malipo.merchants.password_links import make_link
from malipo.merchants.store import api_keys, people
from tests.conftest import Running
from tests.dashboard.merchant.batches.batch_pages import Office, office
from tests.dashboard.merchant.test_api_keys import key_in
from tests.dashboard.page_client import Surfer, add_person, surfing
from tests.operators.booking_steps import ASHA, hire

__all__ = ["office"]

NEW = "korosho saba mezani"
SAYS = "Until an owner who had no part in it vouches for you, or for 72 hours"
PAYS = [("name", "Till"), ("permissions", "payments.create"), ("environment", "live")]
READS = [("name", "Till"), ("permissions", "payments.read"), ("environment", "live")]
CODE = "account_not_vouched_for"


@pytest.fixture
async def taken(office: Office, running: Running) -> AsyncIterator[Surfer]:
    """The owner's account, with the password that operator asha has set by a link."""
    await hire(office.database, "asha")
    async with office.database.begin() as tx:
        link = await make_link(tx, office.owner_person, actor=ASHA, now=clock.now())
    async with surfing(running.url, seen_from=f"10.66.0.{secrets.randbelow(250) + 1}") as surfer:
        assert (await surfer.post("/dashboard/password", {"link": link, "password": NEW, "again": NEW})).status == 303
        assert (await surfer.log_in(office.owner_person.email, NEW)).status == 303
        yield surfer


async def test_an_owner_whom_an_operator_has_reset_makes_no_key_that_pays(office: Office, taken: Surfer) -> None:
    refused = await taken.post("/dashboard/keys", PAYS)
    assert refused.status == 403
    assert SAYS in refused.words
    async with office.database.read() as connection:
        found = await api_keys.find_all(connection, office.merchant_id)
    assert "Till" not in {each.name for each in found}
    assert key_in(await taken.post("/dashboard/keys", READS)), "one that only reads is made at once"


async def test_nor_removes_lowers_or_resets_the_other_owner(office: Office, taken: Surfer) -> None:
    email = f"second+{secrets.token_hex(6)}@example.com"
    other = await add_person(office.database, office.merchant_id, email)
    for act, form in (("remove", {}), ("role", {"role": "viewer"}), ("link", {})):
        refused = await taken.post(f"/dashboard/settings/people/{other.id}/{act}", form)
        assert refused.status == 403, act
        assert SAYS in refused.words, act
    async with office.database.read() as connection:
        found = await people.get(connection, office.merchant_id, other.id)
    assert found is not None
    assert found.role is other.role


async def test_nor_by_the_api(office: Office, taken: Surfer) -> None:
    email = f"second+{secrets.token_hex(6)}@example.com"
    other = await add_person(office.database, office.merchant_id, email)
    typed = {"email": office.owner_person.email, "password": NEW}
    async with taken.http.post(f"{taken.url}/merchant/auth/login", json=typed) as answer:
        head = {"Authorization": f"Bearer {(await answer.json())['token']}"}
    for method, path, body in (
        ("POST", "/merchant/api-keys", {"name": "Till", "permissions": [Permission.PAYMENTS_CREATE]}),
        ("PATCH", f"/merchant/people/{other.id}", {"role": "viewer"}),
        ("DELETE", f"/merchant/people/{other.id}", None),
    ):
        async with taken.http.request(method, taken.url + path, json=body, headers=head) as answer:
            assert (answer.status, answer.headers["X-Error-Code"]) == (403, CODE), path
            assert SAYS in (await answer.json())["error"]
