"""malipo listen on a restored database: it reports that events are lost, and continues from the cursor that the service
gives it."""

from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.cli.listen.feed_and_receiver import Feed, Receiver, options, serving
from tests.journeys.full_stack import FullStack, full_stack_started, until
from tests.journeys.operator_commands import malipo
from tests.journeys.restored_stack import a_host, appoint, back_up, bring_back, pay, release, until_fenced

LOST = "The service was restored from a backup, and events up to where the last one stopped are lost"


def lost(details: Any) -> web.Response:
    body = {"error": "The cursor lies ahead of a restored backup.", "details": details}
    return web.json_response(body, status=400, headers={"X-Error-Code": "cursor_lost"})


async def test_listen_says_that_events_are_lost_and_goes_on_from_the_cursor_that_is_named(
    feed: Feed, receiver: Receiver, tmp_path: Path
) -> None:
    where = {"data_dir": tmp_path / "var"}
    feed.add_events(5)
    await malipo(*options(feed, receiver, "--from-start", "--once"), **where)
    receiver.arrivals.clear()
    feed.troubles = [lost({"after": ["…"], "goOn": ["3"]})]

    said = await malipo(*options(feed, receiver, "--once"), **where)

    [line] = [line for line in said.out.splitlines() if "restored" in line]
    assert line[10:] == f"{LOST}: look up the payments of that time. Going on from 3."
    assert (said.code, said.err, receiver.ids) == (0, "", ["evt_3", "evt_4"]), "and not from the oldest"
    feed.add_events(1)
    await malipo(*options(feed, receiver, "--once"), **where)
    assert receiver.ids == ["evt_3", "evt_4", "evt_5"], "the new place is kept"


@pytest.mark.parametrize(
    "details",
    [None, {}, {"goOn": []}, {"goOn": "3"}, {"goOn": ["3", "4"]}, {"goOn": ["5"]}],
    ids=["none", "empty", "no cursor", "no list", "two", "the one that is lost"],
)
async def test_where_no_cursor_is_named_it_goes_on_with_the_oldest_event(
    feed: Feed, receiver: Receiver, tmp_path: Path, details: Any
) -> None:
    where = {"data_dir": tmp_path / "var"}
    feed.add_events(5)
    await malipo(*options(feed, receiver, "--from-start", "--once"), **where)
    receiver.arrivals.clear()
    feed.troubles = [lost(details)]
    said = await malipo(*options(feed, receiver, "--once", "--skip-failed"), **where)
    assert said.out.count("lost: the service was restored from a backup. On with the oldest event kept.") == 1
    assert receiver.ids == [f"evt_{number}" for number in range(5)], "twice is better than never"


async def test_over_a_real_restore_nothing_that_happens_afterwards_is_missed(tmp_path: Path, database_url: str) -> None:
    receiver = Receiver()
    async with (
        full_stack_started(tmp_path, database_url) as full_stack,
        a_host(full_stack, tmp_path / "state"),
        serving(receiver.take) as receiver.url,
    ):
        where = {"data_dir": tmp_path / "var"}
        arguments = ["listen", "--api-key", full_stack.merchant.key, "--base-url", full_stack.api.url]
        arguments += ["--forward-to", receiver.url, "--once"]
        await appoint(full_stack)
        await _told(full_stack, "+255684000001", events=1)
        backup = await back_up(full_stack.database_url)
        await _told(full_stack, "+255684000002", events=2)
        await malipo(*arguments, "--from-start", **where)
        assert len(receiver.arrivals) == 2
        await bring_back(full_stack.database_url, backup)
        await until_fenced(full_stack)
        said = await malipo(*arguments, **where)
        assert (said.code, said.out.count(LOST), len(receiver.arrivals)) == (0, 1, 2)
        await release(full_stack)
        await _told(full_stack, "+255684000003", events=2)
        said = await malipo(*arguments, **where)
        assert (LOST in said.out, len(receiver.arrivals)) == (False, 3)
        assert b"+255684000003" in receiver.arrivals[-1].body


async def _told(full_stack: FullStack, phone: str, *, events: int) -> None:
    """A payout with its events; so many events there are then."""
    assert (await pay(full_stack, "AIRTEL_MONEY", phone, f"key-{phone}")).status == 201

    async def are_there() -> bool:
        found = await full_stack.api("GET", "/v1/events")
        return len(found.body["events"]) >= events

    await until(are_there, what="the event")
