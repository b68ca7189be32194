"""What an address of ours says: which thing a page is about, and under which name the browser knows us."""

import re

from malipo.dashboard.visit import Visit
from malipo.errors import Missing
from malipo.origin import is_secure

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def id_in(visit: Visit, name: str = "id") -> str:
    """The id in the path. What cannot be one need not be looked for."""
    id_: str = visit.request.path_params[name]
    if not _ID.fullmatch(id_):
        raise Missing("There is nothing with this id.")
    return id_


def key_in(visit: Visit) -> str | None:
    """The id that a page of a list begins after; what cannot be one is as good as none."""
    before = visit.request.query_params.get("before", "")
    return before if _ID.fullmatch(before) else None


def base_url(visit: Visit) -> str:
    """Where we are, as this person's browser has found us."""
    scheme = "https" if is_secure(visit.request, visit.service.settings.trusted_proxies) else "http"
    return f"{scheme}://{visit.request.headers.get('host', '')}"
