"""The counters and timers of a process, for Prometheus.

Each service has a registry of its own, so that two services in one process do not mix.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import accumulate

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from malipo import __version__
from malipo.build import build_id
from malipo.metrics.money_gauges import MoneyGauges

_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class _Counts(Collector):
    """A counter for every request, faster than the library's: one dictionary and no lock, because one thread counts and
    exposes (decision 50)."""

    def __init__(self, name: str, help_: str, labels: Sequence[str]) -> None:
        self._named = name, help_, labels
        self._counts: dict[tuple[str, ...], int] = {}

    def add(self, *labels: str) -> None:
        self._counts[labels] = self._counts.get(labels, 0) + 1

    def collect(self) -> Iterable[Metric]:
        name, help_, labels = self._named
        family = CounterMetricFamily(name, help_, labels=labels)
        for each, count in list(self._counts.items()):
            family.add_metric(each, count)
        yield family


class _Times(Collector):
    """A histogram of seconds, faster than the library's."""

    def __init__(self, name: str, help_: str, labels: Sequence[str]) -> None:
        self._named = name, help_, labels
        self._counts: dict[tuple[str, ...], list[int]] = {}  # by bucket, each without those before it
        self._sums: dict[tuple[str, ...], float] = {}

    def add(self, seconds: float, *labels: str) -> None:
        counts = self._counts.get(labels)
        if counts is None:
            counts = self._counts[labels] = [0] * (len(_SECONDS) + 1)
            self._sums[labels] = 0.0
        counts[bisect_left(_SECONDS, seconds)] += 1
        self._sums[labels] += seconds

    def collect(self) -> Iterable[Metric]:
        name, help_, labels = self._named
        family = HistogramMetricFamily(name, help_, labels=labels)
        bounds = [*map(floatToGoString, _SECONDS), "+Inf"]
        for each, counts in list(self._counts.items()):
            family.add_metric(each, list(zip(bounds, accumulate(counts), strict=True)), self._sums[each])
        yield family


