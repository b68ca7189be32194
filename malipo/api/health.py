"""/healthz and /readyz: health checks for supervisors and load balancers."""

from functools import partial
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from malipo import __version__
from malipo.api import metrics
from malipo.api.errors import response
from malipo.api.parts import ApiParts
from malipo.api.responses import success
from malipo.build import build_id
from malipo.restore.store import installation


async def healthz(parts: ApiParts, request: Request) -> Response:
    """The process runs."""
    return success({"status": "alive", "version": __version__, "build": build_id()})


async def readyz(parts: ApiParts, request: Request) -> Response:
    """It can take payments. Clock skew, an untrusted proxy and a migration that can wait are only warnings: else every
    host could be taken out of service at once."""
    look = partial(_what_is_missing, parts, is_told_why=metrics.may_read(parts.settings, request))
    readiness = await parts.health.readiness.look(look)
    if readiness.reason is None:
        health = parts.health
        found = (
            readiness.warning,
            health.monitor.schema.warning,
            health.clock_skew.warning,
            health.untrusted_proxies.warning,
        )
        warnings = [each for each in found if each is not None]
        return success({"status": "ready", "warnings": warnings} if warnings else {"status": "ready"})
    return response(HTTPStatus.SERVICE_UNAVAILABLE, "not_ready", readiness.reason, headers={"Retry-After": "5"})


async def _what_is_missing(parts: ApiParts, *, is_told_why: bool) -> str | None:
    """Why payments cannot be taken. Reasons that operators have written, and names of hosts, only if `is_told_why`."""
    await parts.health.monitor.schema.look()
    if (problem := parts.health.monitor.schema.problem) is not None:
        return problem
    if not parts.health.monitor.schema.is_served:  # The database came after the look.
        return "The schema of the database was not seen yet."
    state = await parts.queries.read(installation.get)
    if state.is_fenced:
        word, why = "Restored from a backup, and not released.", state.fence_reason
    elif state.held_at is not None:
        word, why = "Operators hold all payments.", state.hold_reason
    else:
        return None
    return f"{word} {why}" if is_told_why else word
