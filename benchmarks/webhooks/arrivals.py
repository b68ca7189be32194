"""What has arrived in `bench webhooks`, by the receiver's log, held against what had to arrive."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles

from benchmarks.load import CannotMeasure
from benchmarks.webhooks.endpoints import Endpoints, Kind

_LOOK_SECONDS = 0.2
_PATIENCE_SECONDS = 30.0
# What nginx logs of them: the second means that the other side hung up before there was an answer.
_IN_VAIN = {Kind.FAILING: 500, Kind.HANGING: 499}

Key = tuple[int, int]  # place, event


@dataclass(frozen=True, slots=True)
class Arrival:
    at: float  # in seconds since 1970, to the millisecond
    kind: Kind
    place: int
    event: int
    status: int  # what it was answered


class Arrivals:
    def __init__(self, audience: Endpoints, log: Path) -> None:
        self._audience = audience
        self._log = log
        self._read = 0  # bytes of it
        self._first: dict[Key, float] = {}  # when each delivery first came to a healthy endpoint
        self._others: dict[Kind, dict[int, list[Arrival]]] = {kind: defaultdict(list) for kind in _IN_VAIN}
        self.duplicates = 0  # of a delivery that a healthy endpoint had answered already

    async def wait_for(self, events: range) -> dict[Key, float]:
        """When each of these deliveries first came to its healthy endpoint, once all of them have."""
        missing = self._audience.deliveries(events, Kind.HEALTHY)
        expected = set(missing)
        waited = 0.0
        while missing:
            if waited > _PATIENCE_SECONDS:
                raise CannotMeasure(f"{len(missing)} of {len(expected)} deliveries never came to a healthy endpoint.")
            await asyncio.sleep(_LOOK_SECONDS)
            self.count_new()
            still = missing - self._first.keys()
            waited = waited + _LOOK_SECONDS if len(still) == len(missing) else 0.0
            missing = still
        return {key: self._first[key] for key in expected}

    def count_new(self) -> None:
        """Take note of what has been logged since the last time."""
        for arrival in self._new():
            if arrival.kind is not Kind.HEALTHY:
                self._others[arrival.kind][arrival.place].append(arrival)
                continue
            key = (arrival.place, arrival.event)
            self.duplicates += key in self._first
            self._first.setdefault(key, arrival.at)

    def verify(self, events: range) -> None:
        """Of all that was written: healthy endpoints got theirs and nothing else, the others were tried, in vain."""
        self.count_new()
        if self._first.keys() != self._audience.deliveries(events, Kind.HEALTHY):
            raise CannotMeasure("Other deliveries came to the healthy endpoints than were written: this is a bug.")
        for kind, tried in self._others.items():
            if sorted(tried) != self._audience.places(kind):
                raise CannotMeasure(f"Not every {kind} endpoint was tried: this is no measurement.")
            if {each.status for place in tried.values() for each in place} - {_IN_VAIN[kind]}:
                raise CannotMeasure(f"A {kind} endpoint has given another answer: this is no measurement.")

    def _new(self) -> Iterator[Arrival]:
        with self._log.open("rb") as log:
            log.seek(self._read)
            lines = log.read().split(b"\n")
        lines.pop()  # What follows the last line's end is half a line: the rest of it comes later.
        self._read += sum(len(line) + 1 for line in lines)
        return map(_arrival, lines)


def _arrival(line: bytes) -> Arrival:
    """One line of the log, as `receiver.py` has it written."""
    at, path, event, status = line.decode().split(" ")
    _, kind, place = path.split("/")
    return Arrival(float(at), Kind(kind), int(place), int(event.removeprefix("evt_")), int(status))


def percentiles_ms(delays: list[float]) -> tuple[float, float]:
    """The middle, and the longest but for one in a hundred."""
    parts = quantiles(delays, n=100)
    return parts[49] * 1000, parts[98] * 1000
