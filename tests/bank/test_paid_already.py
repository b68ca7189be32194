"""What the bank has paid, or perhaps has, is not sent again and does not go back to the wallet: whatever became of the
line that says so."""

from datetime import timedelta

import pytest

from malipo.bank import void_payout_file
from malipo.bank.payout_file import PayoutFile
from malipo.errors import Conflict
from malipo.ledger.bookings import BookingKind, book
from malipo.settlement.cancel import SettlementCancellation
from malipo.settlement.settlement import Settlement, SettlementNotCancellable
from malipo.settlement.store import settlements
from tests.bank.bank_desk import BankDesk
from tests.operators.booking_steps import NEEMA

DAY = timedelta(days=1)


async def voided(desk: BankDesk, *amounts: int) -> tuple[PayoutFile, bytes, list[Settlement]]:
    """A file that the bank has refused, and its bytes, which somebody still has."""
    file, found = await desk.approved(*amounts)
    content = await desk.download(file.id)
    await desk.void(file.id, refused=f"NMB has refused {file.message_id}")
    await desk.approve(file.id)
    assert await desk.statuses(*found) == ["REQUESTED"] * len(found)
    return file, content, found


async def cancel(desk: BankDesk, settlement: Settlement) -> Settlement:
    asked = SettlementCancellation(settlement.merchant_id, settlement.id, "key_1")
    return await desk.service.settlements.cancel(asked)


@pytest.mark.parametrize("has_parts", [True, False])
async def test_a_voided_file_that_was_handed_in_as_a_sum_is_not_paid_by_another_one(
    desk: BankDesk, has_parts: bool
) -> None:
    desk.bank.change({"booksOneSum": True, "listsParts": has_parts})
    _, content, found = await voided(desk, 100_000, 20_000)
    other = await desk.requested(3_000)
    desk.bank.take(content, desk.today)
    await desk.bring(desk.today)
    gathered = await desk.gather()
    assert [each.settlement_id for each in gathered.lines] == [other.id]
    assert gathered.left_out == {each.id: "paid" for each in found}


async def test_a_file_that_was_gathered_before_the_sum_of_a_voided_one_came_is_approved_without_it(
    desk: BankDesk,
) -> None:
    desk.bank.change({"booksOneSum": True, "listsParts": False})
    _, content, _ = await voided(desk, 100_000, 20_000)
    gathered = await desk.gather()
    desk.bank.take(content, desk.today)
    await desk.bring(desk.today)
    with pytest.raises(Conflict, match="payout_file_nothing_left"):
        await desk.approve(gathered.file.id)


async def test_what_a_statement_shows_that_waits_for_its_second_operator_is_not_sent_again(desk: BankDesk) -> None:
    _, content, [lost] = await voided(desk, 100_000)
    gathered = await desk.gather()
    await desk.reject(gathered.file.id)
    await cancel(desk, lost)
    paid = await desk.approved(50_000)
    _, voided_content, _ = await voided(desk, 7_000)
    gathered = await desk.gather()
    for each in (content, voided_content):
        desk.bank.take(each, desk.today)
    await desk.hand_in(paid[0].id)
    assert (await desk.bring(desk.today, limit=0)).statement.state == "waiting"
    assert await desk.exceptions() == []
    with pytest.raises(Conflict, match="payout_file_nothing_left"):
        await desk.approve(gathered.file.id)


async def test_a_debit_of_a_settlement_that_waits_is_adopted_and_is_not_the_houses(desk: BankDesk) -> None:
    _, content, [settlement] = await voided(desk, 100_000)
    desk.bank.take(content, desk.today)
    await desk.bring(desk.today)
    [exception] = await desk.exceptions()
    with pytest.raises(Conflict, match="bank_decision_open"):
        await desk.decide(exception, "book", account="losses")
    await desk.decide(exception, "adopt", settlement_ids=(settlement.id,))
    await desk.approve(exception.id)
    assert await desk.statuses(settlement) == ["COMPLETED"]
    assert (await desk.balances())["bank"] == -900_000


