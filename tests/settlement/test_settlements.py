"""Settlements against a real database: the wallet, the files, the bank; each step once, whoever repeats it."""

import asyncio
from datetime import date, timedelta

import pytest

from malipo.errors import Conflict, Missing
from malipo.payments.idempotency import KeyReused
from malipo.payments.initiate import InsufficientBalance
from malipo.settlement import bank_outcomes, payout_files
from malipo.settlement.bank_account import BankAccountNotUsable, NoSuchBankAccount
from malipo.settlement.bank_outcomes import Debit
from malipo.settlement.cancel import SettlementCancellation
from malipo.settlement.settlement import (
    NoBankAccount,
    NoSuchSettlement,
    NothingToSettle,
    SettlementNotCancellable,
    SettlementStatus,
)
from tests.conftest import make_merchant
from tests.settlement.settlement_steps import DAY, SettlementSteps, add_account


async def test_a_settlement_leaves_the_wallet_at_once_and_reaches_the_bank(steps: SettlementSteps) -> None:
    settlement = await steps.requested(100_000)
    assert settlement.status is SettlementStatus.REQUESTED
    assert settlement.reference == f"MLP-{settlement.key}"
    assert len(settlement.key) == 16
    assert (await steps.wallet()).available == 900_000
    assert (await steps.balances())["in_settlement"] == 100_000
    await steps.gather(settlement)
    await steps.send(settlement)
    assert (await steps.balances())["in_settlement"] == 100_000
    await steps.complete(settlement)
    done = await steps.look(settlement)
    assert (done.status, done.bank_reference, done.booked_on) == (SettlementStatus.COMPLETED, "CRDB-1", DAY)
    balances = await steps.balances()
    assert (balances["in_settlement"], balances["bank"], balances["wallet"]) == (0, -900_000, 900_000)
    assert await steps.messages() == []  # nobody is an owner yet


async def test_without_an_amount_all_that_can_be_spent_is_settled(steps: SettlementSteps) -> None:
    await steps.owe(300_000)
    settlement = await steps.requested(None)
    assert settlement.amount == 700_000
    with pytest.raises(NothingToSettle):
        await steps.requested(None)


@pytest.mark.parametrize("amount", [1, 499])
async def test_less_than_the_smallest_payment_is_refused(steps: SettlementSteps, amount: int) -> None:
    with pytest.raises(NothingToSettle):
        await steps.requested(amount)
    assert (await steps.wallet()).available == 1_000_000


async def test_no_more_than_the_wallet_can_spend_is_settled(steps: SettlementSteps) -> None:
    await steps.owe(300_000)
    with pytest.raises(InsufficientBalance):
        await steps.requested(700_001)
    assert (await steps.requested(700_000)).amount == 700_000


async def test_the_same_request_in_a_week_is_the_same_settlement_and_another_is_refused(steps: SettlementSteps) -> None:
    first = await steps.make(100_000, key="order-1")
    await steps.complete(*(await steps.send(*(await steps.gather(first.settlement)).changed)).changed)
    again = await steps.make(100_000, key="order-1")
    assert (again.is_replay, again.settlement.id) == (True, first.settlement.id)
    with pytest.raises(KeyReused):
        await steps.make(100_001, key="order-1")
    assert (await steps.wallet()).available == 900_000


async def test_ten_requests_at_once_with_one_key_are_one_settlement(steps: SettlementSteps) -> None:
    made = await asyncio.gather(*(steps.make(100_000, key="order-1") for _ in range(10)))
    assert len({each.settlement.id for each in made}) == 1
    assert (await steps.wallet()).available == 900_000


async def test_requests_at_once_take_no_more_than_the_wallet_has(steps: SettlementSteps) -> None:
    made = await asyncio.gather(*(steps.make(300_000) for _ in range(6)), return_exceptions=True)
    assert sum(isinstance(each, InsufficientBalance) for each in made) == 3
    assert (await steps.balances())["wallet"] == 100_000


