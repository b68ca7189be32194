"""malipo listen: whatever happens on either side, each event reaches the developer's receiver, signed and in order."""

import asyncio
import hashlib
import hmac
import json
import os
import pty
import random
import re
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from standardwebhooks import Webhook

from malipo.cli.developer.credentials import Access
from malipo.cli.developer.cursor_file import CursorFile, Place
from tests.conftest import Running, free_port, until_ready
from tests.journeys.full_stack import a_worker, full_stack_started, until
from tests.journeys.operator_commands import malipo

KEY = "mlp_live_" + "5ec7e7" * 6
Start = Callable[..., Running]


@asynccontextmanager
async def serving(handler: Callable[[web.Request], Awaitable[web.StreamResponse]], port: int = 0) -> AsyncIterator[str]:
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@dataclass
class Feed:
    """A service that keeps the contract of GET /v1/events, and can be told to misbehave as services do."""

    bodies: list[bytes] = field(default_factory=list)
    pruned: int = 0
    troubles: list[web.Response] = field(default_factory=list)  # each is the answer to one request
    asked_at: list[float] = field(default_factory=list)
    url: str = ""

    def tell(self, count: int = 1, event: str = "payment.completed", **more: Any) -> None:
        for number in range(len(self.bodies) + 1, len(self.bodies) + count + 1):
            # Not as our own encoder writes it: the bytes must be left alone.
            transaction = (
                f'{{"reference": "MLP-{number:04}", "amount":1000, "name":"\\u00c4sha é", "x":1.0e2{_json(more)}}}'
            )
            self.bodies.append(f'{{"event":"{event}","transaction":{transaction}}}'.encode())

    async def take(self, request: web.Request) -> web.StreamResponse:
        self.asked_at.append(asyncio.get_running_loop().time())
        if self.troubles:
            return self.troubles.pop(0)
        if request.headers.get("x-api-key") != KEY:
            return web.json_response({"error": "The API key is missing or not valid."}, status=401)
        after = request.query.get("after", str(self.pruned))
        place = len(self.bodies) if after == "latest" else int(after)
        if place < self.pruned:
            return web.json_response({"error": "…"}, status=400, headers={"X-Error-Code": "cursor_expired"})
        for _ in range(int(request.query["wait"]) * 50):
            if len(self.bodies) > place:
                break
            await asyncio.sleep(0.02)
        found = range(place, min(place + int(request.query["limit"]), len(self.bodies)))
        entries = ",".join(
            f'{{"id":"evt_{number}","createdAt":"…",{self.bodies[number][1:].decode()}' for number in found
        )
        last = found[-1] + 1 if found else place
        return web.Response(body=f'{{"success":true,"events":[{entries}],"next":"{last}"}}'.encode())


def _json(more: dict[str, Any]) -> str:
    return "".join(f", {json.dumps(name)}: {json.dumps(value)}" for name, value in more.items())


@dataclass
class Arrival:
    body: bytes
    headers: dict[str, str]

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


@dataclass
class Receiver:
    """A developer's receiver, which answers as it is told to."""

    answers: Callable[[Arrival], web.Response | None] = lambda _: web.Response(text="ok")
    arrivals: list[Arrival] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    url: str = ""

    async def take(self, request: web.Request) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.arrivals.append(Arrival(await request.read(), headers))
        answer = self.answers(self.arrivals[-1])
        if answer is None:
            await asyncio.sleep(20)
            return web.Response()
        if answer.status < 300:
            self.taken.append(self.arrivals[-1].id)
        return answer

    @property
    def ids(self) -> list[str]:
        return [each.id for each in self.arrivals]

    async def until(self, is_so: Callable[[], bool] | int) -> None:
        """Until so many have come, or until something is so."""

        async def look() -> bool:
            return len(self.arrivals) >= is_so if isinstance(is_so, int) else is_so()

        await until(look, seconds=60, pause=0.01)


@pytest.fixture
async def feed() -> AsyncIterator[Feed]:
    feed = Feed()
    async with serving(feed.take) as feed.url:
        yield feed


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    async with serving(receiver.take) as url:
        receiver.url = f"{url}/webhooks"
        yield receiver


