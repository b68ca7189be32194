"""A network takes back its word: what the merchant saw stays, its float follows, debts are held, and the merchant is told."""

import json
from contextlib import suppress
from typing import Any

import pytest

from malipo import clock
from malipo.db import Database
from malipo.ledger import audit
from malipo.ledger.audit import Finding
from malipo.ledger.statement import Filter, Line
from malipo.ledger.store import statement
from malipo.networks.contract import Verdict
from malipo.payments import audit as payments_audit
from malipo.payments import resolve, shown
from malipo.payments.pursuit import Act, Attention, Rules
from malipo.payments.resolve import Truth
from malipo.payments.settle import Settle
from malipo.payments.store import transactions
from malipo.payments.transaction import Status, Transaction, Type
from malipo.service import Service
from malipo.settings import Settings
from malipo.trail.store import Actor
from tests.conftest import NO_LIMITS, Merchant
from tests.journeys import witness
from tests.payments.story import Story, a_report

ASHA, JUMA = (Actor(f"operator {name}", "till") for name in ("asha", "juma"))
EVIDENCE = "Receipt QK12AB on the network's statement"
RULES = Rules(poll_seconds=(10, 60, 300), not_found_seconds=300)
TRUTHS = {"paid": Truth.COMPLETED, "not-paid": Truth.FAILED}


@pytest.fixture
async def story(service: Service, merchant: Merchant) -> Story:
    """With fees; and nothing is decided without operators."""
    by_hand = Service.assemble(Settings(**NO_LIMITS, credit_by_itself=False), service.database)
    story = Story(by_hand, merchant.id)
    await story.charge_fees()
    return story


async def _propose(database: Database, id_: str, truth: Truth) -> resolve.Resolved:
    async with database.begin() as tx:
        return await resolve.propose(tx, id_, resolve.Finding(truth, EVIDENCE), actor=ASHA, now=clock.now())


async def _resolve(database: Database, transaction: Transaction, truth: Truth) -> None:
    """By as many operators as it takes."""
    resolved = await _propose(database, transaction.id, truth)
    if not resolved.is_done:
        async with database.begin() as tx:
            await resolve.approve(tx, transaction.id, actor=JUMA, now=clock.now())


async def _lines(story: Story) -> list[Line]:
    """The statement, oldest first."""
    async with story.database.snapshot() as connection:
        _, lines = await statement.page(connection, story.merchant_id, Filter(), page=1, limit=100)
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
# What each account holds in the end, beside the top-up, by what the network says now and what the operators decide: the
# wallet follows its network, or stays as the merchant was told and the house bears the difference. The float is always as
# the network says.
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


@pytest.mark.parametrize(("type_", "status", "truth", "lines"), STATEMENT_ROWS)
async def test_the_money_waits_in_suspense_until_it_is_decided_where_it_belongs(
    story: Story, type_: str, status: str, truth: str, lines: str
) -> None:
    contradicted = await story.contradicted(Type(type_), Status(status))
    assert await story.status(contradicted) == status, "what the merchant saw stays"
    assert abs((await story.balances())["suspense"]) == 1000
    await witness.assert_clean(story.database)

    await _resolve(story.database, contradicted, TRUTHS[truth])

    assert await story.status(contradicted) == status, "even now"
    balances = {"wallet": 1_000_000, "bank": -1_000_000}
    told = status.replace("CANCELLED", "FAILED")
    for name, balance in BALANCES[type_, told, truth].items():
        balances[name] = balances.get(name, 0) + balance
    assert await story.balances() == balances
    [top_up, *written] = await _lines(story)
    assert top_up.kind == "TOP_UP"
    assert ", ".join(f"{line.kind} {line.change:+}" for line in written) == lines
    assert {line.reference for line in written} <= {contradicted.reference}
    await witness.assert_clean(story.database)


