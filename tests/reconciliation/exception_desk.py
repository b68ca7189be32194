"""Operators who decide about exceptions, in one process at one database."""

from collections.abc import Mapping

import pytest

from malipo import clock
from malipo.audit_log.actor import Actor
from malipo.db import Database
from malipo.reconciliation.exceptions.action import Action
from malipo.reconciliation.exceptions.resolve_exceptions import ResolveExceptions
from malipo.reconciliation.matching.exception import ReconciliationException
from malipo.settings import Settings
from tests.conftest import NO_LIMITS
from tests.reconciliation.statement_days import ASHA, JUMA, Entry, Statements

REASON = "The network's staff told us so on the phone"


class ExceptionDesk:
    """The operators, at a database."""

    def __init__(self, database: Database, approval_amount: int = 1_000_000) -> None:
        self.database = database
        settings = Settings(**NO_LIMITS, booking_approval_amount=approval_amount)
        self.resolve = ResolveExceptions.of(settings, clock.now)

    async def propose(
        self, found: ReconciliationException, action: Action, terms: Mapping[str, str] = {}, *, by: Actor = ASHA
    ) -> ReconciliationException:
        async with self.database.begin() as tx:
            return await self.resolve.propose(tx, found.id, action, terms, reason=REASON, actor=by, now=clock.now())

    async def approve(self, found: ReconciliationException, *, by: Actor = JUMA) -> ReconciliationException:
        async with self.database.begin() as tx:
            return await self.resolve.approve(tx, found.id, actor=by, now=clock.now())

    async def reject(self, found: ReconciliationException, *, by: Actor = JUMA) -> ReconciliationException:
        async with self.database.begin() as tx:
            return await self.resolve.reject(tx, found.id, actor=by, now=clock.now())

    async def undo(self, found: ReconciliationException, *, by: Actor = ASHA) -> ReconciliationException:
        async with self.database.begin() as tx:
            return await self.resolve.undo(tx, found.id, reason=REASON, actor=by, now=clock.now())


@pytest.fixture
def desk(statements: Statements) -> ExceptionDesk:
    return ExceptionDesk(statements.database)


async def a_stranger(statements: Statements, amount: int = 4_321, **changes: str) -> ReconciliationException:
    """A line that no payment of ours fits."""
    await statements.take(Entry("T1", amount, clock.now(), "Payment", **changes))
    [found] = await statements.open_exceptions()
    assert (found.kind, found.amount) == ("theirs_only", amount)
    return found
