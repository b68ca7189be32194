"""Above the approval amount, effects that only one operator's file shows wait for a second operator."""

from datetime import timedelta
from typing import Any

import pytest

from malipo import clock
from malipo.approvals.decide import NothingProposed
from malipo.cli.statements import matching_result
from malipo.errors import Conflict, Forbidden
from malipo.networks.connector import Verdict
from malipo.payments.dispatch import AnswerSource
from malipo.payments.transaction import Status, Type
from malipo.reconciliation.exceptions.action import Action
from malipo.reconciliation.exceptions.resolve_exceptions import ResolveExceptions
from malipo.reconciliation.imports.withdraw_statement import WithdrawStatements
from malipo.reconciliation.matching.import_approval import code_of
from malipo.reconciliation.matching.matching_summary import summary_of
from malipo.settings import Settings
from tests.conftest import NO_LIMITS
from tests.operators.booking_steps import NEEMA, give_password, hire
from tests.payments.payment_steps import steps as steps
from tests.reconciliation.import_desk import MILLIONS, WHY, ImportDesk, failed, fee, fees
from tests.reconciliation.import_desk import desk as desk
from tests.reconciliation.statement_days import ASHA, JUMA, WORKER, line_of, reversal_of
from tests.reconciliation.statement_days import statements as statements

COLLECTION, PAYOUT = Type.COLLECTION, Type.DISBURSEMENT


async def test_an_invented_line_does_not_credit_a_declined_payment(desk: ImportDesk) -> None:
    payment, before = await failed(desk), await desk.wallet()
    file_id, matched = await desk.take(payment)
    assert (matched.awaiting_approval, matched.contradicted, await desk.wallet()) == (1, 0, before)
    [held] = await desk.waiting()
    assert (held.proposal.subject, held.proposal.requested_by, held.amount) == (file_id, ASHA.name, MILLIONS)
    for _ in range(2):
        await desk.statements.match()
        await desk.bring(desk.statements.folder / "statement-1.csv")
    with pytest.raises(Forbidden):
        await desk.approve(file_id, by=ASHA)
    assert (await desk.wallet(), len(await desk.waiting())) == (before, 1), "nor the same operator, nor a repeat"
    await desk.statements.check_ledger()

    await desk.approve(file_id)
    assert (await desk.wallet(), await desk.waiting()) == (before + MILLIONS, [])
    await desk.statements.match()
    assert await desk.wallet() == before + MILLIONS, "and once"
    await desk.statements.check_ledger()


async def test_small_ones_are_counted_for_their_operator_over_all_files(desk: ImportDesk) -> None:
    before = await desk.wallet()
    for number in range(4):
        await desk.take(await failed(desk, 300_000 + number))
    assert await desk.wallet() == before + 900_003
    assert [each.amount for each in await desk.waiting()] == [300_003]


async def test_the_list_of_a_file_waits_as_one_with_its_sum(desk: ImportDesk) -> None:
    payments = [await failed(desk, 400_000), await failed(desk, 400_001), await failed(desk, 400_002)]
    done = await desk.statements.completed(COLLECTION, 5_000_000)
    _, matched = await desk.take(*payments, done)
    [held] = await desk.waiting()
    assert (held.amount, len(held.lines), matched.matched) == (1_200_003, 3, 4)
    assert {each.reference for each in held.lines} == {each.reference for each in payments}


async def test_the_sum_of_a_large_file_counts_and_not_that_of_its_batches(desk: ImportDesk) -> None:
    fail_many = desk.statements.steps.ended_many
    payments = await fail_many(COLLECTION, Status.FAILED, [3_300] * 305)
    before = await desk.wallet()
    file_id, matched = await desk.take(*payments)
    assert (matched.awaiting_approval, [each.amount for each in await desk.waiting()]) == (305, [1_006_500])
    await desk.approve(file_id)
    assert await desk.wallet() == before + 1_006_500
    more = await fail_many(COLLECTION, Status.FAILED, [3_200] * 305)
    await desk.bring(desk.statements.write(*(line_of(each) for each in [*payments, *more]), name="more.csv"), NEEMA)
    assert (await desk.statements.match()).awaiting_approval == 0
    assert await desk.wallet() == before + 1_006_500 + 976_000, "and below the amount it is counted once"
    await desk.statements.check_ledger()


