"""Webhook endpoints and their deliveries. The key needs `webhooks.manage`."""

from __future__ import annotations

import builtins
from collections.abc import Sequence

from malipo_client.operation import Mode, Resource, listing, operation
from malipo_client.records import Delivery, Webhook
from malipo_client.request import Page, Request, many, nothing, number, one
from malipo_client.resources.pages import by_next

_WEBHOOKS = "/v1/webhooks"
_ONE = _WEBHOOKS + "/{id}"
_ENDPOINT = one(Webhook, "endpoint")
_DELIVERY = one(Delivery, "delivery")


class Webhooks(Resource[Mode]):
    @operation
    def create(self, *, url: str, events: Sequence[str]) -> Request[Webhook]:
        """Register an endpoint. Its `secret` is in this answer and never again; `["*"]` is every event."""
        body = {"url": url, "events": [*events]}
        return Request("POST", _WEBHOOKS, _ENDPOINT, body=body, is_repeatable=False)

    @operation
    def list(self) -> Request[builtins.list[Webhook]]:
        return Request("GET", _WEBHOOKS, many(Webhook, "endpoints"))

    @operation
    def get(self, id: str) -> Request[Webhook]:
        return Request("GET", _ONE, _ENDPOINT, ids={"id": id})

    @operation
    def change(
        self, id: str, *, url: str | None = None, events: Sequence[str] | None = None, is_active: bool | None = None
    ) -> Request[Webhook]:
        """Only what is given changes."""
        body = {"url": url, "events": events and [*events], "isActive": is_active}
        return Request("PATCH", _ONE, _ENDPOINT, ids={"id": id}, body=body)

    @operation
    def delete(self, id: str) -> Request[None]:
        return Request("DELETE", _ONE, nothing, ids={"id": id}, is_repeatable=False)

    @operation
    def test(self, id: str) -> Request[Delivery]:
        """Send a `webhook.test` now, and see what your server answers."""
        return Request("POST", _ONE + "/test", _DELIVERY, ids={"id": id}, is_repeatable=False)

    @operation
    def rotate_secret(self, id: str) -> Request[Webhook]:
        """A new `secret`, in this answer only. For 24 hours webhooks are signed with both."""
        return Request("POST", _ONE + "/rotate-secret", _ENDPOINT, ids={"id": id}, is_repeatable=False)

    @operation
    def finish_rotation(self, id: str) -> Request[Webhook]:
        """From now on only with the new secret."""
        return Request("POST", _ONE + "/rotate-secret/finish", _ENDPOINT, ids={"id": id}, is_repeatable=False)

    @listing
    def deliveries(self, id: str, *, state: str | None = None, page_size: int = 100) -> Request[Page[Delivery]]:
        """Every delivery to an endpoint, the latest first."""
        query = {"state": state, "limit": page_size}
        return by_next(_ONE + "/deliveries", Delivery, "deliveries", query, {"id": id})

    @operation
    def delivery(self, id: str, delivery: str) -> Request[Delivery]:
        return Request("GET", _ONE + "/deliveries/{delivery}", _DELIVERY, ids={"id": id, "delivery": delivery})

    @operation
    def redeliver(self, id: str, delivery: str) -> Request[Delivery]:
        """Send an event again, whatever became of it."""
        ids = {"id": id, "delivery": delivery}
        return Request("POST", _ONE + "/deliveries/{delivery}/redeliver", _DELIVERY, ids=ids)

    @operation
    def recover(self, id: str, *, since: str) -> Request[int]:
        """Send everything since then that the endpoint has not accepted. How many events that is."""
        return Request("POST", _ONE + "/recover", number("recovered"), ids={"id": id}, body={"since": since})
