"""`malipo log check` finds nothing in an honest log, and each kind of difference."""

import pytest

from malipo.payments.transaction import Status, Type
from malipo.receipts import check
from malipo.receipts.check import CheckResult, LogFinding
from tests.payments.refunds.refund_steps import RefundSteps
from tests.receipts.log_stack import LogStack


async def checked(stack: LogStack) -> CheckResult:
    async with stack.database.snapshot() as connection:
        return await check.check(connection)


async def a_log(stack: LogStack) -> None:
    """With payments, a payout, a correction, a refund, and three checkpoints."""
    paid = await stack.steps.ended(Type.COLLECTION, Status.COMPLETED)
    await stack.steps.ended(Type.DISBURSEMENT, Status.COMPLETED)
    await stack.number()
    await stack.sign()
    await stack.steps.contradicted(Type.COLLECTION, Status.FAILED)
    await stack.steps.ended(Type.COLLECTION, Status.FAILED)
    await stack.number()
    await stack.sign()
    await RefundSteps(stack.steps.service, stack.steps.merchant_id).refunded(paid)
    await stack.number()
    await stack.sign()


async def test_an_honest_log_is_clean_over_a_restore_too(stack: LogStack) -> None:
    assert (await checked(stack)).findings == []
    await a_log(stack)
    await stack.fence()
    await stack.release()
    await stack.steps.ended(Type.COLLECTION, Status.COMPLETED)
    await stack.number()
    await stack.sign()
    await stack.steps.ended(Type.COLLECTION, Status.COMPLETED)
    await stack.number(is_on=False)
    result = await checked(stack)
    assert result.findings == []
    assert (result.logs, result.facts, result.checkpoints, result.behind) == (2, 5, 4, 2)


async def test_tiles_and_checkpoints_of_a_larger_log_follow_from_its_leaves(stack: LogStack) -> None:
    await stack.steps.ended(Type.COLLECTION, Status.COMPLETED)
    await stack.number()
    for count in (300, 500, 1):
        await stack.fill(count)
        await stack.sign()
    found = (await checked(stack)).findings
    assert {each.code for each in found} == {LogFinding.UNKNOWN}  # Those leaves are of no payment.
    await stack.execute(
        "UPDATE receipt_tiles SET hashes = set_byte(hashes, 40, 255 - get_byte(hashes, 40)) WHERE tile = 1"
    )
    await stack.execute(
        "UPDATE receipt_tiles SET hashes = set_byte(hashes, 40, 255 - get_byte(hashes, 40)) WHERE level = 1"
    )
    found = [each for each in (await checked(stack)).findings if each.code is LogFinding.TILE]
    assert {(each.values["level"], each.values["tile"]) for each in found} == {(0, 1), (1, 0)}


DIFFERENCES: dict[str, tuple[LogFinding, str]] = {
    "a payment has another amount": (
        LogFinding.FACT,
        "UPDATE transactions SET amount = amount + 1 WHERE status = 'COMPLETED' AND type = 'COLLECTION'",
    ),
    "a refund has another amount": (
        LogFinding.FACT,
        "UPDATE transactions SET amount = amount - 1 WHERE refund_of IS NOT NULL",
    ),
    "a refund is of another payment": (
        LogFinding.UNKNOWN,
        """UPDATE transactions SET refund_of = (SELECT min(id) FROM transactions WHERE status = 'FAILED')
           WHERE refund_of IS NOT NULL""",
    ),
    "a refund was not paid": (
        LogFinding.UNKNOWN,
        "UPDATE transactions SET status = 'FAILED', failure_code = 'declined' WHERE refund_of IS NOT NULL",
    ),
    "a payment has another receipt": (
        LogFinding.FACT,
        "UPDATE transactions SET provider_reference = 'X1' WHERE status = 'COMPLETED' AND type = 'COLLECTION'",
    ),
    "a payment is not completed": (
        LogFinding.UNKNOWN,
        "UPDATE transactions SET status = 'FAILED', failure_code = 'declined' WHERE status = 'COMPLETED' AND type = 'COLLECTION'",
    ),
    "a payment was deleted": (LogFinding.UNKNOWN, "DELETE FROM transactions WHERE status = 'COMPLETED'"),
    "a correction was not told": (LogFinding.UNKNOWN, "UPDATE corrections SET told = 0"),
    "a fact was changed": (
        LogFinding.ENTRY,
        "UPDATE receipt_facts SET fact = replace(fact, ':1000', ':9000') WHERE kind = 'completed'",
    ),
    "a salt was changed": (LogFinding.ENTRY, "UPDATE receipt_facts SET salt = sha256(salt)"),
    "an entry was changed": (LogFinding.ROOT, "UPDATE receipt_facts SET entry = sha256(entry) WHERE leaf_index = 1"),
    "a last leaf was deleted": (LogFinding.LEAVES, "DELETE FROM receipt_facts WHERE leaf_index = 3"),
    "a leaf was deleted, and the log cut off": (
        LogFinding.MISSING,
        "WITH cut AS (UPDATE receipt_logs SET size = 3) DELETE FROM receipt_facts WHERE leaf_index = 3",
    ),
    "a payment was completed without an event": (
        LogFinding.MISSING,
        """UPDATE transactions SET status = 'COMPLETED', failure_code = NULL, processing_at = created_at
           WHERE id = (SELECT max(id) FROM transactions WHERE status = 'FAILED')""",
    ),
    "a checkpoint was changed": (
        LogFinding.SIGNATURE,
        "UPDATE receipt_checkpoints SET note = replace(note, E'\\n3\\n', E'\\n2\\n') WHERE size = 3",
    ),
    "a checkpoint was moved": (LogFinding.ROOT, "UPDATE receipt_checkpoints SET size = 2 WHERE size = 3"),
    "a key was exchanged": (LogFinding.SIGNATURE, "UPDATE receipt_log_keys SET public_key = sha256(public_key)"),
    "the first entry was changed": (LogFinding.GENESIS, "UPDATE receipt_logs SET genesis = genesis || 'x'"),
}


@pytest.mark.parametrize("what", DIFFERENCES)
async def test_each_difference_is_found(stack: LogStack, what: str) -> None:
    expected, sql = DIFFERENCES[what]
    await a_log(stack)
    await stack.execute(sql)
    assert expected in {each.code for each in (await checked(stack)).findings}
