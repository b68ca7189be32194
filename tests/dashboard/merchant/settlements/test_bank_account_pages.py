"""/dashboard/bank-accounts: an owner adds one with password and code, sees how it waits, and stops it."""

import secrets
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from malipo import clock
from malipo.merchants.roles import Role
from malipo.messages.kinds import MessageKind
from malipo.settlement.bank_account import BankAccount, BankAccountStatus
from malipo.settlement.store import bank_accounts, releases
from tests.authenticator_app import enrolled
from tests.dashboard.business import Business
from tests.dashboard.business import business as business
from tests.dashboard.business import nobody as nobody
from tests.dashboard.merchant.settlements.settlement_pages import SettlementPages
from tests.dashboard.merchant.settlements.settlement_pages import desk as desk
from tests.dashboard.page_client import PASSWORD, Seen, Surfer, add_person
from tests.mail.mail_steps import rows
from tests.settlement.settlement_steps import add_account

PATH = "/dashboard/bank-accounts"
NEW = f"{PATH}/new"
TYPED = {"bank": "CORUTZTZ", "accountNumber": "0150 4421 89100", "holderName": "DUKA LA JUMA"}


@pytest.fixture
async def secured(business: Business) -> Business:
    """The owner has two-step log-in, and is logged in with a code."""
    app = await enrolled(business.database, business.owner.id)
    await business.surfer.log_in(business.owner.email)
    seen = await business.surfer.post("/dashboard/login/code", {"code": app.code()})
    assert seen.to == "/dashboard", seen.words
    await business.surfer.get(PATH)
    await app.wait()
    return business


async def all_of(business: Business) -> list[BankAccount]:
    async with business.database.read() as connection:
        return await bank_accounts.find_of(connection, business.merchant_id)


async def listed(business: Business) -> Seen:
    return await business.surfer.get(PATH)


async def test_an_owner_adds_an_account_and_everybody_concerned_gets_a_message(secured: Business) -> None:
    async with secured.database.begin() as tx:
        await tx.execute("DELETE FROM messages")

    assert (await secured.surfer.post(NEW, TYPED)).to == PATH

    [account] = await all_of(secured)
    assert (account.bic, account.account_number, account.holder_name) == ("CORUTZTZ", "0150442189100", "DUKA LA JUMA")
    assert (account.created_by, account.stored_status) == (secured.owner.email, BankAccountStatus.UNVERIFIED)
    seen = await listed(secured)
    assert "CRDB …9100" in seen.words
    assert "Waits to be verified" in seen.words
    assert account.account_number not in seen.text
    assert [row["kind"] for row in await rows(secured.database)] == [MessageKind.BANK_ACCOUNT_ADDED]
    assert "waits to be verified by the operators" in (await secured.surfer.get("/dashboard/settlements/new")).words


async def test_without_two_step_log_in_nothing_is_added(business: Business) -> None:
    await business.surfer.log_in(business.owner.email)

    for seen in (await business.surfer.get(NEW), await business.surfer.post(NEW, TYPED)):
        assert "set up two-step log-in first" in seen.words
        assert 'name="accountNumber"' not in seen.text
    assert await all_of(business) == []


async def test_a_stolen_cookie_adds_no_account(secured: Business) -> None:
    async with secured.database.begin() as tx:
        sql = "UPDATE sessions SET confirmed_at = confirmed_at - interval '11 minutes' WHERE person_id = $1"
        await tx.execute(sql, secured.owner.id)

    for fields in ({}, {"confirm_password": PASSWORD}, {"confirm_password": PASSWORD, "confirm_code": "000000"}):
        seen = await secured.surfer.post(NEW, TYPED | fields)
        assert "Confirm that it is you" in seen.words
    assert await all_of(secured) == []


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"bank": ""}, "Please fill this in."),
        ({"bank": "other", "bic": "CRDB"}, "A BIC has 8 or 11 letters and digits"),
        ({"bank": "other"}, "Please fill this in."),
        ({"accountNumber": "12"}, "5 to 34 digits and letters"),
        ({"accountNumber": ""}, "Please fill this in."),
        ({"holderName": ""}, "Please fill this in."),
        ({"holderName": "x" * 71}, "At most 70 characters."),
        ({"replaces": "bka_of_others"}, "There is no bank account bka_of_others."),
    ],
)
async def test_a_mistake_is_said_at_its_field(secured: Business, fields: dict[str, str], said: str) -> None:
    seen = await secured.surfer.post(NEW, TYPED | fields)

    assert seen.status in (400, 409)
    assert said in seen.words
    assert await all_of(secured) == []


async def test_another_bank_is_typed_and_the_same_account_is_there_once(secured: Business) -> None:
    typed = TYPED | {"bank": "other", "bic": "abcdtztz"}
    assert (await secured.surfer.post(NEW, typed)).status == 303

    again = await secured.surfer.post(NEW, typed)

    assert (again.status, "This bank account is there already." in again.words) == (409, True)
    [account] = await all_of(secured)
    assert account.bic == "ABCDTZTZ"


