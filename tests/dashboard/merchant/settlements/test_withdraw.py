"""/dashboard/settlements: withdrawn to the bank, followed, cancelled, and explained to the shilling."""

import asyncio
import csv
import io
from datetime import date, timedelta

import msgspec
import pytest
from openpyxl import load_workbook

from malipo import clock
from malipo.approvals import operator_limits
from malipo.bank_evidence.banking_days import BankingDays
from malipo.dashboard.merchant.settlements.new_settlement import arrives_by
from malipo.dashboard.merchant.settlements.settlement_list import noon
from malipo.merchants.roles import Role
from malipo.settings import Settings
from malipo.settlement.schedule import Every, Schedule
from malipo.settlement.settlement import SettlementStatus
from malipo.settlement.store import schedules
from tests.dashboard.merchant.settlements.settlement_pages import NEW, PATH, SettlementPages
from tests.dashboard.merchant.settlements.settlement_pages import desk as desk
from tests.dashboard.merchant.settlements.settlement_pages import merchant_of_others as merchant_of_others
from tests.dashboard.page_client import PASSWORD, add_person, surfing
from tests.operators.booking_steps import ASHA

DAY = timedelta(days=1)


async def test_a_withdrawal_is_shown_once_more_and_then_leaves_the_wallet(desk: SettlementPages) -> None:
    asked = await desk.press("review", await desk.key(), orderReference="W46")

    for said in ("You withdraw TZS 100,000", "CRDB …YA00", "Duka la Asha", "Your wallet afterwards TZS 400,000", "W46"):
        assert said in asked.words
    assert await desk.count() == 0
    made = await desk.withdrawn(orderReference="W46")
    assert (made.amount, made.order_reference, made.created_by) == (100_000, "W46", desk.owner.email)
    assert (await desk.steps.wallet()).available == 400_000
    seen = await desk.surfer.get(f"{PATH}/{made.id}")
    assert "It is requested. The amount has left your wallet." in seen.words
    assert "waits for the next file to the bank" in seen.words
    listed = await desk.surfer.get(PATH)
    assert f'href="{PATH}/{made.id}">{made.reference}' in listed.text
    assert "Can be withdrawn TZS 400,000" in listed.words
    assert "On its way to your bank TZS 100,000" in (await desk.surfer.get("/dashboard/wallet")).words


@pytest.mark.parametrize(
    ("asked_on", "said"),
    [
        (date(2026, 4, 1), date(2026, 4, 9)),  # the Wednesday before Easter: 2, 8, 9
        (date(2026, 4, 3), date(2026, 4, 13)),  # Good Friday: the bank takes it on the 8th
        (date(2026, 4, 8), date(2026, 4, 13)),
        (date(2026, 8, 22), date(2026, 9, 1)),  # a Saturday; Maulid is on the 25th, 26th or 27th
        (date(2026, 12, 24), date(2026, 12, 30)),
    ],
)
def test_the_day_of_arrival_is_shown_with_holidays(asked_on: date, said: date) -> None:
    assert arrives_by(noon(asked_on), BankingDays()) == noon(said)


async def test_holidays_that_the_government_declares_are_in_the_day_by_which_it_arrives(desk: SettlementPages) -> None:
    made, today = await desk.withdrawn(), clock.day_of(desk.steps.service.clock())
    closed = tuple(today + nth * DAY for nth in range(1, 15))
    async with desk.database.begin() as tx:
        await operator_limits.note(tx, Settings(bank_holidays=closed), actor=ASHA, now=clock.now())
    arrives = BankingDays(closed).booked_by(today)
    assert arrives > today + 14 * DAY
    for words in (
        (await desk.surfer.get(f"{PATH}/{made.id}")).words,
        (await desk.press("review", await desk.key())).words,
    ):
        assert f"as a rule by {arrives.day} {arrives:%b}".lower() in words.lower()


async def test_without_an_amount_all_is_withdrawn_and_the_page_says_how_much_that_is(desk: SettlementPages) -> None:
    asked = await desk.press("review", await desk.key(), amount="")

    assert "You withdraw TZS 500,000" in asked.words
    assert 'name="amount" value="500000"' in asked.text