async def test_what_one_operator_has_booked_to_the_house_was_paid_all_the_same(desk: BankDesk) -> None:
    """The line has the wrong amount, so nobody can say that it is the transfer. It is not refused and paid again."""
    file, [settlement] = await desk.approved(100_000)
    desk.move(-100_500, "FT1", key=settlement.key)
    await desk.bring(desk.today)
    [exception] = await desk.exceptions()
    assert (await desk.decide(exception, "book", account="suspense")).is_done
    with pytest.raises(Conflict, match="payout_file_line_ended"):
        await desk.refuse(file.id, settlement.key)
    desk.at = desk.now + DAY
    desk.move(100_500, "FT2", key=settlement.key)
    await desk.bring(desk.today)
    [exception] = await desk.exceptions()
    await desk.decide(exception, "book", account="suspense")
    await desk.refuse(file.id, settlement.key)
    await desk.approve(file.id)
    assert await desk.statuses(settlement) == ["RETURNED"]
    assert (await desk.balances())["wallet"] == 1_000_000


async def test_what_the_bank_perhaps_has_paid_is_not_cancelled(desk: BankDesk) -> None:
    _, content, [settlement] = await voided(desk, 100_000)
    desk.bank.take(content, desk.today)
    await desk.bring(desk.today)
    assert await desk.kinds() == ["not_sent"]
    with pytest.raises(SettlementNotCancellable):
        await cancel(desk, settlement)
    assert (await desk.balances())["wallet"] == 900_000


async def test_a_transfer_that_a_statement_shows_as_paid_is_not_noted_as_refused(desk: BankDesk) -> None:
    file, [settlement] = await desk.approved(100_000)
    await desk.hand_in(file.id)
    assert (await desk.bring(desk.today, limit=0)).statement.state == "waiting"
    with pytest.raises(Conflict, match="payout_file_line_ended"):
        await desk.refuse(file.id, settlement.key)
    assert await desk.statuses(settlement) == ["SENT"]


@pytest.mark.parametrize("is_sum", [True, False])
@pytest.mark.parametrize("is_booked", [True, False])
async def test_a_second_debit_that_the_bank_gives_back_is_no_return(
    desk: BankDesk, is_sum: bool, is_booked: bool
) -> None:
    """The file was handed in twice. The merchant has its money, and the bank sends ours back, with the same key."""
    desk.bank.change({"booksOneSum": is_sum, "listsParts": False})
    file, [settlement] = await desk.approved(100_000)
    content = await desk.download(file.id)
    for _ in range(2):
        desk.bank.take(content, desk.today)
    await desk.bring(desk.today)
    assert (await desk.statuses(settlement), await desk.kinds()) == (["COMPLETED"], ["twice"])
    if is_booked:
        [exception] = await desk.exceptions()
        assert (await desk.decide(exception, "book", account="suspense")).is_done
    desk.at = desk.now + DAY
    desk.move(100_000, "REVERSAL", key=settlement.key)
    await desk.bring(desk.today)
    assert await desk.statuses(settlement) == ["COMPLETED"]
    assert (await desk.balances())["wallet"] == 900_000

    # Both are the house's. When the merchant's own comes back too, it is a return again.
    for exception in await desk.exceptions():
        await desk.decide(exception, "book", account="suspense")
    desk.at = desk.now + DAY
    desk.move(100_000, "RETURN", key=settlement.key)
    await desk.bring(desk.today)
    assert (await desk.statuses(settlement), await desk.kinds()) == (["RETURNED"], [])
    await desk.balances()


@pytest.mark.parametrize("names", ["settlement", "merchant"])
async def test_what_was_adopted_while_it_was_in_a_gathered_file_is_not_in_its_bytes(desk: BankDesk, names: str) -> None:
    settlement, other = await desk.requested(100_000), await desk.requested(20_000)
    gathered = await desk.gather()
    desk.move(-100_000, "FT1", key=settlement.key)
    await desk.bring(desk.today)
    [exception] = await desk.exceptions()
    whose = {"settlement_ids": (settlement.id,)} if names == "settlement" else {"merchant_id": settlement.merchant_id}
    await desk.decide(exception, "adopt", **whose)
    await desk.approve(exception.id)
    await desk.approve(gathered.file.id)
    content = await desk.download(gathered.file.id)
    assert other.key.encode() in content
    assert settlement.key.encode() not in content
    assert await desk.statuses(settlement, other) == ["COMPLETED", "SENT"]
    await desk.balances()

    # The debit is not of the file, which the bank refuses.
    message_id = (await desk.file(gathered.file.id)).message_id
    await desk.void(gathered.file.id, refused=f"NMB has refused {message_id}")
    await desk.approve(gathered.file.id)
    assert await desk.statuses(settlement, other) == ["COMPLETED", "REQUESTED"]


