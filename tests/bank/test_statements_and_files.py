"""What goes wrong between us and the bank: files and statements twice, late, out of order and at once. No money is paid
or given back twice, and none is lost."""

import asyncio
from datetime import timedelta

import pytest

from malipo.bank.store.lines import BankException
from malipo.bank.void_payout_file import ACTS
from malipo.errors import Conflict, Forbidden, Refusal
from malipo.ledger.bookings import Booking, BookingKind, book
from malipo.settlement.settlement import Settlement
from malipo_simulator.bank.statement_formats import FORMATS
from tests.bank.bank_desk import WHY, BankDesk
from tests.bank.test_line_decision import UNKNOWN_KEY
from tests.operators.booking_steps import ASHA, JUMA, NEEMA

DAY = timedelta(days=1)


async def paid(desk: BankDesk, *amounts: int) -> tuple[str, list[Settlement]]:
    """A file that was handed in. Returns its id and its settlements."""
    file, found = await desk.approved(*amounts)
    await desk.hand_in(file.id)
    return file.id, found


async def test_a_file_that_is_handed_in_twice_is_reported(desk: BankDesk) -> None:
    file_id, _ = await paid(desk, 100_000)
    await desk.hand_in(file_id)
    done = await desk.bring(desk.today)
    assert (done.found.completed, await desk.kinds()) == (1, ["twice"])
    assert (await desk.balances())["bank"] == -900_000
    with pytest.raises(Conflict, match="bank_decision_not_a_debit"):
        await desk.decide((await desk.exceptions())[0], "adopt", merchant_id=desk.merchant.id)


async def test_a_file_that_is_handed_in_twice_as_a_sum_is_reported(desk: BankDesk) -> None:
    desk.bank.change({"booksOneSum": True, "listsParts": False})
    file_id, _ = await paid(desk, 100_000, 200_000)
    await desk.hand_in(file_id)
    await desk.bring(desk.today)
    assert await desk.kinds() == ["twice"]


async def test_two_who_approve_at_once_approve_once(desk: BankDesk) -> None:
    settlement = await desk.requested()
    gathered = await desk.gather()
    answers = await asyncio.gather(
        *(desk.approve(gathered.file.id, by) for by in (JUMA, NEEMA)), return_exceptions=True
    )
    assert sorted(isinstance(each, Refusal) for each in answers) == [False, True]
    assert await desk.statuses(settlement) == ["SENT"]
    assert await desk.database_rows("SELECT count(*) FROM audit_log WHERE action = 'bank.file_approved'") == [1]


async def test_two_who_gather_at_once_gather_each_settlement_once(desk: BankDesk) -> None:
    for _ in range(5):
        await desk.requested(50_000)
    answers = await asyncio.gather(*(desk.gather(by) for by in (ASHA, JUMA, NEEMA)), return_exceptions=True)
    assert sorted(type(each).__name__ for each in answers) == ["Conflict", "Conflict", "GatheredFile"]
    assert await desk.database_rows("SELECT count(*) FROM payout_file_lines WHERE left_at IS NULL") == [5]


async def test_a_statement_is_imported_once_and_in_parts_that_overlap_and_out_of_order(desk: BankDesk) -> None:
    monday = desk.today
    _, [first] = await paid(desk, 100_000)
    desk.at = desk.now + DAY
    _, [second] = await paid(desk, 200_000)
    desk.at = desk.now + 3 * DAY
    # Tuesday first, then both days, then Monday in another format, then Tuesday again.
    assert (await desk.bring(monday + DAY)).found.completed == 1
    assert await desk.statuses(first, second) == ["SENT", "COMPLETED"]
    assert (await desk.bring(monday, monday + DAY)).found.completed == 1
    assert (await desk.bring(monday, format_="mt940")).found.completed == 0
    assert (await desk.bring(monday + DAY)).is_repeat
    assert await desk.statuses(first, second) == ["COMPLETED"] * 2
    assert await desk.database_rows("SELECT count(*) FROM bank_lines") == [2]
    assert (await desk.balances())["bank"] == -700_000


async def test_the_same_file_imported_at_once_counts_once(desk: BankDesk) -> None:
    await paid(desk, 100_000)
    done = await asyncio.gather(*(desk.bring(desk.today, by=by) for by in (ASHA, JUMA, NEEMA)))
    assert sorted(each.is_repeat for each in done) == [False, True, True]
    assert sum(each.found.completed for each in done) == 1
    await desk.balances()


