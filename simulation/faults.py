"""Makes the faults of a plan happen. What each kind does is in docs/simulation.md."""

import random
from collections import defaultdict
from collections.abc import Callable

from malipo_simulator.switches import QuerySwitches
from malipo_simulator.transaction import GatewayName
from simulation.database import SimulatedDatabase
from simulation.links.customers import PROCESS as CUSTOMERS
from simulation.memory_network import NO_FAULT, RequestFate
from simulation.operators import Operators
from simulation.plan import LOSING, Fault, Plan
from simulation.postgres_connection import PostgresExchange
from simulation.template import RECEIVER_PORT
from simulation.world import NETWORK_PORT, NETWORKS, World


def _is_commit(exchange: PostgresExchange) -> bool:
    """A COMMIT, or the statement that creates collections, which is a transaction of its own."""
    creates = "INSERT INTO idempotency_keys" in exchange.sql and "INSERT INTO transactions" in exchange.sql
    return exchange.sql.startswith("COMMIT") or (creates and not exchange.is_flush)


def _fate_of(fault: Fault) -> RequestFate:
    kind = fault.kind.partition("-")[2]
    if kind == "refused":
        return RequestFate(is_refused=True)
    if kind in ("request-lost", "lost"):
        return RequestFate(is_request_lost=True)
    if kind == "reply-lost":
        return RequestFate(is_reply_lost=True)
    if kind in ("request-late", "late"):
        return RequestFate(request_delay=fault.seconds)
    if kind == "reply-late":
        return RequestFate(reply_delay=fault.seconds)
    assert kind in ("request-twice", "twice"), kind
    return RequestFate(repeated_after=fault.seconds)


_KEPT = (0.6, 0.6, 0.1)  # of the time before a restore, by its backup: an hourly one, or a nightly one
_LOST_SECONDS = 1.0  # by a fail-over to a standby that lags
_CARRIED = ("network", "callback", "webhook", "merchant", "customer")
_NOT_CARRIED = {"network-down", "network-forgets", "network-indexes-late", "network-nonsense", "network-errors"}
_NOT_CARRIED |= {"merchant-closed", "network-pays-again"}


