"""Exceptions of reconciliation: the list with its sums, those chosen together, and one with all that is known."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.responses import Response

from malipo import clock
from malipo.casework.subject import CaseworkSubject
from malipo.dashboard import render
from malipo.dashboard.operator import casework
from malipo.dashboard.operator.casework import OWNERS, Casework
from malipo.dashboard.operator.proposal_pages import may_be_alone
from malipo.dashboard.operator.reconciliation import exception_effects
from malipo.dashboard.operator.reconciliation.exception_effects import ActionChoice, EffectPreview, Effects
from malipo.dashboard.operator.reconciliation.statements import CHANNELS
from malipo.dashboard.operator.request import OperatorRequest
from malipo.dashboard.operator.resolution_effects import is_waiting
from malipo.dashboard.urls import id_in, key_in
from malipo.db import Conn, Tx
from malipo.merchants.store import merchants
from malipo.networks.connector import Channel
from malipo.operators import store as operators
from malipo.payments.store import cases
from malipo.reconciliation.exceptions.action import ACTIONS, Action, Resolution
from malipo.reconciliation.exceptions.resolve_exceptions import NoSuchException, ResolveExceptions
from malipo.reconciliation.exceptions.store import resolutions
from malipo.reconciliation.exceptions.suggest_payments import suggest_payments
from malipo.reconciliation.matching.exception import (
    ExceptionCount,
    ExceptionKind,
    ExceptionState,
    ReconciliationException,
    Suggestion,
)
from malipo.reconciliation.matching.store import exceptions
from malipo.reconciliation.matching.store.exceptions import ExceptionFilter

PATH = "/operator/exceptions"
AGES = ("today", "week", "older")
MOST_CHOSEN = 50
_ID = re.compile(r"exc_[0-9a-z]{1,40}")


@dataclass(frozen=True, slots=True)
class ExceptionQuery:
    """The filters, as they were chosen and as the store takes them. An unknown choice counts as no filter."""

    typed: Mapping[str, str]
    wanted: ExceptionFilter

    def link(self, **more: str) -> str:
        values = dict(self.typed) | more
        return f"{PATH}?{urlencode(values)}" if values else PATH


class ExceptionRow(NamedTuple):
    exception: ReconciliationException
    minutes: int  # since it was found
    proposal: Resolution | None
    is_overdue: bool = False


class ShownCodes(NamedTuple):
    """The code of each exception as the approver sees it, and whether the only operator may approve all of these
    alone."""

    codes: Mapping[str, str]
    may_be_alone: bool


def query_in(query: Mapping[str, str], now: datetime, *, me: str = "") -> ExceptionQuery:
    """`me` is the name of the operator who looks at the list."""
    known = {"kind": ExceptionKind, "channel": Channel, "state": ExceptionState}
    typed = {name: query[name] for name, each in known.items() if query.get(name) in each.__members__.values()}
    if query.get("age") in AGES:
        typed["age"] = query["age"]
    if query.get("owner") in OWNERS:
        typed["owner"] = query["owner"]
    if query.get("due") == "yes":
        typed["due"] = "yes"
    day, week = now - timedelta(days=1), now - timedelta(days=7)
    since = {"today": day, "week": week}.get(typed.get("age", ""))
    before = {"week": day, "older": week}.get(typed.get("age", ""))
    wanted = ExceptionFilter(
        kind=ExceptionKind(typed["kind"]) if "kind" in typed else None,
        channel=Channel(typed["channel"]) if "channel" in typed else None,
        state=ExceptionState(typed["state"]) if "state" in typed else None,
        found_since=since,
        found_before=before,
        owner=me if typed.get("owner") == "me" else None,
        is_unowned=typed.get("owner") == "none",
        due_until=clock.day_of(now) if "due" in typed else None,
    )
    return ExceptionQuery(typed, wanted)


async def show_all(request: OperatorRequest) -> Response:
    return await list_page(request)


async def list_page(
    request: OperatorRequest, *, status: HTTPStatus = HTTPStatus.OK, problem: str | None = None
) -> Response:
    now, before = request.parts.clock(), key_in(request)
    exception_query = query_in(request.http.query_params, now, me=request.owner.name)

    async def find(
        connection: Conn,
    ) -> tuple[list[ReconciliationException], list[ExceptionCount], list[Resolution]]:
        found = await exceptions.find(connection, exception_query.wanted, before=before, limit=MOST_CHOSEN + 1)
        return found, await exceptions.count(connection, now=now), await resolutions.find_open(connection)

    found, counts, waiting = await request.parts.queries.read_snapshot(find)
    return render.page(
        request,
        "operator/reconciliation/exceptions.html",
        status=status,
        problem=problem,
        rows=rows_of(found[:MOST_CHOSEN], waiting, now),
        counts=_fitting(counts, exception_query),
        waiting=len(waiting),
        typed=exception_query.typed,
        channels=CHANNELS,
        kinds=list(ExceptionKind),
        older=exception_query.link(before=found[MOST_CHOSEN - 1].id) if len(found) > MOST_CHOSEN else None,
        newest=exception_query.link() if before else None,
    )


def _fitting(counts: Sequence[ExceptionCount], exception_query: ExceptionQuery) -> list[ExceptionCount]:
    return [
        each
        for each in counts
        if all(
            exception_query.typed.get(name, value) == value
            for name, value in (("kind", each.kind), ("channel", each.channel))
        )
        and exception_query.typed.get("age", each.age) == each.age
    ]


def rows_of(
    found: Sequence[ReconciliationException], waiting: Sequence[Resolution], now: datetime
) -> list[ExceptionRow]:
    proposed = {each.exception_id: each for each in waiting}
    return [
        ExceptionRow(
            each,
            max(int((now - each.found_at).total_seconds()) // 60, 0),
            proposed.get(each.id),
            is_overdue=each.due_on is not None and each.due_on < clock.day_of(now),
        )
        for each in found
    ]


def ids_in(values: Sequence[str]) -> list[str]:
    return [each for each in dict.fromkeys(values) if _ID.fullmatch(each)][:MOST_CHOSEN]


async def show_chosen(request: OperatorRequest) -> Response:
    """Show the exceptions ticked in the list: to propose one resolution for all, or to decide about those proposed."""
    chosen = ids_in(request.http.query_params.getlist("exception"))
    return await chosen_page(request, chosen) if chosen else request.go(PATH)


async def chosen_page(
    request: OperatorRequest,
    chosen: Sequence[str],
    *,
    status: HTTPStatus = HTTPStatus.OK,
    problem: str | None = None,
    values: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
) -> Response:
    if len(chosen) == 1:
        return await page(request, chosen[0], status=status, problem=problem, values=values, errors=errors)

    async def find(
        connection: Conn,
    ) -> tuple[list[ExceptionRow], list[tuple[ExceptionRow, EffectPreview]], list[ActionChoice], ShownCodes]:
        found, waiting = await exceptions.find_by_ids(connection, chosen), await resolutions.find_open(connection)
        effects = await effects_of(request, connection)
        rows = rows_of(found, waiting, request.parts.clock())
        proposed = [(each, await preview_of(effects, each.exception, each.proposal)) for each in rows if each.proposal]
        open_ = [each for each in rows if each.exception.state is ExceptionState.OPEN]
        choices = await effects.choices([each.exception for each in open_], [], {}) if open_ else []
        return open_, proposed, choices, await _codes(request, connection, [each.exception.id for each, _ in proposed])

    open_, proposed, choices, codes = await request.parts.queries.read_snapshot(find)
    mine = [each for each, _ in proposed if each.proposal and each.proposal.requested_by == request.actor.name]
    return render.page(
        request,
        "operator/reconciliation/exceptions_chosen.html",
        status=status,
        problem=problem,
        open=open_,
        proposed=proposed,
        mine=mine,
        **codes._asdict(),
        choices=choices,
        values=values or {},
        errors=errors or {},
    )


async def _codes(request: OperatorRequest, connection: Conn, chosen: Sequence[str]) -> ShownCodes:
    resolve = ResolveExceptions.of(request.parts.settings, request.parts.clock)
    number = await operators.count(connection)
    found = [each for id_ in chosen if (each := await resolutions.find_proposal(connection, id_)) is not None]
    codes = {each.subject: await resolve.find_code(connection, each) for each in found}
    return ShownCodes(codes, bool(found) and all(may_be_alone(each.action, operators=number) for each in found))


async def effects_of(request: OperatorRequest, connection: Conn) -> Effects:
    names = await merchants.find_names(connection)
    credits_ = request.parts.settings.credit_by_itself
    return Effects(request.words, connection, names, credits_automatically=credits_)


async def preview_of(effects: Effects, exception: ReconciliationException, resolution: Resolution) -> EffectPreview:
    """The proposal and its effects."""
    value = exception_effects.value_of(resolution.action, resolution.terms)
    return await effects.find([exception], value, resolution.terms)


async def show(request: OperatorRequest) -> Response:
    """Show the exception. A payment in the query is filled in as the line's, with the effects of that."""
    payment = request.http.query_params.get("payment", "")
    return await page(request, id_in(request), values={"choice": "match", "payment": payment} if payment else None)


