"""The limits of one operator alone with receipts, files and their words; and what a withdrawal leaves to another file."""

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from malipo import clock
from malipo.approvals import store as proposals
from malipo.approvals.act_rules import Act
from malipo.audit_log.actor import Actor
from malipo.cli.shown_proposals import find_shown
from malipo.errors import Conflict, Forbidden
from malipo.networks.connector import Verdict
from malipo.payments.cases.resolution import OperatorFinding, ResolvedOutcome
from malipo.payments.cases.resolve import approve, propose
from malipo.payments.dispatch import AnswerSource, ReviewReason
from malipo.payments.transaction import Status, Transaction, Type
from malipo.reconciliation.exceptions.action import Action
from malipo.reconciliation.exceptions.store import resolutions
from malipo.reconciliation.imports.find_import_effect import find_import_effect
from malipo.reconciliation.imports.import_statement import ImportResult
from malipo.reconciliation.imports.refuse_conflicting_file import ImportedElsewhere
from malipo.reconciliation.imports.withdraw_statement import WithdrawStatements
from malipo.reconciliation.matching.exception import ExceptionState
from malipo.settings import Settings
from tests.operators.booking_steps import NEEMA
from tests.payments.payment_steps import steps as steps
from tests.payments.refunds.refund_steps import RefundSteps
from tests.reconciliation.exception_desk import ExceptionDesk
from tests.reconciliation.import_desk import MILLIONS, WHY, ImportDesk, failed, fee, fees
from tests.reconciliation.import_desk import desk as desk
from tests.reconciliation.lost_requests import PHONE, Lost
from tests.reconciliation.statement_days import ASHA, JUMA, WORKER, Entry, Statements, line_of, reversal_of
from tests.reconciliation.statement_days import statements as statements


def later(days: int = 3) -> datetime:
    """Another end of a file, so that its bytes and its time are others."""
    return clock.now() + timedelta(days=days)


async def withdraw(desk: ImportDesk, file_id: str) -> None:
    acts = WithdrawStatements(1_000_000)
    async with desk.database.begin() as tx:
        await acts.propose_withdrawal(tx, file_id, reason=WHY, actor=ASHA, now=clock.now())
    async with desk.database.begin() as tx:
        await acts.approve(tx, file_id, actor=JUMA, now=clock.now())


@pytest.mark.parametrize("is_line_first", [True, False])
async def test_a_receipt_that_one_operator_names_does_not_credit_a_payment(
    desk: ImportDesk, is_line_first: bool
) -> None:
    """Nine millions came in that are nobody's yet: that line is matched by two operators. Asha calls an open collection
    of the same amount failed, which she may alone, and names the line's receipt."""
    before, amount = await desk.wallet(), 9_000_000
    payment = await desk.statements.steps.processing(Type.COLLECTION, amount)
    await desk.statements.steps.wait(payment, seconds=0)
    line = Entry("TOPUP77", amount, clock.now(), "Funds received from agent", phone="255754999999")
    path = desk.statements.write(line)

    async def fetch() -> None:
        await desk.bring(path, by=WORKER)
        await desk.statements.match()

    if is_line_first:
        await fetch()
        assert await desk.statements.kinds() == [("theirs_only", amount)]
    async with desk.database.begin() as tx:
        finding = OperatorFinding(ResolvedOutcome.FAILED, "The customer says that they did not pay", "TOPUP77")
        resolved = await propose(tx, payment.reference, finding, actor=ASHA, approval_amount=1_000_000, now=clock.now())
    assert (resolved.is_done, resolved.transaction.status) == (True, Status.FAILED)
    if not is_line_first:
        await fetch()
    await desk.statements.match()
    assert await desk.wallet() == before


@pytest.mark.parametrize("details", ["Transaction fee", "Payment"])
async def test_a_file_that_inherits_before_it_is_matched_stops_no_matching(desk: ImportDesk, details: str) -> None:
    """The worker has imported the same line, and died before it matched it. Then the operators' file is withdrawn."""
    entry = fee(500, details=details)
    file = (await desk.bring(desk.statements.write(entry))).file
    await desk.statements.match()
    await desk.bring(desk.statements.write(entry, ends=clock.now() + timedelta(days=3)), by=WORKER)
    await withdraw(desk, file.id)
    await desk.statements.match()
    await desk.statements.check_ledger()