async def test_only_an_account_that_can_be_used_gets_anything(steps: SettlementSteps) -> None:
    later = await add_account(steps.database, steps.merchant_id, now=steps.service.clock() + timedelta(hours=72))
    stranger = await make_merchant(steps.database, name="Other", wallet=1000)
    theirs = await add_account(steps.database, stranger.id, now=steps.service.clock())
    with pytest.raises(BankAccountNotUsable):
        await steps.requested(bankAccountId=later.id)
    with pytest.raises(NoSuchBankAccount):
        await steps.requested(bankAccountId=theirs.id)
    assert (await steps.requested()).bank_account_id == steps.account.id
    await steps.stop(steps.account)
    with pytest.raises(BankAccountNotUsable):
        await steps.requested(bankAccountId=steps.account.id)
    with pytest.raises(NoBankAccount):
        await steps.requested()


async def test_a_cancelled_settlement_is_in_the_wallet_again_once(steps: SettlementSteps) -> None:
    settlement = await steps.requested()
    done = await asyncio.gather(*(steps.cancel(settlement) for _ in range(5)))
    assert {each.status for each in done} == {SettlementStatus.CANCELLED}
    assert (await steps.balances())["wallet"] == 1_000_000


async def test_nobody_cancels_the_settlement_of_another_merchant(steps: SettlementSteps) -> None:
    settlement = await steps.requested()
    stranger = await make_merchant(steps.database, wallet=1000, name="Duka 2")
    with pytest.raises(NoSuchSettlement):
        await steps.service.settlements.cancel(SettlementCancellation(stranger.id, settlement.id, "key_2"))
    assert (await steps.look(settlement)).status is SettlementStatus.REQUESTED


async def test_what_is_in_a_file_is_not_cancelled_until_it_leaves_it(steps: SettlementSteps) -> None:
    settlement = await steps.requested()
    await steps.gather(settlement)
    with pytest.raises(SettlementNotCancellable):
        await steps.cancel(settlement)
    await steps.leave(settlement)
    assert (await steps.cancel(settlement)).status is SettlementStatus.CANCELLED
    await steps.check()


async def test_what_is_in_a_file_is_not_put_into_another(steps: SettlementSteps) -> None:
    settlement = await steps.requested()
    await steps.gather(settlement)
    with pytest.raises(Conflict) as refused:
        await steps.gather(settlement, file_id="pof_2")
    assert refused.value.code == "settlement_in_a_file"
    assert (await steps.look(settlement)).payout_file_id == "pof_1"


async def test_a_cancellation_that_races_the_gathering_wins_or_loses_whole(steps: SettlementSteps) -> None:
    for _ in range(8):
        settlement = await steps.requested(1_000)
        cancelled, gathered = await asyncio.gather(
            steps.cancel(settlement), steps.gather(settlement), return_exceptions=True
        )
        now = await steps.look(settlement)
        assert isinstance(cancelled, SettlementNotCancellable) == now.is_in_file
        assert isinstance(gathered, Conflict) == (now.status is SettlementStatus.CANCELLED)
    await steps.check()


async def test_each_step_of_a_file_can_be_repeated(steps: SettlementSteps) -> None:
    settlement = await steps.requested()
    for step in (steps.gather, steps.send, steps.complete):
        first, second = await step(settlement), await step(settlement)
        assert (len(first.changed), len(second.changed), len(second.unchanged)) == (1, 0, 1)
    assert not (await steps.send(settlement)).changed, "it is completed, and not sent again"
    first, second = await steps.give_back(settlement), await steps.give_back(settlement)
    assert (len(first.changed), len(second.changed)) == (1, 0)
    assert (await steps.balances())["wallet"] == 1_000_000


async def test_other_facts_about_the_same_step_are_a_conflict(steps: SettlementSteps) -> None:
    settlement = await steps.completed()
    for news in ({"reference": "CRDB-9"}, {"day": date(2026, 11, 23)}):
        with pytest.raises(Conflict) as refused:
            await steps.complete(settlement, **news)
        assert refused.value.code == "settlement_known_otherwise"
    await steps.give_back(settlement)
    with pytest.raises(Conflict):
        await steps.give_back(settlement, reference="CRDB-9")
    assert not (await steps.complete(settlement)).changed, "the debit that is known, after its return"
    await steps.check()


