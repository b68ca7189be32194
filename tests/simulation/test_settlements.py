"""The settlements of a seed: the same at every draw; and what the oracle says of the bank's book. A grid, by hand."""

from dataclasses import replace
from datetime import date

import pytest

from malipo_simulator.bank.bank import Bank, BankEntry
from simulation.plan import draw
from simulation.settlements import bank_book, planned, settlement_oracle
from simulation.settlements.bank_book import KeysBook
from simulation.settlements.merchant_settlements import SettlementReplies
from simulation.settlements.planned import PlannedSettlement
from simulation.settlements.settlement_oracle import OpenLine, SettlementRow

SEEDS = range(300)
MONDAY, TUESDAY = date(2027, 1, 18), date(2027, 1, 19)
ROW = SettlementRow("mer_1", "stl_1", "KEY", "MLP-KEY", "COMPLETED", amount=10_500, fee=500)
PAID, BACK = KeysBook([("FILE", 1_000_000)]), KeysBook([("FILE", 1_000_000)], [1_000_000])


def test_half_of_the_seeds_have_settlements_and_the_same_at_every_draw() -> None:
    drawn = [planned.draw(seed) for seed in SEEDS]
    assert 100 < sum(each is None for each in drawn) < 200
    assert drawn == [draw(seed, payments=3).settlements for seed in SEEDS]
    for seed in SEEDS[:30]:
        without = draw(seed, payments=3, has_settlements=False)
        assert without == replace(draw(seed, payments=3), settlements=None), "all else is what it was without them"


def test_banks_and_operators_are_of_every_kind() -> None:
    drawn = [each for seed in SEEDS if (each := planned.draw(seed)) is not None]
    assert {each.bank.is_table for each in drawn} == {each.bank.books_one_sum for each in drawn} == {True, False}
    assert {account.behaviour for each in drawn for account in each.accounts} == {"", "refused", "returned"}
    assert {each.days.formats[0] for each in drawn} == {"camt053", "mt940", "csv"}
    for each in drawn:
        if each.days.restore_on is not None:
            assert any(request.day == each.days.restore_on for request in each.requests), "it loses something"


def _bank(*entries: BankEntry) -> Bank:
    bank = Bank()
    bank._kept.entries.extend(entries)
    return bank


def _transfer(number: int, key: str, file: str, *, day: date = MONDAY, is_return: bool = False) -> BankEntry:
    cents = 1_000_000 if is_return else -1_000_000
    return BankEntry(
        number=number,
        day=day,
        cents=cents,
        reference=f"FT{number}",
        end_to_end=key,
        message_id=file,
        is_return=is_return,
    )


def test_a_key_that_was_paid_from_two_files_is_found_and_a_file_that_was_handed_in_twice_is_not() -> None:
    twice = _bank(_transfer(1, "A", "FILE1"), _transfer(2, "A", "FILE1"), _transfer(3, "B", "FILE1"))
    assert bank_book.paid_by_two_files(twice) == {}
    again = _bank(_transfer(1, "A", "FILE1"), _transfer(2, "A", "FILE2"), _transfer(3, "B", "FILE2"))
    assert bank_book.paid_by_two_files(again) == {"A": {"FILE1", "FILE2"}}


def test_the_transfers_of_a_sum_are_looked_at_one_by_one_and_what_is_booked_later_does_not_count() -> None:
    parts = (_transfer(1, "A", "FILE1"), _transfer(1, "B", "FILE1"))
    whole = BankEntry(number=1, day=MONDAY, cents=-2_000_000, reference="FT1", message_id="FILE1", parts=parts)
    back = _transfer(2, "A", "", day=TUESDAY, is_return=True)
    book = bank_book.by_key(_bank(whole, back))
    assert (book["A"].is_back, book["B"].is_paid, book["B"].is_back) == (True, True, False)
    assert not bank_book.by_key(_bank(whole, back), MONDAY)["A"].is_back