@pytest.mark.parametrize("words", ["Transaction fee", "Sweep between accounts"])
async def test_the_networks_own_line_does_not_vouch_for_an_operators_words(desk: ImportDesk, words: str) -> None:
    """Only the operator's file calls it a fee; the network's has the line, and says that it went to a customer."""
    before, at = await fees(desk), clock.now() - timedelta(hours=1)
    await desk.bring(desk.statements.write(Entry("X1", -MILLIONS, at, words), name="asha.csv"), ASHA)
    assert (await desk.statements.match()).awaiting_approval == 1
    reported = Entry("X1", -MILLIONS, at, "Sent to 255754000666")
    await desk.bring(desk.statements.write(reported, ends=clock.now() + timedelta(days=3)), by=WORKER)
    await desk.statements.match()
    assert await fees(desk) == before
    assert len(await desk.waiting()) == 1


async def test_cents_count(desk: ImportDesk) -> None:
    at, before = clock.now() - timedelta(hours=1), await fees(desk)
    await desk.bring(
        desk.statements.write(*(Entry(f"C{n}", Decimal("-1.49"), at, "Transaction fee") for n in range(9)))
    )
    assert (await desk.statements.match(10)).awaiting_approval == 9, "13.41 are more than 10"
    assert await fees(desk) == before


async def test_the_number_of_an_adopted_payout_is_the_one_that_was_seen(statements: Statements) -> None:
    """The operator who proposed it imports the line again with another number: the merchant's repeat would be sent."""
    desk, imports = ExceptionDesk(statements.database), ImportDesk(statements)
    lost = Lost(statements, desk, Type.DISBURSEMENT)
    found = await lost.on_statement(key="", phone=PHONE.removeprefix("+"))
    await lost.propose(found)
    async with statements.database.snapshot() as connection:
        proposal = await resolutions.find_proposal(connection, found.id)
        assert proposal is not None
        seen = await desk.resolve.find_code(connection, proposal)
    assert found.moved_at is not None
    other = Entry("QK1", -lost.amount, found.moved_at, phone="+255754000009")
    await imports.bring(statements.write(other, ends=clock.now() + timedelta(days=3)), ASHA)
    with pytest.raises(Conflict):
        async with statements.database.begin() as tx:
            await desk.resolve.approve(tx, found.id, actor=JUMA, now=clock.now(), seen=seen)


WORDS = {"fee": "Transaction fee", "sweep": "Sweep between accounts", "money": "Sent to 255754000666"}


@pytest.mark.parametrize(
    ("withdrawn", "heirs", "waits"),
    [("fee", "money", 0), ("sweep", "money", 0), ("fee", "sweep", 1), ("sweep", "fee", 1), ("fee", "fee", 1)],
)
async def test_a_line_that_is_inherited_is_what_its_heir_calls_it(
    desk: ImportDesk, withdrawn: str, heirs: str, waits: int
) -> None:
    """Asha calls it a fee, Juma's file does not. With hers withdrawn, nobody does: it is no fee that Juma answers for,
    and that she may approve."""
    at, before = clock.now() - timedelta(hours=1), await desk.statements.steps.balances()
    file = (await desk.bring(desk.statements.write(Entry("X1", -MILLIONS, at, WORDS[withdrawn])), ASHA)).file
    await desk.statements.match()
    own = Entry("J1", -5, at, WORDS[heirs])
    other = desk.statements.write(Entry("X1", -MILLIONS, at, WORDS[heirs]), own, ends=later())
    kept = (await desk.bring(other, JUMA)).file
    await desk.statements.match()
    await withdraw(desk, file.id)
    await desk.statements.match()
    found = await desk.waiting()
    assert [(each.proposal.subject, each.sums[0].kind) for each in found] == [(kept.id, heirs)] * waits
    if not waits:
        assert await desk.statements.kinds() == [("theirs_only", -MILLIONS), ("theirs_only", -5)]
        assert await desk.statements.steps.balances() == before
    await desk.statements.check_ledger()


