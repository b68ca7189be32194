"""A line that one operator has forged cannot undo, suppress or hide the network's own lines."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from malipo import clock
from malipo.audit_log.actor import Actor
from malipo.cli.shown_proposals import find_shown
from malipo.errors import Conflict, Forbidden
from malipo.networks.connector import Verdict
from malipo.payments.cases.resolution import OperatorFinding, ResolvedOutcome
from malipo.payments.cases.resolve import propose
from malipo.payments.dispatch import AnswerSource
from malipo.payments.transaction import Status, Transaction, Type
from malipo.reconciliation.exceptions.action import Action
from malipo.reconciliation.imports.import_statement import StatementImport, import_statement
from malipo.reconciliation.matching.exception import ExceptionState
from malipo.reconciliation.matching.store import matching
from malipo.reconciliation.statements.choose_profile import find_profile, save_if_new
from malipo.settings import Settings
from tests.operators.booking_steps import NEEMA
from tests.payments.payment_steps import steps as steps
from tests.reconciliation.exception_desk import ExceptionDesk
from tests.reconciliation.import_desk import (
    MILLIONS,
    WITHIN_LIMIT,
    ImportDesk,
    failed,
    fee,
    fees,
    import_lines,
    moved_alone,
    withdraw_import,
)
from tests.reconciliation.import_desk import desk as desk
from tests.reconciliation.statement_days import ASHA, JUMA, WORKER, Entry, line_of, reversal_of
from tests.reconciliation.statement_days import statements as statements
from tests.reconciliation.test_book_lines import book_transfer
from tests.reconciliation.test_layout_authors import carry, layout


async def unpaid(desk: ImportDesk, type_: Type, status: Status, amount: int) -> Transaction:
    """A payment that counts as not paid."""
    if status is Status.PROCESSING:
        return await desk.statements.steps.processing(type_, amount)
    return await desk.statements.steps.ended(type_, status, amount)


async def matched(desk: ImportDesk) -> list[tuple[str, str]]:
    return [(receipt, role) for receipt, _, role in await desk.statements.matches()]


@pytest.mark.parametrize(
    ("type_", "status"),
    [
        (Type.COLLECTION, Status.FAILED),
        (Type.COLLECTION, Status.PROCESSING),
        (Type.DISBURSEMENT, Status.FAILED),
    ],
)
async def test_a_forged_reversal_does_not_suppress_the_networks_own_line(
    desk: ImportDesk, type_: Type, status: Status
) -> None:
    """It is there before the network's own line, which has the receipt that it names."""
    payment = await unpaid(desk, type_, status, 900_000)
    line = line_of(payment, "QREAL12345")
    file_id = await import_lines(desk, ASHA, reversal_of(line), amount=100_000)
    await import_lines(desk, WORKER, line, amount=100_000)
    assert await desk.statements.float_change() == line.amount, "the line was reported to the payment"
    [held] = await desk.waiting()
    assert (held.amount, held.answerable) == (900_000, {ASHA.name})
    assert await moved_alone(desk) == 0
    # The network repeats that it was not paid. Its line still stands, and the reversal still waits.
    await desk.statements.steps.report(payment, Verdict.REFUSED, AnswerSource.QUERY)
    await desk.statements.match(100_000)
    assert (await desk.statements.float_change(), len(await desk.waiting())) == (line.amount, 1)

    await withdraw_import(desk, file_id)
    assert (await desk.statements.float_change(), await desk.waiting()) == (line.amount, [])
    await desk.statements.check_ledger()


@pytest.mark.parametrize("is_reversal_first", [True, False])
async def test_one_operators_reversal_leaves_the_waiting_list_of_another_as_it_is(
    desk: ImportDesk, is_reversal_first: bool
) -> None:
    line = line_of(await failed(desk), "QREAL12345")
    files = [(ASHA, reversal_of(line)), (JUMA, line)]
    for by, entry in files if is_reversal_first else files[::-1]:
        await import_lines(desk, by, entry)
    found = {each.proposal.requested_by: each.amount for each in await desk.waiting()}
    assert found == {ASHA.name: MILLIONS, JUMA.name: MILLIONS}
    assert await desk.statements.float_change() == 0


