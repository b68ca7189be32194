"""The wallet, the payment and the feed after a network has contradicted its earlier report."""

import json

import pytest

from malipo import clock
from malipo.app.assemble import Service
from malipo.audit_log.actor import Actor
from malipo.db import Database
from malipo.ledger.bookings import BookingKind, book
from malipo.ledger.statement import WalletLineFilter
from malipo.ledger.store import statement, wallets
from malipo.networks.connector import Verdict
from malipo.payments.cases import resolve
from malipo.payments.cases.resolution import OperatorFinding, ResolvedOutcome
from malipo.payments.transaction import Status, Transaction, Type
from malipo.webhooks.fan_out import fan_out
from tests.api.response_fields import moment
from tests.conftest import PAYOUT, Client, Merchant, make_merchant
from tests.payments.payment_steps import PaymentSteps
from tests.test_docs import table


@pytest.fixture
async def steps(service: Service, merchant: Merchant) -> PaymentSteps:
    """With TZS 1,000,000, and fees."""
    steps = PaymentSteps(service, merchant.id)
    await steps.charge_fees()
    return steps


async def test_what_is_owed_is_in_the_wallet_as_long_as_it_is_not_nothing(api: Client, steps: PaymentSteps) -> None:
    assert "owed" not in (await api("GET", "/v1/wallet")).body["wallet"]
    paid = await steps.contradicted(Type.DISBURSEMENT, Status.FAILED, 50_000)

    wallet = (await api("GET", "/v1/wallet")).body["wallet"]
    assert list(wallet) == ["currency", "available", "reserved", "owed", "updatedAt"]
    assert (wallet["available"], wallet["reserved"], wallet["owed"]) == (1_000_000, 0, 50_030)

    await steps.report(paid, Verdict.REFUSED)
    assert "owed" not in (await api("GET", "/v1/wallet")).body["wallet"]


async def test_a_payout_needs_what_is_not_owed(api: Client, steps: PaymentSteps) -> None:
    await steps.contradicted(Type.DISBURSEMENT, Status.FAILED, 50_000)
    refused = await api("POST", "/v1/payments/disburse", PAYOUT | {"channel": "MPESA", "amount": 949_941})
    assert (refused.status, refused.code) == (400, "insufficient_balance")
    taken = await api("POST", "/v1/payments/disburse", PAYOUT | {"channel": "MPESA", "amount": 949_940})
    assert taken.status == 201


@pytest.mark.parametrize(
    ("type_", "status", "expected"),
    [
        (Type.COLLECTION, Status.FAILED, ("COMPLETED", 970, "credited")),
        (Type.COLLECTION, Status.COMPLETED, ("FAILED", 970, "debt_recorded")),
        (Type.DISBURSEMENT, Status.FAILED, ("COMPLETED", 1030, "debt_recorded")),
    ],
)
async def test_a_correction_is_on_the_payment_and_in_its_event(
    api: Client, steps: PaymentSteps, database: Database, type_: Type, status: Status, expected: tuple[str, int, str]
) -> None:
    ended = await steps.ended(type_, status)
    before = (await api("GET", f"/v1/payments/{ended.id}")).body["transaction"]
    says = Verdict.REFUSED if status is Status.COMPLETED else Verdict.CONFIRMED
    await steps.report(ended, says)

    after = (await api("GET", f"/v1/payments/{ended.id}")).body["transaction"]
    correction = after.pop("correction")
    assert after == before, "what was told stays"
    assert list(correction) == ["outcome", "amount", "correctedAt", "reason"]
    assert (correction["outcome"], correction["amount"], correction["reason"]) == expected
    moment(correction["correctedAt"])
    async with database.begin() as tx:
        await fan_out(
            tx, most=100_000, claim_id="clm_1", lease_seconds=60, may_claim=lambda _: False, now=steps.service.clock()
        )
    *_, last = (await api("GET", "/v1/events")).body["events"]
    assert last["event"] == ("payment.corrected" if type_ is Type.COLLECTION else "payout.corrected")
    assert last["transaction"] == {**{k: v for k, v in before.items() if k != "statusLogs"}, "correction": correction}


