"""An operator who defined how a layout is read is an author of every file that is read by it, whoever imports it."""

import csv
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from malipo import clock
from malipo.approvals import store as approvals
from malipo.approvals.act_rules import Act
from malipo.audit_log.actor import Actor
from malipo.cli.shown_proposals import find_shown
from malipo.errors import Conflict, Forbidden, Invalid
from malipo.network_statements.profile import StatementProfile, built_in
from malipo.networks.connector import Channel
from malipo.payments.transaction import Transaction
from malipo.reconciliation.imports.import_statement import ImportResult, StatementImport, import_statement
from malipo.reconciliation.matching.import_approval import WaitingList, code_of
from malipo.reconciliation.matching.set_carrier import set_carrier
from malipo.reconciliation.statements.choose_profile import find_profile, save_if_new, save_status_words
from malipo.reconciliation.statements.statement_file import LayoutAuthor, LayoutChoice
from malipo.settings import Settings
from tests.operators.booking_steps import NEEMA, give_password, hire
from tests.payments.payment_steps import steps as steps
from tests.reconciliation.import_desk import MILLIONS, ImportDesk, failed, fee
from tests.reconciliation.import_desk import desk as desk
from tests.reconciliation.statement_days import ASHA, JUMA, WORKER
from tests.reconciliation.statement_days import statements as statements

COLUMNS = ["receipt", "time", "amount", "details", "reference", "phone", "status"]


def honest(desk: ImportDesk, *payments: Transaction, status: str = "Failed", receipt: str = "QHONEST") -> Path:
    """What the network has: these payments, which did not take place."""
    path = desk.statements.folder / f"honest-{desk.statements.files}.csv"
    desk.statements.files += 1
    begins, ends = clock.now() - timedelta(days=1), clock.now() + timedelta(days=2 + desk.statements.files)
    rows: list[list[object]] = [["from", _moment(begins)], ["to", _moment(ends)], [*COLUMNS]]
    for number, each in enumerate(payments):
        at = _moment(each.created_at + timedelta(seconds=30))
        rows.append([f"{receipt}{number}", at, each.amount, "Payment", each.network_key, each.phone, status])
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def _moment(at: datetime) -> str:
    return f"{at.astimezone(clock.ZONE):%Y-%m-%d %H:%M:%S}"


async def say(desk: ImportDesk, *moved: str, by: Actor, not_moved: tuple[str, ...] = (), name: str = "generic") -> None:
    async with desk.database.begin() as tx:
        await save_status_words(tx, name, moved=moved, not_moved=not_moved, actor=by, now=clock.now())


def layout(name: str, **words: tuple[str, ...]) -> StatementProfile:
    return replace(built_in()["generic"], name=name, **words)


async def save(desk: ImportDesk, name: str, *, by: Actor) -> None:
    """A layout of this operator's own, by which failed rows have moved money."""
    profile = layout(name, completed=("Failed",), failed=("Completed",))
    async with desk.database.begin() as tx:
        await save_if_new(tx, profile, actor=by, now=clock.now())


async def carry(desk: ImportDesk, name: str, carrier: str, *, by: Actor) -> None:
    async with desk.database.begin() as tx:
        await set_carrier(tx, name, carrier, actor=by, now=clock.now())


async def bring(
    desk: ImportDesk, path: Path, *, by: Actor, profile: str = "generic", channel: Channel | None = None
) -> ImportResult:
    """With the layout as it is saved, as the page and the command have it."""
    async with desk.database.begin() as tx:
        done = await import_statement(
            tx,
            StatementImport(
                path,
                channel=channel or desk.statements.channel,
                account="",
                profile=await find_profile(tx, profile),
                is_new_account=True,
            ),
            actor=by,
            now=clock.now(),
        )
    await desk.statements.match()
    return done


async def waits(desk: ImportDesk) -> WaitingList:
    [held] = await desk.waiting()
    return held


