"""Links, step by step: made, pressed, paid and counted, on a real database without a network."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from malipo.app.assemble import Service
from malipo.links.cancel import LinkCancellation
from malipo.links.link import LatePayment, Link
from malipo.links.link_request import link_request_of
from malipo.links.press import PressResult
from malipo.links.press_request import Press
from malipo.links.store import links
from malipo.networks.connector import Channel, Verdict
from malipo.outbox.event import Event
from malipo.outbox.store import PaymentEvent
from malipo.payments.dispatch import AnswerSource
from malipo.payments.store import transactions
from malipo.payments.transaction import Status, Transaction
from malipo.validation.fields import Fields
from malipo.worker.link_counter import count_links
from tests.conftest import Merchant
from tests.payments.payment_steps import PaymentSteps

ASHA, JUMA, NEEMA = "+255754000100", "+255754000200", "+255754000300"


@dataclass
class LinkSteps(PaymentSteps):
    @property
    def links(self) -> Any:
        return self.service.links

    async def make(self, *, key: str | None = None, **fields: Any) -> Link:
        order = link_request_of(
            Fields({"amount": 25_000, "description": "Order 1042"} | fields),
            self.merchant_id,
            key=key,
            terms=self.service.payments.terms,
            now=self.service.clock(),
            created_by="key_1",
        )
        return (await self.service.links.create(order)).link

    async def press(self, link: Link, phone: str = ASHA, **how: Any) -> PressResult:
        how = {"channel": Channel.MPESA} | how
        return await self.service.links.press(Press(code=link.code, phone=phone, **how))

    async def sent(self, link: Link, phone: str = ASHA, **how: Any) -> Transaction:
        """An attempt whose prompt is on the phone."""
        pressed = await self.press(link, phone, **how)
        await self.claim()
        await self.report(pressed.transaction, Verdict.WAITING, AnswerSource.SEND)
        return pressed.transaction

    async def answer(self, payment: Transaction, status: Status = Status.COMPLETED) -> None:
        verdict = Verdict.CONFIRMED if status is Status.COMPLETED else Verdict.REFUSED
        await self.report(payment, verdict, AnswerSource.SEND)

    async def contradict(self, payment: Transaction, verdict: Verdict) -> None:
        """Its network says something else after the end: by a callback, and to the query that it makes due."""
        await self.report(payment, verdict, AnswerSource.CALLBACK, is_trusted=False)
        await self.report(payment, verdict)

    async def paid(self, link: Link, phone: str = ASHA, **how: Any) -> Transaction:
        payment = await self.sent(link, phone, **how)
        await self.answer(payment)
        return payment

    async def events_of(self, payment: Transaction) -> list[PaymentEvent]:
        """Its events, as they were written."""
        async with self.database.read() as connection:
            rows = await connection.fetch(
                "SELECT id, merchant_id, transaction_id, event, body, created_at FROM events WHERE transaction_id = $1",
                payment.id,
            )
        return [PaymentEvent(**dict(row) | {"event": Event(row["event"])}) for row in rows]

    async def cancel(self, link: Link) -> Link:
        return await self.service.links.cancel(LinkCancellation(self.merchant_id, link.id, "key_1"))

    async def count(self) -> None:
        while await count_links(self.database, self.service.clock):
            pass

    async def look(self, link: Link) -> Link:
        async with self.database.read() as connection:
            found = await links.get(connection, self.merchant_id, link.id)
        assert found is not None
        return found

    async def late(self, link: Link) -> Sequence[LatePayment]:
        async with self.database.read() as connection:
            return (await links.find_late(connection, [(self.merchant_id, link.id)])).get(
                (self.merchant_id, link.id), []
            )

    async def payment(self, payment: Transaction) -> Transaction:
        async with self.database.read() as connection:
            found = await transactions.get(connection, self.merchant_id, payment.id)
        assert found is not None
        return found

    async def payments(self) -> list[Transaction]:
        """All of the merchant, the oldest first."""
        async with self.database.read() as connection:
            rows = await connection.fetch(
                "SELECT id FROM transactions WHERE merchant_id = $1 ORDER BY id", self.merchant_id
            )
            found = await transactions.find_by_ids(connection, self.merchant_id, [row["id"] for row in rows])
        return sorted(found, key=lambda each: each.id)

    async def events(self) -> list[tuple[str, str]]:
        """Those of links, with the payment that each is about, in the order in which they were written."""
        async with self.database.read() as connection:
            rows = await connection.fetch("SELECT event, transaction_id FROM link_events ORDER BY created_at, id")
        return [(row["event"], row["transaction_id"]) for row in rows]

    async def end_prompts(self) -> None:
        """The prompts that were sent are over, and nobody knows their outcome."""
        async with self.database.begin() as tx:
            # In the order in which payments are locked, else two of these at once may wait for each other.
            await tx.execute("SELECT FROM transactions ORDER BY id FOR UPDATE")
            await tx.execute("UPDATE link_attempts SET pressed_at = pressed_at - interval '1 hour'")
            await tx.execute(
                "UPDATE transactions SET created_at = created_at - interval '1 hour', "
                "processing_at = processing_at - interval '1 hour'"
            )
            await tx.execute("UPDATE dispatches SET sent_at = sent_at - interval '1 hour'")

    async def expire(self, link: Link) -> None:
        async with self.database.begin() as tx:
            await tx.execute("UPDATE links SET expires_at = now() - interval '1 millisecond' WHERE id = $1", link.id)


@pytest.fixture
def steps(service: Service, merchant: Merchant) -> LinkSteps:
    return LinkSteps(service, merchant.id)
