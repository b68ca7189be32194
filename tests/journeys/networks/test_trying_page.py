"""Every test number on every network, at the pace and with the settings of the demo, against the page's table: its end,
after how long, its events, and what corrects it: by itself, or when the network's statement is imported."""

import asyncio
import re
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from malipo import clock
from malipo.cli.floats.demo_balances import book_opening_floats
from malipo.operators import store as operators
from malipo.settings import Settings
from tests.conftest import create_database
from tests.journeys.full_stack import FullStack, a_worker, full_stack_started, until
from tests.journeys.networks.trying_page import NETWORKS, PAGE_ROWS, Number
from tests.journeys.operator_commands import malipo

pytestmark = pytest.mark.slow

PREFIXES = {"M-Pesa": "+255754", "Tigo Pesa": "+255714", "Airtel Money": "+255684", "HaloPesa": "+255624"}
FOLLOW_UP_SECONDS = 60  # of "10 min later", for which a test does not wait: nothing else comes at that time
WATCHED_SECONDS = 125
LATE_SECONDS = 4  # as late as a busy machine may be
# One of them waits for a person.
NUMBERS = [each for each in PAGE_ROWS if (each.digits, each.type) != ("100", "COLLECTION")]


class Seen(NamedTuple):
    shown: dict[str, Any]
    events: list[str]
    ended_after: float | None
    corrected_after: float | None  # its end
    statement_after: float
    was_contradicted: bool  # before the statement
    is_contradicted: bool


Watched = dict[Number, Seen]


