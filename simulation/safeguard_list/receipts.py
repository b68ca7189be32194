"""Receipts: each fact has one leaf that says what became true, and the log never says two things of one place."""

from malipo.receipts import append, merkle_tree, sign_checkpoints, signing_decision
from malipo.receipts.store import facts, logs
from malipo.reconciliation.exceptions import adopt_payment
from simulation.safeguard_list.remove_safeguard import InConstant, InFunction, Safeguard

_APPENDED_IN_TURN = InFunction(logs.lock_appending, "SELECT pg_advisory_xact_lock({_APPENDER})", "SELECT {_APPENDER}")
_POSITIONS_COMPARED = InFunction(
    facts.move_positions, "AND l.logged_to = w.logged_to AND l.pruned_to = w.pruned_to", ""
)
_OF_EPOCH = (
    InFunction(
        sign_checkpoints.CheckpointSigner._look,
        "is_of_epoch = latest is not None and latest.installation_epoch == state.epoch",
        "is_of_epoch = latest is not None",
    ),
    InConstant(facts, "_CURRENT", " AND installation_epoch = (SELECT epoch FROM installation)", ""),
)
_FLUSHED_EXTENDED = InFunction(
    signing_decision._of_this_log, "if flushed.size > now.size or not now.has_flushed_root:", "if False:"
)
_FENCED_SIGNS_NOTHING = InFunction(signing_decision.decide, "if now.is_fenced:", "if False:")

SAFEGUARDS = (
    Safeguard(
        "leaf-of-its-fact",
        "A leaf commits to the very text of its fact.",
        (InFunction(append._salted, "commitment_of(salt, text).hex()", "commitment_of(salt, text.lower()).hex()"),),
    ),
    Safeguard(
        "correction-carries-receipt",
        "Each event of an adopted payout, and so each leaf, has the network's receipt.",
        (InFunction(adopt_payment._lend, "provider_reference=receipt, ", ""),),
        note="hardly simulated: operators must adopt a payout that the wallet cannot pay; seeds of 25 payments "
        "have found it before it was fixed",
    ),
    Safeguard(
        "appended-in-turn",
        "One appends to the log at a time.",
        (_APPENDED_IN_TURN,),
        note="covered: the row of the log is locked by what appends, and positions are compared",
    ),
    Safeguard(
        "appended-in-turn+positions-compared",
        "Both together: what another worker has appended meanwhile is not appended again.",
        (_APPENDED_IN_TURN, _POSITIONS_COMPARED),
        note="covered: the row of the log is locked by what appends, and a fact that the log has is not appended again",
    ),
    Safeguard(
        "leaves-hashed-apart",
        "Leaves and inner nodes are hashed as RFC 9162 says, so that nobody can pass one for the other.",
        (InFunction(merkle_tree.hash_leaf, 'b"\\x00" + entry', "entry"),),
    ),
    Safeguard(
        "split-as-the-standard-says",
        "The left part of a tree is the largest power of two, so that others compute the same root.",
        (InFunction(merkle_tree._left_part, "return 1 << (count - 1).bit_length() - 1", "return (count + 1) // 2"),),
    ),
    Safeguard(
        "restored-log-is-another",
        "What is appended and signed after a restore is another log.",
        _OF_EPOCH,
        note="covered by flushed-is-extended and fenced-signs-nothing",
    ),
    Safeguard(
        "flushed-is-extended",
        "Nothing is signed that does not extend what this host has signed.",
        (_FLUSHED_EXTENDED,),
        note="covered by restored-log-is-another",
    ),
    Safeguard(
        "fenced-signs-nothing",
        "While the installation is fenced, nothing is signed.",
        (_FENCED_SIGNS_NOTHING,),
        note="covered by restored-log-is-another and flushed-is-extended",
    ),
    Safeguard(
        "restored-log-is-another+flushed-is-extended+fenced-signs-nothing",
        "All together: a restored database cannot make the log say two things of one place.",
        (*_OF_EPOCH, _FLUSHED_EXTENDED, _FENCED_SIGNS_NOTHING),
        note="hardly simulated: a checkpoint must be signed between a backup and its restore, in a log that is "
        "older than the backup",
    ),
    Safeguard(
        "uncovered-leaves-move",
        "What no published checkpoint of the log before a restore covers comes into the new one.",
        (InFunction(sign_checkpoints.CheckpointSigner._begin, "await facts.take_over(tx, state.log.number)", "0"),),
        note="hardly simulated: leaves must be in the backup that no checkpoint covers yet",
    ),
)
