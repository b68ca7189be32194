"""The pages, route by route: they show the networks' state, and let a person answer a prompt."""

from datetime import datetime, timedelta
from itertools import islice
from typing import Any
from urllib.parse import parse_qsl, quote

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from malipo_simulator import phone as phones
from malipo_simulator.api import Handler, is_pin, phone_of, prompt_of, read
from malipo_simulator.behaviour import TABLE, row_of
from malipo_simulator.pages import render
from malipo_simulator.pages.control import control
from malipo_simulator.phone_messages import BRANDS, CARRIERS, messages_of
from malipo_simulator.request_log import RequestLogEntry, mask
from malipo_simulator.simulator import Simulator
from malipo_simulator.state import Subscriber
from malipo_simulator.statements.account import ZONE
from malipo_simulator.statements.differences import Difference
from malipo_simulator.transaction import GatewayName, Transaction

_MOST_PHONES = 12
_MOST_MOVEMENTS = 15
_MOST_SEEN = 100

# What stands for "any other" in an example.
_PLAIN_DIGITS = "456"


def _recent(simulator: Simulator) -> render.Fragment:
    memory = simulator.network.memory
    found = [
        {
            "phone": phone,
            "channel": memory.subscribers[phone].transactions[-1].channel,
            "balance": memory.subscribers[phone].balance,
            "waiting": len(memory.subscribers[phone].waiting),
            "at": memory.subscribers[phone].transactions[-1].taken_at,
        }
        for phone in islice(reversed(memory.recent), _MOST_PHONES)
    ]
    return render.fragment("recent.html", recent=found)


def _rows() -> list[dict[str, Any]]:
    return [
        {
            "row": row,
            "examples": {
                channel: start + (row.digits if row.digits.isdecimal() else _PLAIN_DIGITS)
                for channel, start in phones.EXAMPLES.items()
            },
        }
        for row in TABLE
    ]


def _index(simulator: Simulator, *, status: int = 200, asked: str = "", wrong: str = "") -> Response:
    today = datetime.fromtimestamp(simulator.network.now(), ZONE).date()
    return render.page(
        "index.html",
        status=status,
        recent=_recent(simulator),
        rows=_rows(),
        asked=asked,
        wrong=wrong,
        accounts=list(GatewayName),
        days={"today": today, "yesterday": today - timedelta(days=1)},
        differences=list(Difference),
    )


async def index(simulator: Simulator, request: Request) -> Response:
    return _index(simulator)


async def recent(simulator: Simulator, request: Request) -> Response:
    """The list of phones alone, for the script that keeps it fresh."""
    return _recent(simulator).response()


async def pick_up(simulator: Simulator, request: Request) -> Response:
    """Whatever way the number was written."""
    asked = request.query_params.get("phone", "")
    phone = phones.read(asked)
    if phone is None:
        wrong = "That is not a Tanzanian mobile number. Try one such as 0754 123 456."
        return _index(simulator, status=400, asked=asked, wrong=wrong)
    return RedirectResponse(_address(phone), 303)


def _address(phone: str) -> str:
    return f"/phones/{quote(phone)}"


def _screen(simulator: Simulator, phone: str, wrong: str = "") -> dict[str, Any]:
    subscriber = simulator.network.memory.subscribers.get(phone) or Subscriber()
    prompt: Transaction | None = next(iter(subscriber.waiting.values()), None)
    latest = subscriber.transactions[-1].channel if subscriber.transactions else None
    channel = prompt.channel if prompt else latest or phones.network_of(phone)
    return {
        "phone": phone,
        "carrier": CARRIERS.get(channel or "", "Tanzania"),
        "address": _address(phone),
        "channel": channel,
        "subscriber": subscriber,
        "prompt": prompt,
        "queued": max(0, len(subscriber.waiting) - 1),
        "messages": messages_of(subscriber, limit=8),
        "movements": list(reversed(subscriber.movements[-_MOST_MOVEMENTS:])),
        "wrong": wrong,
    }


