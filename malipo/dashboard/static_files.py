"""The static files of both sites: styles, scripts and pictures. How they are kept: `http/public_files.py`."""

from functools import cache

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from malipo.dashboard.security_headers import SECURITY_HEADERS
from malipo.http.public_files import StaticFolder, answer_by_name

PATH = "/dashboard/static"

# Files that every page needs are put into one style and one script: a phone far from us waits for each request.
_BUNDLES = {
    "site.css": ("theme.css", "style.css", "pages.css", "batches.css"),
    "site.js": ("copy.js", "submit_once.js", "start.js"),
}


@cache
def files() -> StaticFolder:
    return StaticFolder("malipo.dashboard", PATH, _BUNDLES)


def url(name: str) -> str:
    """Where a page finds it."""
    return files().url(name)


async def serve(request: Request) -> Response:
    found = files().find(request.path_params["name"])
    if found is None:
        raise HTTPException(404)
    return answer_by_name(request, found, SECURITY_HEADERS)
