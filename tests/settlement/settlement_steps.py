"""Settlements, step by step: requested, in a file, sent, booked by the bank, given back; on a real database."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

import pytest

from malipo import ids
from malipo.app.assemble import Service
from malipo.audit_log.actor import Actor
from malipo.db import Database
from malipo.ledger import check as ledger_check
from malipo.ledger.store import wallets
from malipo.ledger.wallet import Wallet
from malipo.payments.check import transactions as transactions_check
from malipo.settlement import bank_outcomes, manage_bank_accounts, payout_files
from malipo.settlement.bank_account import BankAccount, BankAccountStatus
from malipo.settlement.bank_outcomes import BankReturn, Debit
from malipo.settlement.cancel import SettlementCancellation
from malipo.settlement.create import MadeSettlement
from malipo.settlement.fee_and_minimum import LARGEST_AMOUNT
from malipo.settlement.payout_files import Written
from malipo.settlement.settlement import Settlement
from malipo.settlement.settlement_request import SettlementRequest, settlement_request_of
from malipo.settlement.store import bank_accounts, settlements
from malipo.validation.fields import Fields
from tests.conftest import Merchant

FILE = "pof_1"
DAY = date(2026, 11, 20)


async def add_account(
    database: Database, merchant_id: str, *, now: datetime, bic: str = "CORUTZTZ", number: str = "0150000WKYA00"
) -> BankAccount:
    """A verified account that can be used."""
    account = BankAccount(
        merchant_id=merchant_id,
        id=ids.mint("bka_", now),
        bic=bic,
        account_number=number,
        holder_name="Duka la Asha",
        created_at=now,
        created_by="asha@duka.example",
    )
    async with database.begin() as tx:
        await bank_accounts.insert(tx, account)
        await bank_accounts.verify(tx, account, now=now, usable_from=now - timedelta(seconds=1))
    return account


async def confirm_accounts(database: Database, *, now: datetime) -> None:
    """After a restore, when settlements are released: owners confirm all bank accounts."""
    async with database.begin() as tx:
        for each in await bank_accounts.find_held(tx):
            owner = Actor(each.created_by, "10.0.0.1")
            await manage_bank_accounts.confirm(tx, each.id, merchant_id=each.merchant_id, actor=owner, now=now)


@dataclass
class SettlementSteps:
    service: Service
    database: Database
    merchant_id: str
    account: BankAccount

    @classmethod
    async def of(cls, service: Service, database: Database, merchant_id: str) -> "SettlementSteps":
        return cls(service, database, merchant_id, await add_account(database, merchant_id, now=service.clock()))

    def asked(self, *, key: str | None = None, **fields: Any) -> SettlementRequest:
        return settlement_request_of(
            Fields(fields),
            self.merchant_id,
            key=key,
            largest=LARGEST_AMOUNT,
            created_by="key_1",
            now=self.service.clock(),
        )

    async def make(self, amount: int | None = 100_000, *, key: str | None = None, **fields: Any) -> MadeSettlement:
        if amount is not None:
            fields["amount"] = amount
        return await self.service.settlements.create(self.asked(key=key, **fields))

    async def requested(self, amount: int | None = 100_000, **fields: Any) -> Settlement:
        return (await self.make(amount, **fields)).settlement

    async def cancel(self, settlement: Settlement) -> Settlement:
        return await self.service.settlements.cancel(SettlementCancellation(self.merchant_id, settlement.id, "key_1"))

    async def gather(self, *these: Settlement, file_id: str = FILE) -> Written:
        async with self.database.begin() as tx:
            return await payout_files.mark_in_file(tx, [each.id for each in these], file_id)

    async def leave(self, *these: Settlement, file_id: str = FILE) -> Written:
        async with self.database.begin() as tx:
            return await payout_files.leave_file(tx, [each.id for each in these], file_id)

    async def send(self, *these: Settlement, file_id: str = FILE) -> Written:
        async with self.database.begin() as tx:
            return await payout_files.mark_sent(tx, [each.id for each in these], file_id, now=self.service.clock())

    async def void(self, *these: Settlement, file_id: str = FILE) -> Written:
        async with self.database.begin() as tx:
            return await payout_files.wait_again(tx, [each.id for each in these], file_id, now=self.service.clock())

    async def sent(self, amount: int = 100_000) -> Settlement:
        settlement = await self.requested(amount)
        await self.gather(settlement)
        return (await self.send(settlement)).changed[0]

    async def complete(self, *these: Settlement, reference: str = "CRDB-1", day: date = DAY) -> Written:
        async with self.database.begin() as tx:
            debits = [Debit(each.id, reference, day) for each in these]
            return await bank_outcomes.complete(tx, debits, now=self.service.clock())

    async def completed(self, amount: int = 100_000) -> Settlement:
        return (await self.complete(await self.sent(amount))).changed[0]

    async def give_back(self, *these: Settlement, reference: str = "CRDB-2", day: date = DAY) -> Written:
        async with self.database.begin() as tx:
            returns = [BankReturn(each.id, "AC04 account closed", reference, day) for each in these]
            return await bank_outcomes.give_back(tx, returns, now=self.service.clock())

    async def stop(self, account: BankAccount) -> None:
        async with self.database.begin() as tx:
            now = self.service.clock()
            await bank_accounts.end(tx, account, BankAccountStatus.STOPPED, by="asha", reason="", now=now)

    async def unfit(self, *these: Settlement) -> dict[str, str]:
        async with self.database.begin() as tx:
            found = await payout_files.unfit_for_file(tx, [each.id for each in these], now=self.service.clock())
        return {id_: str(why) for id_, why in found.items()}

    async def look(self, settlement: Settlement) -> Settlement:
        async with self.database.read() as connection:
            [found] = await settlements.find(connection, [settlement.id])
        return found

    async def wallet(self) -> Wallet:
        async with self.database.read() as connection:
            return (await wallets.get(connection, self.merchant_id))[0]

    async def balances(self) -> dict[str, int]:
        """Of all accounts, after the ledger check has found nothing."""
        await self.check()
        async with self.database.snapshot() as connection:
            return await ledger_check.balances(connection)

    async def check(self) -> None:
        async with self.database.snapshot() as connection:
            found = [*await ledger_check.check(connection), *await transactions_check.check(connection)]
        assert found == []

    async def owe(self, amount: int) -> None:
        """The wallet owes, as after a correction. The ledger check does not know why."""
        async with self.database.begin() as tx:
            await tx.execute("UPDATE wallets SET owed = $2 WHERE merchant_id = $1", self.merchant_id, amount)

    async def messages(self) -> Sequence[tuple[str, str]]:
        async with self.database.read() as connection:
            rows = await connection.fetch("SELECT kind, cause FROM messages ORDER BY created_at, id")
        return [(row["kind"], row["cause"]) for row in rows]


@pytest.fixture
async def steps(service: Service, database: Database, merchant: Merchant) -> SettlementSteps:
    return await SettlementSteps.of(service, database, merchant.id)
