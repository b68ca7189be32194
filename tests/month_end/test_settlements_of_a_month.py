"""Settlements and payout files in the archive of a month: as they were at its end, whatever became of them since."""

from datetime import date, timedelta
from typing import Any

import pytest

from malipo import clock
from malipo.month_end import checklist, store
from malipo.month_end.bank_reconciliation import BankItemKind, find_bank_reconciliation
from malipo.month_end.month import Month, month_before
from malipo.settlement import bank_outcomes
from malipo.settlement.bank_outcomes import BankReturn, Debit
from malipo.settlement.cancel import SettlementCancellation
from malipo.settlement.settlement import Settlement
from tests.bank.bank_desk import BankDesk
from tests.bank.bank_desk import desk as desk_of_today
from tests.reconciliation.close.books import at

__all__ = ["desk_of_today"]

REFUSED = "AM04 in the bank's answer to {0}, which was refused whole"


@pytest.fixture
async def desk(desk_of_today: BankDesk, month: Month) -> BankDesk:
    """In the evening of the last day of a month that is long over."""
    async with desk_of_today.database.begin() as tx:
        await tx.execute("UPDATE bank_accounts SET usable_from = created_at - interval '1 year'")
    desk_of_today.at = month.ends - timedelta(hours=6)
    return desk_of_today


@pytest.fixture
def month() -> Month:
    return month_before(clock.now()).before


async def _read(desk: BankDesk, month: Month) -> tuple[list[Any], list[Any]]:
    async with desk.database.snapshot() as connection:
        files = [dict(row) for row in await store.find_payout_files(connection, month)]
        return [dict(row) async for row in store.settlements_of(connection, month)], files


async def _complete(desk: BankDesk, settlement: Settlement) -> None:
    async with desk.database.begin() as tx:
        await bank_outcomes.complete(tx, [Debit(settlement.id, f"FT{settlement.key}", desk.today)], now=desk.now)


async def _give_back(desk: BankDesk, settlement: Settlement) -> None:
    async with desk.database.begin() as tx:
        back = BankReturn(settlement.id, "AC04 account closed", f"RT{settlement.key}", desk.today)
        await bank_outcomes.give_back(tx, [back], now=desk.now)


async def _send_again(desk: BankDesk, *first: str) -> None:
    """Void these files, and put what waits into a new one."""
    for name in first:
        file = await desk.file(name)
        await desk.void(name, refused=REFUSED.format(file.message_id))
        await desk.approve(name)
    again = await desk.gather()
    await desk.approve(again.file.id)


async def test_they_are_as_they_were_at_its_end_whatever_the_next_month_brings(desk: BankDesk, month: Month) -> None:
    sent, [returned, completed] = await desk.approved(100_000, 110_000)
    await _complete(desk, returned)
    voided, [waits_again] = await desk.approved(120_000)
    in_a_file = await desk.requested(130_000)
    gathered = await desk.gather()
    waits = await desk.requested(140_000)
    at_its_end = await _read(desk, month)

    def said(rows: list[Any], name: str) -> dict[str, Any]:
        return {row["id"]: row[name] for row in rows}

    assert said(at_its_end[0], "status") == {
        returned.id: "COMPLETED", completed.id: "SENT", waits_again.id: "SENT", in_a_file.id: "REQUESTED",
        waits.id: "REQUESTED",
    }  # fmt: skip
    assert said(at_its_end[0], "payout_file_id") == {
        returned.id: sent.id, completed.id: sent.id, waits_again.id: voided.id, in_a_file.id: gathered.file.id,
        waits.id: None,
    }  # fmt: skip
    assert {each for row in at_its_end[0] for each in [row["sent_at"]]} == {None, desk.now}
    assert said(at_its_end[1], "status") == {sent.id: "APPROVED", voided.id: "APPROVED"}

    desk.at = month.ends
    await desk.approve(gathered.file.id)
    await _give_back(desk, returned)
    await _complete(desk, completed)
    cancellation = SettlementCancellation(desk.merchant.id, waits.id, "key_1")
    await desk.service.settlements.cancel(cancellation)
    await _send_again(desk, voided.id)
    assert await desk.statuses(returned, completed, waits_again, in_a_file, waits) == [
        "RETURNED", "COMPLETED", "SENT", "SENT", "CANCELLED",
    ]  # fmt: skip
    assert await _read(desk, month) == at_its_end

    next_settlements, _ = await _read(desk, month.next)
    assert said(next_settlements, "status") | {waits.id: ""} == {
        returned.id: "RETURNED", completed.id: "COMPLETED", waits_again.id: "SENT", in_a_file.id: "SENT", waits.id: "",
    }  # fmt: skip


async def test_what_the_bank_gave_back_and_the_books_have_later_is_named_with_its_settlement_and_merchant(
    desk: BankDesk, month: Month
) -> None:
    """The statement of the last day is imported in the next month, whose books have what came back."""
    _, [settlement] = await desk.approved(100_000)
    desk.move(-100_000, "FT-OUT", key=settlement.key)
    desk.move(100_000, "FT-BACK", key=settlement.key)
    desk.move(7_000, "FT-NEW")
    desk.at = month.ends + timedelta(hours=6)
    await desk.bring(month.last)
    async with desk.database.snapshot() as connection:
        found = await find_bank_reconciliation(connection, month, ledger=0)
    assert {(each.kind, each.cents, each.reference, each.subject, each.merchant_id) for each in found.items} == {
        (BankItemKind.NOT_IN_BOOKS, -10_000_000, "FT-OUT", settlement.id, desk.merchant.id),
        (BankItemKind.NOT_IN_BOOKS, 10_000_000, "FT-BACK", settlement.id, desk.merchant.id),
        (BankItemKind.NOT_IN_BOOKS, 700_000, "FT-NEW", "", ""),
    }


async def test_what_ended_before_a_month_is_not_in_it(desk: BankDesk, month: Month) -> None:
    desk.at = month.begins - timedelta(seconds=1)
    _, [completed, under_way] = await desk.approved(100_000, 110_000)
    await _complete(desk, completed)
    [row], files = await _read(desk, month)
    assert (row["id"], row["status"], files) == (under_way.id, "SENT", [])
    desk.at = month.ends
    await _give_back(desk, completed)
    assert [each["id"] for each in (await _read(desk, month))[0]] == [under_way.id]
    assert [each["id"] for each in (await _read(desk, month.next))[0]] == sorted([completed.id, under_way.id])


async def test_a_settlement_that_the_bank_has_not_answered_is_missing_after_three_business_days(desk: BankDesk) -> None:
    """It was sent on a Friday, and a bank books it until Wednesday."""
    month = Month(2026, 10)
    desk.at = at(date(2026, 10, 30), "16:00")
    _, [settlement] = await desk.approved(100_000)

    async def missing(day: date) -> set[str]:
        async with desk.database.snapshot() as connection:
            found = await checklist.find(connection, month, now=at(day))
        return {str(each.code) for each in found.missing}

    assert "month_unanswered" not in await missing(date(2026, 11, 4))
    assert "month_unanswered" in await missing(date(2026, 11, 5))
    desk.at = at(date(2026, 11, 5))
    await _complete(desk, settlement)
    assert "month_unanswered" not in await missing(date(2026, 11, 5))
