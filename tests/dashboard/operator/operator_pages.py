"""Operators at /operator, and payments that no network settles."""

import re
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cache

import pytest
from argon2 import PasswordHasher

from malipo import clock, ids
from malipo.app.assemble import Service
from malipo.audit_log import store as audit_log
from malipo.db import Database
from malipo.ledger.store import wallets
from malipo.operators import store as operators
from malipo.operators import store as sessions
from malipo.payments.status_writer import StatusChange
from malipo.payments.transaction import Cause, Status, Transaction, Type
from tests.conftest import Merchant, Running, make_merchant
from tests.dashboard.page_client import PASSWORD, Seen, Surfer, surfing
from tests.journeys.concurrency import order
from tests.payments.payment_steps import PaymentSteps
from tests.status_changes import change_status

EVIDENCE = "Receipt QK12AB on the statement of 15 November"
PAYOUT, COLLECTION = Type.DISBURSEMENT, Type.COLLECTION
PROPOSAL = re.compile(r'name="proposal" value="(res_[0-9a-z]+)"')


@cache
def _password_hash() -> str:
    return PasswordHasher(time_cost=1, memory_cost=64, parallelism=1).hash(PASSWORD)


@dataclass
class Operator:
    """Somebody who runs the service, in front of a browser."""

    name: str
    address: str
    surfer: Surfer

    async def log_in(self, name: str | None = None, password: str = PASSWORD) -> Seen:
        seen = await self.surfer.post("/operator/login", {"name": name or self.name, "password": password})
        if seen.status == 303:
            await self.surfer.get("/operator/networks")  # whatever has a form has the token
        return seen

    async def look(self, payment: Transaction) -> Seen:
        seen = await self.surfer.get(f"/operator/cases/{payment.reference}")
        assert seen.status == 200, seen.words
        return seen

    async def propose(self, payment: Transaction, outcome: str, **fields: str) -> Seen:
        whole = {"status": "PROCESSING", "outcome": outcome, "evidence": EVIDENCE} | fields
        return await self.surfer.post(f"/operator/cases/{payment.reference}/propose", whole)

    async def decide(self, act: str, payment: Transaction, proposal: str) -> Seen:
        fields = {"proposal": proposal, "seen": seen_on(await self.look(payment))}
        return await self.surfer.post(f"/operator/cases/{payment.reference}/{act}", fields)

    async def approve(self, payment: Transaction) -> Seen:
        """What stands on the page now."""
        return await self.decide("approve", payment, proposal_on(await self.look(payment)))


def seen_on(seen: Seen) -> str:
    """The code of what stands on the page, if it has a form to approve it."""
    found = re.search(r'name="seen" value="(\w+)"', seen.text)
    return found[1] if found else ""


def proposal_on(seen: Seen) -> str:
    found = PROPOSAL.search(seen.text)
    assert found, seen.words
    return found[1]


@dataclass
class OperatorPages:
    service: Service
    running: Running
    merchant: Merchant
    stack: AsyncExitStack

    async def browser(self, name: str = "") -> Operator:
        address = f"10.{secrets.randbelow(250)}.{secrets.randbelow(250)}.{1 + secrets.randbelow(250)}"
        surfer = await self.stack.enter_async_context(surfing(self.running.url, seen_from=address))
        return Operator(name, address, surfer)

    async def hire(self, name: str, *, password_hash: str | None = None) -> Operator:
        """An operator who has not logged in yet."""
        operator = await self.browser(f"{name}.{secrets.token_hex(4)}")
        async with self.service.queries.database.begin() as tx:
            id_ = ids.mint("opr_", clock.now())
            assert await operators.insert_operator(tx, id_, operator.name, now=clock.now())
            await sessions.set_password(tx, id_, password_hash or _password_hash())
        return operator

    async def operator(self, name: str) -> Operator:
        operator = await self.hire(name)
        assert (await operator.log_in()).to == "/operator"
        return operator

    async def late(self, type_: Type = PAYOUT, amount: int = 1000) -> Transaction:
        """A payment that its network has had for a day, and says nothing of."""
        asked = order(self.merchant.id, type_, amount)
        made = (await self.service.payments.initiate(asked)).transaction
        change = StatusChange(merchant_id=self.merchant.id, transaction_id=made.id, cause=Cause.SUBMITTED)
        outcome = await change_status(self.service, change)
        assert outcome is not None
        async with self.service.queries.database.begin() as tx:
            await tx.execute(
                "UPDATE transactions SET processing_at = processing_at - interval '1 day', "
                "created_at = created_at - interval '1 day' WHERE merchant_id = $1 AND id = $2",
                self.merchant.id,
                made.id,
            )
        return outcome.transaction

    async def status(self, payment: Transaction) -> Status:
        return await PaymentSteps(self.service, self.merchant.id).status(payment)

    async def available(self) -> int:
        async with self.service.queries.database.read() as connection:
            return (await wallets.get(connection, self.merchant.id))[0].available

    async def deeds(self) -> list[tuple[str, str, str]]:
        """What was done about this merchant's payments, oldest first: what, who, from where."""
        async with self.service.queries.database.read() as connection:
            found = await audit_log.find(connection, merchant_id=self.merchant.id, limit=100)
        return [
            (each.action, each.actor, each.address) for each in reversed(found) if each.action.startswith("payment.")
        ]


@pytest.fixture
async def operator_pages(service: Service, running: Running, database: Database) -> AsyncIterator[OperatorPages]:
    merchant = await make_merchant(database, wallet=10_000, name="Duka <b>la</b> Juma")
    async with AsyncExitStack() as stack:
        yield OperatorPages(service, running, merchant, stack)
