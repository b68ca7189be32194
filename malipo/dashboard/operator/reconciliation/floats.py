"""Floats: what lies at each network by the ledger, what was seen there, and whether it covers the payouts.

An operator notes a reading, which moves nothing, and books transfers between a network and the bank; large ones take
two operators, by the rules of `malipo/approvals/booking_approval.py`.
"""

import re
from datetime import datetime
from http import HTTPStatus
from typing import Any, NamedTuple

from starlette.responses import Response

from malipo.approvals import booking_approval
from malipo.approvals.booking_approval import BookingResult, ProposedBooking
from malipo.dashboard import form_errors, render
from malipo.dashboard.forms import Form
from malipo.dashboard.operator import bookings
from malipo.dashboard.operator.reconciliation.statements import CHANNELS
from malipo.dashboard.operator.request import OperatorRequest
from malipo.db import Conn, Tx
from malipo.errors import Refusal
from malipo.floats import store
from malipo.floats.note_readings import note_seen
from malipo.floats.position import Position
from malipo.ledger import house_bookings
from malipo.ledger.transfers import Transfer, TransferKind
from malipo.networks.connector import Channel
from malipo.operators import store as operators
from malipo.validation.typed_values import amount_of

PATH = "/operator/floats"
_MOST = 10**15
_ID = re.compile(f"{house_bookings.ID_PREFIX}[0-9A-Za-z]+")

SENTENCES = {
    "account": "The account is up to 60 characters.",
    "reference": "The bank's reference has 1 to 100 characters.",
    "way": "Say which way it went.",
    "reused": "This reference of the bank's stands for another transfer.",
}


class FloatRow(NamedTuple):
    position: Position
    minutes: int | None  # since it was read
    cover: int
    low: int | None  # below which it is low
    is_low: bool


async def show(request: OperatorRequest) -> Response:
    return await _page(request)


async def note_reading(request: OperatorRequest) -> Response:
    form = await request.form()
    amount, errors = _amount_in(request, form, least=0), _mistakes(request, form)
    if isinstance(amount, str):
        errors["amount"] = amount
    if errors:
        return await _page(request, status=HTTPStatus.BAD_REQUEST, reading=form.values(), reading_errors=errors)

    async def act(tx: Tx) -> None:
        assert isinstance(amount, int)
        channel, account = Channel(form.text("channel")), form.text("account")
        await note_seen(tx, channel, account, amount, actor=request.actor, now=request.parts.clock())

    await request.parts.queries.write(act)
    return request.go(PATH, "reading-noted")


async def transfer(request: OperatorRequest) -> Response:
    """Book what went between a network and the bank, or propose it if it is more than one operator may book."""
    form = await request.form()
    amount, errors = _amount_in(request, form, least=1), _mistakes(request, form)
    reference = form.text("reference")
    if isinstance(amount, str):
        errors["amount"] = amount
    if not 1 <= len(reference) <= 100 or not reference.isprintable():
        errors["reference"] = _say(request, "reference")
    if form.text("way") not in TransferKind.__members__.values():
        errors["way"] = _say(request, "way")
    if errors or isinstance(amount, str):
        return await _page(request, status=HTTPStatus.BAD_REQUEST, transfer=form.values(), transfer_errors=errors)
    wanted = Transfer(
        TransferKind(form.text("way")), Channel(form.text("channel")), form.text("account"), amount, reference
    )

    async def act(tx: Tx) -> BookingResult:
        limit = request.parts.settings.booking_approval_amount
        return await booking_approval.request(
            tx, wanted, approval_amount=limit, actor=request.actor, now=request.parts.clock()
        )

    try:
        requested = await request.parts.queries.write(act)
    except Refusal as refusal:
        errors = {"reference": _say(request, "reused")}
        status = form_errors.status_of(refusal)
        return await _page(request, status=status, transfer=form.values(), transfer_errors=errors)
    return request.go(PATH, "transfer-booked" if requested.proposal is None else "transfer-proposed")


async def approve(request: OperatorRequest) -> Response:
    act = await bookings.approving(request)
    return await bookings.decide(request, act, "booking-approved", _ID, PATH, _page)


async def reject(request: OperatorRequest) -> Response:
    return await bookings.decide(request, booking_approval.reject, "booking-rejected", _ID, PATH, _page)


def _amount_in(request: OperatorRequest, form: Form, *, least: int) -> int | str:
    """The amount, or what is wrong with it."""
    amount = amount_of(form.text("amount"))
    if isinstance(amount, str) or amount > _MOST:
        return form_errors.sentence(request.words, "amount_invalid")
    return amount if amount >= least else form_errors.sentence(request.words, "amount_too_small", {"least": least})


def _mistakes(request: OperatorRequest, form: Form) -> dict[str, str]:
    wrong, account = {}, form.text("account")
    if form.text("channel") not in Channel.__members__.values():
        wrong["channel"] = form_errors.sentence(request.words, "channel_invalid")
    if len(account) > 60 or not account.isprintable():
        wrong["account"] = _say(request, "account")
    return wrong


async def _page(
    request: OperatorRequest, *, status: HTTPStatus = HTTPStatus.OK, problem: str | None = None, **typed: Any
) -> Response:
    async def find(connection: Conn) -> tuple[list[Position], list[ProposedBooking], int]:
        found = await booking_approval.find_open(connection)
        proposals = [each for each in found if isinstance(each.booking, Transfer)]
        return await store.find_positions(connection), proposals, await operators.count(connection)

    positions, proposals, number = await request.parts.queries.read_snapshot(find)
    low, now = dict(request.parts.settings.float_low), request.parts.clock()
    forms: dict[str, Any] = {"reading": {}, "reading_errors": {}, "transfer": {}, "transfer_errors": {}}
    return render.page(
        request,
        "operator/reconciliation/floats.html",
        status=status,
        problem=problem,
        rows=[_row(each, low.get(each.channel), now) for each in positions],
        proposals=[(each, each.requested_by == request.actor.name) for each in proposals],
        channels=CHANNELS,
        is_only=number == 1,
        limit=request.parts.settings.booking_approval_amount,
        **forms | typed,
    )


def _row(position: Position, low: int | None, now: datetime) -> FloatRow:
    cover = position.cover(now)
    minutes = None if position.read_at is None else max(int((now - position.read_at).total_seconds()) // 60, 0)
    return FloatRow(position, minutes, cover, low, cover < (0 if low is None else low))


def _say(request: OperatorRequest, name: str) -> str:
    return request.words(SENTENCES[name])
