"""Reads the fields of a batch into an order, with everything that is wrong with any of its items."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from malipo import ids
from malipo.money import MIN_PAYMENT
from malipo.networks.connector import Channel
from malipo.payments import idempotency
from malipo.payments.batches.batch import MOST_ITEMS, BatchItem, Requester
from malipo.payments.batches.create import BatchDraft, BatchRequest
from malipo.payments.initiate import PaymentRequest
from malipo.payments.payment_request import PaymentTerms
from malipo.validation.fields import Fields

_ITEM_FIELDS = ("amount", "channel", "recipientPhone", "recipientName", "description", "orderReference")


def item_of(fields: Fields, index: int, terms: PaymentTerms) -> BatchItem:
    """One item, as far as its fields can be read; what is wrong is in `fields`. Its fee is not known yet."""
    channel = fields.choice("channel", Channel, is_required=True)
    fields.currency()
    return BatchItem(
        index=index,
        channel=channel or Channel.MPESA,
        amount=fields.amount("amount", least=MIN_PAYMENT, most=terms.max_amount(channel)),
        fee=0,
        phone=fields.phone("recipientPhone"),
        name=fields.text("recipientName", most=100),
        description=fields.text("description", most=255),
        order_reference=fields.order_reference(),
    )


def items_in(fields: Fields, terms: PaymentTerms) -> list[BatchItem]:
    """The field `items` of a batch. What is wrong with one is reported as `items[3].amount`."""
    values = fields.required("items")
    if values is None:
        return []
    if not isinstance(values, list) or not 1 <= len(values) <= MOST_ITEMS:
        fields.wrong("items", "items_invalid", f"items must be a list of 1 to {MOST_ITEMS} items.")
        return []
    items = []
    for index, value in enumerate(values):
        if not isinstance(value, dict):
            fields.wrong(f"items[{index}]", "field_invalid", f"items[{index}] must be an object.")
            continue
        of_item = Fields(value)
        items.append(item_of(of_item, index, terms))
        fields.add(of_item, prefix=f"items[{index}].")
    return items


def batch_request_of(
    fields: Fields,
    merchant_id: str,
    *,
    key: str | None,
    terms: PaymentTerms,
    now: datetime,
    requester: Requester,
    is_key_required: bool = False,
) -> BatchRequest:
    """The order with its id. Errors are kept in it, because a used idempotency key is answered before any of them."""
    draft = BatchDraft(
        id=ids.mint("bat_", now),
        name=fields.text("name", most=100, is_line=True),
        items=items_in(fields, terms),
        created_at=now,
    )
    fields.currency()
    key = idempotency.key_in(fields, key, is_required=is_key_required)
    return BatchRequest(
        merchant_id=merchant_id,
        draft=draft if fields.problem is None else None,
        problem=fields.problem,
        key=key,
        request_hash=_hash(fields.raw("name", ""), fields.raw("items", [])) if key is not None else b"",
        requester=requester,
    )


def retrying(request: BatchRequest, payout_ids: Sequence[str]) -> BatchRequest:
    """The order, with items that pay these payouts again: each item the payout at its place."""
    if request.draft is None:
        return request
    pairs = zip(request.draft.items, payout_ids, strict=True)
    items = [replace(item, retry_of=payout_id) for item, payout_id in pairs]
    return replace(request, draft=replace(request.draft, items=items))


def batch_request_of_one(request: PaymentRequest, requester: Requester, *, now: datetime) -> BatchRequest:
    """A payout that a person wants to make, and that somebody else must approve: a batch of one item."""
    draft = request.draft
    batch = None
    if draft is not None:
        item = BatchItem(
            index=0,
            channel=draft.channel,
            amount=draft.amount,
            fee=0,
            phone=draft.phone,
            name=draft.name,
            description=draft.description,
            order_reference=draft.order_reference,
            refund_of=draft.refund_of,
            retry_of=draft.retry_of,
        )
        batch = BatchDraft(ids.mint("bat_", now), "", [item], now)
    return BatchRequest(request.merchant_id, batch, request.problem, request.key, request.request_hash, requester)


def _hash(name: Any, items: Any) -> bytes:
    """Over the known fields, after defaults, as for a single payment."""
    known = [_known(each) for each in items] if isinstance(items, Sequence) and not isinstance(items, str) else items
    return idempotency.request_hash({"name": name, "items": known})


def _known(item: Any) -> Any:
    if not isinstance(item, Mapping):
        return item
    return {name: item[name] for name in _ITEM_FIELDS if item.get(name) not in (None, "")}
