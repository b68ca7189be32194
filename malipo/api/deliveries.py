"""Below /merchant/webhooks/{id} and /v1/webhooks/{id}: the delivery log, and the resends: test, redeliver, recover."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from malipo import clock
from malipo.api.parts import ApiParts
from malipo.api.request_body import object_of
from malipo.api.request_credentials import Party, actor_of, merchant_of
from malipo.api.responses import success
from malipo.api.urls import id_in
from malipo.api.webhooks import endpoint_in, get
from malipo.validation.fields import Fields
from malipo.webhooks import resend
from malipo.webhooks.delivery_state import DeliveryState
from malipo.webhooks.resend import NoSuchDelivery
from malipo.webhooks.store import delivery_history
from malipo.webhooks.store.delivery_history import DeliveryHistory, ShownAttempt


async def list_(parts: ApiParts, party: Party, request: Request) -> Response:
    fields = Fields(request.query_params)
    state = fields.choice("state", DeliveryState)
    before = fields.text("before", most=64) or None
    limit = fields.limit()
    fields.check()
    endpoint = await get(parts, party, request)
    found = await parts.queries.read_snapshot(
        lambda connection: delivery_history.page(connection, endpoint.id, state=state, before=before, limit=limit + 1)
    )
    shown: dict[str, Any] = {"deliveries": [_shown(each) for each in found[:limit]]}
    if len(found) > limit:
        shown["next"] = found[limit - 1].event_id
    return success(shown)


async def retrieve(parts: ApiParts, party: Party, request: Request) -> Response:
    endpoint = await get(parts, party, request)
    return success({"delivery": _shown(await _get(parts, endpoint.id, _delivery_in(request)))})


async def test(parts: ApiParts, party: Party, request: Request) -> Response:
    """The response has the receiver's answer, as soon as a worker has sent the test."""
    endpoint_id = endpoint_in(request)
    event_id = await parts.webhooks.test_endpoint(
        parts.queries, merchant_of(party), endpoint_id, actor=actor_of(parts, party, request)
    )
    return success({"delivery": _shown(await _get(parts, endpoint_id, event_id))})


async def redeliver(parts: ApiParts, party: Party, request: Request) -> Response:
    actor, now, endpoint_id = actor_of(parts, party, request), parts.clock(), endpoint_in(request)
    event_id = _delivery_in(request)
    await parts.queries.write(
        lambda tx: resend.redeliver(tx, merchant_of(party), endpoint_id, event_id, actor=actor, now=now)
    )
    parts.webhooks.wake_sender()
    return success({"delivery": _shown(await _get(parts, endpoint_id, event_id))}, status=202)


async def recover(parts: ApiParts, party: Party, request: Request) -> Response:
    fields = Fields(await object_of(request))
    fields.required("since")
    since = fields.moment("since")
    fields.check()
    assert since is not None
    recovered = await parts.webhooks.recover(
        parts.queries, merchant_of(party), endpoint_in(request), since=since, actor=actor_of(parts, party, request)
    )
    return success({"recovered": recovered, "message": _in_words(recovered)}, status=202)


async def _get(parts: ApiParts, endpoint_id: str, event_id: str) -> DeliveryHistory:
    found = await parts.queries.read_snapshot(
        lambda connection: delivery_history.get(connection, endpoint_id, event_id)
    )
    if found is None:
        raise NoSuchDelivery
    return found


def _delivery_in(request: Request) -> str:
    return id_in(request, NoSuchDelivery, "delivery")


def _in_words(recovered: int) -> str:
    if not recovered:
        return "There is nothing to recover: everything since then was delivered."
    return f"{recovered} deliver{'y is' if recovered == 1 else 'ies are'} on the way."


def _shown(history: DeliveryHistory) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": history.event_id, "event": history.event, "state": history.state}
    if history.transaction_id is not None:
        shown["transactionId"] = history.transaction_id
    if history.batch_id is not None:
        shown["batchId"] = history.batch_id
    if history.link_id is not None:
        shown["linkId"] = history.link_id
    if history.settlement_id is not None:
        shown["settlementId"] = history.settlement_id
    if history.state is DeliveryState.PENDING:
        shown["nextAttemptAt"] = clock.iso(history.due_at)
    return shown | {"attempts": [_try(each) for each in history.attempts]}


def _try(each: ShownAttempt) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": each.id, "at": clock.iso(each.attempted_at), "durationMs": each.duration_ms}
    if each.http_status is None:
        return shown | {"error": each.error}
    # A name that came twice is shown once, as HTTP lets us: its values with commas between them.
    headers: dict[str, str] = {}
    for name, value in each.response_headers:
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return shown | {
        "status": each.http_status,
        "headers": headers,
        "answer": each.response_body.decode(errors="replace"),
    }
