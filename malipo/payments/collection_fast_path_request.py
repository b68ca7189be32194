"""Reads the request for a plain collection: in one pass, by the decoder itself.

It accepts only requests without mistakes. `payment_request.py` reads all others field by field, and says what is wrong.
A test compares both on random bodies (decision 50).
"""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from malipo import ids
from malipo.money import MIN_PAYMENT
from malipo.networks.connector import Channel
from malipo.payments.initiate import PaymentRequest
from malipo.payments.payment_request import PaymentTerms
from malipo.payments.transaction import Status, Transaction, Type
from malipo.validation import metadata

_Value = (
    Annotated[str, Meta(max_length=metadata.MAX_VALUE_LENGTH)]
    | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
    | float
    | bool
    | None
)
_Metadata = Annotated[
    dict[Annotated[str, Meta(min_length=1, max_length=metadata.MAX_KEY_LENGTH)], _Value],
    Meta(max_length=metadata.MAX_KEYS),
]


class _FastBody(msgspec.Struct, forbid_unknown_fields=True):
    """A missing field has its default. A request with a null or an unknown field is read field by field."""

    amount: Annotated[int, Meta(ge=MIN_PAYMENT)]
    channel: Channel
    buyerPhone: Annotated[str, Meta(pattern=r"^\+255[67][0-9]{8}$", max_length=13)]  # noqa: N815
    buyerName: Annotated[str, Meta(max_length=100)] = ""  # noqa: N815
    description: Annotated[str, Meta(max_length=255)] = ""
    metadata: _Metadata = msgspec.field(default_factory=dict)
    currency: Literal["TZS"] | UnsetType = UNSET
    orderReference: Annotated[str, Meta(min_length=1, max_length=64)] | None = None  # noqa: N815


class _Hashed(msgspec.Struct):
    """The fields in the order in which `idempotency.request_hash` sorts them."""

    amount: int
    channel: str
    description: str
    metadata: Mapping[str, object]
    name: str
    orderReference: str | UnsetType  # noqa: N815
    phone: str


_decode = msgspec.json.Decoder(_FastBody).decode
_encode = msgspec.json.Encoder(order="deterministic").encode


def fast_request_of(
    body: bytes,
    merchant_id: str,
    *,
    key: str,
    network_key: str,
    terms: PaymentTerms,
    now: datetime,
    created_by: str,
    is_key_checked: bool,
) -> PaymentRequest | None:
    """Read a body. Returns what `payment_request_of` returns for a request without mistakes; None if it must be read
    field by field.

    The caller has checked the idempotency key, and derived the network key from it.
    """
    # JSON allows control characters only as escapes, except DEL. A body without either has no text with one.
    if b"\\" in body or b"\x7f" in body:
        return None
    try:
        wanted = _decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    order_reference = wanted.orderReference
    if wanted.amount > terms.max_amounts[wanted.channel] or not (order_reference or "").isprintable():
        return None
    hashed = _Hashed(
        wanted.amount,
        wanted.channel,
        wanted.description,
        wanted.metadata,
        wanted.buyerName,
        UNSET if order_reference is None else order_reference,
        wanted.buyerPhone,
    )
    draft = Transaction(
        merchant_id=merchant_id,
        id=ids.mint("txn_", now),
        reference=terms.reference_of(network_key),
        network_key=network_key,
        type=Type.COLLECTION,
        channel=wanted.channel,
        status=Status.PENDING,
        amount=wanted.amount,
        fee=0,
        phone=wanted.buyerPhone,
        name=wanted.buyerName,
        description=wanted.description,
        metadata=wanted.metadata,
        created_at=now,
        created_by=created_by,
        order_reference=order_reference,
        is_key_derived=True,
    )
    return PaymentRequest(
        merchant_id=merchant_id,
        type=Type.COLLECTION,
        draft=draft,
        problem=None,
        key=key,
        request_hash=hashlib.sha256(_encode(hashed)).digest(),
        is_key_checked=is_key_checked,
    )
