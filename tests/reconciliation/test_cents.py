"""Charges with cents: kept as the network wrote them, and booked in whole shillings, never half a shilling apart."""

import random
from datetime import timedelta
from decimal import Decimal

import pytest

from malipo import clock
from malipo.errors import Invalid
from malipo.ledger import check as ledger_check
from malipo.ledger import house_bookings
from malipo.ledger.house_bookings import HouseBookingKind
from malipo.payments.transaction import Type
from malipo.reconciliation.exceptions.action import Action
from malipo.reconciliation.imports.import_statement import DoesNotAddUp
from malipo.words.say import say
from tests.journeys import database_facts
from tests.payments.payment_steps import steps
from tests.reconciliation.exception_desk import ExceptionDesk
from tests.reconciliation.lost_requests import Lost
from tests.reconciliation.statement_days import ASHA, OPENING, Entry, Statements, fee_of, line_of, statements

__all__ = ["statements", "steps"]


async def exact_change(statements: Statements) -> Decimal:
    """What the lines say, to the cent."""
    async with statements.database.read() as connection:
        cents = await connection.fetchval("SELECT coalesce(sum(amount * 100 + cents), 0)::bigint FROM statement_lines")
    return Decimal(cents) / 100


async def test_a_charge_with_cents_is_kept_to_the_cent_and_booked_in_shillings(statements: Statements) -> None:
    line = line_of(await statements.completed())
    done = await statements.take(line, fee_of(line, Decimal("59.40")), opening=Decimal("5000.25"))
    assert (done.matched, done.fees, done.booked_fees, done.exceptions.count) == (1, 1, -59, 0)
    async with statements.database.read() as connection:
        lines = await connection.fetch("SELECT amount, cents, balance, balance_cents FROM statement_lines ORDER BY row")
        [file] = await connection.fetch("SELECT opening, opening_cents, closing, closing_cents FROM statement_files")
    assert [tuple(row) for row in lines] == [(1000, 0, 6000, 25), (-59, -40, 5941, -15)]
    assert tuple(file) == (5000, 25, 5941, -15)
    assert (await statements.steps.balances())["network_fees"] == -59
    assert await exact_change(statements) == Decimal("940.60")
    assert await statements.float_change() == 941
    await statements.check_ledger()


async def test_the_float_stays_within_half_a_shilling_of_the_statements_however_many_charges_have_cents(
    statements: Statements,
) -> None:
    chance, opening = random.Random(29), Decimal(OPENING)
    begins = clock.now() - timedelta(days=1)
    for number in range(8):
        charges = [-Decimal(chance.randint(1, 12_000)) / 100 for _ in range(chance.randint(1, 5))]
        if number == 3:
            charges = [Decimal("-0.10"), Decimal("-0.20")]
        ends = begins + timedelta(hours=1)
        entries = [Entry(f"F{number}-{nth}", each, begins, "Transaction fee") for nth, each in enumerate(charges)]
        await statements.take(*entries, opening=opening, begins=begins, ends=ends)
        opening, begins = opening + sum(charges), ends
        assert abs(await exact_change(statements) - await statements.float_change()) <= Decimal("0.50")
        await statements.check_ledger()
    balances = await statements.steps.balances()
    assert abs(balances["network_fees"] - (opening - OPENING)) <= 8, "each file of a day is rounded by itself"
    assert abs(balances["rounding"]) <= 8


async def test_an_undone_action_takes_its_cents_back(statements: Statements) -> None:
    """Also the shilling that they had become with others."""
    begins, opening = clock.now() - timedelta(days=1), Decimal(OPENING)
    for number in range(3):
        ends = begins + timedelta(hours=1)
        fee = Entry(f"F{number}", Decimal("-10.40"), begins, "Transaction fee")
        await statements.take(fee, opening=opening, begins=begins, ends=ends)
        opening, begins = opening + fee.amount, ends
    assert await statements.float_change() == -31
    async with statements.database.read() as connection:
        found = await connection.fetch("SELECT id FROM house_bookings WHERE kind = 'network_fee' ORDER BY id")
    for number, row in enumerate(found, 1):
        async with statements.database.begin() as tx:
            await house_bookings.undo(tx, row["id"], evidence="Wrong", booked_by=ASHA.name, now=clock.now())
        exact = Decimal("-10.40") * (3 - number)
        assert abs(exact - await statements.float_change()) <= Decimal("0.50")
        async with statements.database.snapshot() as connection:
            assert await ledger_check.check(connection) == []
    assert await statements.float_change() == 0
    balances = await statements.steps.balances()
    assert [balances.get(name, 0) for name in ("network_fees", "rounding")] == [0, 0]


