"""The daily close: the list of days, one day with its two columns, closing it, on paper and as CSV.

The rules are those of `malipo/reconciliation/close`. Computing a close may take longer than a page may, so it has a
connection of its own.
"""

from collections.abc import Awaitable, Callable
from datetime import date, datetime, timedelta
from http import HTTPStatus
from typing import Any, NamedTuple, TypeVar

from starlette.responses import Response

from malipo import clock, typed_reason
from malipo.dashboard import form_errors, render
from malipo.dashboard.forms import Form
from malipo.dashboard.operator.request import OperatorRequest
from malipo.dashboard.security_headers import SECURITY_HEADERS
from malipo.db import Conn, Tx
from malipo.errors import Invalid, Missing, Problem, Refusal
from malipo.networks.connector import Channel
from malipo.reconciliation.close import close_day
from malipo.reconciliation.close.business_day import can_be_closed_at
from malipo.reconciliation.close.close_csv import csv_of
from malipo.reconciliation.close.close_figures import sheet_of
from malipo.reconciliation.close.closed_day import ClosedDay
from malipo.reconciliation.close.files_to_verify import command_of, find_public_key, pem_of
from malipo.reconciliation.close.printed_page import SIGNED_BY
from malipo.reconciliation.close.signed_content import DayClose
from malipo.reconciliation.close.store import closes, signing_keys
from malipo.reconciliation.close.store.closes import ProposedClose
from malipo.words.say import SENTENCES as REFUSALS
from malipo.words.say import say

PATH = "/operator/close"
_MOST_DAYS = 62
SENTENCES = [*SIGNED_BY]
Found = TypeVar("Found")

_REASON = REFUSALS[close_day.CloseRefusal.REASON]
# The page of such a day shows nothing: the list says which one is next.
_NOT_NEXT = (close_day.OutOfOrder, close_day.AlreadyClosed)


class Day(NamedTuple):
    """A closed day; or what the close of the next one would say."""

    close: DayClose
    closed: ClosedDay | None
    proposal: ProposedClose | None
    missing: dict[str, list[Problem]]


class _NotKept(Exception):  # noqa: N818 - it only ends the transaction.
    """Carries the computed close out of the transaction, which is rolled back."""

    def __init__(self, found: Any) -> None:
        self.found = found


async def show_all(request: OperatorRequest) -> Response:
    async def find(connection: Conn) -> tuple[list[ClosedDay], list[ProposedClose], dict[str, bytes]]:
        days = await closes.find_latest(connection, limit=_MOST_DAYS)
        return days, await closes.find_proposals(connection), await signing_keys.find_public(connection)

    days, proposals, keys = await request.parts.queries.read_snapshot(find)
    now = request.parts.clock()
    return render.page(
        request,
        "operator/reconciliation/close.html",
        days=[(each, sheet_of(each.close)) for each in days],
        is_cut=len(days) == _MOST_DAYS,
        proposals=proposals,
        keys=[(key_id, pem_of(each)) for key_id, each in keys.items()],
        following=_following(days, now),
        yesterday=(clock.day_of(now) - timedelta(days=1)).isoformat(),
        day_in_words=request.words.day,
        midday=_midday,
    )


def _following(days: list[ClosedDay], now: datetime) -> date | None:
    """The next day that can be closed; None if it is not over, or if the first one is to be chosen."""
    following = days[0].day + timedelta(days=1) if days else None
    return following if following is not None and now >= can_be_closed_at(following) else None


def _midday(day: date) -> datetime:
    """A moment in that day, for a date in words."""
    return datetime(day.year, day.month, day.day, 12, tzinfo=clock.ZONE)


async def choose(request: OperatorRequest) -> Response:
    """Go from a day that was typed to its page."""
    day = request.http.query_params.get("day", "")
    return request.go(f"{PATH}/{_parsed(day).isoformat()}" if day else PATH)


async def show(request: OperatorRequest) -> Response:
    return await _page(request)


async def show_paper(request: OperatorRequest) -> Response:
    return await _page(request, is_paper=True)


async def download(request: OperatorRequest) -> Response:
    day = day_in(request)
    closed = await request.parts.queries.read(lambda connection: closes.find(connection, day))
    if closed is None:
        raise Missing("The day is not closed.")
    headers = SECURITY_HEADERS | {"Content-Disposition": f'attachment; filename="close-{day}.csv"'}
    return Response(csv_of(closed.close), media_type="text/csv; charset=utf-8", headers=headers)