@pytest.mark.parametrize(
    ("status", "book", "is_refused", "is_right"),
    [
        ("COMPLETED", PAID, False, True),
        ("COMPLETED", None, False, False),
        ("COMPLETED", BACK, False, False),
        ("COMPLETED", KeysBook([("FILE", 999_900)]), False, False),
        ("RETURNED", BACK, False, True),
        ("RETURNED", PAID, False, False),
        ("RETURNED", None, True, True),
        ("RETURNED", None, False, False),
        ("SENT", None, False, True),
        ("SENT", PAID, False, False),
        ("REQUESTED", None, False, True),
        ("REQUESTED", PAID, False, False),
        ("CANCELLED", None, False, True),
        ("CANCELLED", PAID, False, False),
    ],
)
def test_a_settlement_is_what_the_bank_says(
    status: str, book: KeysBook | None, *, is_refused: bool, is_right: bool
) -> None:
    row = replace(ROW, status=status)
    assert (settlement_oracle.what_is_wrong(row, book, [], is_refused=is_refused) is None) is is_right
    shown = [OpenLine("twice", "KEY", "FILE", -1_000_000)]
    assert settlement_oracle.what_is_wrong(row, book, shown, is_refused=is_refused) is None, "operators are shown it"


@pytest.mark.parametrize(
    ("line", "is_shown"),
    [
        (OpenLine("unknown_key", "KEY", "", -1_000_000), True),
        (OpenLine("unknown_key", "FILE", "", -3_000_000), True),
        (OpenLine("unknown_key", "", "FILE", -3_000_000), True),
        (OpenLine("unknown_key", "OTHER", "FILE2", -1_000_000), False),
        (OpenLine("unknown_debit", "", "", -1_000_000), False),
    ],
)
def test_what_nobody_knows_is_shown_by_its_key_or_by_the_sum_of_its_file(line: OpenLine, *, is_shown: bool) -> None:
    assert settlement_oracle.is_shown("KEY", PAID, [line]) is is_shown


WANTED = PlannedSettlement(number=0, merchant=0, amount=10_500, at=1.0, day=0, is_raced=False, cancelled_after=None)


@pytest.mark.parametrize(
    ("answer", "paid", "expected"),
    [
        (SettlementReplies(["stl_1"], ["MLP-KEY"], [2.0]), ("KEY",), []),
        (SettlementReplies(["stl_0"], ["MLP-KEY"], [2.0]), (), ["lost"]),
        (SettlementReplies(["stl_0", "stl_1"], ["MLP-KEY", "MLP-KEY"], [15.0, 25.0]), ("KEY",), []),
        (
            SettlementReplies(["stl_0", "stl_1"], ["MLP-OLD", "MLP-KEY"], [15.0, 25.0]),
            ("KEY", "OLD"),
            ["settled-twice"],
        ),
        (SettlementReplies(["stl_1"], ["MLP-KEY"], [2.0], [(3.0, 4.0)]), ("KEY",), ["cancelled"]),
        (SettlementReplies(["stl_1"], ["MLP-KEY"], [2.0], [(14.0, 15.0)]), ("KEY",), []),
        (SettlementReplies(["stl_1"], ["MLP-KEY"], [2.0], troubles=["asks for: 500"]), ("KEY",), ["broke"]),
    ],
)
def test_one_wish_is_paid_once_unless_a_restore_has_lost_that_it_was_told(
    answer: SettlementReplies, paid: tuple[str, ...], expected: list[str]
) -> None:
    """The restore has lost what was done between the seconds 10 and 20."""
    findings: list[str] = []
    settlement_oracle.check_wish(
        WANTED,
        answer,
        [ROW],
        dict.fromkeys(paid, PAID),
        is_in_lost_time=lambda at: 10 <= at <= 20,
        is_kept=lambda asked, answer: answer < 10 or asked > 20,
        find=lambda kind, _: findings.append(kind),
    )
    assert findings == expected