async def test_the_page_says_from_when_it_can_be_used_and_what_replaces_it(secured: Business) -> None:
    await secured.surfer.post(NEW, TYPED)
    [old] = await all_of(secured)
    now = clock.now()
    async with secured.database.begin() as tx:
        await bank_accounts.verify(tx, old, now=now, usable_from=now - timedelta(hours=1))
    assert "Can be used" in (await listed(secured)).words

    await secured.surfer.post(NEW, TYPED | {"accountNumber": "0150442189200", "replaces": old.id})
    [new, _] = await all_of(secured)
    assert new.replaces == old.id
    async with secured.database.begin() as tx:
        await bank_accounts.verify(tx, new, now=now, usable_from=now + timedelta(hours=72))
    seen = await listed(secured)
    for said in ("Verified, and waits Can be used from", "Replaced from", "Replaces CRDB …9100"):
        assert said in seen.words
    async with secured.database.begin() as tx:
        await bank_accounts.verify(tx, new, now=now, usable_from=now - timedelta(seconds=1))
    assert "Replaced" in (await listed(secured)).words


async def test_each_owner_stops_an_account_with_one_press(desk: SettlementPages) -> None:
    account = desk.steps.account
    assert "Stop this bank account?" in (await desk.surfer.get(f"{PATH}/{account.id}/stop")).words

    await desk.password_is_old()
    assert (await desk.surfer.post(f"{PATH}/{account.id}/stop")).to == PATH, "stopping is safe: nothing is asked"

    seen = await desk.surfer.get(PATH)
    assert "It is stopped, and all owners are told." in seen.words
    assert "Stop…" not in seen.words
    assert (await desk.surfer.get(f"{PATH}/{account.id}/stop")).to == PATH
    assert (await desk.surfer.post(f"{PATH}/bka_{secrets.token_hex(4)}/stop")).status == 404


async def test_the_pages_are_in_kiswahili(secured: Business) -> None:
    seen = await secured.surfer.get(NEW, headers={"Accept-Language": "sw"})
    assert "Ongeza akaunti ya benki" in seen.words


@pytest.fixture
async def restored(secured: Business) -> AsyncIterator[BankAccount]:
    """An account, and then a restore that is seen by these pages only: a fence would end the owner's session."""
    account = await add_account(secured.database, secured.merchant_id, now=clock.now())
    async with secured.database.begin() as tx:
        await tx.execute("UPDATE installation SET epoch = 2, epoch_began_at = clock_timestamp()")
        await tx.execute("DELETE FROM messages")
    yield account
    async with secured.database.begin() as tx:
        await tx.execute("UPDATE installation SET epoch = 1")
        await tx.execute("DELETE FROM settlement_releases")


async def test_after_a_restore_an_owner_confirms_an_account_once_settlements_are_released(
    secured: Business, restored: BankAccount
) -> None:
    account = restored
    confirm = f"{PATH}/{account.id}/confirm"

    seen = await listed(secured)
    assert ("Waits for an owner to confirm it" in seen.words, "It is right" in seen.words) == (True, False)
    async with secured.database.begin() as tx:
        await releases.insert(tx, now=clock.now())
    assert "It is right: confirm it" in (await listed(secured)).words
    assert (
        "Nothing is sent to your bank before an owner has looked"
        in (await secured.surfer.get("/dashboard/settlements")).words
    )
    assert (await secured.surfer.post(confirm, {})).to == PATH

    assert "Waits for an owner to confirm it" not in (await listed(secured)).words
    assert [each.held_since for each in await all_of(secured)] == [None]
    assert [row["kind"] for row in await rows(secured.database)] == [MessageKind.BANK_ACCOUNT_VERIFIED]


async def test_the_overview_names_a_new_account_to_owners_until_it_can_be_used(
    secured: Business, nobody: Surfer
) -> None:
    """Also where no e-mail is sent."""
    account = await add_account(secured.database, secured.merchant_id, now=clock.now())
    clerk = await add_person(
        secured.database, secured.merchant_id, f"clerk+{secrets.token_hex(6)}@example.com", Role.STAFF
    )
    await nobody.log_in(clerk.email)

    async def named(surfer: Surfer) -> bool:
        seen = await surfer.get("/dashboard")
        return "has added the bank account CRDB …YA00 of Duka la Asha" in seen.words and account.id in seen.text

    async def usable(sql: str) -> None:
        async with secured.database.begin() as tx:
            await tx.execute(f"UPDATE bank_accounts SET {sql} WHERE id = $1", account.id)

    assert not await named(secured.surfer), "it can be used"
    await usable("usable_from = now() + interval '1 hour'")
    assert (await named(secured.surfer), await named(nobody)) == (True, False)
    await usable("status = 'UNVERIFIED', usable_from = NULL, verified_at = NULL")
    assert await named(secured.surfer)
    assert (await secured.surfer.post(f"{PATH}/{account.id}/stop")).to == PATH
    assert not await named(secured.surfer)