async def test_a_statement_that_contradicts_another_is_refused(desk: BankDesk) -> None:
    monday = desk.today
    await paid(desk, 100_000)
    desk.at = desk.now + 2 * DAY
    await desk.bring(monday)
    desk.move(5_000, "LATE", "DEPOSIT", day=monday)
    with pytest.raises(Conflict, match="bank_import_contradicts"):
        await desk.bring(monday)


async def test_a_statement_that_does_not_add_up_is_refused_or_covers_nothing(desk: BankDesk) -> None:
    await paid(desk, 100_000)
    await desk.bring(desk.today)
    path = next(desk.folder.glob("*.camt053"))
    path.write_bytes(path.read_bytes().replace(b"499900000.00", b"499900001.00"))
    desk.at = desk.now + 2 * DAY
    with pytest.raises(Refusal, match="bank_import_does_not_add_up"):
        await desk.bring_file(path)
    done = await desk.bring_file(path, accepts_problems=True)
    assert done.found.completed == 0
    assert not done.statement.is_complete


async def test_one_sum_of_a_file_of_which_two_lines_are_refused(desk: BankDesk) -> None:
    """The bank's answer lists them. The statement comes before anybody has noted that."""
    accounts = ["0150000WKYA01", "0150000WKYA02"]
    others = [await desk.another_merchant(each) for each in accounts]
    desk.bank.change(
        {"booksOneSum": True, "listsParts": False, "refuseAccounts": dict.fromkeys(accounts, "AC01 no such account")}
    )
    kept = await desk.requested(100_000)
    refused = [
        await desk.requested(amount, merchant_id=id_) for amount, id_ in zip((20_000, 30_000), others, strict=True)
    ]
    gathered = await desk.gather()
    await desk.approve(gathered.file.id)
    taken = await desk.hand_in(gathered.file.id)
    assert (taken.status, set(taken.refused)) == ("PART", {each.key for each in refused})
    await desk.bring(desk.today)
    assert await desk.kinds() == ["sum_differs"]
    assert await desk.statuses(kept, *refused) == ["SENT"] * 3
    await desk.refuse(gathered.file.id, *taken.refused)
    with pytest.raises(Forbidden):
        await desk.approve(gathered.file.id, ASHA)
    await desk.approve(gathered.file.id)
    assert await desk.kinds() == []
    assert await desk.statuses(kept, *refused) == ["COMPLETED", "RETURNED", "RETURNED"]
    assert (await desk.balances())["wallet"] == 900_000 + 2 * 500_000


async def test_what_has_ended_is_not_refused(desk: BankDesk) -> None:
    file_id, [settlement] = await paid(desk, 100_000)
    await desk.bring(desk.today)
    with pytest.raises(Conflict, match="payout_file_line_ended"):
        await desk.refuse(file_id, settlement.key)


async def test_a_refusal_that_was_proposed_before_the_statement_came_is_refused_at_its_approval(
    desk: BankDesk,
) -> None:
    file_id, [settlement] = await paid(desk, 100_000)
    await desk.refuse(file_id, settlement.key)
    await desk.bring(desk.today)
    with pytest.raises(Conflict, match="payout_file_line_ended"):
        await desk.approve(file_id)
    assert await desk.statuses(settlement) == ["COMPLETED"]


async def test_money_that_comes_back_is_in_the_wallet_once(desk: BankDesk) -> None:
    desk.bank.change({"returnAccounts": {desk.account.account_number: 2}})
    monday = desk.today
    _, [settlement] = await paid(desk, 100_000)
    desk.at = desk.now + 3 * DAY
    done = await desk.bring(monday, monday + 2 * DAY)
    assert (done.found.completed, done.found.returned) == (1, 1)
    assert await desk.statuses(settlement) == ["RETURNED"]
    assert (await desk.look(settlement)).return_reason == "AC04 ACCOUNT CLOSED"
    balances = await desk.balances()
    assert (balances["wallet"], balances["bank"]) == (1_000_000, -1_000_000)


async def test_a_return_after_the_event_of_completion(desk: BankDesk) -> None:
    desk.bank.change({"returnAccounts": {desk.account.account_number: 2}})
    monday = desk.today
    _, [settlement] = await paid(desk, 100_000)
    await desk.bring(monday)
    assert await desk.statuses(settlement) == ["COMPLETED"]
    desk.at = desk.now + 3 * DAY
    await desk.bring(monday + DAY, monday + 2 * DAY, format_="mt940")
    assert await desk.statuses(settlement) == ["RETURNED"]
    assert (await desk.balances())["wallet"] == 1_000_000


