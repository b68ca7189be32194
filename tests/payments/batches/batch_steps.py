"""Batches, step by step: made, approved and cancelled by people and keys, on a real database without a network."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from malipo import clock
from malipo.accounts.four_eyes import COOLING_TIME
from malipo.app.assemble import Service
from malipo.audit_log.actor import Actor
from malipo.db import Database
from malipo.merchants.change_approval_rules import change_approval_rules
from malipo.merchants.store.approval_rules import ApprovalRules
from malipo.networks.connector import Channel, Type
from malipo.payments.batches import progress
from malipo.payments.batches.approve import Approval
from malipo.payments.batches.batch import Batch, BatchLine, BatchProgress, Requester
from malipo.payments.batches.cancel import BatchCancellation
from malipo.payments.batches.create import BatchRequest, MadeBatch
from malipo.payments.batches.request import batch_request_of
from malipo.payments.claim_for_sending import ClaimedPayments
from malipo.validation.fields import Fields
from tests.conftest import Merchant
from tests.payments.payment_steps import PAIRS, a_claim

ASHA = Requester("asha@duka.example", "asha@duka.example", Actor("asha@duka.example", "10.0.0.1"))
JUMA = Requester("juma@duka.example", "juma@duka.example", Actor("juma@duka.example", "10.0.0.2"))


def items(number: int, *, amount: int = 1000, channel: Channel = Channel.MPESA) -> list[dict[str, Any]]:
    """As a request has them, each to a number of its own."""
    return [
        {"amount": amount + place, "channel": channel.value, "recipientPhone": f"+25575{place:07d}"}
        for place in range(number)
    ]


@dataclass
class BatchSteps:
    service: Service
    merchant_id: str

    @property
    def database(self) -> Database:
        return self.service.queries.database

    def order(
        self,
        wanted: Sequence[dict[str, Any]],
        *,
        key: str | None = None,
        name: str = "Wages",
        requester: Requester = ASHA,
    ) -> BatchRequest:
        return batch_request_of(
            Fields({"name": name, "items": list(wanted)}),
            self.merchant_id,
            key=key,
            terms=self.service.payments.terms,
            now=self.service.clock(),
            requester=requester,
        )

    async def make(self, wanted: Sequence[dict[str, Any]] | int = 3, **changes: Any) -> Batch:
        return (await self.try_to_make(wanted, **changes)).batch

    async def try_to_make(self, wanted: Sequence[dict[str, Any]] | int = 3, **changes: Any) -> MadeBatch:
        order = self.order(items(wanted) if isinstance(wanted, int) else wanted, **changes)
        return await self.service.batches.create(order)

    async def approve(self, batch: Batch, requester: Requester = JUMA) -> Batch:
        return await self.service.batches.approve(Approval(self.merchant_id, batch.id, requester))

    async def cancel(self, batch: Batch, requester: Requester = ASHA) -> Batch:
        return await self.service.batches.cancel(BatchCancellation(self.merchant_id, batch.id, requester))

    async def running(self, wanted: Sequence[dict[str, Any]] | int = 3, **changes: Any) -> Batch:
        return await self.approve(await self.make(wanted, **changes))

    async def look(self, batch: Batch) -> BatchProgress:
        async with self.database.snapshot() as connection:
            found = await progress.find(connection, self.merchant_id, batch.id)
        assert found is not None
        return found

    async def lines(self, batch: Batch) -> list[BatchLine]:
        current = (await self.look(batch)).batch
        async with self.database.snapshot() as connection:
            return await progress.find_lines(connection, current, first=0, limit=current.item_count)

    async def set_rules(self, *, takes_two: bool = True, above: int | None = None) -> None:
        """As they are when what is weaker has waited."""
        rules, owner = ApprovalRules(takes_two, above), Actor("owner@duka.example", "10.0.0.3")
        async with self.database.begin() as tx:
            await change_approval_rules(tx, self.merchant_id, rules, actor=owner, now=clock.now() - COOLING_TIME)

    async def claim(self, most: int = 1000, routes: Sequence[tuple[Channel, Type]] = PAIRS) -> ClaimedPayments:
        return await self.service.network_work.claim_for_sending(a_claim(most=most, routes=routes))

    async def actions(self) -> list[tuple[str, str]]:
        """Who did what, oldest first."""
        async with self.database.read() as connection:
            rows = await connection.fetch(
                "SELECT actor, action FROM audit_log WHERE merchant_id = $1 AND action LIKE 'batch.%' ORDER BY id",
                self.merchant_id,
            )
        return [(row["actor"], row["action"]) for row in rows]


@pytest.fixture
def batches(service: Service, merchant: Merchant) -> BatchSteps:
    return BatchSteps(service, merchant.id)