def options(feed: Feed, receiver: Receiver, *more: str) -> list[str]:
    return ["listen", "--api-key", KEY, "--base-url", feed.url, "--forward-to", receiver.url, *more]


async def until_said(running: Running, words: str, *, times: int = 1) -> str:
    async def said() -> str | None:
        text = running.log.read_text()
        return text if text.count(words) >= times else None

    return str(await until(said, pause=0.01, what=words))


def secret_in(text: str) -> str:
    [secret] = re.findall(r"whsec_[A-Za-z0-9+/]{43}=", text)
    return str(secret)


def assert_signed(arrival: Arrival, secret: str) -> None:
    Webhook(secret).verify(arrival.body, arrival.headers)
    made = hmac.new(secret.encode(), arrival.body, hashlib.sha256).hexdigest()
    assert arrival.headers["x-service-signature"] == made
    assert arrival.headers["x-service-event"] == json.loads(arrival.body)["event"]
    assert arrival.headers["content-type"] == "application/json"


async def test_an_event_arrives_as_the_webhook_that_it_will_be_and_again_until_it_is_taken(
    feed: Feed, receiver: Receiver, start: Start
) -> None:
    answers = iter([web.Response(status=500, text="\n\x1b[2JOut of order\nat line 7"), web.Response(status=204)])
    receiver.answers = lambda _: next(answers)
    feed.tell(3)
    listening = start(*options(feed, receiver))
    text = await until_said(listening, "from now on")
    feed.tell(metadata={"orderId": "17"})

    text = await until_said(listening, "→", times=2)

    secret = secret_in(text)
    failed, taken = receiver.arrivals
    for arrival in (failed, taken):
        assert arrival.body == feed.bodies[3]
        assert_signed(arrival, secret)
    assert failed.id == taken.id == "evt_3", "what happened before the first start is not told"
    assert failed.headers["x-service-delivery"] != taken.headers["x-service-delivery"]
    first, second = [line for line in text.splitlines() if "→" in line]
    shown = r"\d\d:\d\d:\d\d  payment.completed  MLP-0004      TZS 1,000  → "
    assert re.fullmatch(shown + r"500: \[2JOut of order; again in 1 s", first)
    assert re.fullmatch(shown + r"204 No Content \d+ ms", second)
    for line in (f"Listening to   {feed.url} (every event)", f"Forwarding to  {receiver.url}"):
        assert line in text.splitlines()
    assert KEY not in text
    assert "\x1b" not in text, "no colours, and nothing that a receiver can do to a terminal"
    assert all(later - earlier > 0.5 for earlier, later in pairwise(feed.asked_at)), "the key's limit is for others too"


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
            told = await connection.fetch("SELECT id, body FROM events ORDER BY feed_number")
        text = await until_said(listening, "→")

    assert list(dict.fromkeys(receiver.taken)) == [row["id"] for row in told]
    bodies = {row["id"]: row["body"].encode() for row in told}
    secret = secret_in(text)
    for arrival in receiver.arrivals:
        assert arrival.body == bodies[arrival.id]
        assert_signed(arrival, secret)


async def test_a_receiver_that_is_down_at_first_misses_nothing_and_one_that_is_skipped_misses_it(
    feed: Feed, start: Start
) -> None:
    port = free_port()
    patient, hasty = Receiver(url=f"http://127.0.0.1:{port}/patient"), Receiver(url=f"http://127.0.0.1:{port}/hasty")
    feed.tell(2)
    listening = start(*options(feed, patient, "--from-start"))
    skipping = start(*options(feed, hasty, "--from-start", "--skip-failed", "--once"))
    text = await until_said(skipping, "Forwarded")
    assert text.count("; skipped") == 2
    assert text.splitlines()[-1] == "Forwarded 0 events, and skipped 2. The next start goes on from here."
    assert skipping.process.wait(5) == 0
    assert "connection refused; again in 1 s" in await until_said(listening, "→")

    async with serving(patient.take, port):
        await patient.until(2)
        assert patient.ids == ["evt_0", "evt_1"]

        done = await malipo(*options(feed, hasty, "--once"), data_dir=skipping.log.parent / "var")
        assert (done.code, hasty.ids, done.out.count("→")) == (0, [], 0)