async def test_a_return_whose_debit_no_statement_has_yet_waits_for_it(desk: BankDesk) -> None:
    desk.bank.change({"returnAccounts": {desk.account.account_number: 2}})
    monday = desk.today
    _, [settlement] = await paid(desk, 100_000)
    desk.at = desk.now + 3 * DAY
    await desk.bring(monday + 2 * DAY)
    assert (await desk.statuses(settlement), await desk.kinds()) == (["SENT"], ["return_without_debit"])
    await desk.bring(monday, monday + DAY)
    assert (await desk.statuses(settlement), await desk.kinds()) == (["RETURNED"], [])
    assert (await desk.balances())["wallet"] == 1_000_000


async def test_a_second_return_one_of_another_amount_and_one_of_a_stranger_are_reported(desk: BankDesk) -> None:
    _, [first, second] = await paid(desk, 100_000, 200_000)
    for key, amount in ((first.key, 100_000), (first.key, 100_000), (second.key, 199_999), (UNKNOWN_KEY, 70_000)):
        desk.move(amount, "RETURN", key=key)
    await desk.bring(desk.today)
    assert await desk.statuses(first, second) == ["RETURNED", "COMPLETED"]
    assert sorted(await desk.kinds()) == ["other_amount", "returned_twice", "unknown_credit"]
    assert (await desk.balances())["wallet"] == 1_000_000 - 200_000


async def test_a_top_up_is_matched_with_its_booking_whichever_comes_first(desk: BankDesk) -> None:
    desk.move(300_000, "NMB-7", "TOP UP")
    desk.move(50_000, "NMB-8", "TOP UP")
    for reference, amount in (("NMB-7", 300_000), ("NMB-9", 1_000)):
        async with desk.database.begin() as tx:
            await book(tx, BookingKind.TOP_UP, desk.merchant.id, amount, reference=reference, now=desk.now)
    done = await desk.bring(desk.today)
    assert (done.found.bookings, await desk.kinds()) == (1, ["unknown_credit"])
    async with desk.database.begin() as tx:
        await book(tx, BookingKind.TOP_UP, desk.merchant.id, 50_000, reference="NMB-8", now=desk.now)
    exception = await the_exception(desk)
    assert ((await desk.match()).bookings, await desk.kinds()) == (1, [])
    with pytest.raises(Conflict, match="bank_exception_resolved"):
        await desk.decide(exception, "book", account="suspense")


async def the_exception(desk: BankDesk) -> BankException:
    [found] = await desk.exceptions()
    return found


async def test_a_charge_is_booked_to_the_shilling_and_the_cents_add_up(desk: BankDesk) -> None:
    desk.bank.change({"chargeCents": 59_050})
    for _ in range(2):
        await paid(desk, 100_000)
        await desk.bring(desk.today)
        done = await desk.decide(await the_exception(desk), "book", account="bank_charges")
        assert done.is_done
        desk.at = desk.now + DAY
    balances = await desk.balances()
    assert balances["bank"] == -1_000_000 + 200_000 + 1_181
    assert balances["bank_charges"] + balances.get("rounding", 0) == -1_181


async def test_a_large_line_is_booked_by_two_and_is_not_booked_twice(desk: BankDesk) -> None:
    desk.move(-700_000, "RENT", "RENT")
    await desk.bring(desk.today)
    exception = await the_exception(desk)
    done = await desk.decide(exception, "book", account="suspense", limit=500_000)
    assert not done.is_done
    with pytest.raises(Conflict, match="approval_already_proposed"):
        await desk.decide(exception, "book", account="losses")
    with pytest.raises(Forbidden):
        await desk.approve(exception.id, ASHA)
    await desk.approve(exception.id)
    with pytest.raises(Conflict, match="bank_exception_resolved"):
        await desk.decide(exception, "book", account="losses")
    assert (await desk.balances())["suspense"] == -700_000


async def test_a_return_without_a_key_is_matched_by_two_and_only_with_its_amount(desk: BankDesk) -> None:
    _, [first, second] = await paid(desk, 100_000, 200_000)
    desk.move(100_000, "FT77", "RETURNED ACCOUNT CLOSED")
    await desk.bring(desk.today)
    exception = await the_exception(desk)
    with pytest.raises(Conflict, match="bank_decision_amount"):
        await desk.decide(exception, "match", settlement_ids=(second.id,))
    done = await desk.decide(exception, "match", settlement_ids=(first.id,))
    assert not done.is_done
    await desk.approve(exception.id)
    assert await desk.statuses(first, second) == ["RETURNED", "COMPLETED"]
    assert (await desk.balances())["wallet"] == 800_000


