"""Changed keys over restores: a key hands over once, and only what it has signed, and no key is forgotten."""

from typing import Any

import pytest

from malipo.encryption import Encryption
from malipo.payments.transaction import Status, Type
from malipo.receipts import checkpoint
from malipo.receipts.handover import open_handover, trusted_keys
from malipo.receipts.merkle_tree import EMPTY_ROOT
from malipo.receipts.signed_note import parse_verifier_key
from malipo.receipts.state_file import NoStateFile
from malipo.receipts.store import logs
from tests.receipts.log_stack import NAME, LogStack, verifier

_TABLES = ("receipt_logs", "receipt_checkpoints", "receipt_log_keys", "receipt_facts")
Answer = dict[str, Any]  # of GET /log/keys


async def backed_up(stack: LogStack) -> dict[str, str]:
    """The log as it is now."""
    return {each: (await stack.rows(f"SELECT json_agg(t)::text AS all FROM {each} t"))[0]["all"] for each in _TABLES}


async def restore(stack: LogStack, backup: dict[str, str], *, is_noticed: bool = True) -> None:
    for table, rows in backup.items():
        await stack.execute(f"DELETE FROM {table}")
        await stack.execute(f"INSERT INTO {table} SELECT * FROM json_populate_recordset(null::{table}, $1)", rows)
    if is_noticed:
        await stack.fence()
        await stack.release()


async def begin_later(stack: LogStack, lost: int) -> None:
    """Another log, with another number than a lost one: the number is the second of the beginning, and tests are quick."""
    async with stack.database.begin() as tx:
        while (made := await logs.make(tx, NAME, begun_by="asha")) <= lost:
            pass
        await tx.execute("DELETE FROM receipt_logs WHERE number >= $1 AND number < $2", lost, made)


async def change_key(stack: LogStack) -> None:
    await stack.execute("UPDATE receipt_logs SET is_key_to_change = true")
    await stack.sign()


async def pay(stack: LogStack, folder: str = "state") -> dict[str, Any]:
    """A payment that a checkpoint covers; its receipt."""
    paid = await stack.steps.ended(Type.COLLECTION, Status.COMPLETED)
    await stack.number()
    await stack.sign(stack.signer(folder))
    return await stack.receipt(paid.id)


def verified(receipt: dict[str, Any], key: str, *answers: Answer) -> str:
    """What the client says, with one key and these answers."""
    tool = verifier()
    handovers = [each for answer in answers for each in answer["handovers"]]
    try:
        tool.verify_receipt(receipt, tool.follow({tool.key_of(key): None}, handovers))
    except tool.WRONG as error:
        return f"REFUSED: {error}"
    return "true"


def assert_one_chain(*answers: Answer) -> None:
    """Each key hands over to the next, and to no other, whichever answers a reader has kept."""
    handed = {open_handover(each) for answer in answers for each in answer["handovers"]}
    assert len({each.old for each in handed}) == len({(each.old, each.new) for each in handed})
    keys = [parse_verifier_key(each) for each in answers[-1]["keys"]]
    assert set(trusted_keys(keys[:1], handed)) == set(keys)


async def test_a_restore_to_before_a_change_of_the_key_refuses_no_receipt(stack: LogStack) -> None:
    first = await pay(stack)
    backup = await backed_up(stack)
    await change_key(stack)
    between = await pay(stack)
    then = await stack.keys()
    old, new = then["keys"]
    await restore(stack, backup)
    later = await pay(stack)
    now = await stack.keys()
    assert now["keys"][:2] == [old, new]
    assert now["handovers"][0] == then["handovers"][0]
    assert_one_chain(then, now)
    for receipt in (first, between, later):
        for key in now["keys"]:
            assert verified(receipt, key, now) == "true"
            assert verified(receipt, key, then, now) == "true"
    # The old key counts up to what it had signed, and no further: it may have been changed because it was stolen.
    handed = [open_handover(each) for each in now["handovers"]]
    assert [(str(each.old), each.last.size) for each in handed] == [(old, 2), (new, 3)]