@pytest.mark.parametrize("way", ["withdrawn", "no reversal", "another reversal"])
async def test_a_reversal_within_one_operators_limit_counts_until_it_is_withdrawn_or_contradicted(
    desk: ImportDesk, way: str
) -> None:
    payment = await failed(desk, WITHIN_LIMIT)
    line = line_of(payment, "QREAL12345")
    forged = reversal_of(line, receipt="FORGED1")
    file_id = await import_lines(desk, ASHA, forged)
    await import_lines(desk, WORKER, line)
    assert (await desk.statements.float_change(), await moved_alone(desk)) == (0, WITHIN_LIMIT)
    assert await matched(desk) == [("FORGED1", "reversal"), ("QREAL12345", "payment")]
    if way == "withdrawn":
        await withdraw_import(desk, file_id)
    elif way == "no reversal":
        await import_lines(desk, WORKER, line, replace(forged, details="Payment to a customer", linked=""))
    else:
        await import_lines(desk, WORKER, line, reversal_of(line))
        assert await matched(desk) == [("QREAL12345", "payment"), ("QREAL12345R", "reversal")]
        [exception] = await desk.statements.open_exceptions()
        assert (exception.receipt, await desk.statements.float_change()) == ("FORGED1", 0)
        return
    assert await matched(desk) == [("QREAL12345", "payment")]
    assert await desk.statements.float_change() == WITHIN_LIMIT, "the network's own line is reported"
    await import_lines(desk, ASHA, forged, line)
    assert await desk.statements.float_change() == (0 if way == "withdrawn" else WITHIN_LIMIT)
    assert await moved_alone(desk) == (2 * WITHIN_LIMIT if way == "withdrawn" else WITHIN_LIMIT)
    await desk.statements.check_ledger()


@pytest.mark.parametrize("is_approved", [True, False])
async def test_a_line_and_its_reversal_in_one_file_wait_together_and_count_once(
    desk: ImportDesk, is_approved: bool
) -> None:
    payment = await failed(desk)
    line = line_of(payment, "QREAL12345")
    file_id = await import_lines(desk, ASHA, line, reversal_of(line))
    [held] = await desk.waiting()
    assert (held.amount, len(held.lines)) == (MILLIONS, 2)
    if is_approved:
        await desk.approve(file_id)
    else:
        await desk.reject(file_id)
    await desk.statements.match()
    assert (await desk.waiting(), await desk.statements.float_change()) == ([], 0)
    found = sorted(each.receipt or "" for each in await desk.statements.open_exceptions())
    assert found == ([] if is_approved else ["QREAL12345", "QREAL12345R"])
    # The network has the line. What two have agreed on takes it back; what was rejected does not.
    await import_lines(desk, WORKER, line)
    assert await desk.statements.float_change() == (0 if is_approved else MILLIONS)
    await desk.statements.check_ledger()


async def test_the_importer_of_a_reversal_may_not_approve_the_match_of_its_line(desk: ImportDesk) -> None:
    """Whoever decides is shown that nothing moves. Once the reversal is gone, the line is reported."""
    exceptions, payment = ExceptionDesk(desk.database), await failed(desk)
    line = line_of(payment, "QREAL12345", key="", phone="")
    file_id = await import_lines(desk, ASHA, reversal_of(line))
    await import_lines(desk, WORKER, line)
    [found] = [each for each in await desk.statements.open_exceptions() if each.receipt == "QREAL12345"]
    await exceptions.propose(found, Action.MATCH, {"payment": payment.reference}, by=JUMA)
    with pytest.raises(Forbidden):
        await exceptions.approve(found, by=ASHA)
    await exceptions.approve(found, by=NEEMA)
    await desk.statements.match()
    assert (await desk.statements.float_change(), await desk.waiting()) == (0, [])
    await withdraw_import(desk, file_id)
    assert await desk.statements.float_change() == MILLIONS
    await desk.statements.check_ledger()


