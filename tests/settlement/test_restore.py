"""After a restore: what the bank has paid is never paid again, and nothing is given back that it may have paid."""

from datetime import date, timedelta

import msgspec
import pytest

from malipo import clock
from malipo.audit_log.actor import Actor, operator_at
from malipo.bank.store import payer_accounts
from malipo.bank_evidence.banking_days import BankingDays
from malipo.bank_evidence.store import coverage
from malipo.db import Database
from malipo.errors import Conflict
from malipo.ledger.bookings import BookingKind, book
from malipo.payments.idempotency import KeyReused
from malipo.restore.installation import DatabaseRestored, OnHold
from malipo.restore.store import installation
from malipo.settlement import adopt, manage_bank_accounts, release
from malipo.settlement.bank_account import NoSuchBankAccount
from malipo.settlement.operator_acts import SettlementActs
from malipo.settlement.settlement import Settlement, SettlementStatus
from malipo.settlement.store import bank_accounts, releases
from tests.bank.bank_desk import open_account
from tests.bank.samples import ACCOUNT
from tests.restore.reporting_worker import note_worker
from tests.settlement.settlement_steps import DAY, SettlementSteps, add_account

CALENDAR = BankingDays()


async def restore(steps: SettlementSteps) -> None:
    """The database is one of before, and operators have released payments."""
    async with steps.database.begin() as tx:
        await installation.begin_epoch(tx, "a test")
        await installation.end_fence(tx)


async def adopted(steps: SettlementSteps, key: str, amount: int, reference: str = "CRDB-7") -> Settlement:
    async with steps.database.begin() as tx:
        return await adopt.adopt(
            tx,
            steps.merchant_id,
            key,
            amount,
            bank_reference=reference,
            booked_on=DAY,
            by="operator neema",
            reference_prefix="MLP",
            now=steps.service.clock(),
        )


async def lose(steps: SettlementSteps, settlement: Settlement) -> None:
    """The restored database does not have it."""
    async with steps.database.begin() as tx:
        await tx.execute("DELETE FROM moves WHERE cause_id = $1", settlement.id)
        await tx.execute("DELETE FROM settlements WHERE id = $1", settlement.id)
        await tx.execute(
            "UPDATE wallets SET available = available + $2, statement_lines = statement_lines - 1 WHERE merchant_id = $1",
            steps.merchant_id,
            settlement.amount,
        )
    await steps.check()


async def test_nothing_is_sent_and_nothing_cancelled_before_operators_have_released_settlements(
    steps: SettlementSteps,
) -> None:
    settlement, other = await steps.requested(), await steps.requested()
    await steps.gather(settlement)
    await restore(steps)
    with pytest.raises(Conflict) as refused:
        await steps.send(settlement)
    assert refused.value.code == "settlement_not_released"
    with pytest.raises(DatabaseRestored):
        await steps.cancel(other)
    today = clock.day_of(steps.service.clock())
    async with steps.database.begin() as tx:
        await coverage.insert(tx, "pac_1", "bst_1", first=today, last=CALENDAR.booked_by(today))
        await release.release(tx, now=steps.service.clock())
    await steps.send(settlement)
    assert (await steps.cancel(other)).status is SettlementStatus.CANCELLED
    await restore(steps)
    with pytest.raises(Conflict):
        await steps.send(settlement)


async def test_nothing_is_sent_before_a_worker_has_compared_the_database_with_its_mark(steps: SettlementSteps) -> None:
    """It may have been restored, and nobody has noticed yet: the bank may have been given the settlement before."""
    settlement = await steps.requested()
    await steps.gather(settlement)
    async with steps.database.begin() as tx:
        await note_worker(tx, [])
        await tx.execute("UPDATE worker_send_counts SET server_id = 'the one before'")
    with pytest.raises(Conflict) as refused:
        await steps.send(settlement)
    assert refused.value.code == "settlement_not_compared"
    async with steps.database.begin() as tx:
        await note_worker(tx, [])
    await steps.send(settlement)


async def test_what_was_released_waits_for_the_end_of_the_fence(steps: SettlementSteps) -> None:
    settlement = await steps.requested()
    await steps.gather(settlement)
    async with steps.database.begin() as tx:
        await installation.begin_epoch(tx, "a test")
        await releases.insert(tx, now=steps.service.clock())
    with pytest.raises(Conflict) as refused:
        await steps.send(settlement)
    assert refused.value.code == "settlement_not_released"
    async with steps.database.begin() as tx:
        await installation.end_fence(tx)
    assert (await steps.send(settlement)).changed


