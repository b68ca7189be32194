"""/merchant/webhooks and /v1/webhooks: webhook endpoints, and the rotation of their secrets."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from malipo import clock
from malipo.api.parts import ApiParts
from malipo.api.request_body import object_of
from malipo.api.request_credentials import Party, actor_of, merchant_of
from malipo.api.responses import success
from malipo.api.urls import id_in
from malipo.validation.fields import Fields
from malipo.webhooks import manage_endpoints, rotate_secrets
from malipo.webhooks.endpoint import Endpoint, events_in
from malipo.webhooks.manage_endpoints import NoSuchEndpoint
from malipo.webhooks.store import endpoints


async def list_(parts: ApiParts, party: Party, request: Request) -> Response:
    found = await parts.queries.read(lambda connection: endpoints.find_all(connection, merchant_of(party)))
    return success({"endpoints": [_shown(each, parts) for each in found]})


async def retrieve(parts: ApiParts, party: Party, request: Request) -> Response:
    return success({"endpoint": _shown(await get(parts, party, request), parts)})


async def create(parts: ApiParts, party: Party, request: Request) -> Response:
    fields = Fields(await object_of(request))
    url = await _url(parts, fields) if fields.required("url") is not None else ""
    events = events_in(fields)
    fields.check()
    actor, now = actor_of(parts, party, request), parts.clock()
    endpoint, secret = await parts.queries.write(
        lambda tx: manage_endpoints.register(
            tx, merchant_of(party), url=url, events=events, encryption=parts.webhooks.encryption, actor=actor, now=now
        )
    )
    message = "Keep the secret safe: it is shown only this once."
    return success({"endpoint": _registered(endpoint) | {"secret": secret}, "message": message}, status=201)


async def change(parts: ApiParts, party: Party, request: Request) -> Response:
    fields = Fields(await object_of(request))
    url = await _url(parts, fields) if fields.raw("url") is not None else None
    events = events_in(fields) if fields.raw("events") is not None else None
    is_active = fields.boolean("isActive")
    fields.check()
    actor, now = actor_of(parts, party, request), parts.clock()
    endpoint = await parts.queries.write(
        lambda tx: manage_endpoints.change(
            tx,
            merchant_of(party),
            endpoint_in(request),
            url=url,
            events=events,
            is_active=is_active,
            actor=actor,
            now=now,
        )
    )
    parts.webhooks.wake_sender()
    return success({"endpoint": _shown(endpoint, parts)})


async def delete(parts: ApiParts, party: Party, request: Request) -> Response:
    actor, now = actor_of(parts, party, request), parts.clock()
    await parts.queries.write(
        lambda tx: manage_endpoints.delete(tx, merchant_of(party), endpoint_in(request), actor=actor, now=now)
    )
    return success({"message": "The endpoint is deleted."})


async def rotate_secret(parts: ApiParts, party: Party, request: Request) -> Response:
    actor, now = actor_of(parts, party, request), parts.clock()
    endpoint, secret = await parts.queries.write(
        lambda tx: rotate_secrets.rotate(
            tx, merchant_of(party), endpoint_in(request), encryption=parts.webhooks.encryption, actor=actor, now=now
        )
    )
    message = (
        "Keep the new secret safe: it is shown only this once. Until rotationEndsAt, or until you finish the rotation, "
        "webhooks are signed with both."
    )
    return success({"endpoint": _shown(endpoint, parts) | {"secret": secret}, "message": message})


async def finish_rotation(parts: ApiParts, party: Party, request: Request) -> Response:
    actor, now = actor_of(parts, party, request), parts.clock()
    endpoint = await parts.queries.write(
        lambda tx: rotate_secrets.finish_rotation(tx, merchant_of(party), endpoint_in(request), actor=actor, now=now)
    )
    return success({"endpoint": _shown(endpoint, parts), "message": "Only the new secret signs from now on."})


async def get(parts: ApiParts, party: Party, request: Request) -> Endpoint:
    endpoint = await parts.queries.read(
        lambda connection: endpoints.get(connection, merchant_of(party), endpoint_in(request))
    )
    if endpoint is None:
        raise NoSuchEndpoint
    return endpoint


def endpoint_in(request: Request) -> str:
    return id_in(request, NoSuchEndpoint)


async def _url(parts: ApiParts, fields: Fields) -> str:
    url = fields.text("url", most=2000)
    if url and (problem := await parts.webhooks.client.problem_with(url)):
        fields.wrong("url", "url_invalid", problem)
    elif fields.raw("url") == "":
        fields.wrong("url", "field_required", "url must not be empty.")
    return url


def _registered(endpoint: Endpoint) -> dict[str, Any]:
    """The specification's fields."""
    return {"id": endpoint.id, "url": endpoint.url, "events": endpoint.events, "isActive": endpoint.is_active}


def _shown(endpoint: Endpoint, parts: ApiParts) -> dict[str, Any]:
    shown = _registered(endpoint) | {"createdAt": clock.iso(endpoint.created_at)}
    if endpoint.is_rotating(parts.clock()):
        assert endpoint.rotation_ends_at is not None
        shown["rotationEndsAt"] = clock.iso(endpoint.rotation_ends_at)
    if endpoint.failing_since is not None:
        shown["failingSince"] = clock.iso(endpoint.failing_since)
    if endpoint.disabled_at is not None:
        shown["switchedOffAt"] = clock.iso(endpoint.disabled_at)
    if endpoint.disabled_reason is not None:
        shown["switchedOffReason"] = endpoint.disabled_reason
    return shown
