"""Operators at the terminal, with payments that no network settles."""

from typing import Any

import pytest

from malipo import clock, ids
from malipo.app.assemble import Service
from malipo.audit_log import store as audit_log
from malipo.networks.connector import Verdict
from malipo.operators import store as operators
from malipo.payments.transaction import Status, Transaction, Type
from tests.conftest import Merchant
from tests.journeys.operator_commands import Said
from tests.journeys.operator_commands import malipo as run
from tests.payments.payment_steps import PaymentSteps
from tests.restore.reporting_worker import note_worker

EVIDENCE = "Receipt QK12AB on the statement of 15 November"
CONNECTED = {"mpesa_base_url": "https://openapi.example.com"}
PAYOUT, COLLECTION = Type.DISBURSEMENT, Type.COLLECTION


class Desk:
    """Where operators sit."""

    def __init__(self, steps: PaymentSteps, database_url: str) -> None:
        self.steps = steps
        self._database_url = database_url
        self.settings: dict[str, Any] = dict(CONNECTED)

    async def __call__(self, *arguments: str, by: str | None = None) -> Said:
        more = self.settings | ({"operator": by} if by is not None else {})
        return await run("payments", *arguments, database_url=self._database_url, **more)

    async def output_of(self, *arguments: str, by: str | None = None) -> str:
        """What is printed, if it is done."""
        said = await self(*arguments, by=by)
        assert (said.code, said.err) == (0, ""), said
        return said.out

    async def refused(self, *arguments: str, by: str | None = None) -> str:
        """The one sentence, if it is not."""
        said = await self(*arguments, by=by)
        assert (said.code, said.out) == (2, ""), said
        [sentence] = said.err.splitlines()
        assert sentence.startswith("malipo: ")
        return sentence.removeprefix("malipo: ")

    async def json(self, *arguments: str, by: str | None = None) -> Any:
        said = await self(*arguments, "--json", by=by)
        assert (said.code, said.err) == (0, ""), said
        return said.json

    async def worker_reports(self, *routes: str) -> None:
        """A worker runs, and carries these."""
        async with self.steps.database.begin() as tx:
            await note_worker(tx, routes)

    async def audit(self) -> list[dict[str, Any]]:
        """What was done to payments, newest first, as the command says it."""
        said = await run("audit", "--json", database_url=self._database_url)
        return [deed for deed in said.json if deed["what"].startswith("payment.")]

    async def deeds(self) -> list[tuple[str, str]]:
        """What was done to payments and by whom, as the database has it."""
        async with self.steps.database.read() as connection:
            found = await audit_log.find(connection, limit=100)
        return sorted((deed.action, deed.actor) for deed in found if deed.action.startswith("payment."))


@pytest.fixture
async def desk(service: Service, merchant: Merchant, database_url: str) -> Desk:
    """With two operators, and fees."""
    steps = PaymentSteps(service, merchant.id)
    await steps.charge_fees()
    async with service.queries.database.begin() as tx:
        for name in ("asha", "juma"):
            now = clock.now()
            await operators.insert_operator(tx, ids.mint("opr_", now), name, now=now)
    return Desk(steps, database_url)


async def cases_of_each_kind(steps: PaymentSteps) -> dict[str, Transaction]:
    """One payment of each kind that is on the list."""
    slow = await steps.ago(3700).processing(PAYOUT, 250_000)
    differs = await steps.processing(COLLECTION)
    await steps.report(differs, Verdict.CONFIRMED, amount=999, code="INS-0", detail="Request processed")
    paid = await steps.contradicted(PAYOUT, Status.FAILED, 5000)
    unpaid = await steps.contradicted(COLLECTION, Status.COMPLETED)
    return {"slow": slow, "differs": differs, "paid": paid, "unpaid": unpaid}


async def resolve_by_both(desk: Desk, payment: Transaction, truth: str) -> str:
    """What the second operator is refused. The proposal is taken back."""
    await desk.json("resolve", payment.id, truth, "--evidence", EVIDENCE, by="asha")
    refused = await desk.refused("approve", payment.id, "--here", by="juma")
    await desk.json("reject", payment.id, by="asha")
    return refused
