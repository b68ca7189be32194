"""Operators resolve exceptions: who may, what it does, and how it is undone."""

from datetime import timedelta
from typing import Any

import pytest

from malipo import clock
from malipo.accounts.store.credential_resets import insert as insert_reset
from malipo.audit_log import store as audit_log
from malipo.errors import Conflict, Forbidden, Invalid, Refusal
from malipo.operators.store import insert_operator
from malipo.payments.cases import resolve
from malipo.payments.cases.resolution import OperatorFinding, ResolvedOutcome
from malipo.payments.dispatch import AnswerSource
from malipo.payments.transaction import Status, Transaction, Type
from malipo.reconciliation.exceptions.action import Action
from malipo.reconciliation.exceptions.action_moves import effect_of
from malipo.reconciliation.exceptions.find_effect import find_facts
from malipo.reconciliation.exceptions.store import resolutions
from malipo.reconciliation.exceptions.suggest_payments import suggest_payments
from malipo.reconciliation.matching.exception import ExceptionState, ReconciliationException
from tests.conftest import NOBODY, make_merchant
from tests.operators.booking_steps import NEEMA
from tests.payments.payment_steps import steps
from tests.reconciliation.exception_desk import REASON, ExceptionDesk, a_stranger
from tests.reconciliation.exception_desk import desk as desk
from tests.reconciliation.statement_days import ASHA, JUMA, OPENING, Entry, Statements, line_of, reversal_of, statements

__all__ = ["statements", "steps"]

DAY = timedelta(days=1)


@pytest.mark.parametrize("account", ["suspense", "network_fees", "bank", "losses"])
async def test_a_line_is_booked_by_one_operator_and_booked_back_by_one(
    statements: Statements, desk: ExceptionDesk, account: str
) -> None:
    found = await a_stranger(statements)
    before = (await statements.steps.balances()).get(account, 0)
    done = await desk.propose(found, Action.BOOK, {"account": account})
    assert (done.state, done.resolved_by, done.why_resolved) == ("resolved", ASHA.name, REASON)
    assert (await statements.steps.balances()).get(account, 0) == before + 4_321
    assert await statements.float_change() == await statements.statement_change()
    assert (await statements.match()).exceptions.count == 0

    assert (await desk.undo(found)).state is ExceptionState.OPEN
    assert (await statements.steps.balances()).get(account, 0) == before
    await statements.match()
    assert await statements.kinds() == [("theirs_only", 4_321)]
    again = await desk.propose(found, Action.BOOK, {"account": "suspense"})
    assert again.state is ExceptionState.RESOLVED
    assert await statements.float_change() == await statements.statement_change()
    await statements.check_ledger()


@pytest.mark.parametrize(("amount", "limit"), [(4_321, 4_320), (-500, 1_000_000)], ids=["above the limit", "a payout"])
async def test_a_resolution_takes_two_operators_above_a_limit_and_for_a_payout(
    statements: Statements, amount: int, limit: int
) -> None:
    desk = ExceptionDesk(statements.database, limit)
    found = await a_stranger(statements, amount)
    assert (await desk.propose(found, Action.BOOK, {"account": "losses"})).state is ExceptionState.PROPOSED
    assert await statements.float_change() == 0
    with pytest.raises(Forbidden):
        await desk.approve(found, by=ASHA)
    assert (await desk.approve(found)).state is ExceptionState.RESOLVED
    assert await statements.float_change() == amount
    assert (await desk.undo(found)).state is ExceptionState.PROPOSED, "what took two takes two to undo"
    assert await statements.float_change() == amount
    assert (await desk.reject(found)).state is ExceptionState.RESOLVED
    await desk.undo(found)
    assert (await desk.approve(found)).state is ExceptionState.OPEN
    assert await statements.float_change() == 0
    await statements.check_ledger()


async def test_many_small_ones_of_one_operator_are_a_large_one(statements: Statements) -> None:
    desk = ExceptionDesk(statements.database, 150)
    now = clock.now()
    await statements.take(Entry("T1", 100, now), Entry("T2", 100, now))
    first, second = await statements.open_exceptions()
    assert (await desk.propose(first, Action.BOOK, {"account": "losses"})).state is ExceptionState.RESOLVED
    assert (await desk.propose(second, Action.BOOK, {"account": "losses"})).state is ExceptionState.PROPOSED


