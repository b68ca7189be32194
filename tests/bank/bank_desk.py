"""Operators who pay settlements by files and import the statements of a bank, which is the simulated one."""

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from malipo import clock
from malipo.app.assemble import Service
from malipo.approvals.store import Proposal
from malipo.audit_log.actor import Actor
from malipo.bank import (
    add_payer_account,
    approve,
    decide_exception,
    gather_payout_file,
    import_statement,
    match_bank_lines,
    proposals,
    void_payout_file,
    withdraw_statement,
)
from malipo.bank.decide_exception import BankAction, Decided, LineTerms
from malipo.bank.gather_payout_file import GatheredFile
from malipo.bank.import_statement import BankImport
from malipo.bank.match_bank_lines import BankMatchingSummary
from malipo.bank.payer_account import PayerAccount
from malipo.bank.payout_file import FileRefusal, PayoutFile
from malipo.bank.read_statement import read_file
from malipo.bank.store import checks, lines, payer_accounts
from malipo.bank.store.lines import BankException
from malipo.bank_evidence.banking_days import BankingDays
from malipo.db import Database
from malipo.errors import Conflict
from malipo.ledger import check as ledger_check
from malipo.payments.check import transactions as transactions_check
from malipo.settlement.bank_account import BankAccount
from malipo.settlement.fee_and_minimum import LARGEST_AMOUNT
from malipo.settlement.settlement import Settlement
from malipo.settlement.settlement_request import settlement_request_of
from malipo.settlement.store import settlements
from malipo.validation.fields import Fields
from malipo_simulator.bank.bank import Bank, TakenFile
from malipo_simulator.bank.statement_formats import FORMATS
from tests.bank.samples import ACCOUNT
from tests.conftest import Merchant, make_merchant
from tests.operators.booking_steps import ASHA, JUMA
from tests.restore.reporting_worker import note_worker
from tests.settlement.settlement_steps import add_account

WITHOUT_LIMIT = 10**12
WHY = "The bank's staff have told us so on the phone"


