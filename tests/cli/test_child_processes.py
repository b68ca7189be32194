"""The service keeps a worker running, and leaves nothing behind, however it ends."""

import asyncio
import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_commands import malipo
from tests.conftest import PATIENCE_SECONDS, SECRET_KEY, Running, free_port, until_ready


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


async def until(question: Callable[[], Any], *, seconds: float = PATIENCE_SECONDS) -> Any:
    deadline = time.monotonic() + seconds
    while not (answer := question()):
        assert time.monotonic() < deadline, "it did not come to be"
        await asyncio.sleep(0.02)
    return answer


def logged(running: Running, event: str) -> int:
    """How often this event is in the log."""
    return running.log.read_text().count(f'"event":"{event}"')


async def test_a_worker_that_dies_is_started_again_and_both_end_together_at_sigterm(
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


async def test_missing_settings_of_the_worker_are_printed_before_anything_starts(tmp_path: Path) -> None:
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
