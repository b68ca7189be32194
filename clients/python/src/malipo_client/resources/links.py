"""Payment links: addresses that you send to customers, who pay on their pages."""

from __future__ import annotations

from malipo_client.operation import Mode, Resource, listing, operation
from malipo_client.records import Link, LinkStatus
from malipo_client.request import Page, Request, created, new_idempotency_key, one
from malipo_client.resources.pages import by_number

_LINKS = "/v1/links"
_READ = one(Link, "link")


class Links(Resource[Mode]):
    @operation
    def create(
        self,
        *,
        description: str,
        amount: int | None = None,
        min_amount: int | None = None,
        max_amount: int | None = None,
        order_reference: str | None = None,
        reusable: bool | None = None,
        max_payments: int | None = None,
        expires_at: str | None = None,
        return_url: str | None = None,
        currency: str | None = None,
        idempotency_key: str | None = None,
    ) -> Request[Link]:
        """A link, whose `url` you send to the customer. Without `amount` the customer types it."""
        body = {
            "amount": amount,
            "minAmount": min_amount,
            "maxAmount": max_amount,
            "description": description,
            "orderReference": order_reference,
            "reusable": reusable,
            "maxPayments": max_payments,
            "expiresAt": expires_at,
            "returnUrl": return_url,
            "currency": currency,
        }
        key = idempotency_key or new_idempotency_key()
        return Request("POST", _LINKS, created(Link, "link"), body=body, idempotency_key=key)

    @listing
    def list(self, *, status: LinkStatus | None = None, page_size: int = 100) -> Request[Page[Link]]:
        """Every link, the newest first."""
        query = {"status": status, "limit": page_size}
        return by_number(_LINKS, Link, "links", query, is_seen=lambda link, last: link.id >= last.id)

    @operation
    def get(self, id: str) -> Request[Link]:
        """Its status at this moment, and what has come by it."""
        return Request("GET", _LINKS + "/{id}", _READ, ids={"id": id})

    @operation
    def cancel(self, id: str) -> Request[Link]:
        """No new attempt begins. Money that still comes is in `late_payments`."""
        return Request("POST", _LINKS + "/{id}/cancel", _READ, ids={"id": id})
