"""The page of one payment link: its address to share, the amount that it has collected, every attempt, and its
cancellation."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from starlette.responses import Response

from malipo import money
from malipo.dashboard import form_errors, render
from malipo.dashboard.merchant.links.link_list import PATH
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.urls import base_url, id_in
from malipo.db import Conn
from malipo.errors import Missing, Refusal, Unavailable
from malipo.links import link_json
from malipo.links.cancel import LinkCancellation
from malipo.links.link import LatePayment, Link, LinkStatus, NoSuchLink
from malipo.links.store import attempts, links
from malipo.merchants.store import public_profiles
from malipo.payments.transaction import Transaction

_MOST_SHOWN = 100  # attempts
_FIXED = "{business}: {description}, {amount}. Pay here: {url}"
_OPEN = "{business}: {description}. Pay here: {url}"
_IN_DOUBT = "We do not know whether this was done. Look at it again."
SENTENCES = (_FIXED, _OPEN)


@dataclass(frozen=True, slots=True)
class LinkData:
    link: Link
    late: Sequence[LatePayment]
    attempts: Sequence[Transaction]  # the latest, the newest first
    has_contact: bool  # whether its page says how to reach the merchant


async def show(request: MerchantRequest) -> Response:
    return await _page(request)


async def confirm_cancel(request: MerchantRequest) -> Response:
    found = await _find(request)
    if found.link.status is not LinkStatus.ACTIVE:
        return request.go(f"{PATH}/{found.link.id}")
    is_asked = any(not each.status.is_final for each in found.attempts)
    return render.page(request, "merchant/links/cancel.html", link=found.link, is_asked=is_asked)


async def cancel(request: MerchantRequest) -> Response:
    await request.form()
    cancellation = LinkCancellation(request.merchant_id, id_in(request), request.person.email, request.actor)
    try:
        link = await request.parts.links.cancel(cancellation)
    except Unavailable:
        return await _page(request, problem=request.words(_IN_DOUBT), status=503)
    except Missing:
        raise
    except Refusal as refusal:
        problem = form_errors.of_refusal(request.words, refusal)
        return await _page(request, problem=problem, status=form_errors.status_of(refusal))
    return request.go(f"{PATH}/{link.id}", "link-cancelled")


async def _find(request: MerchantRequest) -> LinkData:
    key = (request.merchant_id, id_in(request))

    async def find(connection: Conn) -> LinkData:
        link = await links.get(connection, *key)
        if link is None:
            raise NoSuchLink
        late = (await links.find_late(connection, [key])).get(key, [])
        latest = await attempts.find_latest(connection, key, limit=_MOST_SHOWN)
        profile = await public_profiles.find(connection, request.merchant_id)
        return LinkData(link, late, latest, not profile.contact.is_empty)

    return await request.parts.queries.read_snapshot(find)


async def _page(request: MerchantRequest, *, problem: str | None = None, status: int = 200) -> Response:
    found = await _find(request)
    url = link_json.url_of(request.parts.settings.public_url or base_url(request), found.link)
    return render.page(
        request,
        "merchant/links/detail.html",
        status=status,
        link=found.link,
        late={each.id: each for each in found.late},
        attempts=found.attempts,
        has_contact=found.has_contact,
        are_more=len(found.attempts) == _MOST_SHOWN,
        url=url,
        whatsapp=f"https://wa.me/?text={quote(_message(request, found.link, url))}",
        problem=problem,
    )


def _message(request: MerchantRequest, link: Link, url: str) -> str:
    words, values = request.words, {"business": request.business, "description": link.description, "url": url}
    if link.amount is None:
        return words(_OPEN, **values)
    return words(_FIXED, amount=money.display(link.amount), **values)