class ResolutionOptions(NamedTuple):
    """The choices of the form on which operators say what became of the payment."""

    may_waive: bool = False  # something is owed of it
    is_waiting: bool = False  # its network has it and has not decided


class ExceptionData(NamedTuple):
    exception: ReconciliationException
    history: list[Resolution]
    suggestions: list[Suggestion]
    names: Mapping[str, str]
    choices: list[ActionChoice]
    proposed: EffectPreview | None
    undo: EffectPreview | None  # what undoing would do
    look: EffectPreview | None  # what was chosen, before it is proposed
    approval: ShownCodes
    resolving: ResolutionOptions
    casework: Casework | None
    of_payment: Sequence[ReconciliationException]  # other exceptions of the same payment


async def _resolving(connection: Conn, exception: ReconciliationException) -> ResolutionOptions:
    is_resolvable = Action.RESOLVE in ACTIONS[exception.kind] and exception.state is ExceptionState.OPEN
    if not is_resolvable or exception.merchant_id is None or exception.transaction_id is None:
        return ResolutionOptions()
    case = await cases.get(connection, exception.merchant_id, exception.transaction_id)
    return ResolutionOptions(case.correction is not None and case.correction.owed > 0, is_waiting(case))


async def page(
    request: OperatorRequest,
    exception_id: str,
    *,
    status: HTTPStatus = HTTPStatus.OK,
    problem: str | None = None,
    values: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
    is_look: bool = False,
) -> Response:
    """As a look, what was chosen is shown with what it changes, to propose it then."""
    typed = values or {}

    async def find(connection: Conn) -> ExceptionData:
        found = await exceptions.get(connection, exception_id)
        if found is None:
            raise NoSuchException(exception_id)
        is_open = found.state is ExceptionState.OPEN
        suggestions = await suggest_payments(connection, found) if is_open else []
        history = await resolutions.find(connection, exception_id)
        effects = await effects_of(request, connection)
        proposal = _open_in(history)
        done = _undoable(found, history)
        choice, undo = typed.get("choice", ""), {"resolution": done.id if done else ""}
        return ExceptionData(
            found,
            history,
            suggestions,
            await merchants.find_names(connection, [found.merchant_id, *(each.merchant_id for each in suggestions)]),
            await effects.choices([found], suggestions, typed) if is_open else [],
            None if proposal is None else await preview_of(effects, found, proposal),
            None if done is None else await effects.find([found], Action.UNDO, undo),
            await effects.find([found], choice, exception_effects.terms_of(choice, typed)) if is_look else None,
            await _codes(request, connection, [] if proposal is None else [exception_id]),
            await _resolving(connection, found),
            await casework.find(connection, request, exception_id, f"{PATH}/{exception_id}"),
            await _others_of_payment(connection, found),
        )

    found = await request.parts.queries.read_snapshot(find)
    shown: dict[str, Any] = _shown(request, found)
    return render.page(
        request,
        "operator/reconciliation/exception.html",
        status=status,
        problem=problem,
        values=typed,
        errors=errors or {},
        **shown,
    )


