"""The static files of both sites, as they are served: styles, scripts and pictures.

A page names each with a fingerprint of its content (`site.css?v=…`), so that a browser keeps it for ever and never asks
for it again. A process of another version may be asked for it, while the service is upgraded: it serves what it has, to
be kept by nobody. There is no build step: files are put together, fingerprinted and compressed when they are first
asked for (docs/decisions/0017 and 0053).
"""

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from malipo.dashboard.security_headers import SECURITY_HEADERS
from malipo.http.compression import ENCODING, packed, takes_gzip

PATH = "/dashboard/static"

# What every page needs is one request each: a phone far from us waits for each of them.
_BUNDLES = {
    "site.css": ("theme.css", "style.css", "pages.css", "batches.css"),
    "site.js": ("copy.js", "once.js", "start.js"),
}
_MEDIA_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_REFERENCE = re.compile(rb'(?P<before>"\./|url\(")(?P<name>[a-z]+\.(?:js|svg))(?=")')
_FOR_EVER = "public, max-age=31536000, immutable"
_FOR_A_WHILE = "max-age=300"  # without a fingerprint, as the documentation names them
_NOT_AT_ALL = "no-cache"


@dataclass(frozen=True, slots=True)
class StaticFile:
    content: bytes
    packed: bytes
    fingerprint: str
    media_type: str


def url(name: str) -> str:
    """Where a page finds it."""
    found = _find(name)
    assert found is not None, name
    return f"{PATH}/{name}?v={found.fingerprint}"


async def serve(request: Request) -> Response:
    found = _find(request.path_params["name"])
    if found is None:
        raise HTTPException(404)
    version = request.query_params.get("v")
    kept = _FOR_A_WHILE if version is None else _FOR_EVER if version == found.fingerprint else _NOT_AT_ALL
    headers = SECURITY_HEADERS | {"Cache-Control": kept, "Vary": "Accept-Encoding"}
    is_packed = takes_gzip(request.headers.get("accept-encoding", "")) and len(found.packed) < len(found.content)
    if is_packed:
        headers["Content-Encoding"] = ENCODING
    return Response(found.packed if is_packed else found.content, media_type=found.media_type, headers=headers)


def _find(name: str) -> StaticFile | None:
    """Nothing is kept of names that are none: whoever asks chooses them."""
    media_type = next((type_ for ending, type_ in _MEDIA_TYPES.items() if name.endswith(ending)), None)
    if media_type is None or name not in _names():
        return None
    return _made(name, media_type)


@cache
def _names() -> frozenset[str]:
    return frozenset(each.name for each in _folder().iterdir()) | _BUNDLES.keys()


@cache
def _made(name: str, media_type: str) -> StaticFile:
    sources = [_folder().joinpath(each).read_bytes() for each in _BUNDLES.get(name, (name,))]
    content = _REFERENCE.sub(_with_fingerprint, b"\n".join(sources))
    fingerprint = hashlib.sha256(content).hexdigest()[:12]
    return StaticFile(content, packed(content, is_kept=True), fingerprint, media_type)


def _with_fingerprint(found: re.Match[bytes]) -> bytes:
    """What one file says of another: a script that it imports, a picture of a style."""
    name = found["name"].decode()
    other = _find(name)
    assert other is not None, name
    return found["before"] + f"{name}?v={other.fingerprint}".encode()


def _folder() -> resources.abc.Traversable:
    return resources.files("malipo.dashboard").joinpath("static")