async def test_it_goes_on_where_it_stopped_and_two_receivers_do_not_mix(
    feed: Feed, receiver: Receiver, start: Start, tmp_path: Path
) -> None:
    other = Receiver()
    where = {"data_dir": tmp_path / "var"}
    async with serving(other.take) as other.url:
        feed.tell(150)
        assert (await malipo(*options(feed, receiver, "--from-start", "--once"), **where)).code == 0
        assert (await malipo(*options(feed, other, "--once"), **where)).code == 0
        feed.tell(2, "payout.failed")
        feed.tell(1)

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
            bookmark.keep(Place("1"))
            with bookmark.path.open() as before:
                bookmark.keep(Place("1", "evt_2"))
                assert json.load(before) == {"after": "1", "done": None}
            assert bookmark.read() == Place("1", "evt_2")
            paths.add(bookmark.path)
    assert len(paths) == 8


async def test_a_place_that_is_lost_is_said_and_nothing_is_missed(
    feed: Feed, receiver: Receiver, tmp_path: Path
) -> None:
    where = {"data_dir": tmp_path / "var"}
    feed.tell(3)
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
    feed.tell(3)
    feed.pruned = 4
    receiver.arrivals.clear()
    said = await malipo(*options(feed, receiver, "--once"), **where)
    assert said.out.count("older than what is kept") == 1
    assert receiver.ids == ["evt_4", "evt_5"]


async def test_a_service_that_is_away_is_waited_for_and_that_is_said_once(receiver: Receiver, start: Start) -> None:
    port = free_port()
    feed = Feed(url=f"http://127.0.0.1:{port}")
    listening = start(*options(feed, receiver, "--from-start"))
    await until_said(listening, "Waiting.")
    async with serving(feed.take, port):
        feed.tell(1)
        await receiver.until(1)
    await until_said(listening, "Waiting.", times=2)
    feed.troubles = [web.Response(status=503, headers={"Retry-After": "1"}), web.Response(text="<html>")]
    async with serving(feed.take, port):
        feed.tell(1)
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


async def test_who_is_told_to_wait_waits_as_long_and_says_it_once(
    feed: Feed, receiver: Receiver, tmp_path: Path
) -> None:
    feed.troubles = [web.json_response({}, status=429, headers={"Retry-After": "2"}) for _ in range(2)]
    feed.tell(1)

    said = await malipo(*options(feed, receiver, "--from-start", "--once"), data_dir=tmp_path)

    assert said.out.count("This API key has been used too often. Waiting.") == 1
    first, second, third = feed.asked_at
    assert second - first >= 2
    assert third - second >= 2
    assert receiver.ids == ["evt_0"]


async def test_ctrl_c_ends_it_at_once_even_while_a_receiver_hangs_and_the_event_is_told_again(
    feed: Feed, receiver: Receiver, start: Start
) -> None:
    receiver.answers = lambda arrival: None if arrival.id == "evt_1" else web.Response()
    feed.tell(2)
    listening = start(*options(feed, receiver, "--from-start"))
    await receiver.until(2)

    listening.process.send_signal(signal.SIGINT)

    assert await asyncio.to_thread(listening.process.wait, 5) == 0
    text = listening.log.read_text()
    assert text.splitlines()[-1] == "Forwarded 1 event. The next start goes on from here."
    receiver.answers = lambda _: web.Response()
    await malipo(*options(feed, receiver, "--once"), data_dir=listening.log.parent / "var")
    assert receiver.ids == ["evt_0", "evt_1", "evt_1"]


async def test_who_is_killed_before_the_first_event_is_taken_begins_with_it_again(
    feed: Feed, receiver: Receiver, start: Start
) -> None:
    receiver.answers = lambda _: None
    feed.tell(1)
    listening = start(*options(feed, receiver, "--from-start"))
    await receiver.until(1)
    listening.kill()
    receiver.answers = lambda _: web.Response()

    await malipo(*options(feed, receiver, "--once"), data_dir=listening.log.parent / "var")

    assert receiver.ids == ["evt_0", "evt_0"]