@pytest.mark.parametrize("is_named_first", [True, False])
async def test_the_networks_reversal_of_a_strangers_line_does_not_reverse_the_payment_that_a_copy_names(
    desk: ImportDesk, is_named_first: bool
) -> None:
    """The network has paid a stranger, and has taken that back. Asha's copy of the first line names a payout of ours."""
    payment = await desk.statements.completed(Type.DISBURSEMENT, 900_000)
    before, line = await desk.wallet(), line_of(payment, "STRANGER77", key="", phone="")
    if is_named_first:
        await import_lines(desk, ASHA, replace(line, key=payment.network_key), amount=100_000)
    await import_lines(desk, WORKER, line, reversal_of(line), amount=100_000)
    if not is_named_first:
        await import_lines(desk, ASHA, replace(line, key=payment.network_key), amount=100_000)
    [held] = await desk.waiting()
    assert (held.amount, held.answerable, await desk.wallet()) == (900_000, {ASHA.name}, before)
    with pytest.raises(Forbidden):
        await desk.approve(held.proposal.subject, by=ASHA)
    # The payout's own line is there, and the other one is nobody's again.
    await import_lines(desk, WORKER, line_of(payment), amount=100_000)
    assert (await desk.waiting(), await desk.wallet()) == ([], before)
    assert await desk.statements.float_change() == -900_000
    await desk.statements.check_ledger()


REVERSALS = ["with the line", "beside the worker's line"]


@pytest.mark.parametrize("is_named_first", [True, False])
@pytest.mark.parametrize("way", REVERSALS)
async def test_the_operator_who_named_a_lines_payment_may_not_approve_its_reversal_from_another_operators_file(
    desk: ImportDesk, way: str, is_named_first: bool
) -> None:
    """The network has paid a stranger, and has taken that back: Juma's honest file says so. Asha's copy of the first
    line names a payout of ours."""
    payment = await desk.statements.completed(Type.DISBURSEMENT, 900_000)
    before, line = await desk.wallet(), line_of(payment, "STRANGER77", key="", phone="")
    files = [(JUMA, [line, reversal_of(line)]), (ASHA, [replace(line, key=payment.network_key)])]
    if way == "beside the worker's line":
        await import_lines(desk, WORKER, line)
        files[0] = (JUMA, [reversal_of(line)])
    for by, entries in files[::-1] if is_named_first else files:
        await import_lines(desk, by, *entries, amount=100_000)
    [held] = await desk.waiting()
    assert (held.amount, held.answerable) == (900_000, {ASHA.name, JUMA.name})
    async with desk.database.snapshot() as connection:
        shown = (await find_shown(connection, held.proposal, Settings())).lines
    assert any(f"of a line that {ASHA.name} called the payment's" in each for each in shown)
    for by in (ASHA, JUMA):
        with pytest.raises(Forbidden):
            await desk.approve(held.proposal.subject, by=by)
    assert (await desk.wallet(), await desk.statements.float_change()) == (before, -900_000)
    await desk.approve(held.proposal.subject, by=NEEMA)
    assert await desk.statements.float_change() == 0
    await desk.statements.check_ledger()


async def test_a_reversal_counts_for_its_importer_and_for_the_operator_who_named_the_payment(desk: ImportDesk) -> None:
    """For each, what their files have. The copy is withdrawn, and imported again: by then the payment counts as not paid,
    and her line says that it was, which counts too."""
    payment = await desk.statements.completed(Type.DISBURSEMENT, WITHIN_LIMIT)
    own = await desk.statements.completed(Type.DISBURSEMENT, 1000)
    line, other = line_of(payment, "STRANGER77", key="", phone=""), line_of(own)
    await import_lines(desk, JUMA, line, reversal_of(line), other, reversal_of(other))
    file_id = await import_lines(desk, ASHA, replace(line, key=payment.network_key))
    assert (await moved_alone(desk), await moved_alone(desk, JUMA)) == (WITHIN_LIMIT, WITHIN_LIMIT + 1000)
    assert await desk.statements.float_change() == 0
    await withdraw_import(desk, file_id)
    assert await matched(desk) == [(other.receipt, "payment"), (f"{other.receipt}R", "reversal")]
    await import_lines(desk, ASHA, replace(line, key=payment.network_key))
    assert await matched(desk) == [
        *[(other.receipt, "payment"), (f"{other.receipt}R", "reversal")],
        *[("STRANGER77", "payment"), ("STRANGER77R", "reversal")],
    ]
    assert (await moved_alone(desk), await moved_alone(desk, JUMA)) == (3 * WITHIN_LIMIT, 2 * WITHIN_LIMIT + 1000)
    await desk.statements.check_ledger()


