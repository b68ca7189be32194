"""A merchant at /dashboard/transactions, with payments in every status."""

import itertools
import re
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pytest
from msgspec.structs import replace

from malipo import clock, ids
from malipo.app.assemble import Service
from malipo.db import Database
from malipo.ledger.store import wallets
from malipo.merchants.roles import Role
from malipo.payments.status_writer import StatusChange
from malipo.payments.store import transactions
from malipo.payments.transaction import Cause, Status, Transaction, Type
from tests.conftest import Merchant, Running, make_merchant
from tests.dashboard.page_client import Seen, Surfer, add_person, surfing
from tests.journeys.concurrency import order
from tests.status_changes import change_status

PATH = "/dashboard/transactions"
numbers = itertools.count(1)
ROW = re.compile(r'<a href="/dashboard/transactions/(txn_[0-9a-z]{26})">')

WAYS: dict[Status, tuple[Cause, ...]] = {
    Status.PENDING: (),
    Status.PROCESSING: (Cause.SUBMITTED,),
    Status.COMPLETED: (Cause.SUBMITTED, Cause.CONFIRMED),
    Status.FAILED: (Cause.SUBMITTED, Cause.REFUSED),
    Status.CANCELLED: (Cause.WITHDRAWN,),
}


@dataclass
class TransactionPages:
    """A merchant with TZS 1,000,000, and its owner in front of the pages."""

    service: Service
    merchant: Merchant
    surfer: Surfer
    made: list[Transaction] = field(default_factory=list)

    async def make(
        self,
        type_: Type = Type.COLLECTION,
        status: Status = Status.PENDING,
        *,
        at: datetime | None = None,
        amount: int = 1000,
        receipt: str = "NET-42",
        **values: Any,
    ) -> Transaction:
        """A transaction, of TZS 1,000 if no amount is given, that has come to this status."""
        at = at or clock.now()
        asked = order(self.merchant.id, type_, amount)
        assert asked.draft is not None
        draft = replace(asked.draft, created_at=at, id=ids.mint("txn_", at), **values)
        made = (await self.service.payments.initiate(replace(asked, draft=draft))).transaction
        for cause in WAYS[status]:
            outcome = await change_status(self.service, self._change(made, cause, receipt))
            assert outcome is not None
            made = outcome.transaction
        self.made.append(made)
        return made

    def _change(self, made: Transaction, cause: Cause, receipt: str) -> StatusChange:
        learned: dict[str, str] = {}
        if cause is Cause.CONFIRMED:
            learned = {"provider_reference": receipt}
        elif cause is Cause.REFUSED:
            learned = {"failure_code": "declined", "failure_reason": "The customer declined the payment."}
        return StatusChange(merchant_id=self.merchant.id, transaction_id=made.id, cause=cause, **learned)

    async def listed(self, query: str = "") -> list[str]:
        seen = await self.surfer.get(PATH + query)
        assert seen.status == 200, seen.words
        return rows_in(seen)

    async def now(self, made: Transaction) -> Transaction:
        async with self.service.queries.database.read() as connection:
            found = await transactions.get(connection, self.merchant.id, made.id)
        assert found is not None
        return found

    async def available(self) -> int:
        async with self.service.queries.database.read() as connection:
            return (await wallets.get(connection, self.merchant.id))[0].available


def rows_in(seen: Seen) -> list[str]:
    return ROW.findall(seen.text)


def link_in(seen: Seen, rel: str) -> str | None:
    found = re.search(rf'rel="{rel}" href="([^"]+)"', seen.text)
    return found[1].replace("&amp;", "&") if found else None


async def logged_in(surfer: Surfer, database: Database, merchant_id: str, role: Role = Role.OWNER) -> Surfer:
    person = await add_person(database, merchant_id, f"{role}+{secrets.token_hex(6)}@example.com", role)
    assert (await surfer.log_in(person.email)).status == 303
    return surfer


@pytest.fixture
async def surfer(running: Running) -> AsyncIterator[Surfer]:
    async with surfing(running.url, seen_from=f"10.40.0.{next(numbers)}") as surfer:
        yield surfer


@pytest.fixture
async def shop(database: Database, service: Service, surfer: Surfer) -> TransactionPages:
    merchant = await make_merchant(database, wallet=1_000_000)
    return TransactionPages(service, merchant, await logged_in(surfer, database, merchant.id))
