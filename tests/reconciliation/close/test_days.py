"""A grid of days: the two columns of each, its close, and the items that it leaves open for the next."""

from pathlib import Path

import pytest

from malipo.app.assemble import Service
from malipo.cli.close.differences import sentences_of
from malipo.db import Database
from malipo.ledger.accounts import Account, Move, Step
from malipo.ledger.house_bookings import HouseBookingKind
from malipo.payments.apply_network_answers import ApplyNetworkAnswers
from malipo.payments.dispatch import QueryRules
from malipo.reconciliation.close.business_day import end_of
from malipo.reconciliation.close.close_csv import csv_of
from malipo.reconciliation.close.close_day import DayDoesNotAddUp
from malipo.reconciliation.close.signed_content import ChangeKind, CloseReading, OpenReason
from malipo.reconciliation.close.store import balances
from malipo.reconciliation.matching.match_statements import match_statements
from tests.reconciliation.close.books import (
    LATER,
    MONDAY,
    THURSDAY,
    TUESDAY,
    WEDNESDAY,
    Books,
    at,
    of_channel,
    opened,
)


@pytest.fixture
async def books(database: Database, tmp_path: Path) -> Books:
    return await Books.begin(database, tmp_path)


async def test_a_day_on_which_both_sides_have_the_same_adds_up(books: Books) -> None:
    await books.paid("R1", 5000, at(MONDAY))
    await books.paid("R2", 3000, at(MONDAY))
    await books.paid_out("R3", 2000, at(MONDAY, "13:00"))
    file = await books.statement(
        MONDAY,
        [
            ("R1", 5000, "11:59:58", "money"),
            ("R1", -50, "11:59:58", "fee"),
            ("R2", 3000, "11:59:59", "money"),
            ("R3", -2000, "12:59", "money"),
        ],
    )
    await books.match("R1", "R2", "R3")
    await books.book(HouseBookingKind.NETWORK_FEE, -50, MONDAY, file_id=file, reference=str(MONDAY))
    close = await books.close(MONDAY)
    channel = of_channel(close)
    assert channel.statement is not None
    changes = {ChangeKind.IN: 8000, ChangeKind.OUT: -2000, ChangeKind.FEES: -50}
    assert (channel.statement.opening, channel.statement.changes, channel.statement.closing) == (0, changes, 5950)
    assert (channel.ledger.opening, channel.ledger.changes, channel.ledger.closing) == (0, changes, 5950)
    assert (channel.difference, channel.open, close.adds_up) == (0, {}, True)
    assert close.balances == {
        "fees": 20,
        "float MPESA": -5950,
        "in_flight": 0,
        "network_fees": -50,
        "wallet": 5980,
    }
    assert (close.wallets, close.in_flight, close.trial_balance) == (5980, 0, 0)


async def test_a_line_that_only_the_network_has_is_open_until_it_is_booked(books: Books) -> None:
    await books.paid("R1", 5000, at(MONDAY))
    await books.statement(MONDAY, [("R1", 5000, "11:59", "money"), ("X", 700, "15:00", "money")])
    await books.match("R1")
    with pytest.raises(DayDoesNotAddUp) as refused:  # nobody has looked at it yet
        await books.close(MONDAY)
    assert sentences_of(refused.value.close)[:3] == [
        "MPESA: TZS 700 between statement and ledger are not explained.",
        "MPESA: The sums of 'in' differ by TZS 700.",
        "MPESA: TZS 700 only in the statement: line X, 2026-11-02.",
    ]
    exception = await books.exception("theirs_only", "X")
    close = await books.close(MONDAY)
    assert opened(close) == {OpenReason.EXCEPTION: 700}
    [item] = of_channel(close).items
    assert (item.name, item.exception, item.kind, item.side) == ("X", exception, "theirs_only", "statement")
    # It is booked on Wednesday, when Monday is closed: into the first open day.
    await books.statement(TUESDAY, [])
    await books.book(HouseBookingKind.LINE, 700, MONDAY, line_id=await books.line_id("X"))
    tuesday = await books.close(TUESDAY)
    assert (opened(tuesday), of_channel(tuesday).difference) == ({}, 0)
    assert of_channel(tuesday).ledger.changes == {ChangeKind.IN: 700}


