"""Payments and answers about them, step by step: malipo's use cases on a real database, without a network."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from malipo import clock, ids
from malipo.app.assemble import Service, assemble
from malipo.db import Database
from malipo.ledger import check as ledger_check
from malipo.networks.connector import Answer, Channel, Resubmit, Verdict
from malipo.payments.apply_network_answers import AnswerResult, AnswerToApply
from malipo.payments.cancel import Cancellation
from malipo.payments.claim_for_sending import ClaimedPayments, SendClaim
from malipo.payments.correction_moves import Correction
from malipo.payments.dispatch import AnswerSource, Dispatch, ReceivedAnswer
from malipo.payments.store import corrections, dispatches
from malipo.payments.transaction import Status, Transaction, Type
from tests.conftest import Merchant
from tests.journeys.concurrency import order

ROUTE = "mpesa"
PAIRS = ((Channel.MPESA, Type.COLLECTION), (Channel.MPESA, Type.DISBURSEMENT))
FEE = 30


def a_claim(**changes: Any) -> SendClaim:
    whole: dict[str, Any] = {
        "id": ids.mint("clm_", clock.now()),
        "connector": ROUTE,
        "routes": PAIRS,
        "most": 1000,
        "lease_seconds": 60,
        "lapse_seconds": 600,
    }
    return SendClaim(**whole | changes)


def a_report(
    transaction: Transaction, verdict: Verdict, act: AnswerSource = AnswerSource.QUERY, **how: Any
) -> AnswerToApply:
    trust = {name: how.pop(name) for name in ("is_trusted", "is_listed", "cannot_query") if name in how}
    resubmit = how.pop("resubmit", Resubmit.DUPLICATES_REFUSED)
    answer = Answer(verdict=verdict, **how)
    return AnswerToApply(
        id=ids.mint("hrg_", clock.now()),
        channels=[transaction.channel],
        key=transaction.network_key,
        received=ReceivedAnswer(connector=ROUTE, source=act, answer=answer, resubmit=resubmit, **trust),
    )


@dataclass
class PaymentSteps:
    """A merchant's payments over M-Pesa."""

    service: Service
    merchant_id: str

    @property
    def database(self) -> Database:
        return self.service.queries.database

    def ago(self, seconds: float) -> "PaymentSteps":
        """The same merchant's, so long ago."""
        then = timedelta(seconds=seconds)
        service = assemble(self.service.settings, self.database, clock=lambda: clock.now() - then)
        return PaymentSteps(service, self.merchant_id)

    async def charge_fees(self) -> None:
        """From now on every payment costs."""
        async with self.database.begin() as tx:
            for type_ in Type:
                await tx.execute(
                    "INSERT INTO tariffs VALUES ($1, $2, 'MPESA', 0, $3, 0, 0, NULL)", self.merchant_id, type_, FEE
                )

    async def open(self, type_: Type, amount: int = 1000, *, key: str | None = None) -> Transaction:
        asked = order(self.merchant_id, type_, amount, key=key)
        assert asked.draft is not None
        draft = replace(asked.draft, created_at=self.service.clock())
        return (await self.service.payments.initiate(replace(asked, draft=draft))).transaction

    async def open_many(self, type_: Type, number: int) -> list[Transaction]:
        """The oldest first."""
        return [await self.open(type_, 1000 + place) for place in range(number)]

    async def claim(self, **changes: Any) -> ClaimedPayments:
        return await self.service.network_work.claim_for_sending(a_claim(**changes))

    async def send(self, type_: Type, amount: int = 1000, *, lease_seconds: float = 60) -> Transaction:
        """A payment that is on its way to the network."""
        opened = await self.open(type_, amount)
        taken = await self.claim(lease_seconds=lease_seconds)
        [sent] = [each for each in taken.to_send if each.id == opened.id]
        return sent

    async def report(
        self, transaction: Transaction, verdict: Verdict, act: AnswerSource = AnswerSource.QUERY, **how: Any
    ) -> AnswerResult:
        settled = await self.service.network_work.apply_answer(a_report(transaction, verdict, act, **how))
        assert settled is not None
        return settled

    async def processing(self, type_: Type, amount: int = 1000) -> Transaction:
        """A payment that the network has, and has not decided."""
        sent = await self.send(type_, amount)
        return (await self.report(sent, Verdict.WAITING, AnswerSource.SEND)).transaction

    async def ended(self, type_: Type, status: Status, amount: int = 1000) -> Transaction:
        """A payment as its network ended it, or its merchant."""
        if status is Status.CANCELLED:
            opened = await self.open(type_, amount)
            return await self.service.payments.cancel(Cancellation(self.merchant_id, opened.id))
        sent = await self.send(type_, amount)
        verdict = Verdict.CONFIRMED if status is Status.COMPLETED else Verdict.REFUSED
        return (await self.report(sent, verdict, AnswerSource.SEND)).transaction

    async def ended_many(self, type_: Type, status: Status, amounts: Sequence[int]) -> list[Transaction]:
        """Payments as their network ended them, asked for and answered together: in a few commits."""
        opened = await asyncio.gather(*(self.open(type_, amount) for amount in amounts))
        sent = {each.id: each for each in (await self.claim()).to_send}
        verdict = Verdict.CONFIRMED if status is Status.COMPLETED else Verdict.REFUSED
        result = await asyncio.gather(*(self.report(sent[each.id], verdict, AnswerSource.SEND) for each in opened))
        return [each.transaction for each in result]

    async def contradicted(self, type_: Type, status: Status, amount: int = 1000) -> Transaction:
        """A payment whose network contradicts itself: first by a reply or callback, then by a query."""
        ended = await self.ended(type_, status, amount)
        says = Verdict.REFUSED if status is Status.COMPLETED else Verdict.CONFIRMED
        await self.report(ended, says, AnswerSource.CALLBACK, is_trusted=False)
        settled = await self.report(ended, says)
        assert settled.is_contradiction
        return settled.transaction

    async def dispatch(self, transaction: Transaction) -> Dispatch | None:
        async with self.database.begin() as tx:
            key = (transaction.channel, transaction.network_key)
            found = (await dispatches.lock(tx, [key]))[key].dispatch
        # How long ago things were is another time at every look.
        return None if found is None else replace(found, sent_seconds_ago=None, queued_seconds_ago=0)

    async def correction(self, transaction: Transaction) -> Correction | None:
        key = (transaction.merchant_id, transaction.id)
        async with self.database.read() as connection:
            return (await corrections.find(connection, [key])).get(key)

    async def wait(self, *transactions: Transaction, seconds: float) -> None:
        """As if these had been put into the queue, and sent, so much earlier, by the database's clock."""
        async with self.database.begin() as tx:
            await tx.execute(
                """
                UPDATE dispatches SET due_at = due_at - $2 * interval '1 second',
                                      queued_at = queued_at - $2 * interval '1 second',
                                      sent_at = sent_at - $2 * interval '1 second'
                WHERE transaction_id = ANY($1)
                """,
                of(transactions),
                float(seconds),
            )

    async def due_in_seconds(self, transaction: Transaction) -> float:
        async with self.database.read() as connection:
            return float(
                await connection.fetchval(
                    "SELECT extract(epoch FROM due_at - now()) FROM dispatches WHERE transaction_id = $1",
                    transaction.id,
                )
            )

    async def make_due(self, *transactions: Transaction) -> None:
        """Let the pause be over."""
        async with self.database.begin() as tx:
            await tx.execute(
                "UPDATE dispatches SET due_at = now() - interval '1 ms' WHERE transaction_id = ANY($1)",
                [each.id for each in transactions],
            )

    async def status(self, transaction: Transaction) -> Status:
        async with self.database.read() as connection:
            return Status(await connection.fetchval("SELECT status FROM transactions WHERE id = $1", transaction.id))

    async def balances(self) -> dict[str, int]:
        """Every account that is not empty."""
        async with self.database.snapshot() as connection:
            return {name: balance for name, balance in (await ledger_check.balances(connection)).items() if balance}


def of(transactions: Sequence[Transaction]) -> list[str]:
    return [each.id for each in transactions]


@pytest.fixture
def steps(service: Service, merchant: Merchant) -> PaymentSteps:
    return PaymentSteps(service, merchant.id)
