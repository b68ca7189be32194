"""malipo listen: forwards a merchant's events to a receiver on the developer's machine, as webhooks."""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Awaitable
from typing import Any

import aiohttp

from malipo import log
from malipo.cli.command_table import COMMANDS
from malipo.cli.developer.credentials import access, add_arguments, address
from malipo.cli.developer.cursor_file import CursorFile, CursorFileUnreadable, FeedPlace
from malipo.cli.developer.feed_client import LATEST, Feed
from malipo.cli.developer.forward import Forward, secret_of
from malipo.cli.developer.listener import FeedListener
from malipo.cli.developer.output import Introduction, Output
from malipo.errors import Invalid
from malipo.outbox.event import Event
from malipo.settings import Settings
from malipo.webhooks.http_client import WebhookClient

_HELP = COMMANDS["listen"].help


def add_commands(commands: Any) -> None:
    listen = commands.add_parser("listen", help=_HELP, description=_HELP)
    listen.set_defaults(command=_listen)
    listen.add_argument("--forward-to", metavar="URL", required=True, help="such as http://127.0.0.1:3000/webhooks")
    add_arguments(listen)
    listen.add_argument(
        "--events", metavar="LIST", help="only these events, separated by commas (default: every event)"
    )
    listen.add_argument("--from-start", action="store_true", help="begin with the oldest stored event")
    listen.add_argument(
        "--skip-failed", action="store_true", help="try each event only once, then continue with the next"
    )
    listen.add_argument("--once", action="store_true", help="forward the events that exist now, then exit")


def _listen(arguments: argparse.Namespace, settings: Settings) -> int:
    wanted = _wanted(arguments.events)
    found = access(arguments, settings)
    forward_to, secret = address(arguments.forward_to, "--forward-to"), secret_of(found.api_key)
    log.configure(level="warning", stream=sys.stderr)

    async def work(bookmark: CursorFile, place: FeedPlace, screen: Output) -> None:
        post = WebhookClient(allow_private=True, ports=(), timeout_seconds=settings.webhook_timeout_seconds)
        forward = Forward(post, forward_to, secret, word=settings.header_word)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as http:
            feed = Feed(http, found)
            listener = FeedListener(feed, forward, bookmark, screen, wanted=wanted, skips_failed=arguments.skip_failed)
            try:
                is_interrupted = await _until_interrupted(listener.run(place, is_once=arguments.once))
            finally:
                await post.close()
        screen.end(forwarded=listener.forwarded, skipped=listener.skipped, is_interrupted=is_interrupted)

    with CursorFile.opened(settings.data_dir, found, forward_to) as bookmark:
        place, start = _beginning(bookmark, is_from_start=arguments.from_start)
        screen = Output(sys.stdout, Introduction(found.base_url, forward_to, wanted, secret, start))
        try:
            asyncio.run(work(bookmark, place, screen))
        except BrokenPipeError:
            # The reader of our output has closed the pipe, as `head` does. Python would report it again at the exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _wanted(text: str | None) -> list[str]:
    """The events that were asked for; none means all."""
    names = [name.strip() for name in (text or "").split(",") if name.strip()]
    if unknown := [name for name in names if name not in list(Event)]:
        raise Invalid(f"There is no event {unknown[0]!r}. There are: {', '.join(Event)}.")
    return names


def _beginning(bookmark: CursorFile, *, is_from_start: bool) -> tuple[FeedPlace, str]:
    """Where to begin, and how to say so."""
    if is_from_start:
        return FeedPlace(None), "Beginning with the oldest event that is kept."
    try:
        place = bookmark.read()
    except CursorFileUnreadable:
        return FeedPlace(None), (
            f"Where the last one stopped cannot be read ({bookmark.path}). So that nothing is lost, "
            "beginning with the oldest event that is kept."
        )
    if place is None:
        return FeedPlace(LATEST), "Waiting for events, from now on."
    return place, "Going on where the last one stopped."


async def _until_interrupted(work: Awaitable[None]) -> bool:
    """Do the work; whether Ctrl-C has ended it."""
    task = asyncio.ensure_future(work)
    for each in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        return True
    return False
