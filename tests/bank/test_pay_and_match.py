"""Settlements are paid by a file, and the bank's statement decides: on a real database, with the simulated bank."""

import asyncio
from datetime import timedelta

import msgspec
import pytest

from malipo.bank import add_payer_account, gather_payout_file
from malipo.bank.payer_account import FileFormat
from malipo.errors import Conflict, Forbidden, Missing
from malipo.restore.hold import end, hold
from tests.bank.bank_desk import BankDesk
from tests.bank.samples import ACCOUNT
from tests.conftest import PATIENCE_SECONDS
from tests.db.lock_waits import are_waiting
from tests.operators.booking_steps import ASHA, JUMA, NEEMA

DAY = timedelta(days=1)


@pytest.mark.parametrize("format_", ["camt053", "mt940", "csv", "xlsx"])
@pytest.mark.parametrize("one_sum", [False, True])
async def test_a_file_is_paid_and_the_statement_completes_its_settlements(
    desk: BankDesk, format_: str, one_sum: bool
) -> None:
    desk.bank.change({"booksOneSum": one_sum, "listsParts": False})
    file, paid = await desk.approved(100_000, 250_000, 40_000)
    assert await desk.statuses(*paid) == ["SENT"] * 3
    assert (await desk.hand_in(file.id)).status == "ACCP"
    done = await desk.bring(desk.today, format_=format_)
    assert (done.found.completed, done.found.completed_amount, done.found.exceptions) == (3, 390_000, {})
    assert await desk.statuses(*paid) == ["COMPLETED"] * 3
    references = {each.end_to_end: each.reference for each in desk.bank.entries}
    expected = desk.bank.entries[0].reference if one_sum else references[paid[0].key]
    assert (await desk.look(paid[0])).bank_reference == expected
    balances = await desk.balances()
    assert balances["bank"] == -1_000_000 + 390_000
    assert balances["wallet"] == 610_000


async def test_a_file_that_is_downloaded_again_has_the_same_bytes(desk: BankDesk) -> None:
    file, _ = await desk.approved(100_000)
    first = await desk.download(file.id)
    desk.at = desk.now + 5 * DAY
    assert await desk.download(file.message_id or "", ASHA) == first
    rows = await desk.database_rows("SELECT actor FROM audit_log WHERE action = 'bank.file_downloaded' ORDER BY id")
    assert rows == [JUMA.name, ASHA.name]


async def test_nothing_is_downloaded_before_the_approval_nor_after_the_file_is_voided(desk: BankDesk) -> None:
    await desk.requested()
    gathered = await desk.gather()
    with pytest.raises(Conflict, match="payout_file_gathered"):
        await desk.download(gathered.file.id)
    await desk.reject(gathered.file.id)
    with pytest.raises(Conflict, match="payout_file_voided"):
        await desk.download(gathered.file.id)
    with pytest.raises(Missing):
        await desk.download("pfl_none")


async def test_a_file_leaves_once_the_mark_of_a_worker_certainly_has_that_somebody_has_asked_for_it(
    desk: BankDesk,
) -> None:
    """A restore that loses the approval, or that the file has left, would not be noticed before."""
    file, _ = await desk.approved(100_000)
    for _ in range(5):
        await desk.worker_looks()
    for _ in range(2):  # Two loops of a worker may each have counted a look that its mark does not have yet.
        with pytest.raises(Conflict, match="payout_file_not_marked"):
            await desk.download(file.id)
        await desk.worker_looks()
    with pytest.raises(Conflict, match="payout_file_not_marked"):
        await desk.download(file.id)
    await desk.worker_looks()
    assert await desk.download(file.id)


async def test_looks_of_a_worker_that_began_afterwards_count_too(desk: BankDesk) -> None:
    await desk.worker_looks("wrk_first")
    file, _ = await desk.approved(100_000)
    for _ in range(3):
        with pytest.raises(Conflict, match="payout_file_not_marked"):
            await desk.download(file.id)
        await desk.worker_looks("wrk_second")
    assert await desk.download(file.id)


