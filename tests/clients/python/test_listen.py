"""malipo-client listen: each event reaches the developer's receiver as the webhook that it is, and none is lost."""

import asyncio
import os
import re
import signal
from pathlib import Path

from aiohttp import web

from tests.cli.listen.feed_and_receiver import KEY, Feed, Receiver, assert_signed, options, secret_in, serving
from tests.clients.python.commands import command, environment, run, started
from tests.conftest import free_port
from tests.journeys.full_stack import until
from tests.journeys.operator_commands import malipo


async def listen(folder: Path, *arguments: str) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        *command(*arguments), env=environment(HOME=str(folder)), stdout=-1, stderr=-1, stdin=asyncio.subprocess.DEVNULL
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


async def test_it_forwards_the_same_bytes_and_prints_the_same_lines_as_the_command_of_the_service(
    feed: Feed, receiver: Receiver, tmp_path: Path
) -> None:
    feed.add_events(4, metadata={"orderId": "17"})
    feed.add_events(1, "payout.failed")
    ours = options(feed, receiver, "--from-start", "--once")
    code, out, err = await listen(tmp_path, *ours)
    assert (code, err) == (0, "")
    mine, receiver.arrivals = receiver.arrivals, []
    said = await malipo(*ours, data_dir=tmp_path / "var")

    assert [each.body for each in mine] == [each.body for each in receiver.arrivals] == feed.bodies
    assert _without_times(out) == _without_times(said.out)
    for one, other in zip(mine, receiver.arrivals, strict=True):
        assert_signed(one, secret_in(out))
        assert {name for name in one.headers if name.startswith(("x-", "webhook-", "content-"))} == {
            name for name in other.headers if name.startswith(("x-", "webhook-", "content-"))
        }
    assert KEY not in out


def _without_times(text: str) -> str:
    return re.sub(r"\d+ ms", "0 ms", re.sub(r"^\d\d:\d\d:\d\d", "00:00:00", text, flags=re.MULTILINE))


async def test_an_event_of_each_kind_arrives_as_its_webhook(tmp_path: Path, feed: Feed, receiver: Receiver) -> None:
    feed.add_one_of_each_kind()
    code, out, err = await listen(tmp_path, *options(feed, receiver, "--from-start", "--once"))
    assert (code, err) == (0, "")
    assert [each.body for each in receiver.arrivals] == feed.bodies
    assert "settlement.completed  MLP-0004      TZS 1,000  →" in out


async def test_an_event_is_tried_until_it_is_taken_and_goes_on_there_after_a_kill(
    feed: Feed, receiver: Receiver, tmp_path: Path
) -> None:
    def answers(arrival: object) -> web.Response | None:
        number = len(receiver.arrivals)
        if number == 1:
            return web.Response(status=500, text="\n\x1b[2JOut of order\nat line 7")
        return None if number == 3 else web.Response()

    receiver.answers = answers
    feed.add_events(3)
    with started(tmp_path, *options(feed, receiver, "--from-start")) as (process, said):
        await receiver.until(3)  # The third is evt_1, which hangs: it is killed with that in its hands.
        process.kill()
        text = said()
    assert "→ 500: [2JOut of order; again in 1 s" in text
    assert "\x1b" not in text
    with started(tmp_path, *options(feed, receiver)) as (process, said):
        await receiver.until(5)
        feed.add_events(1)
        await receiver.until(6)
        await until(lambda: _is("evt_3" in said() or said().count("→ 200") >= 3), what="that it has said so")
        process.send_signal(signal.SIGINT)
        assert await asyncio.to_thread(process.wait, 240) == 0
        assert "Going on where the last one stopped." in said()
        assert said().endswith("The next start goes on from here.\n")
    assert receiver.ids == ["evt_0", "evt_0", "evt_1", "evt_1", "evt_2", "evt_3"]


async def test_a_service_that_is_away_is_waited_for_and_a_lost_place_is_said(
    receiver: Receiver, tmp_path: Path
) -> None:
    port = free_port()
    feed = Feed(url=f"http://127.0.0.1:{port}")
    feed.add_events(2)
    with started(tmp_path, *options(feed, receiver, "--from-start", "--once")) as (process, said):
        await until(lambda: _is("Waiting." in said()), what="that it says so")
        lost = {"error": "Lost.", "details": {"after": ["…"], "goOn": ["1"]}}
        async with serving(feed.take, port):
            assert await asyncio.to_thread(process.wait, 240) == 0
            feed.troubles = [
                web.Response(status=503, headers={"Retry-After": "0"}),
                web.json_response(lost, status=400, headers={"X-Error-Code": "cursor_lost"}),
            ]
            _, out, _ = await listen(tmp_path, *options(feed, receiver, "--once"))
            feed.pruned = 2
            feed.add_events(1)
            feed.troubles = [web.json_response({"error": "…"}, status=400, headers={"X-Error-Code": "cursor_expired"})]
            _, later, _ = await listen(tmp_path, *options(feed, receiver, "--once", "--events", "payment.completed"))
    assert "Going on from 1." in out
    assert "The service answers again." in out
    assert "older than what is kept" in later
    assert receiver.ids == ["evt_0", "evt_1", "evt_1", "evt_2"]
    kept = [*(tmp_path / ".local/state/malipo-client/listen").iterdir()]
    assert {each.suffix for each in kept} == {".json", ".lock"}
    assert all(each.stat().st_mode & 0o777 == 0o600 for each in kept)
    assert all(KEY[-8:] not in each.read_text() + each.name for each in kept)


async def _is(value: bool) -> bool:
    return value


async def test_what_is_wrong_is_one_sentence(feed: Feed, receiver: Receiver, tmp_path: Path) -> None:
    wrong = [each if each != KEY else "mlp_live_wrong" for each in options(feed, receiver, "--once")]
    code, out, err = await listen(tmp_path, *wrong)
    assert (code, out) == (1, "")
    assert err == "malipo-client: The API key is missing or not valid.\n"
    code, out, err = await listen(tmp_path, "listen", "--api-key", KEY, "--forward-to", "ftp://x/")
    assert (code, out, err) == (2, "", "malipo-client: --forward-to must start with https:// or http://.\n")
    assert os.environ.get("MALIPO_API_KEY") is None
    assert await asyncio.to_thread(run, "payouts", "list") == (
        2,
        "",
        "malipo-client: An API key is needed: set MALIPO_API_KEY, or give api_key (--api-key).\n",
    )
