"""Operators who import statements' files, and decide about them, in one process at one database."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from malipo import clock
from malipo.approvals import store as approvals
from malipo.approvals.act_rules import COUNTED
from malipo.audit_log.actor import Actor
from malipo.network_statements.profile import built_in
from malipo.payments.transaction import Status, Transaction, Type
from malipo.reconciliation.imports.import_statement import ImportResult, StatementImport, import_statement
from malipo.reconciliation.imports.withdraw_statement import WithdrawStatements
from malipo.reconciliation.matching import import_approval
from malipo.reconciliation.matching.import_approval import WaitingList
from malipo.reconciliation.matching.match_statements import MatchingResult
from malipo.reconciliation.matching.report_evidence import approve_import
from tests.journeys import database_facts
from tests.operators.booking_steps import NEEMA
from tests.payments.payment_steps import steps as steps
from tests.reconciliation.statement_days import ASHA, JUMA, Entry, Statements, line_of
from tests.reconciliation.statement_days import statements as statements

COLLECTION = Type.COLLECTION
MILLIONS = 8_000_000
WITHIN_LIMIT = 300_000  # an operator may move it alone
WHY = "The network's portal has no such line"


class ImportDesk:
    """Operators who bring files, and decide about them."""

    def __init__(self, statements: Statements) -> None:
        self.statements = statements
        self.database = statements.database

    async def bring(self, path: Path, by: Actor = ASHA, *, account: str = "") -> ImportResult:
        async with self.database.begin() as tx:
            return await import_statement(
                tx,
                StatementImport(
                    path,
                    channel=self.statements.channel,
                    account=account,
                    profile=built_in()["generic"],
                    is_new_account=True,
                ),
                actor=by,
                now=clock.now(),
            )

    async def take(
        self, *payments: Transaction, by: Actor = ASHA, amount: int = 1_000_000
    ) -> tuple[str, MatchingResult]:
        done = await self.bring(self.statements.write(*(line_of(each) for each in payments)), by)
        return done.file.id, await self.statements.match(amount)

    async def waiting(self) -> list[WaitingList]:
        async with self.database.read() as connection:
            return await import_approval.find_open(connection)

    async def approve(self, file_id: str, by: Actor = JUMA, **how: Any) -> None:
        async with self.database.begin() as tx:
            await approve_import(tx, self.statements.apply_answers(), file_id, actor=by, now=clock.now(), **how)

    async def reject(self, file_id: str, by: Actor = JUMA) -> None:
        async with self.database.begin() as tx:
            await import_approval.reject(tx, file_id, actor=by, now=clock.now())

    async def wallet(self) -> int:
        return (await database_facts.wallet(self.database, self.statements.steps.merchant_id))[0]


@pytest.fixture
def desk(statements: Statements) -> ImportDesk:
    return ImportDesk(statements)


async def failed(desk: ImportDesk, amount: int = MILLIONS) -> Transaction:
    return await desk.statements.steps.ended(COLLECTION, Status.FAILED, amount)


async def fees(desk: ImportDesk) -> int:
    """What was charged by networks, by the ledger."""
    return (await desk.statements.steps.balances()).get("network_fees", 0)


def fee(amount: int, receipt: str = "F1", details: str = "Transaction fee") -> Entry:
    return Entry(receipt, -amount, clock.now() - timedelta(hours=1), details)


async def import_lines(desk: ImportDesk, by: Actor, *entries: Entry, amount: int = 1_000_000, **how: Any) -> str:
    """Import a file without balances, as the worker fetches them, and match it. Returns its id."""
    ends = clock.now() + timedelta(days=3 + desk.statements.files)
    options: dict[str, Any] = {"has_balances": False, "ends": ends} | how
    file = (await desk.bring(desk.statements.write(*entries, **options), by)).file
    await desk.statements.match(amount)
    return file.id


async def withdraw_import(desk: ImportDesk, file_id: str) -> None:
    """By two operators."""
    acts = WithdrawStatements(1_000_000)
    async with desk.database.begin() as tx:
        await acts.propose_withdrawal(tx, file_id, reason=WHY, actor=JUMA, now=clock.now())
    async with desk.database.begin() as tx:
        await acts.approve(tx, file_id, actor=NEEMA, now=clock.now())
    await desk.statements.match()


async def moved_alone(desk: ImportDesk, by: Actor = ASHA) -> int:
    async with desk.database.read() as connection:
        return await approvals.sum_moved_alone(connection, by.name, since=clock.now() - COUNTED)
