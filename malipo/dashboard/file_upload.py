"""Receives a form with a small file in it, into memory. The token is checked before the file begins."""

from dataclasses import dataclass

from malipo.dashboard import csrf
from malipo.dashboard.browser_request import BrowserRequest
from malipo.dashboard.forms import Form
from malipo.dashboard.multipart import BrokenForm, Part, parts_of
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
    csrf.check_token(request.service.cookies, request.session_id, form.text("token"))