async def test_a_payment_that_only_the_ledger_has_is_open_until_it_is_resolved(books: Books) -> None:
    await books.paid("R1", 5000, at(MONDAY))
    await books.statement(MONDAY, [])
    with pytest.raises(DayDoesNotAddUp) as refused:
        await books.close(MONDAY)
    assert "MPESA: TZS 5,000 only in the ledger: payment R1, 2026-11-02." in sentences_of(refused.value.close)
    await books.exception("ours_only", "R1")
    assert opened(await books.close(MONDAY)) == {OpenReason.EXCEPTION: -5000}
    # Two days later it is found that it was never paid.
    await books.statement(TUESDAY, [])
    assert opened(await books.close(TUESDAY)) == {OpenReason.EXCEPTION: -5000}
    await books.contradicted("R1", -5000, at(WEDNESDAY))
    await books.statement(WEDNESDAY, [])
    wednesday = await books.close(WEDNESDAY)
    assert (opened(wednesday), of_channel(wednesday).ledger.changes) == ({}, {ChangeKind.REVERSALS: -5000})


@pytest.mark.parametrize("difference", [5000, -5000], ids=["the network first", "the ledger first"])
async def test_a_payment_over_midnight_is_timing_and_gone_the_next_day(books: Books, difference: int) -> None:
    is_network_first = difference > 0
    await books.paid("R1", 5000, at(TUESDAY, "00:00:02") if is_network_first else at(MONDAY, "23:59:58"))
    first, second = [("R1", 5000, "23:59:59", "money")], [("R1", 5000, "00:00:01", "money")]
    await books.statement(MONDAY, first if is_network_first else [])
    await books.statement(TUESDAY, [] if is_network_first else second)
    await books.match("R1")
    monday = await books.close(MONDAY)
    assert (opened(monday), of_channel(monday).difference) == ({OpenReason.TIMING: difference}, difference)
    tuesday = await books.close(TUESDAY)
    assert (opened(tuesday), of_channel(tuesday).difference, tuesday.adds_up) == ({}, 0, True)


async def test_a_payment_shortly_before_midnight_is_expected_in_the_next_statement(books: Books) -> None:
    await books.paid("R1", 5000, at(MONDAY, "23:59:58"))
    await books.statement(MONDAY, [])
    assert opened(await books.close(MONDAY)) == {OpenReason.EXPECTED: -5000}
    # It is not there either: it needs an exception now.
    await books.statement(TUESDAY, [])
    with pytest.raises(DayDoesNotAddUp):
        await books.close(TUESDAY)


async def test_a_fee_that_is_learned_later_counts_when_it_became_known(books: Books) -> None:
    await books.paid("R1", 5000, at(MONDAY))
    first = await books.statement(MONDAY, [("R1", 5000, "11:59", "money")])
    await books.match("R1")
    monday = await books.close(MONDAY)
    await books.withdraw(first)
    file = await books.statement(
        MONDAY,
        [("R1", 5000, "11:59", "money"), ("R1", -50, "11:59", "fee")],
        opening=0,
        days=2,
        name="both days.csv",
    )
    await books.match("R1")
    await books.book(HouseBookingKind.NETWORK_FEE, -50, MONDAY, file_id=file, reference=str(MONDAY))
    tuesday = await books.close(TUESDAY)
    channel = of_channel(tuesday)
    assert channel.statement is not None
    assert (channel.statement.opening, channel.statement.changes, channel.statement.closing) == (
        of_channel(monday).statement.closing,  # type: ignore[union-attr]
        {ChangeKind.FEES: -50},
        4950,
    )
    assert (channel.learned_later, channel.ledger.changes, channel.difference) == (-50, {ChangeKind.FEES: -50}, 0)


