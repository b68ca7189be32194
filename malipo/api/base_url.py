"""Where the reader has found the service, for examples that can be pasted and requests that can be sent."""

import re

from starlette.requests import Request

from malipo.service import Service

# What may stand in a Host header that we repeat.
_HOST = re.compile(r"[A-Za-z0-9.\-]{1,253}(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:[0-9]{1,5})?")
_PORT = re.compile(r":[0-9]{1,5}$")


def base_url(service: Service, request: Request) -> str:
    """The base URL as the reader sees it. Only they see it, so it is trusted."""
    is_secure = "https" in (request.headers.get("x-forwarded-proto"), request.url.scheme)
    return f"{'https' if is_secure else 'http'}://{_host(service, request)}"


def simulator_url(service: Service, request: Request) -> str:
    """Where the reader finds the simulated phones: on the same host. The simulator speaks HTTP without TLS."""
    host = _PORT.sub("", _host(service, request))
    return f"http://{host}:{service.settings.simulator_port}"


def _host(service: Service, request: Request) -> str:
    host = request.headers.get("host", "")
    return host if _HOST.fullmatch(host) else f"{service.settings.host}:{service.settings.port}"