async def test_a_reversal_above_the_limit_of_one_of_its_two_operators_waits(desk: ImportDesk) -> None:
    """Asha has moved what she may. Juma has not, and does not lend her his amount."""
    payment = await desk.statements.completed(Type.DISBURSEMENT, WITHIN_LIMIT)
    await import_lines(desk, ASHA, line_of(await failed(desk, 900_000), "QREAL12345"))
    line = line_of(payment, "STRANGER77", key="", phone="")
    await import_lines(desk, JUMA, line, reversal_of(line))
    await import_lines(desk, ASHA, replace(line, key=payment.network_key))
    [held] = await desk.waiting()
    assert (held.amount, await moved_alone(desk), await moved_alone(desk, JUMA)) == (WITHIN_LIMIT, 900_000, 0)


@pytest.mark.parametrize("way", ["the network's receipt", "both have the line", "the worker's key"])
async def test_the_importer_of_a_line_that_other_files_have_too_may_approve_its_reversal(
    desk: ImportDesk, way: str
) -> None:
    """Two honest operators: one imports each day."""
    payment = await desk.statements.completed(Type.COLLECTION, MILLIONS)
    line = line_of(payment) if way == "the network's receipt" else line_of(payment, "QREAL12345")
    await import_lines(desk, ASHA, line)
    if way == "the worker's key":
        await import_lines(desk, WORKER, line)
    file_id = await import_lines(desk, JUMA, *[line] * (way == "both have the line"), reversal_of(line))
    [held] = await desk.waiting()
    assert held.answerable == {JUMA.name}
    await desk.approve(file_id, by=ASHA)
    assert await desk.statements.float_change() == 0
    await desk.statements.check_ledger()


async def test_the_operator_who_typed_a_lines_receipt_may_not_approve_its_reversal_from_another_operators_file(
    desk: ImportDesk,
) -> None:
    payment = await desk.statements.steps.processing(Type.COLLECTION, WITHIN_LIMIT)
    finding = OperatorFinding(
        ResolvedOutcome.COMPLETED, "The customer showed the message", provider_reference="STRANGER77"
    )
    async with desk.database.begin() as tx:
        await propose(tx, payment.reference, finding, actor=ASHA, approval_amount=1_000_000, now=clock.now())
    assert await desk.statements.status(payment) is Status.COMPLETED
    line = line_of(payment, "STRANGER77", key="", phone="")
    file_id = await import_lines(desk, JUMA, line, reversal_of(line), amount=100_000)
    [held] = await desk.waiting()
    assert held.answerable == {ASHA.name, JUMA.name}
    with pytest.raises(Forbidden):
        await desk.approve(file_id, by=ASHA)


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.FAILED])
async def test_a_copy_that_names_a_payout_reverses_a_booked_fee_within_its_importers_limit_only(
    desk: ImportDesk, status: Status
) -> None:
    payment = await (
        desk.statements.completed(Type.DISBURSEMENT, WITHIN_LIMIT)
        if status is Status.COMPLETED
        else desk.statements.steps.ended(Type.DISBURSEMENT, Status.FAILED, WITHIN_LIMIT)
    )
    charged = fee(WITHIN_LIMIT)
    await import_lines(desk, WORKER, charged)
    booked = await fees(desk)
    for by, amount in ((ASHA, 100_000), (JUMA, 1_000_000)):
        await import_lines(desk, by, replace(charged, key=payment.network_key), amount=amount)
        is_moved = by is JUMA
        assert (await moved_alone(desk, by) >= WITHIN_LIMIT) is is_moved
        assert await fees(desk) == (0 if is_moved else booked)
    await desk.statements.check_ledger()


async def test_the_networks_own_line_replaces_a_forged_line_of_a_completed_payment(
    desk: ImportDesk,
) -> None:
    """Its reversal reaches the payment then."""
    payment = await desk.statements.completed(Type.COLLECTION, MILLIONS)
    await import_lines(desk, ASHA, line_of(payment, "FORGED1"))
    assert await matched(desk) == [("FORGED1", "payment")]
    line = line_of(payment)
    await import_lines(desk, WORKER, line, reversal_of(line))
    assert await matched(desk) == [(line.receipt, "payment"), (f"{line.receipt}R", "reversal")]
    assert ("twice", MILLIONS) in await desk.statements.kinds(), "the forged line"
    assert await desk.statements.float_change() == 0
    await desk.statements.check_ledger()


