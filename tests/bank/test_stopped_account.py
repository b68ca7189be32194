"""An owner stops a bank account ("this was not me") while a settlement to it is on its way to the bank: what can still be
prevented is not paid, and all operators are told at once."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from malipo.audit_log.actor import Actor
from malipo.bank import approve, gather_payout_file
from malipo.errors import Conflict
from malipo.messages.kinds import MessageKind
from malipo.monitoring import gauges_store
from malipo.settlement import manage_bank_accounts, payout_files
from malipo.settlement.cancel import SettlementCancellation
from malipo.settlement.settlement import Settlement
from tests.bank.bank_desk import BankDesk
from tests.bank.test_after_a_restore import DAY, RestorableDesk, release_settlements
from tests.bank.test_after_a_restore import restorable as restorable
from tests.conftest import PATIENCE_SECONDS
from tests.db.lock_waits import are_waiting
from tests.mail.mail_steps import add_person
from tests.operators.booking_steps import JUMA, hire

OWNER = Actor("neema@duka.example", "10.0.0.1")
STOPPED = "payout_file_account_stopped"


async def stop(desk: BankDesk) -> None:
    async with desk.database.begin() as tx:
        await manage_bank_accounts.stop(tx, desk.account.id, merchant_id=desk.merchant.id, actor=OWNER, now=desk.now)


async def told(desk: BankDesk) -> list[dict[str, Any]]:
    """What messages to operators say."""
    async with desk.database.read() as connection:
        rows = await connection.fetch(
            "SELECT facts FROM messages WHERE kind = $1 ORDER BY address", MessageKind.STOPPED_ACCOUNT_IN_FILE
        )
    return [json.loads(row["facts"]) for row in rows]


async def alarm(desk: BankDesk) -> float:
    async with desk.database.snapshot() as connection:
        return (await gauges_store.find_bank(connection))["settlements_to_stopped_accounts"]


@pytest.fixture
async def watched(desk: BankDesk) -> BankDesk:
    """Two operators have an address."""
    await hire(desk.database, "asha", "juma")
    async with desk.database.begin() as tx:
        await tx.execute("UPDATE operators SET email = name || '@malipo.example'")
    return desk


async def requested(desk: BankDesk) -> Settlement:
    return await desk.requested(100_000)


async def gathered(desk: BankDesk) -> Settlement:
    settlement = await desk.requested(100_000)
    await desk.gather()
    return settlement


async def approved(desk: BankDesk) -> Settlement:
    return (await desk.approved(100_000))[1][0]


async def downloaded(desk: BankDesk) -> Settlement:
    file, [settlement] = await desk.approved(100_000)
    await desk.download(file.id)
    return settlement


async def completed(desk: BankDesk) -> Settlement:
    file, [settlement] = await desk.approved(100_000)
    await desk.hand_in(file.id)
    await desk.bring(desk.today)
    return settlement


async def completed_long_ago(desk: BankDesk) -> Settlement:
    settlement = await completed(desk)
    desk.at = desk.now + 3 * DAY
    return settlement


async def returned(desk: BankDesk) -> Settlement:
    file, [settlement] = await desk.approved(100_000)
    await desk.refuse(file.id, settlement.key)
    await desk.approve(file.id)
    return settlement


SENT, PAID, NOTHING = {"sent_amount": 100_000}, {"paid_amount": 100_000}, None


@pytest.mark.parametrize(
    ("state", "told_amounts", "alarms", "can_be_paid"),
    [
        (requested, NOTHING, 0, False),
        (gathered, NOTHING, 0, False),
        (approved, SENT, 1, False),
        (downloaded, SENT, 1, False),
        (completed, PAID, 0, True),
        (completed_long_ago, NOTHING, 0, True),
        (returned, NOTHING, 0, True),
    ],
)
async def test_operators_get_a_message_and_nothing_more_leaves(
    watched: BankDesk,
    state: Callable[[BankDesk], Awaitable[Settlement]],
    told_amounts: dict[str, int] | None,
    alarms: int,
    can_be_paid: bool,
) -> None:
    desk = watched
    settlement = await state(desk)
    assert (await told(desk), await alarm(desk)) == ([], 0)

    await stop(desk)

    said = await told(desk)
    assert len(said) == (0 if told_amounts is None else 2), "each operator with an address"
    for each in said:
        assert {name: each[name] for name in ("sent_amount", "paid_amount") if name in each} == told_amounts
        assert (each["by"], each["bank_account"]) == (OWNER.name, desk.account.id)
    assert await alarm(desk) == alarms
    file_id = (await desk.look(settlement)).payout_file_id
    if file_id is None:
        with pytest.raises(Conflict, match="payout_file_nothing_due"):
            await desk.gather()
    elif not can_be_paid:
        why = STOPPED if alarms else "payout_file_gathered"
        with pytest.raises(Conflict, match=why):
            await desk.download(file_id)
        if not alarms:
            with pytest.raises(Conflict, match="payout_file_nothing_left"):
                await desk.approve(file_id)
    await stop(desk)
    assert await told(desk) == said, "it is told once"


async def test_of_a_gathered_file_the_others_are_paid_and_the_stopped_one_goes_back_to_the_wallet(
    watched: BankDesk,
) -> None:
    desk = watched
    other = await desk.another_merchant("0150000WKYA09")
    mine, theirs = await desk.requested(100_000), await desk.requested(20_000, merchant_id=other)
    file = (await desk.gather()).file
    await stop(desk)
    await desk.approve(file.id)
    await desk.hand_in(file.id)
    await desk.bring(desk.today)
    assert await desk.statuses(mine, theirs) == ["REQUESTED", "COMPLETED"]
    await desk.service.settlements.cancel(SettlementCancellation(desk.merchant.id, mine.id, "key_1"))
    assert await desk.statuses(mine) == ["CANCELLED"]
    await desk.balances()
    assert await told(desk) == []


async def test_the_owners_message_has_what_may_still_arrive(watched: BankDesk) -> None:
    desk = watched
    await add_person(desk.database, desk.merchant.id, OWNER.name)
    await approved(desk)
    await stop(desk)
    [facts] = await desk.database_rows("SELECT facts FROM messages WHERE kind = 'bank_account_stopped'")
    assert json.loads(facts)["sent_amount"] == 100_000


async def test_a_transfer_that_the_bank_has_refused_holds_up_no_file(watched: BankDesk) -> None:
    desk = watched
    other = await desk.another_merchant("0150000WKYA09")
    mine, theirs = await desk.requested(100_000), await desk.requested(20_000, merchant_id=other)
    file = (await desk.gather()).file
    await desk.approve(file.id)
    await desk.download(file.id)
    await stop(desk)
    with pytest.raises(Conflict, match=STOPPED):
        await desk.download(file.id)
    await desk.refuse(file.id, mine.key)
    await desk.approve(file.id)
    await desk.download(file.id)
    assert await desk.statuses(mine, theirs) == ["RETURNED", "SENT"]
    assert await alarm(desk) == 0


async def test_a_stop_waits_for_a_download_and_reports_it(watched: BankDesk) -> None:
    desk = watched
    file, _ = await desk.approved(100_000)
    async with desk.database.begin() as tx:
        assert await gather_payout_file.download(tx, file.id, actor=JUMA, now=desk.now)
        stopping = asyncio.create_task(stop(desk))
        await until_waiting(desk, "FROM bank_accounts")
        assert not stopping.done()
    await stopping
    assert (await desk.file(file.id)).downloaded_at is not None
    [said, _] = await told(desk)
    assert (said["files"], said["sent_amount"]) == (file.id, 100_000)


async def test_a_download_waits_for_a_stop_and_is_refused(watched: BankDesk) -> None:
    desk = watched
    file, _ = await desk.approved(100_000)
    async with desk.database.begin() as tx:
        await manage_bank_accounts.stop(tx, desk.account.id, actor=OWNER, now=desk.now)
        downloading = asyncio.create_task(desk.download(file.id))
        await until_waiting(desk, "FROM bank_accounts")
    with pytest.raises(Conflict, match=STOPPED):
        await downloading
    assert (await desk.file(file.id)).downloaded_at is None
    assert len(await told(desk)) == 2


async def test_a_stop_waits_for_an_approval_and_reports_its_file(watched: BankDesk) -> None:
    desk = watched
    await desk.requested(100_000)
    file = (await desk.gather()).file
    async with desk.database.begin() as tx:
        await approve.approve(tx, file.id, reference_prefix="MLP", actor=JUMA, now=desk.now)
        stopping = asyncio.create_task(stop(desk))
        await until_waiting(desk, "FROM bank_accounts")
    await stopping
    assert [each["files"] for each in await told(desk)] == [file.id, file.id]


async def until_waiting(desk: BankDesk, statement: str) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await are_waiting(desk.database, of=statement):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_no_account_of_a_file_is_stopped_between_the_look_and_the_commit(desk: BankDesk) -> None:
    _, [settlement] = await desk.approved(100_000)
    async with desk.database.begin() as tx:
        assert await payout_files.sent_to_stopped(tx, [settlement.id]) == []
        stopping = asyncio.create_task(stop(desk))
        await until_waiting(desk, "FROM bank_accounts")
    await stopping
    async with desk.database.begin() as tx:
        assert [each.id for each in await payout_files.sent_to_stopped(tx, [settlement.id])] == [settlement.id]


async def test_a_stop_that_a_restore_has_lost_is_repeated_before_the_file_can_leave(
    restorable: RestorableDesk,
) -> None:
    """Nothing leaves before statements cover the lost time: the owner has days to stop it again."""
    async with restorable.opened() as desk:
        monday = desk.today
        file, [settlement] = await desk.approved(100_000)
    await restorable.copy()
    async with restorable.opened() as desk:
        await stop(desk)
    await restorable.restore()
    async with restorable.opened() as desk:
        assert await alarm(desk) == 0, "it is lost"
        with pytest.raises(Conflict, match="settlement_not_released"):
            await desk.download(file.id)
        await stop(desk)
        assert await alarm(desk) == 1
        desk.at = desk.now + 4 * DAY
        await desk.bring(monday, monday + 3 * DAY)
        await release_settlements(desk)
        with pytest.raises(Conflict, match=STOPPED):
            await desk.download(file.id)
        assert await desk.statuses(settlement) == ["SENT"]


async def test_a_file_that_left_before_a_restore_and_a_stop_ends_by_the_statement(restorable: RestorableDesk) -> None:
    async with restorable.opened() as desk:
        monday = desk.today
        file, [settlement] = await desk.approved(100_000)
    await restorable.copy()
    async with restorable.opened() as desk:
        await desk.hand_in(file.id)
    await restorable.restore()
    async with restorable.opened() as desk:
        await stop(desk)
        assert await alarm(desk) == 1
        desk.at = desk.now + timedelta(days=4)
        await desk.bring(monday, monday + 3 * DAY)
        await release_settlements(desk)
        assert (await desk.statuses(settlement), await alarm(desk)) == (["COMPLETED"], 0)
        with pytest.raises(Conflict, match="payout_file_handed_in"):
            await desk.download(file.id)
        await desk.balances()


# What nobody has asked for is void at once, so that the other settlements of the file need not wait for statements.


async def test_a_file_that_nobody_has_asked_for_is_void_at_once_and_the_others_are_paid(watched: BankDesk) -> None:
    desk = watched
    other = await desk.another_merchant("0150000WKYA09")
    mine, theirs = await desk.requested(100_000), await desk.requested(20_000, merchant_id=other)
    file = (await desk.gather()).file
    await desk.approve(file.id)
    await stop(desk)
    await desk.void(file.id, is_unseen=True)
    await desk.approve(file.id)
    assert (await desk.statuses(mine, theirs), await alarm(desk)) == (["REQUESTED", "REQUESTED"], 0)
    again = await desk.gather()
    assert ([each.settlement_id for each in again.lines], again.left_out) == ([theirs.id], {mine.id: "account"})
    await desk.approve(again.file.id)
    with pytest.raises(Conflict, match="payout_file_voided"):
        await desk.download(file.id)
    await desk.hand_in(again.file.id)
    await desk.bring(desk.today)
    await desk.service.settlements.cancel(SettlementCancellation(desk.merchant.id, mine.id, "key_1"))
    assert await desk.statuses(mine, theirs) == ["CANCELLED", "COMPLETED"]
    await desk.balances()


async def test_a_file_that_somebody_has_asked_for_is_not_void_because_nobody_has_it(desk: BankDesk) -> None:
    """The one has asked, and gets it as soon as a worker has noted that."""
    await desk.worker_looks()
    file, _ = await desk.approved(100_000)
    await desk.void(file.id, is_unseen=True)
    with pytest.raises(Conflict, match="payout_file_not_marked"):
        await desk.download(file.id)
    assert (await desk.file(file.id)).downloaded_at is None
    with pytest.raises(Conflict, match="payout_file_asked_for"):
        await desk.approve(file.id)
    await desk.reject(file.id)
    with pytest.raises(Conflict, match="payout_file_asked_for"):
        await desk.void(file.id, is_unseen=True)


async def test_a_download_waits_for_the_voiding_of_the_file(desk: BankDesk) -> None:
    file, [settlement] = await desk.approved(100_000)
    await desk.void(file.id, is_unseen=True)
    async with desk.database.begin() as tx:
        await approve.approve(tx, file.id, reference_prefix="MLP", actor=JUMA, now=desk.now)
        downloading = asyncio.create_task(desk.download(file.id))
        await until_waiting(desk, "pg_advisory_xact_lock")
    with pytest.raises(Conflict, match="payout_file_voided"):
        await downloading
    assert await desk.statuses(settlement) == ["REQUESTED"]


async def test_a_file_whose_download_a_restore_has_lost_is_not_void_because_nobody_has_it(
    restorable: RestorableDesk,
) -> None:
    """Neither before the release of settlements nor after it: the bank may have it."""
    async with restorable.opened() as desk:
        monday = desk.today
        file, [settlement] = await desk.approved(100_000)
    await restorable.copy()
    async with restorable.opened() as desk:
        desk.bank.change({"losesFiles": True})
        await desk.hand_in(file.id)
    await restorable.restore()
    async with restorable.opened() as desk:
        await stop(desk)
        with pytest.raises(Conflict, match="settlement_not_released"):
            await desk.void(file.id, is_unseen=True)
        desk.at = desk.now + 4 * DAY
        await desk.bring(monday, monday + 3 * DAY)
        await release_settlements(desk)
        with pytest.raises(Conflict, match="payout_file_restored_since"):
            await desk.void(file.id, is_unseen=True)
        await desk.void(file.id)
        await desk.approve(file.id)
        assert await desk.statuses(settlement) == ["REQUESTED"]


async def test_a_file_that_was_approved_after_a_restore_is_void_while_nobody_has_it(restorable: RestorableDesk) -> None:
    async with restorable.opened() as desk:
        monday = desk.today
    await restorable.copy()
    await restorable.restore()
    async with restorable.opened() as desk:
        desk.at = desk.now + 4 * DAY
        await desk.bring(monday, monday + 3 * DAY)
        await release_settlements(desk)
        file, [settlement] = await desk.approved(100_000)
        await desk.void(file.id, is_unseen=True)
        await desk.approve(file.id)
        assert await desk.statuses(settlement) == ["REQUESTED"]


async def test_a_file_that_was_void_before_a_restore_is_not_paid_beside_the_one_after_it(
    restorable: RestorableDesk,
) -> None:
    """That it is void, and the file that has paid its settlement, are lost."""
    async with restorable.opened() as desk:
        monday = desk.today
        file, [settlement] = await desk.approved(100_000)
    await restorable.copy()
    async with restorable.opened() as desk:
        await desk.void(file.id, is_unseen=True)
        await desk.approve(file.id)
        again = await desk.gather()
        await desk.approve(again.file.id)
        await desk.hand_in(again.file.id)
    await restorable.restore()
    async with restorable.opened() as desk:
        desk.at = desk.now + 4 * DAY
        await desk.bring(monday, monday + 3 * DAY)
        await release_settlements(desk)
        with pytest.raises(Conflict, match="payout_file_handed_in"):
            await desk.download(file.id)
        with pytest.raises(Conflict, match="payout_file_paid"):
            await desk.void(file.id, is_unseen=True)
        assert await desk.statuses(settlement) == ["COMPLETED"]
        await desk.balances()
