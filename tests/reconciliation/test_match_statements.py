"""Matching: what a line ends, what it contradicts, and what is left as an exception."""

import random
from datetime import timedelta
from pathlib import Path

import pytest

from malipo import clock
from malipo.networks.connector import Verdict
from malipo.payments.cases.resolution import OperatorFinding, ResolvedOutcome
from malipo.payments.cases.resolve import approve as approve_case
from malipo.payments.cases.resolve import propose as propose_case
from malipo.payments.dispatch import AnswerSource
from malipo.payments.transaction import Status, Type
from malipo.reconciliation.imports.import_statement import DoesNotAddUp
from malipo.reconciliation.matching.match_statements import MatchingResult
from tests.payments.payment_steps import steps
from tests.reconciliation.statement_days import ASHA, JUMA, Entry, Statements, fee_of, line_of, reversal_of, statements

__all__ = ["statements", "steps"]


async def test_a_line_is_matched_by_receipt_and_by_key_and_its_fee_is_attached(statements: Statements) -> None:
    by_receipt, by_key = await statements.completed(), await statements.completed(Type.DISBURSEMENT, 700)
    first, second = line_of(by_receipt, key=""), line_of(by_key, "OTHER")
    done = await statements.take(first, fee_of(first, 10), second, fee_of(second, 3))
    assert (done.matched, done.fees, done.exceptions.count) == (2, 2, 0)
    assert await statements.matches() == [
        ("OTHER", by_key.id, "fee"),
        ("OTHER", by_key.id, "payment"),
        (first.receipt, by_receipt.id, "fee"),
        (first.receipt, by_receipt.id, "payment"),
    ]
    assert (await statements.steps.balances())["network_fees"] == -13
    assert await statements.float_change() == await statements.statement_change() == 1000 - 700 - 13
    await statements.check_ledger()


async def test_a_key_is_found_behind_the_code_that_a_network_puts_before_it(statements: Statements) -> None:
    """Tigo Pesa's references begin with the biller's code."""
    sent = await statements.steps.processing(Type.COLLECTION)
    done = await statements.take(line_of(sent, "OTHER", key=f"DEMO{sent.network_key}"))
    assert (done.matched, done.completed, done.exceptions.count) == (1, 1, 0)


async def test_the_time_at_which_the_ledger_moved_the_float_is_kept(statements: Statements) -> None:
    payment = await statements.completed()
    open_ = await statements.steps.processing(Type.COLLECTION)
    await statements.take(line_of(payment), line_of(open_))
    async with statements.database.read() as connection:
        rows = await connection.fetch(
            """
            SELECT m.ledger_at = e.created_at AS is_that FROM statement_matches m
            JOIN moves e ON e.cause_id = m.transaction_id AND e.step = 'end' AND e.move_number = 1
            """
        )
    assert [row["is_that"] for row in rows] == [True, True]


@pytest.mark.parametrize("type_", Type)
async def test_a_line_ends_an_open_payment_and_one_that_was_not_sent_as_far_as_we_know(
    statements: Statements, type_: Type
) -> None:
    processing = await statements.steps.processing(type_)
    pending = await statements.steps.open(type_, 2000)
    done = await statements.take(line_of(processing, "QK1"), line_of(pending, "QK2"))
    assert (done.completed, done.exceptions.count) == (2, 0)
    for payment, receipt in ((processing, "QK1"), (pending, "QK2")):
        assert await statements.status(payment) is Status.COMPLETED
        async with statements.database.read() as connection:
            reported = await connection.fetchval(
                "SELECT provider_reference FROM transactions WHERE id = $1", payment.id
            )
        assert reported == receipt
        assert await statements.steps.dispatch(payment) is None, "nothing is left to send"
    assert (await statements.steps.claim()).to_send == []
    assert await statements.float_change() == await statements.statement_change()
    await statements.check_ledger()


