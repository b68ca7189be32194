"""The database is restored to a moment before a file was approved, and the file has left: nothing is paid again.

The database is really copied before, and the copy is used after.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from malipo.app.assemble import assemble
from malipo.approvals import store as proposals
from malipo.approvals.act_rules import Act
from malipo.db import Database
from malipo.errors import Conflict
from malipo.ledger.accounts import Account
from malipo.restore.installation import DatabaseRestored
from malipo.restore.store import installation
from malipo.settings import Settings
from malipo.settlement import release
from malipo.settlement.cancel import SettlementCancellation
from malipo.settlement.operator_acts import SettlementActs, find_shown
from malipo.settlement.settlement import Settlement, SettlementNotCancellable, SettlementStatus
from malipo_simulator.bank.bank import Bank
from tests import conftest
from tests.bank.bank_desk import BankDesk, monday_long_ago, open_account
from tests.conftest import NO_LIMITS, create_database, make_merchant
from tests.operators.booking_steps import JUMA
from tests.settlement.settlement_steps import add_account, confirm_accounts

DAY = timedelta(days=1)


class RestorableDesk:
    """A desk whose database can be copied and restored; the bank knows nothing of that."""

    def __init__(self, postgres: str, url: str, folder: Path) -> None:
        self._postgres, self._url, self._folder = postgres, url, folder
        self._copy = ""
        self.bank = Bank()
        self.fee = 0
        self.at = monday_long_ago()
        self.merchant: conftest.Merchant | None = None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[BankDesk]:
        async with Database.opened(self._url, size=10, connect_seconds=conftest.PATIENCE_SECONDS) as database:
            service = assemble(Settings(**NO_LIMITS, settlement_fee=self.fee), database, clock=lambda: self.at)
            try:
                if self.merchant is None:
                    self.merchant = await make_merchant(database, wallet=1_000_000)
                    await open_account(database)
                    self.account = await add_account(database, self.merchant.id, now=self.at - 30 * DAY)
                desk = BankDesk(service, database, self.merchant, self.account, self._folder, self.bank, at=self.at)
                yield desk
                self.at = desk.now
            finally:
                await service.finish()

    async def copy(self) -> None:
        """Nothing may be connected."""
        self._copy = await conftest._create(
            self._postgres, f"copy_{urlsplit(self._url).path.strip('/')}", template=urlsplit(self._url).path.strip("/")
        )

    async def restore(self) -> None:
        """The database is that of the copy, an epoch has begun, and operators have released payments."""
        self._url = self._copy
        async with Database.opened(self._url, size=2) as database, database.begin() as tx:
            await installation.begin_epoch(tx, "a test")
            await installation.end_fence(tx)
            await tx.execute("UPDATE installation SET epoch_began_at = $1", self.at)


@pytest.fixture
async def restorable(postgres: str, template: str, tmp_path: Path) -> RestorableDesk:
    return RestorableDesk(postgres, await create_database(postgres, template), tmp_path)


async def release_settlements(desk: BankDesk, *, confirms: bool = True) -> None:
    async with desk.database.begin() as tx:
        await release.release(tx, now=desk.now)
    if confirms:
        await confirm_accounts(desk.database, now=desk.now)


async def test_a_file_that_has_left_before_its_approval_was_lost_is_not_paid_again(restorable: RestorableDesk) -> None:
    async with restorable.opened() as desk:
        monday = desk.today
        known = await desk.requested(100_000)
        gathered = await desk.gather()
    await restorable.copy()
    async with restorable.opened() as desk:
        await desk.approve(gathered.file.id)
        await desk.hand_in(gathered.file.id)
        lost = await desk.requested(50_000, orderReference="lost")
        other = await desk.gather()
        await desk.approve(other.file.id)
        await desk.hand_in(other.file.id)
    await restorable.restore()
    async with restorable.opened() as desk:
        assert await desk.statuses(known) == ["REQUESTED"]
        with pytest.raises(Conflict, match="settlement_not_released"):
            await desk.approve(gathered.file.id)
        with pytest.raises(Conflict, match="settlement_not_covered"):
            await release_settlements(desk)
        desk.at = desk.now + 4 * DAY
        await desk.bring(monday, monday + 3 * DAY)
        assert sorted(await desk.kinds()) == ["not_sent", "unknown_key"]
        await release_settlements(desk)

        # Released, and not paid again: nobody knows whose one debit is, and the other settlement was paid.
        with pytest.raises(Conflict, match="payout_file_unknown_debits"):
            await desk.approve(gathered.file.id)
        found = {str(each.kind): each for each in await desk.exceptions()}
        await desk.decide(found["unknown_key"], "adopt", merchant_id=desk.merchant.id)
        await desk.approve(found["unknown_key"].id)
        with pytest.raises(Conflict, match="payout_file_nothing_left"):
            await desk.approve(gathered.file.id)
        await desk.decide(found["not_sent"], "adopt", settlement_ids=(known.id,))
        await desk.approve(found["not_sent"].id)
        await desk.reject(gathered.file.id)
        assert await desk.exceptions() == []
        assert await desk.statuses(known) == ["COMPLETED"]
        adopted = await desk.database_rows("SELECT key FROM settlements WHERE is_adopted")
        assert adopted == [lost.key]
        with pytest.raises(Conflict, match="payout_file_nothing_due"):
            await desk.gather()
        balances = await desk.balances()
        assert (balances["bank"], balances["wallet"]) == (-850_000, 850_000)


async def test_what_a_lost_file_has_paid_is_not_cancelled_and_not_sent_also_once_its_line_is_booked(
    restorable: RestorableDesk,
) -> None:
    """The merchant has asked again for another amount under the same key, so that operators cannot adopt the line."""
    async with restorable.opened() as desk:
        monday = desk.today
        known = await desk.requested(100_000)
    await restorable.copy()
    async with restorable.opened() as desk:
        desk.move(-90_000, "FT1", key=known.key)  # by a lost file
    await restorable.restore()
    async with restorable.opened() as desk:
        desk.at = desk.now + 4 * DAY
        await desk.bring(monday, monday + 3 * DAY)
        await release_settlements(desk)
        cancellation = SettlementCancellation(desk.merchant.id, known.id, by="key_1")
        with pytest.raises(SettlementNotCancellable):
            await desk.service.settlements.cancel(cancellation)
        [exception] = await desk.exceptions()
        await desk.decide(exception, "book", account=Account.SUSPENSE)
        assert await desk.exceptions() == []
        with pytest.raises(Conflict, match="payout_file_nothing_due"):
            await desk.gather()
        assert (await desk.service.settlements.cancel(cancellation)).status is SettlementStatus.CANCELLED
        balances = await desk.balances()
        assert (balances["bank"], balances["wallet"], balances["suspense"]) == (-910_000, 1_000_000, -90_000)


async def test_a_sum_of_a_lost_file_is_adopted_with_all_that_it_paid(restorable: RestorableDesk) -> None:
    restorable.bank.change({"booksOneSum": True, "listsParts": False})
    async with restorable.opened() as desk:
        monday = desk.today
        paid = [await desk.requested(amount) for amount in (100_000, 20_000)]
        gathered = await desk.gather()
    await restorable.copy()
    async with restorable.opened() as desk:
        await desk.approve(gathered.file.id)
        await desk.hand_in(gathered.file.id)
    await restorable.restore()
    async with restorable.opened() as desk:
        desk.at = desk.now + 4 * DAY
        await desk.bring(monday, monday + 3 * DAY)
        assert await desk.kinds() == ["unknown_key"]
        await release_settlements(desk)
        with pytest.raises(Conflict, match="payout_file_unknown_debits"):
            await desk.approve(gathered.file.id)
        [exception] = await desk.exceptions()
        with pytest.raises(Conflict, match="bank_decision_amount"):
            await desk.decide(exception, "adopt", settlement_ids=(paid[0].id,))
        await desk.decide(exception, "adopt", settlement_ids=tuple(each.id for each in paid))
        await desk.approve(exception.id)
        assert await desk.statuses(*paid) == ["COMPLETED"] * 2
        await desk.reject(gathered.file.id)
        assert (await desk.balances())["bank"] == -880_000


async def test_what_a_lost_file_has_perhaps_paid_in_one_sum_is_not_cancelled(restorable: RestorableDesk) -> None:
    restorable.bank.change({"booksOneSum": True, "listsParts": False})
    async with restorable.opened() as desk:
        monday = desk.today
        settlement = await desk.requested(100_000)
    await restorable.copy()
    async with restorable.opened() as desk:
        gathered = await desk.gather()
        await desk.approve(gathered.file.id)
        await desk.hand_in(gathered.file.id)
    await restorable.restore()
    async with restorable.opened() as desk:
        desk.at = desk.now + 4 * DAY
        await desk.bring(monday, monday + 3 * DAY)
        await release_settlements(desk)
        assert await desk.kinds() == ["unknown_key"]
        with pytest.raises(DatabaseRestored):
            await desk.service.settlements.cancel(SettlementCancellation(desk.merchant.id, settlement.id, "key_1"))
        assert (await desk.balances())["wallet"] == 900_000


async def test_a_debit_without_a_key_is_perhaps_of_a_lost_file(restorable: RestorableDesk) -> None:
    """Not every bank's table has keys."""
    async with restorable.opened() as desk:
        monday = desk.today
        settlements = [await desk.requested(amount) for amount in (100_000, 20_000)]
    await restorable.copy()
    async with restorable.opened() as desk:
        desk.move(-120_000, "FT1", "OUTWARD TRANSFERS")
    await restorable.restore()
    async with restorable.opened() as desk:
        desk.at = desk.now + 4 * DAY
        desk.move(-7_000, "FT2", "RENT")
        desk.at = desk.now + DAY
        await desk.bring(monday, monday + 4 * DAY)
        async with desk.database.begin() as tx:
            acts = SettlementActs(timedelta(hours=72))
            await acts.release(tx, "We have compared all with the bank", actor=JUMA, now=desk.now)
            [proposal] = await proposals.find_open(tx, [Act.RELEASE_SETTLEMENTS])
            assert (await find_shown(tx, proposal))["statements imported by"] == "asha"
        await release_settlements(desk)
        assert await desk.kinds() == ["unknown_debit"] * 2
        with pytest.raises(DatabaseRestored):
            await desk.service.settlements.cancel(SettlementCancellation(desk.merchant.id, settlements[0].id, "key_1"))
        gathered = await desk.gather()
        with pytest.raises(Conflict, match="payout_file_unknown_debits"):
            await desk.approve(gathered.file.id)
        lost = next(each for each in await desk.exceptions() if each.line.reference == "FT1")
        await desk.decide(lost, "adopt", settlement_ids=tuple(each.id for each in settlements))
        await desk.approve(lost.id)
        assert await desk.statuses(*settlements) == ["COMPLETED"] * 2
        await desk.requested(5_000)
        await desk.reject(gathered.file.id)
        gathered = await desk.gather()
        await desk.approve(gathered.file.id)  # The rent is of after the lost time.
        await desk.balances()


