"""The demo: what a newcomer finds."""

import asyncio
import json
import os
import re
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import aiohttp
import aiohttp.web
import pytest

from malipo import clock
from malipo.cli.simulator_setup import NoSimulator, credentials
from malipo.networks.connector import Channel
from malipo.settings import demo_settings
from tests import fork_server
from tests.cli.test_child_processes import child, is_alive
from tests.conftest import Client, Running, free_port, until_ready
from tests.reconciliation.close.books import last_to_close

# A newcomer's payments, of these phones.
_PHONES = ("+255754000001", "+255684000001")
_COLLECTION = {"amount": 1000, "channel": "MPESA", "buyerPhone": _PHONES[0]}
_PAYOUT = {"amount": 2000, "channel": "AIRTEL_MONEY", "recipientPhone": _PHONES[1]}
_FIRST = 5_000_000


@pytest.mark.timeout(900)  # Two starts, and what a newcomer does with them: each start is dear.
async def test_a_newcomer_finds_money_and_a_key_pays_finds_it_again_and_runs_the_whole_loop(
    start: Callable[..., Running], tmp_path: Path
) -> None:
    first = await until_ready(start("demo", simulator_port=free_port()))
    demo_file = tmp_path / "var/demo.json"
    demo = json.loads(demo_file.read_text())
    approver = {"approverKey", "approverEmail", "approverPassword"}
    assert set(demo) == {"baseUrl", "dashboardUrl", "phonesUrl", "apiKey", "email", "password"} | approver
    assert demo["baseUrl"] == first.url
    assert demo_file.stat().st_mode & 0o777 == 0o600
    await _pay(demo)
    await _find_mail(demo)
    assert demo["apiKey"] in first.log.read_text(), "the welcome shows the key"

    first.process.send_signal(signal.SIGINT)
    began = time.monotonic()
    assert first.process.wait(240) == 0
    print(f"Ctrl-C took {time.monotonic() - began:.2f} s")

    second = await until_ready(start("demo", "--operators", simulator_port=free_port()))
    again = json.loads(demo_file.read_text())
    assert again == demo | {
        "baseUrl": again["baseUrl"],
        "dashboardUrl": again["dashboardUrl"],
        "phonesUrl": again["phonesUrl"],
        **{f"operatorPassword.{name}": again[f"operatorPassword.{name}"] for name in ("asha", "juma")},
    }
    assert f"log in as asha with {again['operatorPassword.asha']}, or as juma with" in second.log.read_text()
    async with aiohttp.ClientSession() as http:
        client = Client(http, second.url, demo["apiKey"])
        wallet = (await client("GET", "/v1/wallet")).body["wallet"]
        assert wallet["available"] == _FIRST + 1000 - 2000, "topped up once"
        assert (await client("GET", "/v1/payments")).body["pagination"]["total"] == 2
        await _pay_a_batch_with_the_second_person(client, again)
        await _run_the_whole_loop(again, tmp_path)
        await _pay_a_settlement(client, again, tmp_path)
    await _end_all_at_once(second)
    assert "754000001" not in (tmp_path / "var/malipo.log").read_text(), "no phone number in the log"


async def _find_mail(demo: dict[str, Any]) -> None:
    """The owners get a message about the keys that the demo has made; the simulator's mail server shows it."""
    async with aiohttp.ClientSession() as http, asyncio.timeout(240):
        while True:
            async with http.get(f"{demo['phonesUrl']}/mail") as answer:
                if "A new API key" in await answer.text():
                    return
            await asyncio.sleep(0.2)


