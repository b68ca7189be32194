"""A request whose payment a restore has lost: its line, its adoption by operators, and its repeat by the merchant."""

from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from malipo import clock
from malipo.payments import network_keys
from malipo.payments.cases.resolution import OperatorFinding, ResolvedOutcome
from malipo.payments.cases.resolve import approve as approve_case
from malipo.payments.cases.resolve import propose as propose_case
from malipo.payments.initiate import InitiatedPayment
from malipo.payments.transaction import Transaction, Type
from malipo.reconciliation.exceptions.action import Action
from malipo.reconciliation.matching.exception import ExceptionState, ReconciliationException
from malipo.restore.store import installation
from tests.journeys import database_facts
from tests.journeys.concurrency import order
from tests.reconciliation.exception_desk import ExceptionDesk
from tests.reconciliation.statement_days import ASHA, JUMA, Entry, Statements

PHONE = "+255754000001"  # of orders, unless they say otherwise


@dataclass
class Lost:
    """A request whose payment a restore has lost, and which the network has paid."""

    statements: Statements
    desk: ExceptionDesk
    type: Type
    amount: int = 4_321
    key: str = "order-1001"

    @property
    def merchant_id(self) -> str:
        return self.statements.steps.merchant_id

    async def network_key(self) -> str:
        async with self.statements.database.read() as connection:
            secret = (await installation.get(connection)).key_secret
        return network_keys.derive(secret, self.merchant_id, self.type, self.key)

    async def on_statement(self, **changes: Any) -> ReconciliationException:
        """The exception of its line."""
        signed = self.amount if self.type is Type.COLLECTION else -self.amount
        given = {"key": await self.network_key(), "phone": PHONE} | changes
        await self.statements.take(Entry("QK1", signed, clock.now(), **given))
        [found] = await self.statements.open_exceptions()
        assert found.kind == "theirs_only"
        return found

    async def adopt(self, found: ReconciliationException, **terms: str) -> None:
        await self.propose(found, **terms)
        assert (await self.desk.approve(found)).state is ExceptionState.RESOLVED

    async def propose(self, found: ReconciliationException, **terms: str) -> None:
        await self.desk.propose(found, Action.ADOPT, {"merchant": self.merchant_id} | terms)

    async def repeat(self, **changes: Any) -> InitiatedPayment:
        """The merchant sends the lost request again."""
        amount = changes.pop("amount", self.amount)
        asked = order(self.merchant_id, self.type, amount, key=changes.pop("key", self.key))
        assert asked.draft is not None
        draft = replace(asked.draft, channel=self.statements.channel, **changes)
        return await self.statements.steps.service.payments.initiate(replace(asked, draft=draft))

    async def payments(self) -> int:
        return await database_facts.count(self.statements.database, "transactions")

    async def held(self) -> int:
        async with self.statements.database.read() as connection:
            return int(
                await connection.fetchval("SELECT available FROM wallets WHERE merchant_id = $1", self.merchant_id)
            )

    async def spendable(self) -> int:
        async with self.statements.database.read() as connection:
            sql = "SELECT available - owed FROM wallets WHERE merchant_id = $1"
            return int(await connection.fetchval(sql, self.merchant_id))

    async def check(self) -> None:
        """One line, one payment, and the float follows the statement."""
        assert await self.payments() == 1
        assert await self.statements.float_change() == await self.statements.statement_change()
        await self.statements.match()
        assert await self.statements.kinds() == []
        await self.statements.check_ledger()

    async def decide(self, payment: Transaction, outcome: ResolvedOutcome) -> None:
        """Two operators decide about a payout that waits because it resembles an adopted one."""
        finding = OperatorFinding(outcome, "The merchant says so on the telephone")
        async with self.statements.database.begin() as tx:
            await propose_case(tx, payment.reference, finding, actor=ASHA, approval_amount=1_000_000, now=clock.now())
        async with self.statements.database.begin() as tx:
            await approve_case(tx, payment.reference, actor=JUMA, now=clock.now())
