"""The journal of the simulator: killed at any moment, it continues with the same state."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from malipo_simulator.journal import Journal
from malipo_simulator.transaction import ResultReported
from tests.simulator.airtel import Airtel
from tests.simulator.clickpesa import Clickpesa
from tests.simulator.mpesa import Mpesa
from tests.simulator.processes import Listener, Process, Sim, launch, start, until

PATIENT = "+255754123100"


@pytest.fixture
def begin(state: Path) -> Iterator[Callable[..., Process]]:
    """Starts a simulator that keeps its state in the test's folder."""
    started: list[Process] = []

    def begin_one(speed: float = 1) -> Process:
        started.append(start("--state", str(state), "--speed", str(speed)))
        return started[-1]

    yield begin_one
    for each in started:
        if each.process.poll() is None:
            each.kill()


@pytest.fixture
async def ear() -> AsyncIterator[Listener]:
    """Somebody who listens, whatever becomes of the simulator."""
    received = Listener("")
    app = web.Application()
    app.router.add_post("/told", received.take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    received.url = f"http://127.0.0.1:{runner.addresses[0][1]}/told"
    yield received
    await runner.cleanup()


async def speak_to(http: aiohttp.ClientSession, process: Process) -> tuple[Sim, Mpesa, Airtel]:
    sim = Sim(http, process.url, {})
    sim.credentials = await sim("GET", "/api/credentials")
    mpesa = await Mpesa(http, process.url, sim.credentials["MPESA"]).open()
    return sim, mpesa, await Airtel(http, process.url, sim.credentials["AIRTEL_MONEY"]).open()


async def test_a_killed_network_remembers(
    begin: Callable[..., Process], http: aiohttp.ClientSession, ear: Listener
) -> None:
    process = begin()
    sim, mpesa, airtel = await speak_to(http, process)
    await sim("PUT", "/api/callbacks", {"MPESA": ear.url})
    waiting = secrets.token_hex(16)
    await mpesa.collect(PATIENT, 1500, input_ThirdPartyConversationID=waiting)
    await airtel.disburse("+255684123456", 2500, "salary")
    names = ("book", "prompts", "credentials", "callbacks", "phones/0684123456", f"transactions/MPESA/{waiting}")
    before = [await sim("GET", f"/api/{name}") for name in names]

    process.kill()
    sim, mpesa, airtel = await speak_to(http, begin())

    assert [await sim("GET", f"/api/{name}") for name in names] == before
    # A repeat is a repeat, and what was under way goes on.
    assert (await mpesa.collect(PATIENT, 1500, input_ThirdPartyConversationID=waiting)).code == "INS-10"
    assert (await airtel.disburse("+255684123456", 2500, "salary")).code == "DP00900001017"
    (prompt,) = await sim("GET", "/api/prompts")
    await sim("POST", f"/api/prompts/{prompt['id']}", {"action": "approve"})
    await until(lambda: len(ear.calls) == 1)
    assert ear.calls[0].body["input_ThirdPartyConversationID"] == waiting
    book = await sim("GET", "/api/book")
    assert (book["charged"], book["paid"]) == (1500, 2500)


async def test_a_result_whose_callback_was_lost_is_sent_after_a_restart(
    begin: Callable[..., Process], http: aiohttp.ClientSession, ear: Listener, state: Path
) -> None:
    process = begin()
    sim, mpesa, _ = await speak_to(http, process)
    await sim("PUT", "/api/callbacks", {"MPESA": "http://127.0.0.1:1/"})
    reference = secrets.token_hex(16)
    await mpesa.disburse("+255754123456", input_ThirdPartyConversationID=reference)
    await asyncio.sleep(0.1)
    await sim("PUT", "/api/callbacks", {"MPESA": ear.url})

    process.kill()
    sim, _, _ = await speak_to(http, begin())
    await until(lambda: len(ear.calls) == 1)

    # Once it was heard, that is remembered as well.
    await _until_shown(sim, f"MPESA/{reference}", isTold=True)
    assert '"type":"told"' in (state / "journal.jsonl").read_text()


async def test_money_that_was_to_move_late_moves_after_a_restart(
    begin: Callable[..., Process], http: aiohttp.ClientSession
) -> None:
    process = begin(2)
    sim, mpesa, _ = await speak_to(http, process)
    failed, late = secrets.token_hex(16), secrets.token_hex(16)
    await mpesa.disburse("+255754123110", input_ThirdPartyConversationID=failed)
    await mpesa.disburse("+255754123100", input_ThirdPartyConversationID=late)
    assert [await mpesa.status(each) for each in (failed, late)] == ["Failed", "Pending"]

    process.kill()
    sim, mpesa, _ = await speak_to(http, begin(100))

    for each in (failed, late):
        await _until_said(mpesa, each, "Completed")
    assert (await sim("GET", "/api/book"))["paid"] == 2000


async def test_money_that_was_to_go_back_goes_back_after_a_restart(
    begin: Callable[..., Process], http: aiohttp.ClientSession
) -> None:
    process = begin()
    _, mpesa, _ = await speak_to(http, process)
    reference = secrets.token_hex(16)
    await mpesa.disburse("+255754123112", input_ThirdPartyConversationID=reference)
    assert await mpesa.status(reference) == "Completed"

    process.kill()
    process = begin(100)
    sim, mpesa, _ = await speak_to(http, process)
    await _until_said(mpesa, reference, "Completed reversed")
    process.kill()
    sim, mpesa, _ = await speak_to(http, begin(100))

    assert await mpesa.status(reference) == "Completed reversed"
    book = await sim("GET", "/api/book")
    assert [(each["kind"], each["isReversal"]) for each in book["movements"]] == [("paid", False), ("charged", True)]
    assert (await sim("GET", "/api/phones/0754123112"))["balance"] == 1_000_000


async def _until_said(mpesa: Mpesa, reference: str, word: str) -> None:
    async with asyncio.timeout(240):
        while await mpesa.status(reference) != word:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def _until_shown(sim: Sim, transaction: str, **fields: bool) -> None:
    async with asyncio.timeout(240):
        while not fields.items() <= (await sim("GET", f"/api/transactions/{transaction}")).items():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_a_secret_stays_one_after_a_restart(
    begin: Callable[..., Process], http: aiohttp.ClientSession, ear: Listener
) -> None:
    process = begin()
    sim, mpesa, _ = await speak_to(http, process)
    await sim("PUT", "/api/callbacks", {"MPESA": ear.url})
    reference = secrets.token_hex(16)
    await mpesa.disburse("+255754123111", input_ThirdPartyConversationID=reference)
    await until(lambda: len(ear.calls) == 1)
    assert ear.calls[0].body["input_ResultCode"] == "INS-6"

    # Killed before it had read the answer, it would tell it again, as a network does.
    await _until_shown(sim, f"MPESA/{reference}", isTold=True)
    process.kill()
    process = begin(100)
    _, mpesa, _ = await speak_to(http, process)
    await _until_said(mpesa, reference, "Completed")
    process.kill()
    _, mpesa, _ = await speak_to(http, begin(100))

    assert await mpesa.status(reference) == "Completed"
    # What is told of another comes after what would have been told of this one.
    await mpesa.disburse("+255754123456")
    await until(lambda: len(ear.calls) > 1)
    assert [call.body["input_ResultCode"] for call in ear.calls] == ["INS-6", "INS-0"]
    assert ear.calls[1].body["input_ThirdPartyConversationID"] != reference


async def test_a_late_callback_is_as_late_after_a_restart(
    begin: Callable[..., Process], http: aiohttp.ClientSession, ear: Listener
) -> None:
    process = begin()
    sim, mpesa, _ = await speak_to(http, process)
    await sim("PUT", "/api/callbacks", {"MPESA": ear.url})
    await sim.control(channels={"MPESA": {"callbackDelaySeconds": 86_400}})
    await mpesa.disburse("+255754123456")
    await sim.control(channels={"MPESA": {"callbackDelaySeconds": 4}})
    soon = secrets.token_hex(16)
    await mpesa.disburse("+255754123456", input_ThirdPartyConversationID=soon)

    process.kill()
    assert ear.calls == []
    begin()
    await until(lambda: bool(ear.calls))
    assert [call.body["input_ThirdPartyConversationID"] for call in ear.calls] == [soon]


async def test_a_begun_payout_is_reported_after_a_restart_if_its_report_was_lost(
    begin: Callable[..., Process], http: aiohttp.ClientSession, ear: Listener
) -> None:
    process = begin()
    sim, _, _ = await speak_to(http, process)
    await sim("PUT", "/api/callbacks", {"CLICKPESA": "http://127.0.0.1:1/"})
    clickpesa = await Clickpesa(http, process.url, sim.credentials["CLICKPESA"]).open()
    await clickpesa.disburse("+255622123109", 1000, "salary1")
    await sim("PUT", "/api/callbacks", {"CLICKPESA": ear.url})

    for _ in range(2):
        process.kill()
        process = begin()
        await until(lambda: bool(ear.calls))
        # Once it was heard, that is remembered as well.
        await _until_shown(Sim(http, process.url, {}), "CLICKPESA/salary1", isOpeningDue=False)
    assert [call.body["event"] for call in ear.calls] == ["PAYOUT INITIATED"]


async def test_a_key_that_was_used_twice_is_so_after_a_restart(
    begin: Callable[..., Process], http: aiohttp.ClientSession
) -> None:
    process = begin()
    sim, mpesa, _ = await speak_to(http, process)
    await sim.control(channels={"MPESA": {"forgetSeconds": 0.001}})
    reference = secrets.token_hex(16)
    for phone in ("+255754123456", "+255754123109"):
        assert (await mpesa.disburse(phone, input_ThirdPartyConversationID=reference)).code == "INS-0"
    process.kill()
    sim, mpesa, _ = await speak_to(http, begin())
    assert await mpesa.status(reference) == "Pending"
    assert (await mpesa.disburse("+255754123456", input_ThirdPartyConversationID=reference)).code == "INS-10"
    assert (await sim("GET", "/api/book"))["paid"] == 1000


def test_a_torn_last_line_is_cut_off(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.write(ResultReported("first"))
    with journal.path.open("ab") as file:
        file.write(b'{"type":"told","id":"to')
    journal.close()

    journal = Journal(tmp_path)
    assert list(journal.replay()) == [ResultReported("first")]
    journal.write(ResultReported("second"))
    assert list(journal.replay()) == [ResultReported("first"), ResultReported("second")]
    journal.close()


async def test_reset_is_remembered_too(begin: Callable[..., Process], http: aiohttp.ClientSession) -> None:
    process = begin()
    sim, mpesa, _ = await speak_to(http, process)
    await mpesa.disburse("+255754123456")
    await sim("POST", "/api/reset")
    await mpesa.disburse("+255754123456", 700)
    process.kill()
    fresh, _, _ = await speak_to(http, begin())
    assert fresh.credentials == sim.credentials
    assert (await fresh("GET", "/api/book"))["paid"] == 700


def test_a_broken_line_is_not_passed_over(state: Path) -> None:
    (state / "journal.jsonl").write_text('{"type":"told"}\n')
    process = launch("--port", "0", "--state", str(state))
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 1
    assert errors.startswith("Line 1 of ")
    assert errors.count("\n") == 1


def test_two_cannot_share_a_folder(process: Process, folder: Path) -> None:
    other = launch("--port", "0", "--state", str(folder))
    _, errors = other.communicate(timeout=240)
    assert other.returncode == 1
    assert errors == f"Another simulator keeps its state in {folder}.\n"


def test_what_is_kept_is_for_its_owner_alone(process: Process, folder: Path) -> None:
    for name in ("credentials.json", "journal.jsonl"):
        assert (folder / name).stat().st_mode & 0o077 == 0