async def test_above_an_amount_a_statement_counts_when_another_operator_has_approved_it(desk: BankDesk) -> None:
    _, [settlement] = await paid(desk, 600_000)
    done = await desk.bring(desk.today, limit=500_000)
    assert (done.statement.state, done.found.completed) == ("waiting", 0)
    assert await desk.statuses(settlement) == ["SENT"]
    assert await desk.exceptions() == []
    with pytest.raises(Forbidden):
        await desk.approve(done.statement.id, ASHA)
    await desk.approve(done.statement.id, seen=await desk.code(done.statement.id))
    assert await desk.statuses(settlement) == ["COMPLETED"]
    await desk.balances()


async def test_small_statements_of_one_operator_count_together(desk: BankDesk) -> None:
    for expected in ("taken", "waiting"):
        await paid(desk, 300_000)
        assert (await desk.bring(desk.today, limit=500_000)).statement.state == expected
        desk.at = desk.now + timedelta(hours=20)


async def test_a_rejected_statement_has_no_effect_and_can_be_brought_again(desk: BankDesk) -> None:
    _, [settlement] = await paid(desk, 600_000)
    done = await desk.bring(desk.today, limit=500_000)
    await desk.reject(done.statement.id)
    assert await desk.statuses(settlement) == ["SENT"]
    again = await desk.bring(desk.today, by=JUMA)
    assert (again.found.completed, again.is_repeat) == (1, False)
    assert await desk.statuses(settlement) == ["COMPLETED"]


async def test_a_rejected_statement_leaves_nothing_behind(desk: BankDesk) -> None:
    """It says the truth but for the key: a debit of one settlement is another's."""
    _, [first, second] = await paid(desk, 600_000, 300_000)
    path = desk.folder / "forged.xml"
    content = FORMATS["camt053"][1](desk.bank, desk.today, desk.today).replace(b"MsgId", b"Other")
    path.write_bytes(content.replace(first.key.encode(), b"9ZZZZ6789ABCDEFG"))
    forged = await desk.bring_file(path, limit=1)
    assert forged.statement.state == "waiting"
    await desk.reject(forged.statement.id)
    assert (await desk.bring(desk.today)).found.completed == 2
    assert await desk.statuses(first, second) == ["COMPLETED"] * 2
    await desk.balances()


async def test_a_statement_without_effects_is_withdrawn_and_one_with_effects_is_not(desk: BankDesk) -> None:
    monday = desk.today
    await paid(desk, 100_000)
    first = await desk.bring(monday)
    with pytest.raises(Conflict, match="bank_statement_has_effects"):
        await desk.withdraw(first.statement.id)
    desk.at = desk.now + 2 * DAY
    desk.move(5_000, "X", "WHO KNOWS", day=monday + DAY)
    second = await desk.bring(monday + DAY)
    assert await desk.kinds() == ["unknown_credit"]
    await desk.withdraw(second.statement.id)
    with pytest.raises(Forbidden):
        await desk.approve(second.statement.id, ASHA)
    await desk.approve(second.statement.id)
    assert await desk.exceptions() == []
    again = await desk.bring(monday + DAY)
    assert (again.is_repeat, await desk.kinds()) == (False, ["unknown_credit"])
    await desk.balances()


REFUSED = "AM04 in the bank's answer to {0}, which was refused whole"


async def test_a_file_that_the_bank_has_refused_is_voided_by_two_and_paid_again(desk: BankDesk) -> None:
    desk.bank.change({"refuseFiles": "AM04 insufficient funds"})
    file, [settlement] = await desk.approved(100_000)
    assert (await desk.hand_in(file.id)).status == "RJCT"
    with pytest.raises(Conflict, match="payout_file_not_covered"):
        await desk.void(file.id)
    with pytest.raises(Conflict, match="payout_file_other_message"):
        await desk.void(file.id, refused=WHY)
    await desk.void(file.id, refused=REFUSED.format(file.message_id))
    with pytest.raises(Forbidden):
        await desk.approve(file.id, ASHA)
    await desk.approve(file.id)
    assert await desk.statuses(settlement) == ["REQUESTED"]
    desk.bank.change({"refuseFiles": ""})
    again = await desk.gather()
    await desk.approve(again.file.id)
    assert (await desk.file(again.file.id)).message_id != file.message_id
    await desk.hand_in(again.file.id)
    await desk.bring(desk.today)
    assert await desk.statuses(settlement) == ["COMPLETED"]
    assert (await desk.balances())["bank"] == -900_000