async def test_the_networks_own_line_replaces_a_forged_line_that_has_credited_its_payment(desk: ImportDesk) -> None:
    payment = await failed(desk, WITHIN_LIMIT)
    file_id = await import_lines(desk, ASHA, line_of(payment, "FORGED1"))
    wallet = await desk.wallet()
    assert await desk.statements.float_change() == WITHIN_LIMIT
    await import_lines(desk, WORKER, line_of(payment, "QREAL12345"))
    assert await matched(desk) == [("QREAL12345", "payment")]
    assert (await desk.wallet(), await desk.statements.float_change()) == (wallet, WITHIN_LIMIT), (
        "and it is credited once"
    )
    await withdraw_import(desk, file_id)
    assert (await desk.wallet(), await matched(desk)) == (wallet, [("QREAL12345", "payment")])
    await desk.statements.check_ledger()


async def test_the_networks_own_key_of_a_line_outranks_the_completed_payment_that_a_copy_names(
    desk: ImportDesk,
) -> None:
    named = await desk.statements.completed(Type.COLLECTION, MILLIONS, receipt="ANOTHER123")
    right, before = await failed(desk), await desk.wallet()
    line = line_of(right, "QREAL12345")
    await import_lines(desk, ASHA, replace(line, key=named.network_key))
    assert [each[1] for each in await desk.statements.matches()] == [named.id]
    await import_lines(desk, WORKER, line)
    assert [each[1] for each in await desk.statements.matches()] == [right.id]
    assert await desk.wallet() == before + MILLIONS
    await desk.statements.check_ledger()


async def complete(desk: ImportDesk, payment: Transaction, *, by: Actor = ASHA) -> None:
    """One operator alone says that an open payment was paid."""
    finding = OperatorFinding(ResolvedOutcome.COMPLETED, "The customer showed the message of it")
    async with desk.database.begin() as tx:
        done = await propose(tx, payment.reference, finding, actor=by, approval_amount=1_000_000, now=clock.now())
    assert done.is_done


@pytest.mark.parametrize("is_fetched_first", [True, False])
async def test_the_operator_who_completed_a_payment_alone_may_not_give_it_a_strangers_line(
    desk: ImportDesk, is_fetched_first: bool
) -> None:
    """The network's file does not say whose the line is. Asha's complete copy names the payment that she has called
    paid: together that is more than she may move alone."""
    payment = await desk.statements.steps.processing(Type.COLLECTION, 900_000)
    await complete(desk, payment)
    strange = line_of(payment, "STRANGER77", key="", phone="255754000999")
    copy = replace(strange, key=payment.network_key)
    files: list[tuple[Actor, Entry, bool]] = [(WORKER, strange, False), (ASHA, copy, True)]
    for by, entry, has_balances in files if is_fetched_first else files[::-1]:
        file_id = await import_lines(desk, by, entry, has_balances=has_balances)
        if by is ASHA:
            brought = file_id
    for _ in range(2):
        [held] = await desk.waiting()
        assert (held.proposal.subject, held.amount, held.answerable) == (brought, 900_000, {ASHA.name})
        assert await desk.statements.kinds() == [("state_differs", 900_000)], "operators see it"
        assert await moved_alone(desk) == 900_000
        await desk.statements.match()
    with pytest.raises(Forbidden):
        await desk.approve(brought, by=ASHA)
    await desk.reject(brought)
    await desk.statements.match()
    assert ("theirs_only", 900_000) in await desk.statements.kinds()
    assert await desk.statements.float_change() == 900_000, "nothing has moved"
    await desk.statements.check_ledger()


@pytest.mark.parametrize("is_agreed_by", ["a second operator", "the network's own key"])
async def test_a_line_that_one_operator_gave_to_a_payment_is_matched_once_somebody_agrees(
    desk: ImportDesk, is_agreed_by: str
) -> None:
    payment = await desk.statements.steps.processing(Type.COLLECTION, 900_000)
    await complete(desk, payment)
    line = line_of(payment, "QREAL12345", key="")
    await import_lines(desk, WORKER, line)
    file_id = await import_lines(desk, ASHA, replace(line, key=payment.network_key))
    assert len(await desk.waiting()) == 1
    if is_agreed_by == "a second operator":
        await desk.approve(file_id)
    else:
        await import_lines(desk, WORKER, replace(line, key=payment.network_key))
    await desk.statements.match()
    assert (await desk.waiting(), await desk.statements.kinds()) == ([], [])
    assert (await matched(desk), await moved_alone(desk)) == ([("QREAL12345", "payment")], 900_000)
    assert await desk.statements.float_change() == 900_000
    await desk.statements.check_ledger()


