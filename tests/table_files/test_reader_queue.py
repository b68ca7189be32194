"""One file at a time for a merchant and two on a host; who hangs up ends the reading."""

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from malipo.accounts.passwords import Passwords
from malipo.errors import TooMany, Unavailable
from malipo.table_files.reader_queue import AT_ONCE, FilesBeingRead, OwnFileBeingRead, ReadingTurns
from malipo.table_files.rows import rows_of
from tests.table_files.test_rows import MANY, readers, written


def turns_in(folder: Path, *, tries: int = 4) -> ReadingTurns:
    return ReadingTurns(folder, tries=tries)


async def test_one_at_a_time_for_a_merchant_and_two_on_a_host(tmp_path: Path) -> None:
    here, there = turns_in(tmp_path), turns_in(tmp_path)  # as of two processes
    async with here.turn("mer_1"):
        with pytest.raises(OwnFileBeingRead) as own:
            async with there.turn("mer_1"):
                pass
        async with there.turn("mer_2"):
            with pytest.raises(FilesBeingRead) as busy:
                async with here.turn("mer_3"):
                    pass
        async with there.turn("mer_3"):
            pass
    async with there.turn("mer_1"):
        pass
    assert AT_ONCE == 2
    assert (isinstance(own.value, TooMany), isinstance(busy.value, Unavailable)) == (True, True)
    assert own.value.retry_after_seconds == busy.value.retry_after_seconds == 10
    assert list((tmp_path / "reading").iterdir()) == [], "nothing is left of who was there"


async def test_who_waits_a_while_gets_the_turn(tmp_path: Path) -> None:
    all_turns, order = turns_in(tmp_path, tries=200), list[int]()

    async def read(number: int) -> None:
        async with all_turns.turn("mer_1"):
            order.append(number)
            await asyncio.sleep(0.01)
            order.append(number)

    await asyncio.gather(*(read(number) for number in range(8)))
    assert order[::2] == order[1::2], "never two at once"


async def test_imports_leave_a_place_for_what_is_short(tmp_path: Path) -> None:
    all_turns = turns_in(tmp_path)
    async with all_turns.turn("opr_1", is_long=True):
        with pytest.raises(FilesBeingRead):
            async with all_turns.turn("opr_2", is_long=True):
                pass
        async with all_turns.turn("mer_1"):
            pass


async def test_a_process_that_dies_leaves_no_turn_behind(tmp_path: Path) -> None:
    holding = (
        "import asyncio, sys\nfrom pathlib import Path\nfrom malipo.table_files.reader_queue import ReadingTurns\n"
        "async def main():\n"
        f"    async with ReadingTurns(Path({str(tmp_path)!r})).turn('mer_1'):\n"
        "        print('ready', flush=True)\n"
        "        await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    process = subprocess.Popen(  # noqa: ASYNC220 - it is there before anything is awaited
        [sys.executable, "-c", holding], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    with pytest.raises(OwnFileBeingRead):
        async with turns_in(tmp_path).turn("mer_1"):
            pass
    process.kill()
    process.wait()
    process.stdout.close()
    async with turns_in(tmp_path).turn("mer_1"):
        pass


async def test_if_nobody_waits_any_more_the_reader_is_killed_and_the_turn_is_free(tmp_path: Path) -> None:
    path, began, go_on = written(tmp_path, MANY), threading.Event(), threading.Event()

    def read() -> int:
        rows = rows_of(path)
        next(rows)
        began.set()
        go_on.wait(60)
        return sum(1 for _ in rows)

    reading = asyncio.create_task(turns_in(tmp_path).read("mer_1", read))
    await asyncio.to_thread(began.wait, 10)
    assert len(readers()) == 1
    reading.cancel()
    await asyncio.sleep(0.1)
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert readers() == []
    async with turns_in(tmp_path).turn("mer_1"):
        pass


async def test_passwords_are_checked_while_all_shared_threads_are_taken() -> None:
    """Whatever fills the threads that asyncio shares, people can log in."""
    passwords, free = Passwords(), threading.Event()
    hashed = await passwords.hash("correct horse battery")
    taken = [asyncio.create_task(asyncio.to_thread(free.wait, 30)) for _ in range(64)]
    await asyncio.sleep(0.05)
    try:
        async with asyncio.timeout(240):
            assert await passwords.is_right("correct horse battery", hashed)
            assert not await passwords.is_right("wrong", hashed)
    finally:
        free.set()
        await asyncio.gather(*taken)
