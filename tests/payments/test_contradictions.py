"""A network contradicts itself: the status stays, its float follows, debts are held, and the merchant is notified."""

import json
from typing import Any

import pytest

from malipo import clock
from malipo.app.assemble import Service
from malipo.ledger.statement import WalletLine, WalletLineFilter
from malipo.ledger.store import statement
from malipo.networks.connector import Verdict
from malipo.payments import payment_json
from malipo.payments.apply_network_answers import ApplyNetworkAnswers
from malipo.payments.cases.resolution import ResolvedOutcome
from malipo.payments.dispatch import AnswerSource, ReviewReason
from malipo.payments.store import cases, transactions
from malipo.payments.transaction import Status, Transaction, Type
from tests.conftest import Merchant
from tests.journeys import database_facts
from tests.payments.contradictions import OUTCOMES, RULES, resolve_by_all
from tests.payments.contradictions import steps as steps
from tests.payments.payment_steps import PaymentSteps, a_report


async def _lines(steps: PaymentSteps) -> list[WalletLine]:
    """The statement, oldest first."""
    async with steps.database.snapshot() as connection:
        _, lines = await statement.page(connection, steps.merchant_id, WalletLineFilter(), page=1, limit=100)
    return lines[::-1]


# What the merchant saw, what is true, and the lines of the statement: the wallet had 1,000,000.
STATEMENTS = """
    COLLECTION    FAILED     paid      CORRECTION_CREDIT +970
    COLLECTION    FAILED     not-paid
    COLLECTION    CANCELLED  paid      CORRECTION_CREDIT +970
    COLLECTION    CANCELLED  not-paid
    COLLECTION    COMPLETED  paid      COLLECTION +970
    COLLECTION    COMPLETED  not-paid  COLLECTION +970, CORRECTION_DEBIT -970
    DISBURSEMENT  FAILED     paid      PAYOUT -1030, PAYOUT_RETURNED +1030, CORRECTION_DEBIT -1030
    DISBURSEMENT  FAILED     not-paid  PAYOUT -1030, PAYOUT_RETURNED +1030
    DISBURSEMENT  CANCELLED  paid      PAYOUT -1030, PAYOUT_RETURNED +1030, CORRECTION_DEBIT -1030
    DISBURSEMENT  CANCELLED  not-paid  PAYOUT -1030, PAYOUT_RETURNED +1030
    DISBURSEMENT  COMPLETED  paid      PAYOUT -1030
    DISBURSEMENT  COMPLETED  not-paid  PAYOUT -1030, CORRECTION_CREDIT +1030
"""
STATEMENT_ROWS = [[*line.split(maxsplit=3), ""][:4] for line in STATEMENTS.strip().splitlines()]
# What each account holds in the end, beside the top-up, by what the network reports now and what the operators decide: the
# wallet follows the network, or stays, and the difference is booked to losses. The float always follows the network.
BALANCES = {
    ("COLLECTION", "FAILED", "paid"): {"wallet": 970, "fees": 30, "float MPESA": -1000},
    ("COLLECTION", "FAILED", "not-paid"): {"losses": 970, "fees": 30, "float MPESA": -1000},
    ("COLLECTION", "COMPLETED", "not-paid"): {},
    ("COLLECTION", "COMPLETED", "paid"): {"wallet": 970, "losses": -970},
    ("DISBURSEMENT", "FAILED", "paid"): {"wallet": -1030, "fees": 30, "float MPESA": 1000},
    ("DISBURSEMENT", "FAILED", "not-paid"): {"losses": -1030, "fees": 30, "float MPESA": 1000},
    ("DISBURSEMENT", "COMPLETED", "not-paid"): {},
    ("DISBURSEMENT", "COMPLETED", "paid"): {"wallet": -1030, "losses": 1030},
}


@pytest.mark.parametrize(("type_", "status", "outcome", "lines"), STATEMENT_ROWS)
async def test_the_money_waits_in_suspense_until_it_is_decided_where_it_belongs(
    steps: PaymentSteps, type_: str, status: str, outcome: str, lines: str
) -> None:
    contradicted = await steps.contradicted(Type(type_), Status(status))
    assert await steps.status(contradicted) == status, "what the merchant saw stays"
    assert abs((await steps.balances())["suspense"]) == 1000
    await database_facts.assert_clean(steps.database)

    await resolve_by_all(steps.database, contradicted, OUTCOMES[outcome])

    assert await steps.status(contradicted) == status, "even now"
    balances = {"wallet": 1_000_000, "bank": -1_000_000}
    reported = status.replace("CANCELLED", "FAILED")
    for name, balance in BALANCES[type_, reported, outcome].items():
        balances[name] = balances.get(name, 0) + balance
    assert await steps.balances() == balances
    [top_up, *written] = await _lines(steps)
    assert top_up.kind == "TOP_UP"
    assert ", ".join(f"{line.kind} {line.change:+}" for line in written) == lines
    assert {line.reference for line in written} <= {contradicted.reference}
    await database_facts.assert_clean(steps.database)


