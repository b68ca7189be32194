"""Owners add bank accounts of their own merchant and stop them; operators verify them, and they wait."""

import secrets
from datetime import timedelta
from typing import Any

import pytest

from malipo import clock
from malipo.audit_log.actor import Actor, operator_at
from malipo.db import Database
from malipo.errors import Conflict
from malipo.merchants import password_links
from malipo.merchants.four_eyes import NotVouchedFor
from malipo.settlement import manage_bank_accounts
from malipo.settlement.bank_account import BankAccount, BankAccountStatus, NoSuchBankAccount, default_account
from malipo.settlement.operator_acts import SettlementActs, reject_account
from malipo.settlement.store import bank_accounts
from malipo.validation.fields import Fields
from tests.conftest import Merchant, make_merchant
from tests.mail.mail_steps import add_person


def typed(merchant_id: str, **changes: Any) -> BankAccount:
    fields = {"bic": "corutztz", "accountNumber": f"0150 {secrets.randbelow(10**9):09}", "holderName": "Duka Ltd"}
    return manage_bank_accounts.bank_account_of(
        Fields(fields | changes), merchant_id, by="asha@duka.example.com", now=clock.now()
    )


async def add(database: Database, account: BankAccount, actor: Actor | None = None) -> BankAccount:
    async with database.begin() as tx:
        asha = Actor("asha@duka.example.com", "10.0.0.1")
        await manage_bank_accounts.add(tx, account, actor=actor or asha, now=clock.now())
    return account


async def stop(database: Database, account: BankAccount, merchant_id: str) -> BankAccount:
    async with database.begin() as tx:
        actor = Actor("asha@duka.example.com", "10.0.0.1")
        return await manage_bank_accounts.stop(tx, account.id, merchant_id=merchant_id, actor=actor, now=clock.now())


async def look(database: Database, account: BankAccount) -> BankAccount:
    async with database.read() as connection:
        found = await bank_accounts.get(connection, account.merchant_id, account.id)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("bic", "CORUTZ", "bic_invalid"),
        ("bic", "CORUTZTZ1", "bic_invalid"),
        ("accountNumber", "Asha", "account_number_invalid"),
        ("accountNumber", "12/34567", "account_number_invalid"),
        ("holderName", "", "field_required"),
        ("holderName", "Дука la Asha", "holder_name_letters"),
    ],
)
def test_mistakes_in_a_bank_account_are_reported_field_by_field(field: str, value: str, code: str) -> None:
    fields = Fields({"bic": "CORUTZTZ", "accountNumber": "0150442189100", "holderName": "Duka Ltd"} | {field: value})
    manage_bank_accounts.bank_account_of(fields, "mer_1", by="asha@duka.example.com", now=clock.now())
    assert [(each.field, each.code) for each in fields.mistakes] == [(field, code)]


async def test_an_account_is_there_once_and_only_one_of_the_merchants_own_is_replaced(
    database: Database, merchant: Merchant
) -> None:
    stranger = await make_merchant(database, name="Other")
    theirs = await add(database, typed(stranger.id))
    first = await add(database, typed(merchant.id))
    for changes, code in (
        ({"accountNumber": first.account_number}, "bank_account_exists"),
        ({"replaces": theirs.id}, "bank_account_no_such"),
    ):
        with pytest.raises(Conflict) as refused:
            await add(database, typed(merchant.id, **changes))
        assert refused.value.code == code
    second = await add(database, typed(merchant.id, replaces=first.id))
    assert (await look(database, second)).replaces == first.id


async def test_there_are_ten_at_most_and_a_stopped_one_makes_room(database: Database, merchant: Merchant) -> None:
    accounts = [await add(database, typed(merchant.id)) for _ in range(10)]
    with pytest.raises(Conflict) as refused:
        await add(database, typed(merchant.id))
    assert refused.value.code == "bank_account_too_many"
    await stop(database, accounts[0], merchant.id)
    await add(database, typed(merchant.id))


