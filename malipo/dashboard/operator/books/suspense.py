"""/operator/books/suspense: every shilling in suspense with its cause, the oldest first, and the sums by age.

An operator proposes that money of a booking is a merchant's; another one approves it among the bookings.
"""

from http import HTTPStatus

from starlette.responses import Response

from malipo import money
from malipo.approvals import booking_approval
from malipo.approvals.booking_approval import BookingResult
from malipo.books import suspense
from malipo.books.suspense import SuspenseItem
from malipo.dashboard import form_errors, render
from malipo.dashboard.forms import Form
from malipo.dashboard.operator.books import own_snapshot
from malipo.dashboard.operator.request import OperatorRequest
from malipo.db import Tx
from malipo.errors import Refusal
from malipo.ledger.bookings import Booking, BookingKind
from malipo.merchants import onboard
from malipo.validation.typed_values import amount_of
from malipo.words import books as words

PATH = "/operator/books/suspense"
_MOST_SHOWN = 500
_MOST = 10**15


async def show(request: OperatorRequest) -> Response:
    return await _page(request)


async def release(request: OperatorRequest) -> Response:
    """Propose to credit money of a booking to a merchant: always for a second operator."""
    form = await request.form()
    errors, amount = _mistakes(request, form), amount_of(form.text("amount"))
    if errors or isinstance(amount, str):
        return await _page(request, status=HTTPStatus.BAD_REQUEST, typed=form.values(), errors=errors)

    async def act(tx: Tx) -> BookingResult:
        merchant_id = await onboard.find_merchant(tx, form.text("merchant"))
        booking = Booking(
            BookingKind.SUSPENSE_RELEASE, merchant_id, amount, form.text("reference"), form.text("booking")
        )
        limit = request.parts.settings.booking_approval_amount
        return await booking_approval.request(
            tx, booking, approval_amount=limit, actor=request.actor, now=request.parts.clock()
        )

    try:
        await request.parts.queries.write(act)
    except Refusal as refusal:
        problem = form_errors.of_refusal(request.words, refusal)
        return await _page(request, status=form_errors.status_of(refusal), typed=form.values(), problem=problem)
    return request.go(PATH, "suspense-proposed")


def _mistakes(request: OperatorRequest, form: Form) -> dict[str, str]:
    wrong, amount, reference = {}, amount_of(form.text("amount")), form.text("reference")
    if isinstance(amount, str) or amount > _MOST:
        wrong["amount"] = form_errors.sentence(request.words, "amount_invalid")
    elif amount < 1:
        wrong["amount"] = form_errors.sentence(request.words, "amount_too_small", {"least": 1})
    if not form.text("merchant"):
        wrong["merchant"] = request.words("Type the merchant's name or id.")
    if not 1 <= len(reference) <= 100 or not reference.isprintable():
        wrong["reference"] = request.words("The reference has 1 to 100 characters.")
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
    found = await own_snapshot.read(request, lambda connection: suspense.find(connection, now=now))
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
            (each.cause, f"{each.since} · {causes.get(each.kind, '')} · {money.display(each.amount)} · {each.cause}")
            for each in found.items
            if _is_releasable(each)
        ][:_MOST_SHOWN],
        typed=typed or {},
        errors=errors or {},
        problem=problem,
    )
