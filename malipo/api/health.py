"""/healthz and /readyz: health checks for supervisors and load balancers."""

import asyncio
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from malipo.api.errors import response
from malipo.api.responses import success
from malipo.db import ConnectionLost
from malipo.db.migrate import pending
from malipo.errors import Unavailable
from malipo.installation.store import installation
from malipo.service import Service

_READY_SECONDS = 2


async def healthz(service: Service, request: Request) -> Response:
    """The process runs."""
    return success({"status": "alive"})


async def readyz(service: Service, request: Request) -> Response:
    """It can take payments. Clock skew is only a warning: else every host could be taken out of service at once."""
    reason = await _what_is_missing(service)
    if reason is None:
        warning = service.clock_skew.warning
        return success({"status": "ready"} if warning is None else {"status": "ready", "warnings": [warning]})
    return response(HTTPStatus.SERVICE_UNAVAILABLE, "not_ready", reason, headers={"Retry-After": "5"})


async def _what_is_missing(service: Service) -> str | None:
    try:
        async with asyncio.timeout(_READY_SECONDS):
            if missing := await pending(service.database):
                return f"The database waits for {missing} migrations."
            standing = await service.read(installation.get)
    except (ConnectionLost, Unavailable, TimeoutError):
        return "The database does not answer."
    if standing.is_fenced:
        return f"Restored from a backup, and not released: {standing.fence_reason}"
    return f"Operators hold all payments: {standing.hold_reason}" if standing.held_at is not None else None