async def test_a_restore_to_before_a_log_with_changed_keys_refuses_no_receipt(stack: LogStack) -> None:
    """The database knows neither the log nor its keys."""
    first, backup = await pay(stack), await backed_up(stack)
    await stack.fence()
    await stack.release()
    second = await pay(stack)
    await change_key(stack)
    third = await pay(stack)
    then, lost = await stack.keys(), await stack.log()
    await restore(stack, backup)
    await begin_later(stack, lost.number)
    fourth = await pay(stack)
    now = await stack.keys()
    assert now["keys"][:3] == then["keys"]
    assert len(now["keys"]) == 4
    assert_one_chain(then, now)
    for receipt in (first, second, third, fourth):
        assert {verified(receipt, key, now) for key in now["keys"]} == {"true"}


async def test_a_restore_to_before_the_first_log_refuses_no_receipt(stack: LogStack) -> None:
    first = await pay(stack)
    then, lost = await stack.keys(), await stack.log()
    for table in _TABLES:
        await stack.execute(f"DELETE FROM {table}")
    await stack.fence()
    await stack.release()
    await begin_later(stack, lost.number)
    second = await pay(stack)
    now = await stack.keys()
    assert now["keys"][:1] == then["keys"]
    assert_one_chain(then, now)
    for receipt in (first, second):
        assert {verified(receipt, key, now) for key in now["keys"]} == {"true"}


async def test_a_changed_key_that_has_signed_nothing_is_not_forgotten_either(stack: LogStack) -> None:
    """A restore to before the change, which nobody notices: the checkpoint is the same, and the key another one."""
    await pay(stack)
    backup = await backed_up(stack)
    await change_key(stack)
    then = await stack.keys()
    await restore(stack, backup, is_noticed=False)
    receipt = await pay(stack)
    now = await stack.keys()
    assert now == then
    assert {verified(receipt, key, now) for key in now["keys"]} == {"true"}
    # The same, and noticed.
    await restore(stack, backup)
    receipt = await pay(stack)
    now = await stack.keys()
    assert now["keys"][:2] == then["keys"]
    assert_one_chain(then, now)
    assert {verified(receipt, key, now) for key in now["keys"]} == {"true"}


async def test_no_key_hands_over_what_another_has_signed(stack: LogStack) -> None:
    """The state folder has the checkpoint, and not the key that has signed it."""
    first = await pay(stack)
    backup = await backed_up(stack)
    await change_key(stack)
    between = await pay(stack)
    then = await stack.keys()
    await restore(stack, backup)
    [kept] = (stack.folder / "state").glob("*.keys")
    kept.unlink()
    later = await pay(stack)
    now = await stack.keys()
    assert now["handovers"] == []
    assert verified(between, then["keys"][0], then) == "true"
    assert verified(between, then["keys"][0], then, now) == "true"
    assert verified(first, then["keys"][0], now) == "true"
    assert verified(later, now["keys"][-1], then, now) == "true"


async def test_a_key_that_nobody_can_decrypt_any_more_is_published_and_signs_nothing(stack: LogStack) -> None:
    await pay(stack)
    backup = await backed_up(stack)
    await change_key(stack)
    between = await pay(stack)
    then = await stack.keys()
    await restore(stack, backup)
    async with stack.database.begin() as tx:
        for each in await logs.find_keys(tx):
            seed = stack.encryption.decrypt(each.secret, owner=each.id)
            await logs.set_secret(tx, each.id, Encryption("x" * 32).encrypt(seed, owner=each.id))
    stack.encryption = Encryption("x" * 32)
    later = await pay(stack)
    now = await stack.keys()
    assert now["handovers"] == then["handovers"]
    assert verified(between, then["keys"][0], now) == "true"
    assert verified(later, now["keys"][-1], now) == "true"
    async with stack.database.begin() as tx:
        # A change of the secret key can read all of them.
        assert {len(stack.encryption.decrypt(each.secret, owner=each.id)) for each in await logs.find_keys(tx)} == {
            0,
            64,
        }


