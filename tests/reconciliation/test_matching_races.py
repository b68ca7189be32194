"""Two runs of matching at once, and a process that dies in between: no line and no payment is matched twice, and the
result is the same."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from malipo import clock
from malipo.errors import Conflict
from malipo.networks.connector import Verdict
from malipo.payments.apply_network_answers import ApplyNetworkAnswers
from malipo.payments.dispatch import AnswerSource
from malipo.payments.transaction import Status, Transaction, Type
from malipo.reconciliation.exceptions.action import Action
from malipo.reconciliation.matching import match_statements as matching
from malipo.reconciliation.matching.match_statements import match_statements
from malipo.reconciliation.matching.report_evidence import report_evidence
from malipo.reconciliation.matching.store import matching as store
from tests.db.lock_waits import are_waiting
from tests.journeys.full_stack import until
from tests.payments.payment_steps import steps
from tests.reconciliation.exception_desk import ExceptionDesk, a_stranger
from tests.reconciliation.statement_days import Entry, Statements, fee_of, line_of, reversal_of, statements

__all__ = ["statements", "steps"]


async def a_day(statements: Statements) -> tuple[list[Transaction], list[Entry]]:
    """Payments in every state, and what the network has of them."""
    steps = statements.steps
    completed = [await statements.completed(Type.COLLECTION, 1000 + place) for place in range(5)]
    reversed_ = await statements.completed(Type.COLLECTION, 2000)
    open_ = [await steps.processing(type_, 3000) for type_ in Type]
    failed = [await steps.ended(type_, Status.FAILED, 4000) for type_ in Type]
    payments = [*completed, reversed_, *open_, *failed]
    lines = [each for payment in payments for each in (line_of(payment), fee_of(line_of(payment), 7))]
    now = clock.now()
    lines += [reversal_of(line_of(reversed_)), Entry("T1", 555, now), Entry("S1", -40, now, "Sweep between accounts")]
    return payments, lines


async def ends_right(statements: Statements, payments: list[Transaction]) -> None:
    async with statements.database.read() as connection:
        roles = await connection.fetch(
            "SELECT role, count(*) AS number, count(DISTINCT transaction_id) AS payments FROM statement_matches GROUP BY 1"
        )
        answers = await connection.fetchval("SELECT count(*) FROM network_answers WHERE source = 'statement'")
    count = len(payments)
    assert {row["role"]: (row["number"], row["payments"]) for row in roles} == {
        "payment": (count, count),
        "fee": (count, count),
        "reversal": (1, 1),
    }
    assert answers == 5, "two that were open, two that had failed, and one that was taken back"
    assert [kind for kind, _ in await statements.kinds()] == ["state_differs", "state_differs", "theirs_only"]
    assert (await statements.steps.balances())["network_fees"] == -7 * count
    assert await statements.float_change() == await statements.statement_change() - 555
    await statements.check_ledger()


async def test_two_imports_at_once_match_each_line_and_each_payment_once(statements: Statements) -> None:
    payments, lines = await a_day(statements)
    begins = clock.now() - timedelta(days=1)
    half = len(lines) // 2
    opening = 5_000_000 + sum(each.amount for each in lines[: half - 3])
    paths = [
        statements.write(*lines[:half], begins=begins),
        statements.write(*lines[half - 3 :], begins=lines[half - 3].at, opening=opening),
        statements.write(*lines, begins=begins),
    ]

    async def take(path: Path) -> None:
        await statements.load(path)
        await statements.match()

    await asyncio.gather(*(take(path) for path in paths), statements.match(), statements.match())
    await statements.match()
    await ends_right(statements, payments)


async def test_one_matching_waits_for_another_and_an_operators_decision_is_refused_meanwhile(
    statements: Statements,
) -> None:
    found = await a_stranger(statements)
    desk = ExceptionDesk(statements.database)

    async with statements.database.begin() as tx:
        await store.lock(tx)
        with pytest.raises(Conflict) as refused:
            await desk.propose(found, Action.NOTE)
        assert refused.value.code == store.MatchingRefusal.UNDER_WAY
        another = asyncio.create_task(statements.match())

        async def waits() -> bool:
            return another.done() or await are_waiting(statements.database)

        await until(waits, pause=0.01)
        assert not another.done()
    await another
    await desk.propose(found, Action.NOTE)


class KilledError(Exception):
    """The process dies here."""


class DyingAnswers(ApplyNetworkAnswers):
    """Dies before the commit of its batch, after everything was written."""

    async def __call__(self, *arguments: object, **options: object) -> list[object]:  # type: ignore[override]
        await super().__call__(*arguments, **options)  # type: ignore[arg-type]
        raise KilledError


async def queue_only(statements: Statements) -> None:
    async with statements.database.begin() as tx:
        await store.lock(tx)
        await store.queue_new_files(tx, now=clock.now())


async def match_only(statements: Statements) -> None:
    await queue_only(statements)
    async with statements.database.begin() as tx:
        await store.lock(tx)
        await matching.match_queued_lines(tx, {}, approval_amount=1_000_000, now=clock.now())


async def evidence_dies(statements: Statements) -> None:
    settings = statements.apply_answers()
    dying = DyingAnswers(clock=settings._clock, rules=settings._rules)
    with pytest.raises(KilledError):
        await match_statements(statements.database, dying, approval_amount=1_000_000, clock=clock.now)


async def evidence_done(statements: Statements) -> None:
    await match_only(statements)
    await report_evidence(statements.database, statements.apply_answers(), approval_amount=1_000_000, now=clock.now())


async def nothing(statements: Statements) -> None:
    """Killed between the commit of the import and the matching."""


@pytest.mark.parametrize("step", [nothing, queue_only, match_only, evidence_dies, evidence_done])
async def test_a_matching_that_was_killed_is_completed_by_the_next_run(
    statements: Statements, step: Callable[[Statements], Awaitable[None]]
) -> None:
    payments, lines = await a_day(statements)
    await statements.load(statements.write(*lines))
    await step(statements)
    await statements.match()
    await ends_right(statements, payments)
    await statements.match()
    await ends_right(statements, payments)


async def test_an_answer_and_a_line_at_once_end_a_payment_once(statements: Statements) -> None:
    payments = [await statements.steps.processing(Type.DISBURSEMENT, 600 + place) for place in range(8)]
    await statements.load(statements.write(*(line_of(each) for each in payments)))
    result = (
        statements.steps.report(each, verdict, AnswerSource.QUERY)
        for each, verdict in zip(payments, [Verdict.CONFIRMED, Verdict.REFUSED] * 4, strict=True)
    )
    await asyncio.gather(statements.match(), *result)
    await statements.match()
    assert await statements.float_change() == await statements.statement_change()
    await statements.check_ledger()
