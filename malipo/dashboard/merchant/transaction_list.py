"""The list of transactions: every filter of the API, keyset pagination, no totals."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from urllib.parse import urlencode

from starlette.responses import Response

from malipo.clock import ZONE
from malipo.dashboard import form_errors, render
from malipo.dashboard.merchant.date_presets import presets
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.db import Conn
from malipo.networks.channels import PROFILES
from malipo.payments.listing import by_reference, keyset_pagination, sums
from malipo.payments.listing.filters import TransactionFilter, filter_in
from malipo.payments.listing.keyset_pagination import TransactionPage, most_looked_through
from malipo.payments.listing.sums import Sums
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
_RECEIPT = re.compile(r"(?=.*[0-9])[A-Za-z0-9._/-]{4,64}")
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
    meant = await _meant(request, asked) if is_right else TransactionFilter()
    page = await _page(request, meant, before, after) if is_right else TransactionPage([])
    refunded = await _refunded(request, page)
    today = request.parts.clock().astimezone(ZONE).date()
    return render.page(
        request,
        "merchant/transactions.html",
        status=200 if is_right else 400,
        page=page,
        refunded=refunded,
        sums=await _sums(request, meant) if is_right and asked.typed else None,
        presets=[
            (name, _link(asked, **{"from": first, "to": last}), _is_chosen(asked, first, last))
            for name, first, last in presets(today)
        ],
        most_summed=f"{sums.MOST_READ:,}",
        folded=sum(name in asked.typed for name in FILTERS if name != "search"),
        typed=asked.typed,
        problems=form_errors.in_words(request.words, asked.fields),
        channels=[(channel, profile.name) for channel, profile in PROFILES.items()],
        looked_through=f"{most_looked_through(asked.wanted):,}",
        older=_link(asked, before=page.older) if page.older else None,
        newer=_link(asked, after=page.newer) if page.newer else None,
        csv=f"{PATH}.csv" + (f"?{urlencode(asked.typed)}" if asked.typed else ""),
    )


async def _page(
    request: MerchantRequest, wanted: TransactionFilter, before: str | None, after: str | None
) -> TransactionPage:
    if wanted.is_exact:
        return await _page_of_exact(request, replace(wanted, before=before))
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


def _is_chosen(asked: TransactionListQuery, first: str, last: str) -> bool:
    return (asked.typed.get("from"), asked.typed.get("to")) == (first, last)


async def _sums(request: MerchantRequest, meant: TransactionFilter) -> Sums:
    return await request.parts.queries.read_snapshot(
        lambda connection: sums.find(connection, request.merchant_id, meant), is_search=True, may_lag=True
    )


async def _meant(request: MerchantRequest, asked: TransactionListQuery) -> TransactionFilter:
    """What is searched for is a receipt of a network or an order reference, if a payment has exactly that."""
    wanted, typed = asked.wanted, asked.typed.get("search", "")
    if not typed or wanted != TransactionFilter(search=wanted.search):
        return wanted
    exact = []
    if _RECEIPT.fullmatch(typed):
        exact = [TransactionFilter(provider_reference=each) for each in dict.fromkeys((typed, typed.upper()))]
    if wanted.search != typed:
        # It looks like a phone number. As it was typed, such as 2026-1042, it can be an order reference as well.
        exact.append(TransactionFilter(order_reference=typed))

    async def find(connection: Conn) -> TransactionFilter:
        for each in exact:
            if (await by_reference.page(connection, request.merchant_id, each, offset=0, limit=1))[0]:
                return each
        return wanted

    return await request.parts.queries.read_snapshot(find, is_search=True) if exact else wanted


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