@pytest.mark.parametrize("is_hers_first", [True, False])
@pytest.mark.parametrize("what", ["key", "reversal"])
async def test_a_line_that_is_inherited_is_matched_by_nothing_that_only_a_withdrawn_file_said(
    desk: ImportDesk, is_hers_first: bool, what: str
) -> None:
    """Asha names the payment, or calls it a reversal; Juma's file only has the line. With hers withdrawn, it is not
    Juma who answers for that, so that she may approve it."""
    if what == "key":
        payment = await failed(desk)
        hers, his = [line_of(payment, "QK1")], [line_of(payment, "QK1", key="")]
    else:
        line = line_of(await desk.statements.completed(Type.COLLECTION, MILLIONS))
        hers, his = [line, reversal_of(line)], [line, reversal_of(line, details="Sent to a customer")]
    before = await desk.wallet()
    brought = [(hers, ASHA), (his, JUMA)] if is_hers_first else [(his, JUMA), (hers, ASHA)]
    files = []
    for number, (lines, by) in enumerate(brought):
        files.append((await desk.bring(desk.statements.write(*lines, ends=later(3 + number)), by)).file)
        await desk.statements.match()
    [held] = await desk.waiting()
    assert held.proposal.requested_by == ASHA.name
    own = next(each for each in files if each.imported_by == ASHA.name)
    async with desk.database.snapshot() as connection:
        shown = await find_import_effect(connection, own, approval_amount=1_000_000, now=clock.now())
    await withdraw(desk, own.id)
    await desk.statements.match()
    assert (await desk.waiting(), await desk.wallet()) == ([], before)
    assert len(await desk.statements.open_exceptions()) == 1
    assert shown is not None
    assert shown.matches == 1, "and that was shown before"
    await desk.statements.check_ledger()


@pytest.mark.parametrize("is_fetched_first", [True, False])
@pytest.mark.parametrize("details", ["Reversal of NOPE", "Adjustment"])
async def test_a_line_that_went_to_a_customer_stays_one_whatever_an_operators_file_calls_it(
    statements: Statements, is_fetched_first: bool, details: str
) -> None:
    """It is booked by two at any amount. Asha's file has it as the reversal of a receipt that there is not, or as
    anything."""
    desk, imports, at = ExceptionDesk(statements.database), ImportDesk(statements), clock.now() - timedelta(hours=1)
    reported = statements.write(Entry("X1", -900_000, at, "Sent to 255754000666"))
    linked = "NOPE" if "NOPE" in details else ""
    named = statements.write(Entry("X1", -900_000, at, details, linked=linked), ends=later())
    for path, by in [(reported, WORKER), (named, ASHA)] if is_fetched_first else [(named, ASHA), (reported, WORKER)]:
        await imports.bring(path, by=by)
        await statements.match()
    [found] = await statements.open_exceptions()
    done = await desk.propose(found, Action.BOOK, {"account": "losses"}, by=ASHA)
    assert done.state is ExceptionState.PROPOSED


async def test_an_operator_whose_file_calls_a_line_a_reversal_does_not_approve_it(desk: ImportDesk) -> None:
    """Juma's file has the line with the same receipt beside it, but does not call it a reversal."""
    line = line_of(await desk.statements.completed(Type.COLLECTION, MILLIONS))
    plain = reversal_of(line, details="Payment to a customer")
    await desk.bring(desk.statements.write(line, plain), JUMA)
    await desk.statements.match()
    named = await desk.bring(desk.statements.write(line, reversal_of(line), ends=later()), ASHA)
    await desk.statements.match()
    [held] = await desk.waiting()
    assert (held.proposal.subject, held.proposal.requested_by) == (named.file.id, ASHA.name)
    with pytest.raises(Forbidden):
        await desk.approve(held.proposal.subject, by=ASHA)
    await desk.approve(held.proposal.subject, by=JUMA)


