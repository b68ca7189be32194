"""Cases, payments that an operator must look at: the list, and one with all its network answers."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple

from starlette.responses import Response

from malipo import clock
from malipo.approvals import store as proposals
from malipo.approvals.act_rules import Act
from malipo.approvals.store import Proposal
from malipo.casework.store import assignments
from malipo.casework.store.assignments import Assignment
from malipo.casework.subject import CaseworkSubject
from malipo.dashboard import render
from malipo.dashboard.operator import casework, resolution_effects
from malipo.dashboard.operator.casework import OWNERS, Casework, is_overdue
from malipo.dashboard.operator.proposal_pages import may_be_alone, page_of
from malipo.dashboard.operator.request import OperatorRequest
from malipo.db import Conn, Tx
from malipo.ledger.store import wallets
from malipo.ledger.wallet import Wallet
from malipo.merchants.store import merchants
from malipo.networks import circuit_store
from malipo.networks.channel_names_and_prefixes import PROFILES
from malipo.networks.routing import Route, unconnected_routes
from malipo.operators import store as operators
from malipo.operators.roles import Right
from malipo.payments.cases import case_reason, resolve
from malipo.payments.cases.cancellable import find_served
from malipo.payments.cases.resolution import NoSuchCase, resembles_adopted
from malipo.payments.cases.resolution import may_be_sent as may_be_sent_by_decision
from malipo.payments.store import cases, creators, network_answers
from malipo.payments.store.cases import Case, ProposedResolution, proposed_resolution
from malipo.payments.store.creators import Creator
from malipo.payments.store.network_answers import StoredAnswer
from malipo.payments.transaction import Status, Type
from malipo.reconciliation.matching.exception import ReconciliationException
from malipo.reconciliation.matching.store import exceptions
from malipo.restore.worker_reports import WorkerCoverage
from malipo.words.cases import SENTENCES

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MOST_SHOWN = 200


class CaseRow(NamedTuple):
    case: Case
    merchant: str
    why: str
    minutes: int
    is_open: bool  # an operator must act
    assignment: Assignment | None = None  # who looks after it
    is_overdue: bool = False


class Dossier(NamedTuple):
    """Everything that is known of one case."""

    case: Case
    proposal: ProposedResolution | None
    heard: list[StoredAnswer]
    merchant: str
    wallet: Wallet
    creator: Creator | None
    code: str  # of what an approver is shown
    may_be_alone: bool
    served: WorkerCoverage
    exceptions: Sequence[ReconciliationException] = ()  # of the same payment


async def show_all(request: OperatorRequest) -> Response:
    owner = request.http.query_params.get("owner", "")
    owner = owner if owner in OWNERS else ""

    async def find(
        connection: Conn,
    ) -> tuple[list[Case], Mapping[str, str], int, list[Proposal], Mapping[str, Assignment]]:
        found = await find_open(connection, request)
        assigned = await assignments.find(connection, [case.transaction.id for case in found])
        names = await merchants.find_names(connection, [case.transaction.merchant_id for case in found])
        down = set(await circuit_store.find_down(connection)) & set(request.parts.networks.routes.values())
        waiting = await proposals.find_open(connection, list(Act)) if request.may(Right.READ) else []
        return found, names, len(down), waiting, assigned

    found, names, down, waiting, assigned = await request.parts.queries.read_snapshot(find)
    return render.page(
        request,
        "operator/cases.html",
        rows=_rows(request, found, names, assigned, owner)[:_MOST_SHOWN],
        owner=owner,
        number=len(found),
        amount=sum(case.transaction.amount for case in found),
        proposed=sum(case.proposed is not None for case in found),
        owed=sum(case.correction.owed for case in found if case.correction is not None),
        down=down,
        waiting=[(each, page_of(each)) for each in waiting[:_MOST_SHOWN]],
    )


async def find_open(connection: Conn, request: OperatorRequest) -> list[Case]:
    seconds = request.parts.settings.unsettled_seconds
    found = await cases.find_unsettled(connection, unsettled_seconds=seconds, unconnected=_unconnected(request))
    return found + await cases.find_contradicted(connection)


def _rows(
    request: OperatorRequest,
    found: Sequence[Case],
    names: Mapping[str, str],
    assigned: Mapping[str, Assignment],
    owner: str,
) -> list[CaseRow]:
    """All cases, or those assigned to this operator, or the unassigned ones."""
    wanted = {"me": request.owner.name, "none": None}
    today, rows = clock.day_of(request.parts.clock()), []
    for case in found:
        assignment = assigned.get(case.transaction.id)
        if owner and (assignment.owner if assignment else None) != wanted[owner]:
            continue
        row = row_of(request, case, names[case.transaction.merchant_id])
        rows.append(row._replace(assignment=assignment, is_overdue=is_overdue(assignment, today)))
    return rows


def _unconnected(request: OperatorRequest) -> list[Route]:
    return unconnected_routes(request.parts.networks.routes)


def row_of(request: OperatorRequest, case: Case, merchant: str) -> CaseRow:
    now = request.parts.clock()
    reason = case_reason.case_reason(
        case,
        unsettled_seconds=request.parts.settings.unsettled_seconds,
        now=now,
        unconnected=_unconnected(request),
    )
    minutes = max(int((now - case_reason.since(case)).total_seconds()) // 60, 0)
    return CaseRow(case, merchant, request.words(SENTENCES[reason]), minutes, reason != "none")


async def look_up(request: OperatorRequest) -> Response:
    """Go from a typed id or reference to its page."""
    name = request.http.query_params.get("payment", "").strip()
    return request.go(f"/operator/cases/{_possible(name)}" if name else "/operator")


async def show(request: OperatorRequest) -> Response:
    return await page(request)


async def page(
    request: OperatorRequest,
    *,
    status: HTTPStatus = HTTPStatus.OK,
    problem: str | None = None,
    values: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
) -> Response:
    """The page of one case; after a refused form, with its mistakes."""

    async def find(connection: Conn) -> tuple[Dossier, Casework | None]:
        found = await read(connection, payment_in(request))
        transaction = found.case.transaction
        path = f"/operator/cases/{transaction.reference}"
        return found, await casework.find(connection, request, transaction.id, path)

    dossier, work = await request.parts.queries.read_snapshot(find)
    case, proposal, heard, merchant, wallet, creator, code, is_offered_alone, served, of_payment = dossier
    is_stale = proposal is not None and case.proposed is None
    network = PROFILES[case.transaction.channel].name
    is_pending = case.transaction.status is Status.PENDING
    is_unconnected = case_reason.is_unconnected(case, _unconnected(request)) and served is not WorkerCoverage.YES
    # The database was restored: a payment that it calls PENDING may have been sent before.
    may_be_sent = is_pending and case.dispatch is not None and case.dispatch.is_asked_first
    shown: dict[str, Any] = {
        "row": row_of(request, case, merchant),
        "exceptions": of_payment if request.may(Right.READ) else [],
        "casework": work,
        "case": case,
        "transaction": case.transaction,
        "is_payout": case.transaction.type is Type.DISBURSEMENT,
        "network": network,
        "wallet": wallet,
        "creator": creator,
        "choices": resolution_effects.choices_of(request.words, case, wallet, network)
        if case.transaction.status.is_final
        else [],
        "said": resolution_effects.said_of(case),
        "proposed_value": None if proposal is None else resolution_effects.value_of(proposal),
        "is_waiting": resolution_effects.is_waiting(case),
        "limit": request.parts.settings.booking_approval_amount,
        "may_cancel": is_pending and (not case.is_merchant_active or is_unconnected) and not may_be_sent,
        "is_unconnected": is_unconnected,
        "is_unreported": served is WorkerCoverage.UNKNOWN,
        "may_be_sent": may_be_sent,
        "resembles_adopted": resembles_adopted(case),
        "may_send": may_be_sent_by_decision(case),
        "proposal": None if is_stale else proposal,
        "is_stale": is_stale,
        "seen": code,
        "may_be_alone": is_offered_alone,
        "is_mine": proposal is not None and proposal.requested_by == request.actor.name,
        "heard": heard[::-1],
    }
    return render.page(
        request,
        "operator/case.html",
        status=status,
        problem=problem,
        values=values or {},
        errors=errors or {},
        **shown,
    )


async def read(connection: Conn, payment: str) -> Dossier:
    """It locks nothing: an answer about the payment is written while somebody looks at it."""
    case = await cases.find(connection, payment)
    if case is None:
        raise NoSuchCase(payment)
    transaction = case.transaction
    heard = await network_answers.find(connection, transaction.merchant_id, transaction.id)
    wallet, _ = await wallets.get(connection, transaction.merchant_id)
    proposal = await cases.find_open_proposal(connection, transaction)
    return Dossier(
        case,
        None if proposal is None else proposed_resolution(proposal),
        heard,
        await merchants.name_of(connection, transaction.merchant_id),
        wallet,
        await creators.find(connection, transaction.merchant_id, transaction.id),
        "" if proposal is None else await resolve.find_code(connection, proposal),
        proposal is not None and may_be_alone(proposal.action, operators=await operators.count(connection)),
        await find_served(connection, case),
        await exceptions.find_of_payment(connection, transaction.merchant_id, transaction.id),
    )


async def assign(request: OperatorRequest) -> Response:
    return await casework.change_assignment(request, _subject(request), _path(request), _again(request))


async def add_file(request: OperatorRequest) -> Response:
    return await casework.add_file(request, _subject(request), _path(request), _again(request))


def _subject(request: OperatorRequest) -> Callable[[Tx], Awaitable[CaseworkSubject]]:
    async def find(tx: Tx) -> CaseworkSubject:
        case = await cases.lock(tx, payment_in(request))
        if case is None:
            raise NoSuchCase(payment_in(request))
        return CaseworkSubject(case.transaction.id, case.transaction.merchant_id)

    return find


def _path(request: OperatorRequest) -> str:
    return f"/operator/cases/{payment_in(request)}"


def _again(request: OperatorRequest) -> Callable[[str, int], Awaitable[Response]]:
    async def again(problem: str, status: int) -> Response:
        return await page(request, status=HTTPStatus(status), problem=problem)

    return again


def payment_in(request: OperatorRequest) -> str:
    return _possible(request.http.path_params["payment"])


def _possible(name: str) -> str:
    """Whether the text can be an id or a reference, so that others need no query."""
    if not _NAME.fullmatch(name):
        raise NoSuchCase(name)
    return name
