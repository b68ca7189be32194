"""Adopted payments: the merchant's repeat finds the adopted payment, or waits for operators. It is paid once."""

from malipo.payments.batches import approve
from malipo.payments.network_answer import decide
from malipo.payments.refunds import reserve
from malipo.payments.refunds.refund_network_keys import RefundKeys
from malipo.payments.store import dispatches, status_writes
from malipo.reconciliation.exceptions import adopt_payment, apply_action, lost_request
from malipo.reconciliation.matching.store import candidates
from simulation.safeguard_list.remove_safeguard import InConstant, InFunction, Safeguard
from simulation.safeguard_list.requests import NETWORK_KEY_IS_UNIQUE

_KEY_LOOKED_UP = InFunction(
    lost_request.require_new, "if adopted is None or not adopted.is_undone or not is_of_line:", "if False:"
)
_RECEIPT_LOOKED_UP = InFunction(
    lost_request.require_new,
    "if (known := await payments.find_by_receipt(tx, exception.receipt, since=exception.moved_at)) is not None:",
    "if False:",
)
_LIKE_LOOKED_UP = InFunction(
    lost_request.require_new, 'if may_be_repeated or network_keys.key_in(exception.key or "") is None:', "if False:"
)

SAFEGUARDS = (
    Safeguard(
        "adopted-key-looked-up",
        "A line is not adopted if a payment has its key.",
        (_KEY_LOOKED_UP,),
        note="covered by network-key-unique",
    ),
    Safeguard(
        "adopted-key-looked-up+network-key-unique",
        "Both together: a line is adopted only if no payment has its key.",
        (_KEY_LOOKED_UP,),
        NETWORK_KEY_IS_UNIQUE,
    ),
    Safeguard(
        "adopted-receipt-looked-up+like-looked-up",
        "A line without a key is not adopted if a payment has its receipt, or may be the repeat of its request.",
        (_RECEIPT_LOOKED_UP, _LIKE_LOOKED_UP),
    ),
    Safeguard(
        "matched-line-not-anothers",
        "A line is not matched with a payment while another, which has no line, has its key or receipt.",
        (
            InFunction(
                apply_action.require_payment_of_line,
                "await require_no_other_named(tx, exception, payment)",
                "pass",
            ),
        ),
        note="hardly simulated with 8 payments: a payment must get the receipt of a line between a matching and a "
        "decision about that line; seeds 350503 and 351851 of an earlier version met that, with 25",
    ),
    Safeguard(
        "adopted-key-is-the-lines",
        "An adopted payment has the key on its line, or the one that follows from the merchant's Idempotency-Key.",
        (InFunction(adopt_payment._draft, "network_key=lost.network_key or suffix", "network_key=suffix"),),
    ),
    Safeguard(
        "biller-code-stripped",
        "Of what Tigo Pesa calls a payment, the biller's code before our key is left out.",
        (
            InFunction(
                lost_request.find_lost_request,
                'on_line = network_keys.key_in(exception.key or "")',
                "on_line = exception.key or None",
            ),
        ),
    ),
    Safeguard(
        "like-adopted-held",
        "A payout like an adopted one, whose repeat nobody would recognize, waits for operators.",
        (InConstant(status_writes, "_OPEN", "a.phone = created.phone", "false"),),
    ),
    Safeguard(
        "refund-of-keyless-held",
        "A refund of a collection that was adopted from a line without a key waits for operators.",
        (InConstant(status_writes, "_OPEN", "a.transaction_id = created.refund_of", "false"),),
        note="not simulated: merchants refund the payment that their repeated request is answered with; where a "
        "collection was adopted without a key, that is another one",
    ),
    Safeguard(
        "batch-skips-adopted",
        "A batch that is approved again goes on without the lines that were adopted.",
        (
            InFunction(
                approve.ApproveBatch._open, "lines = [item for item in lines if item.index not in known]", "pass"
            ),
        ),
    ),
    Safeguard(
        "adopted-idempotency-record",
        "The Idempotency-Key that operators name is that of the adopted payment from then on.",
        (InFunction(adopt_payment._note, "if lost.idempotency_key is not None:", "if False:"),),
        note="covered by network-key-unique: the repeat has the network key of the adopted payment, and is "
        "answered with it; a refund of all of a collection is refused, because nothing is left",
    ),
    Safeguard(
        "first-free-refund-key",
        "A refund that is repeated has the first key that none has, also if a later one was adopted.",
        (InFunction(RefundKeys.next_key, "number = 1", "number = 1 + len(taken)"),),
        note="hardly simulated: two refunds of a collection must be lost, and the second adopted before the first "
        "is repeated; seed 4 of an earlier version met that",
    ),
    Safeguard(
        "refund-key-follows-network-key",
        "A refund that was lost together with its collection has the same key, when both are repeated or adopted.",
        (InFunction(RefundKeys.key_of, "if self._is_older(collection) else collection.network_key", ""),),
    ),
    Safeguard(
        "adopted-credited-once",
        "What a network reports of a repeated collection, with the receipt of an adopted one, does not end it.",
        (InFunction(decide.decide, "if _is_about_adopted(received, adopted_receipts):", "if False:"),),
        note="no seed reaches it",
    ),
    Safeguard(
        "held-hears-nothing",
        "What is reported of the key of a payout that waits, because it resembles an adopted one, does not end it.",
        (InFunction(decide.decide, "if dispatch.review_reason is ReviewReason.RESEMBLES_ADOPTED:", "if False:"),),
        note="no seed reaches it",
    ),
    Safeguard(
        "undone-hears-nothing",
        "What is reported of the key of an adoption that was undone does not correct it.",
        (InFunction(dispatches.lock, "if key not in undone", ""),),
        note="hardly simulated: a callback must come between an undo and the next decision about the line, and "
        "name our key",
    ),
    Safeguard(
        "undone-refund-in-doubt",
        "While the adoption of a lost refund is undone, nothing of its collection is refunded.",
        (InFunction(reserve.Reservations.take, "if is_in_doubt:", "if False:"),),
        note="no seed reaches it",
    ),
    Safeguard(
        "undone-not-matched",
        "A line whose decision operators have undone is not matched by itself.",
        (InConstant(candidates, "_CANDIDATES", "r.undone_by IS NOT NULL", "false"),),
        note="not needed for money here: operators undo adoptions only; such a payment keeps the key until it is "
        "decided anew and is never a candidate, and a payment to which its network gave the receipt is the "
        "line's",
    ),
)