async def test_a_file_that_the_bank_has_lost_is_voided_after_three_business_days(desk: BankDesk) -> None:
    desk.bank.change({"losesFiles": True})
    monday = desk.today
    file, [settlement] = await desk.approved(100_000)
    await desk.hand_in(file.id)
    desk.at = desk.now + 3 * DAY
    await desk.bring(monday, monday + 2 * DAY)
    with pytest.raises(Conflict, match="payout_file_not_covered"):
        await desk.void(file.id)
    await desk.bring(monday + 3 * DAY)  # which is not over
    with pytest.raises(Conflict, match="payout_file_not_covered"):
        await desk.void(file.id)
    desk.at = desk.now + DAY
    await desk.bring(monday + 2 * DAY, monday + 3 * DAY, format_="mt940")
    await desk.void(file.id)
    await desk.approve(file.id)
    assert await desk.statuses(settlement) == ["REQUESTED"]


async def test_a_void_that_a_statement_has_overtaken_is_refused(desk: BankDesk) -> None:
    file_id, [settlement] = await paid(desk, 100_000)
    file = await desk.file(file_id)
    await desk.void(file_id, refused=REFUSED.format(file.message_id))
    await desk.bring(desk.today, limit=10)  # It only waits for a second operator.
    with pytest.raises(Conflict, match="payout_file_paid"):
        await desk.approve(file_id)
    assert await desk.statuses(settlement) == ["SENT"]


@pytest.mark.parametrize("turn", range(4))
async def test_a_void_races_an_import(desk: BankDesk, turn: int) -> None:
    """Whichever is first: a settlement that was paid is never paid again."""
    file_id, [settlement] = await paid(desk, 100_000)
    file = await desk.file(file_id)
    await desk.void(file_id, refused=REFUSED.format(file.message_id))
    acts = [desk.approve(file_id), desk.bring(desk.today, by=NEEMA)]
    answers = await asyncio.gather(*(acts if turn % 2 else acts[::-1]), return_exceptions=True)
    [status] = await desk.statuses(settlement)
    if status == "COMPLETED":
        assert sorted(isinstance(each, Conflict) for each in answers) == [False, True]
        assert await desk.exceptions() == []
    else:
        # It was voided first: that the bank has paid it is told, and it is not gathered before that is decided.
        assert (status, await desk.kinds()) == ("REQUESTED", ["not_sent"])
        with pytest.raises(Conflict, match="payout_file_nothing_due"):
            await desk.gather()
        exception = await the_exception(desk)
        await desk.decide(exception, "adopt", settlement_ids=(settlement.id,))
        await desk.approve(exception.id)
        assert await desk.statuses(settlement) == ["COMPLETED"]
    assert (await desk.balances())["bank"] == -900_000


async def test_only_one_act_waits_about_a_file(desk: BankDesk) -> None:
    file, [settlement] = await desk.approved(100_000)
    await desk.void(file.id, refused=REFUSED.format(file.message_id))
    with pytest.raises(Conflict, match="approval_already_proposed"):
        await desk.refuse(file.id, settlement.key)
    assert len(ACTS) == 2


async def test_a_line_that_somebody_booked_as_a_settlement_by_hand_is_that_booking(desk: BankDesk) -> None:
    booking = Booking(BookingKind.SETTLEMENT, desk.merchant.id, 40_000, "BY-HAND")
    async with desk.database.begin() as tx:
        await book(tx, booking.kind, booking.merchant_id, booking.amount, reference="BY-HAND", now=desk.now)
    desk.move(-40_000, "BY-HAND", "SENT BY HAND")
    assert (await desk.bring(desk.today)).found.bookings == 1


async def test_what_comes_back_to_a_deactivated_merchant_is_in_its_wallet(desk: BankDesk) -> None:
    desk.bank.change({"returnAccounts": {desk.account.account_number: 2}})
    monday = desk.today
    file, [settlement] = await desk.approved(100_000)
    await desk.hand_in(file.id)
    async with desk.database.begin() as tx:
        await tx.execute("UPDATE merchants SET is_active = false")
    desk.at = desk.now + 3 * DAY
    await desk.bring(monday, monday + 2 * DAY)
    assert await desk.statuses(settlement) == ["RETURNED"]
    assert (await desk.balances())["wallet"] == 1_000_000
