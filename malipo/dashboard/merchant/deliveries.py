"""The delivery log of an endpoint: its health, each delivery with its attempts, and resends."""

from collections.abc import Mapping
from datetime import datetime
from urllib.parse import urlencode

from starlette.responses import Response

from malipo.clock import ZONE
from malipo.dashboard import form_errors, render
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.merchant.webhooks import PATH, get
from malipo.dashboard.urls import id_in, key_in
from malipo.errors import Conflict
from malipo.webhooks import resend
from malipo.webhooks.delivery_state import DeliveryState
from malipo.webhooks.disable_endpoint import DISABLE_AFTER
from malipo.webhooks.endpoint import Endpoint
from malipo.webhooks.manage_endpoints import EndpointDisabled
from malipo.webhooks.resend import NoSuchDelivery
from malipo.webhooks.store import delivery_history

_PER_PAGE = 25
# A little longer than a receiver may take.


async def show(request: MerchantRequest) -> Response:
    return await _page(request)


async def _page(request: MerchantRequest, refusal: Conflict | None = None) -> Response:
    wanted = request.http.query_params.get("state", "")
    state = DeliveryState(wanted) if wanted in DeliveryState.__members__.values() else None
    endpoint, before = await get(request), key_in(request)
    found = await request.parts.queries.read_snapshot(
        lambda connection: delivery_history.page(
            connection, endpoint.id, state=state, before=before, limit=_PER_PAGE + 1
        )
    )
    path = f"{PATH}/{endpoint.id}"
    kept: Mapping[str, str] = {"state": state} if state else {}
    return render.page(
        request,
        "merchant/deliveries/list.html",
        status=409 if refusal else 200,
        endpoint=endpoint,
        is_rotating=endpoint.is_rotating(request.parts.clock()),
        disable_days=DISABLE_AFTER.days,
        deliveries=found[:_PER_PAGE],
        state=state or "",
        path=path,
        newest=f"{path}?{urlencode(kept)}" if before else None,
        older=f"{path}?{urlencode({**kept, 'before': found[_PER_PAGE - 1].event_id})}"
        if len(found) > _PER_PAGE
        else None,
        problem=form_errors.of_refusal(request.words, refusal) if refusal else None,
    )


async def show_one(request: MerchantRequest) -> Response:
    endpoint, event_id = await get(request), id_in(request, "delivery")
    history = await request.parts.queries.read_snapshot(
        lambda connection: delivery_history.get(connection, endpoint.id, event_id)
    )
    if history is None:
        raise NoSuchDelivery
    return render.page(
        request, "merchant/deliveries/detail.html", endpoint=endpoint, history=history, path=f"{PATH}/{endpoint.id}"
    )


async def test(request: MerchantRequest) -> Response:
    """Send a test event, wait for the receiver's answer, and show it."""
    await request.form()
    endpoint_id = id_in(request)
    try:
        event_id = await request.parts.webhooks.test_endpoint(
            request.parts.queries, request.merchant_id, endpoint_id, actor=request.actor
        )
    except EndpointDisabled as refusal:
        return await _page(request, refusal)
    return request.go(f"{PATH}/{endpoint_id}/deliveries/{event_id}")


async def redeliver(request: MerchantRequest) -> Response:
    await request.form()
    parts, endpoint_id, event_id = request.parts, id_in(request), id_in(request, "delivery")
    try:
        await parts.queries.write(
            lambda tx: resend.redeliver(
                tx, request.merchant_id, endpoint_id, event_id, actor=request.actor, now=parts.clock()
            )
        )
    except EndpointDisabled as refusal:
        return await _page(request, refusal)
    parts.webhooks.wake_sender()
    return request.go(f"{PATH}/{endpoint_id}/deliveries/{event_id}", "delivery-again")


async def confirm_recover(request: MerchantRequest) -> Response:
    return _recovery(request, await get(request), request.http.query_params.get("since", ""))


async def recover(request: MerchantRequest) -> Response:
    form = await request.form()
    endpoint, typed = await get(request), form.text("since")
    since = _local(typed)
    if since is None or since > request.parts.clock():
        return _recovery(request, endpoint, typed, "date_invalid" if typed else "field_required")
    try:
        recovered = await request.parts.webhooks.recover(
            request.parts.queries, request.merchant_id, endpoint.id, since=since, actor=request.actor
        )
    except EndpointDisabled as refusal:
        return await _page(request, refusal)
    return request.go(f"{PATH}/{endpoint.id}", "recovered" if recovered else "recovered-none")


def _recovery(request: MerchantRequest, endpoint: Endpoint, typed: str, code: str | None = None) -> Response:
    return render.page(
        request,
        "merchant/deliveries/recover.html",
        status=400 if code else 200,
        endpoint=endpoint,
        typed=typed,
        now=f"{request.parts.clock().astimezone(ZONE):%Y-%m-%dT%H:%M}",
        keep_days=request.parts.settings.events_keep_days,
        problem=form_errors.sentence(request.words, code) if code else None,
        path=f"{PATH}/{endpoint.id}",
    )


def _local(text: str) -> datetime | None:
    """A time as a browser's field for one writes it: without an offset, and meant in Dar es Salaam."""
    try:
        at = datetime.fromisoformat(text)
        return at.replace(tzinfo=ZONE) if at.tzinfo is None and at.year >= 2000 else None
    except ValueError:
        return None