async def test_a_log_that_was_never_signed_hands_over_nothing(stack: LogStack) -> None:
    """An operator begins another log while the worker begins one."""
    first = await pay(stack)
    async with stack.database.begin() as tx:
        await logs.make(tx, NAME, begun_by="asha")
    assert await stack.signer().turn()  # It has its key, and no checkpoint.
    async with stack.database.begin() as tx:
        await logs.make(tx, NAME, begun_by="asha")
    last = await pay(stack)
    now = await stack.keys()
    handed = [open_handover(each) for each in now["handovers"]]
    assert_one_chain(now)
    assert [each.last.size for each in handed] == [2, 0]
    assert handed[1].last == checkpoint.TreeHead(handed[0].new.name, 0, EMPTY_ROOT)
    for receipt in (first, last):
        assert {verified(receipt, key, now) for key in now["keys"]} == {"true"}


async def test_a_lost_key_stays_away_if_the_one_before_it_has_handed_over_again(stack: LogStack) -> None:
    """Another host, which has not seen the lost key, begins the log after the restore; then this host is back."""
    here, there = stack.signer(), stack.signer("there")
    await pay(stack)
    await stack.sign(there)  # new, it waits
    await pay(stack)
    await stack.sign(there)
    backup = await backed_up(stack)
    await stack.execute("UPDATE receipt_logs SET is_key_to_change = true")
    await stack.sign(here)
    then = await stack.keys()
    await restore(stack, backup)
    receipt = await pay(stack, "there")
    now = await stack.keys()
    await pay(stack)
    assert await stack.keys() == now
    assert then["keys"][1] not in now["keys"]
    assert verified(receipt, now["keys"][0], now) == "true"


async def signed_by_one_of_two_hosts(stack: LogStack) -> tuple[dict[str, str], dict[str, Any]]:
    """A backup that both hosts know, and the receipt of a payment of after it, whose checkpoint one of them has signed."""
    there = stack.signer("there")
    await pay(stack)
    await stack.sign(there)  # new, it waits
    await pay(stack)
    await stack.sign(there)
    backup = await backed_up(stack)
    return backup, await pay(stack)


async def test_a_host_that_had_signed_more_than_the_next_log_was_told_says_so(stack: LogStack) -> None:
    """After a restore the next log is begun by the host that does not know the last checkpoint."""
    backup, last = await signed_by_one_of_two_hosts(stack)
    then = await stack.keys()
    await restore(stack, backup)
    later = await pay(stack, "there")
    narrow = await stack.keys()
    await stack.sign()
    now = await stack.keys()
    assert [open_handover(each).last.size for each in narrow["handovers"] + now["handovers"]] == [3, 4]
    assert_one_chain(then, narrow, now)
    for receipt in (last, later):
        for key in now["keys"]:
            assert verified(receipt, key, now) == "true"
            assert verified(receipt, key, then, narrow, now) == "true"
            assert verified(receipt, key, now, narrow) == "true"
    # Both hosts go on, and keep it.
    await pay(stack, "there")
    await stack.sign()
    assert await stack.keys() == now


async def test_a_restore_does_not_forget_that_a_key_had_signed_more(stack: LogStack) -> None:
    backup, last = await signed_by_one_of_two_hosts(stack)
    await restore(stack, backup)
    await pay(stack, "there")
    here, backup = stack.signer(), await backed_up(stack)
    await stack.sign(here)
    then = await stack.keys()
    await pay(stack, "there")
    await stack.sign(here)
    await restore(stack, backup, is_noticed=False)
    await stack.sign(here)  # Its checkpoint is one of the later log.
    now = await stack.keys()
    assert now == then
    assert {verified(last, key, now) for key in now["keys"]} == {"true"}


