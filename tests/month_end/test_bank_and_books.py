"""Where the bank's statements and the books disagree at the end of a month: the checklist and the archive say so."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from malipo.app.assemble import Service
from tests.bank.bank_desk import BankDesk, open_account
from tests.conftest import make_merchant
from tests.month_end.test_archive import FIRST, LAST, NOW
from tests.month_end.test_archive import _check as check
from tests.month_end.test_archive import _month as month
from tests.month_end.test_archive import books as november
from tests.reconciliation.close.books import Books
from tests.settlement.settlement_steps import add_account

__all__ = ["november"]

PAID_IN = FIRST - timedelta(days=3)  # TZS 250,000, with the reference FT-1


@pytest.fixture
async def desk(service: Service, november: Books, tmp_path: Path) -> BankDesk:
    """The books of November, and our account at the bank."""
    merchant = await make_merchant(november.database)
    account = await add_account(november.database, merchant.id, now=NOW)
    await open_account(november.database)
    return BankDesk(service, november.database, merchant, account, tmp_path, at=NOW)


async def _points(database_url: str) -> dict[str, dict[str, Any]]:
    """Of the month, by list and code."""
    said = (await month(database_url, "2026-11", "--json")).json
    return {name: {each["code"]: each for each in said[name]} for name in ("missing", "open")}


async def _archived(database_url: str, folder: Path) -> tuple[int, str]:
    file = folder / "november.zip"
    assert (await month(database_url, "2026-11", "--archive", str(file))).err == ""
    return check(file)


async def test_what_is_only_in_the_books_is_asked_for_also_where_there_are_no_statements_of_the_bank(
    november: Books, database_url: str, tmp_path: Path
) -> None:
    found = await _points(database_url)
    assert found["open"]["month_bank_ours_only"]["amount"] == 250_000
    assert "month_bank_ours_only" not in found["missing"], "nobody can find it where no statement is imported"
    code, said = await _archived(database_url, tmp_path)
    assert code == 0, said
    assert "ASK: 1 entries of 250,000.00 in all are in the books for days, and not at the bank (ours_only)." in said


async def test_what_the_banks_statements_do_not_have_is_missing(
    desk: BankDesk, database_url: str, tmp_path: Path
) -> None:
    await desk.bring(PAID_IN, LAST)
    found = await _points(database_url)
    assert found["missing"]["month_bank_ours_only"]["count"] == 1
    assert "month_bank_unexplained" not in found["missing"]
    assert (await _archived(database_url, tmp_path))[0] == 0


async def test_what_bank_and_books_both_have_is_no_point(desk: BankDesk, database_url: str, tmp_path: Path) -> None:
    desk.move(250_000, "FT-1", day=PAID_IN)
    await desk.bring(PAID_IN, LAST)
    found = await _points(database_url)
    assert [each for list_ in found.values() for each in list_ if each.startswith("month_bank_")] == []
    code, said = await _archived(database_url, tmp_path)
    assert (code, "ASK" in said) == (0, False), said


async def test_lines_that_the_books_have_in_a_later_month_are_open(desk: BankDesk, database_url: str) -> None:
    desk.move(250_000, "FT-1", day=PAID_IN)
    desk.move(7_000, "FT-2", day=LAST)
    await desk.bring(PAID_IN, LAST)
    later = (await _points(database_url))["open"]["month_bank_later"]
    assert (later["count"], later["amount"]) == (1, 7_000)


async def test_what_nothing_explains_between_bank_and_books_is_missing_and_wrong(
    desk: BankDesk, database_url: str, tmp_path: Path
) -> None:
    desk.move(250_000, "FT-1", day=PAID_IN)
    await desk.bring(PAID_IN, LAST)
    async with desk.database.begin() as tx:
        await tx.execute("UPDATE bank_line_matches SET amount = amount - 150")
    found = await _points(database_url)
    assert found["missing"]["month_bank_unexplained"]["amount"] == "-1.50"
    code, said = await _archived(database_url, tmp_path)
    assert code == 1, said
    assert "WRONG: nothing explains -1.50 between the bank's balance and the books" in said
