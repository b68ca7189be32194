"""Owners are notified of bank accounts, also owners whom somebody has removed since, and can stop one without a log-in."""

from datetime import datetime, timedelta

import pytest

from malipo.db import Database
from malipo.merchants import bank_account_stop_links, manage_people
from malipo.merchants.people import Person
from malipo.merchants.roles import Role
from malipo.merchants.store import people
from malipo.messages import notify_of_bank_accounts
from malipo.messages.notify_of_bank_accounts import NamedBankAccount, masked
from tests.conftest import NOBODY, Merchant
from tests.mail.mail_server import mail_server, text_of
from tests.mail.mail_steps import Times, add_person, rows, sender


@pytest.fixture
def times() -> Times:
    return Times()


ACCOUNT = NamedBankAccount("bka_1", "CRDB Bank", "0150442189100", "DUKA LA JUMA LTD")
PATH = "/dashboard/bank-accounts/bka_1"


async def test_all_owners_of_the_last_30_days_get_a_message_about_a_bank_account(
    database: Database, merchant: Merchant, times: Times
) -> None:
    neema = await _owner(database, merchant, "neema")
    for name in ("removed", "lowered", "of long ago"):
        await _owner(database, merchant, name.replace(" ", "."))
    await add_person(database, merchant.id, "staff@duka.example.com", role=Role.STAFF)
    await _stop_being_owner(database, merchant, "of.long.ago", at=times.now - timedelta(days=31))
    await _stop_being_owner(database, merchant, "removed", at=times.now - timedelta(days=29))
    await _stop_being_owner(database, merchant, "lowered", at=times.now, role=Role.VIEWER)

    await _add(database, merchant, times.now)

    messages = {row["address"] for row in await rows(database)}
    assert messages == {neema.email, "removed@duka.example.com", "lowered@duka.example.com"}


async def test_the_link_of_a_notice_works_once_and_opening_it_changes_nothing(
    database: Database, merchant: Merchant, times: Times
) -> None:
    neema = await _owner(database, merchant, "neema")
    await _add(database, merchant, times.now)
    with mail_server() as server:
        await sender(database, server.at(), times)()
    [mail] = server.inbox.mails
    link = text_of(mail).split("/dashboard/stop?token=")[1].split()[0]
    assert ACCOUNT.number not in mail.as_string()
    async with database.read() as connection:
        assert link.encode() not in bytes(await connection.fetchval("SELECT hash FROM stop_links"))
        for _ in range(3):
            assert (await bank_account_stop_links.find(connection, link, now=times.now)) == (
                merchant.id,
                ACCOUNT.id,
                neema.email,
                neema.name,
            )

    async with database.begin() as tx:
        used = await bank_account_stop_links.use(tx, link, now=times.now)
        again = await bank_account_stop_links.use(tx, link, now=times.now)

    assert (used is not None, again) == (True, None)


async def test_a_link_is_good_for_30_days(database: Database, merchant: Merchant, times: Times) -> None:
    await _owner(database, merchant, "neema")
    await _add(database, merchant, times.now)
    with mail_server() as server:
        await sender(database, server.at(), times)()
    link = text_of(server.inbox.mails[0]).split("/dashboard/stop?token=")[1].split()[0]

    async with database.read() as connection:
        assert (
            await bank_account_stop_links.find(connection, link, now=times.now + timedelta(days=30, seconds=-1))
            is not None
        )
        assert await bank_account_stop_links.find(connection, link, now=times.now + timedelta(days=30)) is None


@pytest.mark.parametrize(
    ("number", "shown"), [("0150442189100", "…9100"), ("1234567", "…567"), ("12", "…2"), ("1", "…"), ("", "…")]
)
def test_an_account_number_is_masked(number: str, shown: str) -> None:
    assert masked(number) == shown


async def _owner(database: Database, merchant: Merchant, name: str) -> Person:
    return await add_person(database, merchant.id, f"{name}@duka.example.com", name=name)


async def _stop_being_owner(
    database: Database, merchant: Merchant, name: str, *, at: datetime, role: Role | None = None
) -> None:
    async with database.begin() as tx:
        person = await people.find_by_email(tx, f"{name}@duka.example.com")
        assert person is not None
        if role is None:
            await manage_people.remove_person(tx, person, actor=NOBODY, now=at)
        else:
            await manage_people.change_role(tx, person, role, actor=NOBODY, now=at)


async def _add(database: Database, merchant: Merchant, now: datetime) -> None:
    async with database.begin() as tx:
        await notify_of_bank_accounts.account_added(
            tx, merchant.id, ACCOUNT, by="juma@duka.example.com", path=PATH, now=now
        )
