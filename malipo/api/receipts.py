"""/v1/payments/:id/receipt, and the public files of the receipt log at /log."""

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from malipo.api.parts import ApiParts
from malipo.api.payments import name_in
from malipo.api.responses import success
from malipo.http.public_url import public_url
from malipo.merchants.check_api_key import Caller
from malipo.receipts import public_files
from malipo.receipts.find_receipt import find_receipt
from malipo.receipts.receipt_json import receipt_view

_FOR_EVER = "public, max-age=31536000, immutable"
_SHORTLY = "public, max-age=10"


async def retrieve(parts: ApiParts, caller: Caller, request: Request) -> Response:
    name = name_in(request)
    receipt = await parts.queries.read_snapshot(lambda connection: find_receipt(connection, caller.merchant_id, name))
    url = f"{public_url(parts.settings, request)}/receipt/{receipt.token}"
    return success({"receipt": receipt_view(receipt, url=url)})


async def keys(parts: ApiParts, request: Request) -> Response:
    """Also of a private log: who holds a receipt of it needs them."""
    if parts.settings.receipt_log == "off":
        raise HTTPException(404)
    found = await parts.log_reads.read(public_files.find_keys)
    return Response(msgspec.json.encode(found), media_type="application/json", headers={"Cache-Control": _SHORTLY})


async def checkpoint(parts: ApiParts, request: Request) -> Response:
    number = _number_in(parts, request)
    note = await parts.log_reads.read(lambda connection: public_files.find_checkpoint(connection, number))
    if note is None:
        raise HTTPException(404)
    return Response(note, media_type="text/plain", headers={"Cache-Control": _SHORTLY})


async def tile(parts: ApiParts, request: Request) -> Response:
    number, path = _number_in(parts, request), request.path_params["path"]
    found = await parts.log_reads.read_snapshot(lambda connection: public_files.find_tile(connection, number, path))
    if found is None:
        raise HTTPException(404)
    # Without a number the path is that of another log after a restore.
    cache_control = _SHORTLY if number is None else _FOR_EVER
    return Response(found, media_type="application/octet-stream", headers={"Cache-Control": cache_control})


def _number_in(parts: ApiParts, request: Request) -> int | None:
    """The number in the log that the request asks for. None: the latest that has a checkpoint."""
    number: str | None = request.path_params.get("number")
    if parts.settings.receipt_log != "public" or (number is not None and not (number.isascii() and number.isdigit())):
        raise HTTPException(404)
    if number is not None and len(number) > 18:
        raise HTTPException(404)
    return None if number is None else int(number)
