"""Two operators withdraw an import: its bookings and matches are undone, and payments keep their status."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from malipo import clock
from malipo.audit_log import store as audit_log
from malipo.errors import Conflict, Forbidden, Missing
from malipo.floats import store as floats
from malipo.payments.apply_network_answers import ApplyNetworkAnswers
from malipo.payments.dispatch import QueryRules
from malipo.payments.transaction import Status, Type
from malipo.reconciliation.exceptions.action import Action
from malipo.reconciliation.exceptions.resolve_exceptions import ResolveExceptions
from malipo.reconciliation.imports.store import withdrawal_proposals as statement_proposals
from malipo.reconciliation.imports.store import withdrawals
from malipo.reconciliation.imports.store.withdrawal_proposals import StatementProposal
from malipo.reconciliation.imports.withdraw_statement import WithdrawStatements
from malipo.reconciliation.matching.store import matching
from tests.payments.payment_steps import steps
from tests.reconciliation.statement_days import ASHA, JUMA, OPENING, Entry, Statements, fee_of, line_of, statements

__all__ = ["statements", "steps"]

WITHDRAW = WithdrawStatements(1000)
WHY = "It is the statement of another till"
DAY = (clock.now() - timedelta(days=3)).replace(hour=9, minute=0, second=0, microsecond=0)


async def propose(statements: Statements, file_id: str) -> StatementProposal:
    async with statements.database.begin() as tx:
        return await WITHDRAW.propose_withdrawal(tx, file_id, reason=WHY, actor=ASHA, now=clock.now())


async def approve(statements: Statements, subject: str, actor: Any = JUMA) -> StatementProposal:
    async with statements.database.begin() as tx:
        return await WITHDRAW.approve(tx, subject, actor=actor, now=clock.now())


async def withdraw(statements: Statements, file_id: str) -> None:
    await propose(statements, file_id)
    await approve(statements, file_id)


async def state(statements: Statements) -> dict[str, Any]:
    """What counts: lines, places, exceptions, balances and readings. Ids, times and what is only kept do not."""
    async with statements.database.read() as connection:
        rows = await connection.fetch(
            """
            SELECT f.name, l.row, l.receipt, l.amount, l.kind, l.key, l.details, l.balance, m.transaction_id, m.role,
                   o.line_id IS NOT NULL AS is_open
            FROM statement_lines l JOIN statement_files f ON f.id = l.file_id
            LEFT JOIN statement_matches m ON m.line_id = l.id LEFT JOIN open_statement_lines o ON o.line_id = l.id
            ORDER BY l.receipt, l.amount, l.kind
            """
        )
        readings = [(each.amount, each.source) for each in await floats.find_latest(connection)]
    balances = {name: amount for name, amount in (await statements.steps.balances()).items() if amount}
    return {
        "lines": [tuple(row) for row in rows],
        "exceptions": await statements.kinds(),
        "balances": balances,
        "readings": readings,
    }


async def test_a_withdrawal_undoes_the_import_and_the_same_file_can_be_imported_again(statements: Statements) -> None:
    paid = await statements.completed(Type.COLLECTION, 900)
    nothing = await state(statements)
    lines = [line_of(paid), fee_of(line_of(paid), 7), Entry("X", 55, paid.created_at)]
    lines.append(Entry("S", -40, paid.created_at, "Sweep between accounts"))
    path = statements.write(*lines)
    file = (await statements.load(path)).file
    await statements.match()
    something = await state(statements)
    assert len(something["lines"]) == 4
    assert something["readings"] == [(file.closing, "statement")]
    await propose(statements, file.id)
    assert await state(statements) == something
    with pytest.raises(Conflict):
        await propose(statements, file.id)
    with pytest.raises(Forbidden):
        await approve(statements, file.id, ASHA)
    await approve(statements, file.id)
    assert await state(statements) == nothing
    await statements.match()
    assert await state(statements) == nothing
    await statements.check_ledger()
    with pytest.raises(Conflict, match="withdraw_done"):
        await propose(statements, file.id)
    again = await statements.load(path)
    assert (again.is_repeat, again.file.new_count) == (False, 4)
    await statements.match()
    assert await state(statements) == something
    await statements.check_ledger()
    async with statements.database.read() as connection:
        noted = [each.action for each in await audit_log.find(connection, limit=4)]
        assert await withdrawals.find_remaining(connection, file.id) == []
    assert noted[::-1] == [
        "statement.imported",
        "statement.withdraw_proposed",
        "statement.withdrawn",
        "statement.imported",
    ]


async def test_a_proposal_can_be_rejected_and_made_again(statements: Statements) -> None:
    file = (await statements.load(statements.write(Entry("X", 55, DAY)))).file
    await propose(statements, file.id)
    async with statements.database.begin() as tx:
        assert (await WITHDRAW.reject(tx, file.id, actor=JUMA, now=clock.now())).is_approved is False
    with pytest.raises(Missing):
        await approve(statements, file.id)
    await withdraw(statements, file.id)


@pytest.mark.parametrize("is_first_withdrawn", [True, False])
async def test_of_two_files_that_overlap_exactly_the_lines_of_the_other_are_left(
    statements: Statements, is_first_withdrawn: bool
) -> None:
    """Fees and sweeps too, which are booked by file and day; and what one file knew of a line and the other did not."""
    begins, ends = DAY - timedelta(hours=9), DAY + timedelta(hours=14)
    made = [Entry(f"R{place}", 100 + place, DAY + timedelta(hours=place)) for place in range(6)]
    lines = [each for entry in made for each in (entry, fee_of(entry, 3))]
    lines.insert(6, Entry("S", -20, DAY + timedelta(hours=2), "Sweep between accounts"))
    more = [Entry(each.receipt, each.amount, each.at, each.details, phone="255754000001") for each in lines]
    opening = OPENING + sum(each.amount for each in lines[:4])
    one = statements.write(*lines[:9], begins=begins, ends=DAY + timedelta(hours=3, minutes=30), name="one.csv")
    two = statements.write(
        *more[4:], begins=DAY + timedelta(hours=1, minutes=30), ends=ends, opening=opening, name="two.csv"
    )
    kept, gone = (two, one) if is_first_withdrawn else (one, two)
    file = (await statements.load(kept)).file
    await statements.match()
    expected = await state(statements)
    await withdraw(statements, file.id)
    files = [(await statements.load(path)).file for path in (one, two)]
    assert [each.new_count for each in files] == [9, 4]
    await statements.match()
    await withdraw(statements, next(each.id for each in files if each.name == gone.name))
    await statements.match()
    assert await state(statements) == expected
    await statements.check_ledger()


async def test_a_payment_that_a_line_has_ended_stays_and_is_listed(statements: Statements) -> None:
    open_ = await statements.steps.processing(Type.DISBURSEMENT, 600)
    failed = await statements.steps.ended(Type.COLLECTION, Status.FAILED, 400)
    reported = await statements.completed(Type.COLLECTION, 900)
    path = statements.write(*(line_of(each) for each in (open_, failed, reported)))
    file = (await statements.load(path)).file
    await statements.match()
    async with statements.database.read() as connection:
        before = await withdrawals.find_ended(connection, file.id)
    balances = await statements.steps.balances()
    await withdraw(statements, file.id)
    async with statements.database.read() as connection:
        remaining = await withdrawals.find_remaining(connection, file.id)
    assert remaining == before
    assert [(each.transaction_id, each.amount) for each in remaining] == [(open_.id, -600), (failed.id, 400)]
    assert await statements.status(open_) is Status.COMPLETED
    assert await statements.steps.balances() == balances
    await statements.check_ledger()
    # The right file has it: nothing is reported twice.
    await statements.load(path)
    await statements.match()
    assert len(await statements.matches()) == 3
    assert await statements.steps.balances() == balances


async def test_payments_that_only_a_withdrawn_statement_did_not_have_are_not_absent(statements: Statements) -> None:
    payment = await statements.completed(Type.COLLECTION, 900)
    begins, ends = payment.created_at - timedelta(days=1), payment.created_at + timedelta(days=2)
    file = (await statements.load(statements.write(begins=begins, ends=ends))).file
    await statements.match()
    assert [kind for kind, _ in await statements.kinds()] == ["ours_only"]
    await withdraw(statements, file.id)
    await statements.match()
    assert await statements.kinds() == []
    await statements.load(statements.write(begins=begins, ends=ends, name="again.csv"))
    await statements.match()
    assert [kind for kind, _ in await statements.kinds()] == ["ours_only"]


async def test_a_file_is_withdrawn_only_after_decisions_about_its_lines_are_undone(statements: Statements) -> None:
    file = (await statements.load(statements.write(Entry("X", 55, DAY)))).file
    await statements.match()
    [found] = await statements.open_exceptions()
    settings = statements.steps.service.settings
    resolve = ResolveExceptions(ApplyNetworkAnswers(clock=clock.now, rules=QueryRules.of(settings)), 1000, "MLP", 1)
    await propose(statements, file.id)

    async def decide(action: Action | None) -> None:
        async with statements.database.begin() as tx:
            how: dict[str, Any] = {"reason": "As the network says", "actor": ASHA, "now": clock.now()}
            if action is None:
                await resolve.undo(tx, found.id, **how)
            else:
                await resolve.propose(tx, found.id, action, {"account": "suspense"}, **how)

    await decide(Action.BOOK)
    with pytest.raises(Conflict, match="withdraw_decided"):
        await approve(statements, file.id)
    await decide(None)
    await approve(statements, file.id)
    assert await statements.kinds() == []
    assert await statements.float_change() == 0
    await statements.check_ledger()


async def test_a_withdrawal_and_a_matching_do_not_mix(statements: Statements) -> None:
    file = (await statements.load(statements.write(Entry("X", 55, DAY), Entry("F", -5, DAY, "Fee")))).file
    await propose(statements, file.id)
    async with statements.database.begin() as tx:
        await matching.lock(tx)
        with pytest.raises(Conflict, match="matching_under_way"):
            await approve(statements, file.id)
    done = await asyncio.gather(
        *(approve(statements, file.id) for _ in range(3)), statements.match(), return_exceptions=True
    )
    await statements.match()
    async with statements.database.read() as connection:
        is_withdrawn = await connection.fetchval("SELECT withdrawn_at IS NOT NULL FROM statement_files")
    assert is_withdrawn == (sum(isinstance(each, StatementProposal) for each in done) == 1)
    if not is_withdrawn:  # The matching was first, all three times.
        await approve(statements, file.id)
    assert (await state(statements))["lines"] == []
    assert await statements.float_change() == 0
    await statements.check_ledger()


async def test_a_proposal_about_a_booking_ends_when_its_statement_is_withdrawn(statements: Statements) -> None:
    file = (await statements.load(statements.write(Entry("F", -1200, DAY, "Fee")))).file
    await statements.match()
    async with statements.database.begin() as tx:
        [booking] = await withdrawals.find_bookings(tx, file.id)
        undo = await WITHDRAW.propose_undo(tx, booking.id, reason=WHY, actor=ASHA, now=clock.now())
    assert undo.decided_at is None
    await withdraw(statements, file.id)
    with pytest.raises(Missing):
        await approve(statements, booking.id)
    async with statements.database.read() as connection:
        kept = await statement_proposals.find(connection, file.id)
    assert [(each.action, each.decided_by, each.is_approved) for each in kept] == [
        ("undo", "malipo", False),
        ("withdraw", JUMA.name, True),
    ]


async def test_the_booking_of_a_days_fees_can_be_undone_and_only_operators_book_them_again(
    statements: Statements,
) -> None:
    lines = [Entry(f"F{place}", -400, DAY, "Fee") for place in range(3)]
    file = (await statements.load(statements.write(*lines))).file
    await statements.match()
    async with statements.database.read() as connection:
        [booking] = await withdrawals.find_bookings(connection, file.id)
    assert (booking.amount, booking.is_undone) == (-1200, False)

    async def undo() -> StatementProposal:
        async with statements.database.begin() as tx:
            return await WITHDRAW.propose_undo(tx, booking.id, reason=WHY, actor=ASHA, now=clock.now())

    assert (await undo()).decided_at is None, "above the limit it takes two"
    assert (await statements.steps.balances())["network_fees"] == -1200
    await approve(statements, booking.id)
    for _ in range(2):
        assert (await statements.steps.balances()).get("network_fees", 0) == 0
        assert await statements.kinds() == [("unknown_line", -400)] * 3
        await statements.match()
    with pytest.raises(Conflict):
        await undo()
    # A small one is undone by one.
    other = (
        await statements.load(statements.write(Entry("G", -9, DAY, "Fee"), opening=7, name="o.csv"), account="o")
    ).file
    await statements.match()
    async with statements.database.read() as connection:
        [booking] = await withdrawals.find_bookings(connection, other.id)
    assert (await undo()).is_approved
    await withdraw(statements, file.id)
    await withdraw(statements, other.id)
    assert (await statements.kinds(), (await state(statements))["lines"]) == ([], [])
    assert await statements.float_change() == 0
    await statements.check_ledger()
