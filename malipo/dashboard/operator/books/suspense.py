"""/operator/books/suspense: every shilling in suspense with its cause, the oldest first, and the sums by age.

An operator proposes that money of a booking is a merchant's, or that it was not; another one approves it among the
bookings.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import NamedTuple

from starlette.responses import Response

from malipo import money
from malipo.approvals import booking_approval
from malipo.approvals.booking_approval import BookingResult
from malipo.books import suspense
from malipo.books.suspense import ReleasedItem, SuspenseItem, SuspenseList
from malipo.dashboard import form_errors, render
from malipo.dashboard.forms import Form
from malipo.dashboard.operator.books import own_snapshot
from malipo.dashboard.operator.request import OperatorRequest
from malipo.db import Conn, Tx
from malipo.errors import Refusal
from malipo.ledger.bookings import Booking, BookingKind
from malipo.merchants import onboard
from malipo.merchants.store import merchants
from malipo.validation.typed_values import amount_of
from malipo.words import books as words

PATH = "/operator/books/suspense"
_MOST_SHOWN = 500
_MOST = 10**15


class _Found(NamedTuple):
    suspense: SuspenseList
    released: Sequence[ReleasedItem]
    names: Mapping[str, str]  # of merchants


async def show(request: OperatorRequest) -> Response:
    return await _page(request)


async def release(request: OperatorRequest) -> Response:
    """Propose to credit money of a booking to a merchant: always for a second operator."""
    form = await request.form()
    errors = _mistakes(request, form, amount="amount", reference="reference")
    if not form.text("merchant"):
        errors["merchant"] = request.words("Type the merchant's name or id.")

    async def find(tx: Tx, amount: int) -> Booking:
        merchant_id = await onboard.find_merchant(tx, form.text("merchant"))
        reference, kind = form.text("reference"), BookingKind.SUSPENSE_RELEASE
        return Booking(kind, merchant_id, amount, reference, form.text("booking"))

    return await _propose(request, form, errors, amount_of(form.text("amount")), find, "suspense-proposed")


async def take_back(request: OperatorRequest) -> Response:
    """Propose to take back what was credited to the wrong merchant: always for a second operator."""
    form = await request.form()
    errors = _mistakes(request, form, amount="back", reference="backReference")

    async def find(tx: Tx, amount: int) -> Booking:
        booking, _, merchant = form.text("released").partition(" ")
        merchant_id = await onboard.find_merchant(tx, merchant)
        return Booking(BookingKind.SUSPENSE_TAKE_BACK, merchant_id, amount, form.text("backReference"), booking)

    return await _propose(request, form, errors, amount_of(form.text("back")), find, "suspense-take-back")


async def _propose(
    request: OperatorRequest,
    form: Form,
    errors: Mapping[str, str],
    amount: int | str,
    find: Callable[[Tx, int], Awaitable[Booking]],
    notice: str,
) -> Response:
    if errors or isinstance(amount, str):
        return await _page(request, status=HTTPStatus.BAD_REQUEST, typed=form.values(), errors=errors)

    async def act(tx: Tx) -> BookingResult:
        limit, booking = request.parts.settings.booking_approval_amount, await find(tx, amount)
        return await booking_approval.request(
            tx, booking, approval_amount=limit, actor=request.actor, now=request.parts.clock()
        )

    try:
        done = await request.parts.queries.write(act)
    except Refusal as refusal:
        problem = form_errors.of_refusal(request.words, refusal)
        return await _page(request, status=form_errors.status_of(refusal), typed=form.values(), problem=problem)
    return request.go(PATH, notice if done.proposal is not None else "suspense-booked-before")


def _mistakes(request: OperatorRequest, form: Form, *, amount: str, reference: str) -> dict[str, str]:
    """What is wrong about what was typed into the fields of these names."""
    wrong, shillings, named = {}, amount_of(form.text(amount)), form.text(reference)
    if isinstance(shillings, str) or shillings > _MOST:
        wrong[amount] = form_errors.sentence(request.words, "amount_invalid")
    elif shillings < 1:
        wrong[amount] = form_errors.sentence(request.words, "amount_too_small", {"least": 1})
    if not 1 <= len(named) <= 100 or not named.isprintable():
        wrong[reference] = request.words("The reference has 1 to 100 characters.")
    return wrong


def _is_releasable(item: SuspenseItem) -> bool:
    """Whether operators may move this amount out of suspense: only amounts of house bookings. Payments and settlements
    are resolved on their own pages."""
    return not item.merchant_id and item.amount > 0


async def _page(
    request: OperatorRequest,
    *,
    status: int = HTTPStatus.OK,
    typed: object = None,
    errors: object = None,
    problem: str | None = None,
) -> Response:
    now = request.parts.clock()

    # The balance is the sum of all moves: more than a page's statement may read.
    async def find(connection: Conn) -> _Found:
        released = await suspense.find_released(connection, limit=_MOST_SHOWN)
        names = await merchants.find_names(connection, [each.merchant_id for each in released])
        return _Found(await suspense.find(connection, now=now), released, names)

    found, released, names = await own_snapshot.read(request, find)
    causes = {kind: request.words(sentence) for kind, sentence in words.SUSPENSE_CAUSES.items()}
    return render.page(
        request,
        "operator/books/suspense.html",
        status=status,
        found=found,
        items=found.items[:_MOST_SHOWN],
        is_cut=len(found.items) > _MOST_SHOWN,
        causes=causes,
        releasable=[
            (each.cause, f"{money.display(each.amount)} · {each.since} · {causes.get(each.kind, '')} · {each.cause}")
            for each in found.items
            if _is_releasable(each)
        ][:_MOST_SHOWN],
        released=[
            (
                f"{each.cause} {each.merchant_id}",
                f"{money.display(each.amount)} · {names.get(each.merchant_id, each.merchant_id)} · {each.day}"
                f" · {each.cause}",
            )
            for each in released
        ],
        typed=typed or {},
        errors=errors or {},
        problem=problem,
    )