async def test_two_debits_of_one_settlement_in_one_statement_are_a_conflict(steps: SettlementSteps) -> None:
    settlement = await steps.sent()
    debits = [Debit(settlement.id, "CRDB-1", DAY), Debit(settlement.id, "CRDB-2", DAY)]
    with pytest.raises(Conflict):
        async with steps.database.begin() as tx:
            await bank_outcomes.complete(tx, debits, now=steps.service.clock())
    assert (await steps.look(settlement)).status is SettlementStatus.SENT


async def test_what_was_not_sent_is_neither_completed_nor_returned(steps: SettlementSteps) -> None:
    settlement = await steps.requested()
    for news in (steps.complete, steps.give_back):
        with pytest.raises(Conflict):
            await news(settlement)
    with pytest.raises(Conflict) as refused:
        await steps.send(settlement)
    assert refused.value.code == "settlement_not_in_file"
    with pytest.raises(Missing):
        async with steps.database.begin() as tx:
            await payout_files.mark_in_file(tx, ["stl_nobody"], "pof_1")


@pytest.mark.parametrize("is_completed", [False, True])
async def test_what_the_bank_returns_is_in_the_wallet_again_with_its_fee(
    steps: SettlementSteps, is_completed: bool
) -> None:
    settlement = await (steps.completed() if is_completed else steps.sent())
    await steps.give_back(settlement)
    done = await steps.look(settlement)
    assert (done.status, done.return_reason) == (SettlementStatus.RETURNED, "AC04 account closed")
    balances = await steps.balances()
    assert (balances["wallet"], balances["in_settlement"], balances["bank"]) == (1_000_000, 0, -1_000_000)


async def test_a_voided_file_leaves_its_settlements_waiting_and_they_go_with_another(steps: SettlementSteps) -> None:
    settlement = await steps.sent()
    await steps.void(settlement)
    assert not (await steps.void(settlement)).changed
    waiting = await steps.look(settlement)
    assert (waiting.status, waiting.payout_file_id, waiting.sent_at) == (SettlementStatus.REQUESTED, None, None)
    await steps.gather(settlement, file_id="pof_2")
    await steps.send(settlement, file_id="pof_2")
    assert not (await steps.void(settlement)).changed, "the file that is voided is not the one that it is in"
    assert (await steps.look(settlement)).status is SettlementStatus.SENT
    await steps.complete(settlement)
    with pytest.raises(Conflict):
        await steps.void(settlement, file_id="pof_2")
    await steps.check()


async def test_what_must_not_be_in_a_file_is_found(steps: SettlementSteps) -> None:
    settlement = await steps.requested()
    assert await steps.unfit(settlement) == {}
    await steps.owe(1)
    assert await steps.unfit(settlement) == {settlement.id: "owes"}
    await steps.owe(0)
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE merchants SET is_active = false")
    assert await steps.unfit(settlement) == {settlement.id: "inactive"}
    await steps.stop(steps.account)
    assert await steps.unfit(settlement) == {settlement.id: "account"}


async def test_the_oldest_that_are_in_no_file_are_due(steps: SettlementSteps) -> None:
    first, second, third = [await steps.requested(1_000) for _ in range(3)]
    await steps.gather(first)
    async with steps.database.begin() as tx:
        assert [each.id for each in await payout_files.due_for_file(tx, 1)] == [second.id]
        assert [each.id for each in await payout_files.due_for_file(tx, 9)] == [second.id, third.id]


async def test_two_who_gather_at_once_never_have_the_same_settlement(steps: SettlementSteps) -> None:
    for _ in range(4):
        await steps.requested(1_000)

    async def gather(file_id: str) -> int:
        async with steps.database.begin() as tx:
            due = await payout_files.due_for_file(tx, 3)
            return len((await payout_files.mark_in_file(tx, [each.id for each in due], file_id)).changed)

    assert sorted(await asyncio.gather(gather("pof_1"), gather("pof_2"))) in ([1, 3], [0, 3])
