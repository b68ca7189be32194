"""URLs: which thing a request is about."""

import re

from starlette.requests import Request

from malipo.errors import Missing
from malipo.settings import Settings


def id_in(request: Request, missing: type[Missing], name: str = "id") -> str:
    """The id in the path. What the database cannot hold need not be looked for."""
    id_: str = request.path_params[name]
    if "\0" in id_:
        raise missing
    return id_


# What may stand in a Host header that we repeat.
_HOST = re.compile(r"[A-Za-z0-9.\-]{1,253}(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:[0-9]{1,5})?")
_PORT = re.compile(r":[0-9]{1,5}$")


def base_url(settings: Settings, request: Request) -> str:
    """The service's base URL as the reader sees it, for examples to paste and requests to send. Only the reader sees
    it, so the Host header is trusted."""
    is_secure = "https" in (request.headers.get("x-forwarded-proto"), request.url.scheme)
    return f"{'https' if is_secure else 'http'}://{_host(settings, request)}"


def simulator_url(settings: Settings, request: Request) -> str:
    """Where the reader finds the simulated phones: on the same host. The simulator speaks HTTP without TLS."""
    host = _PORT.sub("", _host(settings, request))
    return f"http://{host}:{settings.simulator_port}"


def _host(settings: Settings, request: Request) -> str:
    host = request.headers.get("host", "")
    return host if _HOST.fullmatch(host) else f"{settings.host}:{settings.port}"
