"""/healthz and /readyz: health checks for supervisors and load balancers."""

from functools import partial
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from malipo import __version__
from malipo.api import metrics
from malipo.api.errors import response
from malipo.api.responses import success
from malipo.app.service import Service
from malipo.build import build_id
from malipo.restore.store import installation


async def healthz(service: Service, request: Request) -> Response:
    """The process runs."""
    return success({"status": "alive", "version": __version__, "build": build_id()})


async def readyz(service: Service, request: Request) -> Response:
    """It can take payments. Clock skew, an untrusted proxy and a migration that can wait are only warnings: else every
    host could be taken out of service at once."""
    look = partial(_what_is_missing, service, is_told_why=metrics.may_read(service, request))
    readiness = await service.readiness.look(look)
    if readiness.reason is None:
        said = (
            readiness.warning,
            service.standing.schema.warning,
            service.clock_skew.warning,
            service.untrusted_proxies.warning,
        )
        warnings = [each for each in said if each is not None]
        return success({"status": "ready", "warnings": warnings} if warnings else {"status": "ready"})
    return response(HTTPStatus.SERVICE_UNAVAILABLE, "not_ready", readiness.reason, headers={"Retry-After": "5"})


async def _what_is_missing(service: Service, *, is_told_why: bool) -> str | None:
    """What operators have written, and names of hosts, are not for everybody."""
    await service.standing.schema.look()
    if (problem := service.standing.schema.problem) is not None:
        return problem
    if not service.standing.schema.is_served:  # The database came after the look.
        return "The schema of the database was not seen yet."
    standing = await service.read(installation.get)
    if standing.is_fenced:
        word, why = "Restored from a backup, and not released.", standing.fence_reason
    elif standing.held_at is not None:
        word, why = "Operators hold all payments.", standing.hold_reason
    else:
        return None
    return f"{word} {why}" if is_told_why else word