@pytest.mark.parametrize(("by", "counted"), [(ASHA, 2 * WITHIN_LIMIT), (JUMA, 0)])
async def test_a_line_that_names_a_payment_counts_for_the_operator_who_completed_it_alone(
    desk: ImportDesk, by: Actor, counted: int
) -> None:
    """Within the amount it counts, and waits for nobody. Of a payment that another has completed two say it."""
    payment = await desk.statements.steps.processing(Type.COLLECTION, WITHIN_LIMIT)
    await complete(desk, payment)
    line = line_of(payment, "QREAL12345", key="")
    await import_lines(desk, WORKER, line)
    file_id = await import_lines(desk, by, replace(line, key=payment.network_key))
    assert (await matched(desk), await desk.waiting()) == ([("QREAL12345", "payment")], [])
    assert await moved_alone(desk, by) == counted
    await desk.statements.match()
    assert await moved_alone(desk, by) == counted, "and once"
    await withdraw_import(desk, file_id)
    assert await desk.statements.kinds() == [("theirs_only", WITHIN_LIMIT)]
    await import_lines(desk, by, replace(line, key=payment.network_key))
    assert await moved_alone(desk, by) == (3 * WITHIN_LIMIT if by is ASHA else 0)
    await desk.statements.check_ledger()


async def test_a_waiting_line_still_waits_after_its_importer_completes_the_payment(
    desk: ImportDesk,
) -> None:
    """Asha has moved what she may when she names the payment. A day later she completes it."""
    payment = await desk.statements.steps.processing(Type.COLLECTION, WITHIN_LIMIT)
    line = line_of(payment, "STRANGER77", key="", phone="255754000999")
    await import_lines(desk, WORKER, line)
    await import_lines(desk, ASHA, replace(line, key=payment.network_key), amount=100_000)
    assert [each.amount for each in await desk.waiting()] == [WITHIN_LIMIT]
    await complete(desk, payment)
    await desk.statements.match()
    assert [each.amount for each in await desk.waiting()] == [WITHIN_LIMIT]


async def test_a_copy_that_names_a_payment_which_the_network_confirmed_counts_for_nobody(desk: ImportDesk) -> None:
    payment = await desk.statements.completed(Type.COLLECTION, MILLIONS)
    line = line_of(payment, "QREAL12345", key="")
    await import_lines(desk, WORKER, line)
    await import_lines(desk, ASHA, replace(line, key=payment.network_key))
    assert (await matched(desk), await desk.waiting()) == ([("QREAL12345", "payment")], [])
    assert await moved_alone(desk) == 0


@pytest.mark.parametrize("is_forged_first", [True, False])
async def test_a_forged_line_does_not_hide_that_a_payment_is_absent(desk: ImportDesk, is_forged_first: bool) -> None:
    absent = await desk.statements.completed(Type.COLLECTION, MILLIONS)
    other = await desk.statements.completed(Type.COLLECTION, 1000)
    if is_forged_first:
        await import_lines(desk, ASHA, line_of(absent, "FORGED1"))
    await import_lines(desk, JUMA, line_of(other), has_balances=True)
    if not is_forged_first:
        await import_lines(desk, ASHA, line_of(absent, "FORGED1"))
    for _ in range(2):
        assert await desk.statements.kinds() == [("ours_only", MILLIONS)]
        await desk.statements.match()
    await import_lines(desk, WORKER, line_of(absent))
    assert await desk.statements.kinds() == [("twice", MILLIONS)], "it is there, and the forged line has no place"


@pytest.mark.parametrize("is_forged_first", [True, False])
@pytest.mark.parametrize("words", ["Bank transfer", "Bank transfer NMB-1"])
async def test_the_networks_own_line_replaces_a_forged_line_of_a_transfer(
    desk: ImportDesk, words: str, is_forged_first: bool
) -> None:
    """Also again, after its file was withdrawn."""
    await book_transfer(desk.statements, -500_000)
    line = Entry("BREAL12345", -500_000, clock.now() + timedelta(seconds=30), "Bank transfer")
    forged = replace(line, receipt="FORGED1", details=words)
    if is_forged_first:
        await import_lines(desk, ASHA, forged)
        assert await matched(desk) == [("FORGED1", "booking")]
    file_id = await import_lines(desk, WORKER, line)
    if not is_forged_first:
        await import_lines(desk, ASHA, forged)
    for _ in range(2):
        assert await matched(desk) == [("BREAL12345", "booking")]
        assert [each.receipt for each in await desk.statements.open_exceptions()] == ["FORGED1"]
        await desk.statements.match()
    await withdraw_import(desk, file_id)
    assert await matched(desk) == [("FORGED1", "booking")]
    await import_lines(desk, WORKER, line, Entry("OTHER1", -7, line.at))
    assert await matched(desk) == [("BREAL12345", "booking")]
    assert await desk.statements.float_change() == -500_000, "what operators booked, once"
    await desk.statements.check_ledger()


