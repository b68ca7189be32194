"""Top-ups and settlements that wait for a second operator. The rules are those of `malipo/bookings.py`.

Each form names the booking by its id, so nobody approves another sum than the one they saw.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import NamedTuple

from starlette.responses import Response

from malipo import bookings
from malipo.bookings import NotOpen, NotProposed
from malipo.dashboard import draw, mistakes
from malipo.dashboard.operator.visit import OperatorVisit
from malipo.db import Conn
from malipo.errors import Conflict, Forbidden, Refusal
from malipo.ledger.store import proposals
from malipo.ledger.store.proposals import Proposal
from malipo.merchants.store import merchants

_PATH = "/operator/bookings"
# Never a reference: that may meanwhile stand for another sum.
_ID = re.compile(proposals.ID_PREFIX + "[0-9A-Za-z]+")
_CHANGED = "It has changed since you looked. Look at it again."

SENTENCES = [_CHANGED, "Whoever proposed it cannot approve it: it takes two operators."]


class Row(NamedTuple):
    proposal: Proposal
    merchant: str
    is_mine: bool


async def show(visit: OperatorVisit) -> Response:
    return await _page(visit)


async def approve(visit: OperatorVisit) -> Response:
    return await _decide(visit, bookings.approve, "booking-approved")


async def reject(visit: OperatorVisit) -> Response:
    return await _decide(visit, bookings.reject, "booking-rejected")


async def _decide(visit: OperatorVisit, decide: Callable[..., Awaitable[Proposal]], notice: str) -> Response:
    form = await visit.form()
    booking = form.text("booking")
    try:
        if not _ID.fullmatch(booking):
            raise NotProposed(booking)
        await visit.service.write(lambda tx: decide(tx, booking, actor=visit.actor, now=visit.service.clock()))
    except (NotOpen, NotProposed):
        return await _page(visit, status=HTTPStatus.CONFLICT, problem=visit.words(_CHANGED))
    except Refusal as refusal:
        return await _page(visit, status=_status(refusal), problem=mistakes.of_refusal(visit.words, refusal))
    return visit.go(_PATH, notice)


def _status(refusal: Refusal) -> HTTPStatus:
    match refusal:
        case Forbidden():
            return HTTPStatus.FORBIDDEN
        case Conflict():
            return HTTPStatus.CONFLICT
        case _:
            return HTTPStatus.BAD_REQUEST


async def _page(visit: OperatorVisit, *, status: HTTPStatus = HTTPStatus.OK, problem: str | None = None) -> Response:
    async def find(connection: Conn) -> tuple[list[Proposal], Mapping[str, str]]:
        found = await proposals.find_all_open(connection)
        return found, {each.id: each.name for each in await merchants.find_all(connection)} if found else {}

    found, names = await visit.service.read_snapshot(find)
    rows = [Row(each, names[each.merchant_id], each.proposed_by == visit.actor.who) for each in found]
    return draw.page(
        visit,
        "operator/bookings.html",
        status=status,
        problem=problem,
        rows=rows,
        amount=visit.service.settings.booking_approval_amount,
    )