async def test_an_operator_who_defined_that_failed_means_moved_does_not_approve_files_read_so(desk: ImportDesk) -> None:
    payment, before = await failed(desk), await desk.wallet()
    await say(desk, "Failed", by=ASHA)
    done = await bring(desk, honest(desk, payment), by=JUMA)
    assert done.file.authors == (LayoutAuthor(by=ASHA.name, said=LayoutChoice.MOVED, word="Failed", rows=1),)
    held = await waits(desk)
    assert (held.proposal.requested_by, held.answerable) == (JUMA.name, {JUMA.name, ASHA.name})
    assert [each.word for each in held.lines] == ["Failed"]
    for by in (ASHA, JUMA):
        with pytest.raises(Forbidden):
            await desk.approve(done.file.id, by=by)
    assert await desk.wallet() == before
    await desk.approve(done.file.id, by=NEEMA)
    assert await desk.wallet() == before + MILLIONS, "two others agree with it"


async def test_nor_as_who_imports_it(desk: ImportDesk) -> None:
    payment = await failed(desk)
    await say(desk, "Failed", by=JUMA)
    done = await bring(desk, honest(desk, payment), by=ASHA)
    with pytest.raises(Forbidden):
        await desk.approve(done.file.id, by=JUMA)


async def test_the_operator_who_saved_the_layout_does_not_approve_either(desk: ImportDesk) -> None:
    payment = await failed(desk)
    await save(desk, "till", by=ASHA)
    done = await bring(desk, honest(desk, payment), by=JUMA, profile="till")
    held = await waits(desk)
    assert {(each.by, each.said) for each in held.authors} == {
        (ASHA.name, LayoutChoice.COLUMNS),
        (ASHA.name, LayoutChoice.MOVED),
    }
    with pytest.raises(Forbidden):
        await desk.approve(done.file.id, by=ASHA)


async def test_a_word_that_is_in_no_row_of_the_file_makes_nobody_its_author(desk: ImportDesk) -> None:
    payment = await failed(desk)
    await say(desk, "Sorted", by=ASHA)
    done = await bring(desk, honest(desk, payment, status="Completed"), by=JUMA)
    assert done.file.authors == ()
    await desk.approve(done.file.id, by=ASHA)


async def test_the_last_operator_who_defined_a_word_is_its_author_and_malipos_own_words_have_none(
    desk: ImportDesk,
) -> None:
    await say(desk, "Failed", "Sorted", by=ASHA)
    await say(desk, "sorted", by=NEEMA, not_moved=("Failed",))
    async with desk.database.read() as connection:
        profile = await find_profile(connection, "generic")
    assert profile.said_by.words == {"sorted": NEEMA.name}


async def test_an_operator_who_skips_rows_is_an_author_too(desk: ImportDesk) -> None:
    """The row that takes a payment back is passed over, so that the payment counts as paid."""
    payment = await failed(desk)
    await say(desk, by=ASHA, not_moved=("Taken back",))
    path = honest(desk, payment, status="Completed")
    with path.open("a") as file:
        file.write(f"QB1,{_moment(clock.now())},-5,Payment,,,Taken back\n")
    done = await bring(desk, path, by=JUMA)
    with pytest.raises(Forbidden):
        await desk.approve(done.file.id, by=ASHA)


async def test_an_operator_who_names_the_aggregator_after_the_import_does_not_approve_its_matches(
    desk: ImportDesk,
) -> None:
    """Of an aggregator's account, lines are matched with payments of all channels: also of files that are there."""
    payment = await failed(desk)
    await save(desk, "till", by=NEEMA)
    path = honest(desk, payment)
    done = await bring(desk, path, by=JUMA, profile="till", channel=Channel.AIRTEL_MONEY)
    assert await desk.waiting() == []
    await carry(desk, "till", "clickpesa", by=ASHA)
    await desk.statements.match()
    held = await waits(desk)
    assert held.answerable == {ASHA.name, JUMA.name, NEEMA.name}
    with pytest.raises(Forbidden):
        await desk.approve(done.file.id, by=ASHA)


async def test_the_list_that_was_seen_is_another_once_somebody_names_an_aggregator(desk: ImportDesk) -> None:
    payment = await failed(desk)
    await save(desk, "till", by=NEEMA)
    done = await bring(desk, honest(desk, payment), by=JUMA, profile="till")
    seen = code_of(await waits(desk))
    await carry(desk, "till", "clickpesa", by=ASHA)
    with pytest.raises(Conflict):
        await desk.approve(done.file.id, by=Actor("operator rehema", "till"), seen=seen)