async def test_settlements_are_released_only_when_statements_cover_the_lost_time(steps: SettlementSteps) -> None:
    await steps.requested()
    today = clock.day_of(steps.service.clock())
    booked = CALENDAR.booked_by(today)  # A file that was handed in on the day of the restore may be booked so late.
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE settlements SET created_at = created_at - interval '3 days'")
    await restore(steps)

    async def covered(*spans: tuple[str, date, date]) -> bool:
        async with steps.database.begin() as tx:
            await tx.execute("DELETE FROM bank_coverage")
            for number, (account, first, last) in enumerate(spans):
                await coverage.insert(tx, account, f"bst_{number}", first=first, last=last)
        async with steps.database.read() as connection:
            refusal = await release.why_not_covered(connection)
        codes = ("settlement_not_covered", "settlement_no_payer_account")
        assert refusal is None or refusal.code in codes
        return refusal is None

    def day(back: int) -> date:
        return today - timedelta(days=back)

    assert not await covered()
    assert await covered(("pac_1", day(3), booked))
    assert not await covered(("pac_1", day(2), booked))
    assert not await covered(("pac_1", day(3), booked - timedelta(days=1)))
    assert not await covered(("pac_1", day(3), day(0)))
    assert await covered(("pac_1", day(9), day(2)), ("pac_1", day(1), booked))
    assert not await covered(("pac_1", day(9), day(2)), ("pac_1", day(0), booked))
    assert not await covered(("pac_1", day(3), booked), ("pac_2", day(9), day(1)))


async def test_what_was_done_after_the_restore_does_not_shorten_the_lost_time(steps: SettlementSteps) -> None:
    """A merchant asks for a settlement on the restored database before a worker has noticed the restore."""
    known, _ = await steps.requested(), await steps.requested()
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE settlements SET created_at = created_at - interval '3 days' WHERE id = $1", known.id)
    await restore(steps)
    async with steps.database.read() as connection:
        first, _ = await release.find_lost_time(connection)
    assert first == clock.day_of(steps.service.clock() - timedelta(days=3))


async def test_where_no_settlement_is_known_all_may_be_lost_since_there_was_an_account_to_pay_from(
    steps: SettlementSteps,
) -> None:
    await open_account(steps.database)
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE payer_accounts SET added_at = added_at - interval '9 days'")
    await restore(steps)
    async with steps.database.read() as connection:
        first, _ = await release.find_lost_time(connection)
    assert first == clock.day_of(steps.service.clock() - timedelta(days=9))


async def test_every_bank_account_of_ours_must_be_covered_also_one_without_statements(steps: SettlementSteps) -> None:
    """Its first file may be what was lost."""
    await open_account(steps.database)
    await open_account(steps.database, msgspec.structs.replace(ACCOUNT, number="33000"))
    await restore(steps)
    today = clock.day_of(steps.service.clock())
    async with steps.database.begin() as tx:
        used, unused = [each.id for each in await payer_accounts.find_all(tx)]
        booked = CALENDAR.booked_by(today)
        await coverage.insert(tx, used, "bst_1", first=today, last=booked)
        assert await release.why_not_covered(tx) is not None
        await coverage.insert(tx, unused, "bst_2", first=today, last=booked)
        assert await release.why_not_covered(tx) is None


async def test_nothing_is_requested_while_the_installation_is_fenced_or_held(steps: SettlementSteps) -> None:
    made = await steps.make(1_000, key="order-1")
    async with steps.database.begin() as tx:
        await installation.set_hold(tx, held_by="neema", reason="")
    with pytest.raises(OnHold):
        await steps.requested()
    assert (await steps.make(1_000, key="order-1")).settlement.id == made.settlement.id
    async with steps.database.begin() as tx:
        await installation.begin_epoch(tx, "a test")
    with pytest.raises(DatabaseRestored):
        await steps.requested()


async def test_a_repeated_request_that_was_lost_gets_the_key_that_the_bank_has_seen(steps: SettlementSteps) -> None:
    first = (await steps.make(100_000, key="order-1")).settlement
    await lose(steps, first)
    await restore(steps)
    again = (await steps.make(100_000, key="order-1")).settlement
    assert (again.key, again.reference, again.id != first.id) == (first.key, first.reference, True)