async def test_a_proposal_that_is_rejected_can_be_made_again_and_all_of_it_is_kept(
    statements: Statements, desk: ExceptionDesk
) -> None:
    found = await a_stranger(statements, -500)
    await desk.propose(found, Action.BOOK, {"account": "losses"})
    with pytest.raises(Conflict):
        await desk.propose(found, Action.BOOK, {"account": "bank"})
    assert (await desk.reject(found)).state is ExceptionState.OPEN
    await desk.propose(found, Action.BOOK, {"account": "bank"})
    await desk.approve(found)
    async with statements.database.read() as connection:
        kept = [(each.terms, each.is_approved) for each in await resolutions.find(connection, found.id)]
        noted = [each.action for each in await audit_log.find(connection, limit=4)]
    assert kept == [({"account": "losses"}, False), ({"account": "bank"}, True)]
    assert noted == ["exception.resolved", "exception.proposed", "exception.rejected", "exception.proposed"]


async def test_an_operator_whose_password_another_has_set_counts_for_no_decision_of_two(
    statements: Statements, desk: ExceptionDesk
) -> None:
    found = await a_stranger(statements, -500)
    await desk.propose(found, Action.BOOK, {"account": "losses"})
    async with statements.database.begin() as tx:
        await insert_operator(tx, "opr_1", "juma", now=clock.now())
        await insert_reset(tx, "crs_1", "opr_1", "password", reset_by=ASHA.name, now=clock.now())
    with pytest.raises(Forbidden):
        await desk.approve(found)


async def test_an_open_payment_is_matched_by_two_operators_and_ends(
    statements: Statements, desk: ExceptionDesk
) -> None:
    payment = await statements.steps.processing(Type.COLLECTION)
    await statements.take(line_of(payment, "QK1", key="", phone="255754***001"))
    [found] = await statements.open_exceptions()
    async with statements.database.read() as connection:
        [suggested] = await suggest_payments(connection, found)
    assert (suggested.reference, suggested.why) == (payment.reference, "phone")
    assert (await desk.propose(found, Action.MATCH, {"payment": payment.reference})).state is ExceptionState.PROPOSED
    assert (await desk.approve(found)).state is ExceptionState.RESOLVED
    assert await statements.status(payment) is Status.COMPLETED
    assert await statements.float_change() == await statements.statement_change()

    await desk.undo(found)
    assert (await desk.approve(found)).state is ExceptionState.OPEN
    done = await statements.match()
    assert done.matched == 0, "only operators decide again"
    assert await statements.kinds() == [("theirs_only", 1000)], "a line of that amount waits"
    await statements.check_ledger()


@pytest.mark.parametrize("type_", list(Type))
async def test_a_line_that_the_network_has_taken_back_moves_nothing_when_it_is_matched(
    statements: Statements, desk: ExceptionDesk, type_: Type
) -> None:
    """No line is reported to a payment that FAILED: the merchant could spend it before the next matching."""
    payment = await statements.steps.ended(type_, Status.FAILED)
    line = line_of(payment, "QK1", key="", phone="255754***001")
    await statements.take(line, reversal_of(line))
    before = await statements.steps.balances()
    [found] = [each for each in await statements.open_exceptions() if each.receipt == "QK1"]
    async with statements.database.read() as connection:
        facts = await find_facts(connection, found, Action.MATCH, {"payment": payment.id}, credits_automatically=True)
    assert effect_of(Action.MATCH, {"payment": payment.id}, facts).changes == {}
    await desk.propose(found, Action.MATCH, {"payment": payment.id})
    await desk.approve(found)
    assert await statements.steps.balances() == before
    done = await statements.match()
    assert (done.contradicted, done.exceptions.count) == (0, 0)
    assert await statements.kinds() == []
    assert await statements.float_change() == await statements.statement_change() == 0

    await desk.undo(found)
    await desk.approve(found)
    assert await statements.matches() == [], "neither of the line, nor of what takes it back"
    await statements.check_ledger()


