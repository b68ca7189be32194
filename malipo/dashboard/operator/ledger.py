"""The book, recomputed while the operator waits. It reads at one moment, and never mends.

One check at a time in each process: on a large book each takes minutes, and a connection.
"""

import asyncio
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from malipo.dashboard import draw
from malipo.dashboard.operator.visit import OperatorVisit
from malipo.db import Tx
from malipo.ledger import audit
from malipo.ledger.audit import Finding
from malipo.payments import audit as payments_audit
from malipo.service import Service
from malipo.trail import store as trail

_turn = asyncio.Lock()


async def show(visit: OperatorVisit) -> Response:
    return _page(visit)


async def check(visit: OperatorVisit) -> Response:
    """Drawn at once and not after a redirect: a reload asks again, which does no harm."""
    await visit.form()
    if _turn.locked():
        return _page(visit, status=HTTPStatus.CONFLICT, is_busy=True)
    began = visit.service.clock()
    async with _turn:
        balances, findings = await _recompute(visit.service)
    ended = visit.service.clock()

    async def note(tx: Tx) -> None:
        await trail.note(tx, visit.actor, "ledger.checked", now=ended, findings=len(findings))

    await visit.service.write(note)
    return _page(visit, balances=balances, findings=findings, at=began, seconds=(ended - began).total_seconds())


async def _recompute(service: Service) -> tuple[dict[str, int], list[Finding]]:
    # One moment for all of it, so that a busy service does not look like a wrong book.
    async with service.database.snapshot() as connection:
        await audit.prepare(connection)
        balances = await audit.balances(connection)
        findings = await audit.check(connection)
        return balances, findings + await payments_audit.check(connection)


def _page(visit: OperatorVisit, *, status: HTTPStatus = HTTPStatus.OK, **found: object) -> Response:
    nothing: dict[str, Any] = {"balances": None, "findings": [], "at": None, "seconds": 0, "is_busy": False}
    return draw.page(visit, "operator/ledger.html", status=status, **nothing | found)