async def test_an_operators_line_of_a_transfer_stays_matched_when_the_worker_fetches_it_too(desk: ImportDesk) -> None:
    await book_transfer(desk.statements, -500_000)
    line = Entry("BREAL12345", -500_000, clock.now() + timedelta(seconds=30), "Bank transfer")
    await import_lines(desk, ASHA, line)
    await import_lines(desk, WORKER, line, replace(line, receipt="BREAL99999"))
    assert await matched(desk) == [("BREAL12345", "booking")]
    assert [each.receipt for each in await desk.statements.open_exceptions()] == ["BREAL99999"]


NO_PLACE = ["its amount", "its key, and another amount", "its key on the network's line of another amount"]


@pytest.mark.parametrize("what", NO_PLACE)
@pytest.mark.parametrize("is_forged_first", [True, False])
async def test_an_unmatched_forged_line_does_not_hide_that_a_payment_is_absent(
    desk: ImportDesk, what: str, is_forged_first: bool
) -> None:
    absent = await desk.statements.completed(Type.COLLECTION, MILLIONS)
    other = await desk.statements.completed(Type.COLLECTION, 1000)
    line = line_of(absent, "FORGED1", key="", phone="")
    if what != NO_PLACE[0]:
        line = replace(line, amount=5, key=absent.network_key)
    if what == NO_PLACE[2]:
        await import_lines(desk, WORKER, replace(line, key=""))
    if is_forged_first:
        await import_lines(desk, ASHA, line)
    await import_lines(desk, JUMA, line_of(other), has_balances=True)
    if not is_forged_first:
        await import_lines(desk, ASHA, line)
    assert ("ours_only", MILLIONS) in await desk.statements.kinds()


@pytest.mark.parametrize("what", NO_PLACE[:2])
async def test_an_unmatched_line_of_the_networks_own_may_be_the_payment(desk: ImportDesk, what: str) -> None:
    """Also if an operator has brought it first."""
    payment = await desk.statements.completed(Type.COLLECTION, MILLIONS)
    other = await desk.statements.completed(Type.COLLECTION, 1000)
    line = line_of(payment, "QREAL12345", key="", phone="")
    if what != NO_PLACE[0]:
        line = replace(line, amount=5, key=payment.network_key)
    await import_lines(desk, ASHA, line)
    await import_lines(desk, WORKER, line)
    await import_lines(desk, JUMA, line_of(other), has_balances=True)
    assert "ours_only" not in dict(await desk.statements.kinds())


async def import_lines_of_account(
    desk: ImportDesk, by: Actor, account: str, *entries: Entry, has_balances: bool = False
) -> str:
    """Import a file of an account, and match it. Its id."""
    ends = clock.now() + timedelta(days=3 + desk.statements.files)
    path = desk.statements.write(*entries, has_balances=has_balances, ends=ends)
    file = (await desk.statements.load(path, account=account, by=by)).file
    await desk.statements.match()
    return file.id


@pytest.mark.parametrize("is_forged_first", [True, False])
async def test_a_forged_account_does_not_hide_that_a_payment_is_absent(desk: ImportDesk, is_forged_first: bool) -> None:
    await desk.statements.completed(Type.COLLECTION, MILLIONS)
    other = await desk.statements.completed(Type.COLLECTION, 1000)
    strange = Entry("FORGED1", 7, clock.now())
    if is_forged_first:
        await import_lines_of_account(desk, ASHA, "another", strange)
    await import_lines(desk, JUMA, line_of(other), has_balances=True)
    if not is_forged_first:
        await import_lines_of_account(desk, ASHA, "another", strange)
    for _ in range(2):
        assert ("ours_only", MILLIONS) in await desk.statements.kinds()
        await desk.statements.match()


