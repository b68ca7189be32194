"""/metrics: for Prometheus on this machine, or with the token."""

import hmac

from starlette.requests import Request
from starlette.responses import Response

from malipo.client_address import address_of
from malipo.errors import Forbidden
from malipo.service import Service


async def expose(service: Service, request: Request) -> Response:
    if not (_is_local(service, request) or _has_token(request, service.settings.metrics_token)):
        raise Forbidden("Metrics are for this machine, or for whoever has the token.", code="metrics_forbidden")
    return Response(service.metrics.exposition(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _is_local(service: Service, request: Request) -> bool:
    """Behind a proxy on this machine every client looks local, unless the proxy sends X-Forwarded-For."""
    is_forwarded = "x-forwarded-for" in request.headers or "forwarded" in request.headers
    return address_of(request, service.settings.trusted_proxies).is_loopback and not is_forwarded


def _has_token(request: Request, token: str | None) -> bool:
    sent = request.headers.get("authorization", "")
    return token is not None and hmac.compare_digest(sent.encode(), f"Bearer {token}".encode())
