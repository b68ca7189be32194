"""Faults of the receipt log: what is signed, what is appended, and what a verifier believes."""

from tests.faults.fault import Fault

_SIGNING = ("receipts/test_sign_checkpoints.py",)
_KEYS = ("receipts/test_key_changes.py",)
_APPEND = ("receipts/test_append.py", "receipts/test_append_fails.py")

FAULTS = (
    Fault(
        "a log that lost leaves is signed",
        "_of_this_log",
        "if flushed.size > now.size or not now.has_flushed_root:",
        "if False:",
        "After a restore the log says two things of one place, and both are signed.",
        ("receipts/test_signing_decision.py", *_SIGNING),
    ),
    Fault(
        "a checkpoint is published that was not flushed",
        "CheckpointSigner._sign",
        "await self._flush(note)",
        "pass",
        "After a restore nobody knows what was signed.",
        _SIGNING,
    ),
    Fault(
        "a host without a state folder signs",
        "decide",
        "if flushed is None and published is not None and not now.is_by_operator:",
        "if False:",
        "A host that has lost its folder may sign another history.",
        ("receipts/test_signing_decision.py", *_SIGNING),
    ),
    Fault(
        "a host that was off follows what it finds published",
        "_follow",
        "return Decision(Act.FOLLOW) if now.has_seen_news else Decision(Act.REFUSE, SigningRefusal.NO_STATE)",
        "return Decision(Act.FOLLOW)",
        "The host that signed is lost, the database restored unnoticed, and another host signs a fork of what was published.",
        ("receipts/test_signing_decision.py", *_SIGNING),
    ),
    Fault(
        "a log is signed while the installation is fenced",
        "decide",
        "if now.is_fenced:",
        "if False:",
        "A restored database signs before operators have looked.",
        ("receipts/test_signing_decision.py",),
    ),
    Fault(
        "leaves that no checkpoint covered stay in the log before the restore",
        "CheckpointSigner._begin",
        "moved = await facts.take_over(tx, state.log.number)",
        "moved = 0",
        "Receipts of the last minute before a restore are never proven.",
        _SIGNING,
    ),
    Fault(
        "a restore forgets a changed key",
        "CheckpointSigner._keep_keys",
        "await asyncio.to_thread(self._file.write_keys, known)",
        "pass",
        "After a restore to before the change of a key, receipts that the changed key has proven are refused.",
        _KEYS,
    ),
    Fault(
        "the last known key hands over, whoever has signed",
        "_find_giver",
        "opened = open_checkpoint(note, _named(found, origins))",
        "from malipo.receipts.checkpoint import Checkpoint\n"
        "        opened = Checkpoint(head_of(note), 0, _named(found, origins)[-1])",
        "A retired key hands over what another has signed: honest receipts are refused, and a stolen key counts again.",
        _KEYS,
    ),
    Fault(
        "the key of a log that the database has lost hands over nothing",
        "_find_giver",
        "[head_of(note).origin, *(each.origin for each in await logs.find_all(tx))]",
        "[each.origin for each in await logs.find_all(tx)]",
        "After a restore to before the log began, its receipts are refused with the key of the next one.",
        _KEYS,
    ),
    Fault(
        "a key hands over twice",
        "_find_giver",
        "while key in handed:",
        "while False:",
        "A key has two handovers, and a verifier refuses every receipt.",
        _KEYS,
    ),
    Fault(
        "a lost key comes back beside the one that took its place",
        "restore_lost",
        "handed.get(taken.old, taken.new) != taken.new",
        "False",
        "A key has two handovers, and a verifier refuses every receipt.",
        _KEYS,
    ),
    Fault(
        "a key that came back does not sign its log",
        "restore_key",
        'None if retired == "UPDATE 1" else now,',
        "now,",
        "After a restore that nobody has noticed, nothing is signed any more.",
        _KEYS,
    ),
    Fault(
        "events that were deleted while they were read are passed over",
        "move_positions",
        "AND l.logged_to = w.logged_to AND l.pruned_to = w.pruned_to",
        "",
        "A payment is never proven, and the check of the log does not find it.",
        _APPEND,
    ),
    Fault(
        "events get no numbers while somebody appends to the log",
        "append_new",
        "await logs.lock_appending(tx)",
        "await logs.lock_appending(tx)\n        await tx.execute('SELECT FROM feeds FOR UPDATE')",
        "Webhooks wait for the receipt log.",
        _APPEND,
    ),
    Fault(
        "a refund that was not paid is on the receipt",
        "receipt_view",
        "if refunded := sum(each.amount for each in payment.refunds if each.is_paid):",
        "if refunded := sum(each.amount for each in payment.refunds):",
        "A receipt says that money went back which the customer never got, and its proof is refused.",
        ("receipts/test_refunds.py",),
    ),
    Fault(
        "two workers append at once",
        "lock_appending",
        'await tx.execute(f"SELECT pg_advisory_xact_lock({_APPENDER})")',
        "pass",
        "Two workers write a leaf at one place, and one of them fails again and again.",
        _APPEND,
    ),
)
