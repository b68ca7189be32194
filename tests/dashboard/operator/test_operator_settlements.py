"""/operator/settlements and /operator/bank-accounts: verified by two, stopped by one, cancelled, released."""

import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pytest

from malipo.app.assemble import Service
from malipo.db import Database
from malipo.messages import notify_of_bank_accounts
from malipo.messages.kinds import MessageKind
from malipo.settlement.bank_account import BankAccount, BankAccountStatus, named_account
from malipo.settlement.store import bank_accounts, releases
from tests.approvals.page_door import hidden_in
from tests.bank.bank_desk import open_account
from tests.conftest import Running, make_merchant
from tests.dashboard.operator.operator_pages import Operator, OperatorPages
from tests.dashboard.operator.own_database import database as database
from tests.dashboard.operator.own_database import database_url as database_url
from tests.dashboard.operator.own_database import running as running
from tests.dashboard.operator.own_database import service as service
from tests.dashboard.page_client import Seen, add_person
from tests.mail.mail_steps import rows
from tests.settlement.act_subjects import owing, restored, unverified
from tests.settlement.settlement_steps import SettlementSteps

SETTLEMENTS, ACCOUNTS = "/operator/settlements", "/operator/bank-accounts"
EVIDENCE = "A letter of the bank of 12 November, in the folder of the merchant"


@dataclass
class SettlementDesk:
    asha: Operator
    juma: Operator
    service: Service
    database: Database
    merchant_id: str

    async def approve(self, page: str, by: Operator | None = None) -> Seen:
        surfer = (by or self.juma).surfer
        fields = hidden_in(await surfer.get(page), f"{SETTLEMENTS}/approve", {})
        return await surfer.post(f"{SETTLEMENTS}/approve", fields)

    async def account(self, id_: str) -> BankAccount:
        async with self.database.read() as connection:
            found = await bank_accounts.get_with_id(connection, id_)
        assert found is not None
        return found


@pytest.fixture
async def desk(service: Service, running: Running, database: Database) -> AsyncIterator[SettlementDesk]:
    merchant = await make_merchant(database, wallet=1_000_000, name="Duka <b>la</b> Juma")
    await add_person(database, merchant.id, "asha@duka.example")
    async with AsyncExitStack() as stack:
        operators = OperatorPages(service, running, merchant, stack)
        asha, juma = await operators.operator("asha"), await operators.operator("juma")
        yield SettlementDesk(asha, juma, service, database, merchant.id)


async def test_two_operators_verify_an_account_and_its_owners_get_a_message(desk: SettlementDesk) -> None:
    id_ = await unverified(desk.database, desk.merchant_id)
    page = f"{ACCOUNTS}/{id_}"
    listed = await desk.asha.surfer.get(ACCOUNTS)
    assert "CRDB 0150000WKYA00" in listed.words, "whoever compares it sees all of the number"
    assert "1 bank account waits to be verified" in (await desk.asha.surfer.get(SETTLEMENTS)).words

    assert (await desk.asha.surfer.post(f"{page}/verify", {"evidence": "Trust me"})).status == 400
    assert (await desk.asha.surfer.post(f"{page}/verify", {"evidence": EVIDENCE})).to == page
    alone = await desk.asha.surfer.get(page)
    assert "Take it back" in alone.words
    assert f'action="{SETTLEMENTS}/approve"' not in alone.text
    seen = await desk.juma.surfer.get(page)
    for said in ("Proposed: this bank account is the merchant's own", EVIDENCE, "Account number 0150000WKYA00"):
        assert said in seen.words
    async with desk.database.begin() as tx:
        await tx.execute("DELETE FROM messages")
    assert (await desk.approve(page)).to == page

    found = await desk.account(id_)
    assert (found.stored_status, found.usable_from is not None) == (BankAccountStatus.VERIFIED, True)
    assert MessageKind.BANK_ACCOUNT_VERIFIED in {row["kind"] for row in await rows(desk.database)}
    assert "Verified, and waits" in (await desk.juma.surfer.get(page)).words


async def test_operators_see_whether_any_owner_got_a_message_about_an_account(desk: SettlementDesk) -> None:
    id_ = await unverified(desk.database, desk.merchant_id)
    account, page, now = await desk.account(id_), f"{ACCOUNTS}/{id_}", desk.service.clock()
    async with desk.database.begin() as tx:
        await notify_of_bank_accounts.account_added(
            tx, desk.merchant_id, named_account(account), by=account.created_by, path="/", now=now
        )
    seen = await desk.asha.surfer.get(page)
    assert ("Notices sent to owners 0 / 1" in seen.words, "Call an owner" in seen.words) == (True, True)
    async with desk.database.begin() as tx:
        await tx.execute("UPDATE messages SET state = 'sent', ended_at = now() WHERE cause = $1", id_)
    seen = await desk.asha.surfer.get(page)
    assert ("Notices sent to owners 1 / 1" in seen.words, "Call an owner" in seen.words) == (True, False)


