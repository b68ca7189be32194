"""The pay page of a link. Showing it has no effect, a press sends one prompt to one phone, and the outcome is shown at
the same address."""

import dataclasses
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, NamedTuple

import msgspec
from starlette.responses import Response

from malipo import clock, randomness
from malipo.clock import milliseconds
from malipo.dashboard.forms import Form
from malipo.db import Conn
from malipo.errors import Conflict, Invalid, OutcomeUnknown, Refusal, TooMany
from malipo.links.link import Link, NoSuchLink, return_address
from malipo.links.press import LinkClosed, PressResult
from malipo.links.press_request import Press, press_of
from malipo.links.store import customers_attempts, links
from malipo.links.store.customers_attempts import CustomersAttempt
from malipo.merchants.public_profile import PublicProfile
from malipo.merchants.store import public_profiles
from malipo.money import MIN_PAYMENT
from malipo.networks import circuit_store
from malipo.networks.channel_names_and_prefixes import PROFILES, channel_of
from malipo.networks.connector import Channel, Type
from malipo.pay_pages import press_marker, render, words
from malipo.pay_pages.attempt_cookie import set_attempt
from malipo.pay_pages.request import PayRequest
from malipo.pay_pages.scene import Scene, prompt_ends, shown
from malipo.payments.cancel import Cancellation
from malipo.payments.transaction import Status
from malipo.phone import local
from malipo.receipts.receipt_link import token_of
from malipo.restore.installation import IntakeClosed
from malipo.restore.store import installation
from malipo.validation.fields import Fields
from malipo.validation.typed_values import amount_of, phone_of

NETWORKS = {channel: profile.name for channel, profile in PROFILES.items()}
# For the script: each network's name, and how its numbers begin behind the zero.
_PREFIXES = msgspec.json.encode(
    [(profile.name, [each.removeprefix("+255") for each in profile.prefixes]) for profile in PROFILES.values()]
).decode()


class Page(NamedTuple):
    """The data that the page shows."""

    link: Link
    merchant: PublicProfile
    is_merchant_active: bool
    attempt: CustomersAttempt | None  # that this browser has begun
    down: Mapping[str, datetime]  # connectors that do not answer, and since when
    receipt: str | None  # its address


async def show(request: PayRequest) -> Response:
    page = await find(request)
    if request.code != page.link.code:
        return request.go(f"/pay/{page.link.code}")  # The cookie's path is that of this spelling.
    return answer(request, page)


async def press(request: PayRequest) -> Response:
    now_ms = milliseconds(request.parts.clock())
    request.parts.idle_presses.check(request.code.lower(), request.address, now_ms=now_ms)
    form, page = request.typed, await find(request)
    fields, code = _fields(request, form, page.link), page.link.code
    try:
        wanted = press_of(
            fields,
            code,
            press_id=_press_id(form),
            address=request.address,
            may_be_second=form.text("mayBeSecond") == "yes",
            begun=request.known_attempt(code),
        )
        result = await _press(request, wanted)
    except Invalid:
        problems = _problems(request, fields, page)
        return answer(request, page, form, problems=problems, status=HTTPStatus.BAD_REQUEST)
    except LinkClosed as closed:
        page = await find(request)  # The link has changed since the page was shown.
        sentence = words.why_closed(request.words, page.link, page.merchant.shown_name, code=closed.code)
        return answer(request, page, form, notice=sentence, status=HTTPStatus.CONFLICT)
    except (Conflict, TooMany) as refusal:
        sentence = words.refusal(request.words, refusal, page.merchant.shown_name)
        is_conflict = isinstance(refusal, Conflict)
        status = HTTPStatus.CONFLICT if is_conflict else HTTPStatus.TOO_MANY_REQUESTS
        is_warned = refusal.code == "second_number_doubt"
        return answer(request, page, form, notice=sentence, is_warned=is_warned, status=status)
    except (OutcomeUnknown, IntakeClosed) as unavailable:
        sentence = request.words(words.REFUSED_SENTENCES.get(unavailable.code, words.NOT_NOW))
        response = answer(request, page, form, notice=sentence, status=HTTPStatus.SERVICE_UNAVAILABLE)
        response.headers["Retry-After"] = str(unavailable.retry_after_seconds)
        return response
    mark = press_marker.mark_of(request.parts.cookies, code, now=request.parts.clock())
    response = request.go(f"/pay/{code}", **{press_marker.NAME: mark})
    set_attempt(response, request.parts.cookies, code, result.transaction.id, is_secure=request.is_over_tls)
    return response


