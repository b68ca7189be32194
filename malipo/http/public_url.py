"""The service's own address, as others see it: in payment links, in examples to paste."""

import re

from starlette.requests import Request

from malipo.settings import Settings

# The characters of a Host header that we may repeat.
_HOST = re.compile(r"[A-Za-z0-9.\-]{1,253}(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:[0-9]{1,5})?")


def public_url(settings: Settings, request: Request) -> str:
    """The address where customers find the service: the operators' setting, or else the address of this request."""
    return settings.public_url or base_url(settings, request)


def base_url(settings: Settings, request: Request) -> str:
    """The service's base URL as the reader sees it, for examples to paste and requests to send. Only the reader sees
    it, so the Host header is trusted."""
    is_secure = "https" in (request.headers.get("x-forwarded-proto"), request.url.scheme)
    return f"{'https' if is_secure else 'http'}://{host_of(settings, request)}"


def host_of(settings: Settings, request: Request) -> str:
    host = request.headers.get("host", "")
    return host if _HOST.fullmatch(host) else f"{settings.host}:{settings.port}"