async def test_a_return_of_what_was_adopted_gives_the_wallet_what_it_bore(restorable: RestorableDesk) -> None:
    async with restorable.opened() as desk:
        monday = desk.today
        desk.bank.change({"returnAccounts": {desk.account.account_number: 4}})
    await restorable.copy()
    async with restorable.opened() as desk:
        file, _ = await desk.approved(100_000)
        await desk.hand_in(file.id)
    await restorable.restore()
    async with restorable.opened() as desk:
        desk.at = desk.now + DAY
        await desk.bring(monday)
        [exception] = await desk.exceptions()
        await desk.decide(exception, "adopt", merchant_id=desk.merchant.id)
        await desk.approve(exception.id)
        assert (await desk.balances())["wallet"] == 900_000
        desk.at = desk.now + 4 * DAY
        assert (await desk.bring(monday + DAY, monday + 4 * DAY)).found.returned == 1
        assert (await desk.balances())["wallet"] == 1_000_000


async def test_a_file_is_not_downloaded_again_before_the_release(restorable: RestorableDesk) -> None:
    """That it was handed in may be lost, and a bank pays a file twice that is handed in twice."""
    async with restorable.opened() as desk:
        file, [settlement] = await desk.approved(100_000)
    await restorable.copy()
    async with restorable.opened() as desk:
        await desk.hand_in(file.id)
    await restorable.restore()
    async with restorable.opened() as desk:
        assert (await desk.file(file.id)).downloaded_at is None
        with pytest.raises(Conflict, match="settlement_not_released"):
            await desk.download(file.id)
        assert await desk.statuses(settlement) == ["SENT"]


