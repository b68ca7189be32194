"""The link of a notice stops a bank account, once, on a press; looking at it does nothing."""

from datetime import timedelta

import pytest

from malipo import clock, ids
from malipo.audit_log.actor import Actor
from malipo.db import Database
from malipo.merchants.store import merchants
from malipo.messages.kinds import MessageKind
from malipo.settlement import manage_bank_accounts
from malipo.settlement.bank_account import BankAccount, BankAccountStatus
from malipo.settlement.store import bank_accounts
from tests.dashboard.business import Business
from tests.dashboard.business import business as business
from tests.mail.mail_server import mail_server, text_of
from tests.mail.mail_steps import Times, rows, sender

PATH = "/dashboard/stop"


async def an_account(business: Business) -> tuple[BankAccount, str]:
    """An account that was just added, and the link that its owner got."""
    now = clock.now()
    account = BankAccount(
        merchant_id=business.merchant_id,
        id=ids.mint("bka_", now),
        bic="CORUTZTZ",
        account_number="0150442189100",
        holder_name="DUKA LA JUMA",
        created_at=now,
        created_by=business.owner.email,
    )
    async with business.database.begin() as tx:
        await tx.execute("DELETE FROM messages")
        await manage_bank_accounts.add(tx, account, actor=Actor(business.owner.email, "10.0.0.1"), now=now)
    with mail_server() as server:
        await sender(business.database, server.at(), Times(now))()
    [mail] = server.inbox.mails
    return account, text_of(mail).split(f"{PATH}?token=")[1].split()[0]


async def status_of(database: Database, account: BankAccount) -> BankAccountStatus:
    async with database.read() as connection:
        found = await bank_accounts.get_with_id(connection, account.id)
    assert found is not None
    return found.stored_status


async def test_the_link_shows_the_account_and_a_press_stops_it_once(business: Business) -> None:
    account, link = await an_account(business)
    async with business.database.read() as connection:
        name = await merchants.name_of(connection, business.merchant_id)
    for _ in range(3):
        seen = await business.surfer.get(f"{PATH}?token={link}")
        assert (seen.status, "…9100" in seen.words, account.account_number in seen.text) == (200, True, False)
        assert name in seen.words, "who owns several businesses must see whose account it is"
    assert await status_of(business.database, account) is BankAccountStatus.UNVERIFIED

    done = await business.surfer.post(PATH, {"link": link})

    assert (done.status, "The bank account is stopped." in done.words) == (200, True)
    assert await status_of(business.database, account) is BankAccountStatus.STOPPED
    assert [row["kind"] for row in await rows(business.database)] == [
        MessageKind.BANK_ACCOUNT_ADDED,
        MessageKind.BANK_ACCOUNT_STOPPED,
    ]
    for seen in (await business.surfer.post(PATH, {"link": link}), await business.surfer.get(f"{PATH}?token={link}")):
        assert (seen.status, "This link was used already" in seen.words) == (400, True)


@pytest.mark.parametrize("link", ["", "msl_x", "é", "x" * 5000])
async def test_a_link_that_there_is_not_is_dead(business: Business, link: str) -> None:
    seen = await business.surfer.get(f"{PATH}?token={link}")
    assert (seen.status, "This link was used already" in seen.words) == (400, True)


async def test_a_link_of_a_month_ago_is_dead(business: Business) -> None:
    _, link = await an_account(business)
    async with business.database.begin() as tx:
        await tx.execute("UPDATE stop_links SET expires_at = $1", clock.now() - timedelta(seconds=1))

    assert (await business.surfer.get(f"{PATH}?token={link}")).status == 400


async def test_the_page_is_in_kiswahili(business: Business) -> None:
    _, link = await an_account(business)
    seen = await business.surfer.get(f"{PATH}?token={link}", headers={"Accept-Language": "sw"})
    assert "Simamisha akaunti hii ya benki" in seen.words