async def _others_of_payment(connection: Conn, exception: ReconciliationException) -> list[ReconciliationException]:
    if exception.merchant_id is None or exception.transaction_id is None:
        return []
    found = await exceptions.find_of_payment(connection, exception.merchant_id, exception.transaction_id)
    return [each for each in found if each.id != exception.id]


async def assign(request: OperatorRequest) -> Response:
    return await casework.change_assignment(request, _subject(request), f"{PATH}/{id_in(request)}", _again(request))


async def add_file(request: OperatorRequest) -> Response:
    return await casework.add_file(request, _subject(request), f"{PATH}/{id_in(request)}", _again(request))


def _subject(request: OperatorRequest) -> Callable[[Tx], Awaitable[CaseworkSubject]]:
    async def find(tx: Tx) -> CaseworkSubject:
        exception_id = id_in(request)
        if await exceptions.get(tx, exception_id) is None:
            raise NoSuchException(exception_id)
        return CaseworkSubject(exception_id)

    return find


def _again(request: OperatorRequest) -> Callable[[str, int], Awaitable[Response]]:
    async def again(problem: str, status: int) -> Response:
        return await page(request, id_in(request), status=HTTPStatus(status), problem=problem)

    return again


def _open_in(history: Sequence[Resolution]) -> Resolution | None:
    return next((each for each in history if each.decided_at is None), None)


def _undoable(exception: ReconciliationException, history: Sequence[Resolution]) -> Resolution | None:
    """The last resolution, if it can be undone."""
    done = [each for each in history if each.is_approved and each.undone_by is None and each.action is not Action.UNDO]
    is_resolved = exception.state is ExceptionState.RESOLVED
    return done[-1] if is_resolved and done and done[-1].action is not Action.RESOLVE else None


def _shown(request: OperatorRequest, found: ExceptionData) -> dict[str, Any]:
    proposal = _open_in(found.history)
    decided = [each for each in reversed(found.history) if each.decided_at is not None]
    return found._asdict() | {
        "row": rows_of([found.exception], [], request.parts.clock())[0],
        "proposal": proposal,
        **found.approval._asdict(),
        "is_mine": proposal is not None and proposal.requested_by == request.actor.name,
        "history": [(each, request.words(_title(each))) for each in decided],
    }


def _title(resolution: Resolution) -> str:
    titles = exception_effects.TITLES
    return titles.get(exception_effects.value_of(resolution.action, resolution.terms), titles["note"])