async def test_what_stays_by_the_schedule_is_not_withdrawn_without_an_amount(desk: SettlementPages) -> None:
    schedule = Schedule(
        merchant_id=desk.merchant_id, every=Every.DAY, minimum=500, keep=300_000, changed_at=clock.now(), changed_by="a"
    )
    async with desk.database.begin() as tx:
        await schedules.save(tx, schedule)
    assert "Empty: TZS 200,000. TZS 300,000 stays in the wallet" in (await desk.surfer.get(NEW)).words
    asked = await desk.press("review", await desk.key(), amount="")
    assert 'name="amount" value="200000"' in asked.text
    assert 'name="amount" value="500000"' in (await desk.press("review", await desk.key(), amount="500,000")).text
    async with desk.database.begin() as tx:
        await schedules.save(tx, msgspec.structs.replace(schedule, keep=500_000))
    assert "The wallet can spare TZS 0 now" in (await desk.press("review", await desk.key(), amount="")).words


async def test_pressing_twice_and_at_once_makes_one_settlement(desk: SettlementPages) -> None:
    key = await desk.key()
    both = await asyncio.gather(desk.press("pay", key), desk.press("pay", key))
    third = await desk.press("pay", key)

    assert {each.status for each in (*both, third)} == {303}
    assert len({each.to for each in (*both, third)}) == 1
    assert await desk.count() == 1
    assert "It made one settlement: this one." in (await desk.surfer.get(third.to)).words


async def test_going_back_and_changing_the_form_is_asked_about_anew(desk: SettlementPages) -> None:
    key = await desk.key()
    await desk.press("pay", key)

    changed = await desk.press("pay", key, amount="70,000")

    assert (changed.status, "You withdraw TZS 70,000" in changed.words) == (200, True)
    assert f'value="{key}"' not in changed.text
    assert await desk.count() == 1


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"amount": "a lot"}, "Type a whole number of shillings"),
        ({"amount": "499"}, "The least is TZS 500."),
        ({"amount": "500,001"}, "The wallet can spare TZS 500,000 now."),
        ({"bankAccountId": "bka_of_nobody"}, "Choose a bank account that can be used now."),
        ({"orderReference": "x" * 65}, "1 to 64 characters that can be printed."),
    ],
)
async def test_a_mistake_is_said_at_its_field_and_nothing_leaves_the_wallet(
    desk: SettlementPages, fields: dict[str, str], said: str
) -> None:
    seen = await desk.press("pay", await desk.key(), **fields)

    assert seen.status in (400, 409)
    assert said in seen.words
    assert (await desk.steps.wallet()).available == 500_000


async def test_what_is_owed_cannot_be_withdrawn(desk: SettlementPages) -> None:
    async with desk.database.begin() as tx:
        await tx.execute("UPDATE wallets SET owed = 450000 WHERE merchant_id = $1", desk.merchant_id)
    try:
        seen = await desk.press("pay", await desk.key(), amount="50,001")
        assert "The wallet can spare TZS 50,000 now." in seen.words
    finally:
        async with desk.database.begin() as tx:
            await tx.execute("UPDATE wallets SET owed = 0 WHERE merchant_id = $1", desk.merchant_id)


async def test_the_password_is_asked_for_once_more_and_the_form_goes_on_with_it(desk: SettlementPages) -> None:
    key = await desk.key()
    await desk.password_is_old()

    asked = await desk.press("pay", key)
    assert (asked.status, "Confirm that it is you" in asked.words) == (403, True)
    assert (await desk.press("review", key)).status == 200, "to look is free"
    assert (await desk.press("pay", key, confirm_password="not this one")).status == 400
    assert await desk.count() == 0

    done = await desk.press("pay", key, confirm_password=PASSWORD)
    assert done.status == 303
    assert await desk.count() == 1


async def test_an_account_that_was_stopped_meanwhile_gets_nothing(desk: SettlementPages) -> None:
    key = await desk.key()
    await desk.steps.stop(desk.steps.account)

    seen = await desk.press("pay", key)

    assert seen.status == 409
    assert "There is no bank account yet that money can be sent to." in seen.words
    assert await desk.count() == 0


async def test_it_is_cancelled_until_it_is_in_a_file(desk: SettlementPages) -> None:
    first, second = await desk.withdrawn(), await desk.withdrawn(amount="50,000")
    asked = await desk.surfer.get(f"{PATH}/{first.id}/cancel")
    assert "Cancel this settlement?" in asked.words

    assert (await desk.surfer.post(f"{PATH}/{first.id}/cancel")).to == f"{PATH}/{first.id}"
    assert (await desk.settlement(first.id)).status is SettlementStatus.CANCELLED
    assert (await desk.steps.wallet()).available == 450_000

    await desk.steps.gather(second)
    assert (await desk.surfer.get(f"{PATH}/{second.id}/cancel")).to == f"{PATH}/{second.id}"
    late = await desk.surfer.post(f"{PATH}/{second.id}/cancel")
    assert (late.status, "It can no longer be cancelled" in late.words) == (409, True)
    assert "Cancel it…" not in late.words


