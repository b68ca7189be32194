"""A receipt that an operator has typed, or a key that only an operator's copy adds to the network's line, does not keep
that line from the payment that the network names."""

from dataclasses import replace
from datetime import timedelta

import pytest

from malipo import clock
from malipo.audit_log.actor import Actor
from malipo.networks.connector import Verdict
from malipo.payments.cases import resolve
from malipo.payments.cases.resolution import OperatorFinding, ResolvedOutcome
from malipo.payments.dispatch import AnswerSource
from malipo.payments.transaction import Status, Transaction, Type
from tests.payments.payment_steps import steps as steps
from tests.reconciliation.import_desk import (
    MILLIONS,
    WITHIN_LIMIT,
    ImportDesk,
    failed,
    import_lines,
    moved_alone,
    withdraw_import,
)
from tests.reconciliation.import_desk import desk as desk
from tests.reconciliation.statement_days import ASHA, JUMA, WORKER, line_of, reversal_of
from tests.reconciliation.statement_days import statements as statements

RECEIPT = "QREAL12345"


async def complete(desk: ImportDesk, payment: Transaction, receipt: str | None = None, *, by: Actor = ASHA) -> None:
    """One operator alone says that an open payment was paid, and may type its receipt."""
    finding = OperatorFinding(
        ResolvedOutcome.COMPLETED, "The customer showed the message of it", provider_reference=receipt
    )
    async with desk.database.begin() as tx:
        done = await resolve.propose(
            tx, payment.reference, finding, actor=by, approval_amount=1_000_000, now=clock.now()
        )
    assert done.is_done


async def matched(desk: ImportDesk) -> dict[tuple[str, str], str]:
    """The payments of lines, by receipt and role."""
    return {(receipt, role): payment for receipt, payment, role in await desk.statements.matches()}


@pytest.mark.parametrize("amount", [1000, WITHIN_LIMIT])
@pytest.mark.parametrize("is_typed_first", [True, False])
async def test_a_typed_receipt_does_not_keep_the_networks_line_from_the_payment_that_it_names(
    desk: ImportDesk, amount: int, is_typed_first: bool
) -> None:
    right, before = await failed(desk, WITHIN_LIMIT), await desk.wallet()
    other = await desk.statements.steps.processing(Type.COLLECTION, amount)
    if is_typed_first:
        await complete(desk, other, RECEIPT)
    await import_lines(desk, WORKER, line_of(right, RECEIPT))
    if not is_typed_first:
        await complete(desk, other, RECEIPT)
        await desk.statements.match()
    assert await matched(desk) == {(RECEIPT, "payment"): right.id}
    assert (await desk.wallet(), await moved_alone(desk)) == (before + WITHIN_LIMIT + amount, amount)
    await desk.statements.check_ledger()


async def test_a_receipt_that_a_payment_has_from_an_operators_line_is_like_a_typed_one(desk: ImportDesk) -> None:
    """Asha's line names an open payment, and completes it. The network's copy of that line names another."""
    right, before = await failed(desk, WITHIN_LIMIT), await desk.wallet()
    other = await desk.statements.steps.processing(Type.COLLECTION, WITHIN_LIMIT)
    line = line_of(right, RECEIPT)
    await import_lines(desk, ASHA, replace(line, key=other.network_key))
    assert (await desk.statements.status(other), await moved_alone(desk)) == (Status.COMPLETED, WITHIN_LIMIT)
    await import_lines(desk, WORKER, line)
    assert await matched(desk) == {(RECEIPT, "payment"): right.id}
    assert await desk.wallet() == before + 2 * WITHIN_LIMIT
    await desk.statements.check_ledger()


async def test_a_receipt_that_the_network_reported_makes_the_key_of_its_line_doubtful(desk: ImportDesk) -> None:
    """The network contradicts itself: operators decide."""
    right = await failed(desk, WITHIN_LIMIT)
    await desk.statements.completed(Type.COLLECTION, WITHIN_LIMIT, receipt=RECEIPT)
    await import_lines(desk, WORKER, line_of(right, RECEIPT))
    assert (await matched(desk), await desk.statements.kinds()) == ({}, [("twice", WITHIN_LIMIT)])


@pytest.mark.parametrize(("amount", "kinds"), [(WITHIN_LIMIT, [("twice", WITHIN_LIMIT)]), (1000, [])])
async def test_a_typed_receipt_of_the_same_amount_doubts_the_key_that_only_an_operators_file_has(
    desk: ImportDesk, amount: int, kinds: list[tuple[str, int]]
) -> None:
    """Two operators say two things, and the network nothing."""
    right = await failed(desk, WITHIN_LIMIT)
    await complete(desk, await desk.statements.steps.processing(Type.COLLECTION, amount), RECEIPT)
    await import_lines(desk, JUMA, line_of(right, RECEIPT))
    assert await desk.statements.kinds() == kinds


