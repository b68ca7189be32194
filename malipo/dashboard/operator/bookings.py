"""Approves top-ups, settlements and transfers by a second operator (maker and checker). The rules are those of
`malipo/approvals/booking_approval.py`.

Each form contains the booking's id, so an operator can only approve the amount that the page showed.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import NamedTuple

from starlette.responses import Response

from malipo.approvals import booking_approval
from malipo.approvals.booking_approval import NotOpen, NotProposed, ProposedBooking
from malipo.books.entry import EntryKind
from malipo.dashboard import form_errors, render
from malipo.dashboard.operator.proposal_pages import is_alone
from malipo.dashboard.operator.request import OperatorRequest
from malipo.db import Conn
from malipo.errors import Refusal
from malipo.ledger.bank_bookings import BankBookingKind
from malipo.merchants.store import merchants
from malipo.operators import store as operators
from malipo.words import books

_PATH = "/operator/bookings"
# Never a reference: that may meanwhile stand for another sum.
_ID = re.compile(f"({'|'.join(booking_approval.ID_PREFIXES)})[0-9A-Za-z]+")


class BookingRow(NamedTuple):
    proposal: ProposedBooking
    merchant: str | None  # None: a transfer of the house
    is_mine: bool


async def show(request: OperatorRequest) -> Response:
    return await _page(request)


async def approve(request: OperatorRequest) -> Response:
    act = await approving(request)
    return await decide(request, act, "booking-approved", _ID, _PATH, _page)


async def approving(request: OperatorRequest) -> Callable[..., Awaitable[ProposedBooking]]:
    """Whether another operator approves, or the only operator decides alone, by the form."""
    return partial(booking_approval.approve, is_single_operator=is_alone(await request.form()))


async def reject(request: OperatorRequest) -> Response:
    return await decide(request, booking_approval.reject, "booking-rejected", _ID, _PATH, _page)


async def decide(
    request: OperatorRequest,
    act: Callable[..., Awaitable[ProposedBooking]],
    notice: str,
    ids: re.Pattern[str],
    path: str,
    page: Callable[..., Awaitable[Response]],
) -> Response:
    """Approve or reject the booking that the form names, if its id is one of those that `page` shows."""
    booking = (await request.form()).text("booking")
    try:
        if not ids.fullmatch(booking):
            raise NotProposed(booking)
        await request.parts.queries.write(lambda tx: act(tx, booking, actor=request.actor, now=request.parts.clock()))
    except (NotOpen, NotProposed):
        return await page(request, status=HTTPStatus.CONFLICT, problem=request.words(form_errors.CHANGED))
    except Refusal as refusal:
        problem = form_errors.of_refusal(request.words, refusal)
        return await page(request, status=form_errors.status_of(refusal), problem=problem)
    return request.go(path, notice)


async def _page(
    request: OperatorRequest, *, status: HTTPStatus = HTTPStatus.OK, problem: str | None = None
) -> Response:
    async def find(connection: Conn) -> tuple[list[ProposedBooking], Mapping[str, str], int]:
        found = await booking_approval.find_open(connection)
        names = await merchants.find_names(connection, [each.merchant_id for each in found])
        return found, names, await operators.count(connection)

    found, names, number = await request.parts.queries.read_snapshot(find)
    rows = [
        BookingRow(each, names.get(each.merchant_id or ""), each.requested_by == request.actor.name) for each in found
    ]
    return render.page(
        request,
        "operator/bookings.html",
        status=status,
        problem=problem,
        rows=rows,
        house_kinds={kind: request.words(books.ENTRIES[EntryKind(kind)]) for kind in BankBookingKind},
        is_only=number == 1,
        amount=request.parts.settings.booking_approval_amount,
    )
