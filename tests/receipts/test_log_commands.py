"""`malipo log …` as operators type it."""

import pytest

from malipo import clock, ids
from malipo.operators import store as operators
from malipo.payments.transaction import Status, Type
from malipo.receipts.signing_decision import SigningRefusal
from tests.journeys.operator_commands import Said, malipo
from tests.receipts.log_stack import NAME, LogStack


@pytest.fixture
async def asha(stack: LogStack) -> str:
    async with stack.database.begin() as tx:
        await operators.insert_operator(tx, ids.mint("op_", clock.now()), "asha", now=clock.now())
    return "asha"


async def test_what_operators_do_with_the_log(stack: LogStack, database_url: str, asha: str) -> None:
    async def type_(*words: str, operator: str = "") -> Said:
        settings = {"receipt_log": "public", "receipt_log_name": NAME, "database_url": database_url}
        return await malipo("log", *words, **settings, **({"operator": operator} if operator else {}))

    assert "There is no receipt log" in (await type_("status")).out
    assert (await type_("change-key", "--reason", "a test", operator=asha)).code == 2
    paid = await stack.steps.ended(Type.COLLECTION, Status.COMPLETED)
    await stack.number()
    one = await stack.sign()
    assert one is not None
    assert "The last checkpoint covers 2 of them" in (await type_("status")).out
    assert (await type_("check")).out.startswith("The receipt log is clean: 1 facts")
    assert (await type_("keys", "--json")).json == await stack.keys()
    assert (await type_("consistency", "2")).out.strip() == ""
    assert "covers 2 leaves" in (await type_("consistency", "3")).err

    # Nobody changes anything without a log-in, or without a reason.
    for act in (["begin"], ["change-key"], ["erase", paid.reference]):
        assert "Only an operator who is logged in" in (await type_(*act, "--reason", "a test")).err
        assert "in 3 to 500 characters" in (await type_(*act, "--reason", "x", operator=asha)).err
    assert (await type_("change-key", "--reason", "a year is over", operator=asha)).code == 0
    await stack.sign()
    assert len((await stack.keys())["keys"]) == 2

    # The state folder is lost.
    await stack.sign(stack.signer("lost"))
    assert await stack.refused() is SigningRefusal.NO_STATE
    assert "it is new, was lost" in (await type_("status")).out
    assert "begins" in (await type_("begin", "--reason", "The disk is gone", operator=asha)).out
    two = await stack.sign(stack.signer("lost"))
    assert two is not None
    assert two.log > one.log

    assert "1 facts were erased" in (await type_("erase", paid.reference, "--reason", "asked for", operator=asha)).out
    assert (await type_("erase", paid.reference, "--reason", "asked for", operator=asha)).code == 2
    assert "(1 erased)" in (await type_("check")).out
    await stack.execute("UPDATE receipt_facts SET entry = sha256('x')")
    wrong = await type_("check")
    assert wrong.code == 1
    assert "has not their root" in wrong.err
    actions = await stack.rows("SELECT action FROM audit_log WHERE actor LIKE '%asha%' ORDER BY id")
    assert [row["action"] for row in actions] == [
        "receipt_log.key_change_wanted",
        "receipt_log.begun",
        "receipt.erased",
    ]
