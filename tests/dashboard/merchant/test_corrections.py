"""The merchant's pages after a network has contradicted its earlier report: the wallet, the payment, the spendable
amount."""

import itertools
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from malipo import clock
from malipo.app.assemble import Service
from malipo.audit_log.actor import Actor
from malipo.dashboard.merchant.transaction_detail import _CORRECTED
from malipo.db import Database
from malipo.networks.connector import Channel, Verdict
from malipo.payments.cases import resolve
from malipo.payments.cases.resolution import OperatorFinding, ResolvedOutcome
from malipo.payments.transaction import CorrectionReason, Status, Transaction, Type
from tests.conftest import Running, make_merchant
from tests.dashboard.page_client import Seen, Surfer, add_person, surfing
from tests.payments.payment_steps import PaymentSteps

PAYOUT, COLLECTION = Type.DISBURSEMENT, Type.COLLECTION
EVIDENCE = "Receipt QK12AB on the statement of 15 November"
_names = itertools.count(1)


@dataclass
class Shop:
    """A merchant with TZS 10,000 who pays fees, and its owner in front of the pages."""

    steps: PaymentSteps
    surfer: Surfer

    async def page(self, payment: Transaction) -> Seen:
        return await self.surfer.get(f"/dashboard/transactions/{payment.id}")

    async def resolve(self, payment: Transaction, outcome: ResolvedOutcome, *, is_waived: bool = False) -> None:
        one, other = (Actor(f"operator {next(_names)}", "here") for _ in range(2))
        finding = OperatorFinding(outcome, EVIDENCE, is_waived=is_waived)
        async with self.steps.database.begin() as tx:
            await resolve.propose(tx, payment.reference, finding, actor=one, approval_amount=1_000_000, now=clock.now())
            await resolve.approve(tx, payment.reference, actor=other, now=clock.now())


@pytest.fixture
async def shop(service: Service, running: Running, database: Database) -> AsyncIterator[Shop]:
    merchant = await make_merchant(database, wallet=10_000)
    steps = PaymentSteps(service, merchant.id)
    await steps.charge_fees()
    person = await add_person(database, merchant.id, f"owner+{secrets.token_hex(6)}@example.com")
    async with surfing(running.url) as surfer:
        assert (await surfer.log_in(person.email)).status == 303
        yield Shop(steps, surfer)


async def test_a_wallet_that_owes_nothing_does_not_speak_of_it(shop: Shop) -> None:
    await shop.steps.ended(PAYOUT, Status.FAILED)
    for path in ("/dashboard/wallet", "/dashboard", "/dashboard/payout"):
        seen = await shop.surfer.get(path)
        assert "owed" not in seen.words.lower()


async def test_what_is_owed_stands_beside_what_can_be_paid_out(shop: Shop) -> None:
    await shop.steps.contradicted(PAYOUT, Status.FAILED, 4000)
    wallet = (await shop.surfer.get("/dashboard/wallet")).words
    assert "Available TZS 10,000 You can pay out TZS 5,970 now: the rest is owed." in wallet
    assert "Owed TZS 4,030 A network reversed its reported result of a payment." in wallet
    for path in ("/dashboard", "/dashboard/payout"):
        assert "You can pay out TZS 5,970 now: the rest is owed." in (await shop.surfer.get(path)).words


async def test_what_is_owed_cannot_be_paid_out(shop: Shop) -> None:
    await shop.steps.contradicted(PAYOUT, Status.FAILED, 4000)
    form = {"channel": str(Channel.MPESA), "phone": "0754000100", "key": "k" * 20}
    refused = await shop.surfer.post("/dashboard/payout", form | {"amount": "5941"})
    assert refused.status == 400
    assert "You need TZS 1 more: the wallet holds TZS 10,000, of which TZS 4,030 is owed." in refused.words
    asked = await shop.surfer.post("/dashboard/payout", form | {"amount": "5940"})
    assert asked.status == 200
    assert "Your wallet afterwards TZS 4,030" in asked.words


async def test_a_payout_that_was_paid_after_all_is_shown_step_by_step(shop: Shop) -> None:
    paid = await shop.steps.contradicted(PAYOUT, Status.FAILED, 4000)
    owed = "M-Pesa now says that it was paid. TZS 4,030 is owed: you cannot spend it until operators have decided."

    seen = await shop.page(paid)
    assert owed in seen.words
    assert "The status stays what you were told first." in seen.words
    assert "M-Pesa now says that it was paid: TZS 4,030 is owed." in seen.words
    assert "No money has changed hands." not in seen.words
    await shop.resolve(paid, ResolvedOutcome.COMPLETED)

    seen = await shop.page(paid)
    assert "M-Pesa now says that it was paid. TZS 4,030 that was owed was taken from your wallet." in seen.words
    assert "Cleared up: TZS 4,030 taken from the wallet." in seen.words
    statement = (await shop.surfer.get("/dashboard/wallet")).words
    assert "Correction at your cost" in statement


@pytest.mark.parametrize(
    ("type_", "shown", "says", "decision", "words"),
    [
        (COLLECTION, Status.FAILED, [], None, "it was paid. TZS 970 was added to your wallet."),
        (
            PAYOUT,
            Status.COMPLETED,
            [],
            ResolvedOutcome.FAILED,
            "it was not paid, or given back. TZS 1,030 was added to your wallet.",
        ),
        (COLLECTION, Status.COMPLETED, [], None, "it was not paid, or given back. TZS 970 is owed:"),
        (
            PAYOUT,
            Status.FAILED,
            [Verdict.REFUSED],
            None,
            "it was not paid, or given back. So TZS 1,030 is no longer owed.",
        ),
        (COLLECTION, Status.COMPLETED, [], ResolvedOutcome.COMPLETED, "TZS 970 that was owed need not be given back."),
    ],
)
async def test_the_latest_correction_stands_on_the_page(
    shop: Shop, type_: Type, shown: Status, says: list[Verdict], decision: ResolvedOutcome | None, words: str
) -> None:
    contradicted = await shop.steps.contradicted(type_, shown)
    for verdict in says:
        await shop.steps.report(contradicted, verdict)
    if decision is not None:
        await shop.resolve(contradicted, decision)
    assert words in (await shop.page(contradicted)).words


def test_every_reason_of_a_correction_has_words() -> None:
    assert set(_CORRECTED) == set(CorrectionReason)