async def test_a_contradiction_that_is_learned_two_days_later_is_of_that_day(books: Books) -> None:
    """A payout FAILED on Monday; Monday's statement shows that it was paid, and comes on Wednesday."""
    await books.paid("R1", 9000, at(MONDAY, "08:00"))
    await books.failed_payout("R2", 4000, at(MONDAY))
    await books.statement(MONDAY, [("R1", 9000, "07:59", "money"), ("R2", -4000, "12:30", "money")])
    await books.match("R1", "R2")
    await books.contradicted("R2", -4000, at(WEDNESDAY))
    monday = await books.close(MONDAY)
    assert opened(monday) == {OpenReason.TIMING: -4000}
    await books.statement(TUESDAY, [])
    await books.statement(WEDNESDAY, [])
    assert opened(await books.close(TUESDAY)) == {OpenReason.TIMING: -4000}
    wednesday = await books.close(WEDNESDAY)
    assert (opened(wednesday), of_channel(wednesday).ledger.changes) == ({}, {ChangeKind.OUT: -4000})
    assert (wednesday.balances["suspense"], wednesday.trial_balance) == (-4000, 0)


async def test_an_account_that_opens_with_more_than_the_ledger_has_does_not_add_up(books: Books) -> None:
    await books.paid("R1", 5000, at(MONDAY))
    await books.statement(MONDAY, [("R1", 5000, "11:59", "money")], opening=250)
    await books.match("R1")
    with pytest.raises(DayDoesNotAddUp) as refused:
        await books.close(MONDAY)
    assert sentences_of(refused.value.close) == [
        "MPESA: TZS 250 between statement and ledger are not explained.",
        "MPESA: TZS 250 only in the statement: balance that does not follow from the lines, 2026-11-02.",
    ]
    # Two operators accept it; from then on it is known, and the days that follow add up.
    await books.try_to_close(MONDAY, accepts_difference=True, reason="the float of before malipo")
    assert opened((await books.approve(MONDAY)).close) == {OpenReason.UNEXPLAINED: 250}
    await books.statement(TUESDAY, [])
    assert opened(await books.close(TUESDAY)) == {OpenReason.ACCEPTED: 250}


async def test_two_accounts_at_one_network_are_one_float_also_with_a_sweep_between_them(books: Books) -> None:
    await books.paid("R1", 5000, at(MONDAY))
    lines = [("R1", 5000, "11:59", "money"), ("S", -4000, "20:00", "sweep")]
    utility = await books.statement(MONDAY, lines, account="Utility")
    settlement = await books.statement(MONDAY, [("S", 4000, "20:00", "sweep")], account="Settlement")
    await books.match("R1")
    await books.book(HouseBookingKind.SWEEP, -4000, MONDAY, account="Utility", file_id=utility, reference=str(MONDAY))
    await books.book(
        HouseBookingKind.SWEEP, 4000, MONDAY, account="Settlement", file_id=settlement, reference=str(MONDAY)
    )
    channel = of_channel(await books.close(MONDAY))
    assert (channel.accounts, channel.ledger.closing) == ({"Settlement": 4000, "Utility": 1000}, 5000)
    assert (channel.difference, channel.open) == (0, {})


async def test_a_transfer_to_the_bank_is_on_its_way_over_midnight(books: Books) -> None:
    await books.paid("R1", 5000, at(MONDAY))
    await books.statement(MONDAY, [("R1", 5000, "11:59", "money")])
    await books.match("R1")
    transfer = await books.book(HouseBookingKind.BANK_TRANSFER, -3000, MONDAY, reference="FT1")
    monday = await books.close(MONDAY)
    assert opened(monday) == {OpenReason.TRANSFER: 3000}
    assert [(each.what, each.name) for each in of_channel(monday).items] == [("booking", "FT1")]
    await books.statement(TUESDAY, [("B1", -3000, "09:00", "bank")])
    await books.match_booking("B1", transfer.id)
    tuesday = await books.close(TUESDAY)
    assert (opened(tuesday), of_channel(tuesday).difference, tuesday.balances["bank"]) == ({}, 0, -3000)


