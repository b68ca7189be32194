"""The ledger check, run while the operator waits. It reads one snapshot, and changes nothing.

One check at a time in each process: on a large ledger each takes minutes, and a connection.
"""

import asyncio
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from malipo.audit_log import store as audit_log
from malipo.dashboard import render
from malipo.dashboard.operator.request import OperatorRequest
from malipo.db import Database, Tx
from malipo.ledger import check as ledger_check
from malipo.ledger.check import LedgerFinding
from malipo.ledger.store import checks
from malipo.payments.check import transactions as transactions_check

_turn = asyncio.Lock()


async def show(request: OperatorRequest) -> Response:
    """Show the page, with the last check that the workers have made on their schedule."""
    return _page(request, last=await request.parts.queries.read(checks.find_last))


async def check(request: OperatorRequest) -> Response:
    """Run the check and show the result, without a redirect: reloading the page repeats the check, which changes
    nothing."""
    await request.form()
    if _turn.locked():
        return _page(request, status=HTTPStatus.CONFLICT, is_busy=True)
    began = request.parts.clock()
    async with _turn:
        balances, findings = await _recompute(request.parts.queries.database)
    ended = request.parts.clock()

    async def note(tx: Tx) -> None:
        await audit_log.append(tx, request.actor, "ledger.checked", now=ended, findings=len(findings))

    await request.parts.queries.write(note)
    return _page(request, balances=balances, findings=findings, at=began, seconds=(ended - began).total_seconds())


async def _recompute(database: Database) -> tuple[dict[str, int], list[LedgerFinding]]:
    # One snapshot for all of it, so that payments that arrive meanwhile do not look like differences.
    async with database.snapshot() as connection:
        await ledger_check.prepare(connection)
        balances = await ledger_check.balances(connection)
        findings = await ledger_check.check(connection)
        return balances, findings + await transactions_check.check(connection)


def _page(request: OperatorRequest, *, status: HTTPStatus = HTTPStatus.OK, **found: object) -> Response:
    nothing: dict[str, Any] = {
        "balances": None,
        "findings": [],
        "at": None,
        "seconds": 0,
        "is_busy": False,
        "last": None,
    }
    return render.page(request, "operator/ledger.html", status=status, **nothing | found)
