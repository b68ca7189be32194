"""Checkpoints: flushed before they are published, each extends the one before it, and nothing else is ever signed."""

import asyncio
import itertools
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from malipo.monitoring.gauges_store import find_receipt_log
from malipo.networks.connector import Verdict
from malipo.payments.transaction import Status, Type
from malipo.receipts import checkpoint, handover, tree_store
from malipo.receipts.checkpoint import Checkpoint, open_checkpoint
from malipo.receipts.genesis import genesis_of
from malipo.receipts.handover import open_handover, trusted_keys
from malipo.receipts.merkle_tree import extends
from malipo.receipts.signed_note import parse_verifier_key
from malipo.receipts.signing_decision import SigningRefusal
from malipo.receipts.state_file import NoStateFile, StateFile
from malipo.receipts.store import logs
from malipo.restore.store import installation
from tests.receipts.log_stack import Died, LogStack, verifier


async def pay(stack: LogStack, count: int = 1, *, is_numbered: bool = True) -> list[str]:
    paid = await stack.steps.ended_many(Type.COLLECTION, Status.COMPLETED, [1000] * count)
    if is_numbered:
        await stack.number()
    return [each.id for each in paid]


async def opened(stack: LogStack, note: str) -> Checkpoint:
    keys = [parse_verifier_key(each) for each in (await stack.keys())["keys"]]
    return open_checkpoint(note, keys)


async def flushed(stack: LogStack, folder: str = "state") -> str | None:
    async with stack.database.read() as connection:
        standing = await installation.get(connection)
    return StateFile(stack.folder / folder, standing.id).read()


async def assert_extends(stack: LogStack, old: str, new: str) -> None:
    before, after = (await opened(stack, old)).head, (await opened(stack, new)).head
    log = await stack.log()
    assert before.origin == after.origin == log.origin
    async with stack.database.read() as connection:
        path = await tree_store.find_consistency_path(connection, log, before.size, after.size)
    assert extends(before.size, before.root, after.size, after.root, path)


async def assert_proven(stack: LogStack, payment_id: str) -> None:
    """By the client, with the keys as they are published."""
    tool, keys = verifier(), await stack.keys()
    trusted = tool.follow({tool.key_of(keys["keys"][-1]): None}, keys["handovers"])
    tool.verify_receipt(await stack.receipt(payment_id), trusted)


async def test_a_first_checkpoint_and_the_next_which_extends_it(stack: LogStack) -> None:
    assert await stack.sign() is None
    [first] = await pay(stack)
    one = await stack.sign()
    assert one is not None
    assert one.note == await flushed(stack)
    await assert_proven(stack, first)
    assert (await opened(stack, one.note)).head.size == 2
    # Nothing is new: nothing is signed.
    assert await stack.sign() == one
    [second] = await pay(stack)
    await stack.fill(600)  # over several tiles
    [last] = await pay(stack)
    two = await stack.sign()
    assert two is not None
    assert two.size == 604
    await assert_extends(stack, one.note, two.note)
    for each in (first, second, last):
        await assert_proven(stack, each)
    [[number]] = await stack.rows("SELECT count(*) FROM receipt_tiles")
    assert number == 3  # two of leaves, one above
    assert (await stack.log()).genesis == genesis_of(None)


async def test_it_is_not_signed_again_so_soon_unless_the_clock_was_set_back(stack: LogStack) -> None:
    signer = stack.signer(seconds=3600)
    await pay(stack)
    one = await stack.sign(signer)
    [later] = await pay(stack)
    assert await stack.sign(signer) == one
    assert (await stack.receipt(later))["facts"][0]["proof"] is None  # not yet
    await stack.execute("UPDATE receipt_checkpoints SET signed_at = signed_at - interval '2 hours'")
    two = await stack.sign(signer)
    assert two is not None
    assert two.size == 3
    # As if it had been signed by a clock that was an hour ahead.
    await pay(stack)
    await stack.execute("UPDATE receipt_checkpoints SET signed_at = signed_at + interval '1 hour'")
    three = await stack.sign(signer)
    assert three is not None
    assert three.size == 4