async def test_a_contradiction_told_twice_moves_money_once(story: Story) -> None:
    contradicted = await story.contradicted(Type.DISBURSEMENT, Status.FAILED)
    before = await story.balances()

    for act in Act:
        again = await story.hear(contradicted, Verdict.CONFIRMED, act)
        assert not again.is_contradiction
        assert again.transaction.status is Status.FAILED

    assert await story.balances() == before
    assert await _noted(story) == 1, "and it is on the trail once"
    await witness.assert_clean(story.database)


async def _noted(story: Story) -> int:
    async with story.database.read() as connection:
        return int(await connection.fetchval("SELECT count(*) FROM audit WHERE what = 'payment.contradicted'"))


async def test_contradictions_told_in_one_breath_move_money_once(story: Story) -> None:
    ended = await story.ended(Type.COLLECTION, Status.FAILED)
    reports = [a_report(ended, Verdict.CONFIRMED) for _ in range(3)]
    async with story.database.begin() as tx:
        await Settle(clock=clock.now, rules=RULES, credits_by_itself=False)(tx, reports, again=False)
    assert (await story.balances())["suspense"] == 1000
    assert await _noted(story) == 1
    await witness.assert_clean(story.database)


async def test_a_network_that_wavers_in_one_breath_leaves_what_it_said_last(
    service: Service, merchant: Merchant
) -> None:
    story = Story(service, merchant.id)
    await story.charge_fees()
    for type_ in Type:
        ended = await story.ended(type_, Status.FAILED)
        reports = [a_report(ended, verdict) for verdict in (Verdict.CONFIRMED, Verdict.REFUSED, Verdict.CONFIRMED)]
        async with story.database.begin() as tx:
            await Settle(clock=clock.now, rules=RULES)(tx, reports, again=False)
        await witness.assert_clean(story.database)
        found = await story.correction(ended)
        assert found is not None
        assert found.is_paid
    assert await witness.wallet(story.database, merchant.id) == (1_000_970, 0), "the customer who paid is credited once"
    assert await _owed(story) == 1030


async def test_a_network_that_wavers_moves_its_float_each_time_and_opens_a_new_case(story: Story) -> None:
    contradicted = await story.contradicted(Type.DISBURSEMENT, Status.COMPLETED)
    await _resolve(story.database, contradicted, Truth.FAILED)
    resolved = await story.balances()
    await story.hear(contradicted, Verdict.REFUSED)
    assert await story.balances() == resolved, "what it repeats moves nothing"

    assert (await story.hear(contradicted, Verdict.CONFIRMED)).is_contradiction

    assert (await story.balances())["suspense"] == -1000
    assert await _owed(story) == 1030, "the wallet got it back, and now it was paid after all"
    await witness.assert_clean(story.database)
    await _resolve(story.database, contradicted, Truth.COMPLETED)
    assert await story.balances() == {
        "wallet": 998_970,
        "bank": -1_000_000,
        "fees": 30,
        "float MPESA": 1000,
    }
    await witness.assert_clean(story.database)


async def _owed(story: Story) -> int:
    async with story.database.read() as connection:
        return int(await connection.fetchval("SELECT owed FROM wallets WHERE merchant_id = $1", story.merchant_id))


async def _told(story: Story, transaction: Transaction) -> list[dict[str, Any]]:
    """What the merchant was told of corrections, in order."""
    async with story.database.read() as connection:
        rows = await connection.fetch(
            "SELECT event, body FROM events WHERE transaction_id = $1 AND event LIKE '%.corrected' ORDER BY ordinal",
            transaction.id,
        )
    bodies = [json.loads(row["body"]) for row in rows]
    prefix = "payment" if transaction.type is Type.COLLECTION else "payout"
    assert {body["event"] for body in bodies} <= {f"{prefix}.corrected"}
    assert {body["transaction"]["status"] for body in bodies} <= {transaction.status}, "what was told stays"
    return [body["transaction"]["correction"] for body in bodies]