async def refused_and_paid_by_a_lost_file(restorable: RestorableDesk) -> tuple[str, Settlement]:
    """A file that the bank has refused, and its settlement. That it was voided, and that another file has paid it, is
    lost."""
    async with restorable.opened() as desk:
        file, [settlement] = await desk.approved(100_000)
    await restorable.copy()
    async with restorable.opened() as desk:
        desk.bank.change({"refuseFiles": "AM04 insufficient funds"})
        await desk.hand_in(file.id)
        await desk.void(file.id, refused=f"{file.message_id} AM04")
        await desk.approve(file.id)
        desk.bank.change({"refuseFiles": ""})
        again = await desk.gather()
        await desk.approve(again.file.id)
        await desk.hand_in(again.file.id)
    await restorable.restore()
    return file.id, settlement


async def test_a_transfer_is_not_noted_as_refused_before_the_release(restorable: RestorableDesk) -> None:
    file, settlement = await refused_and_paid_by_a_lost_file(restorable)
    async with restorable.opened() as desk:
        monday = desk.today
        with pytest.raises(Conflict, match="settlement_not_released"):
            await desk.refuse(file, settlement.key)
        desk.at = desk.now + 4 * DAY
        await desk.bring(monday, monday + 3 * DAY)
        await release_settlements(desk)
        with pytest.raises(Conflict, match="payout_file_line_ended"):
            await desk.refuse(file, settlement.key)
        assert await desk.statuses(settlement) == ["COMPLETED"]
        assert (await desk.balances())["wallet"] == 900_000


