"""Two weeks of five merchants, two of them with a schedule: files each business day, returns, a voided file, a restore.
At the end the bank's book and ours agree line by line, and every shilling is accounted for."""

import random
from datetime import date, timedelta
from itertools import pairwise

from malipo.bank.balance import BankBalance, find_balance, find_seen
from malipo.bank.store.balances import find_ledger_by_causes
from malipo.ledger.bookings import BookingKind, book
from malipo.settlement.run_schedules import RunSchedules
from malipo.settlement.schedule import Every, Schedule
from malipo.settlement.settlement import Settlement
from malipo.settlement.store import report_lines, schedules, settlements
from tests.bank.bank_desk import BankDesk
from tests.bank.test_after_a_restore import RestorableDesk, release_settlements, restorable
from tests.operators.booking_steps import ASHA, JUMA

__all__ = ["restorable"]

DAY = timedelta(days=1)
FORMATS = ("camt053", "mt940", "csv", "xlsx")
DAYS = 10  # business days
KEPT, EARNED = 700_000, 90_000  # by the two merchants with a schedule, in the wallet and on a day
RETURNED_LATER, RETURNED_AT_ONCE, VOIDED, SUMMED, RESTORED, LAST = 1, 3, 4, 5, 6, DAYS - 1


class Fortnight:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.merchants: dict[str, str] = {}  # their bank accounts, by id
        self.asked: list[Settlement] = []
        self.schedules: list[Schedule] = []
        self.unseen: list[date] = []  # days whose statements nobody has imported

    async def begin(self, desk: BankDesk) -> None:
        self.merchants = {desk.merchant.id: desk.account.account_number}
        for number in range(4):
            account = f"0150000WKYB{number}"
            self.merchants[await desk.another_merchant(account, wallet=1_000_000)] = account
        await self.forget_initial_wallets(desk)
        for merchant_id in (desk.merchant.id, list(self.merchants)[-1]):
            schedule = Schedule(
                merchant_id=merchant_id,
                every=Every.DAY,
                minimum=500,
                keep=KEPT,
                changed_at=desk.now - DAY,
                changed_by="asha",
            )
            self.schedules.append(schedule)
            async with desk.database.begin() as tx:
                await schedules.save(tx, schedule)

    async def forget_initial_wallets(self, desk: BankDesk) -> None:
        """The bank got the money with which the wallets began."""
        rows = "SELECT bank_reference || ' ' || amount FROM bookings WHERE kind = 'top_up' ORDER BY 1"
        for row in await desk.database_rows(rows):
            reference, amount = row.split()
            desk.move(int(amount), reference, "TOP UP")

    async def top_up(self, desk: BankDesk) -> None:
        merchant_id = self.random.choice(list(self.merchants))
        reference, amount = f"NMB-{desk.today}", self.random.randrange(10_000, 90_000)
        desk.move(amount, reference, "TOP UP")
        async with desk.database.begin() as tx:
            await book(tx, BookingKind.TOP_UP, merchant_id, amount, reference=reference, now=desk.now)

    async def earn(self, desk: BankDesk) -> None:
        for number, schedule in enumerate(self.schedules):
            reference = f"CR{number}-{desk.today}"
            desk.move(EARNED, reference, "TOP UP")
            async with desk.database.begin() as tx:
                await book(tx, BookingKind.TOP_UP, schedule.merchant_id, EARNED, reference=reference, now=desk.now)

    async def run_schedules(self, desk: BankDesk) -> None:
        """As often as workers look: each runs once a day."""
        runs = RunSchedules(desk.service.settlements.terms)
        for schedule in self.schedules * 2:
            async with desk.database.begin() as tx:
                await runs(tx, schedule, now=desk.now)
        made = await desk.database_rows(f"SELECT id FROM settlements WHERE scheduled_on = '{desk.today}'")
        assert len(made) == len(self.schedules)
        async with desk.database.read() as connection:
            self.asked += await settlements.find(connection, made)

    async def ask(self, desk: BankDesk) -> None:
        for merchant_id in self.merchants:
            if self.random.random() < 0.8:
                amount = self.random.randrange(1_000, 60_000)
                self.asked.append(await desk.requested(amount, merchant_id=merchant_id))

    async def pay(self, desk: BankDesk, number: int) -> None:
        """What is due, by a file that two operators make and somebody hands in."""
        numbers = list(self.merchants.values())
        returns = {RETURNED_LATER: {numbers[1]: 2}, RETURNED_AT_ONCE: {numbers[2]: 0}}.get(number, {})
        desk.bank.change(
            {
                "returnAccounts": returns,
                "chargeCents": 59_050 if number % 3 == 0 else 0,
                "booksOneSum": number == SUMMED,
                "listsParts": False,
                "refuseFiles": "AM04 insufficient funds" if number == VOIDED else "",
            }
        )
        gathered = await desk.gather(ASHA)
        await desk.approve(gathered.file.id, seen=await desk.code(gathered.file.id))
        taken = await desk.hand_in(gathered.file.id)
        if number == VOIDED:
            await desk.void(gathered.file.id, refused=f"{taken.message_id} {taken.reason}")
            await desk.approve(gathered.file.id)

    async def look(self, desk: BankDesk) -> None:
        """Import what is over, mostly a day at a time, and book what the bank has charged."""
        over = [day for day in self.unseen if day < desk.today]
        if not over:
            return
        await desk.bring(over[0], over[-1], format_=self.random.choice(FORMATS))
        self.unseen = [day for day in self.unseen if day not in over]
        for each in await desk.exceptions():
            if each.line.cents == -59_050:
                assert (await desk.decide(each, "book", account="bank_charges")).is_done

    def next_day(self, desk: BankDesk) -> None:
        self.unseen.append(desk.today)
        desk.at = desk.now + DAY
        while desk.today.weekday() >= 5:
            desk.at = desk.now + DAY


