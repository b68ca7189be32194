"""The payment links of a merchant, the newest first, with the form that makes one.

The idempotency key is generated with the form and sent with it: a double click, a reload, or going back and pressing
again make one link.
"""

from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from malipo import clock
from malipo.dashboard import form_errors, render
from malipo.dashboard.forms import Form
from malipo.dashboard.merchant.payment_forms import IN_DOUBT, kept, new_key
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.urls import number_in
from malipo.db import Conn
from malipo.errors import Conflict, OutcomeUnknown
from malipo.links.link import LatePayment, Link, LinkStatus
from malipo.links.link_request import LinkRequest, link_request_of
from malipo.links.store import links
from malipo.merchants.public_profile import PublicProfile
from malipo.merchants.store import public_profiles
from malipo.payments import idempotency
from malipo.restore.installation import IntakeClosed
from malipo.validation.fields import Fields
from malipo.validation.typed_values import amount_of

PATH = "/dashboard/links"
PER_PAGE = 20
_TYPED = ("amount", "description", "orderReference", "reusable", "maxPayments", "lastDay", "returnUrl")


async def show(request: MerchantRequest) -> Response:
    return kept(await _page(request, {}, new_key()))


async def make(request: MerchantRequest) -> Response:
    form = await request.form()
    typed = {name: form.text(name) for name in _TYPED}
    key = form.text("key")
    if idempotency.problem_with(key) is not None:
        return await _page(request, typed, new_key())  # Without its key it could be made twice.
    fields = Fields(_values_of(form))
    link_request = _link_request(request, fields, key)
    if fields.mistakes:
        return await _page(request, typed, key, problems=_problems(request, fields), status=400)
    try:
        result = await request.parts.links.create(link_request)
    except IntakeClosed as closed:
        problem = form_errors.sentence(request.words, closed.code)
        return await _page(request, typed, key, problems={"": problem}, status=503)
    except OutcomeUnknown:
        return await _page(request, typed, key, problems={"": request.words(IN_DOUBT)}, status=503)
    except Conflict:
        # Somebody went back and changed the form: that is another link.
        return await _page(request, typed, new_key(), status=409)
    return request.go(f"{PATH}/{result.link.id}", "link-once" if result.is_replay else "link-made")


def _values_of(form: Form) -> dict[str, Any]:
    values: dict[str, Any] = {name: form.text(name) for name in ("description", "orderReference", "returnUrl")}
    values = {name: value for name, value in values.items() if value}
    if form.text("amount"):
        values["amount"] = amount_of(form.text("amount"))
    if form.text("reusable"):
        values["reusable"] = True
        if most := form.text("maxPayments"):
            values["maxPayments"] = amount_of(most)
    if last_day := form.text("lastDay"):
        values["expiresAt"] = _end_of(last_day)
    return values


def _end_of(day: str) -> str:
    """The last moment of a day in Dar es Salaam. A text that is no day stays as it was typed."""
    try:
        return datetime.combine(date.fromisoformat(day), time.max, clock.ZONE).isoformat()
    except ValueError:
        return day


def _link_request(request: MerchantRequest, fields: Fields, key: str) -> LinkRequest:
    parts = request.parts
    return link_request_of(
        fields,
        request.merchant_id,
        key=key,
        terms=parts.payments.terms,
        now=parts.clock(),
        created_by=request.person.email,
        actor=request.actor,
    )


def _problems(request: MerchantRequest, fields: Fields) -> dict[str, str]:
    problems = form_errors.in_words(request.words, fields)
    if "expiresAt" in problems:
        problems["lastDay"] = problems.pop("expiresAt")
    return problems


async def _page(
    request: MerchantRequest,
    typed: Mapping[str, str],
    key: str,
    *,
    problems: Mapping[str, str] | None = None,
    status: int = 200,
) -> Response:
    page, chosen = number_in(request, "page", 1), _status(request)

    async def find(connection: Conn) -> tuple[int, list[Link], dict[links.Key, list[LatePayment]], PublicProfile]:
        total, found = await links.find_page(connection, request.merchant_id, status=chosen, page=page, limit=PER_PAGE)
        late = await links.find_late(connection, [(each.merchant_id, each.id) for each in found])
        return total, found, late, await public_profiles.find(connection, request.merchant_id)

    total, found, late, profile = await request.parts.queries.read_snapshot(find)
    return render.page(
        request,
        "merchant/links/list.html",
        status=status,
        links=[(each, late.get((each.merchant_id, each.id), [])) for each in found],
        has_contact=not profile.contact.is_empty,
        chosen=chosen,
        typed={name: typed.get(name, "") for name in _TYPED},
        key=key,
        problems=problems or {},
        newer=_address(chosen, page - 1) if page > 1 else None,
        older=_address(chosen, page + 1) if total > page * PER_PAGE else None,
    )


def _status(request: MerchantRequest) -> LinkStatus | None:
    text = request.http.query_params.get("status", "")
    return LinkStatus(text) if text in LinkStatus.__members__.values() else None


def _address(status: LinkStatus | None, page: int) -> str:
    query = ({} if status is None else {"status": status.value}) | {"page": str(page)}
    return f"{PATH}?{urlencode(query)}"