@pytest.mark.parametrize("how", ["callback", "ask", "send"])
async def test_a_collection_that_was_told_failed_and_is_confirmed_is_credited_by_itself_and_told(
    service: Service, merchant: Merchant, how: str
) -> None:
    story = Story(service, merchant.id)
    await story.charge_fees()
    collection = await story.ended(Type.COLLECTION, Status.FAILED)

    settled = await story.hear(collection, Verdict.CONFIRMED, Act(how))

    assert (settled.is_contradiction, settled.is_told) == (True, True), "whatever a query says or fails to say"
    assert await witness.wallet(story.database, merchant.id) == (1_000_970, 0)
    [told] = await _told(story, collection)
    assert (told["outcome"], told["amount"], told["reason"]) == ("COMPLETED", 970, "credited")
    async with story.database.read() as connection:
        found = await transactions.get(connection, merchant.id, collection.id)
    assert found is not None
    assert shown.retrieved(found)["correction"] == told, "the same on retrieve"
    assert "correction" not in shown.listed(found), "the list keeps to its fields"
    assert [line.kind for line in await _lines(story)] == ["TOP_UP", "CORRECTION_CREDIT"]
    await witness.assert_clean(story.database)
    # The customer gets their money back in the end: the wallet owes it. Only what was signed stands, for operators.
    await story.hear(collection, Verdict.REFUSED)
    if how == "callback":
        dispatch = await story.dispatch(collection)
        assert dispatch is not None
        assert dispatch.attention is Attention.DISPUTED
    else:
        assert await _owed(story) == 970
        assert [each["reason"] for each in await _told(story, collection)] == ["credited", "debt_recorded"]
    await witness.assert_clean(story.database)


@pytest.mark.parametrize("status", [Status.FAILED, Status.CANCELLED])
async def test_a_debt_is_held_in_the_commit_of_the_contradiction_and_withdrawn_when_the_network_recants(
    story: Story, status: Status
) -> None:
    payout = await story.ended(Type.DISBURSEMENT, status)
    before = await story.balances()
    await story.hear(payout, Verdict.CONFIRMED)
    assert await _owed(story) == 1030
    await witness.assert_clean(story.database)

    await story.hear(payout, Verdict.REFUSED)

    assert await _owed(story) == 0
    assert await story.balances() == before
    assert [(each["reason"], each["amount"]) for each in await _told(story, payout)] == [
        ("debt_recorded", 1030),
        ("debt_withdrawn", 1030),
    ]
    await witness.assert_clean(story.database)


async def test_a_signed_success_after_the_end_counts_whatever_the_query_says(story: Story) -> None:
    payout = await story.ended(Type.DISBURSEMENT, Status.FAILED)
    assert (await story.hear(payout, Verdict.CONFIRMED, Act.CALLBACK)).is_contradiction
    for verdict in (Verdict.UNKNOWN, Verdict.REFUSED, Verdict.MISSING):
        assert not (await story.hear(payout, verdict)).is_contradiction
    assert await _owed(story) == 1030
    await witness.assert_clean(story.database)


async def test_a_payment_that_its_network_confirms_again_is_no_contradiction(story: Story) -> None:
    ended = await story.ended(Type.COLLECTION, Status.COMPLETED)
    before = await story.balances()
    for act in Act:
        assert not (await story.hear(ended, Verdict.CONFIRMED, act)).is_contradiction
    assert await story.balances() == before
    assert await story.dispatch(ended) is None
    await witness.assert_clean(story.database)


async def test_a_contradiction_is_on_the_trail_with_what_both_sides_said(story: Story) -> None:
    contradicted = await story.contradicted(Type.DISBURSEMENT, Status.FAILED)
    async with story.database.read() as connection:
        [row] = await connection.fetch("SELECT * FROM audit WHERE what = 'payment.contradicted'")
    assert (row["who"], row["origin"], row["merchant_id"]) == ("network mpesa", "ask", story.merchant_id)
    for word in (contradicted.id, "FAILED", "confirmed", "1000"):
        assert word in row["details"]


