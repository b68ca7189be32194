"""An operator whose file has a fact of a line cannot approve another operator's proposal about the line."""

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import malipo
from malipo import clock
from malipo.audit_log.actor import Actor
from malipo.errors import Forbidden
from malipo.reconciliation.exceptions.action import Action
from malipo.reconciliation.exceptions.approve_case import approve_case
from malipo.reconciliation.matching.exception import ExceptionState, ReconciliationException
from malipo.reconciliation.matching.import_approval import ImportApprovalRefusal
from malipo.reconciliation.matching.line_sources import FactSource, sources_of
from malipo.reconciliation.statements.statement_file import FETCHED_BY
from tests.operators.booking_steps import NEEMA, give_password, hire
from tests.payments.payment_steps import steps as steps
from tests.reconciliation.exception_desk import REASON, ExceptionDesk
from tests.reconciliation.import_desk import MILLIONS, ImportDesk, failed, import_lines
from tests.reconciliation.import_desk import desk as desk
from tests.reconciliation.statement_days import ASHA, JUMA, WORKER, Entry, line_of
from tests.reconciliation.statement_days import statements as statements
from tests.reconciliation.test_layout_authors import bring, honest, say

SUSPENSE = {"account": "suspense"}


def a_line(**changes: Any) -> Entry:
    return replace(Entry("QSTRANGE78", MILLIONS, clock.now() - timedelta(hours=1)), **changes)


async def bring_both(desk: ImportDesk, own: Entry, copy: Entry, by: Actor = ASHA) -> ReconciliationException:
    """The worker's file, and an operator's copy of it."""
    await desk.bring(desk.statements.write(own), WORKER)
    await desk.statements.match()
    await desk.bring(desk.statements.write(copy, ends=clock.now() + timedelta(days=3)), by)
    return await found(desk)


async def found(desk: ImportDesk) -> ReconciliationException:
    await desk.statements.match()
    [exception] = [each for each in await desk.statements.open_exceptions() if each.line_id is not None]
    return exception


async def test_an_operator_whose_file_names_the_payment_of_a_line_does_not_approve_the_match(desk: ImportDesk) -> None:
    """The network's line has no key. Asha's copy names a declined collection, and Juma proposes what he is shown."""
    payment, before = await failed(desk, MILLIONS - 100), await desk.wallet()
    exceptions, own = ExceptionDesk(desk.database), a_line()
    exception = await bring_both(desk, own, replace(own, key=payment.network_key))
    assert (exception.kind, exception.reference) == ("amount_differs", payment.reference)
    await exceptions.propose(exception, Action.MATCH, {"payment": payment.reference}, by=JUMA)
    with pytest.raises(Forbidden, match=ImportApprovalRefusal.SOURCE):
        await exceptions.approve(exception, by=ASHA)
    assert await desk.wallet() == before
    await exceptions.approve(exception, by=NEEMA)
    assert await desk.wallet() == before + payment.amount, "two others agree with it"
    await desk.statements.check_ledger()


@pytest.mark.parametrize(
    ("own", "reported", "is_refused"),
    [
        ({}, {}, False),
        ({"key": "1M7Q2VXD76XZRVT6"}, {"key": "MLP-1M7Q2VXD76XZRVT6"}, False),
        ({"key": "1M7Q2VXD76XZRVT6"}, {"key": "1M7Q2VXD76XZRVT7"}, False),
        ({}, {"key": "1M7Q2VXD76XZRVT6"}, True),
        ({"phone": "255754***001"}, {"phone": "+255754000001"}, False),
        ({}, {"phone": "+255754000001"}, True),
        ({"details": "Reversal"}, {"details": "Reversal", "linked": "QOTHER0001"}, True),
        ({"details": "Reversal", "linked": "QOTHER0001"}, {"details": "Reversal", "linked": "QOTHER0001"}, False),
    ],
)
async def test_only_facts_that_the_networks_file_does_not_have_count(
    desk: ImportDesk, own: dict[str, str], reported: dict[str, str], is_refused: bool
) -> None:
    exceptions = ExceptionDesk(desk.database)
    exception = await bring_both(desk, a_line(**own), a_line(**reported))
    await exceptions.propose(exception, Action.BOOK, SUSPENSE, by=JUMA)
    if is_refused:
        with pytest.raises(Forbidden, match=ImportApprovalRefusal.SOURCE):
            await exceptions.approve(exception, by=ASHA)
    else:
        assert (await exceptions.approve(exception, by=ASHA)).state is ExceptionState.RESOLVED


async def test_the_importer_of_a_line_that_the_network_does_not_have_proposes_and_another_approves(
    desk: ImportDesk,
) -> None:
    exceptions = ExceptionDesk(desk.database)
    await desk.bring(desk.statements.write(a_line()), ASHA)
    exception = await found(desk)
    await exceptions.propose(exception, Action.BOOK, SUSPENSE, by=JUMA)
    with pytest.raises(Forbidden, match=ImportApprovalRefusal.SOURCE):
        await exceptions.approve(exception, by=ASHA)
    await exceptions.reject(exception, by=ASHA)
    await exceptions.propose(exception, Action.BOOK, SUSPENSE, by=ASHA)
    with pytest.raises(Forbidden, match="operators_same"):
        await exceptions.approve(exception, by=ASHA)
    assert (await exceptions.approve(exception, by=JUMA)).state is ExceptionState.RESOLVED