@pytest.mark.parametrize("why", ["the worker's", "complete", "approved"])
async def test_a_payment_may_be_in_another_account_that_is_known(desk: ImportDesk, why: str) -> None:
    """Its complete statement has not come yet."""
    payment = await desk.statements.completed(Type.COLLECTION, MILLIONS)
    other = await desk.statements.completed(Type.COLLECTION, 1000)
    if why == "approved":
        file_id = await import_lines_of_account(desk, ASHA, "another", line_of(await failed(desk, 2_000_000)))
        await desk.approve(file_id)
    else:
        by = WORKER if why == "the worker's" else ASHA
        before = replace(
            line_of(await desk.statements.completed(Type.COLLECTION, 7)), at=clock.now() - timedelta(days=9)
        )
        ends = clock.now() - timedelta(days=8)
        path = desk.statements.write(before, has_balances=why == "complete", begins=before.at, ends=ends)
        await desk.statements.load(path, account="another", by=by)
        await desk.statements.match()
    await import_lines(desk, JUMA, line_of(other), has_balances=True)
    assert "ours_only" not in dict(await desk.statements.kinds())
    await import_lines_of_account(desk, JUMA, "another", line_of(payment), has_balances=True)
    assert "ours_only" not in dict(await desk.statements.kinds())


async def test_a_new_account_shows_a_payment_only_once_it_has_a_file_with_balances(
    desk: ImportDesk,
) -> None:
    """Nothing ends by that. An honest second account is known by its first file with balances."""
    payment = await desk.statements.completed(Type.COLLECTION, MILLIONS)
    other = await desk.statements.completed(Type.COLLECTION, 1000)
    await import_lines_of_account(desk, ASHA, "another", line_of(payment))
    await import_lines(desk, JUMA, line_of(other), has_balances=True)
    assert await desk.statements.kinds() == [("ours_only", MILLIONS)]
    await import_lines_of_account(desk, ASHA, "another", line_of(payment), has_balances=True)
    assert await desk.statements.kinds() == []


async def test_naming_an_aggregator_and_taking_it_back_hides_no_absent_payment(desk: ImportDesk) -> None:
    async with desk.database.begin() as tx:
        await save_if_new(tx, layout("till"), actor=NEEMA, now=clock.now())
    await desk.statements.completed(Type.COLLECTION, MILLIONS)
    path = desk.statements.write(line_of(await desk.statements.completed(Type.COLLECTION, 1000)))
    async with desk.database.begin() as tx:
        await import_statement(
            tx,
            StatementImport(
                path,
                channel=desk.statements.channel,
                account="",
                profile=await find_profile(tx, "till"),
                is_new_account=True,
            ),
            actor=JUMA,
            now=clock.now(),
        )
    await desk.statements.match()
    assert await desk.statements.kinds() == [("ours_only", MILLIONS)]
    await carry(desk, "till", "clickpesa", by=ASHA)
    await desk.statements.match()
    assert await desk.statements.kinds() == []
    await carry(desk, "till", "", by=ASHA)
    await desk.statements.match()
    assert await desk.statements.kinds() == [("ours_only", MILLIONS)]


async def test_the_carrier_of_a_layout_is_not_changed_while_statements_are_matched(desk: ImportDesk) -> None:
    """The matching would note that it has looked for absent payments, and has looked for others."""
    async with desk.database.begin() as tx:
        await save_if_new(tx, layout("till"), actor=NEEMA, now=clock.now())
    async with desk.database.begin() as tx:
        await matching.lock(tx)
        with pytest.raises(Conflict):
            await carry(desk, "till", "clickpesa", by=ASHA)


async def test_booking_the_rest_of_a_line_counts_as_giving_all_of_it_to_the_payment(desk: ImportDesk) -> None:
    """The money of a customer whom nobody knows. Asha's copy names a payment of a hundred shillings less."""
    payment = await desk.statements.completed(Type.COLLECTION, MILLIONS - 100)
    strange = Entry("QSTRANGE77", MILLIONS, an_hour_ago(), "Payment", phone="255754000999")
    await import_lines(desk, WORKER, strange)
    await import_lines(desk, ASHA, replace(strange, key=payment.network_key))
    [found] = await desk.statements.open_exceptions()
    exceptions = ExceptionDesk(desk.database)
    done = await exceptions.propose(found, Action.BOOK, {"account": "suspense"}, by=ASHA)
    assert (found.kind, done.state) == ("amount_differs", ExceptionState.PROPOSED)


def an_hour_ago() -> datetime:
    return clock.now() - timedelta(hours=1)