async def test_the_difference_of_two_amounts_is_booked_to_suspense(statements: Statements, desk: ExceptionDesk) -> None:
    payment = await statements.completed()
    await statements.take(line_of(payment, amount=1_500))
    [found] = await statements.open_exceptions()
    await desk.propose(found, Action.MATCH, {"payment": payment.id})
    await desk.approve(found)
    assert (await statements.steps.balances())["suspense"] == 500
    assert await statements.float_change() == await statements.statement_change() == 1_500
    assert (await statements.match()).exceptions.count == 0
    await desk.undo(found)
    await desk.approve(found)
    assert "suspense" not in await statements.steps.balances()
    await statements.check_ledger()


@pytest.mark.parametrize("wallet", [1_000_000, 200, 0])
async def test_a_lost_payout_is_adopted_and_what_the_wallet_cannot_bear_is_owed(
    statements: Statements, desk: ExceptionDesk, wallet: int
) -> None:
    merchant = await make_merchant(statements.database, wallet=wallet, name="Soko")
    found = await a_stranger(statements, -500, key="0A1B2C3D4E5F6G7H")
    await desk.propose(found, Action.ADOPT, {"merchant": "Soko", "phone": "+255754000009"})
    await desk.approve(found)
    async with statements.database.read() as connection:
        row = await connection.fetchrow("SELECT * FROM transactions WHERE merchant_id = $1", merchant.id)
        held = await connection.fetchrow(
            "SELECT available, in_flight, owed FROM wallets WHERE merchant_id = $1", merchant.id
        )
        assert row is not None
        assert held is not None
        assert (row["status"], row["provider_reference"], row["network_key"]) == ("COMPLETED", "T1", "0A1B2C3D4E5F6G7H")
        assert tuple(held) == (max(wallet - 500, 0), 0, max(500 - wallet, 0))
        assert await connection.fetchval("SELECT count(*) FROM dispatches") == 0, "nothing is sent"
    assert await statements.float_change() == await statements.statement_change() == -500
    assert (await statements.match()).exceptions.count == 0
    await statements.check_ledger()

    await desk.undo(found)
    await desk.approve(found)
    assert await statements.float_change() == 0
    async with statements.database.read() as connection:
        held = await connection.fetchrow("SELECT available, owed FROM wallets WHERE merchant_id = $1", merchant.id)
    assert held is not None
    assert held["available"] - held["owed"] == wallet
    assert (await statements.match()).matched == 0
    await statements.check_ledger()


async def test_a_lost_collection_is_adopted_and_credited(statements: Statements, desk: ExceptionDesk) -> None:
    merchant = await make_merchant(statements.database, name="Soko")
    found = await a_stranger(statements)
    await desk.propose(found, Action.ADOPT, {"merchant": merchant.id, "phone": "+255754000009"})
    await desk.approve(found)
    async with statements.database.read() as connection:
        held = await connection.fetchval("SELECT available FROM wallets WHERE merchant_id = $1", merchant.id)
        events = await connection.fetch("SELECT event FROM events WHERE merchant_id = $1 ORDER BY event", merchant.id)
    assert held == 4_321
    assert [row["event"] for row in events] == ["payment.completed", "payment.pending"]
    assert await statements.float_change() == await statements.statement_change()
    await statements.check_ledger()


async def test_an_absent_payout_is_resolved_as_failed_by_two(statements: Statements, desk: ExceptionDesk) -> None:
    payment = await statements.completed(Type.DISBURSEMENT)
    await statements.take()
    [found] = await statements.open_exceptions()
    assert (await desk.propose(found, Action.RESOLVE, {"outcome": "failed"})).state is ExceptionState.PROPOSED
    assert (await desk.approve(found)).state is ExceptionState.RESOLVED
    correction = await statements.steps.correction(payment)
    assert correction is not None
    assert not correction.is_paid
    assert await statements.float_change() == await statements.statement_change() == 0
    assert (await statements.match()).exceptions.count == 0
    with pytest.raises(Conflict):
        await desk.undo(found)
    await statements.check_ledger()


