"""Refunds step by step: malipo's use cases on a real database, without a network."""

from dataclasses import dataclass
from typing import Any

import pytest

from malipo.app.assemble import Service
from malipo.networks.connector import Verdict
from malipo.payments.cancel import Cancellation
from malipo.payments.dispatch import AnswerSource
from malipo.payments.initiate import InitiatedPayment, PaymentRequest
from malipo.payments.refunds.refund_request import refund_request_of
from malipo.payments.store import transactions
from malipo.payments.transaction import Status, Transaction, Type
from malipo.validation.fields import Fields
from tests.conftest import Merchant
from tests.payments.payment_steps import PaymentSteps


@dataclass
class RefundSteps(PaymentSteps):
    async def collected(self, amount: int = 5000) -> Transaction:
        """A collection that the customer has paid."""
        return await self.ended(Type.COLLECTION, Status.COMPLETED, amount)

    def order(self, collection: Transaction, amount: int | None = None, *, key: str | None = None) -> PaymentRequest:
        return refund_request_of(
            Fields({"amount": amount, "reason": "Returned"}),
            collection,
            key=key,
            terms=self.service.payments.terms,
            now=self.service.clock(),
        )

    async def ask(
        self, collection: Transaction, amount: int | None = None, *, key: str | None = None
    ) -> InitiatedPayment:
        return await self.service.payments.initiate(self.order(collection, amount, key=key))

    async def refund(self, collection: Transaction, amount: int | None = None) -> Transaction:
        """A refund that is PENDING."""
        return (await self.ask(collection, amount)).transaction

    async def sent(self, collection: Transaction, amount: int | None = None) -> Transaction:
        """A refund that is on its way to the network."""
        opened = await self.refund(collection, amount)
        [sent] = [each for each in (await self.claim()).to_send if each.id == opened.id]
        return sent

    async def refunded(
        self, collection: Transaction, amount: int | None = None, *, status: Status = Status.COMPLETED
    ) -> Transaction:
        """A refund that has ended."""
        if status is Status.CANCELLED:
            opened = await self.refund(collection, amount)
            return await self.service.payments.cancel(Cancellation(self.merchant_id, opened.id))
        verdict = Verdict.CONFIRMED if status is Status.COMPLETED else Verdict.REFUSED
        return (await self.report(await self.sent(collection, amount), verdict, AnswerSource.SEND)).transaction

    async def contradict(self, transaction: Transaction, *, is_paid: bool) -> None:
        """The network reports the opposite, first by an unsigned callback, and then when it is asked."""
        says = Verdict.CONFIRMED if is_paid else Verdict.REFUSED
        await self.report(transaction, says, AnswerSource.CALLBACK, is_trusted=False)
        assert (await self.report(transaction, says)).is_contradiction

    async def seen(self, collection: Transaction) -> Transaction:
        """As the merchant reads it."""
        return await self.seen_by_id(collection.id)

    async def seen_by_id(self, id_: str) -> Transaction:
        found = await self.service.queries.read(lambda connection: transactions.get(connection, self.merchant_id, id_))
        assert found is not None
        return found

    async def refunded_amount(self, collection: Transaction) -> int:
        return sum(each.amount for each in (await self.seen(collection)).refunds if each.is_paid)

    async def events(self, collection: Transaction) -> list[tuple[str, int]]:
        """The events of a payment, with the ordinals."""
        async with self.database.read() as connection:
            rows = await connection.fetch(
                "SELECT event, ordinal FROM events WHERE transaction_id = $1 ORDER BY id", collection.id
            )
        return [(row["event"], row["ordinal"]) for row in rows]

    async def value(self, statement: str, *arguments: Any) -> Any:
        async with self.database.read() as connection:
            return await connection.fetchval(statement, *arguments)


@pytest.fixture
def steps(service: Service, merchant: Merchant) -> RefundSteps:
    return RefundSteps(service, merchant.id)
