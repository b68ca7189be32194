"""The JSON API for scripts: credentials, phones, the book, the request log, and the switches."""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from malipo_simulator import phone as phones
from malipo_simulator.control import BadSwitches
from malipo_simulator.json_views import show_entry, show_movement, show_prompt, show_transaction
from malipo_simulator.network import AlreadyAnswered
from malipo_simulator.request_log import MOST_ENTRIES
from malipo_simulator.simulator import Simulator
from malipo_simulator.transaction import GatewayName, Transaction

Handler = Callable[[Simulator, Request], Awaitable[Response]]

_MOST_BODY_BYTES = 64 * 1024
_MOST_PROMPTS = 200
_MOST_URL = 2_048


def answer(body: Any, status: int = 200) -> Response:
    return Response(
        msgspec.json.encode(body), status, media_type="application/json", headers={"Cache-Control": "no-store"}
    )


def phone_of(text: str) -> str:
    found = text if text == phones.TEST_NUMBER else phones.read(text)
    if found is None:
        raise HTTPException(400, f"{text!r} is not a Tanzanian mobile number such as +255754123456.")
    return found


async def read(request: Request) -> bytes:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MOST_BODY_BYTES:
            raise HTTPException(413, "The body is too large.")
    return body


async def read_object(request: Request) -> dict[str, Any]:
    try:
        return msgspec.json.decode(await read(request), type=dict[str, Any])
    except msgspec.MsgspecError:
        raise HTTPException(400, "The body must be a JSON object.") from None


def _limit(request: Request, *, default: int, most: int) -> int:
    text = request.query_params.get("limit", str(default))
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text) <= most:
        raise HTTPException(400, f"limit must be a number from 1 to {most}.")
    return int(text)


async def get_credentials(simulator: Simulator, request: Request) -> Response:
    return answer({name: gateway.credentials() for name, gateway in simulator.gateways.items()})


async def get_callbacks(simulator: Simulator, request: Request) -> Response:
    urls = simulator.network.memory.callback_urls
    return answer({name: urls.get(name) for name in simulator.gateways})


async def put_callbacks(simulator: Simulator, request: Request) -> Response:
    urls, problems = dict(simulator.network.memory.callback_urls), []
    for name, url in (await read_object(request)).items():
        if name not in simulator.gateways:
            problems.append(f"{name}: not a channel")
        elif url is None:
            urls.pop(GatewayName(name), None)
        elif _is_url(url):
            urls[GatewayName(name)] = url
        else:
            problems.append(f"{name}: must be an http or https address, or null")
    if problems:
        raise HTTPException(400, "; ".join(problems))
    simulator.network.register(urls)
    return await get_callbacks(simulator, request)


def _is_url(url: object) -> bool:
    if not isinstance(url, str) or len(url) > _MOST_URL:
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


async def get_prompts(simulator: Simulator, request: Request) -> Response:
    """Newest first; those of one phone, or of all."""
    limit = _limit(request, default=_MOST_PROMPTS, most=_MOST_PROMPTS)
    asked = request.query_params.get("phone")
    memory = simulator.network.memory
    found: list[dict[str, Any]] = []
    if asked is None:
        newest = reversed(memory.by_id.values())
    else:
        subscriber = memory.subscribers.get(phone_of(asked))
        newest = reversed(subscriber.transactions if subscriber else ())
    for transaction in newest:
        if transaction.prompt is not None:
            found.append(show_prompt(transaction))
        if len(found) == limit:
            break
    return answer(found)


async def answer_prompt(simulator: Simulator, request: Request) -> Response:
    body = await read_object(request)
    action, pin = body.get("action"), body.get("pin")
    if action not in ("approve", "decline"):
        raise HTTPException(400, 'action must be "approve" or "decline".')
    if pin is not None and not is_pin(pin):
        raise HTTPException(400, "pin must be four digits.")
    transaction = prompt_of(simulator, request.path_params["id"])
    try:
        simulator.network.answer(transaction, is_approved=action == "approve")
    except AlreadyAnswered:
        raise HTTPException(409, f"The prompt is already {transaction.prompt}.") from None
    return answer(show_prompt(transaction))


def is_pin(text: object) -> bool:
    return isinstance(text, str) and len(text) == 4 and text.isascii() and text.isdecimal()


def prompt_of(simulator: Simulator, id_: str) -> Transaction:
    transaction = simulator.network.memory.by_id.get(id_)
    if transaction is None or transaction.prompt is None:
        raise HTTPException(404, "There is no such prompt.")
    return transaction


async def get_phone(simulator: Simulator, request: Request) -> Response:
    phone = phone_of(request.path_params["phone"])
    memory = simulator.network.memory
    subscriber = memory.subscribers.get(phone)
    movements = [show_movement(each) for each in subscriber.movements] if subscriber else []
    return answer({"phone": phone, "balance": memory.balance_of(phone), "movements": movements})


async def get_book(simulator: Simulator, request: Request) -> Response:
    channel = request.query_params.get("channel")
    book = simulator.network.memory.book
    movements = [each for each in book if channel is None or each.channel == channel]
    total = {kind: sum(each.amount for each in movements if each.kind == kind) for kind in ("charged", "paid")}
    return answer({"movements": [{"phone": each.phone, **show_movement(each)} for each in movements], **total})


async def get_transaction(simulator: Simulator, request: Request) -> Response:
    channel, reference = request.path_params["channel"], request.path_params["reference"]
    for name in simulator.gateways:
        found = simulator.network.find(name, reference)
        if found and channel in (found.gateway, found.channel):
            return answer(show_transaction(found))
    raise HTTPException(404, "There is no such transaction.")


async def get_seen(simulator: Simulator, request: Request) -> Response:
    limit = _limit(request, default=100, most=MOST_ENTRIES)
    entries = simulator.seen.newest(gateway=request.query_params.get("channel", ""), phone=_asked_phone(request))
    return answer([show_entry(entry) for entry, _ in zip(entries, range(limit), strict=False)])


def _asked_phone(request: Request) -> str:
    text = request.query_params.get("phone", "")
    return phone_of(text) if text else ""


async def reset(simulator: Simulator, request: Request) -> Response:
    simulator.forget()
    return answer({})


async def get_control(simulator: Simulator, request: Request) -> Response:
    return answer(simulator.network.control.shown())


async def change_control(simulator: Simulator, request: Request) -> Response:
    try:
        simulator.network.change_control(await read_object(request))
    except BadSwitches as error:
        raise HTTPException(400, str(error)) from None
    return await get_control(simulator, request)


ROUTES: tuple[tuple[str, str, Handler], ...] = (
    ("GET", "/api/credentials", get_credentials),
    ("GET", "/api/callbacks", get_callbacks),
    ("PUT", "/api/callbacks", put_callbacks),
    ("GET", "/api/prompts", get_prompts),
    ("POST", "/api/prompts/{id}", answer_prompt),
    ("GET", "/api/phones/{phone}", get_phone),
    ("GET", "/api/book", get_book),
    ("GET", "/api/transactions/{channel}/{reference}", get_transaction),
    ("GET", "/api/seen", get_seen),
    ("POST", "/api/reset", reset),
    ("GET", "/api/control", get_control),
    ("PATCH", "/api/control", change_control),
)