async def test_a_contradiction_reported_twice_moves_money_once(steps: PaymentSteps) -> None:
    contradicted = await steps.contradicted(Type.DISBURSEMENT, Status.FAILED)
    before = await steps.balances()

    for act in AnswerSource:
        again = await steps.report(contradicted, Verdict.CONFIRMED, act)
        assert not again.is_contradiction
        assert again.transaction.status is Status.FAILED

    assert await steps.balances() == before
    assert await _noted(steps) == 1, "and it is on the trail once"
    await database_facts.assert_clean(steps.database)


async def _noted(steps: PaymentSteps) -> int:
    async with steps.database.read() as connection:
        return int(await connection.fetchval("SELECT count(*) FROM audit_log WHERE action = 'payment.contradicted'"))


async def test_contradictions_of_one_batch_move_money_once(steps: PaymentSteps) -> None:
    ended = await steps.ended(Type.COLLECTION, Status.FAILED)
    reports = [a_report(ended, Verdict.CONFIRMED) for _ in range(3)]
    async with steps.database.begin() as tx:
        await ApplyNetworkAnswers(clock=clock.now, rules=RULES, credits_automatically=False)(tx, reports, again=False)
    assert (await steps.balances())["suspense"] == 1000
    assert await _noted(steps) == 1
    await database_facts.assert_clean(steps.database)


async def test_a_network_that_wavers_in_one_breath_leaves_what_it_said_last(
    service: Service, merchant: Merchant
) -> None:
    steps = PaymentSteps(service, merchant.id)
    await steps.charge_fees()
    for type_ in Type:
        ended = await steps.ended(type_, Status.FAILED)
        reports = [a_report(ended, verdict) for verdict in (Verdict.CONFIRMED, Verdict.REFUSED, Verdict.CONFIRMED)]
        async with steps.database.begin() as tx:
            await ApplyNetworkAnswers(clock=clock.now, rules=RULES)(tx, reports, again=False)
        await database_facts.assert_clean(steps.database)
        found = await steps.correction(ended)
        assert found is not None
        assert found.is_paid
    assert await database_facts.wallet(steps.database, merchant.id) == (1_000_970, 0), (
        "the customer who paid is credited once"
    )
    assert await _owed(steps) == 1030


async def test_a_network_that_wavers_moves_its_float_each_time_and_opens_a_new_case(steps: PaymentSteps) -> None:
    contradicted = await steps.contradicted(Type.DISBURSEMENT, Status.COMPLETED)
    await resolve_by_all(steps.database, contradicted, ResolvedOutcome.FAILED)
    resolved = await steps.balances()
    await steps.report(contradicted, Verdict.REFUSED)
    assert await steps.balances() == resolved, "what it repeats moves nothing"

    assert (await steps.report(contradicted, Verdict.CONFIRMED)).is_contradiction

    assert (await steps.balances())["suspense"] == -1000
    assert await _owed(steps) == 1030, "the wallet got it back, and now it was paid after all"
    await database_facts.assert_clean(steps.database)
    await resolve_by_all(steps.database, contradicted, ResolvedOutcome.COMPLETED)
    assert await steps.balances() == {
        "wallet": 998_970,
        "bank": -1_000_000,
        "fees": 30,
        "float MPESA": 1000,
    }
    await database_facts.assert_clean(steps.database)


async def _owed(steps: PaymentSteps) -> int:
    async with steps.database.read() as connection:
        return int(await connection.fetchval("SELECT owed FROM wallets WHERE merchant_id = $1", steps.merchant_id))


async def _told(steps: PaymentSteps, transaction: Transaction) -> list[dict[str, Any]]:
    """The corrections that were reported to the merchant, in order."""
    async with steps.database.read() as connection:
        rows = await connection.fetch(
            "SELECT event, body FROM events WHERE transaction_id = $1 AND event LIKE '%.corrected' ORDER BY ordinal",
            transaction.id,
        )
    bodies = [json.loads(row["body"]) for row in rows]
    prefix = "payment" if transaction.type is Type.COLLECTION else "payout"
    assert {body["event"] for body in bodies} <= {f"{prefix}.corrected"}
    assert {body["transaction"]["status"] for body in bodies} <= {transaction.status}, "a reported status stays"
    return [body["transaction"]["correction"] for body in bodies]


