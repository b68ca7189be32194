"""The process: it says when it is ready, stops at once, and says in one sentence why it will not start."""

import asyncio
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tests.simulator.mpesa import Mpesa
from tests.simulator.processes import ROOT, Sim, launch, start


@pytest.mark.parametrize("signal_", [signal.SIGTERM, signal.SIGINT])
async def test_it_stops_at_once_even_while_it_holds_a_line(
    http: aiohttp.ClientSession, state: Path, signal_: signal.Signals
) -> None:
    process = start("--state", str(state))
    sim = Sim(http, process.url, {})
    await sim.control(channels={"MPESA": {"mode": "sync"}})
    credentials = await sim("GET", "/api/credentials")
    mpesa = await Mpesa(http, process.url, credentials["MPESA"]).open()
    held = asyncio.create_task(mpesa.collect("+255754123100"))
    # Somebody else has not even finished asking.
    slow = socket.create_connection(("127.0.0.1", int(process.url.rpartition(":")[2])))
    slow.sendall(b"POST /airtel/auth/oauth2/token HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
    async with asyncio.timeout(240):
        while not await sim("GET", "/api/prompts"):  # noqa: ASYNC110
            await asyncio.sleep(0.02)

    began = time.monotonic()
    process.process.send_signal(signal_)
    with pytest.raises(aiohttp.ServerDisconnectedError):
        await held
    assert await asyncio.to_thread(process.process.wait, 240) == 0
    assert time.monotonic() - began < 30

    slow.close()
    assert process.stop() == (0, "")


def test_a_port_that_is_taken_is_reported_in_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        process = launch("--port", str(port))
        output, errors = process.communicate(timeout=240)
    assert (process.returncode, output) == (1, "")
    assert errors.startswith(f"Cannot listen on 127.0.0.1 port {port}: ")
    assert errors.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [["--port", "many"], ["--port", "65536"], ["--speed", "0"], ["--speed", "nan"], ["--colour", "red"]]
)
def test_a_wrong_argument_is_two(arguments: list[str]) -> None:
    process = launch(*arguments)
    output, errors = process.communicate(timeout=240)
    assert (process.returncode, output) == (2, "")
    assert arguments[0] in errors


def test_an_impossible_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    process = launch("--port", "0", "--state", str(tmp_path / "file" / "folder"))
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 1
    assert errors == f"Cannot keep state in {tmp_path / 'file' / 'folder'}: Not a directory.\n"


def test_it_knows_nothing_of_malipo() -> None:
    asks = (
        "import malipo_simulator.server, sys; print([name for name in sys.modules if name.split('.')[0] == 'malipo'])"
    )
    found = subprocess.run([sys.executable, "-c", asks], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
    for file in (ROOT / "malipo_simulator").rglob("*.py"):
        text = file.read_text()
        assert "import malipo\n" not in text
        assert "from malipo " not in text
        assert "from malipo." not in text


_MOST = 256 * 1024  # bytes of a body
_CHUNKED = (b"Transfer-Encoding: chunked", b"%x\r\n" % (2 * _MOST))
_LONG = (b"Content-Length: %d" % (2 * _MOST), b"")


@pytest.mark.parametrize("begun", [_CHUNKED, _LONG], ids=["chunked", "long"])
@pytest.mark.parametrize(
    "line", [b"POST /mpesa/sandbox/ipg/v2/vodacomTZN/b2cPayment/ HTTP/1.1", b"PATCH /api/control HTTP/1.1"]
)
async def test_a_body_without_end_is_refused(sim: Sim, line: bytes, begun: tuple[bytes, bytes]) -> None:
    """At the first byte that is too many, and that one is the last we send: nobody can hang up on what was answered."""
    header, before = begun
    reader, writer = await asyncio.open_connection("127.0.0.1", int(sim.url.rpartition(":")[2]))
    try:
        writer.write(b"\r\n".join((line, b"Host: localhost", header, b"", before + b"x" * (_MOST + 1))))
        assert (await asyncio.wait_for(reader.readline(), 60)).startswith(b"HTTP/1.1 413 ")
    finally:
        writer.close()


async def test_who_never_stops_writing_keeps_nobody_else_from_being_answered(sim: Sim) -> None:
    """Refused by an answer or by being hung up on, whichever it notices first."""

    async def parts() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 10_000

    for method, path in (("POST", "/mpesa/sandbox/ipg/v2/vodacomTZN/b2cPayment/"), ("PATCH", "/api/control")):
        try:
            async with asyncio.timeout(240), sim.http.request(method, sim.url + path, data=parts()) as answer:
                assert answer.status == 413
        except aiohttp.ClientConnectionError:
            pass
        await sim("GET", "/api/control")