async def test_a_transfer_that_never_arrives_is_not_explained_for_ever(books: Books) -> None:
    await books.book(HouseBookingKind.BANK_TRANSFER, 3000, MONDAY, reference="FT1")
    for day in (MONDAY, TUESDAY, WEDNESDAY):
        await books.statement(day, [])
        assert opened(await books.close(day)) == {OpenReason.TRANSFER: -3000}
    await books.statement(THURSDAY, [])
    with pytest.raises(DayDoesNotAddUp):
        await books.close(THURSDAY)


async def test_a_move_that_is_written_after_the_close_of_its_day_counts_in_the_next(books: Books) -> None:
    await books.statement(MONDAY, [("R1", 5000, "23:59:59", "money")])
    await books.exception("theirs_only", "R1")
    await books.close(MONDAY)
    # The process hung for hours, and writes the time at which it began.
    await books.paid("R1", 5000, at(MONDAY, "23:59:59"))
    await books.match("R1")
    await books.statement(TUESDAY, [])
    with pytest.raises(DayDoesNotAddUp) as refused:
        await books.close(TUESDAY)
    assert refused.value.close.late == {"float>fees MPESA": 10, "float>wallet MPESA": 4990}
    assert (of_channel(refused.value.close).difference, refused.value.close.trial_balance) == (0, 0)


async def test_wallets_that_are_not_those_of_the_moves_are_found_by_the_trial_balance(books: Books) -> None:
    await books.paid("R1", 5000, at(MONDAY))
    await books.statement(MONDAY, [("R1", 5000, "11:59", "money")])
    await books.match("R1")
    # What moved since the end of the day is no part of it.
    await books.post("txn_later", Step.OPEN, [Move(Account.WALLET, Account.IN_FLIGHT, 1000)], at(TUESDAY))
    async with books.database.begin() as tx:
        await tx.execute("UPDATE wallets SET available = available + 7")
    with pytest.raises(DayDoesNotAddUp) as refused:
        await books.close(MONDAY)
    assert sentences_of(refused.value.close) == ["The trial balance is TZS 7, not zero. See: malipo ledger check"]
    async with books.database.begin() as tx:
        await tx.execute("UPDATE wallets SET available = available - 7")
    close = await books.close(MONDAY)
    assert (close.wallets, close.in_flight, close.trial_balance) == (4990, 0, 0)


async def test_a_day_that_an_import_matches_and_books_automatically_adds_up(books: Books, service: Service) -> None:
    """With the real matching: payments by their receipts, fees and sweeps by bookings, an unknown line as an exception."""
    apply_answers = ApplyNetworkAnswers(clock=lambda: LATER, rules=QueryRules.of(service.settings))
    await books.paid("R1", 5000, at(MONDAY))
    await books.paid_out("R2", 2000, at(MONDAY, "13:00"))
    lines = [
        ("R1", 5000, "11:59", "money"),
        ("R1", -50, "11:59", "fee"),
        ("R2", -2000, "13:00", "money"),
        ("S", -900, "20:00", "sweep"),
        ("X", 700, "21:00", "money"),
    ]
    first = await books.statement(MONDAY, lines, account="Utility")
    await books.statement(MONDAY, [("S", 900, "20:00", "sweep")], account="Settlement")
    await match_statements(books.database, apply_answers, approval_amount=1_000_000, clock=lambda: LATER)
    channel = of_channel(await books.close(MONDAY))
    assert {reason: (each.count, each.amount) for reason, each in channel.open.items()} == {
        OpenReason.EXCEPTION: (1, 700)
    }
    assert [(each.name, each.kind) for each in channel.items] == [("X", "theirs_only")]
    # A line of the closed day comes with a corrected file: it counts on the day on which it became known.
    await books.withdraw(first)
    later = [*((receipt, amount, f"{MONDAY} {moment}", kind) for receipt, amount, moment, kind in lines)]
    later.append(("R2", -20, f"{MONDAY} 13:00", "fee"))
    await books.statement(MONDAY, later, account="Utility", opening=0, days=2, name="longer.csv")
    await books.statement(TUESDAY, [], account="Settlement")
    await match_statements(books.database, apply_answers, approval_amount=1_000_000, clock=lambda: LATER)
    tuesday = of_channel(await books.close(TUESDAY))
    assert (tuesday.learned_later, tuesday.ledger.changes) == (-20, {ChangeKind.FEES: -20})
    assert {reason: each.amount for reason, each in tuesday.open.items()} == {OpenReason.EXCEPTION: 700}


