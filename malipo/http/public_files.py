"""Files and pages that are the same for everybody: compressed if the client accepts it, cached by a fingerprint.

They contain no secret and nothing of the reader, so that their length reveals nothing. Answers for one reader are
compressed by other rules: see docs/decisions/0053.

A page names a file with its fingerprint (`site.css?v=…`), so that a browser keeps it for ever and never asks for it
again. While the service is upgraded, a process of another version may be asked for it: it serves its own content, which
clients must ask for again each time. A client that has the same content already gets a 304 (`If-None-Match`). There is
no build step: files are put together, fingerprinted and compressed when they are first asked for.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from starlette.requests import Request
from starlette.responses import Response

from malipo.http.compression import ENCODING, packed, takes_gzip

ASK_FIRST = "no-cache"  # It is kept, and asked each time whether it is still the same.
_FOR_EVER = "public, max-age=31536000, immutable"
_FOR_A_WHILE = "max-age=300"
_MEDIA_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_REFERENCE = re.compile(rb'(?P<before>"\./|url\(")(?P<name>[a-z_]+\.(?:js|svg))(?=")')


@dataclass(frozen=True, slots=True)
class PublicFile:
    content: bytes
    packed: bytes
    fingerprint: str
    media_type: str

    @classmethod
    def of(cls, content: bytes, media_type: str) -> "PublicFile":
        return cls(content, packed(content, is_kept=True), hashlib.sha256(content).hexdigest()[:12], media_type)


def answer(
    request: Request, file: PublicFile, headers: Mapping[str, str], *, cache_control: str = ASK_FIRST, status: int = 200
) -> Response:
    tag = f'"{file.fingerprint}"'
    all_headers = {**headers, "Cache-Control": cache_control, "Vary": "Accept-Encoding", "ETag": f"W/{tag}"}
    their_tags = [each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")]
    if status == 200 and tag in their_tags:
        return Response(status_code=304, headers=all_headers)
    is_packed = takes_gzip(request.headers.get("accept-encoding", "")) and len(file.packed) < len(file.content)
    if is_packed:
        all_headers["Content-Encoding"] = ENCODING
    return Response(file.packed if is_packed else file.content, status, all_headers, file.media_type)


def answer_by_name(request: Request, file: PublicFile, headers: Mapping[str, str]) -> Response:
    """The name in the request decides how long clients keep it: with its fingerprint, without one, or with another."""
    version = request.query_params.get("v")
    cache_control = _FOR_A_WHILE if version is None else _FOR_EVER if version == file.fingerprint else ASK_FIRST
    return answer(request, file, headers, cache_control=cache_control)


class StaticFolder:
    """The styles, scripts and pictures of a site. `bundles` are files put together: one request for all of them."""

    def __init__(self, package: str, path: str, bundles: Mapping[str, tuple[str, ...]]) -> None:
        self._folder = resources.files(package).joinpath("static")
        self._path = path
        self._bundles = bundles
        self._made: dict[str, PublicFile] = {}
        self.names = frozenset(each.name for each in self._folder.iterdir()) | bundles.keys()

    def url(self, name: str) -> str:
        """Where a page finds it."""
        found = self.find(name)
        assert found is not None, name
        return f"{self._path}/{name}?v={found.fingerprint}"

    def find(self, name: str) -> PublicFile | None:
        """The file with this name. Unknown names are not cached, because clients choose them."""
        media_type = next((type_ for ending, type_ in _MEDIA_TYPES.items() if name.endswith(ending)), None)
        if media_type is None or name not in self.names:
            return None
        if name not in self._made:
            self._made[name] = self._make(name, media_type)
        return self._made[name]

    def _make(self, name: str, media_type: str) -> PublicFile:
        sources = [self._folder.joinpath(each).read_bytes() for each in self._bundles.get(name, (name,))]
        return PublicFile.of(_REFERENCE.sub(self._with_fingerprint, b"\n".join(sources)), media_type)

    def _with_fingerprint(self, found: re.Match[bytes]) -> bytes:
        """Replace the names of other files in a file, such as imported scripts and pictures of a style, by their
        addresses."""
        name = found["name"].decode()
        other = self.find(name)
        assert other is not None, name
        return found["before"] + f"{name}?v={other.fingerprint}".encode()