@pytest.mark.parametrize("amount", [100_000, 20_000, 120_000])
async def test_a_debit_without_a_key_is_perhaps_the_file_that_the_bank_has_lost(desk: BankDesk, amount: int) -> None:
    """Some tables have no keys. What could be a transfer, or the sum of all, is decided before the file is voided."""
    desk.bank.change({"losesFiles": True})
    monday = desk.today
    file, found = await desk.approved(100_000, 20_000)
    await desk.hand_in(file.id)
    desk.at = desk.now + DAY
    desk.move(-amount, "FT1", "OUTWARD TRANSFER")
    desk.at = desk.now + 3 * DAY
    await desk.bring(monday, monday + 3 * DAY)
    assert await desk.kinds() == ["unknown_debit"]
    with pytest.raises(Conflict, match="payout_file_paid"):
        await desk.void(file.id)
    [exception] = await desk.exceptions()
    await desk.decide(exception, "book", account="bank_charges")
    await desk.void(file.id)
    await desk.approve(file.id)
    assert await desk.statuses(*found) == ["REQUESTED"] * 2


async def test_who_approves_a_void_sees_who_has_imported_the_statements(desk: BankDesk) -> None:
    """A statement without debits counts with one operator, who could have written it."""
    desk.bank.change({"losesFiles": True})
    monday = desk.today
    file, _ = await desk.approved(100_000)
    await desk.hand_in(file.id)
    await desk.bring(monday - DAY)
    desk.at = desk.now + 4 * DAY
    done = await desk.bring(monday, monday + 3 * DAY, by=NEEMA)
    proposal = await desk.void(file.id)
    async with desk.database.read() as connection:
        [row] = (await void_payout_file.facts(connection, proposal)).rows
    assert (row["statement"], row["imported_by"]) == (done.statement.id, NEEMA.name)
    assert (row["begins_on"], row["ends_on"]) == (str(monday), str(monday + 3 * DAY))


async def test_money_that_came_back_and_that_somebody_has_booked_as_a_top_up_is_not_given_back_too(
    desk: BankDesk,
) -> None:
    """The operator saw it on the bank's page before the statement came."""
    file, [settlement] = await desk.approved(100_000)
    await desk.hand_in(file.id)
    await desk.bring(desk.today)
    async with desk.database.begin() as tx:
        await book(tx, BookingKind.TOP_UP, desk.merchant.id, 100_000, reference="FT77", now=desk.now)
    desk.at = desk.now + DAY
    desk.move(100_000, "FT77", key=settlement.key)
    await desk.bring(desk.today)
    assert (await desk.statuses(settlement), await desk.kinds()) == (["COMPLETED"], ["booked_too"])
    assert (await desk.balances())["wallet"] == 1_000_000
    [exception] = await desk.exceptions()
    [booking] = await desk.database_rows("SELECT id FROM bookings WHERE bank_reference = 'FT77'")
    await desk.decide(exception, "match", booking_id=booking)
    await desk.approve(exception.id)
    assert (await desk.statuses(settlement), await desk.kinds()) == (["COMPLETED"], [])
    assert (await desk.balances())["wallet"] == 1_000_000


