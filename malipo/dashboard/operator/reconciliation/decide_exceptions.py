"""Deciding about exceptions, one or many at once: propose, approve, reject and undo. All of them, or none.

The rules are those of `reconciliation/exceptions/resolve_exceptions.py`. Each form names what was shown, and is
refused if that has changed.
"""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from malipo import typed_reason
from malipo.dashboard import form_errors
from malipo.dashboard.forms import Form
from malipo.dashboard.operator.proposal_pages import is_alone
from malipo.dashboard.operator.reconciliation import exceptions as pages
from malipo.dashboard.operator.reconciliation.exception_effects import ADOPTION, TITLES, needs_look, terms_of
from malipo.dashboard.operator.request import OperatorRequest
from malipo.dashboard.urls import id_in
from malipo.db import Tx
from malipo.errors import Conflict, Refusal
from malipo.outbox.event import EVENTS_TOPIC
from malipo.reconciliation.exceptions.action import Action
from malipo.reconciliation.exceptions.refusals import ExceptionRefusal
from malipo.reconciliation.exceptions.resolve_exceptions import NoSuchException, ResolveExceptions
from malipo.reconciliation.exceptions.store import resolutions
from malipo.reconciliation.matching.exception import ExceptionState, ReconciliationException
from malipo.reconciliation.matching.store import exceptions, matching
from malipo.restore.installation import IntakeClosed
from malipo.words import say

_CHOICE = "Choose what is to be done."
_REASON, _PAYMENT, _MERCHANT = (
    say.SENTENCES[code]
    for code in (ExceptionRefusal.REASON, ExceptionRefusal.NEEDS_PAYMENT, ExceptionRefusal.NEEDS_MERCHANT)
)
_MOST_TEXT = 100
_MOST_KEY = 255

SENTENCES = [_CHOICE]


async def propose(request: OperatorRequest) -> Response:
    """Propose one action for all chosen exceptions. Where one operator is enough, it is applied at once."""
    form = await request.form()
    reason = " ".join(form.text("reason").split())
    if errors := _mistakes(request, form, reason):
        return await _again(request, form, HTTPStatus.BAD_REQUEST, errors=errors)
    action = form.text("choice").partition(":")[0]
    terms = terms_of(form.text("choice"), form.values())
    # Where a payment or a merchant had to be named, what it changes is known only now: it is shown first.
    is_look = needs_look(form.text("choice"), terms) and not form.text("shown") and len(form.all("exception")) == 1

    async def act(tx: Tx, resolve: ResolveExceptions, id_: str) -> ReconciliationException:
        return await resolve.propose(
            tx, id_, Action(action), terms, reason=reason, actor=request.actor, now=request.parts.clock()
        )

    try:
        return await _done(request, form, act, "", is_look=is_look)
    except _PreviewOnly:
        return await _again(request, form, HTTPStatus.OK, is_look=True)


class _PreviewOnly(Exception):  # noqa: N818 - it only ends the transaction.
    """Ends the transaction of a preview, so that nothing is stored."""


def _mistakes(request: OperatorRequest, form: Form, reason: str) -> dict[str, str]:
    wrong, choice = {}, form.text("choice")
    if choice not in TITLES or choice == Action.UNDO:
        wrong["choice"] = request.words(_CHOICE)
    if not typed_reason.is_within(reason, typed_reason.EVIDENCE):
        wrong["reason"] = request.words(_REASON)
    needed = {"match": ("payment", _PAYMENT), "adopt": ("merchant", _MERCHANT)}.get(choice)
    if needed is not None and not form.text(needed[0]):
        wrong[needed[0]] = request.words(needed[1])
    for name in ("payment", *ADOPTION):
        most = _MOST_KEY if name == "idempotency_key" else _MOST_TEXT
        if len(form.text(name)) > most or not form.text(name).isprintable():
            wrong[name] = form_errors.sentence(request.words, "text_too_long", {"most": most})
    return wrong


async def approve(request: OperatorRequest) -> Response:
    form = await request.form()

    async def act(tx: Tx, resolve: ResolveExceptions, id_: str) -> ReconciliationException:
        # All are compared with what the page showed before the first is approved: each may change what the next moves.
        now = request.parts.clock()
        return await resolve.approve(tx, id_, actor=request.actor, now=now, is_single_operator=is_alone(form))

    return await _done(request, form, act, "exceptions-approved", is_approval=True)


async def reject(request: OperatorRequest) -> Response:
    form = await request.form()

    async def act(tx: Tx, resolve: ResolveExceptions, id_: str) -> ReconciliationException:
        return await resolve.reject(tx, id_, actor=request.actor, now=request.parts.clock())

    return await _done(request, form, act, "exceptions-rejected")