async def test_a_file_read_by_an_operators_word_counts_for_that_operator_whoever_imports_it(desk: ImportDesk) -> None:
    before = await desk.wallet()
    await say(desk, "Failed", by=ASHA)
    for number, by in enumerate((JUMA, NEEMA, JUMA)):
        payment = await failed(desk, 400_000)
        await bring(desk, honest(desk, payment, receipt=f"Q{number}"), by=by)
    assert await desk.wallet() == before + 800_000, "together more than one moves alone in 24 hours"
    assert (await waits(desk)).amount == 400_000
    async with desk.database.read() as connection:
        moved = [
            await approvals.sum_moved_alone(connection, each.name, since=payment.created_at - timedelta(hours=1))
            for each in (ASHA, JUMA, NEEMA)
        ]
    assert moved == [800_000, 400_000, 400_000]


async def test_fees_that_are_read_so_wait_for_another_too(desk: ImportDesk) -> None:
    await save(desk, "till", by=ASHA)
    done = await bring(desk, desk.statements.write(fee(MILLIONS)), by=JUMA, profile="till")
    held = await waits(desk)
    assert (held.lines, held.answerable) == ([], {ASHA.name, JUMA.name})
    with pytest.raises(Forbidden):
        await desk.approve(done.file.id, by=ASHA)
    await desk.approve(done.file.id, by=NEEMA)


async def test_a_word_of_an_operator_who_was_reset_yesterday_moves_nothing(desk: ImportDesk) -> None:
    await hire(desk.database, "asha", "juma", "neema")
    await give_password(desk.database, "asha", by=JUMA)
    before = await desk.wallet()
    await say(desk, "Failed", by=ASHA)
    await bring(desk, honest(desk, await failed(desk, 500)), by=JUMA)
    assert await desk.wallet() == before
    assert (await waits(desk)).amount == 500


async def test_a_file_that_the_worker_fetched_is_read_by_malipos_own_layout(desk: ImportDesk) -> None:
    payment, before = await failed(desk), await desk.wallet()
    await say(desk, "Failed", by=ASHA)
    done = await desk.bring(honest(desk, payment), by=WORKER)
    await desk.statements.match()
    assert (done.file.authors, done.file.line_count, await desk.wallet()) == ((), 0, before)


async def test_an_approver_is_shown_who_defined_how_the_file_is_read(desk: ImportDesk) -> None:
    payment = await failed(desk)
    await save(desk, "till", by=NEEMA)
    await say(desk, "Sorted", by=ASHA, name="till")
    await bring(desk, honest(desk, payment, status="Sorted"), by=JUMA, profile="till")
    async with desk.database.snapshot() as connection:
        [proposal] = await approvals.find_open(connection, [Act.IMPORT])
        shown = "\n".join((await find_shown(connection, proposal, Settings())).lines)
    for sentence in (
        "neema saved the layout till, by which it is read.",
        "asha said that the status “Sorted” means that money moved. Rows: 1.",
        "a payment, which counts because of its status “Sorted”",
    ):
        assert sentence in shown


@pytest.mark.parametrize("name", ["generic", "till"])
@pytest.mark.parametrize(
    ("moved", "not_moved", "why"),
    [
        (("Failed",), ("Failed",), "profile_word_means_both both=.*failed"),
        (("Failed ",), (" FAILED",), "profile_word_means_both both=.*failed"),
        ((), (*built_in()["generic"].completed,), "profile_no_word_moved"),
    ],
)
async def test_no_word_means_both_and_one_word_means_that_money_moved(
    desk: ImportDesk, name: str, moved: tuple[str, ...], not_moved: tuple[str, ...], why: str
) -> None:
    """Otherwise failed rows would count, and nobody would have said so."""
    async with desk.database.begin() as tx:
        await save_if_new(tx, layout("till"), actor=NEEMA, now=clock.now())
    with pytest.raises(Invalid, match=why):
        await say(desk, *moved, by=ASHA, not_moved=not_moved, name=name)


async def test_a_word_with_spaces_is_the_word_without_them(desk: ImportDesk) -> None:
    async with desk.database.begin() as tx:
        await save_if_new(tx, layout("till"), actor=NEEMA, now=clock.now())
    await say(desk, " Failed", by=ASHA, name="till")
    await say(desk, by=ASHA, not_moved=("Failed",), name="till")
    async with desk.database.read() as connection:
        profile = await find_profile(connection, "till")
    assert "Failed" in profile.failed
    assert not [each for each in profile.completed if "failed" in each.casefold()]