async def test_a_refusal_that_was_proposed_before_the_restore_waits_for_the_release(
    restorable: RestorableDesk,
) -> None:
    async with restorable.opened() as desk:
        file, [settlement] = await desk.approved(100_000)
        await desk.refuse(file.id, settlement.key)
    await restorable.copy()
    await restorable.restore()
    async with restorable.opened() as desk:
        with pytest.raises(Conflict, match="settlement_not_released"):
            await desk.approve(file.id)
        assert await desk.statuses(settlement) == ["SENT"]


async def test_a_transfer_is_not_noted_as_refused_while_nobody_knows_a_debit_of_the_lost_time(
    restorable: RestorableDesk,
) -> None:
    """Not every bank's table has keys: the debit is perhaps of the lost file that has paid it."""
    async with restorable.opened() as desk:
        monday = desk.today
        file, [settlement, _] = await desk.approved(100_000, 20_000)
    await restorable.copy()
    await restorable.restore()
    async with restorable.opened() as desk:
        desk.at = desk.now + 4 * DAY
        desk.move(-130_000, "FT1", "OUTWARD TRANSFERS", day=monday + DAY)
        await desk.bring(monday, monday + 3 * DAY)
        await release_settlements(desk)
        with pytest.raises(Conflict, match="payout_file_unknown_debits"):
            await desk.refuse(file.id, settlement.key)
        [exception] = await desk.exceptions()
        await desk.decide(exception, "book", account="suspense")
        await desk.refuse(file.id, settlement.key)
        await desk.approve(file.id)
        assert await desk.statuses(settlement) == ["RETURNED"]


async def test_what_a_voided_file_had_sent_waits_for_the_release_and_is_not_paid_again(
    restorable: RestorableDesk,
) -> None:
    """A file can be voided before it: nothing goes to the wallet or to the bank."""
    file, settlement = await refused_and_paid_by_a_lost_file(restorable)
    async with restorable.opened() as desk:
        monday = desk.today
        message_id = (await desk.file(file)).message_id
        await desk.void(file, refused=f"{message_id} AM04")
        await desk.approve(file)
        cancellation = SettlementCancellation(desk.merchant.id, settlement.id, "key_1")
        with pytest.raises(DatabaseRestored):
            await desk.service.settlements.cancel(cancellation)
        with pytest.raises(Conflict, match="payout_file_nothing_due"):
            await desk.gather()
        desk.at = desk.now + 4 * DAY
        await desk.bring(monday, monday + 3 * DAY)
        await release_settlements(desk)
        assert await desk.kinds() == ["not_sent"]
        with pytest.raises(Conflict, match="payout_file_nothing_due"):
            await desk.gather()
        with pytest.raises(SettlementNotCancellable):
            await desk.service.settlements.cancel(cancellation)


async def handed_in_in_the_lost_time(restorable: RestorableDesk, *amounts: int) -> tuple[str, list[Settlement]]:
    """A file that was handed in. The restored database says that nobody has downloaded it."""
    async with restorable.opened() as desk:
        file, found = await desk.approved(*amounts)
    await restorable.copy()
    async with restorable.opened() as desk:
        await desk.hand_in(file.id)
    await restorable.restore()
    async with restorable.opened() as desk:
        assert (await desk.file(file.id)).downloaded_at is None
    return file.id, found


