"""Collecting money, paying out, and the outcomes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Literal

from malipo_client.errors import NotEndedYet
from malipo_client.operation import Flow, Mode, Resource, flow, listing, operation
from malipo_client.records import ChannelName, PaymentType, Quote, Receipt, Status, Transaction
from malipo_client.request import Page, Request, created, new_idempotency_key, one
from malipo_client.resources.pages import older_than_the_last

_LONGEST_WAIT = 25
_PACE_SECONDS = 1.0
_READ = one(Transaction, "transaction")
_CREATED = created(Transaction, "transaction")


class Payments(Resource[Mode]):
    @operation
    def collect(
        self,
        *,
        amount: int,
        channel: ChannelName,
        buyer_phone: str,
        buyer_name: str | None = None,
        description: str | None = None,
        metadata: Mapping[str, object] | None = None,
        order_reference: str | None = None,
        currency: str | None = None,
        idempotency_key: str | None = None,
    ) -> Request[Transaction]:
        """Ask a customer for money: they approve a prompt on their phone, and your wallet grows.

        Take the `idempotency_key` from your own record: the order and the number of the attempt ("order-1001-1"). When
        the customer tries again, that is another attempt, with another key. Without one the call gets a key of its own,
        which protects its retries, but not a call that your program makes twice.
        """
        return Request(
            "POST",
            "/v1/payments",
            _CREATED,
            body={
                "amount": amount,
                "channel": channel,
                "buyerPhone": buyer_phone,
                "buyerName": buyer_name,
                "description": description,
                "metadata": metadata,
                "orderReference": order_reference,
                "currency": currency,
            },
            idempotency_key=idempotency_key or new_idempotency_key(),
        )

    @operation
    def disburse(
        self,
        *,
        amount: int,
        channel: ChannelName,
        recipient_phone: str,
        recipient_name: str | None = None,
        description: str | None = None,
        metadata: Mapping[str, object] | None = None,
        order_reference: str | None = None,
        currency: str | None = None,
        idempotency_key: str | None = None,
    ) -> Request[Transaction]:
        """Send money from your wallet to a phone.

        Take the `idempotency_key` from your own record, such as the payslip, and store it before you call.
        """
        return Request(
            "POST",
            "/v1/payments/disburse",
            _CREATED,
            body={
                "amount": amount,
                "channel": channel,
                "recipientPhone": recipient_phone,
                "recipientName": recipient_name,
                "description": description,
                "metadata": metadata,
                "orderReference": order_reference,
                "currency": currency,
            },
            idempotency_key=idempotency_key or new_idempotency_key(),
        )

    @operation
    def refund(
        self,
        id: str,
        *,
        amount: int | Literal["all"] = "all",
        reason: str | None = None,
        order_reference: str | None = None,
        currency: str | None = None,
        idempotency_key: str | None = None,
    ) -> Request[Transaction]:
        """Send a collection back to who paid it: all that is left of it, or this amount.

        None is an error, and not all: a variable that is empty by mistake gives nothing back.
        """
        if amount is None:
            raise TypeError("amount must be whole shillings; leave it out to refund all that is left")
        return Request(
            "POST",
            "/v1/payments/{id}/refund",
            _CREATED,
            ids={"id": id},
            body={
                "amount": None if amount == "all" else amount,
                "reason": reason,
                "orderReference": order_reference,
                "currency": currency,
            },
            idempotency_key=idempotency_key or new_idempotency_key(),
        )

    @operation
    def get(self, id: str, *, wait: int | None = None) -> Request[Transaction]:
        """A payment by its id or reference. With `wait`, as soon as its status changes, or after so many seconds."""
        return _get(id, wait)

    @operation
    def receipt(self, id: str) -> Request[Receipt]:
        """The receipt of a COMPLETED payment: its page for the customer, and the proof of what became of it."""
        return Request("GET", "/v1/payments/{id}/receipt", one(Receipt, "receipt"), ids={"id": id})

    @flow
    def wait_until_ended(self, id: str, *, timeout: float = 180) -> Flow[Transaction]:
        """The payment when it is COMPLETED, FAILED or CANCELLED. Raises NotEndedYet after `timeout` seconds."""
        asked_at = time.monotonic()
        ends_at, pause = asked_at + timeout, 0.0
        while True:
            left = max(0, int(ends_at - asked_at))
            transaction: Transaction = yield _get(id, min(left, _LONGEST_WAIT), pause)
            if transaction.has_ended:
                return transaction
            if not left:
                raise NotEndedYet(transaction)
            # The service holds its answer until there is news. Should it not, it is still asked once a second at most.
            now = time.monotonic()
            asked_at, pause = now, max(0.0, asked_at + _PACE_SECONDS - now)

    @listing
    def list(
        self,
        *,
        status: Status | None = None,
        type: PaymentType | None = None,
        channel: ChannelName | None = None,
        from_: str | None = None,
        to: str | None = None,
        search: str | None = None,
        order_reference: str | None = None,
        provider_reference: str | None = None,
        idempotency_key: str | None = None,
        link: str | None = None,
        page_size: int = 100,
    ) -> Request[Page[Transaction]]:
        """Every payment, the newest first; none is missed or comes twice while new ones are made.

        Each has all fields (the API's `view=full`) but `status_logs`, which `get` has.
        """
        query = {
            "status": status,
            "type": type,
            "channel": channel,
            "from": from_,
            "to": to,
            "search": search,
            "orderReference": order_reference,
            "providerReference": provider_reference,
            "idempotencyKey": idempotency_key,
            "link": link,
            "view": "full",
            "limit": page_size,
        }
        return older_than_the_last("/v1/payments", Transaction, "transactions", query)

    @operation
    def cancel(self, id: str) -> Request[Transaction]:
        """Cancel a payment that no network has heard of yet. Again is the same again."""
        return Request("POST", "/v1/payments/{id}/cancel", _READ, ids={"id": id})

    @operation
    def quote(
        self, *, type: PaymentType, channel: ChannelName, amount: int, currency: str | None = None
    ) -> Request[Quote]:
        """What a COLLECTION or DISBURSEMENT would cost."""
        body = {"type": type, "channel": channel, "amount": amount, "currency": currency}
        return Request("POST", "/v1/payments/quote", one(Quote, "quote"), body=body)


def _get(id: str, wait: int | None, pause: float = 0.0) -> Request[Transaction]:
    return Request(
        "GET",
        "/v1/payments/{id}",
        _READ,
        ids={"id": id},
        query={"wait": wait},
        wait_seconds=wait or 0,
        pause_seconds=pause,
    )
