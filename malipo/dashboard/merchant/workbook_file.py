"""A workbook as an answer: it is written first, one at a time in each process, and then sent."""

from collections.abc import Awaitable, Callable, Iterator
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO

from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse

from malipo.dashboard.merchant.request import MerchantRequest

_CHUNK = 64 * 1024
_LONGEST_WAIT = 60.0  # seconds, for the workbook before
_XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


async def answer(
    request: MerchantRequest, headers: dict[str, str], write: Callable[[IO[bytes], str], Awaitable[None]]
) -> Response:
    """`write` gets the file, and a folder for what it needs meanwhile."""
    file: IO[bytes] = TemporaryFile()  # noqa: SIM115  # Nobody else finds it, and it is gone when nobody has it open.
    async with request.parts.workbook_turns.taken(seconds=_LONGEST_WAIT):
        with TemporaryDirectory(prefix="malipo-") as folder:
            await write(file, folder)
    length = {"Content-Length": str(file.tell())}
    file.seek(0)
    return StreamingResponse(_chunks(file), media_type=_XLSX, headers=headers | length)


async def check_connected(request: MerchantRequest) -> None:
    """Stop writing the file if the client has disconnected."""
    if await request.http.is_disconnected():
        raise ClientDisconnect


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while chunk := file.read(_CHUNK):
            yield chunk
