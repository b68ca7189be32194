"""Events: a feed has no gaps, and every webhook is sent."""

from malipo.outbox import feed_numbers
from malipo.webhooks.store import delivery_queue
from simulation.safeguard_list.remove_safeguard import InFunction, Safeguard

SAFEGUARDS = (
    Safeguard(
        "one-numberer",
        "Events get their numbers from one worker at a time, so that a feed has no gaps.",
        (InFunction(feed_numbers.lock_numbering, "SELECT pg_advisory_xact_lock({_NUMBERER})", "SELECT {_NUMBERER}"),),
    ),
    Safeguard(
        "delivery-lease",
        "A webhook that a worker is sending is not sent by another.",
        (
            InFunction(delivery_queue.insert, "make_interval(secs => $3)", "make_interval(secs => $3) * 0"),
            InFunction(delivery_queue.claim, "make_interval(secs => $5)", "make_interval(secs => $5) * 0"),
        ),
        note="not needed for safety: receivers may get an event twice",
    ),
    Safeguard(
        "delivery-lease-ends",
        "A webhook that a worker had claimed when it died is sent by another.",
        (
            InFunction(delivery_queue.find_waiting, "OR d.leased_until < now()", ""),
            InFunction(delivery_queue.claim, "OR leased_until < now()", ""),
        ),
    ),
)