async def test_a_line_with_cents_is_no_payment_and_operators_book_all_of_it(statements: Statements) -> None:
    payment = await statements.completed()
    cents = Decimal("0.40")
    await statements.take(
        line_of(payment, amount=1000 + cents),
        Entry("I1", Decimal("7.35"), clock.now(), "Interest"),
        Entry("B1", Decimal("-500.50"), clock.now(), "Bank transfer"),
        Entry("O1", Decimal("-0.30"), clock.now(), "Adjustment"),
    )
    assert await statements.matches() == []
    assert await statements.kinds() == [
        ("amount_differs", 0),
        ("theirs_only", -501),
        ("unknown_line", -1),
        ("unknown_line", 7),
    ]
    desk = ExceptionDesk(statements.database)
    found = {each.receipt: each for each in await statements.open_exceptions()}
    with pytest.raises(Invalid, match="adopt_cents"):
        await desk.propose(found["I1"], Action.ADOPT, {"merchant": payment.merchant_id, "phone": payment.phone})
    await desk.propose(found[payment.provider_reference], Action.MATCH, {"payment": payment.id})
    await desk.approve(found[payment.provider_reference])
    for receipt, account in (("I1", "suspense"), ("B1", "bank"), ("O1", "network_fees")):
        await desk.propose(found[receipt], Action.BOOK, {"account": account})
    assert await statements.kinds() == []
    assert await exact_change(statements) == Decimal("506.95")
    assert await statements.float_change() == 507
    await statements.check_ledger()
    await desk.undo(found["I1"])
    assert await statements.float_change() == 500
    await statements.check_ledger()


async def test_cents_that_the_balances_do_not_follow_are_reported(statements: Statements) -> None:
    path = statements.write(Entry("F1", Decimal("-59.40"), clock.now(), "Transaction fee"), opening=1000)
    path.write_text(path.read_text().replace("closing balance,940.60", "closing balance,940.61"))
    with pytest.raises(DoesNotAddUp) as refused:
        await statements.load(path)
    [problem] = refused.value.problems
    assert say(problem) == "The heading closes with 940.61, the lines with 940.60."


async def test_the_check_finds_cents_that_were_not_booked(statements: Statements) -> None:
    await statements.take(Entry("F0", Decimal("-7.00"), clock.now(), "Transaction fee"))
    await statements.take(Entry("F1", Decimal("-59.40"), clock.now(), "Transaction fee"))
    async with statements.database.begin() as tx:
        await tx.execute(
            "UPDATE house_bookings SET cents = -60 WHERE kind = $1 AND cents <> 0", HouseBookingKind.NETWORK_FEE
        )
    async with statements.database.snapshot() as connection:
        at_once = await ledger_check.check(connection)
        in_pieces = await database_facts.check_in_pieces(connection, rows=1)
    for found in (at_once, in_pieces):
        assert [(each.what, each.stored, each.computed) for each in found] == [
            ("cents of an account", -60, -50),
            ("cents of a booking", -5960, -5940),
        ]


async def test_the_check_counts_no_line_of_a_lost_payment_as_a_fee_whatever_operators_do_about_it(
    statements: Statements,
) -> None:
    """A restore has lost a payout whose line has the words of a fee. The charges beside it are booked without it."""
    lost = Lost(statements, ExceptionDesk(statements.database), Type.DISBURSEMENT)
    now, key = clock.now(), await lost.network_key()
    line = Entry("QK1", -lost.amount, now, "Monthly fee, given back", key=key, phone="255754000001")
    await statements.take(line, Entry("F1", Decimal("-59.40"), now, "Transaction fee"))
    [found] = await statements.open_exceptions()
    await statements.check_ledger()
    await lost.desk.propose(found, Action.BOOK, {"account": "losses"})
    assert await statements.float_change() == -lost.amount - 59
    await statements.check_ledger()
    await lost.desk.undo(found)
    await statements.check_ledger()
    await lost.adopt(found)
    assert await statements.float_change() == -lost.amount - 59
    await statements.check_ledger()
    await lost.desk.undo(found)
    await lost.desk.approve(found)
    assert await statements.float_change() == -59
    await statements.check_ledger()
