"""An endpoint and what was sent there: how it fares, each delivery with every try, and sending again."""

from collections.abc import Mapping
from datetime import datetime
from urllib.parse import urlencode

from starlette.responses import Response

from malipo.dashboard import draw, mistakes
from malipo.dashboard.language import ZONE
from malipo.dashboard.place import id_in, key_in
from malipo.dashboard.visit import Visit
from malipo.dashboard.webhooks import PATH, get
from malipo.errors import Conflict
from malipo.webhooks import resend
from malipo.webhooks.delivery import State
from malipo.webhooks.endpoint import Endpoint
from malipo.webhooks.resend import EndpointOff, NoSuchDelivery
from malipo.webhooks.schedule import GIVE_UP_AFTER
from malipo.webhooks.store import history

_PER_PAGE = 25
# A little longer than a receiver may take.


async def show(visit: Visit) -> Response:
    return await _page(visit)


async def _page(visit: Visit, refusal: Conflict | None = None) -> Response:
    asked = visit.request.query_params.get("state", "")
    state = State(asked) if asked in State.__members__.values() else None
    endpoint, before = await get(visit), key_in(visit)
    found = await visit.service.read_snapshot(
        lambda connection: history.page(connection, endpoint.id, state=state, before=before, limit=_PER_PAGE + 1)
    )
    path = f"{PATH}/{endpoint.id}"
    kept: Mapping[str, str] = {"state": state} if state else {}
    return draw.page(
        visit,
        "deliveries.html",
        status=409 if refusal else 200,
        endpoint=endpoint,
        is_rotating=endpoint.is_rotating(visit.service.clock()),
        give_up_days=GIVE_UP_AFTER.days,
        deliveries=found[:_PER_PAGE],
        state=state or "",
        path=path,
        newest=f"{path}?{urlencode(kept)}" if before else None,
        older=f"{path}?{urlencode({**kept, 'before': found[_PER_PAGE - 1].event_id})}"
        if len(found) > _PER_PAGE
        else None,
        problem=mistakes.of_refusal(visit.words, refusal) if refusal else None,
    )


async def show_one(visit: Visit) -> Response:
    endpoint, event_id = await get(visit), id_in(visit, "delivery")
    told = await visit.service.read_snapshot(lambda connection: history.get(connection, endpoint.id, event_id))
    if told is None:
        raise NoSuchDelivery
    return draw.page(visit, "deliveries_one.html", endpoint=endpoint, told=told, path=f"{PATH}/{endpoint.id}")


async def test(visit: Visit) -> Response:
    """Waits for what the receiver says, and shows it."""
    await visit.form()
    endpoint_id = id_in(visit)
    try:
        event_id = await visit.service.test_endpoint(visit.merchant_id, endpoint_id, actor=visit.actor)
    except EndpointOff as refusal:
        return await _page(visit, refusal)
    return visit.go(f"{PATH}/{endpoint_id}/deliveries/{event_id}")


async def redeliver(visit: Visit) -> Response:
    await visit.form()
    service, endpoint_id, event_id = visit.service, id_in(visit), id_in(visit, "delivery")
    try:
        await service.write(
            lambda tx: resend.redeliver(
                tx, visit.merchant_id, endpoint_id, event_id, actor=visit.actor, now=service.clock()
            )
        )
    except EndpointOff as refusal:
        return await _page(visit, refusal)
    service.wake_deliveries()
    return visit.go(f"{PATH}/{endpoint_id}/deliveries/{event_id}", "delivery-again")


async def ask_to_recover(visit: Visit) -> Response:
    return _recovery(visit, await get(visit), visit.request.query_params.get("since", ""))


async def recover(visit: Visit) -> Response:
    form = await visit.form()
    endpoint, typed = await get(visit), form.text("since")
    since = _local(typed)
    if since is None or since > visit.service.clock():
        return _recovery(visit, endpoint, typed, "date_invalid" if typed else "field_required")
    try:
        recovered = await visit.service.recover(visit.merchant_id, endpoint.id, since=since, actor=visit.actor)
    except EndpointOff as refusal:
        return await _page(visit, refusal)
    return visit.go(f"{PATH}/{endpoint.id}", "recovered" if recovered else "recovered-none")


def _recovery(visit: Visit, endpoint: Endpoint, typed: str, code: str | None = None) -> Response:
    return draw.page(
        visit,
        "deliveries_recover.html",
        status=400 if code else 200,
        endpoint=endpoint,
        typed=typed,
        now=f"{visit.service.clock().astimezone(ZONE):%Y-%m-%dT%H:%M}",
        keep_days=visit.service.settings.events_keep_days,
        problem=mistakes.sentence(visit.words, code) if code else None,
        path=f"{PATH}/{endpoint.id}",
    )


def _local(text: str) -> datetime | None:
    """A time as a browser's field for one writes it: without an offset, and meant in Dar es Salaam."""
    try:
        at = datetime.fromisoformat(text)
        return at.replace(tzinfo=ZONE) if at.tzinfo is None and at.year >= 2000 else None
    except ValueError:
        return None