class Faults:
    def __init__(self, plan: Plan, world: World, database: SimulatedDatabase, operators: Operators) -> None:
        self._world = world
        self._loop = world.loop
        self._database = database
        self._operators = operators
        self._kept = random.Random(f"backup {plan.seed}").choice(_KEPT)
        self._pays_again = {fault.target for fault in plan.faults if fault.kind == "network-pays-again"}
        self.happened: list[tuple[float, Fault]] = []
        self._counts: defaultdict[str, int] = defaultdict(int)
        self._names: dict[str, str] = {}  # of processes, by their lives
        self._by_request: dict[tuple[str, int], Fault] = {}
        self._by_exchange: dict[tuple[str, int], Fault] = {}
        self._by_step: defaultdict[str, dict[int, Fault]] = defaultdict(dict)
        for fault in plan.faults:
            self._arm(fault)
        self._loop.network.fate = self._fate_of_request
        self._loop.gate.fate = self._fate_of_exchange
        if self._by_step:
            self._loop.before_step = self._before_step

    def _arm(self, fault: Fault) -> None:
        carrier = fault.kind.partition("-")[0]
        if carrier in _CARRIED and fault.kind not in _NOT_CARRIED:
            self._by_request[carrier, int(fault.at)] = fault
        elif fault.kind.startswith("commit-lost"):
            self._by_exchange["commit", int(fault.at)] = fault
        elif fault.kind == "connection-lost":
            self._by_exchange["other", int(fault.at)] = fault
        elif fault.kind == "kill":
            self._by_step[fault.target][int(fault.at)] = fault
        elif fault.kind == "clock":
            self._note(fault)
            self._world.clock_offsets[fault.target] = fault.seconds
        else:
            self._at(fault.at, lambda: self._happen(fault))
            if fault.kind in LOSING:
                backed_up_at = fault.at * self._kept if fault.kind == "restore" else fault.at - _LOST_SECONDS
                self._at(max(backed_up_at, 0.1), self._database.back_up)

    def _at(self, seconds: float, act: Callable[[], object]) -> None:
        self._loop.call_at(seconds, act, context=self._loop.context_of("world"))

    def _later(self, seconds: float, act: Callable[[], object]) -> None:
        self._at(self._loop.time() + seconds, act)

    def _note(self, fault: Fault) -> None:
        self.happened.append((self._loop.time(), fault))
        self._loop.history.note(self._loop.time(), "fault", fault)

    # By count.

    def _fate_of_request(self, process: str, host: str, port: int) -> RequestFate:
        if port == NETWORK_PORT:
            carrier = "network"
        elif port == RECEIVER_PORT:
            carrier = "webhook"
        else:
            carrier = {NETWORKS: "callback", CUSTOMERS: "customer"}.get(process, "merchant")
        self._counts[carrier] += 1
        fault = self._by_request.get((carrier, self._counts[carrier]))
        if fault is None:
            return NO_FAULT
        self._note(fault)
        return _fate_of(fault)

    def _fate_of_exchange(self, exchange: PostgresExchange) -> str | None:
        if not exchange.connection.process.startswith(("api", "worker")) or exchange.is_startup:
            return None
        kind = "commit" if _is_commit(exchange) else "other"
        self._counts[kind] += 1
        fault = self._by_exchange.get((kind, self._counts[kind]))
        if fault is None:
            return None
        self._note(fault)
        return "after" if fault.kind == "commit-lost-after" else "before"

    def _before_step(self, process: str) -> None:
        name = self._names.get(process)
        if name is None:
            name = self._names[process] = process.partition(".")[0]
        if name not in self._by_step:
            return
        self._counts[name] += 1
        fault = self._by_step[name].get(self._counts[name])
        if fault is not None:
            self._note(fault)
            self._world.kill(process)
            self._later(fault.seconds, lambda: self._world.restart(name))

    # By time.

    def _happen(self, fault: Fault) -> None:
        self._note(fault)
        if fault.kind == "pause":
            if (process := self._world.living(fault.target)) is not None:
                self._loop.pause(process, fault.seconds)
        elif fault.kind in ("database-restart", "failover"):
            self._database.stop()
            self._later(fault.seconds, self._database.start_again)
        elif fault.kind in LOSING:
            self._database.stop()
            self._database.bring_back()
            self._later(fault.seconds, self._database.start_again)
        elif fault.kind == "operator-mistaken":
            self._operators.is_mistaken_next = True
        elif fault.kind in ("merchant-closed", "tariff-changed", "hold"):
            self._operators.interfere(fault)
        else:
            self._switch(fault)

    def _switch(self, fault: Fault) -> None:
        switches = self._world.simulator.network.control.switches[GatewayName(fault.target)]
        name, value, usual = _SWITCHES[fault.kind]
        if fault.kind == "network-nonsense":
            if not isinstance(switches, QuerySwitches):
                return
            value = "500" if fault.target == "CLICKPESA" else fault.code
        elif fault.kind in ("network-forgets", "network-indexes-late", "callbacks-delayed"):
            value = fault.seconds
        if fault.kind == "network-forgets" and fault.target in self._pays_again:
            return  # It takes every key again already, and goes on doing so.
        setattr(switches, name, value)
        self._later(fault.seconds * 2, lambda: setattr(switches, name, usual))


_SWITCHES: dict[str, tuple[str, object, object]] = {
    "network-down": ("is_down", True, False),
    "network-forgets": ("forget_seconds", None, 0.0),
    "network-pays-again": ("forget_seconds", 0.001, 0.0),
    "network-indexes-late": ("not_found_seconds", None, 0.0),
    "network-nonsense": ("query_error", None, None),
    "network-errors": ("error_rate", 0.5, 0.0),
    "callbacks-delayed": ("callback_delay_seconds", None, 0.0),
}
