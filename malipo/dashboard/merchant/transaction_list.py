"""The list of transactions: every filter of the API, keyset pagination, no totals."""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from urllib.parse import urlencode

from starlette.responses import Response

from malipo.clock import ZONE
from malipo.dashboard import form_errors, render
from malipo.dashboard.merchant import search_input
from malipo.dashboard.merchant.date_presets import presets
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.db import Conn
from malipo.networks.channel_names_and_prefixes import PROFILES
from malipo.payments.listing import by_reference, keyset_pagination, sums
from malipo.payments.listing.filters import TransactionFilter, filter_in
from malipo.payments.listing.keyset_pagination import TransactionPage, most_looked_through
from malipo.payments.listing.sums import Sums
from malipo.payments.store import transactions
from malipo.payments.transaction import Type
from malipo.validation.fields import Fields

PATH = "/dashboard/transactions"
FILTERS = ("search", "status", "type", "channel", "from", "to", "link")

# A refund is a payout of its own kind here; in the API it is a DISBURSEMENT like any other.
KINDS = {"PAYOUT": False, "REFUND": True}

_PER_PAGE = 25
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_ID = re.compile(r"txn_[0-9a-z]{26}")
_WHOLE_REFERENCE = re.compile(r"[A-Z0-9]{1,16}-[0-9A-Z]{16}")


@dataclass(frozen=True, slots=True)
class TransactionListQuery:
    """The filters: as they were typed, as the store takes them, and what is wrong with them."""

    typed: Mapping[str, str]
    wanted: TransactionFilter
    fields: Fields


def query_in(query: Mapping[str, str]) -> TransactionListQuery:
    typed = {name: value for name in FILTERS if (value := query.get(name, "").strip())}
    days = {name: _local(typed[name], is_end=name == "to") for name in ("from", "to") if name in typed}
    is_refund = KINDS.get(typed.get("type", ""))
    kind = {} if is_refund is None else {"type": Type.DISBURSEMENT.value}
    fields = Fields(typed | days | kind)
    wanted = dataclasses.replace(filter_in(fields, search_of=search_input.term_of), is_refund=is_refund)
    fields.check_range(wanted.first, wanted.last)
    return TransactionListQuery(typed, wanted, fields)


async def show(request: MerchantRequest) -> Response:
    query = request.http.query_params
    list_query = query_in(query)
    is_right = list_query.fields.problem is None
    before, after = (_key_in(query.get(name, "")) for name in ("before", "after"))
    looked_for = await filter_of(request, list_query) if is_right else TransactionFilter()
    page = await _page(request, looked_for, before, after) if is_right else TransactionPage([])
    refunded = await _refunded(request, page)
    today = request.parts.clock().astimezone(ZONE).date()
    return render.page(
        request,
        "merchant/transactions.html",
        status=200 if is_right else 400,
        page=page,
        refunded=refunded,
        sums=await _sums(request, looked_for) if is_right and list_query.typed else None,
        presets=[
            (name, _link(list_query, **{"from": first, "to": last}), _is_chosen(list_query, first, last))
            for name, first, last in presets(today)
        ],
        most_summed=f"{sums.MOST_READ:,}",
        shows_receipt=looked_for.provider_reference is not None or looked_for.receipt_begins is not None,
        amount=_amount_beside(list_query, looked_for),
        without_filters=_only_search(list_query),
        folded=sum(name in list_query.typed for name in FILTERS if name not in ("search", "link")),
        typed=list_query.typed,
        problems=form_errors.in_words(request.words, list_query.fields),
        channels=[(channel, profile.name) for channel, profile in PROFILES.items()],
        looked_through=f"{most_looked_through(list_query.wanted):,}",
        older=_link(list_query, before=page.older) if page.older else None,
        newer=_link(list_query, after=page.newer) if page.newer else None,
        csv=f"{PATH}.csv" + (f"?{urlencode(list_query.typed)}" if list_query.typed else ""),
        xlsx=f"{PATH}.xlsx" + (f"?{urlencode(list_query.typed)}" if list_query.typed else ""),
    )


async def _page(
    request: MerchantRequest, wanted: TransactionFilter, before: str | None, after: str | None
) -> TransactionPage:
    if wanted.is_exact:
        return await _page_of_exact(request, dataclasses.replace(wanted, before=before))
    name = _whole_name(wanted)
    if name is not None:
        # A complete reference or id is looked up directly, whatever its age.
        found = await request.parts.queries.read(
            lambda connection: transactions.get(connection, request.merchant_id, name)
        )
        if found is not None:
            return TransactionPage([found])
    return await request.parts.queries.read_snapshot(
        lambda connection: keyset_pagination.page(
            connection, request.merchant_id, wanted, before=before, after=after, limit=_PER_PAGE
        ),
        is_search=wanted != TransactionFilter(),
        # The newest page updates automatically. A notification could arrive, and the page be fetched, before a standby
        # has the change.
        may_lag=wanted.search is not None or before is not None,
    )