@pytest.fixture
async def names(story: Story) -> dict[str, str]:
    """Contradicted payments of both types, open and cleared; a few others beside them."""
    names = {"merchant": story.merchant_id}
    for type_ in Type:
        for status in (Status.FAILED, Status.COMPLETED):
            name = f"{type_}_{status}".lower()
            names[name] = (await story.contradicted(type_, status)).id
            for truth in Truth:
                cleared = await story.contradicted(type_, status)
                await _resolve(story.database, cleared, truth)
                names[f"{name}_{truth}"] = cleared.id
        names[f"{type_}_open".lower()] = (await story.open(type_)).id
    # What was only proposed, or was rejected, moves nothing.
    await _propose(story.database, names["disbursement_failed"], Truth.COMPLETED)
    await _propose(story.database, names["disbursement_completed"], Truth.FAILED)
    async with story.database.begin() as tx:
        await resolve.reject(tx, names["disbursement_completed"], actor=JUMA, now=clock.now())
    partly = await story.contradicted(Type.DISBURSEMENT, Status.FAILED)
    names["owing"] = partly.id
    names["processing"] = (await story.processing(Type.DISBURSEMENT)).id
    names["ended"] = (await story.ended(Type.COLLECTION, Status.COMPLETED)).id
    await witness.assert_clean(story.database)
    return names


