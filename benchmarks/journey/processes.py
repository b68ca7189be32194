"""Everything that a payment passes in `bench journey`, each a process of its own, on this machine.

wrk asks the API for payments; workers send them to the simulated network, whose callbacks go to the API; workers post
the webhooks to nginx. Several APIs get the callbacks by turns, from an nginx before them, as they would in life.
"""

import asyncio
import http.client
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from benchmarks import database, measured_processes
from benchmarks.measured_processes import Running, answers, free_port, says, started
from benchmarks.webhooks.receiver import Receiver, receiver
from malipo import clock
from malipo.audit_log.actor import Actor
from malipo.cli import simulator_setup
from malipo.db import Database
from malipo.encryption import Encryption
from malipo.outbox.event import Event
from malipo.webhooks.manage_endpoints import register

# Somebody at a phone takes two seconds, by the simulator's table; here time runs faster for them. Not so fast that
# the callback would overtake the reply to the request, which in life it does not.
_SPEED = 4
CUSTOMER_SECONDS = 2 / _SPEED

# At once, by each worker. The default of 64 is too few for the rates that are measured, as it would be in life.
_CONCURRENCY = 256

_NOBODY = Actor("benchmark", "benchmark")
_BALANCER = """
daemon off;
master_process off;
pid balancer.pid;
error_log balancer.log error;
events {{ worker_connections 4096; }}
http {{
    client_body_temp_path balancer-body;
    proxy_temp_path balancer-proxy;
    fastcgi_temp_path balancer-fastcgi;
    uwsgi_temp_path balancer-uwsgi;
    scgi_temp_path balancer-scgi;
    access_log off;
    keepalive_requests 1000000;
    upstream api {{ {servers} keepalive 256; keepalive_requests 1000000; }}
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        location / {{ proxy_pass http://api; proxy_http_version 1.1; proxy_set_header Connection ""; }}
    }}
}}
"""


@dataclass(frozen=True)
class Parts:
    processes: dict[str, list[Running]]  # by what they are
    simulator_port: int
    received: Receiver

    @property
    def ports(self) -> list[int]:
        return [each.port for each in self.processes["api"]]


@contextmanager
def parts(url: str, folder: Path, *, of_each: int, merchants: int) -> Iterator[Parts]:
    """`of_each` is how many APIs and how many workers there are."""
    with ExitStack() as stack:
        received = stack.enter_context(receiver(folder, _addresses(merchants)))
        asyncio.run(_register(url, received.nginx.port, merchants))
        simulator = stack.enter_context(start_simulator(folder))
        settings = process_settings(url, folder) | network_settings(simulator.port)
        apis = [stack.enter_context(start_api(settings, folder, number)) for number in range(of_each)]
        nginxes = [received.nginx]
        if of_each > 1:
            nginxes.append(stack.enter_context(_balancer(folder, [each.port for each in apis])))
        _tell_callbacks(simulator.port, (nginxes if of_each > 1 else apis)[-1].port, settings)
        workers = [stack.enter_context(start_worker(settings, folder, number)) for number in range(of_each)]
        processes = {"api": apis, "worker": workers, "simulator": [simulator], "nginx": nginxes}
        yield Parts(processes, simulator.port, received)


def _addresses(merchants: int) -> list[str]:
    """A server for each merchant where all of 127.… is this machine, so that no two share a connection."""
    if sys.platform != "linux":
        return ["127.0.0.1"]
    return [f"127.0.{place // 250 + 1}.{place % 250 + 1}" for place in range(merchants)]


async def _register(url: str, port: int, merchants: int) -> None:
    """One endpoint for each merchant, that hears of completed payments alone; its path names the merchant."""
    encryption, now, addresses = Encryption(measured_processes.SECRET_KEY), clock.now(), _addresses(merchants)
    async with Database.opened(url, size=1) as opened, opened.begin() as tx:
        for number in range(1, merchants + 1):
            await register(
                tx,
                database.merchant(number),
                url=f"http://{addresses[number % len(addresses)]}:{port}/healthy/{number}",
                events=[Event.PAYMENT_COMPLETED],
                encryption=encryption,
                actor=_NOBODY,
                now=now,
            )


@contextmanager
def start_simulator(folder: Path) -> Iterator[Running]:
    port = free_port()
    command = [sys.executable, "-m", "malipo_simulator", "--port", str(port), "--speed", str(_SPEED)]
    with started(command, {}, folder / "simulator.log", answers(port, "/api/credentials"), port) as running:
        yield running


def process_settings(url: str, folder: Path) -> dict[str, str]:
    """With the receipt log as the environment says, so that its cost can be measured."""
    logged = {name: os.environ[name] for name in ("MALIPO_RECEIPT_LOG",) if name in os.environ}
    return logged | {
        "MALIPO_DATABASE_URL": url,
        "MALIPO_DATA_DIR": str(folder),
        "MALIPO_SECRET_KEY": measured_processes.SECRET_KEY,
    }


def network_settings(simulator_port: int) -> dict[str, str]:
    """The settings that connect Airtel Money, and nothing else."""
    url = f"http://127.0.0.1:{simulator_port}"
    found = simulator_setup.environment(url, asyncio.run(simulator_setup.credentials(url)))
    ours = {name: value for name, value in found.items() if name.startswith("MALIPO_AIRTEL_MONEY_")}
    return ours | {"MALIPO_AIRTEL_MONEY_CONCURRENCY": str(_CONCURRENCY)}


@contextmanager
def start_api(settings: dict[str, str], folder: Path, number: int) -> Iterator[Running]:
    port = free_port()
    variables = settings | {"MALIPO_PORT": str(port), "MALIPO_RATE_LIMIT_CREATE": "0"}
    command = [sys.executable, "-m", "malipo", "api"]
    with started(command, variables, folder / f"api-{number}.log", answers(port, "/readyz"), port) as running:
        yield running


@contextmanager
def start_worker(settings: dict[str, str], folder: Path, number: int) -> Iterator[Running]:
    variables = settings | {"MALIPO_WEBHOOK_ALLOW_PRIVATE": "true", "MALIPO_WORKER_STOP_SECONDS": "1"}
    log = folder / f"worker-{number}.log"
    with started([sys.executable, "-m", "malipo", "worker"], variables, log, says(log, "worker.started")) as running:
        yield running


@contextmanager
def _balancer(folder: Path, ports: list[int]) -> Iterator[Running]:
    port = free_port()
    servers = " ".join(f"server 127.0.0.1:{each};" for each in ports)
    (folder / "balancer.conf").write_text(_BALANCER.format(servers=servers, port=port))
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin") or "nginx"
    command = [program, "-p", str(folder), "-c", "balancer.conf", "-e", "balancer.log"]
    with started(command, {}, folder / "balancer.out", answers(port, "/readyz"), port) as running:
        yield running


def _tell_callbacks(simulator_port: int, port: int, settings: dict[str, str]) -> None:
    """Register where the network tells its results."""
    token = settings["MALIPO_AIRTEL_MONEY_CALLBACK_TOKEN"]
    urls = {"AIRTEL_MONEY": f"http://127.0.0.1:{port}/callbacks/airtel_money/{token}"}
    connection = http.client.HTTPConnection("127.0.0.1", simulator_port, timeout=10)
    try:
        connection.request("PUT", "/api/callbacks", msgspec.json.encode(urls))
        assert connection.getresponse().status == 200
    finally:
        connection.close()