async def _press(request: PayRequest, wanted: Press) -> PressResult:
    """Press, and count the press if it makes no payment."""
    parts, is_idle = request.parts, False
    try:
        result = await parts.links.press(wanted)
        is_idle = not result.is_new
    except Refusal:
        is_idle = True
        raise
    finally:
        if is_idle:
            parts.idle_presses.note(wanted.code, request.address, now_ms=milliseconds(parts.clock()))
    return result


async def withdraw(request: PayRequest) -> Response:
    """Cancel a payment that was not sent yet and that this browser has begun. If it was sent meanwhile, the page shows
    that."""
    page = await find(request)
    if page.attempt is not None:
        payment = page.attempt.payment
        with suppress(Conflict):
            await request.parts.payments.cancel(Cancellation(payment.merchant_id, payment.id))
    return request.go(f"/pay/{page.link.code}")


async def find(request: PayRequest) -> Page:
    """Read all that the page needs, with one connection."""

    async def read(connection: Conn) -> Page:
        found = await links.find_by_code(connection, request.code)
        if found is None:
            raise NoSuchLink
        link = found.link
        own_attempt, key = request.known_attempt(link.code), (link.merchant_id, link.id)
        attempt = None if own_attempt is None else await customers_attempts.find(connection, key, own_attempt)
        return Page(
            link,
            await public_profiles.find(connection, link.merchant_id),
            found.is_merchant_active,
            attempt,
            {name: outage.since for name, outage in (await circuit_store.find_down(connection)).items()},
            None if attempt is None else await _receipt(connection, attempt),
        )

    page = await request.parts.queries.read(read)
    request.remember_merchant(page.merchant)
    return page


async def _receipt(connection: Conn, attempt: CustomersAttempt) -> str | None:
    payment = attempt.payment
    if payment.status is not Status.COMPLETED and not attempt.is_reported_paid:
        return None
    secret = (await installation.get(connection)).key_secret
    return f"/receipt/{token_of(secret, payment.merchant_id, payment.id, payment.reference)}"


def answer(
    request: PayRequest,
    page: Page,
    form: Form | None = None,
    *,
    problems: dict[str, str] | None = None,
    notice: str | None = None,
    is_warned: bool = False,
    status: HTTPStatus = HTTPStatus.OK,
) -> Response:
    parts, link, attempt = request.parts, page.link, page.attempt
    prompt_seconds, now = parts.settings.link_prompt_seconds, parts.clock()
    wants_again = (request.http.query_params if form is None else form.values()).get("again") == "1"
    link_status = link.status if page.is_merchant_active else None
    scene = shown(
        link_status,
        attempt,
        now=now,
        prompt_seconds=prompt_seconds,
        wants_again=wants_again,
        has_lost_cookie=request.has_lost_cookie(link.code),
    )
    if is_warned:
        scene = dataclasses.replace(scene, is_warned=True)
    least, most = _bounds(request, link)
    return render.page(
        request,
        "pay.html",
        merchant=page.merchant,
        status=status,
        has_script=True,
        link=link,
        shown=scene,
        wants_again=wants_again,
        networks=NETWORKS,
        prefixes=_PREFIXES,
        offered=offered(request),
        down=[each for each in Channel if _carrier(request, each) in page.down],
        typed=_typed(form, attempt),
        press_id=(form.text("press") if form is not None else "") or randomness.token_hex(12),
        wrong={name: (problems or {}).get(name) for name in ("amount", "buyerPhone", "channel")},
        notice=notice,
        least=least,
        most=most,
        return_address=return_address(link),
        receipt=page.receipt,
        **_about(request, page, scene.scene),
    )


