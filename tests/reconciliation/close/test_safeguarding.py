"""Safeguarding by a grid of closes, and the pages and commands that show it."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from malipo.db import Database
from malipo.ledger.house_bookings import HouseBookingKind
from malipo.reconciliation.close.close_csv import csv_of
from malipo.reconciliation.close.plain_text import lines_of
from malipo.reconciliation.close.safeguarding import BankSeen, Cover, Place, safeguarding_of, with_bank
from malipo.reconciliation.close.signed_content import (
    ChannelClose,
    CloseColumn,
    DayClose,
    OpenReason,
    Sum,
    decode,
    encode,
)
from tests.reconciliation.close.books import MONDAY, TUESDAY, Books, at

# By the ledger: merchants own 900 (700 + 100 + 40 + 60), networks hold 600, the bank 400; 100 are the house's own.
BALANCES = {
    "wallet": 700,
    "in_flight": 100,
    "in_settlement": 40,
    "suspense": 60,
    "float MPESA": -350,
    "float TIGO_PESA": -250,
    "bank": -400,
    "fees": 130,
    "network_fees": -30,
}


def column(closing: int) -> CloseColumn:
    return CloseColumn(opening=0, changes={}, closing=closing)


def close_of(mpesa: int | None, why: dict[OpenReason, int], **balances: int) -> DayClose:
    """A close whose statement of M-Pesa says this; there is none of Tigo Pesa."""
    channels = (
        ChannelClose(
            channel="MPESA",
            ledger=column(350),
            statement=None if mpesa is None else column(mpesa),
            accounts={},
            open={reason: Sum(1, amount) for reason, amount in why.items()},
        ),
        ChannelClose(
            channel="TIGO_PESA",
            ledger=column(250),
            statement=None,
            accounts={},
            open={OpenReason.NO_STATEMENT: Sum(1, -250)},
        ),
    )
    return DayClose(
        day=MONDAY,
        channels=channels,
        balances=BALANCES | balances,
        changes={},
        wallets=700,
        in_flight=100,
        owed=0,
        routes={},
        late={},
    )


# The statement, why it differs, and by hand: the difference, what of it is explained and unexplained, and the verdict.
GRID: list[tuple[int | None, dict[OpenReason, int], dict[str, int], tuple[int, int, int, int, Cover]]] = [
    (350, {}, {}, (100, 100, 0, 0, Cover.COVERED)),
    (None, {}, {}, (100, 100, 0, 0, Cover.COVERED)),
    (370, {OpenReason.EXCEPTION: 20}, {}, (120, 100, 20, 0, Cover.COVERED)),
    (300, {OpenReason.EXPECTED: -50}, {}, (50, 100, -50, 0, Cover.COVERED)),
    (340, {OpenReason.UNEXPLAINED: -10}, {}, (90, 100, 0, -10, Cover.UNEXPLAINED)),
    (351, {OpenReason.ACCEPTED: 1}, {}, (101, 100, 0, 1, Cover.UNEXPLAINED)),
    (350, {OpenReason.ACCEPTED: 7, OpenReason.TIMING: -7}, {}, (100, 100, -7, 7, Cover.UNEXPLAINED)),
    (200, {OpenReason.EXCEPTION: -150}, {}, (-50, 100, -150, 0, Cover.SHORT)),
    # The house has written off more than it has earned: what is missing is the merchants'.
    (350, {}, {"losses": -101, "wallet": 801}, (-1, -1, 0, 0, Cover.SHORT)),
    # The owners have paid it in again.
    (350, {}, {"losses": -101, "wallet": 801, "bank": -500, "equity": 100}, (99, 99, 0, 0, Cover.COVERED)),
]

# Suspense below zero, and debts, by hand: what suspense counts as merchants' own, what is missing, the difference, what
# of it is unexplained, and the verdict. Networks, bank and wallets are as above, but M-Pesa has paid out what is missing.
MISSING: list[tuple[int, int, int, tuple[int, int, int, int, Cover]]] = [
    # suspense, owed, M-Pesa's balance
    (60, 0, 350, (60, 0, 100, 0, Cover.COVERED)),
    # A payout that was reported FAILED was paid, and its merchant has spent the money.
    (-200, 200, 90, (0, 200, -100, 0, Cover.SHORT)),
    # A payout that the network paid twice: nobody owes it.
    (-200, 0, 90, (0, 200, -100, 0, Cover.SHORT)),
    # The house has earned enough to bear it.
    (-90, 90, 200, (0, 90, 10, 0, Cover.COVERED)),
    # A debt and other people's money in suspense: the one does not make the other less.
    (0, 200, 290, (200, 200, -100, 0, Cover.SHORT)),
    (-140, 200, 150, (60, 200, -100, 0, Cover.SHORT)),
    # More is missing than merchants owe.
    (-250, 200, 40, (0, 250, -150, 0, Cover.SHORT)),
]


@pytest.mark.parametrize(("suspense", "owed", "mpesa", "expected"), MISSING)
def test_a_debt_does_not_make_merchants_own_less(
    suspense: int, owed: int, mpesa: int, expected: tuple[int, int, int, int, Cover]
) -> None:
    close = replace(close_of(mpesa, {}, **{"suspense": suspense, "float MPESA": -mpesa}), owed=owed)
    assert sum(close.balances.values()) == 0
    found = safeguarding_of(close)
    owned = dict(found.owned)["suspense"]
    assert (owned, found.missing, found.difference, found.unexplained, found.cover) == expected
    assert found.merchants == 700 + 100 + 40 + owned
    assert found.difference == found.own + found.explained + found.unexplained - found.missing
    lines = "\n".join(lines_of(close))
    assert ("missing in suspense" in lines) == bool(found.missing)


@pytest.mark.parametrize(("mpesa", "why", "balances", "expected"), GRID)
def test_the_difference_is_the_houses_own_or_is_explained(
    mpesa: int | None,
    why: dict[OpenReason, int],
    balances: dict[str, int],
    expected: tuple[int, int, int, int, Cover],
) -> None:
    found = safeguarding_of(close_of(mpesa, why, **balances))
    assert (found.difference, found.own, found.explained, found.unexplained, found.cover) == expected
    assert sum(close_of(mpesa, why, **balances).balances.values()) == 0
    assert found.there - found.merchants == found.own + found.explained + found.unexplained


def test_each_place_says_where_its_balance_is_from() -> None:
    found = safeguarding_of(close_of(370, {OpenReason.EXCEPTION: 20}))
    assert found.places == [
        Place("bank", 400, None),
        Place("float MPESA", 350, 370),
        Place("float TIGO_PESA", 250, None),
    ]
    assert [*found.owned] == [("wallet", 700), ("in_flight", 100), ("in_settlement", 40), ("suspense", 60)]
    lines = "\n".join(lines_of(close_of(370, {OpenReason.EXCEPTION: 20})))
    assert "Float at MPESA, by its statement" in lines
    assert "Float at TIGO_PESA, by the ledger" in lines


def test_a_close_of_an_earlier_version_has_it_too() -> None:
    """It follows from what is signed: nothing is added to the content."""
    close = close_of(350, {})
    assert "safeguarding" not in encode(close)
    earlier = {name: amount for name, amount in BALANCES.items() if name != "in_settlement"} | {"wallet": 740}
    found = safeguarding_of(decode(encode(replace(close, balances=earlier))))
    assert (found.merchants, found.difference, found.cover) == (900, 100, Cover.COVERED)


# The gap between the bank's statements and the ledger, what of it nothing explains, and by hand: the bank's balance, the
# difference, what of it is explained and unexplained, and the verdict. The house's own are 100.
BANK: list[tuple[BankSeen | None, tuple[int, int, int, int, Cover]]] = [
    (None, (400, 100, 0, 0, Cover.COVERED)),
    (BankSeen(gap=0, unexplained=0), (400, 100, 0, 0, Cover.COVERED)),
    (BankSeen(gap=30, unexplained=0), (430, 130, 30, 0, Cover.COVERED)),
    (BankSeen(gap=-70, unexplained=-70), (330, 30, 0, -70, Cover.UNEXPLAINED)),
    (BankSeen(gap=-70, unexplained=0), (330, 30, -70, 0, Cover.COVERED)),
    (BankSeen(gap=-101, unexplained=0), (299, -1, -101, 0, Cover.SHORT)),
    (BankSeen(gap=0, unexplained=-20), (400, 100, 20, -20, Cover.UNEXPLAINED)),
]


@pytest.mark.parametrize(("seen", "expected"), BANK)
def test_the_bank_is_believed_and_not_the_ledger(
    seen: BankSeen | None, expected: tuple[int, int, int, int, Cover]
) -> None:
    found = with_bank(safeguarding_of(close_of(350, {})), seen)
    [bank] = [each.there for each in found.places if each.name == "bank"]
    assert (bank, found.difference, found.explained, found.unexplained, found.cover) == expected


async def test_a_real_close_says_it_on_paper_and_in_its_spreadsheet(database: Database, tmp_path: Path) -> None:
    books = await Books.begin(database, tmp_path)
    await books.paid("R1", 5000, at(MONDAY))
    await books.statement(MONDAY, [("R1", 5000, "11:59", "money"), ("X", 700, "15:00", "money")])
    await books.match("R1")
    await books.exception("theirs_only", "X")
    monday = safeguarding_of(await books.close(MONDAY))
    assert (monday.merchants, monday.there, monday.own, monday.explained, monday.cover) == (
        4990,
        5700,
        10,
        700,
        Cover.COVERED,
    )
    # A charge that is larger than what the house has earned is paid with merchants' money.
    file = await books.statement(TUESDAY, [("F", -60, "15:00", "fee")])
    await books.book(HouseBookingKind.NETWORK_FEE, -60, TUESDAY, file_id=file, reference=str(TUESDAY))
    close = await books.close(TUESDAY)
    tuesday = safeguarding_of(close)
    assert (tuesday.own, tuesday.explained, tuesday.difference, tuesday.cover) == (-50, 700, 650, Cover.COVERED)
    assert "2026-11-03,safeguarding,,,difference,,,,,650,," in csv_of(close)