async def test_an_approval_about_an_exception_agrees_with_nothing_else_that_is_proposed_about_its_payment(
    statements: Statements, desk: ExceptionDesk
) -> None:
    payment = await statements.steps.ended(Type.DISBURSEMENT, Status.FAILED)
    await statements.take(line_of(payment))
    [found] = await statements.open_exceptions()
    await desk.propose(found, Action.RESOLVE, {"outcome": "completed"})
    async with statements.database.begin() as tx:
        await resolve.reject(tx, payment.reference, actor=JUMA, now=clock.now())
        other = OperatorFinding(ResolvedOutcome.FAILED, "Their manager says that it came back")
        how: dict[str, Any] = {"actor": NEEMA, "approval_amount": 1, "now": clock.now()}
        assert not (await resolve.propose(tx, payment.reference, other, **how)).is_done
    with pytest.raises(Conflict):
        await desk.approve(found)
    assert (await desk.reject(found)).state is ExceptionState.OPEN
    async with statements.database.begin() as tx:
        assert (await resolve.approve(tx, payment.reference, actor=JUMA, now=clock.now())).outcome == "failed"


async def test_nor_with_the_same_words_that_mean_something_more(statements: Statements, desk: ExceptionDesk) -> None:
    payment = await statements.steps.ended(Type.DISBURSEMENT, Status.FAILED)
    await statements.take(line_of(payment))
    [found] = await statements.open_exceptions()
    await desk.propose(found, Action.RESOLVE, {"outcome": "completed"})
    async with statements.database.begin() as tx:
        await resolve.reject(tx, payment.reference, actor=ASHA, now=clock.now())
        more = OperatorFinding(ResolvedOutcome.COMPLETED, REASON, provider_reference="ANOTHER")
        how: dict[str, Any] = {"actor": ASHA, "approval_amount": 1, "now": clock.now()}
        assert not (await resolve.propose(tx, payment.reference, more, **how)).is_done
    with pytest.raises(Conflict):
        await desk.approve(found)


async def test_a_proposal_about_an_exception_ends_with_it(statements: Statements, desk: ExceptionDesk) -> None:
    """A process of the version before resolves an exception whose cause has gone, and sees no proposal."""
    found = await a_stranger(statements, -500)
    await desk.propose(found, Action.BOOK, {"account": "losses"})
    async with statements.database.begin() as tx:
        sql = "UPDATE reconciliation_exceptions SET state = 'resolved', resolved_by = 'malipo', resolved_at = now()"
        await tx.execute(f"{sql}, why_resolved = 'Gone.'")
    with pytest.raises(Conflict, match="exception_cause_gone"):
        await desk.approve(found)
    await statements.match()
    async with statements.database.read() as connection:
        assert await resolutions.find_open(connection) == []
        [kept] = await resolutions.find(connection, found.id)
    assert (kept.decided_by, kept.is_approved) == ("malipo", False)


async def test_a_contradiction_that_operators_have_decided_is_no_exception_any_more(
    statements: Statements, desk: ExceptionDesk
) -> None:
    payment = await statements.steps.ended(Type.DISBURSEMENT, Status.FAILED)
    await statements.take(line_of(payment))
    [found] = await statements.open_exceptions()
    await desk.propose(found, Action.RESOLVE, {"outcome": "completed"})
    assert (await desk.approve(found)).state is ExceptionState.RESOLVED
    correction = await statements.steps.correction(payment)
    assert correction is not None
    assert (correction.source, correction.owed) == (AnswerSource.STATEMENT, 0)
    await statements.check_ledger()


async def test_a_note_resolves_only_what_misses_no_shilling(statements: Statements, desk: ExceptionDesk) -> None:
    payment = await statements.steps.ended(Type.DISBURSEMENT, Status.FAILED)
    await statements.take(line_of(payment), Entry("T1", 77, clock.now()))
    states = {each.kind: (await desk.propose(each, Action.NOTE)).state for each in await statements.open_exceptions()}
    assert states == {"state_differs": "resolved", "theirs_only": "open"}
    assert (await statements.match()).exceptions.count == 0
    assert [kind for kind, _ in await statements.kinds()] == ["theirs_only"]


