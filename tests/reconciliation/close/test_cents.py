"""Days whose statements have cents: each adds up, and the two columns are never more than a shilling apart for them."""

import random
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from malipo.app.assemble import Service
from malipo.db import Database
from malipo.payments.apply_network_answers import ApplyNetworkAnswers
from malipo.payments.dispatch import QueryRules
from malipo.reconciliation.close.close_day import DayDoesNotAddUp
from malipo.reconciliation.close.signed_content import ChangeKind, OpenReason
from malipo.reconciliation.matching.match_statements import match_statements
from tests.reconciliation.close.books import LATER, MONDAY, Books, at, of_channel, opened


@pytest.fixture
async def books(database: Database, tmp_path: Path) -> Books:
    return await Books.begin(database, tmp_path)


async def test_days_with_cents_add_up_one_after_another(books: Books, service: Service) -> None:
    apply_answers = ApplyNetworkAnswers(clock=lambda: LATER, rules=QueryRules.of(service.settings))
    chance, rounded = random.Random(29), 0
    for number in range(4):
        day = MONDAY + timedelta(days=number)
        await books.paid(f"R{number}", 5000, at(day))
        fees = [
            (f"F{number}-{nth}", -Decimal(chance.randint(1, 9_999)) / 100, f"12:{nth:02}", "fee") for nth in range(7)
        ]
        await books.statement(day, [(f"R{number}", 5000, "11:59", "money"), *fees])
        await match_statements(books.database, apply_answers, approval_amount=1_000_000, clock=lambda: LATER)
        close = await books.close(day)
        channel = of_channel(close)
        assert channel.adds_up
        assert channel.statement is not None
        assert channel.statement.changes[ChangeKind.FEES] == channel.ledger.changes[ChangeKind.FEES]
        assert {reason: abs(amount) for reason, amount in opened(close).items()} in ({}, {OpenReason.ROUNDING: 1})
        assert abs(channel.difference or 0) <= 1
        rounded += abs(channel.ledger.changes.get(ChangeKind.ROUNDING, 0))
    assert rounded, "or this has shown nothing"


async def test_a_balance_that_is_two_shillings_off_is_not_taken_for_cents(books: Books, service: Service) -> None:
    apply_answers = ApplyNetworkAnswers(clock=lambda: LATER, rules=QueryRules.of(service.settings))
    await books.statement(MONDAY, [("F1", Decimal("-59.40"), "12:00", "fee")], opening=1000)
    await match_statements(books.database, apply_answers, approval_amount=1_000_000, clock=lambda: LATER)
    async with books.database.begin() as tx:
        await tx.execute("UPDATE statement_files SET closing = closing - 2")
    with pytest.raises(DayDoesNotAddUp):
        await books.close(MONDAY)


async def test_an_incoming_line_with_the_words_of_a_fee_is_an_open_exception_and_no_gap(
    books: Books, service: Service
) -> None:
    apply_answers = ApplyNetworkAnswers(clock=lambda: LATER, rules=QueryRules.of(service.settings))
    await books.paid("R1", 5000, at(MONDAY))
    lines = [("R1", 5000, "11:59", "Transaction fee"), ("F1", -40, "12:00", "fee"), ("F2", 30, "12:01", "fee")]
    await books.statement(MONDAY, lines)
    await match_statements(books.database, apply_answers, approval_amount=1_000_000, clock=lambda: LATER)
    close = await books.close(MONDAY)
    assert opened(close) == {OpenReason.EXCEPTION: 30}
    channel = of_channel(close)
    assert channel.statement is not None
    assert channel.statement.changes == {ChangeKind.IN: 5000, ChangeKind.FEES: -10}
    assert channel.ledger.changes == {ChangeKind.IN: 5000, ChangeKind.FEES: -40}