async def test_the_key_is_for_the_service_alone_and_nobody_is_followed_elsewhere(
    feed: Feed, receiver: Receiver, tmp_path: Path
) -> None:
    elsewhere = Receiver()
    where = {"data_dir": tmp_path / "var"}
    async with serving(elsewhere.take) as elsewhere.url:
        receiver.answers = lambda _: web.Response(status=307, headers={"Location": elsewhere.url})
        feed.tell(1)
        said = await malipo(*options(feed, receiver, "--from-start", "--once", "--skip-failed"), **where)
        assert "→ 307: a redirect, which is not followed; skipped" in said.out

        feed.troubles = [web.Response(status=307, headers={"Location": elsewhere.url})]
        said = await malipo(*options(feed, receiver, "--once"), **where)
        assert (said.code, said.out) == (2, "")
        assert "Is --base-url right?" in said.err
    assert elsewhere.arrivals == []
    assert all(KEY not in str(arrival.headers) for arrival in receiver.arrivals)


async def test_whatever_is_not_right_is_one_sentence_and_exit_code_2(
    feed: Feed, receiver: Receiver, start: Start, tmp_path: Path
) -> None:
    where = {"data_dir": tmp_path / "var"}
    forbidden = {"error": "This API key lacks the permission events.read."}
    here = ("--forward-to", receiver.url)

    async def refused(*arguments: str) -> str:
        said = await malipo("listen", *arguments, **where)
        assert (said.code, said.out) == (2, ""), said
        [sentence] = said.err.splitlines()
        return sentence.removeprefix("malipo: ")

    wrong_key, no_demo, no_receiver, no_url, no_event = await asyncio.gather(
        refused(*here, "--api-key", "mlp_live_wrong", "--base-url", feed.url),
        refused(*here),
        refused("--api-key", KEY),
        refused("--forward-to", "ftp://x/", "--api-key", KEY),
        refused(*here, "--api-key", KEY, "--events", "payment.complete"),
    )
    assert wrong_key == f"{feed.url} does not take this API key: The API key is missing or not valid."
    assert "no demo has been started here" in no_demo
    assert "--forward-to" in no_receiver
    assert no_url == "--forward-to must start with https:// or http://."
    assert "payout.cancelled" in no_event
    feed.troubles = [web.json_response(forbidden, status=403)]
    assert forbidden["error"] in await refused(*options(feed, receiver)[1:])
    listening = start(*options(feed, receiver))
    await until_said(listening, "Ctrl-C")
    assert "Another `malipo listen`" in await refused(*options(feed, receiver)[1:])


async def test_in_the_demo_nothing_but_the_receiver_has_to_be_said(
    feed: Feed, receiver: Receiver, tmp_path: Path
) -> None:
    demo = {"baseUrl": feed.url, "phonesUrl": "http://127.0.0.1:1", "apiKey": KEY, "email": "e", "password": "p"}
    (tmp_path / "demo.json").write_text(json.dumps(demo))
    feed.tell(1)
    to = ("listen", "--forward-to", receiver.url.removeprefix("http://"), "--from-start", "--once")

    said = await malipo(*to, data_dir=tmp_path)

    assert (said.code, receiver.ids) == (0, ["evt_0"]), said.err
    assert KEY not in said.out
    stranger = await malipo(*to, "--base-url", receiver.url, data_dir=tmp_path)
    assert (stranger.code, len(receiver.arrivals)) == (2, 1), "the demo's key is shown to nobody else"
    assert "--api-key is needed" in stranger.err


@pytest.mark.parametrize(("environment", "is_coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
async def test_there_is_colour_on_a_terminal_unless_it_is_not_wanted(
    feed: Feed, receiver: Receiver, tmp_path: Path, environment: dict[str, str], is_coloured: bool
) -> None:
    feed.tell(1)
    outer, inner = pty.openpty()
    variables = {"PATH": os.environ["PATH"], "MALIPO_DATA_DIR": str(tmp_path), **environment}
    command = (sys.executable, "-m", "malipo", *options(feed, receiver, "--from-start", "--once"))
    process = await asyncio.create_subprocess_exec(*command, env=variables, stdout=inner, stderr=inner)
    assert await process.wait() == 0
    os.close(inner)
    text = os.read(outer, 100_000).decode()
    os.close(outer)
    assert ("\x1b[32m→ 200 OK" in text) is is_coloured
    assert ("\x1b" in text) is is_coloured