async def test_a_debit_that_is_not_known_is_adopted_once_and_its_request_finds_it(steps: SettlementSteps) -> None:
    first = (await steps.make(100_000, key="order-1")).settlement
    await lose(steps, first)
    await restore(steps)
    found = await adopted(steps, first.key, 100_000)
    assert (found.status, found.owed) == (SettlementStatus.COMPLETED, 0)
    assert (await adopted(steps, first.key, 100_000)).id == found.id
    balances = await steps.balances()
    assert (balances["wallet"], balances["bank"], balances.get("suspense")) == (900_000, -900_000, 0)
    with pytest.raises(KeyReused):
        await steps.make(200_000, key="order-1")
    again = await steps.make(100_000, key="order-1")
    assert (again.is_replay, again.settlement.id) == (True, found.id)
    with pytest.raises(KeyReused):
        await steps.make(None, key="order-1")
    assert (await steps.wallet()).available == 900_000


async def test_a_second_debit_with_one_key_is_not_adopted(steps: SettlementSteps) -> None:
    found = await adopted(steps, "HJKMNPQRSTVWXYZ0", 100_000)
    for amount, reference in ((100_000, "CRDB-8"), (99_999, "CRDB-7")):
        with pytest.raises(Conflict) as refused:
            await adopted(steps, found.key, amount, reference)
        assert refused.value.code == "settlement_key_used"
    assert (await steps.balances())["wallet"] == 900_000


async def test_what_the_wallet_cannot_bear_is_owed_collected_and_written_off(steps: SettlementSteps) -> None:
    await steps.requested(950_000)
    found = await adopted(steps, "HJKMNPQRSTVWXYZ0", 80_000)
    wallet = await steps.wallet()
    assert (found.owed, wallet.available, wallet.owed) == (30_000, 0, 30_000)
    assert (await steps.balances())["suspense"] == -30_000

    async def collect(*, is_waived: bool = False) -> int:
        async with steps.database.begin() as tx:
            return (await adopt.collect(tx, found.id, now=steps.service.clock(), is_waived=is_waived)).owed

    with pytest.raises(Conflict):
        await collect()
    async with steps.database.begin() as tx:  # some money comes
        await book(tx, BookingKind.TOP_UP, steps.merchant_id, 10_000, reference="T-1", now=steps.service.clock())
    assert await collect() == 20_000
    assert await collect(is_waived=True) == 0
    balances, wallet = await steps.balances(), await steps.wallet()
    assert (balances["suspense"], balances["losses"], wallet.owed, wallet.available) == (0, -20_000, 0, 0)
    with pytest.raises(Conflict):
        await collect()
    await steps.give_back(found)
    balances = await steps.balances()
    assert (balances["losses"], balances["suspense"], balances["wallet"]) == (0, 0, 60_000)


async def test_what_comes_back_of_an_adopted_one_first_settles_what_is_owed(steps: SettlementSteps) -> None:
    await steps.requested(950_000)
    found = await adopted(steps, "HJKMNPQRSTVWXYZ0", 80_000)
    await steps.give_back(found)
    wallet = await steps.wallet()
    assert (wallet.available, wallet.owed) == (50_000, 0)
    assert (await steps.balances())["suspense"] == 0


@pytest.mark.parametrize("is_in_file", [False, True])
async def test_one_whose_file_was_lost_is_completed_by_its_adoption(steps: SettlementSteps, is_in_file: bool) -> None:
    settlement = await steps.requested()
    if is_in_file:
        await steps.gather(settlement)
    await restore(steps)
    found = await adopted(steps, settlement.key, 100_000)
    assert (found.id, found.status, found.bank_reference) == (settlement.id, SettlementStatus.COMPLETED, "CRDB-7")
    balances = await steps.balances()
    assert (balances["wallet"], balances["in_settlement"], balances["bank"]) == (900_000, 0, -900_000)


async def test_the_debit_of_one_that_was_cancelled_is_a_settlement_of_its_own(steps: SettlementSteps) -> None:
    settlement = await steps.requested()
    await steps.cancel(settlement)
    found = await adopted(steps, settlement.key, 100_000)
    assert found.id != settlement.id
    assert (found.status, found.bank_account_id) == (SettlementStatus.COMPLETED, settlement.bank_account_id)
    balances = await steps.balances()
    assert (balances["wallet"], balances["in_settlement"], balances["bank"]) == (900_000, 0, -900_000)