async def _pay(demo: dict[str, str]) -> None:
    """A newcomer takes a payment and makes one with what the demo wrote down."""
    async with aiohttp.ClientSession() as http:
        client = Client(http, demo["baseUrl"], demo["apiKey"])
        assert (await client("GET", "/v1/wallet")).body["wallet"]["available"] == _FIRST
        assert (await client("GET", "/v1/payments")).body["transactions"] == []
        made = [
            await client("POST", "/v1/payments", _COLLECTION),
            await client("POST", "/v1/payments/disburse", _PAYOUT),
        ]
        ended = [await _ended(client, each.body["transaction"]["id"]) for each in made]
        wallet = await client("GET", "/v1/wallet")
        phones = [await _get(http, f"{demo['phonesUrl']}/api/phones/{phone}") for phone in _PHONES]
        pages = [await _status(http, f"{demo['phonesUrl']}{path}") for path in ("/", f"/phones/{_PHONES[0]}")]
    assert [each["status"] for each in ended] == ["COMPLETED", "COMPLETED"]
    assert all(each["providerReference"] for each in ended)
    assert wallet.body["wallet"]["available"] == _FIRST + 1000 - 2000
    assert [each["balance"] for each in phones] == [1_000_000 - 1000, 1_000_000 + 2000]
    assert [each["movements"][0]["kind"] for each in phones] == ["charged", "paid"]
    assert pages == [200, 200]


async def _pay_a_batch_with_the_second_person(client: Client, demo: dict[str, str]) -> None:
    """On the first day: the second owner of the demo counts without waiting, and the rule holds for the first one."""
    made = await client("POST", "/v1/payments/disburse/batches", {"name": "Wages", "items": [_PAYOUT]})
    path = f"/v1/payments/disburse/batches/{made.body['batch']['id']}/approve"
    refused = await client("POST", path)
    assert (refused.status, refused.code) == (403, "second_person_required")
    approved = await client.as_(demo["approverKey"])("POST", path)
    assert (approved.status, approved.body["batch"]["status"]) == (200, "RUNNING")


async def _end_all_at_once(demo: Running) -> None:
    pids = [child(demo, "malipo", "worker"), child(demo, "malipo_simulator")]
    assert all(pids), "a worker, and the networks"
    assert await asyncio.to_thread(demo.stop) == 0
    assert [pid for pid in pids if pid is not None and is_alive(pid)] == []
    assert demo.log.read_text().endswith("malipo: stopped\n")


async def _ended(client: Client, id_: str) -> dict[str, Any]:
    deadline = time.monotonic() + 240
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


async def _run_the_whole_loop(demo: dict[str, str], folder: Path) -> None:
    """With commands beside the demo and no setting, as the welcome shows it: an operator logs in, imports the networks'
    statements, and closes a day that is over."""
    await _log_in(demo, folder, "asha")
    day = last_to_close(clock.now())
    async with aiohttp.ClientSession() as http:
        for name in [*Channel, "CLICKPESA"]:
            async with http.get(f"{demo['phonesUrl']}/api/statements/{name}?day={day}") as answer:
                (folder / f"{name}.csv").write_bytes(await answer.read())
    for channel in Channel:
        await _malipo(folder, "statements", "import", f"{channel}.csv", "--channel", channel)
    clickpesa = ("statements", "import", "CLICKPESA.csv", "--channel", "HALOPESA", "--account", "clickpesa")
    await _malipo(folder, *clickpesa)
    assert "There are no such exceptions." in await _malipo(folder, "exceptions", "list")
    assert "AIRTEL_MONEY" in await _malipo(folder, "floats")
    assert "is closed. The day adds up." in await _malipo(folder, "close", str(day))


async def _pay_a_settlement(client: Client, demo: dict[str, str], folder: Path) -> None:
    """On the first day, as docs/bank.md shows it: the two operators of the demo count as two without waiting."""
    made = await client("POST", "/v1/settlements", {"amount": 200_000})
    gathered = await _malipo(folder, "bank", "gather")
    file = re.findall(r"pfl_\w+", gathered)[0]
    shown = await _malipo(folder, "bank", "approve", file, "--here", has_failed=True)
    assert "Nothing has changed." in shown
    seen = re.findall(r"--seen (\w+)", shown)[0]
    await _log_in(demo, folder, "juma")
    await _malipo(folder, "bank", "approve", file, "--here", "--seen", seen)
    [written] = re.findall(r"\w+\.xml", await _malipo(folder, "bank", "download", file))
    async with aiohttp.ClientSession() as http:
        async with http.post(f"{demo['phonesUrl']}/api/bank/files", data=(folder / written).read_bytes()) as answer:
            taken = await answer.json()
        url = f"{demo['phonesUrl']}/api/bank/statement?from={taken['booked_on']}&to={taken['booked_on']}"
        async with http.get(url) as answer:
            (folder / "statement.xml").write_bytes(await answer.read())
    assert "Completed 1 settlements of TZS 200,000" in await _malipo(folder, "bank", "import", "statement.xml")
    settled = await client("GET", f"/v1/settlements/{made.body['settlement']['id']}")
    assert settled.body["settlement"]["status"] == "COMPLETED"


