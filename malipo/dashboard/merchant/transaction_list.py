"""The list of transactions: every filter of the API, keyset pagination, no totals."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from urllib.parse import urlencode

from starlette.responses import Response

from malipo.clock import ZONE
from malipo.dashboard import form_errors, render
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.networks.channels import PROFILES
from malipo.payments.listing import filters, keyset_pagination
from malipo.payments.listing.filters import TransactionFilter, filter_in
from malipo.payments.listing.keyset_pagination import TransactionPage, most_looked_through
from malipo.payments.store import transactions
from malipo.payments.transaction import Type
from malipo.validation.fields import Fields

PATH = "/dashboard/transactions"
FILTERS = ("search", "status", "type", "channel", "from", "to")

# A refund is a payout of its own kind here; in the API it is a DISBURSEMENT like any other.
KINDS = {"PAYOUT": False, "REFUND": True}

_PER_PAGE = 25
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_ID = re.compile(r"txn_[0-9a-z]{26}")
_WHOLE_REFERENCE = re.compile(r"[A-Z0-9]{1,16}-[0-9A-Z]{16}")
_BETWEEN_DIGITS = re.compile(r"[\s().-]")
_NUMBER = re.compile(r"\+?[0-9]{2,15}")


@dataclass(frozen=True, slots=True)
class TransactionListQuery:
    """The filters: as they were typed, as the store takes them, and what is wrong with them."""

    typed: Mapping[str, str]
    wanted: TransactionFilter
    fields: Fields


def asked_in(query: Mapping[str, str]) -> TransactionListQuery:
    typed = {name: value for name in FILTERS if (value := query.get(name, "").strip())}
    days = {name: _local(typed[name], is_end=name == "to") for name in ("from", "to") if name in typed}
    is_refund = KINDS.get(typed.get("type", ""))
    kind = {} if is_refund is None else {"type": Type.DISBURSEMENT.value}
    fields = Fields(typed | days | kind)
    wanted = replace(filter_in(fields, search_of=_number_in), is_refund=is_refund)
    fields.check_range(wanted.first, wanted.last)
    return TransactionListQuery(typed, wanted, fields)


async def show(request: MerchantRequest) -> Response:
    query = request.http.query_params
    asked = asked_in(query)
    is_right = asked.fields.problem is None
    before, after = (_key_in(query.get(name, "")) for name in ("before", "after"))
    page = await _page(request, asked, before, after) if is_right else TransactionPage([])
    refunded = await _refunded(request, page)
    return render.page(
        request,
        "merchant/transactions.html",
        status=200 if is_right else 400,
        page=page,
        refunded=refunded,
        typed=asked.typed,
        problems=form_errors.in_words(request.words, asked.fields),
        channels=[(channel, profile.name) for channel, profile in PROFILES.items()],
        looked_through=f"{most_looked_through(asked.wanted):,}",
        older=_link(asked, before=page.older) if page.older else None,
        newer=_link(asked, after=page.newer) if page.newer else None,
        csv=f"{PATH}.csv" + (f"?{urlencode(asked.typed)}" if asked.typed else ""),
    )


async def _page(
    request: MerchantRequest, asked: TransactionListQuery, before: str | None, after: str | None
) -> TransactionPage:
    wanted = asked.wanted
    if wanted.search not in (None, asked.typed.get("search")) and wanted == TransactionFilter(search=wanted.search):
        # It looks like a phone number. As it was typed, such as 2026-1042, it can be an order reference as well.
        page = await _page_of_order(request, asked.typed["search"], before)
        if page.transactions:
            return page
    name = _whole_name(wanted)
    if name is not None:
        # A whole reference or id is looked up at once, however old it is.
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
        # The newest page is kept live: it would be told of a change, and fetched before a standby has it.
        may_lag=wanted.search is not None or before is not None,
    )


async def _refunded(request: MerchantRequest, page: TransactionPage) -> dict[str, int]:
    """How much of each of these collections the customer has back."""
    collections = [each.id for each in page.transactions if each.type is Type.COLLECTION]
    if not collections:
        return {}
    found = await request.parts.queries.read(
        lambda connection: transactions.find_refunds(connection, request.merchant_id, collections)
    )
    sums = {id_: sum(each.amount for each in refunds if each.is_paid) for id_, refunds in found.items()}
    return {id_: amount for id_, amount in sums.items() if amount}


async def _page_of_order(request: MerchantRequest, order_reference: str, before: str | None) -> TransactionPage:
    wanted = TransactionFilter(order_reference=order_reference, before=before)
    _, found = await request.parts.queries.read_snapshot(
        lambda connection: filters.page(connection, request.merchant_id, wanted, offset=0, limit=_PER_PAGE + 1),
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


def _link(asked: TransactionListQuery, **key: str) -> str:
    return f"{PATH}?{urlencode(dict(asked.typed) | key)}"


def _key_in(text: str) -> str | None:
    """The id that a page begins beside; what cannot be one is as good as none."""
    return text if _ID.fullmatch(text) else None


def _local(text: str, *, is_end: bool) -> str:
    """A day is a day in Dar es Salaam; anything else stays as it was typed, right or wrong."""
    if not _DATE.fullmatch(text):
        return text
    try:
        return datetime.combine(date.fromisoformat(text), time.max if is_end else time.min, ZONE).isoformat()
    except ValueError:
        return text


def _number_in(text: str) -> str:
    """Part of a phone number is found however it is typed: we keep it as +255…, without spaces."""
    digits = _BETWEEN_DIGITS.sub("", text)
    if not _NUMBER.fullmatch(digits):
        return text.strip()
    return re.sub(r"^0(?=[67])", "+255", digits)