async def test_no_look_is_counted_between_the_end_of_the_first_download_and_its_commit(desk: BankDesk) -> None:
    """Such a look would pass for one that has seen it."""
    await desk.worker_looks()
    file, _ = await desk.approved(100_000)
    async with desk.database.begin() as tx:
        assert await gather_payout_file.download(tx, file.id, actor=JUMA, now=desk.now) is None
        look = asyncio.create_task(desk.worker_looks())
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await are_waiting(desk.database, of="worker_send_counts"):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    await look
    assert await desk.database_rows("SELECT looks->>'wrk_1' FROM payout_files") == ["1"]


async def test_a_file_keeps_its_name_when_the_account_takes_another_format(desk: BankDesk) -> None:
    file, _ = await desk.approved(100_000)
    table = msgspec.structs.replace(ACCOUNT, format=FileFormat.CSV)
    async with desk.database.begin() as tx:
        proposal = await add_payer_account.propose(tx, table, actor=ASHA, now=desk.now)
    await desk.approve(proposal.id)
    await desk.requested(20_000)
    gathered = await desk.gather()
    await desk.approve(gathered.file.id)
    names = []
    for name in (file.id, gathered.file.id):
        async with desk.database.begin() as tx:
            found = await gather_payout_file.download(tx, name, actor=JUMA, now=desk.now)
        assert found is not None
        names.append(found.name)
    assert [each.rpartition(".")[2] for each in names] == ["xml", "csv"]


async def test_no_file_is_approved_or_downloaded_while_everything_is_held(desk: BankDesk) -> None:
    approved, _ = await desk.approved(100_000)
    await desk.requested(20_000)
    gathered = await desk.gather()
    async with desk.database.begin() as tx:
        await hold(tx, (), "money might be lost", actor=ASHA, now=desk.now)
    with pytest.raises(Conflict, match="settlement_held"):
        await desk.approve(gathered.file.id)
    with pytest.raises(Conflict, match="settlement_held"):
        await desk.download(approved.id)
    async with desk.database.begin() as tx:
        await end(tx, (), actor=ASHA, now=desk.now)
    await desk.approve(gathered.file.id)
    assert await desk.download(approved.id)


async def test_the_gatherer_does_not_approve(desk: BankDesk) -> None:
    [settlement] = [await desk.requested()]
    gathered = await desk.gather(ASHA)
    with pytest.raises(Forbidden):
        await desk.approve(gathered.file.id, ASHA)
    assert await desk.statuses(settlement) == ["REQUESTED"]


async def test_a_rejected_file_lets_its_settlements_wait_for_another(desk: BankDesk) -> None:
    settlement = await desk.requested()
    gathered = await desk.gather()
    with pytest.raises(Conflict, match="payout_file_nothing_due"):
        await desk.gather()
    await desk.reject(gathered.file.id, ASHA)
    again = await desk.gather(NEEMA)
    assert [each.settlement_id for each in again.lines] == [settlement.id]
    await desk.approve(again.file.id)
    assert await desk.statuses(settlement) == ["SENT"]


async def test_the_approval_drops_what_is_not_fit_any_more_and_the_approver_sees_it(desk: BankDesk) -> None:
    other_id = await desk.another_merchant("0150000WKYA01")
    kept, owing = await desk.requested(100_000), await desk.requested(200_000, merchant_id=other_id)
    gathered = await desk.gather()
    seen = await desk.code(gathered.file.id)
    async with desk.database.begin() as tx:
        await tx.execute("UPDATE wallets SET owed = 1 WHERE merchant_id = $1", other_id)
    with pytest.raises(Conflict, match="approval_changed"):
        await desk.approve(gathered.file.id, seen=seen)
    await desk.approve(gathered.file.id, seen=await desk.code(gathered.file.id))
    assert await desk.statuses(kept, owing) == ["SENT", "REQUESTED"]
    file = await desk.file(gathered.file.id)
    assert (file.line_count, file.total) == (1, 100_000)
    assert owing.key not in (await desk.download(file.id)).decode()
    assert not (await desk.look(owing)).is_in_file
