"""What a line that one operator has invented does not undo, silence or hide: the network's own lines stand."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from malipo import clock
from malipo.approvals import store as approvals
from malipo.approvals.act_rules import COUNTED
from malipo.audit_log.actor import Actor
from malipo.cli.shown_proposals import find_shown
from malipo.errors import Conflict, Forbidden
from malipo.networks.connector import Verdict
from malipo.payments.cases.resolution import OperatorFinding, ResolvedOutcome
from malipo.payments.cases.resolve import propose
from malipo.payments.dispatch import AnswerSource
from malipo.payments.transaction import Status, Transaction, Type
from malipo.reconciliation.imports.import_statement import StatementImport, import_statement
from malipo.reconciliation.imports.withdraw_statement import WithdrawStatements
from malipo.reconciliation.matching.exception import Action, ExceptionState
from malipo.reconciliation.matching.store import matching
from malipo.reconciliation.statements.choose_profile import find_profile, save_if_new
from malipo.settings import Settings
from tests.operators.booking_steps import NEEMA
from tests.payments.payment_steps import steps as steps
from tests.reconciliation.exception_desk import ExceptionDesk
from tests.reconciliation.import_desk import MILLIONS, WHY, ImportDesk, failed, fee, fees
from tests.reconciliation.import_desk import desk as desk
from tests.reconciliation.statement_days import ASHA, JUMA, WORKER, Entry, line_of, reversal_of
from tests.reconciliation.statement_days import statements as statements
from tests.reconciliation.test_book_lines import book_transfer
from tests.reconciliation.test_layout_authors import carry, layout

SOME = 300_000  # an operator may move it alone


async def bring(desk: ImportDesk, by: Actor, *entries: Entry, amount: int = 1_000_000, **how: Any) -> str:
    """Import a file without balances, as those are that the worker fetches, and match it. Its id."""
    ends = clock.now() + timedelta(days=3 + desk.statements.files)
    given: dict[str, Any] = {"has_balances": False, "ends": ends} | how
    file = (await desk.bring(desk.statements.write(*entries, **given), by)).file
    await desk.statements.match(amount)
    return file.id


async def withdraw(desk: ImportDesk, file_id: str) -> None:
    acts = WithdrawStatements(1_000_000)
    async with desk.database.begin() as tx:
        await acts.propose_withdrawal(tx, file_id, reason=WHY, actor=JUMA, now=clock.now())
    async with desk.database.begin() as tx:
        await acts.approve(tx, file_id, actor=NEEMA, now=clock.now())
    await desk.statements.match()


async def moved_alone(desk: ImportDesk, by: Actor = ASHA) -> int:
    async with desk.database.read() as connection:
        return await approvals.sum_moved_alone(connection, by.name, since=clock.now() - COUNTED)


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
async def test_an_invented_reversal_does_not_silence_the_networks_own_line(
    desk: ImportDesk, type_: Type, status: Status
) -> None:
    """It is there before the network's own line, which has the receipt that it names."""
    payment = await unpaid(desk, type_, status, 900_000)
    line = line_of(payment, "QREAL12345")
    file_id = await bring(desk, ASHA, reversal_of(line), amount=100_000)
    await bring(desk, WORKER, line, amount=100_000)
    assert await desk.statements.float_change() == line.amount, "the payment was told"
    [held] = await desk.waiting()
    assert (held.amount, held.answerable) == (900_000, {ASHA.name})
    assert await moved_alone(desk) == 0
    # The network repeats that it was not paid. Its line still stands, and the reversal still waits.
    await desk.statements.steps.hear(payment, Verdict.REFUSED, AnswerSource.QUERY)
    await desk.statements.match(100_000)
    assert (await desk.statements.float_change(), len(await desk.waiting())) == (line.amount, 1)

    await withdraw(desk, file_id)
    assert (await desk.statements.float_change(), await desk.waiting()) == (line.amount, [])
    await desk.statements.check_ledger()


