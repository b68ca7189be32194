"""Concurrency of webhooks: how many are sent to one receiver at once, so that a receiver that hangs does not delay the
others. Pure.

Each endpoint has a limit of concurrent requests. It grows by one with every success and halves with every failure. All
endpoints share two lanes. An endpoint that has failed or is slow uses the slow lane, so that no number of slow
endpoints takes slots from fast ones. A request that takes long in the fast lane returns its slot there.
"""

from dataclasses import dataclass

LINGER_SECONDS = 1.0

_FIRST_LIMIT = 4
_LEAST_LIMIT = 2
_MOST_LIMIT = 64


@dataclass(slots=True)
class _Endpoint:
    limit: int = _FIRST_LIMIT
    under_way: int = 0
    is_slow: bool = False


@dataclass(slots=True, eq=False)
class Slot:
    """One delivery under way, and the lane whose slot it uses."""

    endpoint_id: str
    is_slow: bool
    has_lingered: bool = False


class WebhookConcurrency:
    def __init__(self, *, fast: int, slow: int) -> None:
        self._free = {False: fast, True: slow}  # key: whether it is the slow lane
        self._endpoints: dict[str, _Endpoint] = {}

    def room(self, endpoint_id: str) -> int:
        """The number of deliveries that may begin to this endpoint now."""
        endpoint = self._endpoints.get(endpoint_id)
        if endpoint is None:
            return max(0, min(_FIRST_LIMIT, self._free[False]))
        return max(0, min(endpoint.limit - endpoint.under_way, self._free[endpoint.is_slow]))

    def begin(self, endpoint_id: str) -> Slot:
        endpoint = self._endpoints.setdefault(endpoint_id, _Endpoint())
        endpoint.under_way += 1
        self._free[endpoint.is_slow] -= 1
        return Slot(endpoint_id, endpoint.is_slow)

    def linger(self, slot: Slot) -> None:
        """The request has been under way for LINGER_SECONDS: it moves to the slow lane."""
        slot.has_lingered = True
        self._endpoints[slot.endpoint_id].is_slow = True
        if not slot.is_slow:
            slot.is_slow = True
            self._free[False] += 1
            self._free[True] -= 1

    def end(self, slot: Slot, *, is_success: bool) -> None:
        endpoint = self._endpoints[slot.endpoint_id]
        endpoint.under_way -= 1
        self._free[slot.is_slow] += 1
        if is_success:
            endpoint.limit = min(endpoint.limit + 1, _MOST_LIMIT)
        else:
            endpoint.limit = max(endpoint.limit // 2, _LEAST_LIMIT)
        endpoint.is_slow = slot.has_lingered or not is_success
        if not endpoint.under_way and endpoint == _Endpoint():
            del self._endpoints[slot.endpoint_id]

    def cancel(self, slot: Slot) -> None:
        """Return the slot of a delivery that was not sent."""
        self._endpoints[slot.endpoint_id].under_way -= 1
        self._free[slot.is_slow] += 1

    @property
    def under_way(self) -> int:
        return sum(endpoint.under_way for endpoint in self._endpoints.values())
