"""Collections that the ledger check reports as refunded too much, by the latest report of each refund. A grid, by hand."""

from typing import NamedTuple

from malipo.db import Tx
from malipo.payments.check import refunds
from malipo.payments.transaction import Status, Transaction
from tests.payments.refunds.refund_steps import RefundSteps
from tests.payments.refunds.refund_steps import steps as steps

C, F, P, X = "COMPLETED", "FAILED", "PROCESSING", "CANCELLED"
NOTHING, PAID, UNPAID = None, True, False
OPEN, DECIDED, SILENT = "open", "decided", "silent"  # what operators see of the contradiction
BEFORE, AFTER = "before", "after"  # whether it was reported before or after the second refund was made


class Row(NamedTuple):
    """Of a collection of 5000: the first refund, of 5000, and the second, of 5000 too."""

    first: str
    report: bool | None
    shown: str
    reported: str
    second: str
    is_found: bool


GRID = [
    # Nothing was reported since: the statuses say it.
    Row(F, NOTHING, SILENT, AFTER, C, False),
    Row(X, NOTHING, SILENT, AFTER, C, False),
    Row(C, NOTHING, SILENT, AFTER, F, False),
    Row(C, NOTHING, SILENT, AFTER, C, True),
    Row(C, NOTHING, SILENT, AFTER, P, True),
    Row(P, NOTHING, SILENT, AFTER, P, True),
    # The first was FAILED and turns out paid, when the second was made already: operators are shown it.
    Row(F, PAID, OPEN, AFTER, C, False),
    Row(F, PAID, DECIDED, AFTER, C, False),
    Row(F, PAID, OPEN, AFTER, P, False),
    Row(F, PAID, DECIDED, AFTER, P, False),
    Row(F, PAID, OPEN, AFTER, F, False),
    # Nobody was shown it.
    Row(F, PAID, SILENT, AFTER, C, True),
    Row(F, PAID, SILENT, AFTER, P, True),
    Row(F, PAID, SILENT, AFTER, F, False),
    # The second was made although the first was known to be paid: shown or not, that is wrong.
    Row(F, PAID, OPEN, BEFORE, C, True),
    Row(F, PAID, DECIDED, BEFORE, C, True),
    Row(F, PAID, OPEN, BEFORE, P, True),
    Row(F, PAID, DECIDED, BEFORE, P, True),
    Row(F, PAID, OPEN, BEFORE, X, False),
    # The first was COMPLETED and was not paid: the second may be made.
    Row(C, UNPAID, OPEN, BEFORE, C, False),
    Row(C, UNPAID, DECIDED, BEFORE, P, False),
    Row(C, UNPAID, SILENT, BEFORE, C, False),
    # The network changed its word once more, and the first was paid after all.
    Row(C, PAID, OPEN, AFTER, C, False),
    Row(C, PAID, DECIDED, AFTER, C, False),
    Row(C, PAID, SILENT, AFTER, C, True),
    Row(C, PAID, OPEN, BEFORE, C, True),
]


class Gone(NamedTuple):
    """What was reported of the collection, and a refund of all of it."""

    status: str
    report: bool | None
    shown: str
    reported: str
    refund: str
    is_found: bool


OF_THE_COLLECTION = [
    Gone(C, UNPAID, OPEN, AFTER, C, False),
    Gone(C, UNPAID, DECIDED, AFTER, P, False),
    Gone(C, UNPAID, SILENT, AFTER, C, True),
    Gone(C, UNPAID, OPEN, BEFORE, C, True),
    Gone(C, UNPAID, DECIDED, BEFORE, P, True),
    Gone(C, UNPAID, OPEN, BEFORE, F, False),
    Gone(C, PAID, SILENT, BEFORE, C, False),
    Gone(F, NOTHING, SILENT, AFTER, C, True),
    Gone(F, PAID, DECIDED, BEFORE, C, False),
    Gone(F, UNPAID, OPEN, AFTER, C, False),
]


