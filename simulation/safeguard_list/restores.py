"""A database that was restored from a backup: what was sent in the lost time is not sent again."""

from malipo.outbox import feed
from malipo.payments import assign_network_keys
from malipo.payments.store import asked_first, claims, status_writes
from malipo.restore import feed_cursors, mark_comparison
from malipo.restore.restore_detector import RestoreDetector
from malipo.restore.store import installation, send_counts
from simulation.safeguard_list.remove_safeguard import InConstant, InFunction, Safeguard

_CLAIMS_COMPARED = InConstant(claims, "_MAY_BE_SENT", send_counts.IS_COMPARED, "true")
_WORKER_COMPARED = InFunction(RestoreDetector.may_send.fget, "return self._may_send", "return True")  # type: ignore[attr-defined]
_BATCH_COMPARED = (
    InFunction(
        RestoreDetector.may_leave,
        "if batch is None or self._first is None or batch.server_id != self._first.server_id:",
        "if batch is None:",
    ),
    InFunction(
        RestoreDetector.may_leave,
        "if before is None or batch.counted.epoch != before.epoch:",
        "if before is None:",
    ),
    InFunction(mark_comparison.why_exchanged, "if after.total <= before.total:", "return None\n    if True:"),
)
_RESTORE_NOTICED = InFunction(
    mark_comparison.why_restored, "for worker_id, counted in marks.items():", "for worker_id, counted in ():"
)

_NEW_ASKED_FIRST = InConstant(
    status_writes, "_OPEN", "held.yes OR paid.yes OR lost.since IS NOT NULL", "held.yes OR paid.yes"
)
_PAID_BY_ITS_LINE = InConstant(
    status_writes, "_OPEN", "ELSE false END AS yes) paid", "ELSE false END AND false AS yes) paid"
)
_CURSOR_KEPT = InFunction(feed_cursors.require_kept, "if of_epoch == epoch:", "if True:")

SAFEGUARDS = (
    Safeguard(
        "restore-noticed",
        "A worker notices that the database was restored from a backup.",
        (_RESTORE_NOTICED,),
        note="covered by restore-noticed-at-claim",
    ),
    Safeguard(
        "restore-noticed-at-claim",
        "A claim notices that another database has answered.",
        _BATCH_COMPARED,
        note="covered by restore-noticed",
    ),
    Safeguard(
        "restore-noticed+restore-noticed-at-claim",
        "Both together: a restored database is fenced before anything is sent.",
        (_RESTORE_NOTICED, *_BATCH_COMPARED),
    ),
    Safeguard(
        "compared-before-sending",
        "Nothing is sent before the database was compared with the mark.",
        (_CLAIMS_COMPARED, _WORKER_COMPARED),
        note="covered by restore-noticed-at-claim",
    ),
    Safeguard(
        "compared+restore-noticed-at-claim",
        "Both together: nothing of a restored database is sent before it is noticed.",
        (_CLAIMS_COMPARED, _WORKER_COMPARED, *_BATCH_COMPARED),
        note="covered by restore-noticed: a worker looks every second; before that only what waited in the backup,"
        " and was sent since, could leave, under its old key, which networks refuse",
    ),
    Safeguard(
        "compared-by-all",
        "No event gets a place in the feed, and nothing is cancelled, before all workers have compared the database.",
        (InFunction(send_counts.note_running, "server_id + _WAITS if is_waiting else server_id", "server_id"),),
        note="covered by restore-noticed, unless a worker hangs from the backup to the restore and is the first to"
        " compare; seed 320447 of an earlier version met that, with 25 payments (feed)",
    ),
    Safeguard(
        "fence",
        "A restored installation sends nothing until operators release it.",
        (InConstant(claims, "_MAY_BE_SENT", f"AND NOT {installation.TAKES_NO_PAYMENTS}", ""),),
        note="covered by new-asked-first and open-asked-first",
    ),
    Safeguard(
        "derived-network-keys",
        "A request that is repeated after a restore has the network key that it had before.",
        (
            InFunction(
                assign_network_keys.DerivedKeys.assign,
                "if request.draft is None or request.key is None or request.draft.refund_of is not None:",
                "if True:",
            ),
        ),
    ),
    Safeguard(
        "new-asked-first",
        "After a restore a new payment is sent only when its network does not know it.",
        (_NEW_ASKED_FIRST,),
        note="covered by paid-by-its-line-held, where the statement came first and has our key, and by the "
        "networks, which refuse a key that is repeated",
    ),
    Safeguard(
        "paid-by-its-line-held",
        "A new payment whose key is on a line of a statement is not sent: its network has paid it.",
        (_PAID_BY_ITS_LINE,),
        note="covered by new-asked-first, in the week after a restore and where the channel was not released",
    ),
    Safeguard(
        "new-asked-first+paid-by-its-line-held",
        "Both together: what was paid in the lost time, and is repeated, is not sent.",
        (_NEW_ASKED_FIRST, _PAID_BY_ITS_LINE),
    ),
    Safeguard(
        "open-asked-first",
        "After a restore what waits is sent only when its network does not know it.",
        (InFunction(asked_first.ask_all_first, "is_asked_first = (connector IS NULL)", "is_asked_first = false"),),
        note="hardly simulated: a payment must wait in the backup and be sent in the lost time, and payments wait "
        "for milliseconds here; it leaves under its old key, which networks refuse, but for Tigo Pesa in half"
        " of its runs",
    ),
    Safeguard(
        "feed-cursor-kept",
        "A reader whose cursor lies in the lost time is told so.",
        (_CURSOR_KEPT,),
    ),
    Safeguard(
        "feed-cursor-kept+feed-cursor-known",
        "Both together: also while the restored feed is shorter than it was.",
        (_CURSOR_KEPT, InFunction(feed.page, "if after > last:", "if False:")),
    ),
)