async def test_an_open_payment_is_completed_by_the_network_and_not_by_the_file(desk: ImportDesk) -> None:
    payment = await desk.statements.steps.processing(COLLECTION, MILLIONS)
    await desk.statements.steps.wait(payment, seconds=0)
    before = await desk.wallet()
    await desk.take(payment)
    assert await desk.statements.status(payment) is Status.PROCESSING
    asked = await desk.statements.steps.dispatch(payment)
    assert asked is not None
    assert (asked.next_action, asked.is_hinted) == ("ask", True), "its network is queried at once"
    assert await desk.statements.steps.due_in_seconds(payment) <= 1

    await desk.statements.steps.report(payment, Verdict.CONFIRMED, AnswerSource.QUERY)
    assert (await desk.statements.status(payment), await desk.wallet()) == (Status.COMPLETED, before + MILLIONS)
    await desk.statements.match()
    assert (await desk.waiting(), await desk.statements.open_exceptions()) == ([], [])
    assert await desk.wallet() == before + MILLIONS
    await desk.statements.check_ledger()


async def test_an_approved_list_leaves_no_exception_that_is_settled_by_it(desk: ImportDesk) -> None:
    payment = await desk.statements.steps.processing(COLLECTION, MILLIONS)
    await desk.statements.steps.wait(payment, seconds=0)
    file_id, _ = await desk.take(payment)
    assert len(await desk.statements.open_exceptions()) == 1
    await desk.approve(file_id)
    assert await desk.statements.status(payment) is Status.COMPLETED
    assert await desk.statements.open_exceptions() == [], "without another matching"


async def test_a_file_that_the_worker_fetched_waits_for_nobody(desk: ImportDesk) -> None:
    payment, before = await failed(desk), await desk.wallet()
    _, matched = await desk.take(payment, by=WORKER)
    assert (matched.awaiting_approval, await desk.wallet()) == (0, before + MILLIONS)


async def test_a_key_that_an_operator_adds_to_a_fetched_line_waits(desk: ImportDesk) -> None:
    """The network's line names no payment. Whoever names one says more than the network does."""
    payment, before = await failed(desk), await desk.wallet()
    await desk.bring(desk.statements.write(line_of(payment, "QK1", key="")), WORKER)
    await desk.statements.match()
    await desk.bring(desk.statements.write(line_of(payment, "QK1"), name="named.csv"))
    assert (await desk.statements.match()).awaiting_approval == 1
    assert (await desk.wallet(), [each.proposal.requested_by for each in await desk.waiting()]) == (before, [ASHA.name])


async def test_a_key_that_the_fetched_line_does_not_have_goes_on_waiting(desk: ImportDesk) -> None:
    payment, before = await failed(desk), await desk.wallet()
    await desk.bring(desk.statements.write(line_of(payment, "QK1"), name="named.csv"))
    await desk.statements.match()
    await desk.bring(desk.statements.write(line_of(payment, "QK1", key="")), WORKER)
    await desk.statements.match()
    assert (await desk.wallet(), len(await desk.waiting())) == (before, 1)


async def test_an_operator_who_adds_a_key_to_anothers_line_does_not_approve_it(desk: ImportDesk) -> None:
    payment, before = await failed(desk), await desk.wallet()
    await desk.bring(desk.statements.write(line_of(payment, "QK1", key="")), JUMA)
    await desk.statements.match()
    added = await desk.bring(desk.statements.write(line_of(payment, "QK1"), name="named.csv"), ASHA)
    await desk.statements.match()
    [held] = await desk.waiting()
    assert (held.proposal.subject, held.proposal.requested_by) == (added.file.id, ASHA.name)
    with pytest.raises(Forbidden):
        await desk.approve(added.file.id, by=ASHA)
    await desk.approve(added.file.id, by=JUMA)
    assert await desk.wallet() == before + MILLIONS
    await desk.statements.check_ledger()


async def test_a_line_that_the_worker_fetches_later_waits_no_longer(desk: ImportDesk) -> None:
    payment, before = await failed(desk), await desk.wallet()
    await desk.take(payment)
    await desk.bring(desk.statements.write(line_of(payment), ends=clock.now() + timedelta(days=3)), WORKER)
    await desk.statements.match()
    assert (await desk.wallet(), await desk.waiting()) == (before + MILLIONS, [])