async def show_phone(simulator: Simulator, request: Request) -> Response:
    return _draw_phone(simulator, phone_of(request.path_params["phone"]))


def _draw_phone(simulator: Simulator, phone: str, wrong: str = "", status: int = 200) -> Response:
    screen = _screen(simulator, phone, wrong)
    return render.page(
        "phone.html",
        status=status,
        phone=phone,
        address=screen["address"],
        is_waiting=screen["prompt"] is not None,
        screen=render.fragment("screen.html", **screen).text,
        # As it is without our complaint, which must not vanish before it is read.
        version=render.fragment("screen.html", **screen | {"wrong": ""}).version,
        row=row_of(phone),
        examples={name: start + phone[-3:] for name, start in phones.EXAMPLES.items()},
    )


async def show_screen(simulator: Simulator, request: Request) -> Response:
    """What changes on a phone's page, for the script that keeps it fresh."""
    return render.fragment("screen.html", **_screen(simulator, phone_of(request.path_params["phone"]))).response()


async def answer_prompt(simulator: Simulator, request: Request) -> Response:
    """The phone's own buttons."""
    phone = phone_of(request.path_params["phone"])
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise HTTPException(403, "Another site may not press this phone's buttons.")
    form = dict(parse_qsl((await read(request)).decode("latin-1")))
    if form.get("action") not in ("approve", "decline"):
        raise HTTPException(400, "That phone has no such button.")
    transaction = prompt_of(simulator, request.path_params["id"])
    if form["action"] == "approve" and not is_pin(form.get("pin")):
        return _draw_phone(simulator, phone, "Namba ya siri ni tarakimu nne. / The PIN is four digits.", 400)
    # It may have been answered elsewhere, or have expired: the page then shows its state.
    if transaction.id in simulator.network.memory.subscriber(phone).waiting:
        simulator.network.answer(transaction, is_approved=form["action"] == "approve")
    return RedirectResponse(_address(phone), 303)


async def behaviour(simulator: Simulator, request: Request) -> Response:
    return render.page("behaviour.html", rows=_rows())


async def seen(simulator: Simulator, request: Request) -> Response:
    channel, asked = request.query_params.get("channel", ""), request.query_params.get("phone", "").strip()
    phone = phones.read(asked) if asked else ""
    entries = [] if phone is None else simulator.seen.newest(gateway=channel, phone=phone)
    return render.page(
        "seen.html",
        entries=[_entry(entry) for entry in islice(entries, _MOST_SEEN)],
        channel=channel,
        asked=asked,
        wrong="That is not a Tanzanian mobile number." if phone is None else "",
        channels={name.value: BRANDS[name] for name in simulator.gateways},
        most=_MOST_SEEN,
    )


def _entry(entry: RequestLogEntry) -> dict[str, Any]:
    return {
        "entry": entry,
        "path": mask(entry.path.encode()),
        "headers": entry.shown_headers(),
        "body": _pretty(entry.body),
        "reply": _pretty(entry.reply),
        "milliseconds": None if entry.seconds is None else round(entry.seconds * 1000),
    }


def _pretty(body: bytes) -> str:
    try:
        return mask(msgspec.json.format(body, indent=2)) if body else ""
    except msgspec.MsgspecError:
        return mask(body)


ROUTES: tuple[tuple[str, str, Handler], ...] = (
    ("GET", "/", index),
    ("GET", "/recent", recent),
    ("GET", "/pick-up", pick_up),
    ("GET", "/phones/{phone}", show_phone),
    ("GET", "/phones/{phone}/screen", show_screen),
    ("POST", "/phones/{phone}/prompts/{id}", answer_prompt),
    ("GET", "/behaviour", behaviour),
    ("GET", "/control", control),
    ("GET", "/seen", seen),
    ("GET", "/static/{name}", render.static),
)
