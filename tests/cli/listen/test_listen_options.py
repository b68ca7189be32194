"""The options of malipo listen, and the values that it does not print."""

import asyncio
import json
import os
import pty
import sys
from pathlib import Path

import pytest
from aiohttp import web

from tests.cli.listen.feed_and_receiver import (
    KEY,
    Feed,
    Receiver,
    Start,
    options,
    serving,
    until_said,
)
from tests.journeys.operator_commands import malipo


async def test_the_key_is_for_the_service_alone_and_nobody_is_followed_elsewhere(
    feed: Feed, receiver: Receiver, tmp_path: Path
) -> None:
    elsewhere = Receiver()
    where = {"data_dir": tmp_path / "var"}
    async with serving(elsewhere.take) as elsewhere.url:
        receiver.answers = lambda _: web.Response(status=307, headers={"Location": elsewhere.url})
        feed.add_events(1)
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
    feed.add_events(1)
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
    feed.add_events(1)
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