def _about(request: PayRequest, page: Page, scene: Scene) -> dict[str, Any]:
    """The sentences about the payment that this browser has begun, or about a link that cannot be paid."""
    settings, translate = request.parts.settings, request.words
    code = None if page.is_merchant_active else "merchant_inactive"
    about: dict[str, Any] = {
        "attempt": None,
        "awaits_count": False,
        "closed": words.why_closed(translate, page.link, page.merchant.shown_name, code=code),
    }
    if (attempt := page.attempt) is None:
        return about
    payment, ends = attempt.payment, prompt_ends(attempt, settings.link_prompt_seconds)
    left = (ends - request.parts.clock()).total_seconds()
    is_completed = payment.status is Status.COMPLETED
    return about | {
        "attempt": payment,
        "live_status": attempt.status,
        "prompt_ends": _time(ends),
        "seconds_left": max(round(left), 1) if scene is Scene.ASKED else None,
        "down_since": _since(request, page.down.get(_carrier(request, payment.channel) or "")),
        "lapses_at": _time(payment.created_at + timedelta(seconds=settings.lapse_seconds)),
        "why": words.why_not_paid(translate, payment, NETWORKS[payment.channel]) if payment.status.is_final else None,
        "paid_at": payment.ended_at if is_completed else attempt.reported_at,
        "late": words.why_late(translate, attempt.late, page.merchant.shown_name)
        if attempt.late is not None or not is_completed
        else None,
        "awaits_count": scene is Scene.PAID and _may_be_late(page.link, attempt),
        "refunded": attempt.refunded,
    }


def _may_be_late(link: Link, attempt: CustomersAttempt) -> bool:
    """Whether a worker, which counts it in a moment, may find that it came too late for the link."""
    is_over = link.is_expired or link.cancelled_at is not None
    return not attempt.is_counted and (is_over or (link.places is not None and link.paid_count > link.places))


def _time(at: datetime) -> str:
    return f"{at.astimezone(clock.ZONE):%H:%M:%S}"


def _since(request: PayRequest, at: datetime | None) -> str | None:
    """The time of day, with the day if that is not today."""
    if at is None:
        return None
    is_today = at.astimezone(clock.ZONE).date() == request.parts.clock().astimezone(clock.ZONE).date()
    return _time(at) if is_today else request.words.moment(at)


def offered(request: PayRequest) -> list[Channel]:
    """The connected networks; all networks if none is connected, so that the page can show what failed."""
    return [each for each in Channel if _carrier(request, each) is not None] or list(Channel)


def _carrier(request: PayRequest, channel: Channel) -> str | None:
    return request.parts.networks.routes.get((channel, Type.COLLECTION))


def _bounds(request: PayRequest, link: Link) -> tuple[int, int]:
    """The bounds of an amount that the customer types."""
    terms = request.parts.payments.terms
    most = max(terms.max_amount(each) for each in offered(request))
    return link.min_amount or MIN_PAYMENT, min(link.max_amount or most, most)


def _fields(request: PayRequest, form: Form, link: Link) -> Fields:
    """Read the typed fields. Without a choice the number decides the network. The press compares the amount with the
    network's bounds; these are the bounds that the page shows."""
    phone = phone_of(form.text("buyerPhone"))
    channel = form.text("channel") or channel_of(phone)
    fields = Fields(
        {"buyerPhone": phone or None, "channel": channel}
        | ({"amount": amount_of(form.text("amount")) if form.text("amount") else None} if link.amount is None else {})
    )
    if link.amount is None:
        least, most = _bounds(request, link)
        fields.amount("amount", least=least, most=most)
    if channel in NETWORKS and channel not in offered(request):
        # Otherwise the prompt would never be sent, and at a link that is paid once everybody else would have to wait.
        fields.wrong("channel", "channel_not_offered", "This network is not connected.")
    return fields


def _press_id(form: Form) -> str | None:
    """The id that was generated with the form: a page that is sent twice is one press."""
    text = form.text("press")
    return text if 0 < len(text) <= 64 and text.isascii() and text.isalnum() else None


def _problems(request: PayRequest, fields: Fields, page: Page) -> dict[str, str]:
    """The mistakes by field. If the fields have none, the amount is beyond what the network takes in one payment: at a
    link with an amount the customer can only choose another network."""
    sentences = words.mistakes(request.words, fields)
    if "buyerPhone" in sentences:
        sentences.pop("channel", None)  # The number decides the network.
    if sentences:
        return sentences
    channel = Channel(fields.raw("channel"))
    most = request.parts.payments.terms.max_amount(channel)
    field = "amount" if page.link.amount is None else "channel"
    name = page.merchant.shown_name
    return {field: words.beyond_network(request.words, NETWORKS[channel], most, name=name)}


def _typed(form: Form | None, attempt: CustomersAttempt | None) -> dict[str, str]:
    if form is not None:
        return {"amount": form.text("amount"), "phone": form.text("buyerPhone"), "channel": form.text("channel")}
    if attempt is None or attempt.payment.status is Status.PROCESSING:
        return {"amount": "", "phone": "", "channel": ""}
    payment = attempt.payment
    return {"amount": f"{payment.amount:,}", "phone": local(payment.phone), "channel": ""}