async def release_settlements(steps: SettlementSteps) -> None:
    today = clock.day_of(steps.service.clock())
    async with steps.database.begin() as tx:
        await coverage.insert(tx, "pac_1", "bst_1", first=today, last=CALENDAR.after(today, 3))
        await release.release(tx, now=steps.service.clock())


async def confirm(steps: SettlementSteps, *, merchant_id: str | None = None) -> None:
    async with steps.database.begin() as tx:
        owner, merchant_id = Actor("asha@duka.example", "10.0.0.1"), merchant_id or steps.merchant_id
        await manage_bank_accounts.confirm(
            tx, steps.account.id, merchant_id=merchant_id, actor=owner, now=steps.service.clock()
        )


async def test_no_file_pays_an_account_of_before_a_restore_until_an_owner_has_confirmed_it(
    steps: SettlementSteps,
) -> None:
    """Perhaps it was stopped since the backup: only its owners know."""
    settlement = await steps.requested()
    await restore(steps)
    assert await steps.unfit(settlement) == {settlement.id: "held"}
    with pytest.raises(Conflict) as refused:  # What was cancelled since the backup can be cancelled only then.
        await confirm(steps)
    assert refused.value.code == "settlement_not_released"
    await release_settlements(steps)
    assert await steps.unfit(settlement) == {settlement.id: "held"}
    with pytest.raises(NoSuchBankAccount):
        await confirm(steps, merchant_id="mer_another")
    await confirm(steps)
    assert await steps.unfit(settlement) == {}
    await restore(steps)
    assert await steps.unfit(settlement) == {settlement.id: "held"}, "each restore may have lost a stop"


async def test_where_no_owner_confirms_an_account_two_operators_verify_it_again(steps: SettlementSteps) -> None:
    settlement, acts = await steps.requested(), SettlementActs(timedelta(hours=72))
    await restore(steps)
    await release_settlements(steps)
    now = steps.service.clock()
    async with steps.database.begin() as tx:
        actor = operator_at("zuhura", "till")
        await acts.verify(tx, steps.account.id, "Called the owner", actor=actor, now=now)
        await acts.approve(tx, steps.account.id, actor=operator_at("juma", "till"), now=now)
        told = await tx.fetchval("SELECT count(*) FROM messages WHERE kind = 'bank_account_verified'")
        account = await bank_accounts.get(tx, steps.merchant_id, steps.account.id)
    assert account is not None
    assert (account.held_since, account.usable_from, told) == (None, now + timedelta(hours=72), 0)
    assert await steps.unfit(settlement) == {settlement.id: "account"}, "it waits as a new one"


async def test_an_account_that_was_verified_after_the_restore_is_not_held(steps: SettlementSteps) -> None:
    await restore(steps)
    later = steps.service.clock() + timedelta(milliseconds=1)  # Its milliseconds are whole, the database's are not.
    other = await add_account(steps.database, steps.merchant_id, now=later, number="0150000WKYA77")
    await release_settlements(steps)
    assert await steps.unfit(await steps.requested(bankAccountId=other.id)) == {}


async def test_where_no_account_of_ours_is_known_one_is_added_and_its_statements_cover_the_lost_time(
    steps: SettlementSteps,
) -> None:
    """It was perhaps added in the lost time, and has paid."""
    settlement = await steps.requested()
    await restore(steps)
    today = clock.day_of(steps.service.clock())
    async with steps.database.read() as connection:
        refusal = await release.why_not_covered(connection)
        assert refusal is not None
        assert refusal.code == "settlement_no_payer_account"
        days, is_missing = (
            await release.find_waiting_days(connection),
            await release.is_account_missing(connection),
        )
    assert (days, is_missing) == ((today, CALENDAR.after(today, 3)), True)
    await open_account(steps.database)
    async with steps.database.begin() as tx:
        assert not await release.is_account_missing(tx)
        refusal = await release.why_not_covered(tx)
        assert refusal is not None
        assert refusal.code == "settlement_not_covered"
        [account] = await payer_accounts.find_all(tx)
        await coverage.insert(tx, account.id, "bst_1", first=today, last=CALENDAR.after(today, 3))
        await release.release(tx, now=steps.service.clock())
    assert (await steps.cancel(settlement)).status is SettlementStatus.CANCELLED


async def test_who_has_no_settlements_waits_for_none_after_a_restore(database: Database) -> None:
    async with database.begin() as tx:
        await installation.begin_epoch(tx, "a test")
        await installation.end_fence(tx)
        assert await release.find_waiting_days(tx) is None