async def test_a_reversal_that_only_an_operator_calls_one_is_not_vouched_for_by_the_network(desk: ImportDesk) -> None:
    line = line_of(await desk.statements.completed(Type.COLLECTION, MILLIONS))
    plain = reversal_of(line, details="Payment to a customer")
    await desk.bring(desk.statements.write(line, plain), WORKER)
    await desk.statements.match()
    await desk.bring(desk.statements.write(line, reversal_of(line), ends=later()), ASHA)
    await desk.statements.match()
    assert await desk.waiting() == [], "the network's own word for it stands"
    assert len(await desk.statements.open_exceptions()) == 1


@pytest.mark.parametrize("is_fetched_a_reversal", [True, False])
async def test_an_operator_whose_copy_makes_the_networks_line_a_reversal_does_not_approve_it(
    desk: ImportDesk, is_fetched_a_reversal: bool
) -> None:
    """Neither file alone says of what it is a reversal: one has the word, the other the receipt."""
    line = line_of(await desk.statements.completed(Type.COLLECTION, MILLIONS))
    word, receipt = reversal_of(line, details="Reversal", linked=""), reversal_of(line, details="Sent")
    fetched, brought = (word, receipt) if is_fetched_a_reversal else (receipt, word)
    await desk.bring(desk.statements.write(line, fetched), WORKER)
    await desk.statements.match()
    await desk.bring(desk.statements.write(line, brought, ends=later()), ASHA)
    await desk.statements.match()
    assert {each.proposal.requested_by for each in await desk.waiting()} <= {ASHA.name}
    await desk.statements.check_ledger()


async def bring_as_another(desk: ImportDesk, path: Path) -> ImportResult:
    """Asha imports it as the statement of an account that there is not."""
    return await desk.bring(path, account="old till")


@pytest.mark.parametrize("is_same_file", [True, False])
async def test_an_operators_file_of_another_account_does_not_keep_the_networks_own_out(
    desk: ImportDesk, is_same_file: bool
) -> None:
    at = clock.now() - timedelta(hours=1)
    lines = [Entry(f"X{n}", -900_000, at, "Sent to 255754000666") for n in range(3)]
    path = desk.statements.write(*lines)
    elsewhere = (await bring_as_another(desk, path)).file
    fetched = path if is_same_file else desk.statements.write(*lines, ends=later())
    with pytest.raises(ImportedElsewhere):
        await desk.bring(fetched, by=JUMA)
    done = await desk.bring(fetched, by=WORKER)
    assert (done.is_repeat, done.file.new_count) == (False, 3)
    assert done.elsewhere is not None
    assert done.elsewhere.id == elsewhere.id, "and operators are shown which file has the same lines"
    await desk.statements.match()

    async with desk.database.snapshot() as connection:
        [proposal] = await proposals.find_open(connection, [Act.WITHDRAW_DOUBTED])
        shown = "\n".join((await find_shown(connection, proposal, Settings())).lines)
    assert (proposal.subject, proposal.requested_by) == (elsewhere.id, "malipo")
    assert "They count twice." in shown
    async with desk.database.begin() as tx:
        await WithdrawStatements(1_000_000).approve(tx, elsewhere.id, actor=JUMA, now=clock.now())
    await desk.statements.match()
    assert await desk.statements.statement_change() == -2_700_000, "each line counts once"
    await desk.statements.check_ledger()


@pytest.mark.parametrize("words", [None, "Transaction fee"])
async def test_the_very_bytes_of_an_operators_file_are_the_networks_word_when_the_worker_fetches_them(
    desk: ImportDesk, words: str | None
) -> None:
    before, charged = await desk.wallet(), await fees(desk)
    entry = line_of(await failed(desk)) if words is None else fee(MILLIONS, details=words)
    path = desk.statements.write(entry)
    await desk.bring(path, ASHA)
    assert (await desk.statements.match()).awaiting_approval == 1
    assert not (await desk.bring(path, WORKER)).is_repeat
    await desk.statements.match()
    assert await desk.waiting() == []
    gained = (await desk.wallet() - before, abs(await fees(desk) - charged))
    assert gained == ((MILLIONS, 0) if words is None else (0, MILLIONS))
    for by in (ASHA, WORKER):
        assert (await desk.bring(path, by)).is_repeat, "and once for each"
    await desk.statements.match()
    await desk.statements.check_ledger()


