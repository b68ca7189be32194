"""For each act of operators about settlements, something that it can be done about."""

import secrets
from datetime import date

from malipo import clock, ids
from malipo.app.assemble import Service
from malipo.approvals.act_rules import Act
from malipo.bank_evidence.store import coverage
from malipo.db import Database
from malipo.restore.store import installation
from malipo.settlement import adopt
from malipo.settlement.bank_account import BankAccount
from malipo.settlement.store import bank_accounts
from tests.settlement.settlement_steps import SettlementSteps


async def settlement_subject(act: Act, service: Service, database: Database, merchant_id: str) -> str:
    match act:
        case Act.VERIFY_BANK_ACCOUNT | Act.REJECT_BANK_ACCOUNT | Act.STOP_BANK_ACCOUNT:
            return await unverified(database, merchant_id)
        case Act.CANCEL_SETTLEMENT:
            return (await (await SettlementSteps.of(service, database, merchant_id)).requested(1000)).id
        case Act.COLLECT_SETTLEMENT:
            return await owing(database, merchant_id)
    return await restored(database)


async def unverified(database: Database, merchant_id: str) -> str:
    now = clock.now()
    account = BankAccount(
        merchant_id=merchant_id,
        id=ids.mint("bka_", now),
        bic="CORUTZTZ",
        account_number="0150000WKYA00",
        holder_name="Duka la Asha",
        created_at=now,
        created_by="asha@duka.example",
    )
    async with database.begin() as tx:
        await bank_accounts.insert(tx, account)
    return account.id


async def owing(database: Database, merchant_id: str) -> str:
    """An adopted settlement of more than the wallet has."""
    now = clock.now()
    async with database.begin() as tx:
        wallet = await tx.fetchval("SELECT available FROM wallets WHERE merchant_id = $1", merchant_id)
        found = await adopt.adopt(
            tx,
            merchant_id,
            ids.suffix(now),
            wallet + 500,
            bank_reference=secrets.token_hex(4),
            booked_on=date(2026, 11, 20),
            by="operator neema",
            reference_prefix="MLP",
            now=now,
        )
    return found.id


async def restored(database: Database) -> str:
    """The database was restored, payments are released, and statements cover the lost time. Returns the epoch."""
    async with database.begin() as tx:
        await tx.execute("DELETE FROM bank_coverage")
        for account in {"pac_1", *await coverage.find(tx)}:
            statement = f"bst_{secrets.token_hex(4)}"
            await coverage.insert(tx, account, statement, first=date(2020, 1, 1), last=date(2100, 1, 1))
        epoch = await installation.begin_epoch(tx, "a test")
        await installation.end_fence(tx)
    return str(epoch)