async def undo(request: OperatorRequest) -> Response:
    form = await request.form()
    reason, exception_id = " ".join(form.text("reason").split()), id_in(request)
    if not typed_reason.is_within(reason, typed_reason.EVIDENCE):
        errors = {"reason": request.words(_REASON)}
        return await pages.page(
            request, exception_id, status=HTTPStatus.BAD_REQUEST, values=form.values(), errors=errors
        )

    async def act(tx: Tx, resolve: ResolveExceptions, id_: str) -> ReconciliationException:
        return await resolve.undo(tx, id_, reason=reason, actor=request.actor, now=request.parts.clock())

    return await _done(request, form, act, "exceptions-undone")


Act = Callable[[Tx, ResolveExceptions, str], Awaitable[ReconciliationException]]


async def _done(
    request: OperatorRequest, form: Form, act: Act, notice: str, *, is_look: bool = False, is_approval: bool = False
) -> Response:
    chosen = pages.ids_in(form.all("exception"))
    seen, shown, codes = (
        dict(each.partition(" ")[::2] for each in form.all(name)) for name in ("seen", "shown", "code")
    )
    resolve = ResolveExceptions.of(request.parts.settings, request.parts.clock)

    async def act_on_all(tx: Tx) -> list[ReconciliationException]:
        if not chosen:
            raise Conflict(form_errors.CHANGED)
        await matching.lock_for_decision(tx)
        for each in chosen:
            await _require_as_seen(tx, each, seen.get(each, ""))
            if is_approval:
                await _require_code(tx, resolve, each, codes.get(each, ""))
            elif each in shown:
                await _require_as_shown(request, tx, form, each, shown[each])
        done = [await act(tx, resolve, each) for each in chosen]
        if is_look:
            raise _PreviewOnly
        return done

    try:
        done = await request.parts.queries.write(act_on_all)
    except NoSuchException:
        raise
    except Refusal as refusal:
        problem = form_errors.of_refusal(request.words, refusal)
        return await _again(request, form, form_errors.status_of(refusal), problem=problem)
    except IntakeClosed as closed:
        problem = form_errors.sentence(request.words, closed.code)
        return await _again(request, form, HTTPStatus.SERVICE_UNAVAILABLE, problem=problem)
    request.parts.notifier.notify(EVENTS_TOPIC)
    is_waiting = any(each.state is ExceptionState.PROPOSED for each in done)
    notice = "exceptions-proposed" if is_waiting else notice or "exceptions-approved"
    return request.go(f"{pages.PATH}/{chosen[0]}" if len(chosen) == 1 else pages.PATH, notice)


async def _require_as_seen(tx: Tx, exception_id: str, seen: str) -> None:
    """Its state, and the id of what is proposed, if anything is: as they stood on the page."""
    found = await exceptions.get(tx, exception_id)
    if found is None:
        raise NoSuchException(exception_id)
    open_ = [each.id for each in await resolutions.find(tx, exception_id) if each.decided_at is None]
    if " ".join([found.state, *open_]) != seen:
        raise Conflict(form_errors.CHANGED)


async def _require_code(tx: Tx, resolve: ResolveExceptions, exception_id: str, code: str) -> None:
    """Refuse a form whose code does not match what the page showed of the proposal and its subject."""
    proposal = await resolutions.find_proposal(tx, exception_id)
    if proposal is None or await resolve.find_code(tx, proposal) != code:
        raise Conflict(form_errors.CHANGED)


async def _require_as_shown(request: OperatorRequest, tx: Tx, form: Form, exception_id: str, shown: str) -> None:
    """Refuse if the effects are no longer those that the page showed."""
    exception = await exceptions.get(tx, exception_id)
    assert exception is not None
    effects = await pages.effects_of(request, tx)
    choice = form.text("choice")
    now = await effects.find([exception], choice, terms_of(choice, form.values()))
    if now.fingerprint != shown:
        raise Conflict(form_errors.CHANGED)


async def _again(request: OperatorRequest, form: Form, status: HTTPStatus, **shown: Any) -> Response:
    """The page that the form was sent from."""
    chosen = pages.ids_in(form.all("exception"))
    values = form.values()
    if len(chosen) == 1:
        return await pages.page(request, chosen[0], status=status, values=values, **shown)
    if not chosen:
        return await pages.list_page(request, status=status, problem=shown.get("problem"))
    return await pages.chosen_page(request, chosen, status=status, values=values, **shown)