async def test_an_approver_is_shown_which_way_a_sweep_went(desk: ImportDesk) -> None:
    at = clock.now() - timedelta(hours=1)
    reported: list[str] = []
    for number, amount in enumerate([MILLIONS, -MILLIONS]):
        entry = Entry(f"S{number}", amount, at, WORDS["sweep"])
        await desk.bring(desk.statements.write(entry, ends=later(3 + number)), ASHA)
        await desk.statements.match()
    async with desk.database.snapshot() as connection:
        for each in await proposals.find_open(connection, [Act.IMPORT]):
            reported += (await find_shown(connection, each, Settings())).changes
    assert [each.rpartition("000 ")[2] for each in reported] == ["came in", "went out"]


INVENTED = "ABCDEFGHJKMNPQR1"  # looks like a key of ours


@pytest.mark.parametrize("by", [WORKER, ASHA])
@pytest.mark.parametrize("words", ["fee", "sweep"])
async def test_an_invented_key_in_an_operators_copy_changes_no_booking(desk: ImportDesk, words: str, by: Actor) -> None:
    """The network's own file was booked, or one that two have approved."""
    line = Entry("X1", -MILLIONS, clock.now() - timedelta(hours=1), WORDS[words])
    file = (await desk.bring(desk.statements.write(line), by)).file
    await desk.statements.match()
    if by is ASHA:
        await desk.approve(file.id)
    assert await desk.statements.float_change() == -MILLIONS
    await desk.bring(desk.statements.write(replace(line, key=INVENTED), ends=later()), ASHA)
    await desk.statements.match()
    assert (await desk.statements.float_change(), await desk.statements.kinds()) == (-MILLIONS, [])
    # The network's own file still has another key, although an operator's file had one before.
    reported = replace(line, key="0123456789ABCDEF")
    await desk.bring(desk.statements.write(reported, ends=later(4)), WORKER)
    await desk.statements.match()
    assert (await desk.statements.float_change(), await desk.statements.kinds()) == (0, [("theirs_only", -MILLIONS)])
    await desk.statements.check_ledger()


@pytest.mark.parametrize("by", [ASHA, WORKER])
async def test_only_the_networks_own_file_sets_the_key_of_an_adopted_collection(
    statements: Statements, by: Actor
) -> None:
    """With another key, the repeat of its lost refund would be sent, and paid twice."""
    refunds = RefundSteps(statements.steps.service, statements.steps.merchant_id)
    lost = Lost(statements, ExceptionDesk(statements.database), Type.COLLECTION)
    found = await lost.on_statement(key="")
    await lost.adopt(found, phone=PHONE)
    assert found.moved_at is not None
    key = INVENTED if by is ASHA else await lost.network_key()
    copy = Entry("QK1", lost.amount, found.moved_at, phone=PHONE, key=key)
    await ImportDesk(statements).bring(statements.write(copy, ends=later()), by)
    await statements.match()
    async with statements.database.read() as connection:
        id_, taken = await connection.fetchrow("SELECT id, network_key FROM transactions")  # type: ignore[misc]
    assert (taken == key) is (by is WORKER)
    dispatch = await refunds.dispatch(await refunds.refund(await refunds.seen_by_id(id_)))
    assert dispatch is not None
    assert dispatch.review_reason == (None if by is WORKER else ReviewReason.RESEMBLES_ADOPTED)


async def say_not_paid(desk: ImportDesk, payment: Transaction) -> None:
    """Its network does, and two operators."""
    await desk.statements.steps.report(payment, Verdict.REFUSED, AnswerSource.QUERY)
    finding = OperatorFinding(ResolvedOutcome.FAILED, "The network has taken it back, they say")
    async with desk.database.begin() as tx:
        await propose(tx, payment.reference, finding, actor=JUMA, approval_amount=1_000_000, now=clock.now())
    async with desk.database.begin() as tx:
        await approve(tx, payment.reference, actor=NEEMA, now=clock.now())