async def test_payments_of_an_aggregator_without_a_statement_are_explained_as_such(books: Books) -> None:
    await books.paid("R1", 5000, at(MONDAY))
    await books.paid_out("R2", 2000, at(MONDAY, "13:00"))
    await books.paid_out("R3", 300, at(MONDAY, "14:00"))
    for receipt, connector in (("R1", "mpesa"), ("R2", "azampay"), ("R3", "mpesa")):
        await books.carried_by(receipt, connector)
    await books.statement(MONDAY, [("R1", 5000, "11:59", "money"), ("R3", -300, "14:00", "money")])
    await books.match("R1", "R3")
    assert opened(await books.close(MONDAY)) == {OpenReason.OTHER_CARRIER: 2000}
    await books.statement(TUESDAY, [])
    assert opened(await books.close(TUESDAY)) == {OpenReason.OTHER_CARRIER: 2000}, "a day does not change that"


async def test_the_report_has_merchants_debts_as_of_the_end_of_the_day(books: Books) -> None:
    """By hand: 5,000 is taken back on Tuesday, of which the wallet gives 1,200 and the house bears 300 on Wednesday."""
    await books.paid("R1", 5000, at(MONDAY))
    await books.contradicted("R1", -5000, at(TUESDAY))
    taken = [Move(Account.WALLET, Account.SUSPENSE, 1200), Move(Account.LOSSES, Account.SUSPENSE, 300)]
    await books.post(books.payments["R1"], Step.RESOLUTION, taken, at(WEDNESDAY))
    await books.statement(MONDAY, [("R1", 5000, "12:00", "money")])
    await books.match("R1")
    assert (await books.close(MONDAY)).owed == 0
    async with books.database.begin() as tx:
        owed = [(await balances.find_wallets(tx, end_of(day)))[2] for day in (MONDAY, TUESDAY, WEDNESDAY)]
    assert owed == [0, 5000, 3500]


async def test_a_reading_stands_beside_the_statement_of_its_own_account_and_moment(books: Books) -> None:
    """By hand: at noon Utility holds 5,000, at the end 3,000. Nobody has read Settlement."""
    await books.paid("R1", 5000, at(MONDAY, "09:00"))
    await books.paid_out("R2", 2000, at(MONDAY, "15:00"))
    await books.statement(MONDAY, [("R1", 5000, "09:00", "money"), ("R2", -2000, "15:00", "money")], account="Utility")
    await books.statement(MONDAY, [], account="Settlement")
    await books.match("R1", "R2")
    async with books.database.begin() as tx:
        for account, amount, when in (("Utility", 4_990, "12:00"), ("Old", 7, "13:00"), ("Utility", 1, "11:00")):
            await tx.execute(
                """
                INSERT INTO float_readings (channel, account, amount, source, read_at, noted_by)
                VALUES ('MPESA', $1, $2, 'operator', $3, 'operator asha')
                """,
                account,
                amount,
                at(MONDAY, when),
            )
    close = await books.close(MONDAY)
    channel = of_channel(close)
    noon = CloseReading(amount=4_990, read_at=at(MONDAY), stated=5_000)
    assert dict(channel.last_readings) == {"Utility": noon, "Old": CloseReading(amount=7, read_at=at(MONDAY, "13:00"))}
    assert (noon.difference, channel.difference) == (-10, 0)
    rows = [row for row in csv_of(close).splitlines() if ",reading," in row]
    assert rows == [
        "2026-11-02,reading,MPESA,Old,last of the day 2026-11-02 13:00,,,,7,,,,",
        "2026-11-02,reading,MPESA,Utility,last of the day 2026-11-02 12:00,,,,4990,,,,",
        "2026-11-02,reading,MPESA,Utility,by its statement 2026-11-02 12:00,,,,5000,,,,",
    ]