async def _log_in(demo: dict[str, str], folder: Path, name: str) -> None:
    await _malipo(folder, "operators", "login", name, "--stdin", typed=demo[f"operatorPassword.{name}"])


async def _malipo(folder: Path, *arguments: str, typed: str = "", has_failed: bool = False) -> str:
    """What a command prints that is given in a shell where nothing is set but the data folder."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "MALIPO_DATA_DIR": str(folder / "var")}
    with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
        given.write(typed.encode())
        given.seek(0)
        child = fork_server.run_module(
            "malipo", *arguments, env=environment, cwd=folder, stdin=given, stdout=out, stderr=err
        )
        code = await asyncio.to_thread(child.wait)
        said, complained = (os.pread(each.fileno(), 2**20, 0).decode() for each in (out, err))
    assert (code != 0) == has_failed, complained
    return complained if has_failed else said


def test_a_port_of_a_process_is_not_one_that_a_connection_of_another_test_may_get() -> None:
    """A demo whose port a connection has got meanwhile ends with exit code 1: one reason for a start that fails under load."""
    ports = [free_port() for _ in range(20)]
    with socket.socket() as anyone:
        anyone.bind(("127.0.0.1", 0))
        given = anyone.getsockname()[1]
    assert max(ports) < 32_768 <= given
    with socket.create_server(("127.0.0.1", ports[0])), socket.socket() as taken, pytest.raises(OSError):  # noqa: PT011
        taken.bind(("127.0.0.1", ports[0]))


async def test_a_simulator_that_starts_slowly_is_waited_for_for_as_long_as_it_runs() -> None:
    asked = 0

    def has_ended() -> bool:
        nonlocal asked
        asked += 1
        return False

    port = free_port()
    waiting = asyncio.create_task(credentials(f"http://127.0.0.1:{port}", has_ended=has_ended))
    while asked < 3:  # noqa: ASYNC110 (nobody has answered so often)
        await asyncio.sleep(0)
    application = aiohttp.web.Application()
    application.router.add_get("/api/credentials", _give_credentials)
    runner = aiohttp.web.AppRunner(application)
    await runner.setup()
    await aiohttp.web.TCPSite(runner, "127.0.0.1", port).start()
    assert await waiting == {"MPESA": {"apiKey": "x"}}
    await runner.cleanup()


async def _give_credentials(request: aiohttp.web.Request) -> aiohttp.web.Response:
    return aiohttp.web.json_response({"MPESA": {"apiKey": "x"}})


async def test_a_simulator_that_has_ended_is_not_waited_for() -> None:
    with pytest.raises(NoSimulator):
        await credentials(f"http://127.0.0.1:{free_port()}", has_ended=lambda: True)


@pytest.mark.parametrize(
    ("environment", "command", "is_completed"),
    [
        ({}, "close", True),
        ({"MALIPO_DATABASE_URL": "postgresql://db/malipo"}, "close", False),
        ({"MALIPO_SECRET_KEY_FILE": "/run/secret"}, "close", False),
        ({"MALIPO_SECRET_KEY": "by hand"}, "close", False),
        ({}, "serve", False),
        ({}, "worker", False),
    ],
)
def test_settings_of_the_demo_are_for_commands_on_its_own_database(
    environment: dict[str, str], command: str, is_completed: bool, tmp_path: Path
) -> None:
    (tmp_path / demo_settings.FILE).write_bytes(demo_settings.encode({"MALIPO_SECRET_KEY": "of the demo"}))
    completed = demo_settings.complete(environment, command, tmp_path)
    assert (completed.get("MALIPO_SECRET_KEY") == "of the demo") == is_completed
    demo_settings.delete(tmp_path)
    assert demo_settings.complete(environment, command, tmp_path) == environment
