"""/metrics: for Prometheus on this machine, or with the token."""

import hmac

from starlette.requests import Request
from starlette.responses import Response

from malipo.api.parts import ApiParts
from malipo.errors import Forbidden
from malipo.http.client_address import is_of_this_machine
from malipo.metrics.process_metrics import Metrics
from malipo.settings import Settings


async def expose(parts: ApiParts, request: Request) -> Response:
    return exposition(parts.metrics, parts.settings, request)


def exposition(metrics: Metrics, settings: Settings, request: Request) -> Response:
    if not may_read(settings, request):
        raise Forbidden("Metrics are for this machine, or for whoever has the token.", code="metrics_forbidden")
    return Response(metrics.exposition(), media_type="text/plain; version=0.0.4; charset=utf-8")


def may_read(settings: Settings, request: Request) -> bool:
    """Whether it comes from this machine, or has the token. `/readyz` asks too, before it repeats operators."""
    is_local = is_of_this_machine(request, settings.trusted_proxies)
    return is_local or _has_token(request, settings.metrics_token)


def _has_token(request: Request, token: str | None) -> bool:
    sent = request.headers.get("authorization", "")
    return token is not None and hmac.compare_digest(sent.encode(), f"Bearer {token}".encode())
