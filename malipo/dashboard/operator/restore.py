"""After a restored backup: open payments, release; and holds.

The rules are those of `malipo/restore`. Each form names what was shown, and is refused if that has changed.
"""

from collections.abc import Awaitable, Callable, Mapping
from datetime import date
from http import HTTPStatus
from typing import Any, NamedTuple

from starlette.responses import Response

from malipo.approvals import store as approvals
from malipo.approvals.act_rules import Act
from malipo.dashboard import form_errors, render
from malipo.dashboard.forms import Form
from malipo.dashboard.operator.proposal_pages import is_alone
from malipo.dashboard.operator.request import OperatorRequest
from malipo.db import Conn, Tx
from malipo.errors import Conflict, Invalid, Refusal
from malipo.networks.connector import Channel, Type
from malipo.operators import store as operators
from malipo.payments.after_restore import release, status
from malipo.payments.after_restore.release import ProposedRelease, ReleaseResult, Scope
from malipo.payments.after_restore.status import RestoreStatus
from malipo.restore import hold
from malipo.restore.store import installation
from malipo.settlement.release import find_waiting_days, is_account_missing

_PATH = "/operator/restore"
_EVERYTHING = "everything"
_SCOPE = "Choose what is held."

SENTENCES = [_SCOPE]


class WaitingPayments(NamedTuple):
    """A channel's payments of one type that wait until operators have looked at its network's statement."""

    channel: str
    type: str
    payments: int
    amount: int
    is_released: bool
    proposal: ProposedRelease | None


class RestoreData(NamedTuple):
    status: RestoreStatus
    proposal: ProposedRelease | None  # of the installation itself
    waiting: list[WaitingPayments]
    operators: int
    settlements_wait: tuple[date, date] | None  # the days that statements of our bank accounts must cover
    is_account_missing: bool  # of ours, so that none can
    codes: Mapping[str, str]  # of what an approver of each proposal is shown


async def show(request: OperatorRequest) -> Response:
    return await _page(request)


async def let_go(request: OperatorRequest) -> Response:
    """Propose the release, or approve another operator's proposal."""
    form = await request.form()
    scope = _scope_of(form)
    evidence = " ".join(form.text("evidence").split())

    async def act(tx: Tx) -> ReleaseResult:
        await _require_as_seen(tx, form, scope)
        return await release.release(
            tx,
            evidence,
            scope,
            actor=request.actor,
            now=request.parts.clock(),
            seen=form.text("seen"),
            is_single_operator=is_alone(form),
        )

    return await _done(request, form, act, lambda released: "released" if released.is_done else "release-proposed")


async def reject(request: OperatorRequest) -> Response:
    """Reject another operator's proposal, or withdraw one's own."""
    form = await request.form()
    scope = _scope_of(form)

    async def act(tx: Tx) -> ReleaseResult:
        await _require_as_seen(tx, form, scope)
        return await release.reject(tx, scope, actor=request.actor, now=request.parts.clock())

    return await _done(request, form, act, lambda _: "release-rejected")


async def _require_as_seen(tx: Tx, form: Form, scope: Scope) -> None:
    state = await installation.lock(tx)
    proposed = await release.find_release(tx, state.epoch, *(scope or (None, None)))
    seen = (form.text("epoch"), form.text("proposal"))
    if (str(state.epoch), proposed.id if proposed is not None else "") != seen:
        raise Conflict(form_errors.CHANGED)


async def begin_hold(request: OperatorRequest) -> Response:
    form = await request.form()

    async def act(tx: Tx) -> None:
        routes, reason = _routes_of(form), " ".join(form.text("reason").split())
        await hold.hold(tx, routes, reason, actor=request.actor, now=request.parts.clock())

    return await _done(request, form, act, lambda _: "held")


async def end_hold(request: OperatorRequest) -> Response:
    form = await request.form()

    async def act(tx: Tx) -> None:
        await hold.end(tx, _routes_of(form), actor=request.actor, now=request.parts.clock())

    return await _done(request, form, act, lambda _: "hold-ended")


def _scope_of(form: Form) -> Scope:
    """An unknown channel never means all channels."""
    if not form.text("channel") and not form.text("type"):
        return None
    return _known(form.text("channel"), form.text("type"))


def _routes_of(form: Form) -> list[tuple[str, str]]:
    if form.text("scope") == _EVERYTHING:
        return []
    channel, _, type_ = form.text("scope").partition(" ")
    return [_known(channel, type_)]


def _known(channel: str, type_: str) -> tuple[str, str]:
    if channel not in Channel.__members__.values() or type_ not in Type.__members__.values():
        raise Invalid(_SCOPE)
    return channel, type_


async def _done(
    request: OperatorRequest, form: Form, act: Callable[[Tx], Awaitable[Any]], notice: Callable[[Any], str]
) -> Response:
    try:
        done = await request.parts.queries.write(act)
    except Refusal as refusal:
        problem = form_errors.of_refusal(request.words, refusal)
        return await _page(request, code=form_errors.status_of(refusal), problem=problem, values=form.values())
    for channel in Channel:
        request.parts.notifier.notify(channel)  # Payments that have waited may be sent.
    return request.go(_PATH, notice(done))


async def _find(request: OperatorRequest, connection: Conn) -> RestoreData:
    found = await status.find(connection)
    epoch = found.installation.epoch
    proposals = {(each.channel, each.type): each for each in await release.find_proposed_releases(connection, epoch)}
    released = await installation.find_released_channels(connection, epoch)
    waiting = [
        WaitingPayments(*pair, *release.sums_of(found, pair), pair in released, proposals.get(pair))
        for pair in _held_back(request, found)
        if epoch > 1
    ]
    codes = {each.id: release.code_of(each, found) for each in await approvals.find_open(connection, [Act.RELEASE])}
    return RestoreData(
        found,
        proposals.get((None, None)),
        waiting,
        await operators.count(connection),
        await find_waiting_days(connection),
        await is_account_missing(connection),
        codes,
    )


def _held_back(request: OperatorRequest, found: RestoreStatus) -> list[tuple[str, str]]:
    """The payouts that are held: those of networks without a query, and all others that wait for operators."""
    networks = request.parts.networks
    silent = {
        (channel, type_)
        for (channel, type_), name in networks.routes.items()
        if type_ is Type.DISBURSEMENT and not networks.connectors[name].can_query(type_)
    }
    stuck = {(each.channel, each.type) for each in found.open if each.is_asked_first and each.review_reason is not None}
    return sorted(silent | stuck)


async def _page(
    request: OperatorRequest, *, code: HTTPStatus = HTTPStatus.OK, problem: str | None = None, values: Any = None
) -> Response:
    found = await request.parts.queries.read_snapshot(lambda connection: _find(request, connection))
    return render.page(
        request,
        "operator/restore.html",
        status=code,
        problem=problem,
        values=values or {},
        found=found,
        me=request.actor.name,
        routes=[(channel, type_) for channel in Channel for type_ in (Type.DISBURSEMENT, Type.COLLECTION)],
    )
