"""Operators who import statements' files, and decide about them, in one process at one database."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from malipo import clock
from malipo.audit_log.actor import Actor
from malipo.network_statements.profile import built_in
from malipo.payments.transaction import Status, Transaction, Type
from malipo.reconciliation.imports.import_statement import ImportResult, StatementImport, import_statement
from malipo.reconciliation.matching import import_approval
from malipo.reconciliation.matching.import_approval import WaitingList
from malipo.reconciliation.matching.match_statements import MatchingResult
from malipo.reconciliation.matching.report_evidence import approve_import
from tests.journeys import database_facts
from tests.payments.payment_steps import steps as steps
from tests.reconciliation.statement_days import ASHA, JUMA, Entry, Statements, line_of
from tests.reconciliation.statement_days import statements as statements

COLLECTION = Type.COLLECTION
MILLIONS = 8_000_000
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