async def test_a_payout_that_was_reported_failed_and_is_in_the_statement_is_owed(statements: Statements) -> None:
    payment = await statements.steps.ended(Type.DISBURSEMENT, Status.FAILED)
    done = await statements.take(line_of(payment))
    assert done.contradicted == 1
    correction = await statements.steps.correction(payment)
    assert correction is not None
    assert (correction.is_paid, correction.source, correction.owed) == (True, AnswerSource.STATEMENT, 1000)
    assert await statements.kinds() == [("state_differs", -1000)]
    assert await statements.float_change() == await statements.statement_change() == -1000
    await statements.check_ledger()


@pytest.mark.parametrize("status", [Status.FAILED, Status.CANCELLED])
async def test_a_collection_that_was_paid_after_all_is_credited(statements: Statements, status: Status) -> None:
    payment = await statements.steps.ended(Type.COLLECTION, status)
    before = (await statements.steps.balances())["wallet"]
    done = await statements.take(line_of(payment))
    assert [each.kind for each in done.exceptions.first] == ["state_differs"]
    assert (await statements.steps.balances())["wallet"] == before + 1000
    assert await statements.kinds() == [], "nothing is left to decide"
    assert await statements.float_change() == await statements.statement_change()
    await statements.check_ledger()


async def test_a_cancelled_payout_that_was_paid_before_a_restore_is_owed(statements: Statements) -> None:
    payment = await statements.steps.ended(Type.DISBURSEMENT, Status.CANCELLED)
    await statements.take(line_of(payment))
    assert await statements.kinds() == [("state_differs", -1000)]
    correction = await statements.steps.correction(payment)
    assert correction is not None
    assert correction.owed == 1000
    await statements.check_ledger()


async def test_a_statement_outlasts_a_signed_callback_that_came_first_or_later(statements: Statements) -> None:
    payment = await statements.steps.processing(Type.DISBURSEMENT)
    await statements.take(line_of(payment))
    await statements.steps.report(payment, Verdict.REFUSED, AnswerSource.CALLBACK)
    assert (await statements.steps.report(payment, Verdict.REFUSED)).is_contradiction
    assert await statements.float_change() == 0
    assert (await statements.match()).contradicted == 1, "the line is still there"
    assert await statements.float_change() == -1000
    assert not (await statements.steps.report(payment, Verdict.REFUSED)).is_contradiction
    assert await statements.float_change() == await statements.statement_change()
    await statements.check_ledger()


@pytest.mark.parametrize("type_", Type)
async def test_a_completed_payment_that_was_taken_back_is_contradicted(statements: Statements, type_: Type) -> None:
    payment = await statements.completed(type_)
    line = line_of(payment)
    done = await statements.take(line, reversal_of(line))
    assert (done.matched, done.reversals, done.contradicted) == (1, 1, 1)
    assert await statements.kinds() == [("state_differs", -line.amount)]
    assert await statements.float_change() == await statements.statement_change() == 0
    await statements.check_ledger()


@pytest.mark.parametrize("type_", Type)
async def test_a_reversal_in_a_later_file_contradicts_what_the_first_has_ended(
    statements: Statements, type_: Type
) -> None:
    payment = await statements.steps.processing(type_)
    line = line_of(payment)
    assert (await statements.take(line)).completed == 1
    later = clock.now() + timedelta(days=2)
    await statements.take(reversal_of(line), opening=5_000_000 + line.amount, begins=later, ends=later)
    assert await statements.kinds() == [("state_differs", -line.amount)]
    assert await statements.float_change() == await statements.statement_change() == 0
    await statements.check_ledger()


@pytest.mark.parametrize("status", [Status.PENDING, Status.PROCESSING])
async def test_an_open_payment_that_was_paid_and_taken_back_stays_open_for_operators(
    statements: Statements, status: Status
) -> None:
    steps = statements.steps
    payment = await (steps.open if status is Status.PENDING else steps.processing)(Type.DISBURSEMENT)
    line = line_of(payment)
    await statements.take(line, reversal_of(line))
    assert await statements.status(payment) is Status.PROCESSING
    assert await statements.kinds() == [("state_differs", 1000)]
    assert (await steps.claim()).to_send == []
    assert await statements.float_change() == 0


