"""Every difference that the simulator can put into a statement ends as the exception that it is, and no other."""

from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from malipo import clock
from malipo.network_statements.profile import built_in
from malipo.networks.connector import Channel, Type
from malipo.payments.transaction import Transaction
from malipo.reconciliation.imports.import_statement import DoesNotAddUp, StatementImport, import_statement
from malipo.reconciliation.matching.store import expected_charges
from malipo.reconciliation.matching.store.expected_charges import Charge
from malipo_simulator.behaviour import Outcome, PaymentKind
from malipo_simulator.state import State
from malipo_simulator.statements.account import AccountStatement, statement_of, with_balances
from malipo_simulator.statements.differences import Difference, with_differences
from malipo_simulator.statements.layouts import as_csv
from malipo_simulator.transaction import GatewayName, PaymentDecided, PaymentTaken
from malipo_simulator.transaction import Transaction as Simulated
from tests.conftest import NOBODY
from tests.payments.payment_steps import steps
from tests.reconciliation.statement_days import Statements, statements

__all__ = ["statements", "steps"]

PAYMENTS = [
    (Type.COLLECTION, 5_000),
    (Type.DISBURSEMENT, 2_500),
    (Type.COLLECTION, 1_000),
    (Type.DISBURSEMENT, 700),
    (Type.COLLECTION, 12_345),
]
# Counted from the end of the day: the last is missing, the second has another amount, the third was made twice, the
# fourth was taken back. A transfer to the bank that nobody has booked is theirs only; a sweep nets to nothing.
EXPECTED = {
    Difference.MISSING: [("ours_only", 12_345)],
    Difference.THEIRS_ONLY: [("theirs_only", 4_321)],
    Difference.AMOUNT: [("amount_differs", -700)],
    Difference.TWICE: [("twice", 1_000)],
    Difference.FEE: [("fee_differs", -3)],
    Difference.REVERSED: [("state_differs", 2_500)],
    Difference.SWEEP: [],
    Difference.BANK: [("theirs_only", -25_000)],
}


def simulated(payments: list[Transaction]) -> AccountStatement:
    """The network's statement of the day, from its own book."""
    state = State()
    for number, payment in enumerate(payments):
        at = payments[0].created_at.timestamp()  # all on one day, also at midnight
        transaction = Simulated(
            id=f"t{number}",
            gateway=GatewayName.MPESA,
            channel=GatewayName.MPESA,
            kind=PaymentKind.COLLECTION if payment.type is Type.COLLECTION else PaymentKind.DISBURSEMENT,
            phone=payment.phone,
            amount=payment.amount,
            reference=payment.network_key,
            network_id=f"n{number}",
            receipt=payment.provider_reference or "",
            merchant="Duka",
            note="",
            taken_at=at,
            due_at=None,
            callbacks=0,
        )
        state.apply(PaymentTaken(transaction))
        state.apply(PaymentDecided(transaction.id, Outcome.SUCCESS, at))
    return statement_of(state, GatewayName.MPESA, clock.day_of(payments[0].created_at), merchant="Duka")


def written(folder: Path, statement: AccountStatement) -> Path:
    path = folder / f"{statement.day}.csv"
    path.write_text(as_csv(statement), newline="")
    return path


async def load(statements: Statements, statement: AccountStatement) -> None:
    path = written(statements.folder, statement)
    async with statements.database.begin() as tx:
        await import_statement(
            tx,
            StatementImport(
                path,
                channel=Channel.MPESA,
                account="",
                profile=built_in()["mpesa-account"],
                is_new_account=True,
            ),
            actor=NOBODY,
            now=clock.now(),
        )


async def a_day(statements: Statements) -> AccountStatement:
    async with statements.database.begin() as tx:
        for type_, share in ((Type.COLLECTION, 100), (Type.DISBURSEMENT, 40)):
            charge = Charge(channel=Channel.MPESA, type=type_, basis_points=share, min_fee=1)
            await expected_charges.set_charge(tx, charge, by="asha", now=clock.now())
    return simulated([await statements.completed(type_, amount) for type_, amount in PAYMENTS])


@pytest.mark.parametrize("difference", [None, *EXPECTED])
async def test_each_difference_is_found_and_named_and_none_is_invented(
    statements: Statements, difference: Difference | None
) -> None:
    statement = await a_day(statements)
    changed = with_differences(statement, {difference} if difference else set())
    after = with_balances(
        replace(statement, day=statement.day + timedelta(days=1), opening=changed.closing, entries=[])
    )
    await load(statements, changed)
    await load(statements, after)
    await statements.match()
    assert await statements.kinds() == (EXPECTED[difference] if difference else [])
    await statements.check_ledger()


@pytest.mark.parametrize("difference", [Difference.OPENING, Difference.GAP])
async def test_a_statement_that_does_not_add_up_is_refused(statements: Statements, difference: Difference) -> None:
    statement = await a_day(statements)
    with pytest.raises(DoesNotAddUp):
        await load(statements, with_differences(statement, {difference}))
    assert (await statements.match()).matched == 0


async def test_all_differences_at_once_leave_exactly_what_is_not_explained(statements: Statements) -> None:
    """What the ledger lacks is the sum of the lines that have no place; what it has too much is what is absent."""
    statement = with_differences(await a_day(statements), set(EXPECTED))
    await load(statements, statement)
    after = replace(statement, day=statement.day + timedelta(days=1), opening=statement.closing, entries=[])
    await load(statements, with_balances(after))
    await statements.match()
    found = await statements.open_exceptions()
    assert {each.kind for each in found} == {kind for kinds in EXPECTED.values() for kind, _ in kinds}
    placeless = sum(each.amount for each in found if each.kind in ("theirs_only", "twice", "amount_differs"))
    absent = sum(each.amount for each in found if each.kind == "ours_only")
    assert await statements.statement_change() - await statements.float_change() == placeless - absent
    await statements.check_ledger()
