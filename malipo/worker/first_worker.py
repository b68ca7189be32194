"""Precedence: which of the workers that run side by side looks first for each kind of work.

If each looked at once, every commit would be of half as many payments, and commits are most of what a payment costs
(decision 55). So the first one follows notifications, and the others look only for what is late. Nothing depends on
it but when a worker looks: claims and leases are as they would be without it, and if the first one hangs, dies or has
another clock or another view, the others find what it has left.
"""

import asyncio
from collections.abc import Callable, Mapping
from hashlib import sha256

from malipo.restore.mark_comparison import Worker

# What has waited so long the others take too: longer than the first one's own looks are apart.
LATE_SECONDS = 1.0
# For so long what a look has found is good. Workers look once a second.
_KNOWN_SECONDS = 3.0


class Precedence:
    """`needed` is, for each topic, the kind of work that it belongs to and the routes that a worker must carry for it.

    What is not in it is nobody's in particular: everybody looks at once.
    """

    def __init__(
        self,
        needed: Mapping[str, tuple[str, frozenset[str]]],
        *,
        monotonic: Callable[[], float] = lambda: asyncio.get_running_loop().time(),
    ) -> None:
        self._needed = needed
        self._monotonic = monotonic
        self._first: dict[str, bool] = {}
        self._good_until = 0.0

    def note(self, own_id: str, workers: Mapping[str, Worker]) -> None:
        """What a look of this worker has found."""
        self._good_until = self._monotonic() + _KNOWN_SECONDS
        self._first = {topic: is_first(*needed, own_id, workers) for topic, needed in self._needed.items()}

    def late_seconds(self, topic: str) -> float:
        """How long something must have waited before this worker looks for it."""
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