@dataclass
class BankDesk:
    service: Service
    database: Database
    merchant: Merchant
    account: BankAccount
    folder: Path
    bank: Bank = field(default_factory=Bank)
    at: datetime | None = None  # the time of the desk; None: now
    limit: int = WITHOUT_LIMIT  # above it an import takes two

    @property
    def now(self) -> datetime:
        return self.at or clock.now()

    @property
    def today(self) -> date:
        return clock.day_of(self.now)

    async def requested(self, amount: int = 100_000, **how: Any) -> Settlement:
        merchant_id = how.pop("merchant_id", self.merchant.id)
        request = settlement_request_of(
            Fields({"amount": amount, **how}),
            merchant_id,
            key=None,
            largest=LARGEST_AMOUNT,
            created_by="key_1",
            now=self.now,
        )
        return (await self.service.settlements.create(request)).settlement

    async def gather(self, by: Actor = ASHA) -> GatheredFile:
        async with self.database.begin() as tx:
            return await gather_payout_file.gather(tx, self.bank.account, actor=by, now=self.now)

    async def approve(self, name: str, by: Actor = JUMA, *, seen: str | None = None) -> Proposal:
        async with self.database.begin() as tx:
            return await approve.approve(tx, name, reference_prefix="MLP", actor=by, now=self.now, seen=seen)

    async def reject(self, name: str, by: Actor = JUMA) -> Proposal:
        async with self.database.begin() as tx:
            return await approve.reject(tx, name, actor=by, now=self.now)

    async def code(self, name: str) -> str:
        async with self.database.begin() as tx:
            return await approve.find_code(tx, await proposals.lock_open(tx, name), now=self.now)

    async def file(self, name: str) -> PayoutFile:
        async with self.database.read() as connection:
            return await gather_payout_file.get_file(connection, name)

    async def approved(self, *amounts: int) -> tuple[PayoutFile, list[Settlement]]:
        """A file with settlements of these amounts, approved."""
        found = [await self.requested(each) for each in amounts]
        gathered = await self.gather()
        await self.approve(gathered.file.id)
        return await self.file(gathered.file.id), [await self.look(each) for each in found]

    async def worker_looks(self, worker_id: str = "wrk_1") -> None:
        async with self.database.begin() as tx:
            await note_worker(tx, [], worker_id=worker_id)

    async def download(self, name: str, by: Actor = JUMA) -> bytes:
        async with self.database.begin() as tx:
            found = await gather_payout_file.download(tx, name, actor=by, now=self.now)
        if found is None:
            raise Conflict(code=FileRefusal.NOT_MARKED)
        return found.content

    async def hand_in(self, name: str, day: date | None = None) -> TakenFile:
        return self.bank.take(await self.download(name), day or self.today)

    async def bring(
        self, first: date, last: date | None = None, *, format_: str = "camt053", by: Actor = ASHA, **how: Any
    ) -> BankImport:
        """Import the bank's statement of these days."""
        path = self.folder / f"{first}-{last or first}.{format_}"
        path.write_bytes(FORMATS[format_][1](self.bank, first, last or first))
        return await self.bring_file(path, by=by, **how)

    async def bring_file(self, path: Path, *, by: Actor = ASHA, **how: Any) -> BankImport:
        async with self.database.read() as connection:
            accounts = await payer_accounts.find_all(connection)
        [read] = read_file(path, accounts)
        limit = how.pop("limit", self.limit)
        async with self.database.begin() as tx:
            return await import_statement.import_statement(
                tx, read, approval_amount=limit, actor=by, now=self.now, **how
            )

    def move(self, amount: int, reference: str, text: str = "", *, day: date | None = None, key: str = "") -> None:
        """Money that comes in, or goes out, at the bank without a file."""
        self.bank.deposit(100 * amount, day or self.today, reference, text, end_to_end=key)

    async def another_merchant(self, number: str, *, wallet: int = 500_000) -> str:
        """With a bank account of its own. Returns its id."""
        other = await make_merchant(self.database, wallet=wallet, name=f"Duka {number}")
        await add_account(self.database, other.id, now=self.account.created_at, number=number)
        return other.id

    async def match(self) -> BankMatchingSummary:
        async with self.database.begin() as tx:
            await payer_accounts.lock(tx)
            return await match_bank_lines.match_bank_lines(tx, by=ASHA.name, now=self.now)

    async def void(
        self, name: str, *, refused: str | None = None, is_unseen: bool = False, by: Actor = ASHA
    ) -> Proposal:
        async with self.database.begin() as tx:
            reason = refused or "We have looked through the statements"
            return await void_payout_file.propose(
                tx,
                name,
                is_refused=refused is not None,
                is_unseen=is_unseen,
                reason=reason,
                actor=by,
                now=self.now,
            )

    async def refuse(self, name: str, *keys: str, by: Actor = ASHA) -> Proposal:
        async with self.database.begin() as tx:
            return await void_payout_file.propose_refusal(tx, name, keys, reason=WHY, actor=by, now=self.now)

    async def withdraw(self, statement_id: str, by: Actor = ASHA) -> Proposal:
        async with self.database.begin() as tx:
            return await withdraw_statement.propose(tx, statement_id, reason=WHY, actor=by, now=self.now)

    async def decide(self, exception: BankException, action: str, *, by: Actor = ASHA, **terms: Any) -> Decided:
        limit = terms.pop("limit", self.limit)
        is_single = terms.pop("is_single_operator", False)
        async with self.database.begin() as tx:
            return await decide_exception.begin(
                tx,
                exception.id,
                LineTerms(action=BankAction(action), **terms),
                reason=WHY,
                approval_amount=limit,
                reference_prefix="MLP",
                actor=by,
                now=self.now,
                is_single_operator=is_single,
            )

    async def exceptions(self) -> list[BankException]:
        async with self.database.read() as connection:
            return await lines.find_open_exceptions(connection)

    async def kinds(self) -> list[str]:
        return [str(each.kind) for each in await self.exceptions()]

    async def look(self, settlement: Settlement) -> Settlement:
        async with self.database.read() as connection:
            [found] = await settlements.find(connection, [settlement.id])
        return found

    async def statuses(self, *these: Settlement) -> list[str]:
        return [str((await self.look(each)).status) for each in these]

    async def database_rows(self, sql: str) -> list[Any]:
        """The first column."""
        async with self.database.read() as connection:
            return [row[0] for row in await connection.fetch(sql)]

    async def balances(self) -> dict[str, int]:
        """Of all accounts, after the checks have found nothing."""
        async with self.database.snapshot() as connection:
            assert [*await ledger_check.check(connection), *await transactions_check.check(connection)] == []
            assert await checks.wrong_lines(connection) == []
            return await ledger_check.balances(connection)


async def open_account(database: Database, account: PayerAccount = ACCOUNT) -> None:
    """Our account at the bank, which two operators have added."""
    async with database.begin() as tx:
        proposal = await add_payer_account.propose(tx, account, actor=ASHA, now=clock.now())
    async with database.begin() as tx:
        await approve.approve(tx, proposal.id, reference_prefix="MLP", actor=JUMA, now=clock.now())


def monday_long_ago() -> datetime:
    """The morning of a Monday that is four weeks ago, or longer: no holiday is in its two weeks."""
    day, calendar = clock.now() - timedelta(days=28), BankingDays()
    day = (day - timedelta(days=day.weekday())).replace(hour=8)
    while calendar.after(clock.day_of(day), 9) != clock.day_of(day) + timedelta(days=11):
        day -= timedelta(days=7)
    return day


@pytest.fixture
async def desk(service: Service, database: Database, merchant: Merchant, tmp_path: Path) -> BankDesk:
    """A merchant with TZS 1,000,000 and a bank account, and our own account. It is Monday, a long time ago."""
    account = await add_account(database, merchant.id, now=clock.now() - timedelta(days=120))
    await open_account(database)
    return BankDesk(service, database, merchant, account, tmp_path, at=monday_long_ago())
