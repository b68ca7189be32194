"""The bank's routes: hand in a file, fetch a statement, change its faults."""

from collections.abc import Awaitable, Callable
from datetime import date, datetime
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from malipo_simulator.bank.bank import BadBankSwitch
from malipo_simulator.bank.statement_formats import FORMATS
from malipo_simulator.simulator import Simulator
from malipo_simulator.statements.account import ZONE

Handler = Callable[[Simulator, Request], Awaitable[Response]]

_MOST_FILE_BYTES = 8 * 1024 * 1024


def _answer(body: Any) -> Response:
    return Response(msgspec.json.encode(body), media_type="application/json", headers={"Cache-Control": "no-store"})


def _day(simulator: Simulator, request: Request, name: str, default: date | None = None) -> date:
    text = request.query_params.get(name)
    if text is None:
        return default or datetime.fromtimestamp(simulator.network.now(), ZONE).date()
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise HTTPException(400, f"{name} must be a day such as 2026-11-19.") from None


async def _body(request: Request) -> bytes:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MOST_FILE_BYTES:
            raise HTTPException(413, "The body is too large.")
    return body


async def _object(request: Request) -> dict[str, Any]:
    try:
        return msgspec.json.decode(await _body(request), type=dict[str, Any])
    except msgspec.MsgspecError:
        raise HTTPException(400, "The body must be a JSON object.") from None


async def take_file(simulator: Simulator, request: Request) -> Response:
    return _answer(simulator.bank.take(await _body(request), _day(simulator, request, "day")))


async def get_book(simulator: Simulator, request: Request) -> Response:
    bank = simulator.bank
    return _answer({"account": bank.account, "bic": bank.bic, "entries": bank.entries, "files": bank.files})


async def get_statement(simulator: Simulator, request: Request) -> Response:
    first = _day(simulator, request, "from")
    last = _day(simulator, request, "to", first)
    name = request.query_params.get("format", "camt053")
    if name not in FORMATS:
        raise HTTPException(400, f"format must be one of {', '.join(FORMATS)}.")
    if first > last:
        raise HTTPException(400, "from must not be after to.")
    kind, write = FORMATS[name]
    return Response(write(simulator.bank, first, last), media_type=kind, headers={"Cache-Control": "no-store"})


async def deposit(simulator: Simulator, request: Request) -> Response:
    body = await _object(request)
    amount, reference = body.get("amount"), body.get("reference")
    if not isinstance(amount, int) or amount == 0 or not isinstance(reference, str) or not reference:
        raise HTTPException(400, "amount must be a whole number, and reference a text.")
    return _answer(
        simulator.bank.deposit(amount * 100, _day(simulator, request, "day"), reference, str(body.get("text", "")))
    )


async def get_switches(simulator: Simulator, request: Request) -> Response:
    return _answer(simulator.bank.switches)


async def change_switches(simulator: Simulator, request: Request) -> Response:
    try:
        simulator.bank.change(await _object(request))
    except BadBankSwitch as error:
        raise HTTPException(400, str(error)) from None
    return _answer(simulator.bank.switches)


ROUTES: tuple[tuple[str, str, Handler], ...] = (
    ("POST", "/api/bank/files", take_file),
    ("GET", "/api/bank/statement", get_statement),
    ("GET", "/api/bank/book", get_book),
    ("POST", "/api/bank/deposits", deposit),
    ("GET", "/api/bank/control", get_switches),
    ("PATCH", "/api/bank/control", change_switches),
)