@pytest.mark.parametrize("names", ["settlement", "merchant"])
async def test_a_debit_of_a_cancelled_settlement_is_borne_by_its_wallet_and_the_rest_is_owed(
    desk: BankDesk, names: str
) -> None:
    """Somebody has handed in the bytes of a voided file."""
    _, content, [settlement] = await voided(desk, 100_000)
    await cancel(desk, settlement)
    await desk.approved(970_000)
    desk.bank.take(content, desk.today)
    await desk.bring(desk.today)
    assert await desk.kinds() == ["not_sent"]
    [exception] = await desk.exceptions()
    whose = {"settlement_ids": (settlement.id,)} if names == "settlement" else {"merchant_id": settlement.merchant_id}
    await desk.decide(exception, "adopt", **whose)
    await desk.approve(exception.id)
    assert await desk.kinds() == []
    assert await desk.statuses(settlement) == ["CANCELLED"]
    [adopted] = await adopted_of(desk)
    assert (adopted.status, adopted.amount, adopted.owed) == ("COMPLETED", 100_000, 70_000)
    assert adopted.bank_account_id == settlement.bank_account_id
    balances = await desk.balances()
    assert (balances["wallet"], balances["bank"], balances["suspense"]) == (0, -900_000, -70_000)

    # The same debit is not adopted twice, and what comes back of it is matched with what was adopted.
    await desk.bring(desk.today)
    assert await desk.kinds() == []
    desk.at = desk.now + DAY
    desk.move(100_000, "RETURN", key=settlement.key)
    await desk.bring(desk.today)
    [exception] = await desk.exceptions()
    assert exception.kind == "return_without_debit"
    await desk.decide(exception, "match", settlement_ids=(adopted.id,))
    await desk.approve(exception.id)
    assert await desk.statuses(adopted) == ["RETURNED"]
    balances = await desk.balances()
    assert (balances["wallet"], balances["suspense"]) == (30_000, 0)


async def adopted_of(desk: BankDesk) -> list[Settlement]:
    ids = await desk.database_rows("SELECT id FROM settlements WHERE is_adopted ORDER BY id")
    async with desk.database.read() as connection:
        return await settlements.find(connection, ids)


async def test_a_sum_of_a_voided_file_with_cancelled_settlements_is_borne_by_their_wallet(desk: BankDesk) -> None:
    desk.bank.change({"booksOneSum": True, "listsParts": False})
    _, content, found = await voided(desk, 100_000, 20_000)
    await cancel(desk, found[0])
    desk.bank.take(content, desk.today)
    await desk.bring(desk.today)
    [exception] = await desk.exceptions()
    await desk.decide(exception, "adopt", settlement_ids=tuple(each.id for each in found))
    await desk.approve(exception.id)
    assert (await desk.statuses(*found), await desk.kinds()) == (["CANCELLED", "COMPLETED"], [])
    assert [each.amount for each in await adopted_of(desk)] == [100_000]
    assert (await desk.balances())["wallet"] == 880_000


async def test_a_debit_of_a_settlement_that_was_refused_is_borne_by_its_wallet(desk: BankDesk) -> None:
    """The bank has listed it as refused, and pays it all the same."""
    file, [settlement] = await desk.approved(100_000)
    content = await desk.download(file.id)
    await desk.refuse(file.id, settlement.key)
    await desk.approve(file.id)
    desk.bank.take(content, desk.today)
    await desk.bring(desk.today)
    [exception] = await desk.exceptions()
    await desk.decide(exception, "adopt", settlement_ids=(settlement.id,))
    await desk.approve(exception.id)
    assert (await desk.statuses(settlement), await desk.kinds()) == (["RETURNED"], [])
    assert (await desk.balances())["wallet"] == 900_000


async def test_a_second_debit_is_borne_by_the_wallet_only_if_the_first_has_come_back(desk: BankDesk) -> None:
    desk.bank.change({"returnAccounts": {desk.account.account_number: 1}})
    monday = desk.today
    file, [settlement] = await desk.approved(100_000)
    content = await desk.download(file.id)
    desk.bank.take(content, monday)
    await desk.bring(monday)
    desk.at = desk.now + DAY
    desk.bank.change({"returnAccounts": {}})
    await desk.bring(desk.today)
    assert await desk.statuses(settlement) == ["RETURNED"]
    desk.at = desk.now + DAY
    for _ in range(2):
        desk.bank.take(content, desk.today)
    await desk.bring(desk.today)
    first, second = await desk.exceptions()
    assert await desk.kinds() == ["twice", "twice"]
    await desk.decide(first, "adopt", settlement_ids=(settlement.id,))
    await desk.approve(first.id)
    assert (await desk.balances())["wallet"] == 900_000
    [adopted] = await adopted_of(desk)
    with pytest.raises(Conflict, match="bank_decision_not_a_debit"):
        await desk.decide(second, "adopt", settlement_ids=(adopted.id,))
    await desk.decide(second, "book", account="suspense")
    await desk.balances()
