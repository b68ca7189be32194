"""The service keeps a worker running, and leaves nothing behind, however it ends."""

import asyncio
import json
import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.cli.test_commands import malipo
from tests.conftest import SECRET_KEY, Client, Running, free_port, until_ready


def children(pid: int) -> dict[int, list[str]]:
    """The living children of a process, with their command lines."""
    found = {}
    for folder in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            if int(parent) == pid and state != "Z":
                found[int(folder.name)] = (folder / "cmdline").read_text().rstrip("\0").split("\0")
    return found


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def child(running: Running, *program: str) -> int | None:
    """The one child that runs this program."""
    pids = [
        pid
        for pid, command in children(running.process.pid).items()
        if command[1 : 2 + len(program)] == ["-m", *program]
    ]
    assert len(pids) <= 1
    return pids[0] if pids else None


async def until(question: Callable[[], Any], *, seconds: float = 60) -> Any:
    deadline = time.monotonic() + seconds
    while not (answer := question()):
        assert time.monotonic() < deadline, "it did not come to be"
        await asyncio.sleep(0.02)
    return answer


def logged(running: Running, event: str) -> int:
    """How often this event is in the log."""
    return running.log.read_text().count(f'"event":"{event}"')


async def test_a_worker_that_dies_is_started_again_and_both_end_together_when_told_to(
    start: Callable[..., Running], database_url: str
) -> None:
    serve = await until_ready(start("serve", database_url=database_url))
    first = await until(lambda: child(serve, "malipo", "worker"))
    api = await until(lambda: child(serve, "malipo", "api"))
    await until(lambda: logged(serve, "worker.started") == 1)

    os.kill(first, signal.SIGKILL)
    second = await until(lambda: (now := child(serve, "malipo", "worker")) != first and now)
    await until(lambda: logged(serve, "worker.started") == 2)
    assert (logged(serve, "child.ended"), logged(serve, "child.started_again")) == (1, 1)

    assert serve.stop() == 0
    assert not is_alive(second)
    assert not is_alive(api)
    assert (logged(serve, "worker.stopped"), logged(serve, "api.stopped")) == (1, 1), "they were let finish"
    assert "Traceback" not in serve.log.read_text()


async def test_a_service_that_is_killed_leaves_no_child_behind(
    start: Callable[..., Running], database_url: str
) -> None:
    serve = await until_ready(start("serve", database_url=database_url))
    worker, api = await until(lambda: child(serve, "malipo", "worker")), child(serve, "malipo", "api")
    await until(lambda: logged(serve, "worker.started"))
    assert api is not None

    serve.kill()

    await until(lambda: not is_alive(worker) and not is_alive(api))
    assert (logged(serve, "worker.stopped"), logged(serve, "api.stopped")) == (1, 1), "by themselves, and in peace"


async def test_a_service_that_is_stopped_while_its_worker_starts_leaves_none_behind(
    start: Callable[..., Running], database_url: str
) -> None:
    serve = await until_ready(start("serve", database_url=database_url))
    worker = await until(lambda: child(serve, "malipo", "worker"))
    assert serve.stop() == 0
    await until(lambda: not is_alive(worker))


async def test_what_the_worker_needs_is_said_before_anything_starts(tmp_path: Path) -> None:
    done = malipo(
        "serve",
        secret_key=SECRET_KEY,
        data_dir=str(tmp_path / "var"),
        mpesa_base_url="https://openapi.example.com",
        airtel_money_base_url="https://openapi.example.com",
        airtel_money_pin="1234",
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        f"malipo: MALIPO_{name} is needed and not set (see docs/settings.md)."
        for name in (
            "MPESA_API_KEY",
            "MPESA_PUBLIC_KEY",
            "MPESA_SERVICE_PROVIDER_CODE",
            "AIRTEL_MONEY_CLIENT_ID",
            "AIRTEL_MONEY_CLIENT_SECRET",
            "AIRTEL_MONEY_PUBLIC_KEY",
        )
    ]
    assert not (tmp_path / "var").exists(), "not even a database"


