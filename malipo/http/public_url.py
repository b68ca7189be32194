"""The service's own address, as others see it: in payment links, in examples to paste."""

import re

from starlette.requests import Request

from malipo.settings import Settings

# What may stand in a Host header that we repeat.
_HOST = re.compile(r"[A-Za-z0-9.\-]{1,253}(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:[0-9]{1,5})?")


def public_url(settings: Settings, request: Request) -> str:
    """Where customers find the service: what operators have set. Without that, where whoever asks has found it."""
    return settings.public_url or base_url(settings, request)


def base_url(settings: Settings, request: Request) -> str:
    """The service's base URL as the reader sees it, for examples to paste and requests to send. Only the reader sees
    it, so the Host header is trusted."""
    is_secure = "https" in (request.headers.get("x-forwarded-proto"), request.url.scheme)
    return f"{'https' if is_secure else 'http'}://{host_of(settings, request)}"


def host_of(settings: Settings, request: Request) -> str:
    host = request.headers.get("host", "")
    return host if _HOST.fullmatch(host) else f"{settings.host}:{settings.port}"
