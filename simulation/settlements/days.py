"""The days after a run, on which operators pay settlements and the bank says what it has paid.

No process of the service runs then, so a day costs nothing: operators and merchants act one after the other, each by
the same functions as in service, and the clock stands at an hour of theirs. On one of these days the database may be
put back to its morning. What the bank was given on that day it has.
"""

import asyncio
from datetime import date, datetime, time, timedelta
from typing import Any

from msgspec import structs

from malipo import clock
from malipo.audit_log.actor import Actor
from malipo.db import Conn, Database
from malipo.ledger import check as ledger_check
from malipo.payments.after_restore import release as payments_release
from malipo.payments.after_restore.fence import fence
from malipo.payments.check import transactions as transactions_check
from malipo.restore.store import installation, send_counts
from malipo.settings import Settings
from malipo.settlement import manage_bank_accounts, release, run_schedules
from malipo.settlement.cancel import CancelSettlements, SettlementCancellation
from malipo.settlement.create import CreateSettlements, MadeSettlement
from malipo.settlement.fee_and_minimum import LARGEST_AMOUNT, SettlementTerms
from malipo.settlement.manage_bank_accounts import bank_account_of
from malipo.settlement.schedule import Every, Schedule
from malipo.settlement.settlement import Settlement
from malipo.settlement.settlement_request import settlement_request_of
from malipo.settlement.store import bank_accounts, schedules, settlements
from malipo.settlement.store.report_lines import find_report
from malipo.validation.fields import Fields
from malipo.worker.settlement_scheduler import SettlementScheduler
from malipo_simulator.statements.account import ZONE
from simulation.database import SimulatedDatabase
from simulation.postgres_gate import EPOCH
from simulation.settlements import settlement_oracle
from simulation.settlements.accounts import use_tables
from simulation.settlements.merchant_settlements import SettlementReplies
from simulation.settlements.planned import PlannedSettlement, PlannedSettlements
from simulation.settlements.treasury import Treasury
from simulation.template import SimulatedMerchant

_OPERATORS = tuple(Actor(f"operator {name}", "simulation") for name in ("asha", "juma"))
_OWNER = Actor("asha@duka.example", "simulation")
_WORKER = "wrk_of_the_days"
_MINIMUM, _KEPT = 1_000, 1_900_000  # of a schedule
_MORNING, _NOON, _AFTERNOON = 9, 12, 15
_DAY = timedelta(days=1)
_EVIDENCE = "The networks' statements of the lost time"
_FIRST = EPOCH.astimezone(ZONE).date()
_BEFORE_ACCOUNT = _FIRST - 31 * _DAY  # The first statement begins with the day on which our account was added.


