"""malipo listen: whatever happens on either side, each event reaches the developer's receiver, signed and in order."""

import random
import re
from itertools import pairwise
from pathlib import Path

from aiohttp import web

from tests.cli.listen.feed_and_receiver import (
    KEY,
    Feed,
    Receiver,
    Start,
    assert_signed,
    options,
    secret_in,
    serving,
    until_said,
)
from tests.conftest import free_port, until_ready
from tests.journeys.full_stack import a_worker, full_stack_started
from tests.journeys.operator_commands import malipo


async def test_an_event_arrives_as_the_webhook_that_it_will_be_and_again_until_it_is_taken(
    feed: Feed, receiver: Receiver, start: Start
) -> None:
    answers = iter([web.Response(status=500, text="\n\x1b[2JOut of order\nat line 7"), web.Response(status=204)])
    receiver.answers = lambda _: next(answers)
    feed.add_events(3)
    listening = start(*options(feed, receiver))
    text = await until_said(listening, "from now on")
    feed.add_events(metadata={"orderId": "17"})

    text = await until_said(listening, "→", times=2)

    secret = secret_in(text)
    failed, taken = receiver.arrivals
    for arrival in (failed, taken):
        assert arrival.body == feed.bodies[3]
        assert_signed(arrival, secret)
    assert failed.id == taken.id == "evt_3", "events before the first start are not forwarded"
    assert failed.headers["x-service-delivery"] != taken.headers["x-service-delivery"]
    first, second = [line for line in text.splitlines() if "→" in line]
    shown = r"\d\d:\d\d:\d\d  payment.completed  MLP-0004      TZS 1,000  → "
    assert re.fullmatch(shown + r"500: \[2JOut of order; again in 1 s", first)
    assert re.fullmatch(shown + r"204 No Content \d+ ms", second)
    for line in (f"Listening to   {feed.url} (every event)", f"Forwarding to  {receiver.url}"):
        assert line in text.splitlines()
    assert KEY not in text
    assert "\x1b" not in text, "no colours, and nothing that a receiver can do to a terminal"
    assert all(later - earlier > 0.3 for earlier, later in pairwise(feed.asked_at)), "the key's limit is for others too"


async def test_an_event_of_each_kind_arrives_as_its_webhook(feed: Feed, receiver: Receiver, start: Start) -> None:
    feed.add_one_of_each_kind()
    listening = start(*options(feed, receiver, "--from-start", "--once"))
    text = await until_said(listening, "Forwarded")
    assert [each.body for each in receiver.arrivals] == feed.bodies
    shown = [line[10:-9].split("→")[0].split() for line in text.splitlines() if "→" in line]
    assert shown[2:] == [
        ["link.paid", "MLP-0003", "TZS", "1,000"],
        ["settlement.completed", "MLP-0004", "TZS", "1,000"],
    ]


async def test_fifty_events_all_arrive_in_order_although_everybody_dies_in_between(
    tmp_path: Path, database_url: str
) -> None:
    """The real service, with a worker. The receiver fails at random, and that is when the listener is killed."""
    failing = random.Random(50).sample(range(2, 50), 6)
    receiver = Receiver()
    receiver.answers = lambda _: web.Response(status=500 if len(receiver.arrivals) in failing else 200)
    async with (
        full_stack_started(tmp_path, database_url) as full_stack,
        a_worker(full_stack),
        serving(receiver.take) as receiver.url,
    ):
        api = await until_ready(full_stack.start("api"))
        arguments = (
            "listen",
            "--api-key",
            full_stack.merchant.key,
            "--base-url",
            api.url,
            "--forward-to",
            receiver.url,
        )
        for number in range(10):
            await full_stack.take("MPESA", "COLLECTION", f"+2557540{number:02}101")
            await full_stack.take("AIRTEL_MONEY", "COLLECTION", f"+2556840{number:02}001")
            await full_stack.take("AIRTEL_MONEY", "DISBURSEMENT", f"+2556841{number:02}001")
        listening = full_stack.start(*arguments, "--from-start")
        for moment in (1, *sorted(failing)[::2]):
            await receiver.until(moment)
            listening.kill()
            listening = full_stack.start(*arguments)
        api.kill()
        full_stack.start("api", port=int(api.url.rpartition(":")[2]))
        await receiver.until(lambda: len(set(receiver.taken)) == 50)
        async with full_stack.database.read() as connection:
            output = await connection.fetch("SELECT id, body FROM events ORDER BY feed_number")
        text = await until_said(listening, "→")

    assert list(dict.fromkeys(receiver.taken)) == [row["id"] for row in output]
    bodies = {row["id"]: row["body"].encode() for row in output}
    secret = secret_in(text)
    for arrival in receiver.arrivals:
        assert arrival.body == bodies[arrival.id]
        assert_signed(arrival, secret)