async def test_a_file_that_the_bank_has_paid_is_not_downloaded_for_the_first_time(restorable: RestorableDesk) -> None:
    """After the release, too: the bank pays it again."""
    file, [settlement] = await handed_in_in_the_lost_time(restorable, 100_000)
    async with restorable.opened() as desk:
        monday = desk.today
        async with desk.database.begin() as tx:
            assert await release.find_waiting_days(tx) == (monday, monday + 3 * DAY)
        desk.at = desk.now + 4 * DAY
        await desk.bring(monday, monday + 3 * DAY)
        await release_settlements(desk)
        async with desk.database.begin() as tx:
            assert await release.find_waiting_days(tx) is None
        with pytest.raises(Conflict, match="payout_file_handed_in"):
            await desk.download(file)
        assert await desk.statuses(settlement) == ["COMPLETED"]


async def test_a_file_is_not_downloaded_for_the_first_time_while_a_statement_has_its_sum(
    restorable: RestorableDesk,
) -> None:
    """The bank has refused a part of it at once, and the sum differs until operators have noted that."""
    refused = "0150000WKYA09"
    restorable.bank.change({"booksOneSum": True, "listsParts": False, "refuseAccounts": {refused: "AC04 closed"}})
    async with restorable.opened() as desk:
        monday = desk.today
        other = await desk.another_merchant(refused)
        closed = await desk.requested(20_000, merchant_id=other)
        file, [settlement] = await desk.approved(100_000)
    await restorable.copy()
    async with restorable.opened() as desk:
        await desk.hand_in(file.id)
    await restorable.restore()
    async with restorable.opened() as desk:
        desk.at = desk.now + 4 * DAY
        await desk.bring(monday, monday + 3 * DAY)
        await release_settlements(desk)
        assert await desk.kinds() == ["sum_differs"]
        with pytest.raises(Conflict, match="payout_file_handed_in"):
            await desk.download(file.id)
        await desk.refuse(file.id, closed.key)
        await desk.approve(file.id)
        assert await desk.statuses(settlement, closed) == ["COMPLETED", "RETURNED"]
        with pytest.raises(Conflict, match="payout_file_handed_in"):
            await desk.download(file.id)


async def test_a_file_is_not_downloaded_for_the_first_time_while_nobody_knows_a_debit_of_the_lost_time(
    restorable: RestorableDesk,
) -> None:
    """Not every bank's table has keys: the debit is perhaps the file."""
    async with restorable.opened() as desk:
        monday = desk.today
        file, [settlement] = await desk.approved(100_000)
    await restorable.copy()
    await restorable.restore()
    async with restorable.opened() as desk:
        desk.at = desk.now + 4 * DAY
        desk.move(-100_000, "FT1", "OUTWARD TRANSFERS", day=monday)
        await desk.bring(monday, monday + 3 * DAY)
        await release_settlements(desk)
        with pytest.raises(Conflict, match="payout_file_unknown_debits"):
            await desk.download(file.id)
        [exception] = await desk.exceptions()
        await desk.decide(exception, "match", settlement_ids=(settlement.id,))
        await desk.approve(exception.id)
        with pytest.raises(Conflict, match="payout_file_handed_in"):
            await desk.download(file.id)


async def test_a_file_that_was_really_not_handed_in_is_downloaded_after_the_release(
    restorable: RestorableDesk,
) -> None:
    async with restorable.opened() as desk:
        monday = desk.today
        file, [settlement] = await desk.approved(100_000)
    await restorable.copy()
    await restorable.restore()
    async with restorable.opened() as desk:
        desk.at = desk.now + 4 * DAY
        await desk.bring(monday, monday + 3 * DAY)
        await release_settlements(desk)
        await desk.hand_in(file.id)
        await desk.bring(desk.today)
        assert await desk.statuses(settlement) == ["COMPLETED"]
        assert await desk.download(file.id), "it was downloaded by our books, and each download has the same bytes"


async def test_a_file_of_before_a_restore_is_downloaded_when_owners_have_confirmed_its_accounts(
    restorable: RestorableDesk,
) -> None:
    """Perhaps one was stopped in the lost time."""
    async with restorable.opened() as desk:
        file, _ = await desk.approved(100_000)
        monday = desk.today
    await restorable.copy()
    await restorable.restore()
    async with restorable.opened() as desk:
        desk.at = desk.now + 4 * DAY
        await desk.bring(monday, monday + 3 * DAY)
        await release_settlements(desk, confirms=False)
        with pytest.raises(Conflict, match="payout_file_account_held"):
            await desk.download(file.id)
        await confirm_accounts(desk.database, now=desk.now)
        assert await desk.download(file.id)