@pytest.mark.parametrize("amount", [1000, MILLIONS])
@pytest.mark.parametrize("is_fetched_first", [True, False])
async def test_a_key_that_only_a_copy_adds_does_not_keep_the_networks_line_from_the_payment_with_its_receipt(
    desk: ImportDesk, amount: int, is_fetched_first: bool
) -> None:
    """The network's file has no keys. It has paid a payment, and takes it back."""
    payment = await desk.statements.completed(Type.COLLECTION, MILLIONS, receipt=RECEIPT)
    other = await desk.statements.completed(Type.COLLECTION, amount)
    line = line_of(payment, key="")
    files = [(WORKER, (line, reversal_of(line))), (ASHA, (replace(line, key=other.network_key),))]
    for by, entries in files if is_fetched_first else files[::-1]:
        await import_lines(desk, by, *entries)
    assert await matched(desk) == {(RECEIPT, "payment"): payment.id, (f"{RECEIPT}R", "reversal"): payment.id}
    assert (await desk.statements.float_change(), await moved_alone(desk)) == (amount, 0)
    await desk.statements.check_ledger()


async def test_the_copy_is_withdrawn_and_imported_again(desk: ImportDesk) -> None:
    payment = await desk.statements.completed(Type.COLLECTION, MILLIONS, receipt=RECEIPT)
    other = await desk.statements.completed(Type.COLLECTION, MILLIONS)
    line = line_of(payment, key="")
    copy = replace(line, key=other.network_key)
    file_id = await import_lines(desk, ASHA, copy)
    assert await desk.statements.kinds() == [("twice", MILLIONS)], "the network has said nothing of it yet"
    await import_lines(desk, WORKER, line)
    await withdraw_import(desk, file_id)
    assert await matched(desk) == {(RECEIPT, "payment"): payment.id}
    await import_lines(desk, ASHA, copy)
    assert (await matched(desk), await desk.statements.kinds()) == ({(RECEIPT, "payment"): payment.id}, [])


@pytest.mark.parametrize("is_fetched_first", [True, False])
async def test_the_network_reports_the_receipt_of_a_line_after_a_copy_has_named_another_payment(
    desk: ImportDesk, is_fetched_first: bool
) -> None:
    payment = await desk.statements.steps.send(Type.COLLECTION, MILLIONS)
    other = await desk.statements.completed(Type.COLLECTION, MILLIONS)
    line = line_of(payment, RECEIPT, key="")
    if is_fetched_first:
        await import_lines(desk, WORKER, line, reversal_of(line))
    await import_lines(desk, ASHA, replace(line, key=other.network_key))
    assert (await matched(desk))[RECEIPT, "payment"] == other.id
    await desk.statements.steps.report(payment, Verdict.CONFIRMED, AnswerSource.SEND, provider_reference=RECEIPT)
    await desk.statements.match()
    if not is_fetched_first:
        await import_lines(desk, WORKER, line, reversal_of(line))
    assert await matched(desk) == {(RECEIPT, "payment"): payment.id, (f"{RECEIPT}R", "reversal"): payment.id}
    assert (await desk.waiting(), await desk.statements.float_change()) == ([], MILLIONS)
    await desk.statements.check_ledger()


async def test_nor_does_a_key_that_a_copy_adds_keep_the_place_of_an_forged_line(desk: ImportDesk) -> None:
    payment = await desk.statements.completed(Type.COLLECTION, MILLIONS, receipt=RECEIPT)
    other = await desk.statements.completed(Type.COLLECTION, MILLIONS)
    line = line_of(payment, key="")
    await import_lines(desk, ASHA, line_of(payment, "FORGED1"), replace(line, key=other.network_key))
    await import_lines(desk, WORKER, line)
    assert await matched(desk) == {(RECEIPT, "payment"): payment.id}


async def test_nor_after_what_the_copy_adds_was_rejected(desk: ImportDesk) -> None:
    payment = await desk.statements.steps.send(Type.COLLECTION, MILLIONS)
    other, before = await failed(desk), await desk.wallet()
    line = line_of(payment, RECEIPT, key="")
    file_id = await import_lines(desk, ASHA, replace(line, key=other.network_key))
    await desk.reject(file_id)
    await desk.statements.steps.report(payment, Verdict.CONFIRMED, AnswerSource.SEND, provider_reference=RECEIPT)
    await import_lines(desk, WORKER, line)
    assert (await matched(desk), await desk.statements.kinds()) == ({(RECEIPT, "payment"): payment.id}, [])
    assert await desk.wallet() == before + MILLIONS
    await desk.statements.check_ledger()


async def test_a_key_that_was_rejected_does_not_name_the_payment_again_when_the_worker_has_the_line(
    desk: ImportDesk,
) -> None:
    other, before = await failed(desk), await desk.wallet()
    line = line_of(other, RECEIPT, key="")
    await desk.reject(await import_lines(desk, ASHA, replace(line, key=other.network_key)))
    await import_lines(desk, WORKER, line)
    assert (await matched(desk), await desk.waiting(), await desk.wallet()) == ({}, [], before)


