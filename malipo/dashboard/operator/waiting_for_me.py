"""What waits for the operator who is logged in: proposals of others that they may approve, cases and exceptions that
they look after, and what is due.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from starlette.responses import Response

from malipo import clock
from malipo.accounts import four_eyes as pairs
from malipo.approvals import store as proposals
from malipo.approvals.act_rules import (
    BANK,
    BOOKINGS,
    EXCEPTION_ACTIONS,
    EXCEPTION_UNDOS,
    RESOLUTIONS,
    SETTLEMENT_ACTS,
    STATEMENT_UNDOS,
    Act,
)
from malipo.approvals.store import Proposal
from malipo.audit_log.actor import operator_at
from malipo.bank.store import lines as bank_lines
from malipo.bank.store.lines import BankException
from malipo.casework.store import assignments
from malipo.casework.store.assignments import Assignment
from malipo.dashboard import render
from malipo.dashboard.operator import cases as case_pages
from malipo.dashboard.operator.bank.exceptions import WHY_NO_PLACE
from malipo.dashboard.operator.cases import CaseRow
from malipo.dashboard.operator.casework import is_overdue
from malipo.dashboard.operator.proposal_pages import page_of
from malipo.dashboard.operator.request import OperatorRequest
from malipo.db import Conn
from malipo.merchants.store import merchants
from malipo.operators import four_eyes
from malipo.payments.store.cases import Case
from malipo.reconciliation.matching.exception import (
    ExceptionState,
    ReconciliationException,
    is_exception_id,
)
from malipo.reconciliation.matching.store import exceptions
from malipo.settlement.settlement import Settlement
from malipo.settlement.store import settlements

PATH = "/operator/waiting"

_MOST_SHOWN = 100

_ACTS: Mapping[Act, str] = {
    **dict.fromkeys(RESOLUTIONS, "What became of a payment"),
    **dict.fromkeys(BOOKINGS, "A booking"),
    **dict.fromkeys(STATEMENT_UNDOS, "To withdraw a statement, or to undo its booking"),
    **dict.fromkeys(BANK, "About our own bank accounts"),
    **dict.fromkeys(SETTLEMENT_ACTS, "About settlements and bank accounts of merchants"),
    **{each: "What to do about an exception" for each in EXCEPTION_ACTIONS if each not in RESOLUTIONS},
    **dict.fromkeys(EXCEPTION_UNDOS, "To undo what was done about an exception"),
    Act.IMPORT: "What a file alone would do to payments",
    Act.CLOSE_WITH_DIFFERENCE: "To close a day that does not add up",
    Act.RELEASE: "To let sending begin",
    Act.MAKE_PAYING_KEY: "An API key that can pay out",
    Act.GIVE_ROLE: "The role of an operator",
}
SENTENCES = [*_ACTS.values(), "Something that takes two operators"]


class WaitingProposal(NamedTuple):
    proposal: Proposal
    what: str
    page: str


class LookedAfter(NamedTuple):
    """A case or an exception that is not decided, with who looks after it."""

    assignment: Assignment
    is_overdue: bool
    case: CaseRow | None
    exception: ReconciliationException | None
    of_bank: BankException | None


class ToStopped(NamedTuple):
    """A settlement in an approved file whose bank account was stopped since."""

    settlement: Settlement
    merchant: str


class Found(NamedTuple):
    to_stopped: Sequence[ToStopped]
    proposals: Sequence[Proposal]
    assigned: Sequence[Assignment]  # to anybody, if it is due; else to this operator
    cases: Sequence[Case]
    exceptions: Sequence[ReconciliationException]
    of_bank: Sequence[BankException]
    names: Mapping[str, str]


async def show(request: OperatorRequest) -> Response:
    me = request.owner.name
    today = clock.day_of(request.parts.clock())
    found = await request.parts.queries.read_snapshot(lambda connection: _find(connection, request, me))
    rows = _rows(request, found)
    mine = [each for each in rows if each.assignment.owner == me]
    due = [
        each
        for each in rows
        if each.assignment.owner != me and each.assignment.due_on is not None and each.assignment.due_on <= today
    ]
    waiting = [
        WaitingProposal(each, request.words(_ACTS.get(each.action, SENTENCES[-1])), page_of(each))
        for each in found.proposals
    ]
    return render.page(
        request,
        "operator/waiting_for_me.html",
        to_stopped=found.to_stopped[:_MOST_SHOWN],
        waiting=waiting[:_MOST_SHOWN],
        mine=mine[:_MOST_SHOWN],
        due=due[:_MOST_SHOWN],
        why_no_place=WHY_NO_PLACE,
        is_cut=max(len(found.to_stopped), len(waiting), len(mine), len(due)) > _MOST_SHOWN,
    )


async def _find(connection: Conn, request: OperatorRequest, me: str) -> Found:
    now = request.parts.clock()
    actor = operator_at(me, "").name
    resets = await four_eyes.find_open(connection, now=now)
    waiting = [
        each
        for each in await proposals.find_open(connection, list(Act))
        if each.requested_by != actor
        and pairs.are_two(resets, each.requested_by, actor)
        and not (each.action is Act.GIVE_ROLE and each.subject == me)
    ]
    assigned = {each.subject: each for each in await assignments.find_of(connection, me)}
    assigned |= {each.subject: each for each in await assignments.find_due(connection, until=clock.day_of(now))}
    of_exceptions = [each for each in assigned if is_exception_id(each)]
    live = [
        each
        for each in await exceptions.find_by_ids(connection, of_exceptions)
        if each.state is not ExceptionState.RESOLVED
    ]
    of_bank = await bank_lines.find_open_by_ids(connection, list(assigned))
    cases = []
    if len(of_exceptions) + len(of_bank) < len(assigned):
        cases = [each for each in await case_pages.find_open(connection, request) if each.transaction.id in assigned]
    to_stopped = await settlements.find_to_stopped(connection)
    shown = [*(each.transaction.merchant_id for each in cases), *(each.merchant_id for each in to_stopped)]
    names = await merchants.find_names(connection, shown)
    return Found(
        [ToStopped(each, names[each.merchant_id]) for each in to_stopped],
        sorted(waiting, key=lambda each: each.requested_at),
        list(assigned.values()),
        cases,
        live,
        of_bank,
        names,
    )


def _rows(request: OperatorRequest, found: Found) -> list[LookedAfter]:
    """What is decided by now is left out. What is due first stands first."""
    today = clock.day_of(request.parts.clock())
    of_cases = {each.transaction.id: each for each in found.cases}
    of_exceptions = {each.id: each for each in found.exceptions}
    of_bank = {each.id: each for each in found.of_bank}
    rows = []
    for each in found.assigned:
        case = of_cases.get(each.subject)
        exception, line = of_exceptions.get(each.subject), of_bank.get(each.subject)
        if case is not None or exception is not None or line is not None:
            row = None
            if case is not None:
                row = case_pages.row_of(request, case, found.names[case.transaction.merchant_id])
            rows.append(LookedAfter(each, is_overdue(each, today), row, exception, line))
    return sorted(rows, key=lambda each: (each.assignment.due_on is None, str(each.assignment.due_on or "")))