async def test_two_weeks(restorable: RestorableDesk) -> None:
    fortnight = Fortnight(7)
    restorable.fee = 250
    async with restorable.opened() as desk:
        await fortnight.begin(desk)
        for number in range(RESTORED):
            await day(fortnight, desk, number)
        await fortnight.look(desk)
        await fortnight.ask(desk)
        gathered = await desk.gather()
    await restorable.copy()
    async with restorable.opened() as desk:  # What the database loses, and the bank does not.
        desk.bank.change({"booksOneSum": False})
        await desk.approve(gathered.file.id)
        await desk.hand_in(gathered.file.id)
        lost = await desk.requested(3_333, merchant_id=list(fortnight.merchants)[3])
        other = await desk.gather()
        await desk.approve(other.file.id)
        await desk.hand_in(other.file.id)
    await restorable.restore()
    async with restorable.opened() as desk:
        for _ in range(4):
            fortnight.next_day(desk)
        await fortnight.look(desk)
        await adopt_all(desk, lost)
        await desk.reject(gathered.file.id)
        await release_settlements(desk)
        for number in range(RESTORED + 1, DAYS):
            await day(fortnight, desk, number)
        for _ in range(4):
            fortnight.next_day(desk)
        await fortnight.look(desk)
        await check(fortnight, desk)


async def day(fortnight: Fortnight, desk: BankDesk, number: int) -> None:
    await fortnight.look(desk)
    await fortnight.top_up(desk)
    await fortnight.ask(desk)
    await fortnight.earn(desk)
    await fortnight.run_schedules(desk)
    await fortnight.pay(desk, number)
    fortnight.next_day(desk)


async def adopt_all(desk: BankDesk, lost: Settlement) -> None:
    """Each debit that the database does not know: one of a settlement that it has, and one of a lost request."""
    for each in await desk.exceptions():
        if each.line.cents >= 0:
            continue
        found = await desk.database_rows(f"SELECT id FROM settlements WHERE key = '{each.line.key}'")
        terms = {"settlement_ids": tuple(found)} if found else {"merchant_id": lost.merchant_id}
        await desk.decide(each, "adopt", **terms)
        await desk.approve(each.id, JUMA)
    assert await desk.exceptions() == []


async def check(fortnight: Fortnight, desk: BankDesk) -> None:
    balances = await desk.balances()
    assert await desk.exceptions() == []
    ours = await desk.database_rows("SELECT booked_on || ' ' || reference || ' ' || cents FROM bank_lines ORDER BY 1")
    theirs = sorted(f"{each.day} {each.reference} {each.cents}" for each in desk.bank.entries)
    assert sorted(ours) == theirs

    async with desk.database.read() as connection:
        found: BankBalance = await find_balance(connection)
        assert found.ledger == await find_ledger_by_causes(connection)
        seen = await find_seen(connection)
    assert found.bank == desk.bank.balance_cents(desk.today)
    assert (found.not_placed, found.not_on_statements, found.unexplained) == (0, 0, 0)
    assert abs(found.cents) <= 50
    assert balances["bank"] * 100 == -found.ledger
    assert seen is not None
    assert (abs(seen.gap * 100 - found.before) <= 100, seen.unexplained) == (True, 0)

    statuses = await desk.statuses(*fortnight.asked)
    assert sorted(set(statuses)) == ["COMPLETED", "RETURNED"]
    assert statuses.count("RETURNED") == 2
    # Each settlement that is COMPLETED was paid once, and each that is RETURNED once and came back once.
    by_key: dict[str, list[int]] = {}
    for each in desk.bank.entries:
        for part in each.parts or (each,):
            if part.end_to_end:
                by_key.setdefault(part.end_to_end, []).append(part.cents)
    for settlement, status in zip(fortnight.asked, statuses, strict=True):
        paid = -100 * settlement.net_amount
        assert by_key[settlement.key] == ([paid] if status == "COMPLETED" else [paid, -paid])
    await check_reports(desk)
    assert balances.get("in_settlement", 0) == 0
    assert balances.get("suspense", 0) == 0


async def check_reports(desk: BankDesk) -> None:
    """Every settlement's report adds up, begins where the one before has ended, and together they have every line."""
    async with desk.database.snapshot() as connection:
        ids = [row["id"] for row in await connection.fetch("SELECT id FROM settlements")]
        found = [await report_lines.find_report(connection, each) for each in await settlements.find(connection, ids)]
        wallets = await connection.fetch("SELECT merchant_id, statement_lines FROM wallets")
    reports = [each for each in found if each is not None]
    assert len(reports) == len(ids) > 30
    assert all(each.adds_up for each in reports)
    for merchant_id, _ in wallets:
        of_one = [each for each in reports if each.settlement.merchant_id == merchant_id]
        in_order = sorted(of_one, key=lambda each: each.first_line)
        assert in_order[0].first_line == 1
        for before, after in pairwise(in_order):
            assert (after.first_line, after.opening) == (before.last_line + 1, before.closing)