async def test_an_action_that_does_not_fit_the_exception_is_refused(
    statements: Statements, desk: ExceptionDesk
) -> None:
    payout = await statements.steps.open(Type.DISBURSEMENT)
    found = await a_stranger(statements)
    for action, terms, refusal in (
        (Action.RESOLVE, {"outcome": "failed"}, Invalid),
        (Action.BOOK, {"account": "wallet"}, Invalid),
        (Action.BOOK, {}, Invalid),
        (Action.MATCH, {"payment": payout.id}, Invalid),
        (Action.MATCH, {"payment": "MLP-NONE"}, Refusal),
        (Action.ADOPT, {"merchant": "Nobody"}, Refusal),
        (Action.ADOPT, {}, Invalid),
    ):
        with pytest.raises(refusal):
            await desk.propose(found, action, terms)
    with pytest.raises(Forbidden):
        await desk.propose(found, Action.NOTE, by=NOBODY)
    with pytest.raises(Conflict):
        await desk.undo(found)
    with pytest.raises(Refusal):
        await desk.approve(found)
    assert await statements.status(payout) is Status.PENDING


async def test_a_payment_that_has_a_line_cannot_get_another(statements: Statements, desk: ExceptionDesk) -> None:
    payment = await statements.completed()
    await statements.take(line_of(payment), Entry("T1", 1000, clock.now()))
    [found] = await statements.open_exceptions()
    with pytest.raises(Conflict):
        await desk.propose(found, Action.MATCH, {"payment": payment.id})


async def test_a_line_that_is_booked_elsewhere_no_longer_stands_for_an_absent_payment(
    statements: Statements, desk: ExceptionDesk
) -> None:
    await statements.completed()
    found = await a_stranger(statements, 1000)
    await desk.propose(found, Action.BOOK, {"account": "suspense"})
    await statements.match()
    assert await statements.kinds() == [("ours_only", 1000)]


async def test_a_proposal_ends_when_its_cause_has_gone(statements: Statements, desk: ExceptionDesk) -> None:
    payment = await statements.completed()
    await statements.take()
    [found] = await statements.open_exceptions()
    await desk.propose(found, Action.RESOLVE, {"outcome": "failed"})
    later = clock.now() + 2 * DAY
    await statements.take(line_of(payment), opening=OPENING, begins=later, ends=later)
    assert await statements.kinds() == []
    async with statements.database.read() as connection:
        [kept] = await resolutions.find(connection, found.id)
    assert (kept.decided_by, kept.is_approved) == ("malipo", False)


# Which of two payouts like each other a line without a key can be matched with: the first has failed and its network is
# still asked about it, or is not any more; and the other.
@pytest.mark.parametrize(
    ("is_asked", "other", "first", "second"),
    [
        (True, "open", False, False),
        (False, "open", False, True),
        (True, "paid", False, True),
        (False, "paid", False, True),
        (True, "failed", False, False),
        (False, "failed", True, True),
        (True, "of another amount", True, True),
    ],
)
@pytest.mark.parametrize("has_key", [True, False])
async def test_a_line_that_names_no_payment_is_matched_only_if_no_other_may_be_its(
    statements: Statements, desk: ExceptionDesk, has_key: bool, is_asked: bool, other: str, first: bool, second: bool
) -> None:
    """Seed 210111: the line of a second payout was matched with the first, which had failed, and both were debited.
    Seed 230053: the line of the first, which was paid after all, was matched with the second."""
    steps = statements.steps
    failed = await steps.ended(Type.DISBURSEMENT, Status.FAILED)
    match other:
        case "open" | "of another amount":
            alike = await steps.processing(Type.DISBURSEMENT, 1000 if other == "open" else 1001)
        case _:
            alike = await steps.ended(Type.DISBURSEMENT, Status.COMPLETED if other == "paid" else Status.FAILED)
    if not is_asked:
        async with statements.database.begin() as tx:
            await tx.execute("DELETE FROM dispatches WHERE is_follow_up")
    # Another amount than the payment's, or a line with its key would be matched by itself.
    amount = -999 if has_key else -1000
    await statements.take(
        Entry("QKX", amount, clock.now(), key=failed.network_key if has_key else "", phone=failed.phone)
    )
    [found] = [each for each in await statements.open_exceptions() if each.line_id is not None]
    assert await _can_match(desk, found, failed) == (first or has_key)
    if not has_key and other != "of another amount":
        assert await _can_match(desk, found, alike) == second


async def _can_match(desk: ExceptionDesk, found: ReconciliationException, payment: Transaction) -> bool:
    try:
        await desk.propose(found, Action.MATCH, {"payment": payment.reference})
    except Conflict:
        return False
    await desk.reject(found)
    return True
