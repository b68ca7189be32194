"""Static files: styles, scripts and pictures of both sites."""

from functools import cache
from importlib import resources

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from malipo.dashboard.security_headers import SECURITY_HEADERS

_MEDIA_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


async def serve(request: Request) -> Response:
    name: str = request.path_params["name"]
    media_type = next((type_ for ending, type_ in _MEDIA_TYPES.items() if name.endswith(ending)), None)
    content = _content(name) if media_type is not None and "/" not in name else None
    if content is None:
        raise HTTPException(404)
    return Response(content, media_type=media_type, headers=SECURITY_HEADERS | {"Cache-Control": "max-age=300"})


@cache
def _content(name: str) -> bytes | None:
    found = resources.files("malipo.dashboard").joinpath("static", name)
    return found.read_bytes() if found.is_file() else None
