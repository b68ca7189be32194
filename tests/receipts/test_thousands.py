"""Thousands of real payments in a log, with refunds and corrections, a changed key and a restore to before it: every
receipt that was ever given out is accepted, by whichever key, with the answers of then and of the end."""

import random
from pathlib import Path
from typing import Any

import pytest

from malipo.payments.store import transactions
from malipo.payments.transaction import Status, Transaction, Type
from malipo.receipts import check
from tests.payments.refunds.refund_steps import RefundSteps
from tests.payments.refunds.refund_steps import steps as steps
from tests.receipts.log_stack import LogStack, verifier
from tests.receipts.test_key_changes import Answer, assert_one_chain, backed_up, change_key, restore

ROUNDS, IN_A_ROUND = 4, 600


@pytest.fixture
def stack(steps: RefundSteps, tmp_path: Path) -> LogStack:
    return LogStack(steps, tmp_path)


async def trade(steps: RefundSteps, chance: random.Random, *, refunds: int) -> list[str]:
    """Payments, some of which are refunded, in parts too, and some corrected, once or again."""
    amounts = [chance.randrange(2, 3000) * 1000 for _ in range(IN_A_ROUND)]
    half = len(amounts) // 2
    paid = await steps.ended_many(Type.COLLECTION, Status.COMPLETED, amounts[:half])
    paid += await steps.ended_many(Type.DISBURSEMENT, Status.COMPLETED, [1000] * (len(amounts) - half))
    failed = [await steps.ended(Type.COLLECTION, Status.FAILED, 5000) for _ in range(10)]
    for each in chance.sample(paid[:half], refunds):
        first = await steps.refunded(each, 1000, status=chance.choice([Status.COMPLETED, Status.FAILED]))
        if chance.random() < 0.5 and first.status is Status.FAILED:
            for is_paid in (True, False, True)[: chance.randrange(1, 4)]:
                await steps.contradict(first, is_paid=is_paid)
        elif chance.random() < 0.5:
            await steps.refunded(each, 1000)
    for each in failed:
        for is_paid in (True, False, True)[: chance.randrange(1, 4)]:
            await steps.contradict(each, is_paid=is_paid)
    return [each.id for each in (*paid, *failed)]


async def given_out(stack: LogStack, ids: list[str]) -> list[dict[str, Any]]:
    """Receipts that a checkpoint covers. Some tell of what operators have not decided yet."""
    receipts = [await stack.receipt(each) for each in ids if await has_receipt(stack, each)]
    proven = [each for each in receipts if all(line["proof"] for line in each["facts"])]
    assert len(proven) > len(ids) * 0.95
    return proven


async def has_receipt(stack: LogStack, id_: str) -> bool:
    async with stack.database.read() as connection:
        found = await transactions.get(connection, stack.steps.merchant_id, id_)
    assert isinstance(found, Transaction)
    corrected = found.correction
    return found.status is Status.COMPLETED or (corrected is not None and corrected.outcome is Status.COMPLETED)


def refused(receipts: list[dict[str, Any]], key: str, *answers: Answer) -> list[str]:
    tool = verifier()
    trusted = tool.follow({tool.key_of(key): None}, [each for answer in answers for each in answer["handovers"]])
    why = []
    for each in receipts:
        try:
            tool.verify_receipt(each, trusted)
        except tool.WRONG as error:
            why.append(f"{each['reference']}: {error}")
    return why


@pytest.mark.slow
@pytest.mark.timeout(1800)
async def test_every_receipt_of_thousands_is_accepted(stack: LogStack, steps: RefundSteps) -> None:
    chance = random.Random(36)
    ids: list[str] = []
    receipts: list[dict[str, Any]] = []
    answers: list[Answer] = []
    for number in range(ROUNDS):
        if number == 1:
            backup = await backed_up(stack)
            [[position]] = await stack.rows("SELECT max(logged_to) FROM feeds")
            await change_key(stack)
        if number == 3:
            await restore(stack, backup)
            # What was lost from the log is told again, and gets another place.
            await stack.execute("UPDATE feeds SET logged_to = $1", position)
        # After a restore a refund waits until its network was asked whether it was paid already.
        ids += await trade(steps, chance, refunds=40 if number < 3 else 0)
        await stack.number()
        await stack.sign()
        receipts += await given_out(stack, ids)
        answers.append(await stack.keys())
    assert len(ids) > 2400
    last = answers[-1]
    assert len(last["keys"]) == 3
    assert_one_chain(*answers)
    for key in last["keys"]:
        assert refused(receipts, key, last) == []
    assert refused(receipts, last["keys"][0], *answers) == []
    async with stack.database.snapshot() as connection:
        assert (await check.check(connection)).findings == []
