"""A line that is taken out of its booking after its day was closed: that day stays, and the next one adds up."""

from datetime import datetime
from pathlib import Path

import pytest

from malipo.app.assemble import Service
from malipo.db import Database
from malipo.payments.apply_network_answers import ApplyNetworkAnswers
from malipo.payments.dispatch import QueryRules
from malipo.reconciliation.close.signed_content import OpenReason
from malipo.reconciliation.matching.match_statements import MatchingResult, match_statements
from tests.reconciliation.close.books import MONDAY, TUESDAY, WEDNESDAY, Books, at, of_channel, opened


@pytest.fixture
async def books(database: Database, tmp_path: Path) -> Books:
    return await Books.begin(database, tmp_path)


async def test_the_payment_of_a_booked_line_is_known_after_its_day_was_closed(books: Books, service: Service) -> None:
    async def match(now: datetime) -> MatchingResult:
        apply_answers = ApplyNetworkAnswers(clock=lambda: now, rules=QueryRules.of(service.settings))
        return await match_statements(books.database, apply_answers, approval_amount=1_000_000, clock=lambda: now)

    await books.paid("R0", 5000, at(MONDAY))
    lines = [("R0", 5000, "11:59", "money"), ("QK1", -900, "12:00", "fee"), ("F1", -40, "12:01", "fee")]
    await books.statement(MONDAY, lines)
    assert (await match(at(TUESDAY, "02:00"))).booked_fees == -940
    assert opened(await books.close(MONDAY)) == {}

    await books.paid_out("QK1", 900, at(TUESDAY))
    await books.paid("R1", 700, at(TUESDAY))
    await books.statement(TUESDAY, [("R1", 700, "12:30", "money")])
    assert (await match(at(WEDNESDAY, "02:00"))).matched == 2
    close = await books.close(TUESDAY)
    assert of_channel(close).adds_up
    assert set(opened(close)) <= {OpenReason.TIMING}
    assert sum(opened(close).values()) == 0, "the reversal of the booking and the payment"
