"""Lines of payments whose words are those of a fee, a sweep or the bank: they are not booked by these words alone."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from malipo import clock
from malipo.audit_log import store as audit_log
from malipo.networks.connector import Verdict
from malipo.payments.transaction import Type
from malipo.reconciliation.exceptions.action import Action
from malipo.reconciliation.matching.exception import ExceptionKind
from malipo.reconciliation.matching.possible_payment import may_be_payment
from malipo.reconciliation.matching.store import matching
from tests.payments.payment_steps import steps
from tests.reconciliation.exception_desk import ExceptionDesk, desk
from tests.reconciliation.lost_requests import PHONE, Lost
from tests.reconciliation.statement_days import WORKER, Entry, Statements, statements
from tests.reconciliation.test_book_lines import book_transfer
from tests.reconciliation.test_withdraw_statement import withdraw

__all__ = ["desk", "statements", "steps"]

IN, OUT = Type.COLLECTION, Type.DISBURSEMENT
KEY = "0123456789ABCDEF"


@pytest.mark.parametrize(
    ("kind", "amount", "key", "phone", "expected"),
    [
        ("fee", -900, KEY, "", True),
        ("fee", -900, "", "255754***001", False),
        ("fee", -900, "INV 7", "", False),
        ("sweep", -900, KEY, "", True),
        ("sweep", 900, "", "255754***001", True),
        ("sweep", 900, "", PHONE, True),
        ("sweep", 900, "", "150009991234", False),
        ("sweep", 900, "", "", False),
        ("sweep", -900, "", PHONE, False),
        ("bank", 900, "", PHONE, True),
        ("bank", -900, "", PHONE, False),
        ("bank", -900, KEY, "", True),
    ],
)
def test_a_line_may_be_a_payments_if_it_names_a_key_or_brings_in_a_customers_money(
    kind: str, amount: int, key: str, phone: str, expected: bool
) -> None:
    assert may_be_payment(kind, amount, key=key, phone=phone) is expected


@pytest.mark.parametrize(
    ("type_", "words"), [(OUT, "Monthly fee, given back"), (IN, "Sweep of the yard"), (OUT, "Sweep of the yard")]
)
async def test_a_lost_payment_is_not_booked_as_a_fee_or_sweep(
    statements: Statements, desk: ExceptionDesk, type_: Type, words: str
) -> None:
    """The line has our key. Its merchant repeats, and the network says that it was paid: once in the float."""
    lost = Lost(statements, desk, type_)
    signed = lost.amount if type_ is IN else -lost.amount
    line = Entry("QK1", signed, clock.now(), words, key=await lost.network_key(), phone=PHONE)
    done = await statements.take(line)
    assert (done.booked_fees, done.booked_sweeps) == (0, 0)
    assert await statements.kinds() == [("theirs_only", signed)]
    assert (await statements.match()).exceptions.count == 0, "it stays the same exception"
    repeated = (await lost.repeat()).transaction
    await statements.steps.claim()
    await statements.steps.report(repeated, Verdict.CONFIRMED, provider_reference="QK1")
    await statements.match()
    assert await statements.kinds() == []
    assert await statements.matches() == [("QK1", repeated.id, "payment")]
    assert await statements.float_change() == await statements.statement_change()
    await statements.check_ledger()


@pytest.mark.parametrize(
    "words", ["Bank loan of Juma", "Service fee", "Sweep of the yard", "Interest", "Reversal of fortune"]
)
@pytest.mark.parametrize("type_", [IN, OUT])
async def test_a_lost_payment_is_adopted_whatever_its_words(
    statements: Statements, desk: ExceptionDesk, words: str, type_: Type
) -> None:
    lost = Lost(statements, desk, type_)
    signed = lost.amount if type_ is IN else -lost.amount
    await statements.take(Entry("QK1", signed, clock.now(), words, key=await lost.network_key(), phone=PHONE))
    [found] = await statements.open_exceptions()
    await lost.adopt(found)
    assert (await lost.repeat()).is_replay
    await lost.check()


async def test_the_charge_for_a_lost_payment_is_booked_although_it_has_the_key(
    statements: Statements, desk: ExceptionDesk
) -> None:
    """The payment's own line has the receipt of the charge, so the charge is no payment."""
    lost = Lost(statements, desk, OUT)
    now, key = clock.now(), await lost.network_key()
    await statements.take(Entry("QK1", -lost.amount, now, key=key), Entry("QK1", -7, now, "Transaction fee", key=key))
    assert await statements.kinds() == [("theirs_only", -lost.amount)]
    assert await statements.float_change() == -7


