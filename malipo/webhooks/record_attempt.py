"""Records attempts, many in one commit: the state of each delivery, and the health of its endpoint."""

from collections.abc import Sequence

from malipo.clock import Clock
from malipo.db import Tx
from malipo.webhooks.delivery_state import Attempt, Delivery, Key
from malipo.webhooks.disable_endpoint import note_health
from malipo.webhooks.store import delivery_queue


class RecordAttempts:
    def __init__(self, *, clock: Clock, retry_seconds: Sequence[int]) -> None:
        self._clock = clock
        self._retry_seconds = retry_seconds

    async def __call__(self, tx: Tx, attempts: Sequence[Attempt], /, *, again: bool) -> list[Delivery | None]:
        """Record attempts. Returns the deliveries as they are now; None for one that was pruned."""
        found = await delivery_queue.lock(tx, {each.key for each in attempts})
        # An attempt that exists was written by an earlier try of this commit, together with its consequences.
        new = await delivery_queue.insert_attempts(tx, [each for each in attempts if each.key in found])
        current: dict[Key, Delivery] = dict(found)
        counted: list[Attempt] = []
        for attempt in (each for each in attempts if each.id in new):
            after = current[attempt.key].after(attempt, self._retry_seconds)
            # A failure that is reported late, after another worker's attempt, does not show the endpoint's health now.
            # Neither does the failure of a test, which a person sends to see what fails, unless the answer is 410.
            if attempt.is_success or (
                after != current[attempt.key] and (attempt.is_gone or not current[attempt.key].is_test)
            ):
                counted.append(attempt)
            current[attempt.key] = after
        await delivery_queue.update(tx, [each for key, each in current.items() if each != found[key]])
        await note_health(tx, counted, now=self._clock())
        return [current.get(attempt.key) for attempt in attempts]