async def test_no_checkpoint_is_older_than_the_one_that_it_extends(stack: LogStack) -> None:
    await pay(stack)
    one = await stack.sign()
    assert one is not None
    opened_one = await opened(stack, one.note)
    async with stack.database.read() as connection:
        standing = await installation.get(connection)
        [key] = await logs.find_keys(connection)
    secret = stack.encryption.decrypt(key.secret, owner=key.id)
    ahead = opened_one.time + 86_400
    note = checkpoint.sign(opened_one.head, Ed25519PrivateKey.from_private_bytes(bytes.fromhex(secret)), time=ahead)
    StateFile(stack.folder / "state", standing.id).write(note)
    await pay(stack)
    two = await stack.sign()
    assert two is not None
    assert (await opened(stack, two.note)).time == ahead
    assert two.signed_at > one.signed_at + timedelta(hours=23)


@pytest.mark.parametrize("point", ["signed", "flushed"])
@pytest.mark.parametrize("is_first", [True, False])
async def test_a_process_that_dies_on_the_way_leaves_nothing_that_is_not_extended(
    stack: LogStack, point: str, is_first: bool
) -> None:
    if not is_first:
        await pay(stack)
        await stack.sign()
    await pay(stack, 2)
    before = await stack.published()
    with pytest.raises(Died):
        await stack.sign(stack.signer(die_at=point))
    left = await flushed(stack)
    assert await stack.published() == before
    assert (left is not None and checkpoint.head_of(left).size == (3 if is_first else 4)) == (point == "flushed")
    [last] = await pay(stack)
    after = await stack.sign()
    assert after is not None
    if left is not None:
        await assert_extends(stack, left, after.note)
    await assert_proven(stack, last)


async def test_two_signers_take_turns_and_each_host_has_every_checkpoint_before_it_signs(stack: LogStack) -> None:
    here, there = stack.signer("here"), stack.signer("there")
    await pay(stack)
    one = await stack.sign(here)
    # The other host is new: it has not seen how the log began, and waits until it sees that somebody signs it.
    await stack.sign(there)
    assert await flushed(stack, "there") is None
    assert await stack.refused() is SigningRefusal.NO_STATE
    await pay(stack)
    two = await stack.sign(here)
    await stack.sign(there)
    assert two is not None
    assert await flushed(stack, "there") == two.note
    notes = [one, two]
    for each in (there, here, there, here):
        await pay(stack)
        await asyncio.gather(stack.sign(each), stack.sign(here if each is there else there))
        notes.append(await stack.published())
    sizes = [each.size for each in notes if each]
    assert sizes == sorted(set(sizes)) == [2, 3, 4, 5, 6, 7]
    for old, new in itertools.pairwise(notes):
        assert old is not None
        assert new is not None
        await assert_extends(stack, old.note, new.note)


async def test_a_host_with_an_old_state_file_does_not_fork_what_another_has_signed(stack: LogStack) -> None:
    here, there = stack.signer("here"), stack.signer("there")
    await pay(stack)
    await stack.sign(here)
    await stack.sign(there)  # new, it waits
    await pay(stack)
    await stack.sign(here)
    await stack.sign(there)
    # The other host is switched off. This one goes on alone.
    await pay(stack, 2)
    known = await stack.sign(here)
    await pay(stack)
    lost = await stack.sign(here)
    assert known is not None
    assert lost is not None
    assert (known.size, lost.size) == (5, 6)
    # This host is lost, and the database is restored to a moment before its last checkpoint.
    await stack.execute("DELETE FROM receipt_checkpoints WHERE size = 6")
    await stack.execute("DELETE FROM receipt_facts WHERE leaf_index >= 5")
    await stack.execute("UPDATE receipt_logs SET size = 5")
    await stack.fill(2)
    again = stack.signer("there")
    assert await stack.sign(again) == known
    assert await stack.refused() is SigningRefusal.NO_STATE


async def test_a_log_that_lost_or_changed_leaves_is_not_signed(stack: LogStack) -> None:
    await pay(stack, 5)
    one = await stack.sign()
    await pay(stack, 2)
    await stack.execute("UPDATE receipt_facts SET entry = sha256('forged') WHERE leaf_index = 3")
    assert await stack.sign() == one
    assert await stack.refused() is SigningRefusal.PUBLISHED
    # Also if what was published is changed with it: the state folder has what was signed.
    await stack.execute("DELETE FROM receipt_checkpoints")
    assert await stack.sign() is None
    assert await stack.refused() is SigningRefusal.REWRITTEN


