"""Forms with a file in them (multipart/form-data), as browsers send them; anything else is refused.

A small file is received into memory, a large one in chunks. The form's token is checked before the file begins.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from email.message import Message

from starlette.requests import Request

from malipo.dashboard import csrf
from malipo.dashboard.browser_request import BrowserRequest
from malipo.dashboard.forms import Form
from malipo.errors import Invalid

_MOST_FIELD_BYTES = 4096
_MOST_OTHER_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Upload:
    form: Form
    filename: str  # empty if no file was chosen
    content: bytes


async def receive_upload(request: BrowserRequest, *, most_file_bytes: int, too_large: Invalid) -> Upload:
    """`too_large` is raised if the file is."""
    if not request.http.headers.get("content-type", "").startswith("multipart/"):
        return Upload(await request.form(), "", b"")  # Without a file a form may come like any other.
    pairs: list[tuple[str, bytearray]] = []
    filename, content, target = "", bytearray(), bytearray()
    has_file = False
    most = most_file_bytes + _MOST_OTHER_BYTES
    async for piece in parts_of(request.http, most_bytes=most, too_large=too_large):
        if isinstance(piece, Part):
            if piece.filename is None:
                target = bytearray()
                pairs.append((piece.name, target))
                continue
            if has_file or piece.name != "file":
                raise BrokenForm
            _check_token(request, _form(pairs))
            has_file, filename, target = True, piece.filename, content
            continue
        target += piece
        if target is content and len(content) > most_file_bytes:
            raise too_large
        if target is not content and len(target) > _MOST_FIELD_BYTES:
            raise BrokenForm
    form = _form(pairs)
    _check_token(request, form)
    return Upload(form, filename, bytes(content))


def _form(pairs: list[tuple[str, bytearray]]) -> Form:
    try:
        return Form([(name, value.decode()) for name, value in pairs])
    except UnicodeDecodeError:
        raise BrokenForm from None


def _check_token(request: BrowserRequest, form: Form) -> None:
    csrf.check_token(request.parts.accounts.cookies, request.session_id, form.text("token"))


_MOST_HEADER_BYTES = 4096
_MOST_PARTS = 20
_END_OF_HEADERS = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Part:
    """A field begins. Its bytes follow."""

    name: str
    filename: str | None


class BrokenForm(Invalid):
    code = "bad_request"

    def __init__(self) -> None:
        super().__init__("The form cannot be read.")


async def parts_of(request: Request, *, most_bytes: int, too_large: Invalid) -> AsyncIterator[Part | bytes]:
    """Each part, then its bytes in chunks. `too_large` is raised if more comes than is taken, or is announced."""
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > most_bytes:
        raise too_large
    reader = _UploadReader(_boundary_in(request))
    received = 0
    async for chunk in request.stream():
        received += len(chunk)
        if received > most_bytes:
            raise too_large
        for piece in reader.feed(chunk):
            yield piece
    if not reader.is_at_end:
        raise BrokenForm


def _boundary_in(request: Request) -> bytes:
    head = Message()
    head["content-type"] = request.headers.get("content-type", "")
    boundary = head.get_param("boundary")
    if head.get_content_type() != "multipart/form-data" or not isinstance(boundary, str) or not 0 < len(boundary) <= 70:
        raise BrokenForm
    return boundary.encode("ascii", "replace")


class _UploadReader:
    def __init__(self, boundary: bytes) -> None:
        self._delimiter = b"\r\n--" + boundary
        self._held = bytearray(b"\r\n")  # The first boundary has no line before it.
        self._is_in_body = True  # preamble, ignored
        self._parts = 0
        self.is_at_end = False

    def feed(self, chunk: bytes) -> list[Part | bytes]:
        self._held += chunk
        pieces: list[Part | bytes] = []
        while not self.is_at_end and (self._read_body(pieces) if self._is_in_body else self._read_headers(pieces)):
            pass
        if self.is_at_end:
            self._held.clear()  # What stands behind the last boundary.
        return pieces

    def _read_body(self, pieces: list[Part | bytes]) -> bool:
        """Up to the next boundary, or as far as no boundary can have begun. Whether there is more to read."""
        found = self._held.find(self._delimiter)
        end = found if found >= 0 else len(self._held) - len(self._delimiter) + 1
        if self._parts and end > 0:
            pieces.append(bytes(self._held[:end]))
        del self._held[: max(end, 0)]
        if found < 0 or len(self._held) < len(self._delimiter) + 2:
            return False
        after = bytes(self._held[len(self._delimiter) : len(self._delimiter) + 2])
        if after not in (b"\r\n", b"--"):
            raise BrokenForm
        del self._held[: len(self._delimiter)]
        self._is_in_body, self.is_at_end = False, after == b"--"
        return True

    def _read_headers(self, pieces: list[Part | bytes]) -> bool:
        end = self._held.find(_END_OF_HEADERS)
        if end < 0:
            if len(self._held) > _MOST_HEADER_BYTES:
                raise BrokenForm
            return False
        pieces.append(_part(bytes(self._held[:end])))
        del self._held[: end + len(_END_OF_HEADERS)]
        self._parts += 1
        if self._parts > _MOST_PARTS:
            raise BrokenForm
        self._is_in_body = True
        return True


def _part(headers: bytes) -> Part:
    head = Message()
    try:
        lines = headers.decode().split("\r\n")
    except UnicodeDecodeError:
        raise BrokenForm from None
    for line in lines:
        header, _, value = line.partition(":")
        if header.strip().lower() == "content-disposition":
            head["content-disposition"] = value.strip()
    name, filename = (head.get_param(each, header="content-disposition") for each in ("name", "filename"))
    if not isinstance(name, str):
        raise BrokenForm
    return Part(name, filename if isinstance(filename, str) else None)