@pytest.mark.parametrize("is_reversal_first", [True, False])
async def test_one_operators_reversal_does_not_empty_the_list_of_another(
    desk: ImportDesk, is_reversal_first: bool
) -> None:
    line = line_of(await failed(desk), "QREAL12345")
    files = [(ASHA, reversal_of(line)), (JUMA, line)]
    for by, entry in files if is_reversal_first else files[::-1]:
        await bring(desk, by, entry)
    found = {each.proposal.requested_by: each.amount for each in await desk.waiting()}
    assert found == {ASHA.name: MILLIONS, JUMA.name: MILLIONS}
    assert await desk.statements.float_change() == 0


@pytest.mark.parametrize("way", ["withdrawn", "no reversal", "another reversal"])
async def test_a_reversal_that_one_operator_may_bring_alone_counts_until_it_is_gone(desk: ImportDesk, way: str) -> None:
    payment = await failed(desk, SOME)
    line = line_of(payment, "QREAL12345")
    invented = reversal_of(line, receipt="INVENTED1")
    file_id = await bring(desk, ASHA, invented)
    await bring(desk, WORKER, line)
    assert (await desk.statements.float_change(), await moved_alone(desk)) == (0, SOME)
    assert await matched(desk) == [("INVENTED1", "reversal"), ("QREAL12345", "payment")]
    if way == "withdrawn":
        await withdraw(desk, file_id)
    elif way == "no reversal":
        await bring(desk, WORKER, line, replace(invented, details="Payment to a customer", linked=""))
    else:
        await bring(desk, WORKER, line, reversal_of(line))
        assert await matched(desk) == [("QREAL12345", "payment"), ("QREAL12345R", "reversal")]
        [exception] = await desk.statements.open_exceptions()
        assert (exception.receipt, await desk.statements.float_change()) == ("INVENTED1", 0)
        return
    assert await matched(desk) == [("QREAL12345", "payment")]
    assert await desk.statements.float_change() == SOME, "the network's own line is told"
    await bring(desk, ASHA, invented, line)
    assert await desk.statements.float_change() == (0 if way == "withdrawn" else SOME)
    assert await moved_alone(desk) == (2 * SOME if way == "withdrawn" else SOME)
    await desk.statements.check_ledger()


@pytest.mark.parametrize("is_approved", [True, False])
async def test_a_line_and_its_reversal_in_one_file_count_once_and_wait_as_one(
    desk: ImportDesk, is_approved: bool
) -> None:
    payment = await failed(desk)
    line = line_of(payment, "QREAL12345")
    file_id = await bring(desk, ASHA, line, reversal_of(line))
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
    await bring(desk, WORKER, line)
    assert await desk.statements.float_change() == (0 if is_approved else MILLIONS)
    await desk.statements.check_ledger()


async def test_who_brings_a_reversal_does_not_approve_that_its_line_is_matched(desk: ImportDesk) -> None:
    """Whoever decides is shown that nothing moves. Once the reversal is gone, the line is told."""
    exceptions, payment = ExceptionDesk(desk.database), await failed(desk)
    line = line_of(payment, "QREAL12345", key="", phone="")
    file_id = await bring(desk, ASHA, reversal_of(line))
    await bring(desk, WORKER, line)
    [found] = [each for each in await desk.statements.open_exceptions() if each.receipt == "QREAL12345"]
    await exceptions.propose(found, Action.MATCH, {"payment": payment.reference}, by=JUMA)
    with pytest.raises(Forbidden):
        await exceptions.approve(found, by=ASHA)
    await exceptions.approve(found, by=NEEMA)
    await desk.statements.match()
    assert (await desk.statements.float_change(), await desk.waiting()) == (0, [])
    await withdraw(desk, file_id)
    assert await desk.statements.float_change() == MILLIONS
    await desk.statements.check_ledger()


@pytest.mark.parametrize("is_named_first", [True, False])
async def test_the_networks_reversal_of_a_line_does_not_take_back_the_payment_that_a_copy_names(
    desk: ImportDesk, is_named_first: bool
) -> None:
    """The network has paid a stranger, and has taken that back. Asha's copy of the first line names a payout of ours."""
    payment = await desk.statements.completed(Type.DISBURSEMENT, 900_000)
    before, line = await desk.wallet(), line_of(payment, "STRANGER77", key="", phone="")
    if is_named_first:
        await bring(desk, ASHA, replace(line, key=payment.network_key), amount=100_000)
    await bring(desk, WORKER, line, reversal_of(line), amount=100_000)
    if not is_named_first:
        await bring(desk, ASHA, replace(line, key=payment.network_key), amount=100_000)
    [held] = await desk.waiting()
    assert (held.amount, held.answerable, await desk.wallet()) == (900_000, {ASHA.name}, before)
    with pytest.raises(Forbidden):
        await desk.approve(held.proposal.subject, by=ASHA)
    # The payout's own line is there, and the other one is nobody's again.
    await bring(desk, WORKER, line_of(payment), amount=100_000)
    assert (await desk.waiting(), await desk.wallet()) == ([], before)
    assert await desk.statements.float_change() == -900_000
    await desk.statements.check_ledger()


