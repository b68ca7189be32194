"""The check of the bank's lines finds each damage that somebody does to the database."""

import pytest

from malipo.bank.store import checks
from malipo.ledger.check_settlements import wrong_settlements
from tests.bank.bank_desk import BankDesk

DAMAGES = {
    "line of the bank without a place": "DELETE FROM bank_exceptions",
    "line of the bank": "UPDATE bank_line_matches SET amount = amount - 100 WHERE meaning = 'debit'",
    "booking of a line of the bank": "UPDATE house_bookings SET amount = amount + 1 WHERE kind = 'bank_line'",
    "settlement paid by a line": "DELETE FROM bank_line_matches WHERE meaning = 'debit'",
    "settlement returned by a line": "UPDATE bank_line_matches SET meaning = 'return' WHERE meaning = 'debit'",
    "bytes of a payout file": "UPDATE payout_files SET content = content || 'x'",
    "sum of a payout file": "UPDATE payout_files SET total = total + 1",
    "transfer of a payout file": "UPDATE payout_file_lines SET account = '99999'",
    "settlement in a payout file": "UPDATE payout_file_lines SET left_at = now(), why_left = 'x'; "
    "UPDATE settlements SET status = 'SENT', completed_at = NULL, booked_on = NULL, bank_reference = NULL",
}


@pytest.mark.parametrize("what", DAMAGES)
async def test_a_damage_is_found(desk: BankDesk, what: str) -> None:
    desk.bank.change({"chargeCents": 59_050})
    file, _ = await desk.approved(100_000)
    await desk.hand_in(file.id)
    desk.move(700, "GIFT")
    await desk.bring(desk.today)
    [charge] = [each for each in await desk.exceptions() if each.line.cents < 0]
    await desk.decide(charge, "book", account="bank_charges")
    await desk.balances()  # It is clean.
    async with desk.database.begin() as tx:
        await tx.execute(DAMAGES[what])
        found = {each.what for each in await checks.wrong_lines(tx)}
    assert what in found


SETTLEMENT_DAMAGES = {
    "its fee": "UPDATE settlements SET fee = 1",
    "its amount": "UPDATE settlements SET amount = amount + 1",
    "its status": "UPDATE settlements SET status = 'SENT', completed_at = NULL, booked_on = NULL, bank_reference = NULL",
    "what was told of it": "DELETE FROM settlement_events",
}


@pytest.mark.parametrize("what", SETTLEMENT_DAMAGES)
async def test_a_damage_of_a_settlement_is_found_by_the_ledger_check(desk: BankDesk, what: str) -> None:
    file, _ = await desk.approved(100_000)
    await desk.hand_in(file.id)
    await desk.bring(desk.today)
    async with desk.database.begin() as tx:
        assert await wrong_settlements(tx) == []
        await tx.execute(SETTLEMENT_DAMAGES[what])
        assert await wrong_settlements(tx) != []