async def test_a_charge_that_names_the_key_of_a_payment_is_booked(statements: Statements) -> None:
    payment = await statements.completed(OUT)
    done = await statements.take(Entry("F1", -7, clock.now(), "Transaction fee", key=payment.network_key))
    assert (done.booked_fees, done.exceptions.kinds[ExceptionKind.THEIRS_ONLY]) == (-7, 0)


async def test_a_sweep_that_names_a_customer_is_not_booked_and_one_that_names_nobody_is(
    statements: Statements,
) -> None:
    now = clock.now()
    done = await statements.take(
        Entry("S1", 700, now, "Sweep of the yard", phone="255754***001"), Entry("S2", 500, now, "Sweep")
    )
    assert done.booked_sweeps == 500
    assert await statements.kinds() == [("theirs_only", 700)]


async def test_a_line_like_an_open_payout_waits_for_an_operator(statements: Statements, desk: ExceptionDesk) -> None:
    """Its network confirms it without a receipt, and the line has no key: nothing shows later that it is the payout."""
    payout = await statements.steps.processing(OUT, 900)
    done = await statements.take(Entry("QK1", -900, clock.now(), "Monthly fee, given back", phone=payout.phone))
    assert done.booked_fees == 0
    await statements.steps.report(payout, Verdict.CONFIRMED)
    [found] = await statements.open_exceptions()
    await desk.propose(found, Action.MATCH, {"payment": payout.reference})
    await desk.approve(found)
    assert await statements.float_change() == await statements.statement_change()
    await statements.check_ledger()


async def test_a_booked_line_whose_receipt_is_learned_later_is_taken_out_of_its_booking(statements: Statements) -> None:
    """No restore: a payout's reply is lost, and its line comes without our key and number."""
    payout = await statements.steps.processing(OUT, 900)
    now = clock.now()
    done = await statements.take(
        Entry("QK1", -900, now, "Monthly fee, given back"),
        Entry("F1", -40, now, "Transaction fee"),
        Entry("F2", -7, now - timedelta(days=1), "Transaction fee"),
    )
    assert done.booked_fees == -947
    await statements.steps.report(payout, Verdict.CONFIRMED, provider_reference="QK1")
    again = await statements.match()
    assert (again.matched, again.booked_fees, again.exceptions.count) == (1, 0, 0)
    assert await statements.matches() == [("QK1", payout.id, "payment")]
    assert (await statements.steps.balances())["network_fees"] == -47
    assert await statements.float_change() == await statements.statement_change()
    async with statements.database.read() as connection:
        noted = [each for each in await audit_log.find(connection, limit=20) if "unbooked" in each.action]
    assert [each.details["receipts"] for each in noted] == [["QK1"]]
    assert (await statements.match()).matched == 0
    await statements.check_ledger()


async def test_a_booked_line_whose_key_the_workers_file_adds_is_taken_out_of_its_booking(
    statements: Statements, desk: ExceptionDesk
) -> None:
    """The payment is lost, so it is an exception then, and can be adopted."""
    lost = Lost(statements, desk, OUT)
    now = clock.now()
    other = Entry("F1", -7, now, "Transaction fee")
    await statements.take(Entry("QK1", -lost.amount, now, "Monthly fee, given back"), other)
    assert await statements.float_change() == -lost.amount - 7
    reported = Entry("QK1", -lost.amount, now, "Monthly fee, given back", key=await lost.network_key(), phone=PHONE)
    await statements.load(statements.write(reported, other, name="richer.csv"), by=WORKER)
    await statements.match()
    assert await statements.kinds() == [("theirs_only", -lost.amount)]
    assert await statements.float_change() == -7
    [found] = await statements.open_exceptions()
    await lost.adopt(found)
    await lost.check()


@pytest.mark.parametrize("is_told_first", [True, False])
@pytest.mark.parametrize("charges", [[], [Decimal("-40.40")]], ids=["alone", "beside a charge"])
async def test_a_payments_line_is_not_booked_as_a_fee_when_the_file_with_its_key_is_withdrawn(
    statements: Statements, charges: list[Decimal], is_told_first: bool
) -> None:
    """The network has confirmed the payout without a receipt, so the float has it. The fees of that day are booked."""
    payout = await statements.steps.processing(OUT, 900)
    await statements.steps.report(payout, Verdict.CONFIRMED)
    now = clock.now()
    line = Entry("QK1", -900, now, "Monthly fee, given back")
    others = [Entry("F1", each, now, "Transaction fee") for each in charges]
    reported = statements.write(replace(line, key=payout.network_key), *others, name="told.csv")
    untold = statements.write(line, *others, name="untold.csv")
    files = {}
    for path in (reported, untold) if is_told_first else (untold, reported):
        files[path] = (await statements.load(path, by=WORKER)).file
        await statements.match()
    assert await statements.matches() == [("QK1", payout.id, "payment")]
    await withdraw(statements, files[reported].id)
    await statements.check_ledger()
    booked = round(sum(charges))
    for _ in range(2):
        await statements.match()
        assert await statements.kinds() == [("unknown_line", -900)], "which may be the line of the payout"
        assert await statements.float_change() == -900 + booked
        await statements.check_ledger()
    await statements.load(reported, by=WORKER)
    await statements.match()
    assert await statements.kinds() == []
    assert await statements.matches() == [("QK1", payout.id, "payment")]
    assert await statements.float_change() == -900 + booked
    await statements.check_ledger()