@pytest.mark.parametrize("is_fetched", [False, True])
async def test_a_line_that_one_operator_has_matched_alone_credits_nothing_by_itself(
    desk: ImportDesk, is_fetched: bool
) -> None:
    """It has a shilling more than the payment, and that is all that Asha books. Later it was not paid after all."""
    statements, exceptions = desk.statements, ExceptionDesk(desk.database)
    payment = await failed(desk, 900_000)
    await statements.steps.report(payment, Verdict.CONFIRMED, AnswerSource.QUERY)
    line = line_of(payment, "X1", amount=900_001)
    if is_fetched:  # and does not say whose it is
        await desk.bring(statements.write(replace(line, key="", phone="")), WORKER)
        await statements.match()
    await desk.bring(statements.write(line, ends=later()), ASHA)
    await statements.match()
    [found] = [each for each in await statements.open_exceptions() if each.line_id is not None]
    done = await exceptions.propose(found, Action.BOOK, {"account": "suspense"}, by=ASHA)
    assert done.state is ExceptionState.RESOLVED
    await say_not_paid(desk, payment)
    before = await desk.wallet()
    for _ in range(2):
        await statements.match()
        assert await desk.wallet() == before
        [held] = await desk.waiting()
        assert (held.proposal.requested_by, held.amount) == (ASHA.name, 900_000)
    with pytest.raises(Forbidden):
        await desk.approve(held.proposal.subject, by=ASHA)
    await desk.approve(held.proposal.subject, by=JUMA)
    assert (await desk.wallet(), await desk.waiting()) == (before + 900_000, [])
    await statements.check_ledger()


async def test_a_line_that_two_operators_have_matched_waits_for_nobody(desk: ImportDesk) -> None:
    statements, exceptions = desk.statements, ExceptionDesk(desk.database)
    payment = await failed(desk)
    await statements.steps.report(payment, Verdict.CONFIRMED, AnswerSource.QUERY)
    await desk.bring(statements.write(line_of(payment, "X1", amount=2 * MILLIONS)), ASHA)
    await statements.match()
    [found] = await statements.open_exceptions()
    await exceptions.propose(found, Action.MATCH, {"payment": payment.reference}, by=ASHA)
    await exceptions.approve(found)
    await say_not_paid(desk, payment)
    before = await desk.wallet()
    await statements.match()
    assert (await desk.wallet(), await desk.waiting()) == (before + MILLIONS, [])


@pytest.mark.parametrize("is_fetched_first", [True, False])
async def test_the_networks_own_key_stands_before_that_of_an_operators_copy(
    desk: ImportDesk, is_fetched_first: bool
) -> None:
    payment, before = await failed(desk), await desk.wallet()
    copy = desk.statements.write(line_of(payment, "REAL0001", key=INVENTED))
    own = desk.statements.write(line_of(payment, "REAL0001"), ends=later())
    for path, by in [(own, WORKER), (copy, ASHA)] if is_fetched_first else [(copy, ASHA), (own, WORKER)]:
        await desk.bring(path, by=by)
        await desk.statements.match()
    assert (await desk.wallet(), await desk.statements.kinds()) == (before + MILLIONS, [])
    await desk.statements.check_ledger()


async def test_the_networks_own_key_does_not_confirm_the_payment_that_an_operators_copy_names(desk: ImportDesk) -> None:
    """Asha's copy names another payment of the same amount, and waits. The network's line names the right one."""
    right, wrong, before = await failed(desk), await failed(desk), await desk.wallet()
    await desk.bring(desk.statements.write(line_of(right, "REAL0001", key=wrong.network_key)), ASHA)
    await desk.statements.match()
    assert len(await desk.waiting()) == 1
    await desk.bring(desk.statements.write(line_of(right, "REAL0001"), ends=later()), WORKER)
    await desk.statements.match()
    assert [each[1] for each in await desk.statements.matches()] == [right.id]
    assert (await desk.wallet(), await desk.waiting(), await desk.statements.kinds()) == (before + MILLIONS, [], [])
    await desk.statements.check_ledger()


