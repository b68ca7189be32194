"""Exceptions in shillings: what limits count, what is booked of a line, and what the list says is between the two sides."""

from malipo import clock
from malipo.networks.connector import Verdict
from malipo.payments.transaction import Status, Type
from malipo.reconciliation.exceptions.action import Action
from malipo.reconciliation.exceptions.store import resolutions
from malipo.reconciliation.matching.exception import ExceptionState
from malipo.reconciliation.matching.store import exceptions
from tests.payments.payment_steps import steps
from tests.reconciliation.exception_desk import ExceptionDesk
from tests.reconciliation.statement_days import Entry, Statements, line_of, statements

__all__ = ["statements", "steps"]


async def test_a_limit_counts_the_line_that_becomes_a_payments_and_only_what_the_ledger_lacks_is_booked(
    statements: Statements,
) -> None:
    """By hand: the float has followed the payment with 2,000,000, the line says 2,001,000: 1,000 is to be booked."""
    desk = ExceptionDesk(statements.database, 4_002_500)
    payment = await statements.completed(amount=2_000_000)
    await statements.take(line_of(payment, amount=2_001_000))
    [found] = await statements.open_exceptions()
    assert (found.kind, found.amount, found.followed) == ("amount_differs", 1_000, 2_000_000)
    assert (await desk.propose(found, Action.BOOK, {"account": "suspense"})).state is ExceptionState.RESOLVED
    assert (await statements.steps.balances())["suspense"] == 1_000
    assert await statements.float_change() == await statements.statement_change() == 2_001_000
    done = await statements.match()
    assert (done.exceptions.count, await statements.kinds()) == (0, []), "its payment is not absent"

    assert (await desk.undo(found)).state is ExceptionState.OPEN
    assert await statements.float_change() == 2_000_000
    # All of the line, 1,000 booked back, and all of the line again are 4,003,000 of one operator.
    assert (await desk.propose(found, Action.BOOK, {"account": "losses"})).state is ExceptionState.PROPOSED
    async with statements.database.read() as connection:
        kept = await resolutions.find(connection, found.id)
    assert [(each.action, each.amount) for each in kept] == [("book", 1_000), ("undo", 1_000), ("book", 1_000)]
    await statements.check_ledger()


async def test_an_exception_found_while_its_payment_was_open_counts_by_the_payment_at_the_decision(
    statements: Statements,
) -> None:
    desk = ExceptionDesk(statements.database, 100_000)
    payment = await statements.steps.processing(Type.COLLECTION, 900_000)
    await statements.take(line_of(payment, amount=950_000))
    [found] = await statements.open_exceptions()
    assert (found.amount, found.followed) == (950_000, 0)
    assert (await desk.propose(found, Action.BOOK, {"account": "losses"})).state is ExceptionState.PROPOSED
    await desk.reject(found)
    await statements.steps.report(payment, Verdict.CONFIRMED)
    # 50,000 are booked now, and all of the line is the payment's.
    assert (await desk.propose(found, Action.BOOK, {"account": "losses"})).state is ExceptionState.PROPOSED
    assert (await desk.approve(found)).state is ExceptionState.RESOLVED
    assert (await statements.steps.balances())["losses"] == 50_000
    assert await statements.float_change() == await statements.statement_change() == 950_000
    await statements.check_ledger()


async def test_the_difference_that_the_list_shows_is_that_of_statement_and_ledger(
    statements: Statements,
) -> None:
    """By hand: 500 more than the payment, a stranger of 77, a payout of 700 that no statement has, and a payout of 1,000
    that was paid after all and that the float has followed."""
    differs, absent = await statements.completed(), await statements.completed(Type.DISBURSEMENT, 700)
    failed = await statements.steps.ended(Type.DISBURSEMENT, Status.FAILED)
    open_ = await statements.steps.processing(Type.DISBURSEMENT, 300)
    await statements.take(line_of(differs, amount=1_500), line_of(failed), Entry("T1", 77, clock.now()))
    assert await statements.kinds() == [
        ("amount_differs", 500),
        ("ours_only", -700),
        ("ours_only", -300),
        ("state_differs", -1_000),
        ("theirs_only", 77),
    ]
    async with statements.database.read() as connection:
        counts = await exceptions.count(connection, now=clock.now())
    between = {each.kind: each.difference for each in counts}
    assert between == {"amount_differs": 500, "ours_only": 700, "state_differs": 0, "theirs_only": 77}
    assert sum(between.values()) == await statements.statement_change() - await statements.float_change() == 1_277
    assert sum(each.absolute for each in counts) == 500 + 700 + 300 + 1_000 + 77
    assert (absent.amount, open_.amount) == (700, 300)