REVERSALS = ["with the line", "beside the worker's line"]


@pytest.mark.parametrize("is_named_first", [True, False])
@pytest.mark.parametrize("way", REVERSALS)
async def test_who_names_the_payment_of_a_line_does_not_approve_that_another_operators_file_takes_it_back(
    desk: ImportDesk, way: str, is_named_first: bool
) -> None:
    """The network has paid a stranger, and has taken that back: Juma's honest file says so. Asha's copy of the first
    line names a payout of ours."""
    payment = await desk.statements.completed(Type.DISBURSEMENT, 900_000)
    before, line = await desk.wallet(), line_of(payment, "STRANGER77", key="", phone="")
    files = [(JUMA, [line, reversal_of(line)]), (ASHA, [replace(line, key=payment.network_key)])]
    if way == "beside the worker's line":
        await bring(desk, WORKER, line)
        files[0] = (JUMA, [reversal_of(line)])
    for by, entries in files[::-1] if is_named_first else files:
        await bring(desk, by, *entries, amount=100_000)
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


async def test_a_reversal_counts_for_who_brings_it_and_for_who_names_the_payment_of_its_line(desk: ImportDesk) -> None:
    """For each, what they have told. The copy is withdrawn, and imported again: by then the payment counts as not paid,
    and her line says that it was, which counts too."""
    payment = await desk.statements.completed(Type.DISBURSEMENT, SOME)
    own = await desk.statements.completed(Type.DISBURSEMENT, 1000)
    line, other = line_of(payment, "STRANGER77", key="", phone=""), line_of(own)
    await bring(desk, JUMA, line, reversal_of(line), other, reversal_of(other))
    file_id = await bring(desk, ASHA, replace(line, key=payment.network_key))
    assert (await moved_alone(desk), await moved_alone(desk, JUMA)) == (SOME, SOME + 1000)
    assert await desk.statements.float_change() == 0
    await withdraw(desk, file_id)
    assert await matched(desk) == [(other.receipt, "payment"), (f"{other.receipt}R", "reversal")]
    await bring(desk, ASHA, replace(line, key=payment.network_key))
    assert await matched(desk) == [
        *[(other.receipt, "payment"), (f"{other.receipt}R", "reversal")],
        *[("STRANGER77", "payment"), ("STRANGER77R", "reversal")],
    ]
    assert (await moved_alone(desk), await moved_alone(desk, JUMA)) == (3 * SOME, 2 * SOME + 1000)
    await desk.statements.check_ledger()


async def test_what_both_have_told_above_the_amount_of_one_waits(desk: ImportDesk) -> None:
    """Asha has moved what she may. Juma has not, and does not lend her his amount."""
    payment = await desk.statements.completed(Type.DISBURSEMENT, SOME)
    await bring(desk, ASHA, line_of(await failed(desk, 900_000), "QREAL12345"))
    line = line_of(payment, "STRANGER77", key="", phone="")
    await bring(desk, JUMA, line, reversal_of(line))
    await bring(desk, ASHA, replace(line, key=payment.network_key))
    [held] = await desk.waiting()
    assert (held.amount, await moved_alone(desk), await moved_alone(desk, JUMA)) == (SOME, 900_000, 0)