def _is_chosen(list_query: TransactionListQuery, first: str, last: str) -> bool:
    return (list_query.typed.get("from"), list_query.typed.get("to")) == (first, last)


async def _sums(request: MerchantRequest, looked_for: TransactionFilter) -> Sums:
    return await request.parts.queries.read_snapshot(
        lambda connection: sums.find(connection, request.merchant_id, looked_for), is_search=True, may_lag=True
    )


async def filter_of(request: MerchantRequest, list_query: TransactionListQuery) -> TransactionFilter:
    """With what the search means instead of its text, if that is a receipt, an order reference or an amount."""
    wanted, typed = list_query.wanted, list_query.typed.get("search", "")
    if not typed or _whole_name(wanted) is not None:
        return wanted
    without = dataclasses.replace(wanted, search=None)
    amount = search_input.amount_in(typed)
    if amount is not None:
        return dataclasses.replace(without, amount=amount)

    async def has(connection: Conn, each: TransactionFilter) -> bool:
        if each.is_exact:
            return bool((await by_reference.page(connection, request.merchant_id, each, offset=0, limit=1))[1])
        return bool((await keyset_pagination.page(connection, request.merchant_id, each, limit=1)).transactions)

    async def find(connection: Conn) -> TransactionFilter:
        exactly = [_narrowed(without, each) for each in search_input.exactly(typed)]
        otherwise = [_narrowed(without, each) for each in search_input.otherwise(typed)]
        for each in (*exactly, *([wanted, *otherwise] if otherwise else [])):
            if await has(connection, each):
                return each
        return wanted

    return await request.parts.queries.read_snapshot(find, is_search=True)


def _narrowed(without: TransactionFilter, by: TransactionFilter) -> TransactionFilter:
    return dataclasses.replace(
        without,
        search=by.search,
        order_reference=by.order_reference,
        provider_reference=by.provider_reference,
        receipt_begins=by.receipt_begins,
        amount=by.amount,
    )


async def _refunded(request: MerchantRequest, page: TransactionPage) -> dict[str, int]:
    """How much of each of these collections the customer has back."""
    collections = [each.id for each in page.transactions if each.type is Type.COLLECTION]
    if not collections:
        return {}
    found = await request.parts.queries.read(
        lambda connection: transactions.find_refunds(connection, request.merchant_id, collections)
    )
    amounts = {id_: sum(each.amount for each in refunds if each.is_paid) for id_, refunds in found.items()}
    return {id_: amount for id_, amount in amounts.items() if amount}


async def _page_of_exact(request: MerchantRequest, wanted: TransactionFilter) -> TransactionPage:
    _, found = await request.parts.queries.read_snapshot(
        lambda connection: by_reference.page(connection, request.merchant_id, wanted, offset=0, limit=_PER_PAGE + 1),
        is_search=True,
    )
    shown = found[:_PER_PAGE]
    return TransactionPage(shown, older=shown[-1].id if len(found) > _PER_PAGE else None)


def _whole_name(wanted: TransactionFilter) -> str | None:
    if wanted.search is None or wanted != TransactionFilter(search=wanted.search):
        return None
    if _ID.fullmatch(wanted.search):
        return wanted.search
    reference = wanted.search.upper()
    return reference if _WHOLE_REFERENCE.fullmatch(reference) else None


def _amount_beside(list_query: TransactionListQuery, looked_for: TransactionFilter) -> tuple[int, str] | None:
    """A number without a separator can be an amount too: that, and the link to look for it."""
    typed = list_query.typed.get("search", "")
    if not typed.isascii() or not typed.isdigit() or typed[0] == "0" or not 3 <= len(typed) <= 8:
        return None
    return None if looked_for.amount else (int(typed), _link(list_query, search=f"{int(typed):,}"))


def _only_search(list_query: TransactionListQuery) -> str | None:
    """The link to look for the same in everything, if other filters are set."""
    typed = list_query.typed.get("search")
    return f"{PATH}?{urlencode({'search': typed})}" if typed and len(list_query.typed) > 1 else None


def _link(list_query: TransactionListQuery, **key: str) -> str:
    return f"{PATH}?{urlencode(dict(list_query.typed) | key)}"


def _key_in(text: str) -> str | None:
    """The id beside which a page begins; None if the text cannot be an id."""
    return text if _ID.fullmatch(text) else None


def _local(text: str, *, is_end: bool) -> str:
    """A day is a day in Dar es Salaam; anything else stays as it was typed, right or wrong."""
    if not _DATE.fullmatch(text):
        return text
    try:
        return datetime.combine(date.fromisoformat(text), time.max if is_end else time.min, ZONE).isoformat()
    except ValueError:
        return text