@pytest.fixture(scope="module")
def watched(postgres: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    async def live() -> Watched:
        url, folder = await create_database(postgres, template), tmp_path_factory.mktemp("demo")
        async with full_stack_started(folder, url, speed=1, **_as_in_the_demo()) as full_stack:
            return await _watch(full_stack, folder)

    return asyncio.run(live())


def _as_in_the_demo() -> dict[str, Any]:
    usual = Settings()
    return {
        "poll_seconds": ",".join(map(str, usual.poll_seconds)),
        "not_found_seconds": usual.not_found_seconds,
        "not_indexed_seconds": usual.not_indexed_seconds,
        "not_indexed_answers": usual.not_indexed_answers,
        "follow_up_seconds": f"{FOLLOW_UP_SECONDS},3600",
        "tigo_pesa_not_found_codes": "",
        "unsettled_seconds": usual.unsettled_seconds,
    }


async def _watch(full_stack: FullStack, folder: Path) -> Watched:
    async with full_stack.database.begin() as tx:
        await operators.insert_operator(tx, "opr_1", "asha", now=clock.now())
        await book_opening_floats(tx, now=clock.now())
    async with a_worker(full_stack):
        ids = {each: await full_stack.take(NETWORKS[each.network], each.type, _phone(each)) for each in NUMBERS}
        await asyncio.sleep(WATCHED_SECONDS)
        before, imported_at = await full_stack.unsettled(), clock.now()
        for channel in NETWORKS.values():
            await _import(full_stack, channel, folder / f"{channel}.csv")
        await until(lambda: _has_told_all(full_stack), what="the events of what the statements report")
        events, after = await _events(full_stack), await full_stack.unsettled()
        return {
            number: _seen(
                await full_stack.shown(id_),
                events.get(id_, []),
                imported_at,
                was_contradicted="contradicted" in before.get(id_, ""),
                is_contradicted="contradicted" in after.get(id_, ""),
            )
            for number, id_ in ids.items()
        }


def _phone(number: Number) -> str:
    middle = "000" if number.type == "COLLECTION" else "111"
    return PREFIXES[number.network] + middle + ("999" if number.digits == "other" else number.digits)


async def _import(full_stack: FullStack, channel: str, path: Path) -> None:
    """The simulator's statement of the day, as the page says: imported by one operator."""
    day = clock.day_of(clock.now())
    async with full_stack.sim.http.get(f"{full_stack.sim.url}/api/statements/{channel}?day={day}") as answer:
        await asyncio.to_thread(path.write_bytes, await answer.read())
    named: dict[str, Any] = {
        name.removeprefix("MALIPO_").lower(): value for name, value in full_stack.environment.items()
    }
    named |= {"database_url": full_stack.database_url, "operator": "asha"}
    said = await malipo("statements", "import", str(path), "--channel", channel, **named)
    assert said.code == 0, said.err


async def _has_told_all(full_stack: FullStack) -> bool:
    async with full_stack.database.read() as connection:
        return not await connection.fetchval("SELECT EXISTS (SELECT FROM events WHERE feed_number IS NULL)")


async def _events(full_stack: FullStack) -> dict[str, list[tuple[str, datetime]]]:
    events: dict[str, list[tuple[str, datetime]]] = {}
    cursor = ""
    while page := (await full_stack.api("GET", f"/v1/events?limit=100{cursor}")).body:
        if not page["events"]:
            break
        for each in page["events"]:
            reported = (each["event"], datetime.fromisoformat(each["createdAt"]))
            events.setdefault(each["transaction"]["id"], []).append(reported)
        cursor = f"&after={page['next']}"
    return events


def _seen(
    shown: dict[str, Any],
    events: list[tuple[str, datetime]],
    imported_at: datetime,
    *,
    was_contradicted: bool,
    is_contradicted: bool,
) -> Seen:
    created_at = datetime.fromisoformat(shown["createdAt"])
    ended = [at for name, at in events if name.endswith((".completed", ".failed"))]
    corrected = [at for name, at in events if name.endswith(".corrected")]
    return Seen(
        shown=shown,
        events=[name for name, _ in events if not name.endswith(".corrected")],
        ended_after=(ended[0] - created_at).total_seconds() if ended else None,
        corrected_after=(corrected[0] - ended[0]).total_seconds() if corrected else None,
        statement_after=(imported_at - created_at).total_seconds(),
        was_contradicted=was_contradicted,
        is_contradicted=is_contradicted,
    )


@pytest.mark.parametrize("number", NUMBERS, ids=lambda each: f"{each.digits}-{each.type.lower()}-{each.network}")
def test_the_page_says_what_becomes_of_a_test_number(watched: Watched, number: Number) -> None:
    reported, seen = PAGE_ROWS[number], watched[number]

    is_later = reported.after.startswith("minutes")  # After this test has gone: its end is in the grid of all networks.
    assert _end_of(seen) == ("stays `PROCESSING`" if is_later else reported.end)
    assert _fits(reported.after, seen), seen
    first = ["payment.pending"] if number.type == "COLLECTION" else []  # as the page says above the table
    assert seen.events[: len(first)] == first
    events = ", ".join(f"`{name}`" for name in seen.events[len(first) :]) or "none"
    assert events == ("none" if is_later else reported.events)
    assert _corrected(seen) == reported.corrected, seen


def _end_of(seen: Seen) -> str:
    if seen.shown["status"] == "PROCESSING":
        return "stays `PROCESSING`"
    parts = [f"`{seen.shown['status']}`"]
    if "failureCode" in seen.shown:
        parts.append(f"`{seen.shown['failureCode']}`")
    if "failureDetail" in seen.shown:
        parts.append(f"with `{seen.shown['failureDetail']}`")
    return " ".join(parts)


def _fits(said: str, seen: Seen) -> bool:
    seconds = seen.ended_after
    if seconds is None:
        return said == "never" or said.startswith("minutes")
    if seconds >= seen.statement_after or said == "by the statement":
        return said == "by the statement" and seconds >= seen.statement_after
    if said == "at once":
        return seconds < LATE_SECONDS
    if within := re.fullmatch(r"within (\d+) s", said):
        return int(within[1]) - 9 <= seconds < int(within[1]) + LATE_SECONDS
    return int(said.removesuffix(" s")) - 0.1 <= seconds < int(said.removesuffix(" s")) + LATE_SECONDS


def _corrected(seen: Seen) -> str:
    after, ended = seen.corrected_after, seen.ended_after
    if after is None or ended is None:
        if seen.was_contradicted:
            return "operators decide"
        return "operators decide, by the statement" if seen.is_contradicted else "no"
    if ended + after >= seen.statement_after:
        return "by the statement"
    if 3.5 <= after < 4 + LATE_SECONDS:
        return "4 s later"
    is_by_question = FOLLOW_UP_SECONDS - 1 <= after < FOLLOW_UP_SECONDS + 10
    return "10 min later" if is_by_question else f"{after} s later"