@pytest.mark.parametrize("how", ["callback", "ask", "send"])
async def test_a_collection_that_failed_and_is_then_confirmed_is_credited_automatically_with_an_event(
    service: Service, merchant: Merchant, how: str
) -> None:
    steps = PaymentSteps(service, merchant.id)
    await steps.charge_fees()
    collection = await steps.ended(Type.COLLECTION, Status.FAILED)

    settled = await steps.report(collection, Verdict.CONFIRMED, AnswerSource(how))

    assert (settled.is_contradiction, settled.is_merchant_notified) == (True, True), (
        "whatever a query says or fails to say"
    )
    assert await database_facts.wallet(steps.database, merchant.id) == (1_000_970, 0)
    [reported] = await _told(steps, collection)
    assert (reported["outcome"], reported["amount"], reported["reason"]) == ("COMPLETED", 970, "credited")
    async with steps.database.read() as connection:
        found = await transactions.get(connection, merchant.id, collection.id)
    assert found is not None
    assert payment_json.retrieved(found)["correction"] == reported, "the same on retrieve"
    assert "correction" not in payment_json.listed(found), "the list keeps to its fields"
    assert [line.kind for line in await _lines(steps)] == ["TOP_UP", "CORRECTION_CREDIT"]
    await database_facts.assert_clean(steps.database)
    # The customer gets their money back in the end: the wallet owes it. Only what was signed stands, for operators.
    await steps.report(collection, Verdict.REFUSED)
    if how == "callback":
        dispatch = await steps.dispatch(collection)
        assert dispatch is not None
        assert dispatch.review_reason is ReviewReason.DISPUTED
    else:
        assert await _owed(steps) == 970
        assert [each["reason"] for each in await _told(steps, collection)] == ["credited", "debt_recorded"]
    await database_facts.assert_clean(steps.database)


async def test_an_unsigned_callback_after_the_end_credits_nothing(service: Service, merchant: Merchant) -> None:
    """A network without a query, whose callbacks are believed by their address: after the end operators decide."""
    steps = PaymentSteps(service, merchant.id)
    collection = await steps.ended(Type.COLLECTION, Status.FAILED)

    settled = await steps.report(
        collection,
        Verdict.CONFIRMED,
        AnswerSource.CALLBACK,
        is_trusted=False,
        is_listed=True,
        cannot_query=frozenset({Type.COLLECTION}),
    )

    assert (settled.is_contradiction, settled.is_merchant_notified) == (True, False)
    assert await database_facts.wallet(steps.database, merchant.id) == (1_000_000, 0)
    assert await _told(steps, collection) == []
    async with steps.database.read() as connection:
        assert [each.transaction.id for each in await cases.find_contradicted(connection)] == [collection.id]
    await database_facts.assert_clean(steps.database)


@pytest.mark.parametrize("status", [Status.FAILED, Status.CANCELLED])
async def test_a_debt_is_held_in_the_commit_of_the_contradiction_and_withdrawn_when_the_network_recants(
    steps: PaymentSteps, status: Status
) -> None:
    payout = await steps.ended(Type.DISBURSEMENT, status)
    before = await steps.balances()
    await steps.report(payout, Verdict.CONFIRMED)
    assert await _owed(steps) == 1030
    await database_facts.assert_clean(steps.database)

    await steps.report(payout, Verdict.REFUSED)

    assert await _owed(steps) == 0
    assert await steps.balances() == before
    assert [(each["reason"], each["amount"]) for each in await _told(steps, payout)] == [
        ("debt_recorded", 1030),
        ("debt_withdrawn", 1030),
    ]
    await database_facts.assert_clean(steps.database)


async def test_a_signed_success_after_the_end_counts_whatever_the_query_says(steps: PaymentSteps) -> None:
    payout = await steps.ended(Type.DISBURSEMENT, Status.FAILED)
    assert (await steps.report(payout, Verdict.CONFIRMED, AnswerSource.CALLBACK)).is_contradiction
    for verdict in (Verdict.UNKNOWN, Verdict.REFUSED, Verdict.MISSING):
        assert not (await steps.report(payout, verdict)).is_contradiction
    assert await _owed(steps) == 1030
    await database_facts.assert_clean(steps.database)


async def test_a_payment_that_its_network_confirms_again_is_no_contradiction(steps: PaymentSteps) -> None:
    ended = await steps.ended(Type.COLLECTION, Status.COMPLETED)
    before = await steps.balances()
    for act in AnswerSource:
        assert not (await steps.report(ended, Verdict.CONFIRMED, act)).is_contradiction
    assert await steps.balances() == before
    assert await steps.dispatch(ended) is None
    await database_facts.assert_clean(steps.database)


async def test_a_contradiction_is_on_the_trail_with_what_both_sides_said(steps: PaymentSteps) -> None:
    contradicted = await steps.contradicted(Type.DISBURSEMENT, Status.FAILED)
    async with steps.database.read() as connection:
        [row] = await connection.fetch("SELECT * FROM audit_log WHERE action = 'payment.contradicted'")
    assert (row["actor"], row["address"], row["merchant_id"]) == ("network mpesa", "ask", steps.merchant_id)
    for word in (contradicted.id, "FAILED", "confirmed", "1000"):
        assert word in row["details"]