async def test_a_database_without_the_last_leaves_is_not_signed(stack: LogStack) -> None:
    await pay(stack, 5)
    await stack.sign()
    await stack.execute("DELETE FROM receipt_checkpoints")
    await stack.execute("DELETE FROM receipt_facts WHERE leaf_index >= 4")
    await stack.execute("UPDATE receipt_logs SET size = 4")
    assert await stack.sign() is None
    assert await stack.refused() is SigningRefusal.REWRITTEN


async def test_a_lost_state_folder_stops_it_until_an_operator_begins_another_log(stack: LogStack) -> None:
    [first] = await pay(stack)
    one = await stack.sign()
    assert one is not None
    [uncovered] = await pay(stack)
    assert await stack.sign(stack.signer("lost")) == one
    assert await stack.refused() is SigningRefusal.NO_STATE
    async with stack.database.begin() as tx:
        number = await logs.make(tx, "pay.example.com/log", begun_by="asha")
    two = await stack.sign(stack.signer("lost"))
    assert two is not None
    log = await stack.log()
    assert (two.log, two.size, log.genesis) == (number, 2, genesis_of(one.note))
    await assert_proven(stack, first)
    await assert_proven(stack, uncovered)


async def test_nothing_is_signed_while_it_is_fenced_and_then_a_log_begins_with_the_last_checkpoint(
    stack: LogStack,
) -> None:
    [covered] = await pay(stack)
    one = await stack.sign()
    assert one is not None
    [uncovered] = await pay(stack)
    await stack.fence()
    [meanwhile] = await pay_while_fenced(stack)
    assert await stack.sign() == one
    await stack.release()
    two = await stack.sign()
    assert two is not None
    log = await stack.log()
    assert two.log == log.number != one.log
    assert log.genesis == genesis_of(one.note)
    assert two.size == 3  # its first leaf, and the two that no checkpoint covered
    for each in (covered, uncovered, meanwhile):
        await assert_proven(stack, each)
    # Whoever only has the first key follows to the new one, and the other way round.
    keys = await stack.keys()
    first, second = map(parse_verifier_key, keys["keys"])
    handed = [open_handover(each) for each in keys["handovers"]]
    assert trusted_keys([first], handed) == trusted_keys([second], handed) == {first: 2, second: None}


async def pay_while_fenced(stack: LogStack) -> list[str]:
    """A callback of a payment from before."""
    await stack.release()
    sent = await stack.steps.processing(Type.COLLECTION)
    await stack.execute("UPDATE installation SET fenced_at = now(), fence_reason = 'restored'")
    ended = await stack.steps.report(sent, Verdict.CONFIRMED)
    await stack.number()
    return [ended.transaction.id]


async def test_after_a_restore_leaves_that_no_checkpoint_covers_get_another_place(stack: LogStack) -> None:
    """Also where nothing happens any more: they do not wait for the next payment."""
    await pay(stack)
    await stack.sign()
    [uncovered] = await pay(stack)
    await stack.fence()
    await stack.release()
    two = await stack.sign()
    assert two is not None
    assert two.size == 2
    await assert_proven(stack, uncovered)
    assert (await stack.rows("SELECT size FROM receipt_logs ORDER BY number"))[0]["size"] == 2


async def test_a_restore_between_two_checkpoints_never_makes_a_fork(stack: LogStack) -> None:
    """The database is back where it was at the first checkpoint. The state folder has the second."""
    [kept] = await pay(stack)
    one = await stack.sign()
    copied = [dict(row) for row in await stack.rows("SELECT * FROM receipt_checkpoints")]
    [lost] = await pay(stack)
    receipt_of_lost = await stack.receipt(lost)
    two = await stack.sign()
    receipt_of_lost = await stack.receipt(lost)
    keys = await stack.keys()
    assert one is not None
    assert two is not None
    # What a restore brings back.
    await stack.execute("DELETE FROM receipt_facts WHERE transaction_id = $1", lost)
    await stack.execute("DELETE FROM receipt_checkpoints WHERE size > $1", copied[0]["size"])
    await stack.execute("UPDATE receipt_logs SET size = $1", copied[0]["size"])
    # Before it is noticed, another payment takes the place of the lost one.
    [other] = await pay(stack)
    assert await stack.sign() == one
    assert await stack.refused() is SigningRefusal.REWRITTEN
    await stack.fence()
    await stack.release()
    three = await stack.sign()
    assert three is not None
    assert (await stack.log()).genesis == genesis_of(two.note)
    for each in (kept, other):
        await assert_proven(stack, each)
    # The receipt that was given out before the restore is as true as it was.
    tool = verifier()
    tool.verify_receipt(receipt_of_lost, {tool.key_of(keys["keys"][0]): None})


