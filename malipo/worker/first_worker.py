"""Precedence: which of the workers that run side by side is the first worker for each kind of work.

If all workers followed each notification, every commit would have half as many payments, and commits are most of the
cost of a payment (decision 55). So the first worker follows notifications, and the others look only for work that is
late. Precedence decides only when a worker looks. Claims and leases are the same without it: if the first worker hangs,
dies, or has another clock or another view, the others do its work.
"""

from collections.abc import Callable, Mapping
from hashlib import sha256

from malipo.clock import loop_time
from malipo.restore.mark_comparison import Worker

# Work that has waited this long is late: longer than the time between two looks of the first worker.
LATE_SECONDS = 1.0
# How long the result of a look is used. Workers look once a second.
_KNOWN_SECONDS = 3.0


class Precedence:
    """`needed` has for each topic its kind of work, and the routes that a worker must carry to be first for it.

    No worker is first for other topics: all workers look at once.
    """

    def __init__(
        self,
        needed: Mapping[str, tuple[str, frozenset[str]]],
        *,
        monotonic: Callable[[], float] = loop_time,
    ) -> None:
        self._needed = needed
        self._monotonic = monotonic
        self._first: dict[str, bool] = {}
        self._good_until = 0.0

    def note(self, own_id: str, workers: Mapping[str, Worker]) -> None:
        """Note the workers that a look of this worker has found."""
        self._good_until = self._monotonic() + _KNOWN_SECONDS
        self._first = {topic: is_first(*needed, own_id, workers) for topic, needed in self._needed.items()}

    def late_seconds(self, topic: str) -> float:
        """How long work of a topic must have waited before this worker looks for it; 0 if this is the first worker."""
        is_known = self._monotonic() < self._good_until
        return LATE_SECONDS if is_known and not self._first.get(topic, True) else 0.0


def is_first(kind: str, routes: frozenset[str], own_id: str, workers: Mapping[str, Worker]) -> bool:
    """Whether no other worker that is at work and carries these routes comes before this one. Pure.

    Each kind has an order of its own, so that several workers share the kinds.
    """
    rivals = (id_ for id_, each in workers.items() if each.is_at_work and routes <= each.routes and id_ != own_id)
    own_place = _place(kind, own_id)
    return all(own_place < _place(kind, each) for each in rivals)


def _place(kind: str, worker_id: str) -> str:
    return sha256(f"{kind} {worker_id}".encode()).hexdigest()
