"""Through the pages and the API: an owner whose password an operator has just set does not get around the 72 hours."""

import secrets
from collections.abc import AsyncIterator

import pytest

from malipo import clock
from malipo.app.assemble import assemble
from malipo.db import Database
from malipo.merchants import four_eyes, manage_people
from malipo.merchants.api_keys import Permission
from malipo.merchants.password_links import make_link
from malipo.merchants.roles import Role
from malipo.merchants.store import api_keys, approval_rules, people
from malipo.merchants.store.approval_rules import ApprovalRules
from malipo.settings import Settings
from tests.conftest import NO_LIMITS, Running, make_merchant
from tests.dashboard.merchant.batches.batch_pages import Office, office
from tests.dashboard.merchant.new_payment.payment_form import PAYOUT, TYPED
from tests.dashboard.merchant.new_payment.payment_form import key_in as form_key_in
from tests.dashboard.merchant.test_api_keys import key_in
from tests.dashboard.page_client import Seen, Surfer, add_person, surfing
from tests.operators.booking_steps import ASHA, JUMA, hire
from tests.payments.refunds.refund_steps import RefundSteps

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


async def let_one_approve(office: Office) -> None:
    """No amount, and who submits a batch may approve it."""
    async with office.database.begin() as tx:
        await approval_rules.save(tx, office.merchant_id, ApprovalRules(takes_two=False, above=None))


async def pay(surfer: Surfer, amount: str = "1,000") -> Seen:
    key = form_key_in(await surfer.get(PAYOUT))
    return await surfer.post(PAYOUT, TYPED | {"key": key, "step": "pay", "amount": amount})


async def test_nor_pays_out_singly_or_by_a_batch_where_one_person_is_enough(office: Office, taken: Surfer) -> None:
    await let_one_approve(office)
    made = await pay(taken)
    assert made.to.startswith("/dashboard/batches/"), "it is submitted, and pays nothing"
    shown = await taken.get(made.to)
    assert f'href="{made.to}/approve"' not in shown.text
    refused = await taken.post(f"{made.to}/approve")
    assert refused.status == 403
    assert SAYS in refused.words
    assert await office.payouts() == []


async def test_nor_refunds(office: Office, taken: Surfer) -> None:
    await let_one_approve(office)
    steps = RefundSteps(assemble(Settings(**NO_LIMITS), office.database), office.merchant_id)
    collection = await steps.collected(5000)
    page = f"/dashboard/transactions/{collection.id}/refund"
    typed = {"amount": "5,000", "reason": "Returned", "key": form_key_in(await taken.get(page)), "step": "pay"}
    assert (await taken.post(page, typed)).to.startswith("/dashboard/batches/")
    assert (await steps.seen(collection)).refunds == ()


async def test_when_another_operator_has_vouched_the_only_owner_pays_out(office: Office, taken: Surfer) -> None:
    await let_one_approve(office)
    await hire(office.database, "juma")
    async with office.database.begin() as tx:
        await four_eyes.vouch_as_operator(tx, office.owner_person, actor=JUMA, now=clock.now())
    assert (await pay(taken)).to.startswith("/dashboard/transactions/")
    assert len(await office.payouts()) == 1


async def test_the_first_person_that_an_operator_adds_to_a_merchant_with_money_pays_out_nothing(
    running: Running, database: Database
) -> None:
    await hire(database, "asha")
    merchant = await make_merchant(database, wallet=5_000_000)
    email, now = f"x+{secrets.token_hex(4)}@example.com", clock.now()
    async with database.begin() as tx:
        person = await manage_people.add_person(
            tx, merchant.id, email=email, name="x", role=Role.OWNER, actor=ASHA, now=now
        )
        link = await make_link(tx, person, actor=ASHA, now=now)
    async with surfing(running.url, seen_from=f"10.66.1.{secrets.randbelow(250) + 1}") as thief:
        assert (await thief.post("/dashboard/password", {"link": link, "password": NEW, "again": NEW})).status == 303
        assert (await thief.log_in(email, NEW)).status == 303
        assert (await thief.post("/dashboard/keys", PAYS)).status == 403
        assert (await pay(thief)).to.startswith("/dashboard/batches/")
