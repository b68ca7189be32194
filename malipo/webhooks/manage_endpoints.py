"""Manages endpoints: registers, changes and deletes them. Their secrets are rotated in `rotate_secrets.py`."""

import dataclasses
from collections.abc import Sequence
from datetime import datetime

from malipo import ids
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.encryption import Encryption
from malipo.errors import Conflict, Missing
from malipo.webhooks.endpoint import MOST_PER_MERCHANT, Endpoint
from malipo.webhooks.signature import new_secret
from malipo.webhooks.store import endpoints


class NoSuchEndpoint(Missing):
    code = "webhook_not_found"

    def __init__(self) -> None:
        super().__init__("There is no webhook endpoint with this id.")


class EndpointDisabled(Conflict):
    code = "webhook_inactive"

    def __init__(self) -> None:
        super().__init__("The endpoint is disabled: set isActive to true first.")


class TooManyEndpoints(Conflict):
    code = "too_many_webhooks"

    def __init__(self) -> None:
        super().__init__(f"A merchant has at most {MOST_PER_MERCHANT} webhook endpoints: delete one first.")


async def register(
    tx: Tx, merchant_id: str, *, url: str, events: Sequence[str], encryption: Encryption, actor: Actor, now: datetime
) -> tuple[Endpoint, str]:
    """Register an endpoint. Returns it with its secret, which is shown in clear text only now."""
    if await endpoints.lock_all(tx, merchant_id) >= MOST_PER_MERCHANT:
        raise TooManyEndpoints
    id_, secret = ids.mint("wh_", now), new_secret()
    endpoint = Endpoint(
        id=id_,
        merchant_id=merchant_id,
        url=url,
        events=events,
        is_active=True,
        secret=encryption.encrypt(secret, owner=id_),
        created_at=now,
    )
    await endpoints.insert(tx, endpoint)
    await append_to_audit_log(tx, actor, "webhook.registered", endpoint, now, url=url, events=events)
    return endpoint, secret


async def change(
    tx: Tx,
    merchant_id: str,
    id_: str,
    *,
    url: str | None,
    events: Sequence[str] | None,
    is_active: bool | None,
    actor: Actor,
    now: datetime,
) -> Endpoint:
    """Change the given fields. An endpoint that is switched on again starts without its earlier failures."""
    before = await get_locked(tx, merchant_id, id_)
    after = dataclasses.replace(
        before,
        url=before.url if url is None else url,
        events=before.events if events is None else events,
        is_active=before.is_active if is_active is None else is_active,
    )
    if after.is_active and not before.is_active:
        after = dataclasses.replace(after, failing_since=None, disabled_at=None, disabled_reason=None)
    elif before.is_active and not after.is_active:
        after = dataclasses.replace(after, disabled_at=now, disabled_reason=None)
    await endpoints.update(tx, after)
    await append_to_audit_log(
        tx, actor, "webhook.changed", after, now, url=after.url, events=after.events, is_active=after.is_active
    )
    return after


async def delete(tx: Tx, merchant_id: str, id_: str, *, actor: Actor, now: datetime) -> None:
    endpoint = await get_locked(tx, merchant_id, id_)
    await endpoints.delete(tx, id_, now=now)
    await append_to_audit_log(tx, actor, "webhook.deleted", endpoint, now, url=endpoint.url)


async def get_active(tx: Tx, merchant_id: str, endpoint_id: str) -> Endpoint:
    """The endpoint; a refusal if it does not exist or is disabled."""
    endpoint = await endpoints.get(tx, merchant_id, endpoint_id)
    if endpoint is None:
        raise NoSuchEndpoint
    if not endpoint.is_active:
        raise EndpointDisabled
    return endpoint


async def get_locked(tx: Tx, merchant_id: str, id_: str) -> Endpoint:
    endpoint = await endpoints.get(tx, merchant_id, id_, is_locked=True)
    if endpoint is None:
        raise NoSuchEndpoint
    return endpoint


async def append_to_audit_log(
    tx: Tx, actor: Actor, act: str, endpoint: Endpoint, now: datetime, **details: object
) -> None:
    await audit_log.append(tx, actor, act, now=now, merchant_id=endpoint.merchant_id, endpoint=endpoint.id, **details)
