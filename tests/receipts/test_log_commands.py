"""`malipo log …` as operators type it."""

from collections.abc import Awaitable, Callable

import pytest

from malipo import clock, ids
from malipo.operators import store as operators
from malipo.payments.transaction import Status, Transaction, Type
from malipo.receipts.signing_decision import SigningRefusal
from tests.journeys.operator_commands import Said, malipo
from tests.receipts.log_stack import NAME, LogStack

LogCommand = Callable[..., Awaitable[Said]]
WHY = ("--reason", "as the board decided")


@pytest.fixture
async def asha(stack: LogStack) -> str:
    async with stack.database.begin() as tx:
        await operators.insert_operator(tx, ids.mint("op_", clock.now()), "asha", now=clock.now())
    return "asha"


@pytest.fixture
def log_command(database_url: str) -> LogCommand:
    async def run(*words: str, operator: str = "") -> Said:
        settings = {"receipt_log": "public", "receipt_log_name": NAME, "database_url": database_url}
        return await malipo("log", *words, **settings, **({"operator": operator} if operator else {}))

    return run


async def signed_payment(stack: LogStack) -> Transaction:
    paid = await stack.steps.ended(Type.COLLECTION, Status.COMPLETED)
    await stack.number()
    assert await stack.sign() is not None
    return paid


async def test_status_says_whether_there_is_a_log_and_how_far_it_is_signed(
    stack: LogStack, log_command: LogCommand
) -> None:
    assert "There is no receipt log" in (await log_command("status")).out
    await signed_payment(stack)
    assert "The last checkpoint covers 2 of them" in (await log_command("status")).out


async def test_check_keys_and_consistency_read_the_log(stack: LogStack, log_command: LogCommand) -> None:
    await signed_payment(stack)
    assert (await log_command("check")).out.startswith("The receipt log is clean: 1 facts")
    assert (await log_command("keys", "--json")).json == await stack.keys()
    assert (await log_command("consistency", "2")).out.strip() == ""
    assert "covers 2 leaves" in (await log_command("consistency", "3")).err


@pytest.mark.parametrize("command", ["begin", "change-key", "erase"])
async def test_a_command_that_changes_the_log_needs_a_log_in_and_a_reason(
    stack: LogStack, log_command: LogCommand, asha: str, command: str
) -> None:
    paid = await signed_payment(stack)
    words = [command, paid.reference] if command == "erase" else [command]
    assert "Only an operator who is logged in" in (await log_command(*words, *WHY)).err
    assert "in 3 to 500 characters" in (await log_command(*words, "--reason", "x", operator=asha)).err


async def test_change_key_needs_a_log_and_takes_effect_at_the_next_checkpoint(
    stack: LogStack, log_command: LogCommand, asha: str
) -> None:
    assert (await log_command("change-key", *WHY, operator=asha)).code == 2
    await signed_payment(stack)
    assert (await log_command("change-key", *WHY, operator=asha)).code == 0
    await stack.sign()
    assert len((await stack.keys())["keys"]) == 2
    assert await audited(stack) == ["receipt_log.key_change_wanted"]


async def test_begin_begins_another_log_after_the_state_folder_was_lost(
    stack: LogStack, log_command: LogCommand, asha: str
) -> None:
    await signed_payment(stack)
    lost = await stack.published()
    await stack.sign(stack.signer("lost"))
    assert await stack.refused() is SigningRefusal.NO_STATE
    assert "it is new, was lost" in (await log_command("status")).out
    assert "begins" in (await log_command("begin", *WHY, operator=asha)).out
    begun = await stack.sign(stack.signer("lost"))
    assert lost is not None
    assert begun is not None
    assert begun.log > lost.log
    assert await audited(stack) == ["receipt_log.begun"]


async def test_erase_erases_the_facts_of_a_payment_once(stack: LogStack, log_command: LogCommand, asha: str) -> None:
    paid = await signed_payment(stack)
    assert "1 facts were erased" in (await log_command("erase", paid.reference, *WHY, operator=asha)).out
    assert (await log_command("erase", paid.reference, *WHY, operator=asha)).code == 2
    assert "(1 erased)" in (await log_command("check")).out
    assert await audited(stack) == ["receipt.erased"]


async def test_check_fails_if_an_entry_was_changed(stack: LogStack, log_command: LogCommand) -> None:
    await signed_payment(stack)
    await stack.execute("UPDATE receipt_facts SET entry = sha256('x')")
    wrong = await log_command("check")
    assert wrong.code == 1
    assert "has not their root" in wrong.err


async def audited(stack: LogStack) -> list[str]:
    """The acts of asha in the audit log."""
    rows = await stack.rows("SELECT action FROM audit_log WHERE actor LIKE '%asha%' ORDER BY id")
    return [row["action"] for row in rows]