@pytest.mark.parametrize("way", ["the network's receipt", "both have the line", "the worker's key"])
async def test_who_imported_a_line_that_needs_no_word_of_theirs_approves_its_reversal(
    desk: ImportDesk, way: str
) -> None:
    """Two honest operators: one imports each day."""
    payment = await desk.statements.completed(Type.COLLECTION, MILLIONS)
    line = line_of(payment) if way == "the network's receipt" else line_of(payment, "QREAL12345")
    await bring(desk, ASHA, line)
    if way == "the worker's key":
        await bring(desk, WORKER, line)
    file_id = await bring(desk, JUMA, *[line] * (way == "both have the line"), reversal_of(line))
    [held] = await desk.waiting()
    assert held.answerable == {JUMA.name}
    await desk.approve(file_id, by=ASHA)
    assert await desk.statements.float_change() == 0
    await desk.statements.check_ledger()


async def test_who_typed_the_receipt_of_a_line_does_not_approve_that_another_operators_file_takes_it_back(
    desk: ImportDesk,
) -> None:
    payment = await desk.statements.steps.processing(Type.COLLECTION, SOME)
    finding = OperatorFinding(
        ResolvedOutcome.COMPLETED, "The customer showed the message", provider_reference="STRANGER77"
    )
    async with desk.database.begin() as tx:
        await propose(tx, payment.reference, finding, actor=ASHA, approval_amount=1_000_000, now=clock.now())
    assert await desk.statements.status(payment) is Status.COMPLETED
    line = line_of(payment, "STRANGER77", key="", phone="")
    file_id = await bring(desk, JUMA, line, reversal_of(line), amount=100_000)
    [held] = await desk.waiting()
    assert held.answerable == {ASHA.name, JUMA.name}
    with pytest.raises(Forbidden):
        await desk.approve(file_id, by=ASHA)


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.FAILED])
async def test_a_copy_that_names_a_payout_of_the_amount_of_a_booked_fee_unbooks_what_one_may_move(
    desk: ImportDesk, status: Status
) -> None:
    payment = await (
        desk.statements.completed(Type.DISBURSEMENT, SOME)
        if status is Status.COMPLETED
        else desk.statements.steps.ended(Type.DISBURSEMENT, Status.FAILED, SOME)
    )
    charged = fee(SOME)
    await bring(desk, WORKER, charged)
    booked = await fees(desk)
    for by, amount in ((ASHA, 100_000), (JUMA, 1_000_000)):
        await bring(desk, by, replace(charged, key=payment.network_key), amount=amount)
        is_moved = by is JUMA
        assert (await moved_alone(desk, by) >= SOME) is is_moved
        assert await fees(desk) == (0 if is_moved else booked)
    await desk.statements.check_ledger()


async def test_the_networks_own_line_takes_the_place_of_an_invented_one_of_a_completed_payment(
    desk: ImportDesk,
) -> None:
    """Its reversal reaches the payment then."""
    payment = await desk.statements.completed(Type.COLLECTION, MILLIONS)
    await bring(desk, ASHA, line_of(payment, "INVENTED1"))
    assert await matched(desk) == [("INVENTED1", "payment")]
    line = line_of(payment)
    await bring(desk, WORKER, line, reversal_of(line))
    assert await matched(desk) == [(line.receipt, "payment"), (f"{line.receipt}R", "reversal")]
    assert ("twice", MILLIONS) in await desk.statements.kinds(), "the invented line"
    assert await desk.statements.float_change() == 0
    await desk.statements.check_ledger()


async def test_the_networks_own_line_takes_the_place_of_one_that_has_credited_its_payment(desk: ImportDesk) -> None:
    payment = await failed(desk, SOME)
    file_id = await bring(desk, ASHA, line_of(payment, "INVENTED1"))
    wallet = await desk.wallet()
    assert await desk.statements.float_change() == SOME
    await bring(desk, WORKER, line_of(payment, "QREAL12345"))
    assert await matched(desk) == [("QREAL12345", "payment")]
    assert (await desk.wallet(), await desk.statements.float_change()) == (wallet, SOME), "and it is credited once"
    await withdraw(desk, file_id)
    assert (await desk.wallet(), await matched(desk)) == (wallet, [("QREAL12345", "payment")])
    await desk.statements.check_ledger()


