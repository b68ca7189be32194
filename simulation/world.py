"""The simulated world of one run: the networks, API processes, and workers with hosts of their own."""

import asyncio
import ipaddress
import os
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import uvicorn
from aiohttp.abc import AbstractResolver
from uvicorn.server import ServerState

from malipo import clock, log, randomness
from malipo.api.app import App
from malipo.api.http.protocol import Protocol
from malipo.app.assemble import Service, assemble
from malipo.cli import simulator_setup
from malipo.clock import Clock
from malipo.db import Database
from malipo.pay_pages.app import PayPages
from malipo.receipts import sign_checkpoints
from malipo.restore import installation_monitor
from malipo.settings import Settings
from malipo.settings.environment import read
from malipo.webhooks.http_client import WebhookClient
from malipo.worker import poll_loop, receipt_log
from malipo.worker.run import work
from malipo_simulator import randomness as simulator_randomness
from malipo_simulator.app import App as SimulatorApp
from malipo_simulator.credentials import Keys
from malipo_simulator.server import SimulatorProtocol
from malipo_simulator.simulator import Simulator
from malipo_simulator.transaction import GatewayName
from simulation.event_loop import SimulatedLoop
from simulation.memory_network import socket_factory
from simulation.plan import Plan
from simulation.postgres_gate import EPOCH
from simulation.template import SECRET_KEY

HOST = "127.0.0.1"
NETWORK_PORT = 8081
API_PORTS = (8080, 8090)
NETWORKS = "networks"

# A payment's life in seconds instead of hours: what takes minutes of real patience is not more true for it.
HURRY = {
    "MALIPO_SECRET_KEY": SECRET_KEY,
    "MALIPO_DATABASE_POOL": "4",
    "MALIPO_RATE_LIMIT_CREATE": "0",
    "MALIPO_RATE_LIMIT_LIST": "0",
    "MALIPO_RATE_LIMIT_OTHER": "0",
    "MALIPO_WEBHOOK_ALLOW_PRIVATE": "true",
    "MALIPO_WEBHOOK_RETRY_SECONDS": "1,2,4,8,8,8,8",
    "MALIPO_WEBHOOK_TIMEOUT_SECONDS": "5",
    "MALIPO_POLL_SECONDS": "1,2,3",
    "MALIPO_NOT_FOUND_SECONDS": "6",
    "MALIPO_NOT_INDEXED_SECONDS": "8",
    "MALIPO_NOT_INDEXED_ANSWERS": "3",
    "MALIPO_FOLLOW_UP_SECONDS": "4,10,20,32",
    "MALIPO_LAPSE_SECONDS": "20",
    "MALIPO_UNSETTLED_SECONDS": "15",
    "MALIPO_DATABASE_PATIENCE_SECONDS": "5",
}

# In runs with customers. A prompt can be answered for 7.5 s, and is doubtful before: another number may then be tried.
# Each customer has an address, as behind a proxy.
_WITH_CUSTOMERS: dict[str, Any] = {
    "link_prompt_seconds": 4,
    "receipt_log": "private",
    "trusted_proxies": (ipaddress.ip_network(HOST),),
}
_CHECKPOINT_SECONDS = 4.0

# Shorter than the settings allow. A call may take five seconds more, and may begin until half of the lease is over.
_TIMEOUT_SECONDS = 3
_LEASE_SECONDS = 17.0
# Notifications wake the parts of a worker; looks without one are half of all statements when nothing happens.
_POLL_SECONDS = 5.0
_MONITOR_SECONDS = 10.0  # Nothing is decided by it, and no simulated schema changes.
_RARE_POLL_SECONDS = 16.0  # when the faults are over, and only answers are waited for


