"""Exceptions of reconciliation: the list with its sums, those chosen together, and one with all that is known."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.responses import Response

from malipo.dashboard import render
from malipo.dashboard.operator.reconciliation import exception_effects
from malipo.dashboard.operator.reconciliation.statements import CHANNELS
from malipo.dashboard.operator.request import OperatorRequest
from malipo.dashboard.urls import id_in, key_in
from malipo.db import Conn
from malipo.merchants.store import merchants
from malipo.networks.connector import Channel
from malipo.reconciliation.exception import (
    Action,
    ExceptionCount,
    ExceptionKind,
    ExceptionState,
    ReconciliationException,
    Resolution,
    Suggestion,
)
from malipo.reconciliation.resolve_exceptions import NoSuchException
from malipo.reconciliation.store import exceptions, resolutions
from malipo.reconciliation.store.exceptions import ExceptionFilter
from malipo.reconciliation.suggest_payments import suggest_payments

PATH = "/operator/exceptions"
AGES = ("today", "week", "older")
MOST_CHOSEN = 50
_ID = re.compile(r"exc_[0-9a-z]{1,40}")


@dataclass(frozen=True, slots=True)
class Asked:
    """The filters: as they were chosen, and as the store takes them. What cannot be chosen is as good as none."""

    typed: Mapping[str, str]
    wanted: ExceptionFilter

    def link(self, **more: str) -> str:
        values = dict(self.typed) | more
        return f"{PATH}?{urlencode(values)}" if values else PATH


class Row(NamedTuple):
    exception: ReconciliationException
    minutes: int  # since it was found
    proposal: Resolution | None


def asked_in(query: Mapping[str, str], now: datetime) -> Asked:
    known = {"kind": ExceptionKind, "channel": Channel, "state": ExceptionState}
    typed = {name: query[name] for name, each in known.items() if query.get(name) in each.__members__.values()}
    if query.get("age") in AGES:
        typed["age"] = query["age"]
    day, week = now - timedelta(days=1), now - timedelta(days=7)
    since = {"today": day, "week": week}.get(typed.get("age", ""))
    before = {"week": day, "older": week}.get(typed.get("age", ""))
    wanted = ExceptionFilter(
        kind=ExceptionKind(typed["kind"]) if "kind" in typed else None,
        channel=Channel(typed["channel"]) if "channel" in typed else None,
        state=ExceptionState(typed["state"]) if "state" in typed else None,
        found_since=since,
        found_before=before,
    )
    return Asked(typed, wanted)


async def show_all(request: OperatorRequest) -> Response:
    return await list_page(request)


async def list_page(
    request: OperatorRequest, *, status: HTTPStatus = HTTPStatus.OK, problem: str | None = None
) -> Response:
    now, before = request.service.clock(), key_in(request)
    asked = asked_in(request.http.query_params, now)

    async def find(
        connection: Conn,
    ) -> tuple[list[ReconciliationException], list[ExceptionCount], list[Resolution]]:
        found = await exceptions.find(connection, asked.wanted, before=before, limit=MOST_CHOSEN + 1)
        return found, await exceptions.count(connection, now=now), await resolutions.find_open(connection)

    found, counts, waiting = await request.service.read_snapshot(find)
    return render.page(
        request,
        "operator/reconciliation/exceptions.html",
        status=status,
        problem=problem,
        rows=rows_of(found[:MOST_CHOSEN], waiting, now),
        counts=_fitting(counts, asked),
        waiting=len(waiting),
        typed=asked.typed,
        channels=CHANNELS,
        kinds=list(ExceptionKind),
        older=asked.link(before=found[MOST_CHOSEN - 1].id) if len(found) > MOST_CHOSEN else None,
        newest=asked.link() if before else None,
    )


def _fitting(counts: Sequence[ExceptionCount], asked: Asked) -> list[ExceptionCount]:
    return [
        each
        for each in counts
        if all(
            asked.typed.get(name, value) == value for name, value in (("kind", each.kind), ("channel", each.channel))
        )
        and asked.typed.get("age", each.age) == each.age
    ]


def rows_of(found: Sequence[ReconciliationException], waiting: Sequence[Resolution], now: datetime) -> list[Row]:
    proposed = {each.exception_id: each for each in waiting}
    return [
        Row(each, max(int((now - each.found_at).total_seconds()) // 60, 0), proposed.get(each.id)) for each in found
    ]


def ids_in(values: Sequence[str]) -> list[str]:
    return [each for each in dict.fromkeys(values) if _ID.fullmatch(each)][:MOST_CHOSEN]


async def show_chosen(request: OperatorRequest) -> Response:
    """Those that were ticked in the list: to propose one thing about all, or to decide what is proposed."""
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
    async def find(connection: Conn) -> tuple[list[ReconciliationException], list[Resolution]]:
        return await exceptions.find_by_ids(connection, chosen), await resolutions.find_open(connection)

    found, waiting = await request.service.read_snapshot(find)
    rows = rows_of(found, waiting, request.service.clock())
    open_ = [each for each in rows if each.exception.state is ExceptionState.OPEN]
    return render.page(
        request,
        "operator/reconciliation/exceptions_chosen.html",
        status=status,
        problem=problem,
        open=open_,
        proposed=[(each, told(request, each.exception, each.proposal)) for each in rows if each.proposal is not None],
        mine=[each for each in rows if each.proposal and each.proposal.requested_by == request.actor.name],
        choices=exception_effects.choices_of(request.words, [each.exception for each in open_]) if open_ else [],
        values=values or {},
        errors=errors or {},
    )


def told(request: OperatorRequest, exception: ReconciliationException, proposal: Resolution | None) -> tuple[str, str]:
    """What is proposed, and what it does."""
    if proposal is None:
        return "", ""
    value = exception_effects.value_of(proposal.action, proposal.terms)
    title = exception_effects.TITLES.get(value, exception_effects.TITLES["note"])
    return request.words(title), exception_effects.effect_of(request.words, [exception], value)


async def show(request: OperatorRequest) -> Response:
    """With a payment in the query, that one is filled in as the line's."""
    payment = request.http.query_params.get("payment", "")
    return await page(request, id_in(request), values={"choice": "match", "payment": payment} if payment else None)