async def test_the_networks_own_key_of_a_line_stands_before_the_completed_payment_that_a_copy_names(
    desk: ImportDesk,
) -> None:
    named = await desk.statements.completed(Type.COLLECTION, MILLIONS, receipt="ANOTHER123")
    right, before = await failed(desk), await desk.wallet()
    line = line_of(right, "QREAL12345")
    await bring(desk, ASHA, replace(line, key=named.network_key))
    assert [each[1] for each in await desk.statements.matches()] == [named.id]
    await bring(desk, WORKER, line)
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
async def test_who_completed_a_payment_alone_does_not_make_a_strangers_line_the_payments(
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
        file_id = await bring(desk, by, entry, has_balances=has_balances)
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
async def test_a_line_that_one_operator_makes_the_payments_is_its_line_once_it_is_agreed(
    desk: ImportDesk, is_agreed_by: str
) -> None:
    payment = await desk.statements.steps.processing(Type.COLLECTION, 900_000)
    await complete(desk, payment)
    line = line_of(payment, "QREAL12345", key="")
    await bring(desk, WORKER, line)
    file_id = await bring(desk, ASHA, replace(line, key=payment.network_key))
    assert len(await desk.waiting()) == 1
    if is_agreed_by == "a second operator":
        await desk.approve(file_id)
    else:
        await bring(desk, WORKER, replace(line, key=payment.network_key))
    await desk.statements.match()
    assert (await desk.waiting(), await desk.statements.kinds()) == ([], [])
    assert (await matched(desk), await moved_alone(desk)) == ([("QREAL12345", "payment")], 900_000)
    assert await desk.statements.float_change() == 900_000
    await desk.statements.check_ledger()


@pytest.mark.parametrize(("by", "counted"), [(ASHA, 2 * SOME), (JUMA, 0)])
async def test_a_line_that_an_operator_makes_the_payments_counts_for_who_has_completed_it_alone(
    desk: ImportDesk, by: Actor, counted: int
) -> None:
    """Within the amount it counts, and waits for nobody. Of a payment that another has completed two say it."""
    payment = await desk.statements.steps.processing(Type.COLLECTION, SOME)
    await complete(desk, payment)
    line = line_of(payment, "QREAL12345", key="")
    await bring(desk, WORKER, line)
    file_id = await bring(desk, by, replace(line, key=payment.network_key))
    assert (await matched(desk), await desk.waiting()) == ([("QREAL12345", "payment")], [])
    assert await moved_alone(desk, by) == counted
    await desk.statements.match()
    assert await moved_alone(desk, by) == counted, "and once"
    await withdraw(desk, file_id)
    assert await desk.statements.kinds() == [("theirs_only", SOME)]
    await bring(desk, by, replace(line, key=payment.network_key))
    assert await moved_alone(desk, by) == (3 * SOME if by is ASHA else 0)
    await desk.statements.check_ledger()


async def test_a_line_that_waits_is_not_let_go_because_the_same_operator_calls_its_payment_paid(
    desk: ImportDesk,
) -> None:
    """Asha has moved what she may when she names the payment. A day later she completes it."""
    payment = await desk.statements.steps.processing(Type.COLLECTION, SOME)
    line = line_of(payment, "STRANGER77", key="", phone="255754000999")
    await bring(desk, WORKER, line)
    await bring(desk, ASHA, replace(line, key=payment.network_key), amount=100_000)
    assert [each.amount for each in await desk.waiting()] == [SOME]
    await complete(desk, payment)
    await desk.statements.match()
    assert [each.amount for each in await desk.waiting()] == [SOME]


async def test_an_operators_copy_that_names_what_the_network_has_confirmed_counts_for_nobody(desk: ImportDesk) -> None:
    payment = await desk.statements.completed(Type.COLLECTION, MILLIONS)
    line = line_of(payment, "QREAL12345", key="")
    await bring(desk, WORKER, line)
    await bring(desk, ASHA, replace(line, key=payment.network_key))
    assert (await matched(desk), await desk.waiting()) == ([("QREAL12345", "payment")], [])
    assert await moved_alone(desk) == 0


@pytest.mark.parametrize("is_invented_first", [True, False])
async def test_an_invented_line_does_not_hide_that_a_payment_is_absent(
    desk: ImportDesk, is_invented_first: bool
) -> None:
    absent = await desk.statements.completed(Type.COLLECTION, MILLIONS)
    other = await desk.statements.completed(Type.COLLECTION, 1000)
    if is_invented_first:
        await bring(desk, ASHA, line_of(absent, "INVENTED1"))
    await bring(desk, JUMA, line_of(other), has_balances=True)
    if not is_invented_first:
        await bring(desk, ASHA, line_of(absent, "INVENTED1"))
    for _ in range(2):
        assert await desk.statements.kinds() == [("ours_only", MILLIONS)]
        await desk.statements.match()
    await bring(desk, WORKER, line_of(absent))
    assert await desk.statements.kinds() == [("twice", MILLIONS)], "it is there, and the invented line has no place"


@pytest.mark.parametrize("is_invented_first", [True, False])
@pytest.mark.parametrize("words", ["Bank transfer", "Bank transfer NMB-1"])
async def test_the_networks_own_line_takes_the_place_of_an_invented_one_of_a_transfer(
    desk: ImportDesk, words: str, is_invented_first: bool
) -> None:
    """Also again, after its file was withdrawn."""
    await book_transfer(desk.statements, -500_000)
    line = Entry("BREAL12345", -500_000, clock.now() + timedelta(seconds=30), "Bank transfer")
    invented = replace(line, receipt="INVENTED1", details=words)
    if is_invented_first:
        await bring(desk, ASHA, invented)
        assert await matched(desk) == [("INVENTED1", "booking")]
    file_id = await bring(desk, WORKER, line)
    if not is_invented_first:
        await bring(desk, ASHA, invented)
    for _ in range(2):
        assert await matched(desk) == [("BREAL12345", "booking")]
        assert [each.receipt for each in await desk.statements.open_exceptions()] == ["INVENTED1"]
        await desk.statements.match()
    await withdraw(desk, file_id)
    assert await matched(desk) == [("INVENTED1", "booking")]
    await bring(desk, WORKER, line, Entry("OTHER1", -7, line.at))
    assert await matched(desk) == [("BREAL12345", "booking")]
    assert await desk.statements.float_change() == -500_000, "what operators booked, once"
    await desk.statements.check_ledger()


async def test_a_line_of_a_transfer_that_the_worker_fetches_too_keeps_its_place(desk: ImportDesk) -> None:
    await book_transfer(desk.statements, -500_000)
    line = Entry("BREAL12345", -500_000, clock.now() + timedelta(seconds=30), "Bank transfer")
    await bring(desk, ASHA, line)
    await bring(desk, WORKER, line, replace(line, receipt="BREAL99999"))
    assert await matched(desk) == [("BREAL12345", "booking")]
    assert [each.receipt for each in await desk.statements.open_exceptions()] == ["BREAL99999"]


NO_PLACE = ["its amount", "its key, and another amount", "its key on the network's line of another amount"]


@pytest.mark.parametrize("what", NO_PLACE)
@pytest.mark.parametrize("is_invented_first", [True, False])
async def test_an_invented_line_without_a_place_does_not_hide_that_a_payment_is_absent(
    desk: ImportDesk, what: str, is_invented_first: bool
) -> None:
    absent = await desk.statements.completed(Type.COLLECTION, MILLIONS)
    other = await desk.statements.completed(Type.COLLECTION, 1000)
    line = line_of(absent, "INVENTED1", key="", phone="")
    if what != NO_PLACE[0]:
        line = replace(line, amount=5, key=absent.network_key)
    if what == NO_PLACE[2]:
        await bring(desk, WORKER, replace(line, key=""))
    if is_invented_first:
        await bring(desk, ASHA, line)
    await bring(desk, JUMA, line_of(other), has_balances=True)
    if not is_invented_first:
        await bring(desk, ASHA, line)
    assert ("ours_only", MILLIONS) in await desk.statements.kinds()


@pytest.mark.parametrize("what", NO_PLACE[:2])
async def test_a_line_of_the_networks_own_without_a_place_may_be_the_payment(desk: ImportDesk, what: str) -> None:
    """Also if an operator has brought it first."""
    payment = await desk.statements.completed(Type.COLLECTION, MILLIONS)
    other = await desk.statements.completed(Type.COLLECTION, 1000)
    line = line_of(payment, "QREAL12345", key="", phone="")
    if what != NO_PLACE[0]:
        line = replace(line, amount=5, key=payment.network_key)
    await bring(desk, ASHA, line)
    await bring(desk, WORKER, line)
    await bring(desk, JUMA, line_of(other), has_balances=True)
    assert "ours_only" not in dict(await desk.statements.kinds())


async def bring_of(desk: ImportDesk, by: Actor, account: str, *entries: Entry, has_balances: bool = False) -> str:
    """Import a file of an account, and match it. Its id."""
    ends = clock.now() + timedelta(days=3 + desk.statements.files)
    path = desk.statements.write(*entries, has_balances=has_balances, ends=ends)
    file = (await desk.statements.load(path, account=account, by=by)).file
    await desk.statements.match()
    return file.id


@pytest.mark.parametrize("is_invented_first", [True, False])
async def test_an_account_that_one_operator_makes_up_does_not_hide_that_a_payment_is_absent(
    desk: ImportDesk, is_invented_first: bool
) -> None:
    await desk.statements.completed(Type.COLLECTION, MILLIONS)
    other = await desk.statements.completed(Type.COLLECTION, 1000)
    strange = Entry("INVENTED1", 7, clock.now())
    if is_invented_first:
        await bring_of(desk, ASHA, "another", strange)
    await bring(desk, JUMA, line_of(other), has_balances=True)
    if not is_invented_first:
        await bring_of(desk, ASHA, "another", strange)
    for _ in range(2):
        assert ("ours_only", MILLIONS) in await desk.statements.kinds()
        await desk.statements.match()


@pytest.mark.parametrize("why", ["the worker's", "complete", "approved"])
async def test_a_payment_may_be_in_another_account_that_is_there(desk: ImportDesk, why: str) -> None:
    """Its complete statement has not come yet."""
    payment = await desk.statements.completed(Type.COLLECTION, MILLIONS)
    other = await desk.statements.completed(Type.COLLECTION, 1000)
    if why == "approved":
        file_id = await bring_of(desk, ASHA, "another", line_of(await failed(desk, 2_000_000)))
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
    await bring(desk, JUMA, line_of(other), has_balances=True)
    assert "ours_only" not in dict(await desk.statements.kinds())
    await bring_of(desk, JUMA, "another", line_of(payment), has_balances=True)
    assert "ours_only" not in dict(await desk.statements.kinds())


async def test_what_only_a_file_without_balances_of_a_new_account_has_is_absent_until_one_is_complete(
    desk: ImportDesk,
) -> None:
    """Nothing ends by that. An honest second account is known by its first file with balances."""
    payment = await desk.statements.completed(Type.COLLECTION, MILLIONS)
    other = await desk.statements.completed(Type.COLLECTION, 1000)
    await bring_of(desk, ASHA, "another", line_of(payment))
    await bring(desk, JUMA, line_of(other), has_balances=True)
    assert await desk.statements.kinds() == [("ours_only", MILLIONS)]
    await bring_of(desk, ASHA, "another", line_of(payment), has_balances=True)
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


async def test_whose_files_they_are_is_not_changed_while_statements_are_matched(desk: ImportDesk) -> None:
    """The matching would note that it has looked for absent payments, and has looked for others."""
    async with desk.database.begin() as tx:
        await save_if_new(tx, layout("till"), actor=NEEMA, now=clock.now())
    async with desk.database.begin() as tx:
        await matching.lock(tx)
        with pytest.raises(Conflict):
            await carry(desk, "till", "clickpesa", by=ASHA)


async def test_who_books_the_rest_of_a_line_makes_all_of_it_the_payments(desk: ImportDesk) -> None:
    """The money of a customer whom nobody knows. Asha's copy names a payment of a hundred shillings less."""
    payment = await desk.statements.completed(Type.COLLECTION, MILLIONS - 100)
    strange = Entry("QSTRANGE77", MILLIONS, an_hour_ago(), "Payment", phone="255754000999")
    await bring(desk, WORKER, strange)
    await bring(desk, ASHA, replace(strange, key=payment.network_key))
    [found] = await desk.statements.open_exceptions()
    exceptions = ExceptionDesk(desk.database)
    done = await exceptions.propose(found, Action.BOOK, {"account": "suspense"}, by=ASHA)
    assert (found.kind, done.state) == ("amount_differs", ExceptionState.PROPOSED)


def an_hour_ago() -> datetime:
    return clock.now() - timedelta(hours=1)
