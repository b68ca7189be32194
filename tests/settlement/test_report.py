"""Every line of a wallet's statement belongs to exactly one settlement's report, and each report adds up."""

import io
import random
from datetime import timedelta
from tempfile import TemporaryDirectory

import openpyxl
import pytest

from malipo.db import Database
from malipo.ledger.bookings import BookingKind, book
from malipo.ledger.store import statement
from malipo.networks.connector import Verdict
from malipo.payments.transaction import Status, Type
from malipo.settings import Settings
from malipo.settlement.report import Report, ReportGroup, ReportLine
from malipo.settlement.report_workbook import ReportWorkbook
from malipo.settlement.settlement import Settlement
from malipo.settlement.store import report_lines, settlements
from tests.conftest import NO_LIMITS
from tests.payments.payment_steps import PaymentSteps
from tests.payments.refunds.refund_steps import RefundSteps
from tests.settlement.settlement_steps import SettlementSteps
from tests.settlement.test_restore import adopted


@pytest.fixture
def settings() -> Settings:
    return Settings(**NO_LIMITS, settlement_fee=100)


REFUND_ENDS = (Status.COMPLETED, Status.COMPLETED, Status.FAILED)
KEYS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


async def trade(steps: SettlementSteps, chance: random.Random) -> None:
    """Something that moves the wallet: of payments, bookings and settlements."""
    payments = PaymentSteps(steps.service, steps.merchant_id)
    match chance.randrange(9):
        case 0 | 1:
            await payments.ended(Type.COLLECTION, Status.COMPLETED, chance.randrange(500, 50_000))
        case 2:
            await payments.ended(Type.DISBURSEMENT, chance.choice([Status.COMPLETED, Status.FAILED]), 2_000)
        case 3:
            await payments.contradicted(Type.COLLECTION, Status.COMPLETED, 700)
        case 4:
            async with steps.database.begin() as tx:
                kind = chance.choice([BookingKind.TOP_UP, BookingKind.SETTLEMENT])
                reference, now = f"NMB-{chance.random()}", steps.service.clock()
                await book(tx, kind, steps.merchant_id, 1_000, reference=reference, now=now)
        case 5:
            await steps.cancel(await steps.requested(chance.randrange(500, 9_000)))
        case 6:
            refunds = RefundSteps(steps.service, steps.merchant_id)
            paid = await payments.ended(Type.COLLECTION, Status.COMPLETED, chance.randrange(5_000, 50_000))
            await refunds.refunded(paid, chance.choice([None, 1_000]), status=chance.choice(REFUND_ENDS))
        case 7:
            await steps.give_back(await steps.completed(chance.randrange(500, 9_000)))
        case _:
            await adopted(steps, "".join(chance.choices(KEYS, k=16)), 1_500, reference=f"B-{chance.random()}")


async def every_report(steps: SettlementSteps) -> list[tuple[Settlement, Report, list[ReportLine]]]:
    async with steps.database.snapshot() as connection:
        _, found = await settlements.find_page(connection, steps.merchant_id, page=1, limit=1000)
        reports = []
        for each in sorted(found, key=lambda each: each.statement_line or 0):
            if (report := await report_lines.find_report(connection, each)) is not None:
                lines = await report_lines.page(connection, report, page=1, limit=1_000_000)
                reports.append((each, report, lines[::-1]))
    return reports


@pytest.mark.parametrize("seed", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
async def test_every_line_is_in_exactly_one_report_and_each_adds_up(steps: SettlementSteps, seed: int) -> None:
    chance = random.Random(seed)
    payments = PaymentSteps(steps.service, steps.merchant_id)
    await payments.charge_fees()
    await payments.ended(Type.DISBURSEMENT, Status.FAILED, 2_000)
    for _ in range(3):
        for _ in range(chance.randrange(1, 9)):
            await trade(steps, chance)
        await steps.requested(chance.choice([None, 5_000]))
        async with steps.database.begin() as tx:
            now = steps.service.clock() + timedelta(seconds=1)
            await book(tx, BookingKind.TOP_UP, steps.merchant_id, 100_000, reference=f"T-{chance.random()}", now=now)
    await steps.requested(None)

    reports = await every_report(steps)

    numbers = [line.number for _, _, lines in reports for line in lines]
    async with steps.database.read() as connection:
        last = await statement.last_line(connection, steps.merchant_id)
    assert numbers == [*range(1, last + 1)]
    balance = 0
    for settlement, report, lines in reports:
        assert report.adds_up
        assert report.opening == balance
        [own] = [line for line in lines if line.group is ReportGroup.SETTLEMENT]
        assert (own.cause_id, own.number) == (settlement.id, lines[-1].number)
        for line in lines:
            assert line.net == line.gross - line.fee
            balance += line.net
            assert line.balance == balance
        for each in report.sums:
            of_group = [line for line in lines if line.group is each.group]
            expected = (len(of_group), sum(line.gross for line in of_group), sum(line.fee for line in of_group))
            assert (each.count, each.gross, each.fee) == expected
        assert report.closing == balance
    every = [line for _, _, lines in reports for line in lines]
    for cause in {line.cause_id for line in every if line.group is ReportGroup.PAYOUT_RETURNED}:
        assert sum(line.fee for line in every if line.cause_id == cause) == 0, "its fee was given back too"
    await steps.check()


async def test_a_report_never_changes_but_for_the_reference_of_the_bank(steps: SettlementSteps) -> None:
    payments = PaymentSteps(steps.service, steps.merchant_id)
    payout = await payments.processing(Type.DISBURSEMENT, 2_000)
    settlement = await steps.sent(10_000)
    [(_, before, lines)] = await every_report(steps)
    await payments.report(payout, Verdict.REFUSED)
    await steps.complete(settlement)
    await steps.give_back(settlement)
    [(_, after, same)] = await every_report(steps)
    assert (after.sums, after.opening, after.closing, same) == (before.sums, before.opening, before.closing, lines)
    assert (before.settlement.bank_reference, after.settlement.bank_reference) == (None, "CRDB-1")


async def test_a_workbook_has_the_sums_and_every_line(steps: SettlementSteps) -> None:
    await steps.requested(10_000)
    [(settlement, report, lines)] = await every_report(steps)
    file = io.BytesIO()
    with TemporaryDirectory() as folder:
        book_ = ReportWorkbook(report, file, folder)
        book_.add(lines)
        book_.close()
    sheets = openpyxl.load_workbook(file)
    summary = [[cell.value for cell in row] for row in sheets["Summary"].rows]
    assert summary[0][0] == settlement.reference
    assert ["SETTLEMENT", 1, -9_900, 100, -10_000] in summary
    assert [row[0].value for row in sheets["Lines"].rows] == ["line", *(line.number for line in lines)]


async def test_an_adopted_one_of_which_the_wallet_bore_nothing_has_no_report(
    steps: SettlementSteps, database: Database
) -> None:
    await steps.requested(1_000_000)
    found = await adopted(steps, "HJKMNPQRSTVWXYZ0", 500)
    async with database.snapshot() as connection:
        assert await report_lines.find_report(connection, found) is None