async def test_nothing_is_signed_before_a_worker_has_compared_the_database_with_its_mark(stack: LogStack) -> None:
    """A restore that nobody has noticed yet: the other host had signed more than this one and the database know."""
    here, there = stack.signer(), stack.signer("there")
    await pay(stack)
    await stack.sign(here)
    await stack.sign(there)  # new, it waits
    await pay(stack)
    await stack.sign(here)
    one = await stack.sign(there)
    [lost] = await pay(stack)
    two = await stack.sign(here)
    assert one is not None
    assert two is not None
    await stack.execute("DELETE FROM receipt_facts WHERE transaction_id = $1", lost)
    await stack.execute("DELETE FROM receipt_checkpoints WHERE size > $1", one.size)
    await stack.execute("UPDATE receipt_logs SET size = $1", one.size)
    await stack.execute("INSERT INTO worker_send_counts (worker_id, host, server_id) VALUES ('wrk_1', '', 'before it')")
    await stack.fill(1)  # A leaf takes the place of the lost one.
    assert await stack.sign(there) == one
    assert await stack.refused() is None
    # A worker has compared it, and it was no restore.
    await stack.execute("DELETE FROM worker_send_counts")
    three = await stack.sign(there)
    assert three is not None
    assert three.size == two.size


async def test_a_later_log_that_the_database_does_not_know_is_not_followed_by_an_earlier_one(stack: LogStack) -> None:
    await pay(stack)
    await stack.sign()
    log = await stack.log()
    await stack.fence()
    await stack.release()
    await pay(stack)
    await stack.sign()
    await stack.execute("DELETE FROM receipt_logs WHERE number > $1", log.number)
    await stack.execute("DELETE FROM receipt_checkpoints WHERE log_number > $1", log.number)
    await stack.execute("UPDATE receipt_logs SET installation_epoch = (SELECT epoch FROM installation)")
    await pay(stack)
    await stack.sign()
    assert await stack.refused() is SigningRefusal.LATER_LOG


async def test_a_changed_key_signs_from_the_next_checkpoint_on(stack: LogStack) -> None:
    [first] = await pay(stack)
    one = await stack.sign()
    assert one is not None
    old_receipt = await stack.receipt(first)
    await stack.execute("UPDATE receipt_logs SET is_key_to_change = true")
    await stack.sign()
    [second] = await pay(stack)
    two = await stack.sign()
    assert two is not None
    keys = await stack.keys()
    old, new = map(parse_verifier_key, keys["keys"])
    assert (await opened(stack, one.note)).key == old
    assert (await opened(stack, two.note)).key == new
    [handed] = [open_handover(each) for each in keys["handovers"]]
    assert handed == handover.Handover(old, checkpoint.head_of(one.note), new)
    await assert_extends(stack, one.note, two.note)
    await assert_proven(stack, second)
    tool = verifier()
    trusted = tool.follow({tool.key_of(keys["keys"][1]): None}, keys["handovers"])
    tool.verify_receipt(old_receipt, trusted)


async def test_a_state_folder_that_cannot_be_written_stops_it_and_nothing_is_published(stack: LogStack) -> None:
    (stack.folder / "file").write_text("")
    await pay(stack)
    with pytest.raises(NoStateFile):
        await stack.sign(stack.signer("file"))
    assert await stack.published() is None


async def test_the_gauges_say_what_is_not_signed(stack: LogStack) -> None:
    async def gauges() -> tuple[float, bool, float]:
        async with stack.database.read() as connection:
            found = await find_receipt_log(connection)
        return (
            found["receipt_log_unsigned_leaves"],
            found["receipt_log_unsigned_seconds"] > 3000,
            found["receipt_log_behind_events"],
        )

    assert await gauges() == (0, False, 0)
    await pay(stack)
    assert await gauges() == (2, False, 0)
    await stack.sign()
    await stack.execute("UPDATE receipt_checkpoints SET signed_at = signed_at - interval '1 hour'")
    await stack.execute("UPDATE feeds SET logged_to = logged_to - 1")
    assert await gauges() == (0, False, 1)
    await stack.fill(3)
    assert (await gauges())[0] == 3
