"""Approval of what one operator's file would do to payments above an amount: another operator decides on the file's
page.

The rules are those of `malipo/reconciliation/matching/import_approval.py`. The form names the list that was shown.
"""

from collections.abc import Awaitable, Callable

from starlette.responses import Response

from malipo.dashboard import form_errors
from malipo.dashboard.operator.proposal_pages import is_alone
from malipo.dashboard.operator.reconciliation import run_import
from malipo.dashboard.operator.reconciliation import statements as pages
from malipo.dashboard.operator.request import OperatorRequest
from malipo.dashboard.urls import id_in
from malipo.db import Tx
from malipo.errors import Refusal
from malipo.reconciliation.matching import import_approval
from malipo.reconciliation.matching.report_evidence import approve_import


async def approve(request: OperatorRequest) -> Response:
    form = await request.form()
    parts = request.parts

    async def act(tx: Tx) -> object:
        apply_answers = run_import.apply_answers_of(parts.settings, parts.clock)
        return await approve_import(
            tx,
            apply_answers,
            id_in(request),
            actor=request.actor,
            now=parts.clock(),
            seen=form.text("seen"),
            is_single_operator=is_alone(form),
        )

    refused = await _write(request, act)
    if refused is not None:
        return refused
    await run_import.run_matching(request)
    return request.go(f"{pages.PATH}/{id_in(request)}", "import-approved")


async def reject(request: OperatorRequest) -> Response:
    form = await request.form()

    async def act(tx: Tx) -> object:
        now = request.parts.clock()
        return await import_approval.reject(tx, id_in(request), actor=request.actor, now=now, seen=form.text("seen"))

    refused = await _write(request, act)
    return refused or request.go(f"{pages.PATH}/{id_in(request)}", "import-rejected")


async def _write(request: OperatorRequest, act: Callable[[Tx], Awaitable[object]]) -> Response | None:
    """Write on a connection of its own, as a large file takes longer than a page may. The page, if it is refused."""
    database = request.parts.queries.database.another(size=1)
    await database.open()
    try:
        async with database.begin() as tx:
            await act(tx)
    except Refusal as refusal:
        problem = form_errors.of_refusal(request.words, refusal)
        return await pages.page(request, status=form_errors.status_of(refusal), problem=problem)
    finally:
        await database.close()
    return None
