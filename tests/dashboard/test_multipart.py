"""A form with a file is read the same in whatever chunks it comes; what is broken is refused."""

from collections.abc import AsyncIterator

import pytest
from starlette.requests import Request
from starlette.types import Message

from malipo.dashboard.file_upload import BrokenForm, Part, parts_of
from malipo.errors import Invalid

BOUNDARY = "xYz"
# With what looks like a boundary in it, and a line's end as its last bytes.
CONTENT = b"a,b\r\n--xY\r\n--xYq\r\n-\r\n\r\n"
FORM = (
    b'--xYz\r\nContent-Disposition: form-data; name="token"\r\n\r\nt0k\r\n'
    b'--xYz\r\nContent-Disposition: form-data; name="account"\r\n\r\n\r\n'
    b'--xYz\r\nContent-Disposition: form-data; name="file"; filename="tari\xcc\x81fa.csv"\r\nContent-Type: text/csv\r\n\r\n'
    + CONTENT
    + b"\r\n--xYz--\r\n"
)


def request_of(body: bytes, size: int, *, kind: str = f"multipart/form-data; boundary={BOUNDARY}") -> Request:
    chunks = [body[at : at + size] for at in range(0, len(body), size)] or [b""]

    async def receive() -> Message:
        chunk = chunks.pop(0)
        return {"type": "http.request", "body": chunk, "more_body": bool(chunks)}

    head = [(b"content-type", kind.encode())]
    return Request({"type": "http", "method": "POST", "path": "/", "headers": head, "query_string": b""}, receive)


async def read(request: Request, most_bytes: int = 10_000) -> dict[tuple[str, str | None], bytes]:
    found: dict[tuple[str, str | None], bytes] = {}
    pieces: AsyncIterator[Part | bytes] = parts_of(request, most_bytes=most_bytes, too_large=Invalid("too large"))
    async for piece in pieces:
        if isinstance(piece, Part):
            last = (piece.name, piece.filename)
            found[last] = b""
        else:
            found[last] += piece
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 64, 10_000])
async def test_it_is_read_the_same_in_whatever_chunks_it_comes(size: int) -> None:
    assert await read(request_of(FORM, size)) == {
        ("token", None): b"t0k",
        ("account", None): b"",
        ("file", "tari\u0301fa.csv"): CONTENT,
    }


@pytest.mark.parametrize(
    "body",
    [
        b"",
        FORM[:-8],
        FORM[:60],
        FORM.replace(b"--xYz\r\n", b"--xYz!!", 1),
        FORM.replace(b'name="token"', b"", 1),
        FORM.replace(b'name="token"', b'name="token\xff"', 1),
        b"--xYz\r\n" + b"X-More: " + b"x" * 5000,
        b'--xYz\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n' * 30 + b"--xYz--",
    ],
    ids=["nothing", "no end", "no body", "no line's end", "no name", "no text", "a long head", "many parts"],
)
async def test_what_is_broken_is_refused(body: bytes) -> None:
    with pytest.raises(BrokenForm):
        await read(request_of(body, 64))


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data", f"multipart/form-data; boundary={'x' * 71}", ""])
async def test_only_a_form_with_a_boundary_is_read(kind: str) -> None:
    with pytest.raises(BrokenForm):
        await read(request_of(FORM, 64, kind=kind))


async def test_no_more_is_read_than_is_taken() -> None:
    with pytest.raises(Invalid, match="too large"):
        await read(request_of(FORM, 16), most_bytes=len(FORM) - 1)
    assert len(await read(request_of(FORM, 16), most_bytes=len(FORM))) == 3
