"""Where malipo listen continues after it was stopped or killed, or after its cursor was lost."""

import asyncio
import json
import signal
from itertools import product
from pathlib import Path

from aiohttp import web

from malipo.cli.developer.credentials import Access
from malipo.cli.developer.cursor_file import CursorFile, FeedPlace
from tests.cli.listen.feed_and_receiver import (
    KEY,
    Feed,
    Receiver,
    Start,
    options,
    serving,
)
from tests.journeys.operator_commands import malipo


async def test_listen_goes_on_where_it_stopped_and_two_receivers_do_not_mix(
    feed: Feed, receiver: Receiver, start: Start, tmp_path: Path
) -> None:
    other = Receiver()
    where = {"data_dir": tmp_path / "var"}
    async with serving(other.take) as other.url:
        feed.add_events(150)
        assert (await malipo(*options(feed, receiver, "--from-start", "--once"), **where)).code == 0
        assert (await malipo(*options(feed, other, "--once"), **where)).code == 0
        feed.add_events(2, "payout.failed")
        feed.add_events(1)

        said = await malipo(*options(feed, receiver, "--once"), **where)
        await malipo(*options(feed, other, "--once", "--events", "payment.completed, payment.failed"), **where)
        await malipo(*options(feed, other, "--once"), **where)

    assert receiver.ids == [f"evt_{number}" for number in range(153)]
    assert "Going on where the last one stopped." in said.out
    assert said.out.splitlines()[-1] == "Forwarded 3 events. The next start goes on from here."
    assert other.ids == ["evt_152"], "from its own first start, and only what was wanted"
    kept = list((tmp_path / "var/listen").iterdir())
    assert {each.suffix for each in kept} == {".json", ".lock"}
    assert len(kept) == 4
    for each in kept:
        assert each.stat().st_mode & 0o777 == 0o600
        assert KEY[-8:] not in each.name + each.read_text()


def test_each_service_key_and_receiver_has_a_place_of_its_own_which_is_replaced_whole(tmp_path: Path) -> None:
    paths = set()
    for base_url, key, receiver in product(("http://a", "http://b"), ("key1", "key2"), ("http://c", "http://d")):
        with CursorFile.opened(tmp_path, Access(base_url, key), receiver) as bookmark:
            assert bookmark.read() is None
            bookmark.keep(FeedPlace("1"))
            with bookmark.path.open() as before:
                bookmark.keep(FeedPlace("1", "evt_2"))
                assert json.load(before) == {"after": "1", "done": None}
            assert bookmark.read() == FeedPlace("1", "evt_2")
            paths.add(bookmark.path)
    assert len(paths) == 8


async def test_a_place_that_is_lost_is_said_and_nothing_is_missed(
    feed: Feed, receiver: Receiver, tmp_path: Path
) -> None:
    where = {"data_dir": tmp_path / "var"}
    feed.add_events(3)
    await malipo(*options(feed, receiver, "--from-start", "--once"), **where)
    [place] = (tmp_path / "var/listen").glob("*.json")

    whole = place.read_bytes()
    for broken in (b"", whole[:-5], b'{"after": "\xff"}', b'{"after": 3}'):
        receiver.arrivals.clear()
        place.write_bytes(broken)
        said = await malipo(*options(feed, receiver, "--once"), **where)
        assert (said.code, said.err) == (0, "")
        assert f"cannot be read ({place})" in said.out
        assert receiver.ids == ["evt_0", "evt_1", "evt_2"]

    assert place.read_bytes() == whole
    feed.add_events(3)
    feed.pruned = 4
    receiver.arrivals.clear()
    said = await malipo(*options(feed, receiver, "--once"), **where)
    assert said.out.count("older than what is kept") == 1
    assert receiver.ids == ["evt_4", "evt_5"]


async def test_ctrl_c_ends_listen_at_once_even_while_a_receiver_hangs_and_the_event_is_forwarded_again(
    feed: Feed, receiver: Receiver, start: Start
) -> None:
    receiver.answers = lambda arrival: None if arrival.id == "evt_1" else web.Response()
    feed.add_events(2)
    listening = start(*options(feed, receiver, "--from-start"))
    await receiver.until(2)

    listening.process.send_signal(signal.SIGINT)

    assert await asyncio.to_thread(listening.process.wait, 5) == 0
    text = listening.log.read_text()
    assert text.splitlines()[-1] == "Forwarded 1 event. The next start goes on from here."
    receiver.answers = lambda _: web.Response()
    await malipo(*options(feed, receiver, "--once"), data_dir=listening.log.parent / "var")
    assert receiver.ids == ["evt_0", "evt_1", "evt_1"]


async def test_a_listener_that_is_killed_before_its_first_event_is_taken_begins_with_it_again(
    feed: Feed, receiver: Receiver, start: Start
) -> None:
    receiver.answers = lambda _: None
    feed.add_events(1)
    listening = start(*options(feed, receiver, "--from-start"))
    await receiver.until(1)
    listening.kill()
    receiver.answers = lambda _: web.Response()

    await malipo(*options(feed, receiver, "--once"), data_dir=listening.log.parent / "var")

    assert receiver.ids == ["evt_0", "evt_0"]
