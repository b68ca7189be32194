"""Statements of the simulated bank, in all their formats: each entry once, and what contradicts is refused."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from malipo.bank.payer_account import PayerAccount, check
from malipo.bank.read_statement import NotImported, ReadStatement, read_file
from malipo.bank.statement import (
    BankImportRefusal,
    BankRowProblem,
    KnownStatement,
    StoredStatement,
    contradictions,
    lines_of,
    names_of,
    what_is_wrong,
)
from malipo.bank_evidence.banking_days import BankingDays
from malipo.bank_evidence.which_count import StatementState
from malipo.bank_formats.bank_entry import StatementProblem
from malipo.errors import Invalid
from malipo_simulator.bank.bank import Bank
from malipo_simulator.bank.statement_formats import FORMATS
from tests.bank.samples import ACCOUNT, KEYS, MESSAGE, MONDAY, THURSDAY, TUESDAY, WEDNESDAY
from tests.simulator.test_bank import busy_bank

CALENDAR = BankingDays()
NEXT_TUESDAY = date(2026, 11, 24)
OTHER = PayerAccount(id="pya_2", bic="CORUTZTZ", number="0150000WKYA00", name="MALIPO LTD")


def read(folder: Path, bank: Bank, first: date, last: date, format_: str = "camt053") -> ReadStatement:
    path = folder / f"{first}-{last}.{format_}"
    path.write_bytes(FORMATS[format_][1](bank, first, last))
    [found] = read_file(path, [ACCOUNT])
    return found


def stored(found: ReadStatement, *, imported_on: date = NEXT_TUESDAY, **values: object) -> StoredStatement:
    statement = found.statement
    usual = {
        "id": "bst_1",
        "payer_account_id": ACCOUNT.id,
        "sha256": found.sha256,
        "name": found.name,
        "format": found.format,
        "begins_on": statement.begins_on,
        "ends_on": statement.ends_on,
        "opening": statement.opening,
        "closing": statement.closing,
        "line_count": len(statement.entries),
        "new_count": 0,
        "problems": (),
        "state": StatementState.TAKEN,
        "amount": 0,
        "imported_by": "operator asha",
        "imported_at": datetime(imported_on.year, imported_on.month, imported_on.day, 9, tzinfo=UTC),
    }
    return StoredStatement(**{**usual, **values})  # type: ignore[arg-type]


def known(found: ReadStatement, **values: object) -> KnownStatement:
    return KnownStatement(stored(found, **values), names_of(lines_of(found.statement.entries)))  # type: ignore[arg-type]


def codes(found: ReadStatement, other: KnownStatement, **values: object) -> list[object]:
    return [each.code for each in contradictions(known(found, **values), other)]


@pytest.mark.parametrize("one_sum", [False, True])
@pytest.mark.parametrize("format_", FORMATS)
def test_an_entry_is_the_same_in_every_format_and_in_a_longer_statement(
    tmp_path: Path, format_: str, one_sum: bool
) -> None:
    bank = busy_bank(one_sum=one_sum)
    day, days = read(tmp_path, bank, MONDAY, MONDAY), read(tmp_path, bank, MONDAY, TUESDAY, format_)
    entries = {each.entry for each in lines_of(day.statement.entries)}
    assert entries == {each.entry for each in lines_of(days.statement.entries) if each.entry.booked_on == MONDAY}
    assert codes(days, known(day)) == []
    assert codes(day, known(days)) == []
    assert what_is_wrong(days.statement, [], CALENDAR) == []


def test_equal_entries_of_a_day_are_two(tmp_path: Path) -> None:
    bank = Bank()
    for _ in range(2):
        bank.deposit(5_000, MONDAY, "CASH", "DEPOSIT")
    lines = lines_of(read(tmp_path, bank, MONDAY, MONDAY).statement.entries)
    assert [each.entry.nth for each in lines] == [0, 1]
    assert len({each.entry for each in lines}) == 2


def test_a_file_that_contradicts_one_that_counts_is_seen(tmp_path: Path) -> None:
    bank, forged = busy_bank(one_sum=False), busy_bank(one_sum=False)
    forged.deposit(5_000, MONDAY, "FORGED", "DEPOSIT")
    true, false = (read(tmp_path, each, MONDAY, TUESDAY) for each in (bank, forged))
    assert codes(false, known(true)) == [BankRowProblem.ONLY_HERE]
    assert codes(true, known(false)) == [BankRowProblem.ONLY_THERE]
    # Beside it, it says nothing of its days.
    assert codes(false, known(read(tmp_path, bank, WEDNESDAY, THURSDAY))) == []


def test_the_same_entries_with_another_balance_are_a_contradiction(tmp_path: Path) -> None:
    bank = busy_bank(one_sum=False)
    day = read(tmp_path, bank, TUESDAY, TUESDAY)
    bank.deposit(5_000, MONDAY, "LATE", "DEPOSIT")
    assert codes(read(tmp_path, bank, MONDAY, TUESDAY), known(day)) == [BankRowProblem.BALANCE]


def test_a_statement_of_its_own_last_day_does_not_contradict_what_came_later_that_day(tmp_path: Path) -> None:
    bank = busy_bank(one_sum=False)
    noon = known(read(tmp_path, bank, TUESDAY, TUESDAY), imported_on=TUESDAY)
    bank.deposit(5_000, TUESDAY, "EVENING", "DEPOSIT")
    assert noon.statement.covering is None
    assert codes(read(tmp_path, bank, TUESDAY, TUESDAY), noon) == []


@pytest.mark.parametrize("how", [{"imported_on": TUESDAY}, {"problems": ("bank_statement_sum",)}])
def test_a_line_of_a_statement_that_covers_nothing_is_found_by_one_that_does(
    tmp_path: Path, how: dict[str, Any]
) -> None:
    """Else a return could be forged: today, or in a file that does not add up."""
    bank, forged = busy_bank(one_sum=False), busy_bank(one_sum=False)
    forged.deposit(5_000, TUESDAY, "FORGED", "DEPOSIT")
    true, false = (read(tmp_path, each, TUESDAY, TUESDAY) for each in (bank, forged))
    assert codes(true, known(false, **how)) == [BankRowProblem.ONLY_THERE]
    assert codes(false, known(true), **how) == [BankRowProblem.ONLY_HERE]


@pytest.mark.parametrize("parts", [False, True])
def test_an_entry_of_another_transfer_is_a_contradiction(tmp_path: Path, parts: bool) -> None:
    """The same day, reference and amount, and the key of another settlement."""
    bank = busy_bank(one_sum=parts)
    true = read(tmp_path, bank, MONDAY, MONDAY)
    path = tmp_path / "forged.xml"
    path.write_bytes(FORMATS["camt053"][1](bank, MONDAY, MONDAY).replace(KEYS[1].encode(), b"9ZZZZ6789ABCDEFG"))
    if not parts:
        path.write_bytes(path.read_bytes().replace(MESSAGE.encode(), b"8ZZZZ6789ABCDEFG"))
    [forged] = read_file(path, [ACCOUNT])
    assert codes(forged, known(true)) == [BankRowProblem.OF_OTHERS]
    assert codes(read(tmp_path, bank, MONDAY, MONDAY, "mt940"), known(true)) == []


def test_a_statement_follows_the_one_before_it(tmp_path: Path) -> None:
    bank = busy_bank(one_sum=False)
    monday, tuesday = (read(tmp_path, bank, day, day) for day in (MONDAY, TUESDAY))
    assert what_is_wrong(tuesday.statement, [stored(monday)], CALENDAR) == []
    bank.deposit(5_000, MONDAY, "LATE", "DEPOSIT")
    late = read(tmp_path, bank, TUESDAY, TUESDAY)
    assert [each.code for each in what_is_wrong(late.statement, [stored(monday)], CALENDAR)] == [
        StatementProblem.NOT_FOLLOWING
    ]
    assert [each.code for each in what_is_wrong(monday.statement, [stored(late)], CALENDAR)] == [
        StatementProblem.NOT_FOLLOWING
    ]


def test_over_holidays_a_statement_follows_too_but_not_over_a_day_whose_own_statement_may_be_missing(
    tmp_path: Path,
) -> None:
    """Of Eid, nobody knows before whether the bank books on it."""
    bank = Bank()

    def problems(before: date, after: date, booked_on: date) -> list[object]:
        earlier = read(tmp_path, bank, before, before)
        bank.deposit(5_000, booked_on, f"FT{booked_on}", "DEPOSIT")
        later = read(tmp_path, bank, after, after)
        return [each.code for each in what_is_wrong(later.statement, [stored(earlier)], CALENDAR)]

    assert problems(date(2026, 4, 2), date(2026, 4, 8), date(2026, 4, 6)) == [StatementProblem.NOT_FOLLOWING]
    assert problems(date(2026, 5, 26), date(2026, 5, 28), date(2026, 5, 27)) == []


def test_a_file_of_another_account_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.xml"
    path.write_bytes(FORMATS["camt053"][1](Bank(account="9999999"), MONDAY, MONDAY))
    with pytest.raises(NotImported) as refused:
        read_file(path, [ACCOUNT])
    assert refused.value.code == BankImportRefusal.UNKNOWN_ACCOUNT
    path.write_bytes(FORMATS["camt053"][1](Bank(), MONDAY, MONDAY))
    with pytest.raises(NotImported) as refused:
        read_file(path, [ACCOUNT, OTHER], number=OTHER.number)
    assert refused.value.code == BankImportRefusal.OTHER_ACCOUNT


def test_a_table_that_names_no_account_needs_it_named(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(FORMATS["csv"][1](Bank(), MONDAY, MONDAY).replace(b"Account Number", b"Holder"))
    with pytest.raises(Invalid) as refused:
        read_file(path, [ACCOUNT, OTHER])
    assert refused.value.code == BankImportRefusal.WHICH_ACCOUNT
    [found] = read_file(path, [ACCOUNT, OTHER], number=" 2201 0012 345 ")
    assert found.account == ACCOUNT


def test_an_entry_that_cannot_be_read_refuses_the_file(tmp_path: Path) -> None:
    path = tmp_path / "bad.xml"
    path.write_bytes(FORMATS["camt053"][1](busy_bank(one_sum=False), MONDAY, MONDAY).replace(b"590.50", b"590.505", 1))
    with pytest.raises(NotImported) as refused:
        read_file(path, [ACCOUNT])
    assert refused.value.code == BankImportRefusal.UNREADABLE


@pytest.mark.parametrize(
    "wrong",
    [
        {"bic": "CRDB"},
        {"number": "22 01"},
        {"number": "1"},
        {"name": "Mama & Wana"},
        {"payout_layout": "columns = []"},
        {"statement_layout": "title = 'no columns'"},
    ],
)
def test_an_account_whose_files_a_bank_would_refuse_is_refused(wrong: dict[str, str]) -> None:
    assert check(ACCOUNT) == ACCOUNT
    with pytest.raises(Invalid):
        check(replace(ACCOUNT, **wrong))