async def close(request: OperatorRequest) -> Response:
    """Close it; or propose to accept what is not explained."""
    form = await request.form()
    without = [each for each in form.all("without") if each in Channel.__members__.values()]
    accepts = form.text("accept") == "yes"
    reason = " ".join(form.text("reason").split())
    if (without or accepts) and not typed_reason.is_within(reason, typed_reason.REASON):
        return await _page(
            request,
            status=HTTPStatus.BAD_REQUEST,
            form=form,
            errors={"reason": request.words(_REASON)},
        )

    async def act(tx: Tx) -> ClosedDay | ProposedClose:
        return await close_day.close_day(
            tx,
            day_in(request),
            encryption=request.parts.encryption,
            actor=request.actor,
            now=request.parts.clock(),
            without=without,
            reason=reason if without or accepts else "",
            accepts_difference=accepts,
        )

    return await _done(request, form, act)


async def approve(request: OperatorRequest) -> Response:
    form = await request.form()

    async def act(tx: Tx) -> ClosedDay:
        await _require_as_seen(tx, request, form)
        encryption, now = request.parts.encryption, request.parts.clock()
        return await close_day.approve(tx, day_in(request), encryption=encryption, actor=request.actor, now=now)

    return await _done(request, form, act)


async def reject(request: OperatorRequest) -> Response:
    form = await request.form()

    async def act(tx: Tx) -> None:
        await _require_as_seen(tx, request, form)
        await close_day.reject(tx, day_in(request), actor=request.actor, now=request.parts.clock())

    return await _done(request, form, act)


async def _require_as_seen(tx: Tx, request: OperatorRequest, form: Form) -> None:
    """Nobody decides about another proposal than the one they saw."""
    proposal = await closes.find_proposal(tx, day_in(request))
    if proposal is None or proposal.id != form.text("proposal"):
        raise Invalid(form_errors.CHANGED)


async def _done(request: OperatorRequest, form: Form, act: Callable[[Tx], Awaitable[Any]]) -> Response:
    try:
        done = await _on_own_connection(request, act)
    except Refusal as refusal:
        problem = form_errors.of_refusal(request.words, refusal)
        return await _page(request, status=form_errors.status_of(refusal), form=form, problem=problem)
    notice = "day-closed" if isinstance(done, ClosedDay) else "day-proposed" if done is not None else "day-rejected"
    return request.go(f"{PATH}/{day_in(request)}", notice)


async def _on_own_connection(request: OperatorRequest, act: Callable[[Tx], Awaitable[Found]]) -> Found:
    database = request.parts.queries.database.another(size=1)
    await database.open()
    try:
        async with database.begin() as tx:
            return await act(tx)
    finally:
        await database.close()


async def _find(request: OperatorRequest, without: list[str]) -> Day:
    day = day_in(request)
    closed = await request.parts.queries.read(lambda connection: closes.find(connection, day))
    if closed is not None:
        return Day(closed.close, closed, None, {})

    async def compute(tx: Tx) -> None:
        computed = await close_day.preview(tx, day, without=without)
        raise _NotKept(Day(computed.close, None, await closes.find_proposal(tx, day), dict(computed.missing)))

    try:
        await _on_own_connection(request, compute)
    except _NotKept as kept:
        found: Day = kept.found
        return found
    raise AssertionError("it always ends with what was found")


async def _page(
    request: OperatorRequest,
    *,
    status: HTTPStatus = HTTPStatus.OK,
    form: Form | None = None,
    problem: str | None = None,
    errors: dict[str, str] | None = None,
    is_paper: bool = False,
) -> Response:
    without = [] if form is None else [each for each in form.all("without") if each in Channel.__members__.values()]
    try:
        found = await _find(request, without)
    except _NOT_NEXT:
        return request.go(PATH, "day-not-next")
    sheet, now = sheet_of(found.close), request.parts.clock()
    day = sheet.day
    return render.page(
        request,
        "operator/reconciliation/close_day.html",
        status=status,
        is_paper=is_paper,
        company=request.parts.settings.company_name,
        signed_by=[request.words(each) for each in SIGNED_BY],
        day=day,
        title=request.words.day(_midday(day)),
        found=found,
        missing={channel: [say(each, request.words) for each in why] for channel, why in found.missing.items()},
        sheet=sheet,
        closed_day=found.closed,
        command=command_of(found.closed) if found.closed else "",
        pem=await _pem(request, found.closed) if found.closed else "",
        is_over=now >= can_be_closed_at(day),
        is_mine=found.proposal is not None and found.proposal.requested_by == request.actor.name,
        first_open=next((each.channel for each in sheet.channels if each.open), None),
        without=without,
        values={} if form is None else form.values(),
        errors=errors or {},
        problem=problem,
    )


async def _pem(request: OperatorRequest, closed: ClosedDay) -> str:
    return pem_of(await request.parts.queries.read(lambda connection: find_public_key(connection, closed.key_id)))


def day_in(request: OperatorRequest) -> date:
    return _parsed(request.http.path_params["day"])


def _parsed(text: str) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise Missing("There is no such day.") from None
    if day.year not in range(2000, 2100):
        raise Missing("There is no such day.")
    return day