@pytest.mark.parametrize("type_", Type)
async def test_a_reversal_that_contradicts_waits_too(desk: ImportDesk, type_: Type) -> None:
    amount = 900_000 if type_ is PAYOUT else MILLIONS
    also = await failed(desk, 900_000)
    payment = await desk.statements.completed(type_, amount)
    before, line = await desk.wallet(), line_of(payment)
    done = await desk.bring(desk.statements.write(line_of(also), line, reversal_of(line)))
    await desk.statements.match()
    [held] = await desk.waiting()
    assert (held.amount, await desk.wallet()) == (amount + 900_000, before)
    await desk.approve(done.file.id)
    assert await desk.waiting() == []
    await desk.statements.match()
    [exception] = await desk.statements.open_exceptions()
    assert (exception.kind, exception.transaction_id) == ("state_differs", payment.id)
    await desk.statements.check_ledger()


async def test_a_rejected_list_does_nothing_and_its_lines_are_exceptions(desk: ImportDesk) -> None:
    payment, before = await failed(desk), await desk.wallet()
    file_id, _ = await desk.take(payment)
    await desk.reject(file_id)
    for _ in range(2):
        await desk.statements.match()
    assert (await desk.wallet(), await desk.waiting()) == (before, [])
    [exception] = await desk.statements.open_exceptions()
    assert (exception.kind, exception.amount) == ("theirs_only", MILLIONS)
    assert await desk.statements.matches() == [], "nor does it keep its payment from another line"
    with pytest.raises(NothingProposed):
        await desk.approve(file_id)
    resolve = ResolveExceptions.of(Settings(**NO_LIMITS), clock.now)
    async with desk.database.begin() as tx:
        how: dict[str, Any] = {"reason": WHY, "actor": ASHA, "now": clock.now()}
        await resolve.propose(tx, exception.id, Action.NOTE, {}, **how)
    assert len(await desk.statements.open_exceptions()) == 1, "a note does not hide what the ledger lacks"


@pytest.mark.parametrize("is_rejected", [True, False])
async def test_an_invented_line_keeps_no_payment_from_the_networks_own(desk: ImportDesk, is_rejected: bool) -> None:
    """It waits, or was rejected. The network reports itself that it was paid, with another receipt."""
    payment, before = await failed(desk), await desk.wallet()
    file = (await desk.bring(desk.statements.write(line_of(payment, "INVENTED1")))).file
    await desk.statements.match()
    if is_rejected:
        await desk.reject(file.id)
    own = desk.statements.write(line_of(payment, "REAL0001"), ends=clock.now() + timedelta(days=3))
    await desk.bring(own, WORKER)
    for _ in range(2):
        await desk.statements.match()
    assert (await desk.wallet(), await desk.waiting()) == (before + MILLIONS, [])
    assert await desk.statements.matches() == [("REAL0001", payment.id, "payment")]
    [exception] = await desk.statements.open_exceptions()
    assert (exception.receipt, exception.line_id is not None) == ("INVENTED1", True)
    await desk.statements.check_ledger()


async def test_two_operators_match_what_was_rejected_and_the_networks_own_statement_does(desk: ImportDesk) -> None:
    first, second, before = await failed(desk), await failed(desk), await desk.wallet()
    file = (await desk.bring(desk.statements.write(line_of(first, "Q1"), line_of(second, "Q2")))).file
    await desk.statements.match()
    await desk.reject(file.id)
    await desk.statements.match()
    [exception] = [each for each in await desk.statements.open_exceptions() if each.receipt == "Q1"]
    resolve = ResolveExceptions.of(Settings(**NO_LIMITS), clock.now)
    async with desk.database.begin() as tx:
        how: dict[str, Any] = {"reason": WHY, "actor": ASHA, "now": clock.now()}
        await resolve.propose(tx, exception.id, Action.MATCH, {"payment": first.reference}, **how)
    async with desk.database.begin() as tx:
        await resolve.approve(tx, exception.id, actor=JUMA, now=clock.now())
    await desk.statements.match()
    assert await desk.wallet() == before + MILLIONS
    lines = [line_of(first, "Q1"), line_of(second, "Q2")]
    await desk.bring(desk.statements.write(*lines, ends=clock.now() + timedelta(days=3)), WORKER)
    await desk.statements.match()
    assert (await desk.wallet(), await desk.waiting()) == (before + 2 * MILLIONS, [])
    await desk.statements.check_ledger()


