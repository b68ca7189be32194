"""The kind of a line whose words say something else: our key or receipt with the exact amount takes precedence."""

import msgspec
import pytest

from malipo import clock
from malipo.network_statements.mapped_profile import with_current_words
from malipo.network_statements.profile import KindRule, built_in
from malipo.network_statements.read_statement import kind_reader
from malipo.network_statements.statement_line import LineKind
from malipo.payments.transaction import Status, Type
from tests.payments.payment_steps import steps
from tests.reconciliation.statement_days import Entry, Statements, fee_of, line_of, statements

__all__ = ["statements", "steps"]

# As in every layout that operators saved before.
OLD_FEE = r"^[a-z ]*(fees?|charges?)\b"
REMARKS = ["School fees for term 2", "Sweep of the yard", "Bank loan of Juma", "Interest", "Reversal of fortune"]


@pytest.mark.parametrize("details", [*REMARKS, "Transaction fee"])
@pytest.mark.parametrize("how", ["key", "receipt"])
async def test_a_line_with_our_key_or_receipt_and_the_exact_amount_is_the_payment_whatever_its_words(
    statements: Statements, details: str, how: str
) -> None:
    if how == "key":
        payment = await statements.steps.processing(Type.COLLECTION)
        line = line_of(payment, "OTHER", details=details)
    else:
        payment = await statements.completed()
        line = line_of(payment, key="", details=details)
    done = await statements.take(line)
    assert (done.matched, done.booked_fees, done.booked_sweeps, done.exceptions.count) == (1, 0, 0, 0)
    assert await statements.status(payment) is Status.COMPLETED
    assert await statements.matches() == [(line.receipt, payment.id, "payment")]
    assert await statements.float_change() == await statements.statement_change() == 1000
    await statements.check_ledger()


async def test_the_fee_of_a_payment_is_no_payment_even_if_it_is_as_large(statements: Statements) -> None:
    payment = await statements.completed(Type.DISBURSEMENT, 10)
    line = line_of(payment)
    done = await statements.take(fee_of(line, 10), line, fee_of(line, 3))
    assert (done.matched, done.fees, done.booked_fees, done.exceptions.count) == (1, 2, -13, 0)
    async with statements.database.read() as connection:
        matched = await connection.fetchval(
            "SELECT l.kind FROM statement_matches m JOIN statement_lines l ON l.id = m.line_id WHERE role = 'payment'"
        )
    assert matched == "money"
    await statements.check_ledger()


async def test_a_fee_that_came_in_is_never_booked_by_itself(statements: Statements) -> None:
    now = clock.now()
    done = await statements.take(
        Entry("S1", 25_000, now, "School fees"), Entry("F1", -40, now, "Transaction fee"), Entry("F2", 30, now, "Fees")
    )
    assert done.booked_fees == -40
    assert await statements.kinds() == [("theirs_only", 25_000), ("unknown_line", 30)]
    assert await statements.float_change() == -40
    assert (await statements.match()).exceptions.count == 0
    await statements.check_ledger()


async def test_a_second_line_of_a_payment_with_the_words_of_a_fee_is_an_exception(statements: Statements) -> None:
    payment = await statements.completed()
    line = line_of(payment, details="School fees")
    await statements.take(line, line_of(payment, "AGAIN", details="School fees"))
    assert await statements.kinds() == [("twice", 1000)]


@pytest.mark.parametrize("name", sorted(built_in()))
def test_a_customers_remark_is_no_charge_of_the_network(name: str) -> None:
    kind_of = kind_reader(built_in()[name])
    for remark in ("School fees for term 2", "Hospital charges Juma", "My fee", "ada ya shule fee", "Fees for school"):
        assert kind_of("", remark) is LineKind.MONEY, remark


@pytest.mark.parametrize(
    "words",
    ["Fee", "Fees", "Transaction fee", "Transaction Fee - 0754", "Charge", "Charges", "Service charge", "Payout fee"],
)
@pytest.mark.parametrize("name", ["generic", "clickpesa", "clickpesa-api", "airtel-money", "airtel-user"])
def test_the_networks_words_for_charges_are_a_fee(name: str, words: str) -> None:
    assert kind_reader(built_in()[name])("", words) is LineKind.FEE


def test_a_layout_that_was_saved_with_the_old_words_is_read_with_those_of_today() -> None:
    generic = built_in()["generic"]
    mine = KindRule(LineKind.SWEEP, "^my own words")
    saved = msgspec.structs.replace(generic, kinds=(mine, KindRule(LineKind.FEE, OLD_FEE)))
    assert kind_reader(saved)("", "School fees") is LineKind.FEE
    read = kind_reader(with_current_words(saved))
    assert [read("", words) for words in ("School fees", "Transaction fee", "My own words")] == [
        LineKind.MONEY,
        LineKind.FEE,
        LineKind.SWEEP,
    ]