async def test_nobody_stops_the_account_of_another_merchant(database: Database, merchant: Merchant) -> None:
    stranger = await make_merchant(database, name="Other")
    account = await add(database, typed(merchant.id))
    with pytest.raises(NoSuchBankAccount):
        await stop(database, account, stranger.id)
    assert (await look(database, account)).stored_status is BankAccountStatus.UNVERIFIED
    assert await stop(database, account, merchant.id) == account
    stopped = await look(database, account)
    await stop(database, account, merchant.id)
    assert (stopped.stored_status, await look(database, account)) == (BankAccountStatus.STOPPED, stopped)


async def test_somebody_whom_another_has_just_reset_adds_none(database: Database, merchant: Merchant) -> None:
    asha, neema = [
        await add_person(database, merchant.id, f"{name}@duka.example.com", name=name) for name in ("asha", "neema")
    ]
    async with database.begin() as tx:
        await password_links.make_link(tx, neema, actor=Actor(asha.email, "10.0.0.1"), now=clock.now())
    with pytest.raises(NotVouchedFor):
        await add(database, typed(merchant.id), Actor(neema.email, "10.0.0.1"))
    await add(database, typed(merchant.id), Actor(asha.email, "10.0.0.1"))


async def test_a_verified_account_waits_before_it_can_be_used(database: Database, merchant: Merchant) -> None:
    account, acts, now = await add(database, typed(merchant.id)), SettlementActs(timedelta(hours=72)), clock.now()
    async with database.begin() as tx:
        await acts.verify(tx, account.id, "A letter of the bank", actor=operator_at("zuhura", "till"), now=now)
        await acts.approve(tx, account.id, actor=operator_at("juma", "till"), now=now)
    verified = await look(database, account)
    uses = [verified.is_usable(now + timedelta(hours=hours)) for hours in (0, 71.9, 72)]
    assert uses == [verified.may_be_sent_to(now + timedelta(hours=hours)) for hours in (0, 71.9, 72)]
    assert uses == [False, False, True]


async def verify(database: Database, account: BankAccount, *, usable_in: timedelta) -> None:
    async with database.begin() as tx:
        await bank_accounts.verify(tx, account, now=clock.now(), usable_from=clock.now() + usable_in)


async def test_an_account_that_was_replaced_does_not_come_back(database: Database, merchant: Merchant) -> None:
    """Perhaps it was replaced because it was wrong. Its number is added again as any other: verified, with a wait."""
    first = await add(database, typed(merchant.id))
    await verify(database, first, usable_in=timedelta(0))
    second = await add(database, typed(merchant.id, replaces=first.id))
    await verify(database, second, usable_in=timedelta(0))
    await stop(database, second, merchant.id)
    assert (await look(database, first)).status(clock.now()) is BankAccountStatus.REPLACED
    async with database.read() as connection:
        known = await bank_accounts.find_of(connection, merchant.id)
    assert default_account(known, clock.now()) is None
    again = await add(database, typed(merchant.id, accountNumber=first.account_number))
    assert [(await look(database, each)).is_usable(clock.now()) for each in (first, again)] == [False, False]


async def test_an_account_is_used_until_the_one_that_replaces_it_can_be(database: Database, merchant: Merchant) -> None:
    """Rejected, or stopped while it waits, that one replaces nothing."""
    first = await add(database, typed(merchant.id))
    await verify(database, first, usable_in=timedelta(0))
    rejected = await add(database, typed(merchant.id, replaces=first.id))
    async with database.begin() as tx:
        await reject_account(tx, rejected.id, "Not theirs", actor=operator_at("juma", "till"), now=clock.now())
    waits = await add(database, typed(merchant.id, replaces=first.id))
    await verify(database, waits, usable_in=timedelta(hours=72))
    assert (await look(database, first)).replaced_from is not None
    assert (await look(database, first)).is_usable(clock.now())
    await stop(database, waits, merchant.id)
    assert (await look(database, first)).replaced_from is None
    assert (await look(database, first)).is_usable(clock.now())