async def test_a_withdrawn_file_takes_its_list_away(desk: ImportDesk) -> None:
    payment, before = await failed(desk), await desk.wallet()
    file_id, _ = await desk.take(payment)
    withdraw = WithdrawStatements(1_000_000)
    async with desk.database.begin() as tx:
        await withdraw.propose_withdrawal(tx, file_id, reason=WHY, actor=ASHA, now=clock.now())
    async with desk.database.begin() as tx:
        await withdraw.approve(tx, file_id, actor=JUMA, now=clock.now())
    await desk.statements.match()
    assert (await desk.waiting(), await desk.statements.open_exceptions(), await desk.wallet()) == ([], [], before)
    again, _ = await desk.take(payment)
    assert again != file_id
    assert len(await desk.waiting()) == 1, "and imported again, it waits again"


async def test_a_list_that_another_file_inherits_waits_as_that_files(desk: ImportDesk) -> None:
    payment, before = await failed(desk), await desk.wallet()
    file_id, _ = await desk.take(payment)
    longer = desk.statements.write(line_of(payment), ends=clock.now() + timedelta(days=3))
    other = await desk.bring(longer, NEEMA)
    withdraw = WithdrawStatements(1_000_000)
    async with desk.database.begin() as tx:
        await withdraw.propose_withdrawal(tx, file_id, reason=WHY, actor=ASHA, now=clock.now())
    async with desk.database.begin() as tx:
        await withdraw.approve(tx, file_id, actor=JUMA, now=clock.now())
    await desk.statements.match()
    [held] = await desk.waiting()
    assert (held.proposal.subject, held.proposal.requested_by) == (other.file.id, NEEMA.name)
    assert await desk.wallet() == before


async def test_nobody_approves_another_list_than_the_one_they_saw(desk: ImportDesk) -> None:
    first, second = await failed(desk), await failed(desk, 9_000_000)
    file_id, _ = await desk.take(first, second)
    [held] = await desk.waiting()
    seen = code_of(held)
    await desk.statements.steps.report(second, Verdict.CONFIRMED, AnswerSource.QUERY)
    assert [each.amount for each in await desk.waiting()] == [MILLIONS], "at once, before anything is matched again"
    with pytest.raises(Conflict):
        await desk.approve(file_id, seen=seen)
    [held] = await desk.waiting()
    assert held.amount == MILLIONS
    await desk.approve(file_id, seen=code_of(held))


async def test_an_operator_who_was_reset_yesterday_approves_nothing(desk: ImportDesk) -> None:
    await hire(desk.database, "asha", "juma", "neema")
    await give_password(desk.database, "juma", by=ASHA)
    file_id, _ = await desk.take(await failed(desk))
    with pytest.raises(Forbidden):
        await desk.approve(file_id)
    with pytest.raises(Forbidden):
        await desk.approve(file_id, by=ASHA, is_single_operator=True)
    await desk.approve(file_id, by=NEEMA)


async def test_the_only_operator_says_so(desk: ImportDesk) -> None:
    await hire(desk.database, "asha")
    payment, before = await failed(desk), await desk.wallet()
    file_id, _ = await desk.take(payment)
    await desk.approve(file_id, by=ASHA, is_single_operator=True)
    assert await desk.wallet() == before + MILLIONS


async def test_an_invented_fee_is_booked_by_two_operators_and_once(desk: ImportDesk) -> None:
    before = await fees(desk)
    file = (await desk.bring(desk.statements.write(fee(MILLIONS)))).file
    for _ in range(2):
        await desk.statements.match()
    [held] = await desk.waiting()
    assert (held.proposal.subject, held.amount, held.lines, await fees(desk)) == (file.id, MILLIONS, [], before)
    assert await desk.statements.open_exceptions() == []
    with pytest.raises(Forbidden):
        await desk.approve(file.id, by=ASHA)
    with pytest.raises(Conflict):
        await desk.approve(file.id, seen="aaaaaaaaaa")

    await desk.approve(file.id, seen=code_of(held))
    assert abs(await fees(desk) - before) == MILLIONS
    await desk.statements.match()
    assert abs(await fees(desk) - before) == MILLIONS, "and once"
    assert await desk.waiting() == []
    await desk.statements.check_ledger()