@pytest.mark.parametrize("name", ["port", "simulator_port"])
def test_a_port_that_is_taken_is_one_clear_sentence_before_anything_starts(tmp_path: Path, name: str) -> None:
    ports = {"port": free_port(), "simulator_port": free_port()}
    with socket.create_server(("127.0.0.1", ports[name])):
        done = malipo("demo", data_dir=str(tmp_path / "var"), **{each: str(port) for each, port in ports.items()})
    assert (done.returncode, done.stdout) == (1, "")
    [sentence] = done.stderr.splitlines()
    assert sentence.startswith(f"malipo: Cannot listen on 127.0.0.1 port {ports[name]}: Address already in use")
    assert sentence.endswith(f". Set MALIPO_{name.upper()} to another.")
    assert not (tmp_path / "var").exists()


async def test_a_newcomer_takes_a_payment_and_makes_one_with_what_the_demo_wrote_down(
    start: Callable[..., Running], tmp_path: Path
) -> None:
    demo = await until_ready(start("demo", simulator_port=free_port()))
    told = json.loads((tmp_path / "var/demo.json").read_text())
    assert set(told) == {"baseUrl", "dashboardUrl", "phonesUrl", "apiKey", "email", "password"}

    async with aiohttp.ClientSession() as http:
        client = Client(http, told["baseUrl"], told["apiKey"])
        collection = await client(
            "POST", "/v1/payments", {"amount": 1000, "channel": "MPESA", "buyerPhone": "+255754000001"}
        )
        payout = await client(
            "POST",
            "/v1/payments/disburse",
            {"amount": 2000, "channel": "AIRTEL_MONEY", "recipientPhone": "+255684000001"},
        )
        ended = [await _ended(client, each.body["transaction"]["id"]) for each in (collection, payout)]
        wallet = await client("GET", "/v1/wallet")
        phones = [await _get(http, f"{told['phonesUrl']}/api/phones/{phone}") for phone in _PHONES]
        pages = [await _status(http, f"{told['phonesUrl']}{path}") for path in ("/", f"/phones/{_PHONES[0]}")]

    assert [each["status"] for each in ended] == ["COMPLETED", "COMPLETED"]
    assert all(each["providerReference"] for each in ended)
    assert wallet.body["wallet"]["available"] == 5_000_000 + 1000 - 2000
    assert [each["balance"] for each in phones] == [1_000_000 - 1000, 1_000_000 + 2000]
    assert [each["movements"][0]["kind"] for each in phones] == ["charged", "paid"]
    assert pages == [200, 200]
    await _end_all_at_once(demo)


_PHONES = ("+255754000001", "+255684000001")


async def _end_all_at_once(demo: Running) -> None:
    pids = [child(demo, "malipo", "worker"), child(demo, "malipo_simulator")]
    assert all(pids), "a worker, and the networks"
    assert await asyncio.to_thread(demo.stop) == 0
    assert [pid for pid in pids if pid is not None and is_alive(pid)] == []
    assert demo.log.read_text().endswith("malipo: stopped\n")


async def _ended(client: Client, id_: str) -> dict[str, Any]:
    deadline = time.monotonic() + 60
    while True:
        shown: dict[str, Any] = (await client("GET", f"/v1/payments/{id_}?wait=5")).body["transaction"]
        if shown["status"] not in ("PENDING", "PROCESSING"):
            return shown
        assert time.monotonic() < deadline, shown


async def _get(http: aiohttp.ClientSession, url: str) -> dict[str, Any]:
    async with http.get(url) as answer:
        found: dict[str, Any] = await answer.json()
        return found


async def _status(http: aiohttp.ClientSession, url: str) -> int:
    async with http.get(url) as answer:
        return answer.status