_MOVE = """
    INSERT INTO moves (merchant_id, cause_id, step, ordinal, line, source, target, channel, amount, at)
    VALUES ('{merchant}', '{%s}', '%s', %d, %d, '%s', '%s', %s, 1000, now())
"""
_OF = "WHERE cause_id = '{%s}' AND step = '%s'"
_CORRECTION = "UPDATE corrections SET %s WHERE transaction_id = '{%s}'"
# What is done to the book behind malipo's back, and whom the findings must name.
TAMPERED = {
    "a contradiction of another amount": (
        "UPDATE moves SET amount = 999 " + _OF % ("disbursement_failed", "contradiction"),
        "disbursement_failed",
    ),
    "a contradiction the wrong way round": (
        "UPDATE moves SET source = target, target = source " + _OF % ("collection_failed", "contradiction"),
        "collection_failed",
    ),
    "a contradiction out of the bank": (
        "UPDATE moves SET source = 'bank', channel = NULL " + _OF % ("collection_failed", "contradiction"),
        "collection_failed",
    ),
    "a contradiction on another channel's float": (
        "UPDATE moves SET channel = 'HALOPESA' " + _OF % ("collection_failed", "contradiction"),
        "collection_failed",
    ),
    "a contradiction twice": (
        _MOVE % ("disbursement_completed", "contradiction", 1, 2, "float", "suspense", "'MPESA'"),
        "disbursement_completed",
    ),
    "a contradiction again": (
        _MOVE % ("disbursement_completed", "contradiction", 2, 1, "float", "suspense", "'MPESA'"),
        "disbursement_completed",
    ),
    "a contradiction of a payment that is open": (
        _MOVE % ("processing", "contradiction", 1, 1, "suspense", "float", "'MPESA'"),
        "processing",
    ),
    "a contradiction of a payment that does not exist": (
        "UPDATE moves SET cause_id = 'txn_nowhere' " + _OF % ("collection_failed", "contradiction"),
        "txn_nowhere",
    ),
    "a status that changed after the contradiction": (
        """
        UPDATE transactions SET status = 'COMPLETED', failure_code = NULL, failure_reason = NULL
        WHERE id = '{collection_failed}'
        """,
        "collection_failed",
    ),
    "a resolution of something that was not contradicted": (
        _MOVE % ("ended", "resolution", 1, 1, "suspense", "float", "'MPESA'"),
        "ended",
    ),
    "a resolution whose contradiction is gone": (
        "DELETE FROM moves " + _OF % ("disbursement_failed_failed", "contradiction"),
        "disbursement_failed_failed",
    ),
    "a resolution of another amount": (
        "UPDATE moves SET amount = 999 " + _OF % ("disbursement_failed_failed", "resolution") + " AND line = 1",
        "disbursement_failed_failed",
    ),
    "a fee that was not given back": (
        "DELETE FROM moves " + _OF % ("disbursement_completed_failed", "resolution") + " AND source = 'fees'",
        "disbursement_completed_failed",
    ),
    "a loss that was booked to the bank": (
        "UPDATE moves SET source = 'bank' " + _OF % ("disbursement_failed_failed", "resolution") + " AND line = 1",
        "disbursement_failed_failed",
    ),
    "a resolution that nobody has said": (
        "DELETE FROM resolutions WHERE transaction_id = '{disbursement_completed_failed}'",
        "disbursement_completed_failed",
    ),
    "a resolution of more than was said": (
        "UPDATE resolutions SET credited = credited + 1 WHERE transaction_id = '{collection_failed_completed}'",
        "collection_failed_completed",
    ),
    "a resolution that is gone, though operators have said it": (
        "DELETE FROM moves " + _OF % ("disbursement_completed_completed", "resolution"),
        "disbursement_completed_completed",
    ),
    "a correction that is gone": (
        "DELETE FROM corrections WHERE transaction_id = '{collection_failed}'",
        "collection_failed",
    ),
    "a debt that was lowered": (_CORRECTION % ("owed = owed - 1", "owing"), "owing"),
    "a debt that the wallet does not know": (
        "UPDATE wallets SET owed = 0 WHERE merchant_id = '{merchant}'",
        "merchant",
    ),
    "a case that was closed by hand": (_CORRECTION % ("is_open = false", "collection_failed"), "collection_failed"),
    "a word that was turned round": (_CORRECTION % ("is_paid = NOT is_paid", "owing"), "owing"),
    "a credit that was not moved": (_CORRECTION % ("credited = credited + 5", "owing"), "owing"),
    "a loss that was not moved": (
        _CORRECTION % ("borne = borne + 5", "disbursement_failed_failed"),
        "disbursement_failed_failed",
    ),
    "a fee that was booked and is not said to be": (
        _CORRECTION % ("is_fee_paid = NOT is_fee_paid", "disbursement_failed_failed"),
        "disbursement_failed_failed",
    ),
    "a correction that was never told": (
        "DELETE FROM events WHERE transaction_id = '{owing}' AND event LIKE '%.corrected'",
        "owing",
    ),
    "a correction that was told and is not true": (
        """
        INSERT INTO events (merchant_id, id, transaction_id, event, body, created_at)
        VALUES ('{merchant}', 'evt_false', '{ended}', 'payment.corrected', '{{}}', now())
        """,
        "ended",
    ),
    "a pending payment that nobody would send": (
        "DELETE FROM dispatches WHERE transaction_id = '{collection_open}'",
        "collection_open",
    ),
    "a payment on its way that nobody would ask about": (
        "DELETE FROM dispatches WHERE transaction_id = '{processing}'",
        "processing",
    ),
}


class _TakenBack(Exception):  # noqa: N818
    """Ends a transaction without a trace."""


async def _findings_after(database: Database, tampering: str) -> str:
    found: list[Finding] = []
    with suppress(_TakenBack):
        async with database.begin() as tx:
            done = await tx.execute(tampering)
            assert done.split()[-1] not in ("0",), f"nothing was tampered with: {tampering}"
            found += [*await audit.check(tx), *await payments_audit.check(tx)]
            raise _TakenBack
    return "\n".join(f"{each.where}: {each.what}" for each in found)


async def test_the_audit_finds_what_was_tampered_with_and_names_it(database: Database, names: dict[str, str]) -> None:
    unseen = {}
    for what, (tampering, whom) in TAMPERED.items():
        found = await _findings_after(database, tampering.format(**names))
        if names.get(whom, whom) not in found:
            unseen[what] = found

    assert unseen == {}
    await witness.assert_clean(database)
