"""The history of bookings, with filters: of wallets and of the house, with who booked and who approved."""

from collections.abc import Mapping
from urllib.parse import urlencode

from starlette.responses import Response

from malipo.approvals import booking_history
from malipo.approvals.booking_history import KINDS, BookingFilter, PastBooking
from malipo.books.entry import EntryKind
from malipo.dashboard import form_errors, render
from malipo.dashboard.language import Translator
from malipo.dashboard.operator.books_words import account_names
from malipo.dashboard.operator.request import OperatorRequest
from malipo.dashboard.typed_days import begin_of, end_of, first_and_last
from malipo.dashboard.urls import key_in
from malipo.db import Conn
from malipo.merchants.store import merchants
from malipo.validation.fields import Fields
from malipo.words import books

PATH = "/operator/bookings/history"

_FILTERS = ("kind", "merchant", "reference", "from", "to")
_PER_PAGE = 50
_MOST_TYPED = 100


def kind_words(words: Translator) -> dict[str, str]:
    return {kind: words(books.ENTRIES[EntryKind(kind)]) for kind in KINDS}


async def show(request: OperatorRequest) -> Response:
    query, before = request.http.query_params, key_in(request)
    typed = {name: value for name in _FILTERS if (value := query.get(name, "").strip())}
    fields = Fields(typed)
    for name in ("merchant", "reference"):
        fields.text(name, most=_MOST_TYPED)
    first, last = first_and_last(fields)
    wanted = BookingFilter(
        kind=typed["kind"] if typed.get("kind") in KINDS else None,
        reference=typed.get("reference"),
        first=begin_of(first),
        last=end_of(last),
    )
    is_right = fields.problem is None

    async def find(connection: Conn) -> tuple[list[PastBooking], Mapping[str, str]]:
        names = await merchants.find_names(connection)
        if not is_right:
            return [], names
        chosen = _merchant_of(typed.get("merchant"), names)
        if chosen == "":
            return [], names
        whole = BookingFilter(
            kind=wanted.kind, reference=wanted.reference, first=wanted.first, last=wanted.last, merchant_id=chosen
        )
        return await booking_history.find(connection, whole, before=before, limit=_PER_PAGE + 1), names

    found, names = await request.parts.queries.read_snapshot(find, is_search=bool(typed))
    shown = found[:_PER_PAGE]
    return render.page(
        request,
        "operator/booking_history.html",
        status=200 if is_right else 400,
        rows=shown,
        names=names,
        kinds=kind_words(request.words),
        accounts=account_names(request.words),
        typed=typed,
        problems=form_errors.in_words(request.words, fields),
        path=PATH,
        older=f"{PATH}?{urlencode(typed | {'before': shown[-1].id})}" if len(found) > _PER_PAGE else None,
        newest=f"{PATH}?{urlencode(typed)}" if before else None,
    )


def _merchant_of(typed: str | None, names: Mapping[str, str]) -> str | None:
    """The id, of an id or a part of the name that one merchant has; empty: of none or of several."""
    if typed is None or typed in names:
        return typed
    found = [id_ for id_, name in names.items() if typed.casefold() in name.casefold()]
    return found[0] if len(found) == 1 else ""
