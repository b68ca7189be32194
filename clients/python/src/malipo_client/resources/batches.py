"""Batches: many payouts at once, made by one person and approved by another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from malipo_client.operation import Mode, Resource, listing, operation
from malipo_client.records import Batch, BatchItem, BatchStatus, camel
from malipo_client.request import Page, Request, created, new_idempotency_key, one, text
from malipo_client.resources.pages import by_number

_BATCHES = "/v1/payments/disburse/batches"
_READ = one(Batch, "batch")


class Batches(Resource[Mode]):
    @operation
    def create(
        self,
        *,
        items: Sequence[Mapping[str, object]],
        name: str | None = None,
        idempotency_key: str | None = None,
    ) -> Request[Batch]:
        """Up to 5,000 payouts. Nothing is paid before somebody else has approved them.

        An item is `{"amount": 40000, "channel": "MPESA", "recipient_phone": "+255754000001"}`, and if you like
        `recipient_name`, `description` and `order_reference`. The contract's spelling (`recipientPhone`) is taken too.
        """
        body = {"name": name, "items": [{camel(key): value for key, value in item.items()} for item in items]}
        key = idempotency_key or new_idempotency_key()
        return Request("POST", _BATCHES, created(Batch, "batch"), body=body, idempotency_key=key)

    @listing
    def list(self, *, status: BatchStatus | None = None, page_size: int = 100) -> Request[Page[Batch]]:
        """Every batch, the newest first."""
        query = {"status": status, "limit": page_size}
        return by_number(_BATCHES, Batch, "batches", query, is_seen=lambda batch, last: batch.id >= last.id)

    @operation
    def get(self, id: str) -> Request[Batch]:
        return Request("GET", _BATCHES + "/{id}", _READ, ids={"id": id})

    @listing
    def items(self, id: str, *, page_size: int = 100) -> Request[Page[BatchItem]]:
        """The items in their order, each with what became of it."""
        return by_number(_BATCHES + "/{id}/items", BatchItem, "items", {"limit": page_size}, ids={"id": id})

    @operation
    def items_csv(self, id: str) -> Request[str]:
        """The same as a file."""
        return Request("GET", _BATCHES + "/{id}/items", text, ids={"id": id}, query={"format": "csv"})

    @operation
    def approve(self, id: str) -> Request[Batch]:
        """Reserve the money of all items at once, and pay them. The key needs `payouts.approve`."""
        return Request("POST", _BATCHES + "/{id}/approve", _READ, ids={"id": id})

    @operation
    def cancel(self, id: str) -> Request[Batch]:
        """Cancel what of it no network has heard of yet."""
        return Request("POST", _BATCHES + "/{id}/cancel", _READ, ids={"id": id})