async def test_nor_does_who_said_how_its_file_is_read(desk: ImportDesk) -> None:
    payment, exceptions = await failed(desk), ExceptionDesk(desk.database)
    await say(desk, "Failed", by=ASHA)
    done = await bring(desk, honest(desk, payment), by=JUMA)
    await desk.reject(done.file.id, by=NEEMA)
    exception = await found(desk)
    await exceptions.propose(exception, Action.MATCH, {"payment": payment.reference}, by=NEEMA)
    for by in (ASHA, JUMA):
        with pytest.raises(Forbidden, match=ImportApprovalRefusal.SOURCE):
            await exceptions.approve(exception, by=by)


async def test_nor_does_anybody_while_the_source_may_be_another(desk: ImportDesk) -> None:
    """Asha has set Neema's password, and may have brought the file as Neema."""
    await hire(desk.database, "asha", "juma", "neema")
    await give_password(desk.database, "neema", by=ASHA)
    exceptions = ExceptionDesk(desk.database)
    exception = await bring_both(desk, a_line(), a_line(phone="+255754000001"), NEEMA)
    await exceptions.propose(exception, Action.BOOK, SUSPENSE, by=JUMA)
    with pytest.raises(Forbidden, match="operators_not_vouched_for"):
        await exceptions.approve(exception, by=ASHA)


async def test_the_only_operator_says_so(desk: ImportDesk) -> None:
    await hire(desk.database, "asha")
    resolve = ExceptionDesk(desk.database).resolve
    await desk.bring(desk.statements.write(a_line()), ASHA)
    exception = await found(desk)
    async with desk.database.begin() as tx:
        await resolve.propose(
            tx, exception.id, Action.BOOK, SUSPENSE, reason=REASON, actor=JUMA, now=clock.now()
        )  # and has left
    async with desk.database.begin() as tx:
        done = await resolve.approve(tx, exception.id, actor=ASHA, now=clock.now(), is_single_operator=True)
    assert done.state is ExceptionState.RESOLVED


async def test_the_importer_of_a_payments_line_does_not_approve_anothers_proposal_about_the_payment(
    desk: ImportDesk,
) -> None:
    """Asha's line waits, and is an exception. Juma reads it, and proposes that the payment was paid."""
    payment, before = await failed(desk), await desk.wallet()
    await import_lines(desk, ASHA, line_of(payment, "QSTRANGE78"))
    await desk.statements.match()
    [exception] = await desk.statements.open_exceptions()
    exceptions = ExceptionDesk(desk.database)
    await exceptions.propose(exception, Action.RESOLVE, {"outcome": "completed"}, by=JUMA)
    with pytest.raises(Forbidden, match=ImportApprovalRefusal.SOURCE):
        await exceptions.approve(exception, by=ASHA)
    async with desk.database.begin() as tx:
        with pytest.raises(Forbidden, match=ImportApprovalRefusal.SOURCE):
            await approve_case(tx, payment.reference, actor=ASHA, now=clock.now())
    assert await desk.wallet() == before
    await exceptions.approve(exception, by=NEEMA)
    assert await desk.wallet() > before
    await desk.statements.check_ledger()


def test_no_page_and_no_command_approves_without_the_check_of_a_lines_sources() -> None:
    """They use `approve_case`, which looks at the lines of the payment."""
    past = re.compile(
        r"^from malipo\.payments(?:\.cases)? import (?:.*\b)?resolve\b.*^.*\bresolve\.approve\(",
        re.MULTILINE | re.DOTALL,
    )
    sources = {path.name: path.read_text() for path in Path(malipo.__file__).parent.rglob("*.py")}
    assert [name for name, text in sources.items() if past.search(text)] == ["approve_case.py"]


async def test_the_source_of_a_lines_words_alone_does_not_approve_the_match(desk: ImportDesk) -> None:
    payment = await failed(desk)
    own = a_line(amount=payment.amount, details="")
    exception = await bring_both(desk, own, replace(own, details=f"Paid for {payment.reference}"))
    exceptions = ExceptionDesk(desk.database)
    await exceptions.propose(exception, Action.MATCH, {"payment": payment.reference}, by=JUMA)
    with pytest.raises(Forbidden, match=ImportApprovalRefusal.SOURCE):
        await exceptions.approve(exception, by=ASHA)


async def test_two_operators_who_have_both_imported_a_line_decide_about_it(desk: ImportDesk) -> None:
    """Nothing is fetched, and there is no third one. What Juma's own file has, he need not believe Asha."""
    payment, line = await failed(desk), a_line(receipt="QREAL12345")
    await import_lines(desk, ASHA, line)
    await import_lines(desk, JUMA, line, line_of(await desk.statements.completed(amount=1000)))
    exception = await found(desk)
    exceptions = ExceptionDesk(desk.database)
    await exceptions.propose(exception, Action.MATCH, {"payment": payment.reference}, by=JUMA)
    assert (await exceptions.approve(exception, by=ASHA)).state is ExceptionState.RESOLVED
    await desk.statements.check_ledger()


@pytest.mark.parametrize(
    ("reported", "sources"),
    [
        ([FactSource("key", "asha")], {"asha"}),
        ([FactSource("key", "asha", ("neema",))], {"asha", "neema"}),
        ([FactSource("key", "asha"), FactSource("key", FETCHED_BY)], set()),
        ([FactSource("key", "asha"), FactSource("kind", FETCHED_BY)], {"asha"}),
        ([FactSource("key", "asha"), FactSource("key", "juma")], {"juma"}),
        ([FactSource("key", "asha"), FactSource("key", "juma", ("asha",))], {"juma", "asha"}),
        ([FactSource("key", "asha"), FactSource("kind", "juma")], {"asha", "juma"}),
    ],
)
def test_the_sources_of_a_line_leave_out_the_proposer(reported: list[FactSource], sources: set[str]) -> None:
    assert sources_of(reported, proposed_by="juma") == sources