@pytest.mark.parametrize("outcome", [ResolvedOutcome.COMPLETED, ResolvedOutcome.FAILED])
async def test_operators_who_end_a_payment_otherwise_than_its_statement_says_are_contradicted(
    statements: Statements, outcome: ResolvedOutcome
) -> None:
    """Seed 210060: the exception was resolved as decided, and the float was not what the network has."""
    payment = await statements.steps.processing(Type.DISBURSEMENT)
    line = line_of(payment)
    await statements.take(line, reversal_of(line))
    async with statements.database.begin() as tx:
        finding = OperatorFinding(outcome, "The statement of that day", is_despite_waiting=True)
        await propose_case(tx, payment.reference, finding, actor=ASHA, approval_amount=1_000_000, now=clock.now())
    async with statements.database.begin() as tx:
        await approve_case(tx, payment.reference, actor=JUMA, now=clock.now())
    for _ in range(2):
        await statements.match()
        assert await statements.float_change() == await statements.statement_change() == 0
        is_wrong = outcome is ResolvedOutcome.COMPLETED
        assert [kind for kind, _ in await statements.kinds()] == ["state_differs"] * is_wrong
        await statements.check_ledger()


async def test_a_failed_payment_that_was_paid_and_taken_back_is_right_as_it_is(statements: Statements) -> None:
    payment = await statements.steps.ended(Type.DISBURSEMENT, Status.FAILED)
    line = line_of(payment)
    done = await statements.take(line, reversal_of(line))
    assert (done.matched, done.reversals, done.contradicted, done.exceptions.count) == (1, 1, 0, 0)
    assert await statements.float_change() == 0


@pytest.mark.parametrize("change", [{"amount": -999}, {"linked": "NONE"}])
async def test_a_reversal_that_does_not_fit_is_an_unknown_line(
    statements: Statements, change: dict[str, object]
) -> None:
    line = line_of(await statements.completed())
    await statements.take(line, reversal_of(line, **change))
    assert [kind for kind, _ in await statements.kinds()] == ["unknown_line"]
    assert await statements.float_change() == 1000


@pytest.mark.parametrize("amount", [1001, -1000])
async def test_another_amount_or_direction_ends_nothing(statements: Statements, amount: int) -> None:
    open_, completed = await statements.steps.processing(Type.COLLECTION), await statements.completed()
    await statements.take(line_of(open_, amount=amount), line_of(completed, amount=amount))
    assert await statements.status(open_) is Status.PROCESSING
    assert await statements.matches() == []
    assert await statements.kinds() == sorted([("amount_differs", amount), ("amount_differs", amount - 1000)])


async def test_a_payment_that_the_network_made_twice_is_matched_once(statements: Statements) -> None:
    payment = await statements.completed(Type.DISBURSEMENT)
    first = line_of(payment)
    again = line_of(payment, "AGAIN", at=first.at + timedelta(seconds=1))
    await statements.take(again, first)
    assert await statements.matches() == [(first.receipt, payment.id, "payment")]
    [found] = await statements.open_exceptions()
    assert (found.kind, found.receipt, found.transaction_id) == ("twice", "AGAIN", payment.id)


async def test_a_receipt_that_fits_two_payments_is_matched_with_none(statements: Statements) -> None:
    same = [await statements.completed(receipt="SAME"), await statements.completed(receipt="SAME")]
    await statements.take(line_of(same[0], key=""))
    assert await statements.matches() == []
    assert await statements.kinds() == [("twice", 1000)]


