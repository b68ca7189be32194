"""A worker's connection to its database is cut or falls silent in the COMMIT of each step of a delivery.

Only the connection is simulated. A commit whose answer was lost counts once, and the next worker does what was not
committed.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from tests.conftest import create_database
from tests.journeys import database_facts
from tests.journeys.full_stack import until
from tests.journeys.postgres_proxy import Fault, proxy_to
from tests.journeys.webhook_receivers import Behaviour, Got, Line, a_receiver, good, says
from tests.journeys.webhook_stack import webhook_stack

# What only this step of a delivery's way runs.
STEPS = {
    "fan out": "INSERT INTO feeds",
    "claim": "UPDATE webhook_deliveries d SET claim_id",
    "record": "INSERT INTO webhook_attempts",
}
FAULTS = [Fault.CUT_BEFORE, Fault.CUT_AFTER, Fault.CUT_DURING, Fault.HANG_BEFORE, Fault.HANG_AFTER]
EVENTS = 12  # more than leave at once, so that some are fanned out and others claimed
_AT_ONCE = 8


@dataclass(frozen=True)
class After:
    """The rows when everything was delivered."""

    was_sprung: bool
    events: list[dict[str, Any]]
    deliveries: list[dict[str, Any]]
    attempts: dict[tuple[str, str], list[str]]  # of each endpoint and event
    requests: dict[tuple[str, str], list[str]]
    wrong: str


Aftermath = dict[tuple[str, Fault], After]


@pytest.fixture(scope="module")
async def aftermath(postgres: str, template: str) -> Aftermath:
    room = asyncio.Semaphore(_AT_ONCE)

    async def one(step: str, fault: Fault) -> After:
        async with room:
            # What was claimed without anybody's hearing of it is free when its lease ends. What was answered is not:
            # the worker has the answer in its hand, and nobody else is to come meanwhile.
            lease_seconds = 60 if step == "record" else 1
            return await _cut(await create_database(postgres, template), STEPS[step], fault, lease_seconds)

    all_ = [(step, fault) for step in STEPS for fault in FAULTS]
    return dict(zip(all_, await asyncio.gather(*(one(*each) for each in all_)), strict=True))


def _fails_first() -> Behaviour:
    """Each event is refused once."""
    known: set[str] = set()

    async def behave(got: Got, line: Line) -> None:
        await (good if got.id in known else says(500))(got, line)
        known.add(got.id)

    return behave


async def _cut(url: str, sql: str, fault: Fault, lease_seconds: float) -> After:
    retries = ",".join(["0"] * 9)
    async with (
        proxy_to(url) as (proxy, via),
        webhook_stack(url, via=via, webhook_retry_seconds=retries, database_patience_seconds=1) as stack,
        a_receiver() as receiver,
    ):
        if fault is Fault.CUT_DURING:
            await stack.make_commits_slow(sql)
        merchant = await stack.merchant()
        paths = {
            (await stack.register(merchant, receiver.behave(path, behaviour))).id: path
            for path, behaviour in (("/good", good), ("/fails-first", _fails_first()))
        }
        trap = proxy.trap(fault, after=sql)
        await stack.make_events(merchant, EVENTS)
        wrong = ""
        try:
            async with stack.a_worker(lease_seconds=lease_seconds):
                await until(lambda: _has(trap.sprung), what="the cut")
                await stack.until_delivered()
            await database_facts.assert_clean(stack.database)
        except AssertionError as error:
            wrong = str(error)
        attempts: dict[tuple[str, str], list[str]] = {}
        for row in await stack.rows("SELECT endpoint_id, event_id, id FROM webhook_attempts"):
            attempts.setdefault((paths[row["endpoint_id"]], row["event_id"]), []).append(row["id"])
        requests: dict[tuple[str, str], list[str]] = {}
        for got in receiver.got:
            requests.setdefault((got.path, got.id), []).append(got.headers["x-service-delivery"])
        rows = await stack.rows("SELECT * FROM webhook_deliveries")
        return After(
            trap.sprung.is_set(),
            await stack.rows("SELECT id, feed_number FROM events ORDER BY feed_number"),
            [row | {"path": paths[row["endpoint_id"]]} for row in rows],
            attempts,
            requests,
            wrong,
        )


async def _has(event: asyncio.Event) -> bool:
    return event.is_set()


EVERY_CUT = pytest.mark.parametrize(
    ("step", "fault"),
    [(step, fault) for step in STEPS for fault in FAULTS],
    ids=lambda each: each.name.lower() if isinstance(each, Fault) else each,
)


@EVERY_CUT
async def test_every_event_has_one_place_and_reaches_every_endpoint(
    aftermath: Aftermath, step: str, fault: Fault
) -> None:
    after = aftermath[step, fault]

    assert after.was_sprung
    assert not after.wrong
    assert [row["feed_number"] for row in after.events] == list(range(1, EVENTS + 1))
    whole = {(path, row["id"]) for row in after.events for path in ("/good", "/fails-first")}
    assert set(after.requests) == whole
    assert {(row["path"], row["event_id"]) for row in after.deliveries} == whole
    assert {row["state"] for row in after.deliveries} == {"DELIVERED"}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name.lower())
async def test_an_answer_whose_commit_is_cut_is_written_down_once_and_counted_once(
    aftermath: Aftermath, fault: Fault
) -> None:
    after = aftermath["record", fault]

    for row in after.deliveries:
        key = (row["path"], row["event_id"])
        assert row["attempt_count"] == len(after.attempts[key]) == (1 if row["path"] == "/good" else 2)
        assert sorted(after.attempts[key]) == sorted(after.requests[key])