class _ProcessLoop:
    """The loop as one process has it. What is kept for each loop is then kept for each process."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)


class _Site:
    """As `http_server` has it, without the dashboards: the pages of customers, and the API everywhere else."""

    def __init__(self, service: Service) -> None:
        self._api = App(service)
        self._customers = PayPages(service)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        root = scope["path"][1:].partition("/")[0]
        await (self._customers if root in ("pay", "receipt") else self._api)(scope, receive, send)


class World:
    def __init__(self, loop: SimulatedLoop, url: str, plan: Plan, keys: dict[str, Keys], states: Path) -> None:
        self.loop = loop
        self.url = url
        self.services: dict[str, Service] = {}
        self.clock_offsets: dict[str, float] = {}  # seconds that a host's clock is ahead
        self.logged: list[str] = []
        self.lives: list[tuple[float, str]] = []  # who started and died when
        self._states = states
        self._lives: dict[str, int] = {}
        self._plan = plan
        self.seed = plan.seed
        self._seed_sources(plan.seed)
        poll_loop.LOOK_SECONDS = _POLL_SECONDS
        installation_monitor.EVERY_SECONDS = _MONITOR_SECONDS
        self._hurry_receipts()
        self.simulator = Simulator.assemble(
            state=None, speed=1.0, now=lambda: EPOCH.timestamp() + loop.time(), keys=keys
        )
        self.simulator.seen.keep_all()  # The oracle and the story read it.
        self.settings = self._connect_networks()
        stream: Any = _LogLines(self)
        log.configure(level="warning", stream=stream)

    def _seed_sources(self, seed: int) -> None:
        loop = self.loop
        start = int(EPOCH.timestamp() * 1_000_000_000)
        clock.read_from(nanoseconds=lambda: start + round(loop.time() * 1e6) * 1000, monotonic=loop.time)
        randomness.draw_from(random.Random(f"service {seed}"))
        simulator_randomness.draw_from(random.Random(f"networks {seed}"))

    def _hurry_receipts(self) -> None:
        sign_checkpoints.CHECKPOINT_SECONDS = _CHECKPOINT_SECONDS
        receipt_log._LOOK_SECONDS = _CHECKPOINT_SECONDS
        receipt_log._SIGN_PAUSE_SECONDS = 1.0

    def _connect_networks(self) -> Settings:
        simulator = self.simulator
        app = SimulatorApp(simulator.network, simulator.gateways, simulator.seen, _nobody)
        self.loop.network.listen(HOST, NETWORK_PORT, NETWORKS, self._server(SimulatorProtocol, app))
        portal: dict[str, dict[str, str]] = {
            name: gateway.credentials() for name, gateway in simulator.gateways.items()
        }
        variables = simulator_setup.environment(f"http://{HOST}:{NETWORK_PORT}", portal)
        connected = tuple(f"MALIPO_{gateway}_" for gateway in self._plan.gateways)
        settings = read({name: value for name, value in variables.items() if name.startswith(connected)} | HURRY)
        timeouts: dict[str, Any] = {f"{name.lower()}_timeout_seconds": _TIMEOUT_SECONDS for name in GatewayName}
        settings = replace(settings, **timeouts, **(_WITH_CUSTOMERS if self._plan.has_customers else {}))
        callbacks = {
            name: f"http://{HOST}:{API_PORTS[0]}/callbacks/{name.lower()}/"
            f"{getattr(settings, f'{name.lower()}_callback_token')}"
            for name in GatewayName
            if name in self._plan.gateways
        }
        simulator.network.register(callbacks)
        return settings

    def _server(self, kind: type[Any], app: Any) -> Callable[[], Any]:
        """Makes the protocol of each connection to a process that serves HTTP."""
        config = uvicorn.Config(
            app,
            http=kind,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=75,
        )
        config.load()
        state, loop = ServerState(), _ProcessLoop(self.loop)
        return lambda: kind(config=config, server_state=state, app_state={}, _loop=loop)

    def poll_rarely(self) -> None:
        poll_loop.LOOK_SECONDS = _RARE_POLL_SECONDS

    # Processes. Each start is a new life with a name of its own, such as `worker1.2`.

    def start_api(self, number: int) -> None:
        process = self._born(f"api{number}")
        self.loop.start(process, self._serve(process, API_PORTS[number - 1]))

    def start_worker(self, number: int) -> None:
        process = self._born(f"worker{number}")
        self.loop.start(process, self._work(process, self._states / f"host{number}"))

    def restart(self, name: str) -> None:
        """A process comes back after it died, unless it has."""
        if self.living(name) is None:
            number = int(name[-1])
            if name.startswith("worker"):
                self.start_worker(number)
            else:
                self.start_api(number)

    def kill(self, process: str) -> None:
        self.lives.append((self.loop.time(), f"{process} is killed"))
        self.loop.kill(process)
        log.flush()
        _close_files_below(self._states / process.partition(".")[0].replace("worker", "host"))

    def living(self, name: str) -> str | None:
        """The life of a process that goes on now."""
        process = f"{name}.{self._lives.get(name, 0)}"
        return process if self._lives.get(name) and not self.loop.is_dead(process) else None

    def _born(self, name: str) -> str:
        self._lives[name] = self._lives.get(name, 0) + 1
        process = f"{name}.{self._lives[name]}"
        self.loop.history.note(self.loop.time(), "start", process)
        self.lives.append((self.loop.time(), f"{process} starts"))
        return process

    def clock_of(self, process: str) -> Clock:
        host = process.partition(".")[0]

        def now() -> datetime:
            return clock.now() + timedelta(seconds=self.clock_offsets.get(host, 0.0))

        return now

    async def _assemble(self, process: str, settings: Settings) -> Service:
        database = Database(self.url, size=settings.database_pool, finds_by_key=True)
        await database.open()
        client = WebhookClient(
            allow_private=True,
            ports=settings.webhook_ports,
            timeout_seconds=settings.webhook_timeout_seconds,
            resolver=_NoNames(),
            open_socket=socket_factory,
        )
        service = assemble(settings, database, clock=self.clock_of(process), webhook_client=client)
        self.services[process] = service
        return service

    async def _serve(self, process: str, port: int) -> None:
        service = await self._assemble(process, self.settings)
        app: Any = _Site(service) if self._plan.has_customers else App(service)
        self.loop.network.listen(HOST, port, process, self._server(Protocol, app))

    async def _work(self, process: str, state: Path) -> None:
        service = await self._assemble(process, replace(self.settings, state_dir=str(state)))
        await work(service, self.url, asyncio.Event(), lease_seconds=_LEASE_SECONDS)


async def _nobody(scope: Any, receive: Any, send: Any) -> None:
    raise NotImplementedError("the simulator's pages are not part of the simulation")


class _NoNames(AbstractResolver):
    """Every address in the simulation is a number."""

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[Any]:
        raise OSError("no name resolves here")

    async def close(self) -> None: ...


class _LogLines:
    def __init__(self, world: World) -> None:
        self._world = world

    def write(self, text: str) -> int:
        self._world.logged += text.splitlines()
        return len(text)

    def flush(self) -> None: ...


def _close_files_below(folder: Path) -> None:
    """A process that dies lets go of its locked files; in the simulation somebody must do that for it."""
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue
        if target.startswith(f"{folder}/"):
            os.close(int(name))