class Metrics:
    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.money = MoneyGauges(self._registry)
        self._add_requests()
        self._add_commits()
        self._add_installation()
        self._add_networks()
        self._add_deliveries()

    def _add_requests(self) -> None:
        self._requests = _Counts("malipo_requests", "Requests answered", ["method", "route", "status"])
        self._request_seconds = _Times("malipo_request_seconds", "Time to the end of an answer", ["route"])
        self._transactions = _Counts(
            "malipo_transactions", "Transactions that reached a status", ["type", "channel", "status"]
        )
        for each in (self._requests, self._request_seconds, self._transactions):
            self._registry.register(each)

    def _add_commits(self) -> None:
        histogram = partial(Histogram, registry=self._registry)
        self._batch_size = histogram("malipo_batch_size", "Requests that shared one commit", ["group"], buckets=_SIZES)
        self._commit_seconds = histogram(
            "malipo_commit_seconds", "Time of one shared commit", ["group"], buckets=_SECONDS
        )
        gauge = partial(Gauge, registry=self._registry)
        self._waiting = gauge("malipo_group_waiting", "Requests that wait for the next commit", ["group"])
        self._pool = gauge("malipo_database_connections", "Connections of the pool", ["state"])

    def _add_installation(self) -> None:
        gauge = partial(Gauge, registry=self._registry)
        self._clock_skew = gauge("malipo_clock_skew_seconds", "How far this host's clock is ahead of the database's")
        self._fenced = gauge("malipo_fenced", "1 while nothing is sent, because the database was restored")
        self._held = gauge("malipo_held", "1 while operators hold all payments")
        build = gauge("malipo_build_info", "1; its labels name version and build", ["version", "build"])
        build.labels(__version__, build_id()).set(1)
        self._epoch = gauge("malipo_epoch", "1; after a restore the Unix time at which it was noticed")

    def _add_networks(self) -> None:
        self._calls = Counter(
            "malipo_network_calls", "Calls to networks", ["network", "act", "verdict"], registry=self._registry
        )
        self._call_seconds = Histogram(
            "malipo_network_seconds",
            "Time of a call to a network",
            ["network", "act"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        gauge = partial(Gauge, registry=self._registry)
        self._down = gauge("malipo_network_down", "1 while nothing is sent to a network", ["network"])
        self._stuck = gauge("malipo_worker_loop_stuck", "1 while a loop of a worker does not turn", ["loop"])
        self._blocked = gauge(
            "malipo_worker_loop_blocked", "1 while a loop of a worker turns and cannot do its work", ["loop"]
        )

    def _add_deliveries(self) -> None:
        counter = partial(Counter, registry=self._registry)
        self._attempts = counter("malipo_webhook_attempts", "Attempts to deliver a webhook", ["answer"])
        self._attempt_seconds = Histogram(
            "malipo_webhook_seconds",
            "Time of an attempt to deliver",
            ["answer"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._exhausted = counter("malipo_webhooks_given_up", "Deliveries that failed at their last attempt")
        self._messages = counter("malipo_messages", "Attempts to send a message by e-mail", ["outcome"])
        self._deliveries = Gauge("malipo_webhooks_under_way", "Deliveries under way", registry=self._registry)

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests.add(method, route, str(status))
        self._request_seconds.add(seconds, route)

    def observer_of(self, group: str) -> Callable[[int, float], None]:
        """The function that a group calls after each commit."""
        sizes, seconds = self._batch_size.labels(group), self._commit_seconds.labels(group)

        def observe(size: int, took_seconds: float) -> None:
            sizes.observe(size)
            seconds.observe(took_seconds)

        return observe

    def watch_queue(self, group: str, depth: Callable[[], float]) -> None:
        self._waiting.labels(group).set_function(depth)

    def watch_pool(self, *, in_use: Callable[[], float], idle: Callable[[], float], whose: str = "") -> None:
        self._pool.labels(f"{whose}in_use").set_function(in_use)
        self._pool.labels(f"{whose}idle").set_function(idle)

    def watch_clock(self, ahead_seconds: Callable[[], float]) -> None:
        self._clock_skew.set_function(ahead_seconds)

    def watch_installation(
        self, *, fenced: Callable[[], float], held: Callable[[], float], epoch: Callable[[], float]
    ) -> None:
        self._fenced.set_function(fenced)
        self._held.set_function(held)
        self._epoch.set_function(epoch)

    def count_transaction(self, type_: str, channel: str, status: str) -> None:
        self._transactions.add(type_, channel, status)

    def count_call(self, network: str, act: str, verdict: str, seconds: float) -> None:
        self._calls.labels(network, act, verdict).inc()
        self._call_seconds.labels(network, act).observe(seconds)

    def watch_circuit(self, network: str, is_open: Callable[[], bool]) -> None:
        self._down.labels(network).set_function(is_open)

    def count_attempt(self, status: int | None, seconds: float) -> None:
        """Count an attempt by the first digit of the response's status: 2xx was delivered."""
        answer = f"{status // 100}xx" if status is not None else "none"
        self._attempts.labels(answer).inc()
        self._attempt_seconds.labels(answer).observe(seconds)

    def watch_deliveries(self, under_way: Callable[[], float]) -> None:
        self._deliveries.set_function(under_way)

    def count_exhausted(self) -> None:
        self._exhausted.inc()

    def count_message(self, outcome: str) -> None:
        self._messages.labels(outcome).inc()

    def watch_loop(self, loop: str, *, is_stuck: Callable[[], bool], is_blocked: Callable[[], bool]) -> None:
        self._stuck.labels(loop).set_function(is_stuck)
        self._blocked.labels(loop).set_function(is_blocked)

    def exposition(self) -> bytes:
        return generate_latest(self._registry)