async def _end(tx: Tx, payment: Transaction, status: str) -> None:
    await tx.execute(
        """
        UPDATE transactions SET status = $2, ended_at = CASE WHEN $2 <> 'PROCESSING' THEN now() END,
               processing_at = CASE WHEN $2 <> 'CANCELLED' THEN created_at END,
               failure_code = CASE WHEN $2 = 'FAILED' THEN 'REJECTED' END,
               failure_reason = CASE WHEN $2 = 'FAILED' THEN 'Rejected' END
        WHERE id = $1
        """,
        payment.id,
        status,
    )


async def _report(
    tx: Tx, payment: Transaction, report: bool | None, *, shown: str, reported: str, than: Transaction
) -> None:
    if report is None:
        return
    await tx.execute(
        """
        INSERT INTO corrections (merchant_id, transaction_id, is_paid, is_fee_paid, credited, borne, owed, ordinal,
                                 is_open, since)
        VALUES ($1, $2, $3, false, 0, 0, 0, 1, $4, now())
        """,
        payment.merchant_id,
        payment.id,
        report,
        shown == OPEN,
    )
    await tx.execute(
        """
        INSERT INTO moves (merchant_id, cause_id, step, ordinal, move_number, source, target, channel, amount, created_at)
        SELECT $1, $2, 'contradiction', 1, 1, 'suspense', 'float', 'MPESA', 5000,
               created_at + CASE $4 WHEN 'before' THEN -1 ELSE 1 END * interval '3 minutes'
        FROM transactions WHERE id = $3
        """,
        payment.merchant_id,
        payment.id,
        than.id,
        reported,
    )
    if shown == DECIDED:
        await tx.execute(
            """
            INSERT INTO resolutions (id, merchant_id, transaction_id, outcome, is_of_contradiction, evidence,
                                     requested_by, requested_at, decided_by, decided_at, is_approved)
            VALUES ('res_1', $1, $2, 'completed', true, 'The statement', 'asha', now(), 'juma', now(), true)
            """,
            payment.merchant_id,
            payment.id,
        )


async def _found(tx: Tx) -> list[tuple[str, int | None]]:
    return [
        (each.where, each.stored)
        for each in await refunds.check(tx, ())
        if each.what == "refunded beyond the payment, or twice"
    ]


async def test_more_given_back_than_collected_is_found_unless_operators_are_shown_why(steps: RefundSteps) -> None:
    collection = await steps.collected()
    first = await steps.refunded(collection, status=Status.FAILED)
    second = await steps.sent(collection)
    wrong = []
    for row in GRID:
        async with steps.database.begin() as tx:
            await tx.execute("SAVEPOINT grid")
            await _end(tx, first, row.first)
            await _end(tx, second, row.second)
            await _report(tx, first, row.report, shown=row.shown, reported=row.reported, than=second)
            if bool(await _found(tx)) != row.is_found:
                wrong.append(row)
            await tx.execute("ROLLBACK TO grid")
    assert wrong == []


async def test_a_refund_of_a_collection_that_was_taken_back_is_found_unless_operators_are_shown_why(
    steps: RefundSteps,
) -> None:
    collection = await steps.collected()
    refund = await steps.sent(collection)
    wrong = []
    for row in OF_THE_COLLECTION:
        async with steps.database.begin() as tx:
            await tx.execute("SAVEPOINT grid")
            await _end(tx, collection, row.status)
            await _end(tx, refund, row.refund)
            await _report(tx, collection, row.report, shown=row.shown, reported=row.reported, than=refund)
            if bool(await _found(tx)) != row.is_found:
                wrong.append(row)
            await tx.execute("ROLLBACK TO grid")
    assert wrong == []


async def test_parts_are_added_up(steps: RefundSteps) -> None:
    """2000 that was FAILED and is paid leaves 3000: the 2000 and 1000 that were made after it fit, 1001 would not."""
    collection = await steps.collected()
    first = await steps.refunded(collection, 2000, status=Status.FAILED)
    await steps.refunded(collection, 2000)
    last = await steps.refund(collection, 1000)
    async with steps.database.begin() as tx:
        await _report(tx, first, PAID, shown=OPEN, reported=BEFORE, than=last)
        await tx.execute("UPDATE transactions SET created_at = created_at + interval '1 hour' WHERE id = $1", last.id)
        assert await _found(tx) == []
        await tx.execute("UPDATE transactions SET amount = 1001 WHERE id = $1", last.id)
        assert await _found(tx) == [(collection.id, 5001)]