async def test_a_payout_that_was_not_paid_after_all_is_corrected_only_when_the_wallet_gets_it(
    api: Client, steps: PaymentSteps
) -> None:
    """Until operators have decided, neither the wallet nor what it owes has changed."""
    contradicted = await steps.contradicted(Type.DISBURSEMENT, Status.COMPLETED)
    assert "correction" not in (await api("GET", f"/v1/payments/{contradicted.id}")).body["transaction"]


async def test_the_list_stays_as_it_was(api: Client, steps: PaymentSteps) -> None:
    await steps.contradicted(Type.DISBURSEMENT, Status.FAILED)
    [line] = (await api("GET", "/v1/payments")).body["transactions"]
    assert "correction" not in line


async def test_the_example_in_the_docs_is_what_happens(service: Service, database: Database) -> None:
    """Each row of the table in docs/corrections.md: what is told, the wallet, what it owes, and what can be paid out."""
    merchant = await make_merchant(database, wallet=60_000)
    steps = PaymentSteps(service, merchant.id)
    for type_, fee in ((Type.DISBURSEMENT, 1000), (Type.COLLECTION, 0)):
        async with database.begin() as tx:
            await tx.execute("INSERT INTO tariffs VALUES ($1, $2, 'MPESA', 0, $3, 0, 0, NULL)", merchant.id, type_, fee)
    payout = await steps.ended(Type.DISBURSEMENT, Status.FAILED, 50_000)
    rows = [row for row in table("corrections.md", 5) if row[0] != "what happens"]
    seen = [await _state(database, merchant)]

    async def settle() -> None:
        async with database.begin() as tx:
            reference = f"BANK-{merchant.id}"
            await book(tx, BookingKind.SETTLEMENT, merchant.id, 40_000, reference=reference, now=service.clock())

    for step in (
        settle,
        lambda: steps.report(payout, Verdict.CONFIRMED),
        lambda: _resolve(database, payout),
        lambda: steps.ended(Type.COLLECTION, Status.COMPLETED, 11_000),
        lambda: _resolve(database, payout),
        lambda: _resolve(database, payout, is_waived=True),
    ):
        await step()
        seen.append(await _state(database, merchant))

    reported = [row[1] for row in rows if row[1]]
    assert [tuple(int(cell.replace(",", "")) for cell in row[2:]) for row in rows] == seen
    assert reported == await _told(database, merchant)
    lines = await _lines(database, merchant)
    assert [(kind, amount) for kind, amount in lines if kind == "CORRECTION_DEBIT"] == [
        ("CORRECTION_DEBIT", -20_000),
        ("CORRECTION_DEBIT", -11_000),
    ]


async def _state(database: Database, merchant: Merchant) -> tuple[int, int, int]:
    async with database.read() as connection:
        wallet, _ = await wallets.get(connection, merchant.id)
    return wallet.available, wallet.owed, wallet.spendable


async def _told(database: Database, merchant: Merchant) -> list[str]:
    """The events as the page names them, but for the beginnings of collections."""
    async with database.read() as connection:
        rows = await connection.fetch(
            "SELECT event, body FROM events WHERE merchant_id = $1 AND event <> 'payment.pending' ORDER BY id",
            merchant.id,
        )
    reported = []
    for row in rows:
        correction = json.loads(row["body"])["transaction"].get("correction")
        more = f", {correction['reason']}, {correction['amount']:,}" if correction else ""
        reported.append(row["event"] + more)
    return reported


async def _lines(database: Database, merchant: Merchant) -> list[tuple[str, int]]:
    """The statement, oldest first."""
    async with database.snapshot() as connection:
        _, lines = await statement.page(connection, merchant.id, WalletLineFilter(), page=1, limit=100)
    return [(line.kind, line.change) for line in reversed(lines)]


async def _resolve(database: Database, payment: Transaction, *, is_waived: bool = False) -> None:
    finding = OperatorFinding(
        ResolvedOutcome.COMPLETED, "Receipt QK12AB on the statement of 15 November", is_waived=is_waived
    )
    one, other = Actor("operator asha", "here"), Actor("operator juma", "here")
    async with database.begin() as tx:
        await resolve.propose(tx, payment.reference, finding, actor=one, approval_amount=1_000_000, now=clock.now())
        await resolve.approve(tx, payment.reference, actor=other, now=clock.now())
