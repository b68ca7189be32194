"""URLs: ids in paths and queries, and the base URL as the browser sees it."""

import re

from malipo.dashboard.browser_request import BrowserRequest
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.errors import Missing
from malipo.http.client_address import is_secure

_ID = re.compile(r"[A-Za-z0-9_-]{1,80}")  # `opc_` and a hash have 68

_NUMBER = re.compile(r"[1-9][0-9]{0,6}")


def id_in(request: BrowserRequest, name: str = "id") -> str:
    """The id in the path. What cannot be one need not be looked for."""
    id_: str = request.http.path_params[name]
    if not _ID.fullmatch(id_):
        raise Missing("There is nothing with this id.")
    return id_


def key_in(request: BrowserRequest) -> str | None:
    """The id that a page of a list begins after; what cannot be one is as good as none."""
    before = request.http.query_params.get("before", "")
    return before if _ID.fullmatch(before) else None


def number_in(request: BrowserRequest, name: str, default: int) -> int:
    """A number in the query, such as that of a page. Text that is no number counts as missing."""
    text = request.http.query_params.get(name, "")
    return int(text) if _NUMBER.fullmatch(text) else default


def base_url(request: MerchantRequest) -> str:
    """The base URL of the service, as this browser sees it."""
    scheme = "https" if is_secure(request.http, request.parts.settings.trusted_proxies) else "http"
    return f"{scheme}://{request.http.headers.get('host', '')}"