async def test_fees_and_sweeps_of_several_files_count_together_for_their_operator(desk: ImportDesk) -> None:
    for number, (amount, held) in enumerate([(600_000, 0), (400_000, 0), (1, 1)]):
        await desk.bring(desk.statements.write(fee(amount, f"F{number}")))
        assert (await desk.statements.match()).awaiting_approval == held
    await desk.bring(desk.statements.write(fee(900_000, "F9")), by=JUMA)
    assert (await desk.statements.match()).awaiting_approval == 0, "another operator has an amount of their own"


async def test_fees_that_the_worker_fetched_wait_for_nobody(desk: ImportDesk) -> None:
    before = await fees(desk)
    await desk.bring(desk.statements.write(fee(MILLIONS)), by=WORKER)
    assert (await desk.statements.match()).awaiting_approval == 0
    assert abs(await fees(desk) - before) == MILLIONS


async def test_fees_that_wait_are_booked_when_the_worker_fetches_them_too(desk: ImportDesk) -> None:
    before = await fees(desk)
    entry = fee(MILLIONS)
    await desk.bring(desk.statements.write(entry))
    assert (await desk.statements.match()).awaiting_approval == 1
    await desk.bring(desk.statements.write(entry, ends=clock.now() + timedelta(days=3)), by=WORKER)
    await desk.statements.match()
    assert (abs(await fees(desk) - before), await desk.waiting()) == (MILLIONS, [])
    await desk.statements.check_ledger()


async def test_rejected_fees_are_exceptions_and_never_book_themselves(desk: ImportDesk) -> None:
    before = await fees(desk)
    file = (await desk.bring(desk.statements.write(fee(MILLIONS), fee(5, "F2")))).file
    await desk.statements.match()
    await desk.reject(file.id)
    await desk.statements.match()
    assert (await fees(desk), await desk.waiting()) == (before, [])
    assert sorted(await desk.statements.kinds()) == [("unknown_line", -MILLIONS), ("unknown_line", -5)]
    await desk.statements.check_ledger()


async def test_the_summary_says_what_waits_payments_or_fees(desk: ImportDesk) -> None:
    payment = await failed(desk)
    await desk.bring(desk.statements.write(line_of(payment), fee(2_000_000), fee(5, "F2")))
    done = await desk.statements.match()
    reported = matching_result.in_words((summary_of(done), []))
    assert (done.awaiting_approval, done.bookings_awaiting_approval) == (3, 2)
    assert "would end or contradict, and that wait for a second operator: 1." in reported
    assert "Fees and sweeps of this file that wait for a second operator before they are booked: 2." in reported


async def test_payments_and_fees_of_a_file_are_one_list(desk: ImportDesk) -> None:
    payment, before, charged = await failed(desk), await desk.wallet(), await fees(desk)
    file = (await desk.bring(desk.statements.write(line_of(payment), fee(2_000_000)))).file
    await desk.statements.match()
    [held] = await desk.waiting()
    assert (held.amount, len(held.lines), len(held.sums)) == (MILLIONS + 2_000_000, 1, 1)
    await desk.approve(file.id, seen=code_of(held))
    assert (await desk.wallet(), abs(await fees(desk) - charged)) == (before + MILLIONS, 2_000_000)
    await desk.statements.check_ledger()


async def test_a_withdrawn_file_takes_its_waiting_fees_with_it(desk: ImportDesk) -> None:
    file = (await desk.bring(desk.statements.write(fee(MILLIONS)))).file
    await desk.statements.match()
    withdraw = WithdrawStatements(1_000_000)
    async with desk.database.begin() as tx:
        await withdraw.propose_withdrawal(tx, file.id, reason=WHY, actor=ASHA, now=clock.now())
    async with desk.database.begin() as tx:
        await withdraw.approve(tx, file.id, actor=JUMA, now=clock.now())
    await desk.statements.match()
    assert await desk.waiting() == []
    await desk.statements.check_ledger()
