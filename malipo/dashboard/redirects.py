"""Redirects: only to pages of the same site (no open redirect), and to the log-in with the way back."""

from http import HTTPStatus
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response


def inside(root: str, path: str | None) -> str:
    """The path, if it is below the root of this site; else the root."""
    if path is None or not path.isprintable() or "\\" in path:
        return root
    is_ours = path == root or path.startswith((f"{root}/", f"{root}?"))
    return path if is_ours and "//" not in path.partition("?")[0] else root


def to_log_in(root: str, request: Request) -> Response:
    """A form cannot be sent again by a link; after one that was sent too late the user begins at the first page."""
    query = f"?{request.url.query}" if request.url.query else ""
    back = "" if request.method == "POST" else f"?next={quote(request.url.path + query)}"
    return RedirectResponse(f"{root}/login{back}", HTTPStatus.SEE_OTHER)