async def test_what_the_bank_says_is_shown_also_when_it_sends_the_money_back(desk: SettlementPages) -> None:
    done = await desk.steps.completed(100_000)
    seen = await desk.surfer.get(f"{PATH}/{done.id}")
    assert "Paid by the bank" in seen.words
    assert "Booked on 20 Nov 2026" in seen.words
    assert "The bank's reference CRDB-1" in seen.words

    await desk.steps.give_back(done)
    seen = await desk.surfer.get(f"{PATH}/{done.id}")
    assert "Amount and fee are in your wallet again." in seen.words
    assert "AC04 account closed" in seen.words
    assert "AC04 account closed" in (await desk.surfer.get(f"{PATH}?status=RETURNED")).words


async def test_the_report_adds_up_and_each_line_is_in_one_report(desk: SettlementPages) -> None:
    first = await desk.steps.completed(100_000)
    await desk.steps.give_back(first)
    second = await desk.withdrawn(amount="120,000")

    seen = await desk.surfer.get(f"{PATH}/{second.id}")

    rows = ("Balance at the beginning 400,000", "Settlements that came back 1 100,000", "This settlement 1 −120,000")
    for said in (*rows, "Stays in the wallet 380,000", "2 lines"):
        assert said in seen.words
    text = (await desk.surfer.get(f"{PATH}/{second.id}/report.csv")).text
    [head, *lines] = csv.reader(io.StringIO(text.lstrip("\ufeff")))
    assert [line[head.index("group")] for line in lines] == ["SETTLEMENT_RETURNED", "SETTLEMENT"]
    assert sum(int(line[head.index("net")]) for line in lines) == -20_000


async def test_the_report_is_a_workbook_too(desk: SettlementPages) -> None:
    made = await desk.withdrawn()
    url = f"{desk.surfer.url}{PATH}/{made.id}/report.xlsx"
    async with desk.surfer.http.get(url) as answer:
        book = load_workbook(io.BytesIO(await answer.read()))
        named = answer.headers["Content-Disposition"]

    assert named == f'attachment; filename="{made.reference}.xlsx"'
    assert book.sheetnames == ["Summary", "Lines"]
    assert book["Summary"]["A1"].value == made.reference


async def test_another_business_sees_nothing_of_it(desk: SettlementPages, merchant_of_others: str) -> None:
    made = await desk.withdrawn()
    async with surfing(desk.surfer.url) as stranger:
        await stranger.log_in(merchant_of_others)
        for path in ("", "/cancel", "/report.csv", "/report.xlsx"):
            assert (await stranger.get(f"{PATH}/{made.id}{path}")).status == 404
        assert made.reference not in (await stranger.get(PATH)).text
        key = "dashboard-of-a-stranger"
        typed = {"key": key, "step": "pay", "amount": "1,000", "bankAccountId": desk.steps.account.id}
        assert (await stranger.post(NEW, typed)).status == 409


async def test_a_viewer_sees_settlements_and_no_buttons(desk: SettlementPages) -> None:
    made = await desk.withdrawn()
    email = f"viewer-{made.key.lower()}@example.com"
    await add_person(desk.database, desk.merchant_id, email, Role.VIEWER)
    async with surfing(desk.surfer.url) as viewer:
        await viewer.log_in(email)
        seen = [await viewer.get(each) for each in (PATH, f"{PATH}/{made.id}", "/dashboard/wallet")]
    assert [each.status for each in seen] == [200, 200, 200]
    for each in seen:
        assert "Withdraw to bank" not in each.words
        assert "Cancel it…" not in each.words


async def test_the_pages_are_in_kiswahili(desk: SettlementPages) -> None:
    made = await desk.withdrawn()
    for path, said in ((NEW, "Peleka benki"), (f"{PATH}/{made.id}", "Yanasubiri faili la benki")):
        seen = await desk.surfer.get(path, headers={"Accept-Language": "sw"})
        assert said in seen.words
