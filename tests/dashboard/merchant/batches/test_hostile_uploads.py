"""Small workbooks that once stopped the service: each is read or refused, and others log in meanwhile.

No absolute times: log-ins while a file is read are compared with those before it, in the same run.
"""

import asyncio
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from malipo.db import Database
from tests.conftest import Running, make_merchant
from tests.dashboard.merchant.batches.batch_pages import Office
from tests.dashboard.merchant.batches.batch_pages import office as office
from tests.dashboard.page_client import Seen, add_person, surfing
from tests.table_files import hostile_workbooks

AT_ONCE = 8
MOST_MORE_BYTES = 150 * 1024 * 1024
MOST_RATIO = 2.0
TRIES = 4


def _memory(running: Running, kind: str) -> int:
    """In bytes: `VmRSS` is what it has, `VmHWM` the most that it had."""
    lines = Path(f"/proc/{running.process.pid}/status").read_text().splitlines()
    return next(int(each.split()[1]) * 1024 for each in lines if each.startswith(kind))


def _forget_peak(running: Running) -> None:
    Path(f"/proc/{running.process.pid}/clear_refs").write_text("5")


class OtherMerchant:
    """Somebody who has nothing to do with the files, and logs in."""

    def __init__(self, url: str, email: str, database: Database) -> None:
        self._url, self._email, self._database = url, email, database

    async def log_in_seconds(self) -> float:
        async with self._database.begin() as tx:
            await tx.execute("DELETE FROM login_attempts")
        async with surfing(self._url, seen_from="10.62.0.1") as surfer:
            await surfer.get("/dashboard/login")
            began = time.monotonic()
            seen = await surfer.log_in(self._email)
            took = time.monotonic() - began
        assert seen.status == 303
        return took


@pytest.fixture
async def other(running: Running, database: Database) -> OtherMerchant:
    merchant = await make_merchant(database)
    person = await add_person(database, merchant.id, f"other+{merchant.id}@example.com")
    return OtherMerchant(running.url, person.email, database)


WORKBOOKS = {
    "half a million cells in 3 kB": (hostile_workbooks.many_cells, 400, "There is no line in this file"),
    "6 MB of styles in 17 kB": (hostile_workbooks.many_styles, 303, ""),
    "one long text in 200,000 cells": (lambda: hostile_workbooks.shared_text(14_000), 400, "too much memory"),
    "one text in 200,000 cells": (lambda: hostile_workbooks.shared_text(300), 400, "too much text"),
    "two cells far apart": (hostile_workbooks.far_cell, 400, "too much memory"),
    "30 MB of empty rows": (hostile_workbooks.empty_rows, 400, "There is no line in this file"),
}


@pytest.mark.parametrize("name", WORKBOOKS)
async def test_a_hostile_workbook_disturbs_nobody(
    office: Office, other: OtherMerchant, running: Running, name: str
) -> None:
    make, status, words = WORKBOOKS[name]
    content = make()
    await other.log_in_seconds()  # The first takes longer.
    ratios = []
    for _ in range(TRIES):
        quiet = [await other.log_in_seconds() for _ in range(7)]
        before = _memory(running, "VmRSS")
        _forget_peak(running)
        uploads = [asyncio.create_task(office.send(content, name="file.xlsx")) for _ in range(AT_ONCE)]
        await asyncio.sleep(0.2)
        meanwhile: list[float] = []
        while len(meanwhile) < 5 or (len(meanwhile) < 25 and not all(each.done() for each in uploads)):
            meanwhile.append(await other.log_in_seconds())
        _check(await asyncio.gather(*uploads), status, words)
        assert _memory(running, "VmHWM") - before < MOST_MORE_BYTES
        ratios.append(statistics.median(meanwhile) / statistics.median(quiet))
        if ratios[-1] <= MOST_RATIO:
            return
    raise AssertionError(f"log-ins took {ratios} times as long as before")


def _check(answers: list[Seen], status: int, words: str) -> None:
    """Each is answered in words; whoever waited too long is told when to come again."""
    told = [each for each in answers if each.status != 429]
    assert {each.status for each in told} == {status}
    assert all(words in each.words for each in told)
    for busy in (each for each in answers if each.status == 429):
        assert "Another file of yours is being read" in busy.words
        assert int(busy.headers["Retry-After"]) > 0


async def test_who_hangs_up_is_not_read_for(office: Office, running: Running) -> None:
    content = hostile_workbooks.empty_rows()
    sending = asyncio.create_task(office.send(content, name="file.xlsx"))
    await _until(lambda: len(_readers(running)) == 1)
    sending.cancel()
    await _until(lambda: _readers(running) == [])
    # The turn is free again.
    assert (await office.send(b"Phone,Amount\n0754000101,1000\n")).status == 303


def _readers(running: Running) -> list[str]:
    tasks = Path(f"/proc/{running.process.pid}/task").glob("*/children")
    return [each for task in tasks for each in task.read_text().split()]


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - of another process
            await asyncio.sleep(0.02)