async def test_a_receiver_that_is_down_at_first_misses_nothing_and_one_that_is_skipped_misses_it(
    feed: Feed, start: Start
) -> None:
    port = free_port()
    patient, hasty = Receiver(url=f"http://127.0.0.1:{port}/patient"), Receiver(url=f"http://127.0.0.1:{port}/hasty")
    feed.add_events(2)
    listening = start(*options(feed, patient, "--from-start"))
    skipping = start(*options(feed, hasty, "--from-start", "--skip-failed", "--once"))
    text = await until_said(skipping, "Forwarded")
    assert text.count("; skipped") == 2
    assert text.splitlines()[-1] == "Forwarded 0 events, and skipped 2. The next start goes on from here."
    assert skipping.process.wait(240) == 0
    assert "connection refused; again in 1 s" in await until_said(listening, "→")

    async with serving(patient.take, port):
        await patient.until(2)
        assert patient.ids == ["evt_0", "evt_1"]

        done = await malipo(*options(feed, hasty, "--once"), data_dir=skipping.log.parent / "var")
        assert (done.code, hasty.ids, done.out.count("→")) == (0, [], 0)


async def test_a_service_that_is_away_is_waited_for_and_that_is_said_once(receiver: Receiver, start: Start) -> None:
    port = free_port()
    feed = Feed(url=f"http://127.0.0.1:{port}")
    listening = start(*options(feed, receiver, "--from-start"))
    await until_said(listening, "Waiting.")
    async with serving(feed.take, port):
        feed.add_events(1)
        await receiver.until(1)
    await until_said(listening, "Waiting.", times=2)
    feed.troubles = [web.Response(status=503, headers={"Retry-After": "1"}), web.Response(text="<html>")]
    async with serving(feed.take, port):
        feed.add_events(1)
        await receiver.until(2)
        text = await until_said(listening, "→", times=2)

    assert receiver.ids == ["evt_0", "evt_1"]
    assert feed.troubles == []
    away, *rest = [line[10:] for line in text.splitlines() if re.match(r"\d\d:", line) and "→" not in line]
    assert away == "The service does not answer (no connection). Waiting."
    assert [re.sub(r" \(.*\)", "", note) for note in rest] == [
        "The service answers again.",
        "The service does not answer. Waiting.",
        "The service answers again.",
    ]


async def test_a_listener_that_is_asked_to_wait_waits_as_long_and_says_so_once(
    feed: Feed, receiver: Receiver, tmp_path: Path
) -> None:
    feed.troubles = [web.json_response({}, status=429, headers={"Retry-After": "2"}) for _ in range(2)]
    feed.add_events(1)

    said = await malipo(*options(feed, receiver, "--from-start", "--once"), data_dir=tmp_path)

    assert said.out.count("This API key has been used too often. Waiting.") == 1
    first, second, third = feed.asked_at
    assert second - first >= 2
    assert third - second >= 2
    assert receiver.ids == ["evt_0"]
