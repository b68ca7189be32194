"""Receives a form with a file in it: the file goes to disk as it comes, and the token is checked before it begins."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from malipo.dashboard import csrf
from malipo.dashboard.file_upload import BrokenForm, Part, parts_of
from malipo.dashboard.forms import Form
from malipo.dashboard.operator.reconciliation.pending_uploads import KeptFiles
from malipo.dashboard.operator.request import OperatorRequest
from malipo.errors import Invalid

# The protocol takes no body above 8 MiB (`api/http/protocol.py`), and waits 30 seconds for it.
MOST_MEGABYTES = 7
_MOST_FILE_BYTES = MOST_MEGABYTES * 1024 * 1024
_MOST_BYTES = _MOST_FILE_BYTES + 64 * 1024
_MOST_FIELD_BYTES = 4096

SENTENCES = {
    "too_large": "The file is larger than 7 MB. Import it at the command line: malipo statements import.",
}


class StatementFileTooLarge(Invalid):
    def __init__(self) -> None:
        super().__init__(SENTENCES["too_large"])


@dataclass
class ReceivedFile:
    upload: str | None = None  # None: there was no file in it
    filename: str = ""
    size: int = 0
    pairs: list[tuple[str, bytes]] = field(default_factory=list)
    _file: BinaryIO | None = None
    _is_in_file: bool = False

    @property
    def form(self) -> Form:
        try:
            return Form([(name, value.decode()) for name, value in self.pairs])
        except UnicodeDecodeError:
            raise BrokenForm from None


async def receive(request: OperatorRequest, files: KeptFiles[Any]) -> ReceivedFile:
    """The form that was sent, with its file. If it is refused, nothing stays on disk."""
    received = ReceivedFile()
    try:
        async for piece in parts_of(request.http, most_bytes=_MOST_BYTES, too_large=StatementFileTooLarge()):
            if isinstance(piece, bytes):
                await _add(received, piece)
            else:
                await _begin(request, files, received, piece)
        _check_token(request, received)
    except BaseException:
        await _close(received)
        if received.upload is not None:
            files.forget(received.upload)
        raise
    await _close(received)
    return received


async def _begin(request: OperatorRequest, files: KeptFiles[Any], received: ReceivedFile, part: Part) -> None:
    received._is_in_file = part.filename is not None
    if part.filename is None:
        received.pairs.append((part.name, b""))
        return
    if part.name != "file" or received.upload is not None:
        raise BrokenForm
    _check_token(request, received)
    received.filename = part.filename
    received.upload, received._file = await asyncio.to_thread(files.begin, request.parts.clock())


def _check_token(request: OperatorRequest, received: ReceivedFile) -> None:
    csrf.check_token(request.parts.accounts.cookies, request.session_id, received.form.text("token"))


async def _add(received: ReceivedFile, piece: bytes) -> None:
    if received._is_in_file and received._file is not None:
        await asyncio.to_thread(received._file.write, piece)
        received.size += len(piece)
        if received.size > _MOST_FILE_BYTES:
            raise StatementFileTooLarge
        return
    name, value = received.pairs[-1]
    received.pairs[-1] = (name, value + piece)
    if len(received.pairs[-1][1]) > _MOST_FIELD_BYTES:
        raise BrokenForm


async def _close(received: ReceivedFile) -> None:
    if received._file is not None:
        await asyncio.to_thread(received._file.close)