async def test_a_key_that_a_copy_adds_names_the_payment_where_nothing_says_otherwise(desk: ImportDesk) -> None:
    """Juma's honest file has the keys that the network's own lacks: what it does counts for Juma."""
    payment, before = await failed(desk, WITHIN_LIMIT), await desk.wallet()
    line = line_of(payment, RECEIPT, key="")
    await import_lines(desk, WORKER, line)
    await import_lines(desk, JUMA, replace(line, key=payment.network_key))
    assert await matched(desk) == {(RECEIPT, "payment"): payment.id}
    assert (await desk.wallet(), await moved_alone(desk, JUMA)) == (before + WITHIN_LIMIT, WITHIN_LIMIT)


@pytest.mark.parametrize(("paid", "amount"), [(MILLIONS, 1_000), (WITHIN_LIMIT, WITHIN_LIMIT)])
async def test_a_typed_receipt_does_not_keep_a_line_without_a_key_from_the_payment_with_the_networks_receipt(
    desk: ImportDesk, paid: int, amount: int
) -> None:
    """Whatever the amount of the payment that it was typed for. Its reversal reaches the payment, too."""
    right = await desk.statements.completed(Type.COLLECTION, paid, receipt=RECEIPT)
    other = await desk.statements.steps.processing(Type.COLLECTION, amount)
    await complete(desk, other, RECEIPT)
    line = line_of(right, key="", phone="")
    await import_lines(desk, WORKER, line, reversal_of(line))
    assert await matched(desk) == {(RECEIPT, "payment"): right.id, (f"{RECEIPT}R", "reversal"): right.id}
    assert await desk.statements.float_change() == amount


@pytest.mark.parametrize("status", [Status.FAILED, Status.PROCESSING])
async def test_the_network_reports_the_receipt_after_a_copy_has_completed_another_payment_by_the_line(
    desk: ImportDesk, status: Status
) -> None:
    """That one has the receipt from the line, and the network has reported it of the right one."""
    payment = await desk.statements.steps.send(Type.COLLECTION, WITHIN_LIMIT)
    is_failed = status is Status.FAILED
    other = (
        await failed(desk, WITHIN_LIMIT)
        if is_failed
        else await desk.statements.steps.processing(Type.COLLECTION, WITHIN_LIMIT)
    )
    line = line_of(payment, RECEIPT, key="", phone="")
    await import_lines(desk, WORKER, line)
    await import_lines(desk, ASHA, replace(line, key=other.network_key))
    assert (await matched(desk))[RECEIPT, "payment"] == other.id
    await desk.statements.steps.report(payment, Verdict.CONFIRMED, AnswerSource.SEND, provider_reference=RECEIPT)
    await desk.statements.match()
    assert await matched(desk) == {(RECEIPT, "payment"): payment.id}


async def test_an_forged_line_does_not_keep_its_place_by_any_key_that_a_copy_adds_to_the_networks(
    desk: ImportDesk,
) -> None:
    """One file has both: the forged line, a little earlier, and a copy of the network's with a key that is nobody's."""
    payment = await desk.statements.completed(Type.COLLECTION, MILLIONS, receipt=RECEIPT)
    line = line_of(payment, key="", phone="")
    forged = replace(line, at=line.at - timedelta(minutes=2), key=payment.network_key)
    await import_lines(desk, ASHA, forged, replace(line, key="JUNK1"))
    await import_lines(desk, WORKER, line)
    async with desk.database.read() as connection:
        [at] = await connection.fetch(
            "SELECT l.moved_at FROM statement_matches m JOIN statement_lines l ON l.id = m.line_id"
        )
    assert at["moved_at"] == line.at.replace(microsecond=0)


async def test_the_network_reports_the_receipt_after_an_operator_has_typed_it_for_another_payment(
    desk: ImportDesk,
) -> None:
    """The line became that one's. It goes to the payment of which it is, and its reversal too."""
    payment = await desk.statements.steps.send(Type.COLLECTION, WITHIN_LIMIT)
    other = await desk.statements.steps.processing(Type.COLLECTION, WITHIN_LIMIT)
    await complete(desk, other, RECEIPT)
    line = line_of(payment, RECEIPT, key="", phone="")
    await import_lines(desk, WORKER, line)
    assert (await matched(desk))[RECEIPT, "payment"] == other.id
    await desk.statements.steps.report(payment, Verdict.CONFIRMED, AnswerSource.SEND, provider_reference=RECEIPT)
    await import_lines(desk, WORKER, line, reversal_of(line))
    assert await matched(desk) == {(RECEIPT, "payment"): payment.id, (f"{RECEIPT}R", "reversal"): payment.id}
