"""Settlements: a part of the wallet that is sent to your bank account."""

from __future__ import annotations

from malipo_client.operation import Mode, Resource, listing, operation
from malipo_client.records import Settlement, SettlementEntry, SettlementReport, SettlementStatus
from malipo_client.request import Page, Request, created, new_idempotency_key, one, text
from malipo_client.resources.pages import by_number

_SETTLEMENTS = "/v1/settlements"
_REPORT = _SETTLEMENTS + "/{id}/report"
_READ = one(Settlement, "settlement")


class Settlements(Resource[Mode]):
    @operation
    def create(
        self,
        *,
        amount: int | None = None,
        bank_account_id: str | None = None,
        order_reference: str | None = None,
        currency: str | None = None,
        idempotency_key: str | None = None,
    ) -> Request[Settlement]:
        """The amount leaves the wallet at once. Without `amount`: all that can be settled."""
        body = {
            "amount": amount,
            "bankAccountId": bank_account_id,
            "orderReference": order_reference,
            "currency": currency,
        }
        key = idempotency_key or new_idempotency_key()
        return Request("POST", _SETTLEMENTS, created(Settlement, "settlement"), body=body, idempotency_key=key)

    @listing
    def list(self, *, status: SettlementStatus | None = None, page_size: int = 100) -> Request[Page[Settlement]]:
        """Every settlement, the newest first."""
        query = {"status": status, "limit": page_size}
        return by_number(_SETTLEMENTS, Settlement, "settlements", query, is_seen=lambda each, last: each.id >= last.id)

    @operation
    def get(self, id: str) -> Request[Settlement]:
        """Its status at this moment, with the bank's own reference once it is known."""
        return Request("GET", _SETTLEMENTS + "/{id}", _READ, ids={"id": id})

    @operation
    def cancel(self, id: str) -> Request[Settlement]:
        """While it is in no file to the bank: the amount is in the wallet again."""
        return Request("POST", _SETTLEMENTS + "/{id}/cancel", _READ, ids={"id": id})

    @operation
    def report(self, id: str) -> Request[SettlementReport]:
        """What the settlement consists of, in sums that add up to it."""
        return Request("GET", _REPORT, one(SettlementReport, "report"), ids={"id": id})

    @listing
    def report_entries(self, id: str, *, page_size: int = 100) -> Request[Page[SettlementEntry]]:
        """Each line of the report, the newest first."""
        return by_number(
            _REPORT,
            SettlementEntry,
            "entries",
            {"limit": page_size},
            is_seen=lambda entry, last: entry.line >= last.line,
            ids={"id": id},
        )

    @operation
    def report_csv(self, id: str) -> Request[str]:
        """The lines of the report as a file, the oldest first."""
        return Request("GET", _REPORT, text, ids={"id": id}, query={"format": "csv"})