async def test_nobody_approves_what_they_have_not_seen(desk: SettlementDesk) -> None:
    first, second = [await unverified(desk.database, desk.merchant_id) for _ in range(2)]
    for each in (first, second):
        await desk.asha.surfer.post(f"{ACCOUNTS}/{each}/verify", {"evidence": EVIDENCE})
    fields = dict(hidden_in(await desk.juma.surfer.get(f"{ACCOUNTS}/{first}"), f"{SETTLEMENTS}/approve", {}))

    for changed in ({"subject": second}, {"seen": "x"}, {"proposal": "sap_x"}, {"subject": "bka_x"}):
        assert (await desk.juma.surfer.post(f"{SETTLEMENTS}/approve", fields | changed)).status == 409
    rejected = await desk.juma.surfer.post(f"{SETTLEMENTS}/reject", fields | {"subject": second})
    assert rejected.status == 409
    assert "Reject" in (await desk.juma.surfer.get(f"{ACCOUNTS}/{second}")).words
    for each in (first, second):
        assert (await desk.account(each)).stored_status is BankAccountStatus.UNVERIFIED


async def test_one_operator_rejects_an_account_with_a_reason_that_its_merchant_reads(desk: SettlementDesk) -> None:
    id_ = await unverified(desk.database, desk.merchant_id)
    page = f"{ACCOUNTS}/{id_}"
    assert (await desk.asha.surfer.post(f"{page}/reject", {"reason": "No"})).status == 400
    assert (await desk.asha.surfer.post(f"{page}/reject", {"reason": "It is of another holder"})).to == page
    found = await desk.account(id_)
    assert (found.stored_status, found.end_reason) == (BankAccountStatus.REJECTED, "It is of another holder")
    late = await desk.juma.surfer.post(f"{page}/verify", {"evidence": EVIDENCE})
    assert (late.status, "does not wait for verification" in late.words) == (409, True)


async def test_one_operator_stops_an_account(desk: SettlementDesk) -> None:
    steps = await SettlementSteps.of(desk.service, desk.database, desk.merchant_id)
    page = f"{ACCOUNTS}/{steps.account.id}"
    assert (await desk.asha.surfer.post(f"{page}/stop", {"reason": "The owner called us in panic"})).to == page
    assert (await desk.account(steps.account.id)).stored_status is BankAccountStatus.STOPPED
    assert "The owner called us in panic" in (await desk.juma.surfer.get(page)).words


async def test_a_settlement_is_cancelled_until_it_is_in_a_file(desk: SettlementDesk) -> None:
    steps = await SettlementSteps.of(desk.service, desk.database, desk.merchant_id)
    first, second = await steps.requested(100_000), await steps.requested(50_000)
    seen = await desk.asha.surfer.get(f"{SETTLEMENTS}?status=REQUESTED")
    assert first.reference in seen.words
    assert "Duka <b>la</b> Juma" in seen.words
    page = f"{SETTLEMENTS}/{first.id}"
    assert (await desk.asha.surfer.post(f"{page}/cancel")).to == page
    assert (await steps.wallet()).available == 950_000

    await steps.gather(second)
    late = await desk.asha.surfer.post(f"{SETTLEMENTS}/{second.id}/cancel")
    assert (late.status, "It can no longer be cancelled" in late.words) == (409, True)


async def test_what_is_owed_of_an_adopted_settlement_is_written_off_by_two(desk: SettlementDesk) -> None:
    id_ = await owing(desk.database, desk.merchant_id)
    page = f"{SETTLEMENTS}/{id_}"
    assert "Owed of adopted settlements" in (await desk.asha.surfer.get(SETTLEMENTS)).words
    assert (await desk.asha.surfer.post(f"{page}/collect", {"how": "waive", "evidence": EVIDENCE})).to == page
    seen = await desk.juma.surfer.get(page)
    assert "Written off Yes" in seen.words
    assert (await desk.approve(page)).to == page
    assert "Written off TZS 500" in (await desk.juma.surfer.get(page)).words


async def test_after_a_restore_two_operators_let_settlements_be_sent_again(desk: SettlementDesk) -> None:
    await restored(desk.database)
    seen = await desk.asha.surfer.get(SETTLEMENTS)
    assert "Propose that settlements are sent again" in seen.words
    assert (await desk.asha.surfer.post(f"{SETTLEMENTS}/release", {"evidence": EVIDENCE})).to == SETTLEMENTS
    assert (await desk.approve(SETTLEMENTS)).to == SETTLEMENTS
    async with desk.database.read() as connection:
        assert await releases.is_released(connection)
    assert "After a restore" not in (await desk.juma.surfer.get(SETTLEMENTS)).words


async def test_before_statements_cover_the_lost_time_nothing_is_released(desk: SettlementDesk) -> None:
    await restored(desk.database)
    async with desk.database.begin() as tx:
        await tx.execute("DELETE FROM bank_coverage")
    seen = await desk.asha.surfer.get(SETTLEMENTS)
    assert re.search(r"Add the account that settlements are paid from, and import its statements from", seen.words)
    await open_account(desk.database)
    seen = await desk.asha.surfer.get(SETTLEMENTS)
    assert re.search(r"do not cover the days from \S+ to \S+ yet", seen.words)
    assert (await desk.asha.surfer.post(f"{SETTLEMENTS}/release", {"evidence": EVIDENCE})).status == 409


async def test_the_pages_are_in_kiswahili(desk: SettlementDesk) -> None:
    for path, said in ((SETTLEMENTS, "Malipo ya benki"), (ACCOUNTS, "Akaunti za benki za wafanyabiashara")):
        seen = await desk.asha.surfer.get(path, headers={"Accept-Language": "sw"})
        assert said in seen.words