async def page(
    request: OperatorRequest,
    exception_id: str,
    *,
    status: HTTPStatus = HTTPStatus.OK,
    problem: str | None = None,
    values: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
) -> Response:
    async def find(
        connection: Conn,
    ) -> tuple[ReconciliationException, list[Resolution], list[Suggestion], Mapping[str, str]]:
        found = await exceptions.get(connection, exception_id)
        if found is None:
            raise NoSuchException(exception_id)
        names = {each.id: each.name for each in await merchants.find_all(connection)}
        suggestions = await suggest_payments(connection, found) if found.state is ExceptionState.OPEN else []
        return found, await resolutions.find(connection, exception_id), suggestions, names

    exception, history, suggestions, names = await request.service.read_snapshot(find)
    shown: dict[str, Any] = _shown(request, exception, history)
    return render.page(
        request,
        "operator/reconciliation/exception.html",
        status=status,
        problem=problem,
        exception=exception,
        suggestions=suggestions,
        names=names,
        values=values or {},
        errors=errors or {},
        **shown,
    )


def _shown(
    request: OperatorRequest, exception: ReconciliationException, history: Sequence[Resolution]
) -> dict[str, Any]:
    proposal = next((each for each in history if each.decided_at is None), None)
    done = [each for each in history if each.is_approved and each.undone_by is None and each.action is not Action.UNDO]
    is_resolved = exception.state is ExceptionState.RESOLVED
    return {
        "row": rows_of([exception], [], request.service.clock())[0],
        "proposal": proposal,
        "told": told(request, exception, proposal),
        "is_mine": proposal is not None and proposal.requested_by == request.actor.name,
        "history": [
            (each, told(request, exception, each)) for each in reversed(history) if each.decided_at is not None
        ],
        "can_undo": is_resolved and bool(done) and done[-1].action is not Action.RESOLVE,
        "choices": exception_effects.choices_of(request.words, [exception])
        if exception.state is ExceptionState.OPEN
        else [],
    }