async def test_a_booked_line_whose_lost_request_is_repeated_a_week_later_is_its_payment(
    statements: Statements, desk: ExceptionDesk
) -> None:
    lost = Lost(statements, desk, OUT)
    ago = clock.now() - timedelta(days=8)
    await statements.take(Entry("QK1", -lost.amount, ago, "Monthly fee, given back"), begins=ago, ends=ago)
    assert await statements.float_change() == -lost.amount
    repeated = (await lost.repeat()).transaction
    await statements.steps.claim()
    await statements.steps.report(repeated, Verdict.CONFIRMED, provider_reference="QK1")
    await statements.match()
    await lost.check()


@pytest.mark.parametrize("learned", ["receipt", "key"])
async def test_a_booked_line_is_found_again_also_if_the_run_that_would_have_found_it_died(
    statements: Statements, desk: ExceptionDesk, learned: str
) -> None:
    """A run puts the new files into the queue in one commit, and looks at lines in the next."""
    lost, now = Lost(statements, desk, OUT), clock.now()
    line = Entry("QK1", -lost.amount, now, "Monthly fee, given back")
    await statements.take(line)
    repeated = (await lost.repeat()).transaction
    if learned == "receipt":
        await statements.steps.claim()
        await statements.steps.report(repeated, Verdict.CONFIRMED, provider_reference="QK1")
        await statements.load(statements.write(name="later.csv"))
    else:
        await statements.load(statements.write(replace(line, key=repeated.network_key), name="later.csv"))
    async with statements.database.begin() as tx:
        await matching.queue_new_files(tx, now=clock.now() + timedelta(hours=2))
    assert (await statements.match()).matched == 1
    assert await statements.matches() == [("QK1", repeated.id, "payment")]
    assert await statements.float_change() == -lost.amount


async def test_a_booked_line_that_two_payments_have_is_an_exception(statements: Statements) -> None:
    payouts = [await statements.steps.processing(OUT, 900) for _ in range(2)]
    await statements.take(Entry("QK1", -900, clock.now(), "Monthly fee, given back"))
    for each in payouts:
        await statements.steps.report(each, Verdict.CONFIRMED, provider_reference="QK1")
    await statements.match()
    assert [each for each in await statements.kinds() if each[0] != "ours_only"] == [("twice", -900)]
    assert await statements.float_change() == 2 * -900, "and nothing is booked beside them"
    assert (await statements.match()).exceptions.count == 0


async def test_a_charge_as_large_as_its_payment_stays_booked_when_the_payments_line_comes(
    statements: Statements,
) -> None:
    payout = await statements.steps.processing(OUT, 10)
    now = clock.now()
    begins, fee = now - timedelta(days=1), Entry("QK1", -10, now, "Transaction fee")
    await statements.take(fee, begins=begins, ends=now)
    await statements.steps.report(payout, Verdict.CONFIRMED, provider_reference="QK1")
    await statements.take(fee, Entry("QK1", -10, now + timedelta(minutes=5)), begins=begins)
    assert await statements.matches() == [("QK1", payout.id, "fee"), ("QK1", payout.id, "payment")]
    assert await statements.float_change() == await statements.statement_change() == -20


async def test_a_line_of_the_bank_that_may_be_a_payment_is_no_transfer_by_its_amount_alone(
    statements: Statements, desk: ExceptionDesk
) -> None:
    lost = Lost(statements, desk, IN)
    booking = await book_transfer(statements, lost.amount)
    key = await lost.network_key()
    await statements.take(Entry("QK1", lost.amount, clock.now(), "Bank loan of Juma", key=key, phone=PHONE))
    assert await statements.kinds() == [("theirs_only", lost.amount)]
    named = Entry("QK2", lost.amount, clock.now(), f"Bank {booking.reference}", phone=PHONE)
    done = await statements.take(named, opening=5_000_000 + lost.amount, begins=clock.now())
    assert done.transfers == 1