async def test_two_payments_with_equal_amount_phone_and_minute_are_matched_by_key_or_not_at_all(
    statements: Statements,
) -> None:
    twins = [await statements.completed(), await statements.completed()]
    assert twins[0].phone == twins[1].phone
    await statements.take(*(line_of(each, key="") for each in twins))
    assert {(receipt, id_) for receipt, id_, _ in await statements.matches()} == {
        (each.provider_reference, each.id) for each in twins
    }
    open_ = [await statements.steps.processing(Type.COLLECTION) for _ in range(2)]
    now = clock.now() + timedelta(days=2)
    lines = [line_of(each, f"X{number}", key="") for number, each in enumerate(open_)]
    await statements.take(*lines, opening=5_002_000, begins=now, ends=now)
    assert await statements.kinds() == [("theirs_only", 1000)] * 2
    assert [await statements.status(each) for each in open_] == [Status.PROCESSING] * 2


async def test_the_same_file_twice_halves_that_overlap_and_shuffled_lines_end_the_same(statements: Statements) -> None:
    payments = [await statements.completed(Type.COLLECTION, 1000 + place) for place in range(6)]
    lines = [each for payment in payments for each in (line_of(payment), fee_of(line_of(payment), 5))]
    begins = clock.now() - timedelta(days=1)
    whole = statements.write(*lines, begins=begins)
    half = statements.write(*lines[:8], begins=begins)
    opening = 5_000_000 + sum(each.amount for each in lines[:4])
    rest = statements.write(*lines[4:], opening=opening, begins=lines[4].at)
    random.Random(1).shuffle(lines)
    shuffled = statements.write(*lines, begins=begins)
    assert (await _taken(statements, half)).matched == 4
    expected: list[tuple[str, str, str]] | None = None
    for path in (rest, whole, shuffled, half):
        await _taken(statements, path)
        expected = expected or await statements.matches()
        assert await statements.matches() == expected
    assert len(expected or []) == 12
    assert await statements.kinds() == []
    assert (await statements.steps.balances())["network_fees"] == -30
    assert await statements.float_change() == await statements.statement_change()


async def _taken(statements: Statements, path: Path) -> MatchingResult:
    await statements.load(path)
    return await statements.match()


async def test_a_wrong_opening_balance_is_refused_and_matches_nothing(statements: Statements) -> None:
    payment = await statements.steps.processing(Type.COLLECTION)
    path = statements.write(line_of(payment))
    path.write_text(path.read_text().replace("opening balance,5000000", "opening balance,5001000"))
    with pytest.raises(DoesNotAddUp):
        await statements.load(path)
    assert (await statements.match()).matched == 0
    assert await statements.status(payment) is Status.PROCESSING


async def test_an_unknown_kind_a_strangers_payment_and_a_sweep(statements: Statements) -> None:
    now = clock.now()
    done = await statements.take(
        Entry("S1", -10_000, now, "Sweep between accounts"),
        Entry("S2", 10_000, now + timedelta(seconds=1), "Sweep between accounts"),
        Entry("T1", 4_321, now, "Payment from customer"),
        Entry("Z1", 0, now, "Payment of nothing"),
    )
    assert (done.booked_sweeps, done.exceptions.count) == (0, 1)
    assert await statements.kinds() == [("theirs_only", 4_321)]
    later = now + timedelta(days=2)
    await statements.take(Entry("S3", -500, now, "Sweep between accounts"), opening=5_004_321, begins=later, ends=later)
    assert (await statements.steps.balances())["suspense"] == -500
    assert await statements.float_change() == -500
    await statements.check_ledger()


async def test_a_payment_that_is_found_later_resolves_what_was_theirs_only(statements: Statements) -> None:
    sent = await statements.steps.send(Type.COLLECTION)
    await statements.take(line_of(sent, "QK9", key=""))
    assert await statements.kinds() == [("theirs_only", 1000)]
    await statements.steps.report(sent, Verdict.CONFIRMED, AnswerSource.SEND, provider_reference="QK9")
    done = await statements.match()
    assert (done.matched, done.resolved) == (1, 1)
    assert await statements.kinds() == []