class BankDays:
    def __init__(
        self,
        planned: PlannedSettlements,
        accounts: list[SimulatedMerchant],
        database: SimulatedDatabase,
        settings: Settings,
        treasury: Treasury,
        told: dict[int, SettlementReplies],
        *,
        lost: tuple[float, float] | None,
    ) -> None:
        """`lost`: from when to when the run's own restore has lost what was done, in seconds since it began."""
        self._planned = planned
        self._accounts = accounts
        self._database = database
        self._settings = settings
        self._terms = SettlementTerms.of(settings)
        self._treasury = treasury
        self._told = told
        self._imported_to = _BEFORE_ACCOUNT
        self._at = EPOCH
        self._backup: tuple[date, float] | None = None  # what was imported, and when: seconds since the run began
        self._lost = [] if lost is None else [lost]  # seconds since the run began
        self.findings: list[tuple[str, str]] = []

    def go(self) -> list[tuple[str, str]]:
        """On a loop of its own, as what reconciles the networks' statements. Kinds of findings, and what was found."""
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            runner.run(self._live())
        settlement_oracle.check(
            self._database.look(),
            self._treasury.bank,
            self._planned.requests,
            self._told,
            until=self._imported_to,
            twice_by_mistake=self._treasury.twice_by_mistake,
            is_in_lost_time=lambda at: any(begin - 1 <= at <= end + 1 for begin, end in self._lost),
            is_kept=lambda asked, told: all(told < begin or asked > end for begin, end in self._lost),
            find=self._find,
        )
        return self.findings

    def _find(self, kind: str, what: str) -> None:
        self.findings.append((kind, what))

    async def _live(self) -> None:
        self._set_clock(_FIRST + _DAY, _MORNING - 1)
        async with self._opened() as database:
            await self._set_schedules(database)
            if self._planned.bank.is_table:
                await use_tables(database, now=clock.now())
        for number in range(1, self._planned.days.count + 1):
            day = _FIRST + number * _DAY
            self._set_clock(day, _MORNING)
            if number == self._planned.days.backup_on:
                self._database.back_up()
                self._backup = (self._imported_to, self._now_seconds())
            is_restored = number == self._planned.days.restore_on
            async with self._opened() as database:
                await self._work(database, number)
                if not (is_restored and self._planned.days.restore_before_statement):
                    await self._read_statements(database, day)
            if is_restored:
                await self._restore(number, day)
        async with self._opened() as database:
            await self._import_all_again(database)
            await self._check(database)
        for each in self._treasury.troubles:
            self._find("settlement", each)

    async def _restore(self, number: int, day: date) -> None:
        assert self._backup is not None
        self._set_clock(day, _NOON)
        self._database.bring_back()
        self._database.start_again()
        self._imported_to, began = self._backup
        self._lost.append((began, self._now_seconds()))
        self._set_clock(day, _AFTERNOON)
        days = self._planned.days
        repeated = [each for each in self._planned.requests if each.day <= number and not days.asked_again_late]
        async with self._opened() as database:
            if days.restore_noticed_late:
                for wanted in repeated:
                    await self._ask(database, wanted)
                await self._treasury.send_due(database)
            # A worker has noticed it, and operators have compared the payments.
            await self._fence(database)
            for wanted in repeated:
                await self._ask(database, wanted)
                if wanted.number in days.cancelled_after_restore:
                    await self._cancel(database, wanted)
            await self._work(database, number, asks=not days.asked_again_late)
            await self._read_statements(database, day)

    async def _work(self, database: Database, number: int, *, asks: bool = True) -> None:
        if number == self._planned.days.account_on:
            await self._add_account(database)
        await self._treasury.verify_accounts(database)
        await self._look_after_restore(database)
        for _ in range(2):  # A schedule runs once a day, however often workers look.
            await SettlementScheduler(database, self._settings).step()
        if asks:
            await self._ask_all(database, number)
        await self._treasury.send_due(database)

    async def _ask_all(self, database: Database, number: int) -> None:
        repeats_all = number == self._planned.days.count  # A program that does gets the answers of before.
        for wanted in self._planned.requests:
            # What was not asked for in the run, because no answer came, is asked for on the first day.
            is_late = number == 1 and not wanted.day and not self._told[wanted.number].ids
            if wanted.day == number or is_late:
                await self._ask(database, wanted)
                if wanted.cancelled_after is not None:
                    await self._cancel(database, wanted)
            elif self._lost and wanted.number in self._planned.days.cancelled_after_restore:
                await self._cancel(database, wanted)
            elif repeats_all and wanted.day < number:
                await self._ask(database, wanted)

    async def _read_statements(self, database: Database, day: date) -> None:
        """Of the days since the last ones, and what follows from them."""
        first, last = self._imported_to + _DAY, day - _DAY
        if first <= last and await self._treasury.import_days(database, first, last) is not None:
            self._imported_to = last
        if self._planned.days.withdrawn_on == (day - _FIRST).days:
            await self._withdraw_last(database)
        await self._treasury.settle_answers(database)
        await self._treasury.decide_all(database)
        await self._treasury.void_lost(database)
        await self._treasury.release(database)
        await self._treasury.collect_debts(database)

    async def _withdraw_last(self, database: Database) -> None:
        """What a statement has done stays: then it is refused."""
        if not (taken := await self._treasury.taken_statements(database)):
            return
        await self._treasury.withdraw(database, taken[-1])
        if await self._treasury.import_days(database, _FIRST, self._imported_to) is None:
            self._find("settlement", f"the days of a withdrawn statement are refused: {self._treasury.acts[-1][1]}")

    async def _import_all_again(self, database: Database) -> None:
        """The same days once more, in one file: nothing may follow from it."""
        before = await _figures(database)
        if await self._treasury.import_days(database, _FIRST, self._imported_to) is None:
            self._find("settlement", f"the same days imported again are refused: {self._treasury.acts[-1][1]}")
        if (after := await _figures(database)) != before:
            self._find("settlement", f"the same days imported again changed {before} to {after}")

    async def _check(self, database: Database) -> None:
        async with database.snapshot() as connection:
            await ledger_check.prepare(connection)
            for each in await ledger_check.check(connection) + await transactions_check.check(connection):
                self._find("ledger", f"after the bank's statements: {each}")
            for account in self._accounts:
                await self._check_reports(connection, account.id)

    async def _check_reports(self, connection: Conn, merchant_id: str) -> None:
        """Each report adds up, and each line of the wallet's statement is in one of them."""
        rows = await connection.fetch(
            "SELECT id FROM settlements WHERE merchant_id = $1 AND statement_line IS NOT NULL ORDER BY statement_line",
            merchant_id,
        )
        last_line = 0
        for row in rows:
            settlement = await settlements.get(connection, merchant_id, row["id"])
            assert settlement is not None
            report = await find_report(connection, settlement)
            if report is None or not report.adds_up or report.first_line != last_line + 1:
                self._find("settlement", f"the report of {settlement.reference} does not add up: {report}")
            last_line = settlement.statement_line or 0

    # Merchants.

    async def _ask(self, database: Database, wanted: PlannedSettlement) -> None:
        given = {} if wanted.amount is None else {"amount": wanted.amount}
        request = settlement_request_of(
            Fields(given),
            self._accounts[wanted.merchant].id,
            key=wanted.key,
            largest=LARGEST_AMOUNT,
            created_by="key_of_the_days",
            now=clock.now(),
        )
        async with database.begin() as tx:
            [made] = await CreateSettlements(self._terms)(tx, [request], again=False)
        told = self._told[wanted.number]
        if isinstance(made, MadeSettlement):
            told.ids.append(made.settlement.id)
            told.references.append(made.settlement.reference)
            told.acknowledged_at.append(self._now_seconds())
        else:
            told.refusals.append(_code_of(made))

    async def _cancel(self, database: Database, wanted: PlannedSettlement) -> None:
        told = self._told[wanted.number]
        if not told.ids:
            return
        asked_at = self._now_seconds()
        cancellation = SettlementCancellation(self._accounts[wanted.merchant].id, told.ids[-1], by="key_of_the_days")
        async with database.begin() as tx:
            [done] = await CancelSettlements(clock=clock.now)(tx, [cancellation], again=False)
        if isinstance(done, Settlement):
            told.cancelled.append((asked_at, self._now_seconds()))

    async def _add_account(self, database: Database) -> None:
        """The owner of the first merchant adds another account, which takes the place of the first when it can be
        used."""
        merchant, fields = self._accounts[0], {"bic": "NMIBTZTZ", "accountNumber": "22099", "holderName": "Duka 1"}
        account = bank_account_of(Fields(fields), merchant.id, by=_OWNER.name, now=clock.now())
        async with database.begin() as tx:
            await manage_bank_accounts.add(tx, account, actor=_OWNER, now=clock.now())

    async def _look_after_restore(self, database: Database) -> None:
        """Owners confirm their bank accounts and save their schedules again, as soon as settlements are released."""
        async with database.read() as connection:
            if not await release.is_released(connection):
                return
            held, paused = await bank_accounts.find_held(connection), await schedules.find_paused(connection)
        for each in held:
            async with database.begin() as tx:
                await manage_bank_accounts.confirm(
                    tx, each.id, merchant_id=each.merchant_id, actor=_OWNER, now=clock.now()
                )
        for merchant_id in paused:
            async with database.begin() as tx:
                known = await schedules.find(tx, merchant_id)
                assert known is not None, "it is paused"
                schedule = structs.replace(known, changed_at=clock.now(), paused_since=None)
                await run_schedules.set_schedule(tx, schedule, actor=_OWNER)

    async def _set_schedules(self, database: Database) -> None:
        for number in self._planned.scheduled:
            schedule = Schedule(
                merchant_id=self._accounts[number].id,
                every=Every.DAY,
                minimum=_MINIMUM,
                keep=_KEPT,
                changed_at=clock.now() - 2 * _DAY,
                changed_by=_OWNER.name,
            )
            async with database.begin() as tx:
                await run_schedules.set_schedule(tx, schedule, actor=_OWNER)

    # After a restore.

    async def _fence(self, database: Database) -> None:
        async with database.begin() as tx:
            standing = await installation.get(tx)
            await fence(tx, "restored", actor=_OPERATORS[0], now=clock.now(), epoch=standing.epoch)
            state = await send_counts.find_database_state(tx)
            await send_counts.note_running(tx, _WORKER, "days", server_id=state.server_id, is_waiting=False)
        for actor in _OPERATORS:
            async with database.begin() as tx:
                await payments_release.release(tx, _EVIDENCE, actor=actor, now=clock.now())

    # The clock.

    def _set_clock(self, day: date, hour: int) -> None:
        """Of the processes, and of the connections that are opened from now on."""
        now = datetime.combine(day, time(hour), ZONE)
        self._at = now
        nanoseconds = int(now.timestamp()) * 1_000_000_000
        clock.read_from(nanoseconds=lambda: nanoseconds, monotonic=lambda: now.timestamp())
        self._database.set_time(now)

    def _opened(self) -> Any:
        self._database.set_time(self._at)
        return Database.opened(self._database.url, size=1)

    def _now_seconds(self) -> float:
        return (self._at - EPOCH).total_seconds()


async def _figures(database: Database) -> tuple[object, ...]:
    """What a statement that says nothing new must leave as it is."""
    async with database.snapshot() as connection:
        row = await connection.fetchrow(
            """
            SELECT (SELECT count(*) FROM bank_lines), (SELECT count(*) FROM moves),
                   (SELECT count(*) FROM house_bookings), (SELECT count(*) FROM bank_line_matches),
                   (SELECT count(*) FROM bank_exceptions WHERE resolved_at IS NULL)
            """
        )
    assert row is not None
    return tuple(row.values())


def _code_of(refusal: object) -> str:
    return str(getattr(refusal, "code", None) or refusal)