@pytest.mark.parametrize("is_fetched_first", [True, False])
async def test_an_operator_who_decides_is_shown_the_networks_own_number_and_words(
    desk: ImportDesk, is_fetched_first: bool
) -> None:
    at = clock.now() - timedelta(hours=1)
    own = Entry("REAL0001", -9_000_000, at, "Sent to customer", phone="255754***001")
    copy = replace(own, details="Sent to customer of Duka la Juma, wages of November", phone="+255754000009")
    files = [(desk.statements.write(own), WORKER), (desk.statements.write(copy, ends=later()), ASHA)]
    for path, by in files if is_fetched_first else files[::-1]:
        await desk.bring(path, by=by)
        await desk.statements.match()
    [found] = await desk.statements.open_exceptions()
    assert (found.phone, found.details) == (own.phone, own.details)


async def test_an_operators_copy_says_what_the_network_does_not(desk: ImportDesk) -> None:
    at = clock.now() - timedelta(hours=1)
    own = Entry("REAL0001", -9_000_000, at, "Sent to customer")
    await desk.bring(desk.statements.write(own), WORKER)
    await desk.bring(desk.statements.write(replace(own, phone="+255754000009"), ends=later()), ASHA)
    await desk.statements.match()
    [found] = await desk.statements.open_exceptions()
    assert found.phone == "+255754000009"


@pytest.mark.parametrize("amount", [MILLIONS, 600_000])
async def test_an_operators_copy_that_names_a_declined_collection_of_the_amount_of_a_sweep_credits_nothing(
    desk: ImportDesk, amount: int
) -> None:
    """The network's own file calls it a sweep, and it is booked. Asha's copy names exactly a payment that we have. What
    she may move alone is taken out of its booking; to credit it is more than that."""
    payment, before = await failed(desk, amount), await desk.wallet()
    sweep = line_of(payment, "X1", key="", phone="", details=WORDS["sweep"])
    await desk.bring(desk.statements.write(sweep), WORKER)
    await desk.statements.match()
    booked = await desk.statements.float_change()
    await desk.bring(desk.statements.write(replace(sweep, key=payment.network_key), ends=later()), ASHA)
    await desk.statements.match()
    assert await desk.wallet() == before
    if amount == MILLIONS:
        assert (await desk.waiting(), await desk.statements.kinds()) == ([], [])
        assert await desk.statements.float_change() == booked
        return
    [held] = await desk.waiting()
    assert (held.answerable, held.amount) == ({ASHA.name}, amount)
    with pytest.raises(Forbidden):
        await desk.approve(held.proposal.subject, by=ASHA)
    await desk.reject(held.proposal.subject, by=ASHA)
    await desk.statements.match()
    assert (await desk.wallet(), await desk.statements.kinds()) == (before, [("theirs_only", amount)])
    await desk.statements.check_ledger()


@pytest.mark.parametrize(("words", "left"), [("fee", []), ("sweep", [("twice", -900_000)])])
async def test_an_operators_copy_that_names_a_paid_payout_of_the_amount_of_a_fee_gives_nobody_anything(
    desk: ImportDesk, words: str, left: list[tuple[str, int]]
) -> None:
    """The payout has no line yet. Asha's copy makes the fee its line, until the network's own has come: then the fee is
    booked again. A sweep with the key of a payment is an exception: it may have been paid twice. No wallet has changed,
    and the float and what is left are what the statements say."""
    payout = await desk.statements.completed(Type.DISBURSEMENT, 900_000)
    before = await desk.wallet()
    fee_line = Entry("X1", -900_000, clock.now() - timedelta(hours=1), WORDS[words])
    await desk.bring(desk.statements.write(fee_line), WORKER)
    await desk.statements.match()
    await desk.bring(desk.statements.write(replace(fee_line, key=payout.network_key), ends=later()), ASHA)
    await desk.statements.match()
    assert await desk.statements.matches() == [("X1", payout.id, "payment")]
    own = line_of(payout)
    await desk.bring(desk.statements.write(fee_line, own, ends=later(4)), WORKER)
    for _ in range(2):
        await desk.statements.match()
        assert await desk.statements.matches() == [(own.receipt, payout.id, "payment")]
        assert (await desk.statements.kinds(), await desk.wallet()) == (left, before)
        assert await desk.statements.statement_change() == -1_800_000
        assert await desk.statements.float_change() == -1_800_000 - sum(amount for _, amount in left)
    await desk.statements.check_ledger()