async def begun_by_a_host_that_knew_nothing(stack: LogStack) -> tuple[dict[str, Any], dict[str, Any]]:
    """A log that a restore to before its first entry has lost, and the next one by another host: a receipt of each."""
    empty = await backed_up(stack)
    last = await pay(stack)
    [number] = [each["number"] for each in await stack.rows("SELECT number FROM receipt_logs")]
    await restore(stack, empty)
    await begin_later(stack, number)
    return last, await pay(stack, "there")


async def test_a_host_whose_log_the_next_one_was_not_told_of_hands_over_to_it(stack: LogStack) -> None:
    last, later = await begun_by_a_host_that_knew_nothing(stack)
    then = await stack.keys()
    assert then["handovers"] == []
    here = stack.signer()
    await stack.sign(here)
    now = await stack.keys()
    assert [open_handover(each).last.size for each in now["handovers"]] == [2]
    assert_one_chain(then, now)
    for receipt in (last, later):
        for key in now["keys"]:
            assert verified(receipt, key, now) == "true"
    await pay(stack, "there")
    await stack.sign(here)
    assert await stack.keys() == now


async def test_a_restore_does_not_forget_that_a_key_handed_over_to_a_log_that_was_not_told_of_it(
    stack: LogStack,
) -> None:
    last, _ = await begun_by_a_host_that_knew_nothing(stack)
    here, backup = stack.signer(), await backed_up(stack)
    await stack.sign(here)
    then = await stack.keys()
    await pay(stack, "there")
    await stack.sign(here)
    await restore(stack, backup, is_noticed=False)
    await stack.sign(here)  # Its checkpoint is one of the later log.
    assert await stack.keys() == then
    assert {verified(last, key, then) for key in then["keys"]} == {"true"}


async def test_a_key_hands_over_to_the_log_after_its_own_though_that_one_is_over_too(stack: LogStack) -> None:
    last, later = await begun_by_a_host_that_knew_nothing(stack)
    await restore(stack, await backed_up(stack))
    latest = await pay(stack, "there")
    then = await stack.keys()
    await stack.sign()
    now = await stack.keys()
    assert set(then["handovers"]) < set(now["handovers"])
    assert_one_chain(then, now)
    for receipt in (last, later, latest):
        assert {verified(receipt, key, now) for key in now["keys"]} == {"true"}


async def test_a_changed_key_that_has_signed_nothing_hands_over_to_the_log_after_its_own(stack: LogStack) -> None:
    """The log was lost with its changed key, which only its host knows, and whose checkpoint the key before it signed."""
    empty = await backed_up(stack)
    last = await pay(stack)
    await change_key(stack)
    then = await stack.keys()
    lost = await stack.log()
    await restore(stack, empty)
    await begin_later(stack, lost.number)
    later = await pay(stack, "there")
    await stack.sign()
    now = await stack.keys()
    assert [open_handover(each).last.size for each in now["handovers"]] == [2, 2]
    assert_one_chain(then, now)
    for receipt in (last, later):
        assert {verified(receipt, key, now) for key in now["keys"]} == {"true"}


async def test_a_host_that_cannot_say_that_it_had_signed_more_goes_on(stack: LogStack) -> None:
    backup, last = await signed_by_one_of_two_hosts(stack)
    await restore(stack, backup)
    await pay(stack, "there")
    async with stack.database.begin() as tx:
        old, _ = await logs.find_keys(tx)
        await logs.set_secret(tx, old.id, stack.encryption.encrypt("", owner=old.id))
    here, then = stack.signer(), await stack.keys()
    await stack.sign(here)
    paid = await pay(stack, "there")
    await stack.sign(here)
    assert await stack.refused() is None
    now = await stack.keys()
    assert now == then
    assert verified(last, now["keys"][-1], now) == "REFUSED: the key was retired before this checkpoint"
    assert verified(last, now["keys"][0]) == verified(paid, now["keys"][0], now) == "true"


async def test_kept_keys_that_cannot_be_read_stop_it(stack: LogStack) -> None:
    await pay(stack)
    [kept] = (stack.folder / "state").glob("*.keys")
    kept.write_text("[{]")
    with pytest.raises(NoStateFile, match="cannot be read"):
        await pay(stack)
