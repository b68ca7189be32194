"""Reads the fields of a request for a link, with the mistakes in them."""

from datetime import datetime
from urllib.parse import urlsplit

import msgspec

from malipo import ids
from malipo.audit_log.actor import Actor
from malipo.errors import Invalid
from malipo.links.link import Link
from malipo.money import MIN_PAYMENT
from malipo.payments import idempotency
from malipo.payments.payment_request import PaymentTerms
from malipo.validation.fields import Fields

_FIELDS = (
    "amount",
    "minAmount",
    "maxAmount",
    "description",
    "orderReference",
    "reusable",
    "maxPayments",
    "expiresAt",
    "returnUrl",
    "currency",
)
_MOST_URL = 2000
_MOST_PAYMENTS = 1_000_000  # fits its column with room to spare


class LinkRequest(msgspec.Struct, frozen=True):
    """A request for a link. If its fields are wrong there is no draft, and `problem` says why. The draft gets its code
    when it is stored (`create.py`)."""

    merchant_id: str
    draft: Link | None
    problem: Invalid | None
    key: str | None  # Idempotency-Key
    request_hash: bytes
    actor: Actor | None = None  # a person; what API keys do is not in the audit log


def link_request_of(
    fields: Fields,
    merchant_id: str,
    *,
    key: str | None,
    terms: PaymentTerms,
    now: datetime,
    created_by: str,
    actor: Actor | None = None,
) -> LinkRequest:
    """The request with its id. It keeps its mistakes, because a used idempotency key is answered before any of them. An
    unknown field is a mistake: a misspelt one, such as `maxPayment`, would allow more payments than was meant."""
    fields.refuse_unknown(*_FIELDS, of="a link")
    most = terms.max_amount(None)
    draft = Link(
        merchant_id=merchant_id,
        id=ids.mint("lnk_", now),
        code="",
        amount=fields.optional_amount("amount", least=MIN_PAYMENT, most=most),
        min_amount=fields.optional_amount("minAmount", least=MIN_PAYMENT, most=most),
        max_amount=fields.optional_amount("maxAmount", least=MIN_PAYMENT, most=most),
        description=fields.required_text("description", most=255, is_line=True),
        order_reference=fields.order_reference(),
        is_reusable=fields.boolean("reusable") or False,
        max_payments=_max_payments(fields),
        expires_at=_expires_at(fields, now),
        return_url=_return_url(fields),
        created_at=now,
        created_by=created_by,
    )
    _check_amounts(fields, draft)
    fields.currency()
    key = idempotency.key_in(fields, key, is_required=False)
    given_fields = {name: fields.raw(name) for name in _FIELDS if fields.raw(name) is not None}
    return LinkRequest(
        merchant_id=merchant_id,
        draft=draft if fields.problem is None else None,
        problem=fields.problem,
        key=key,
        request_hash=idempotency.request_hash(given_fields) if key is not None else b"",
        actor=actor,
    )


def _check_amounts(fields: Fields, draft: Link) -> None:
    for name in ("minAmount", "maxAmount"):
        if fields.raw("amount") is not None and fields.raw(name) is not None:
            fields.wrong(name, "amount_is_fixed", f"{name} is for links without amount, where the customer types it.")
    if draft.min_amount is not None and draft.max_amount is not None and draft.min_amount > draft.max_amount:
        fields.wrong("minAmount", "range_invalid", "minAmount must not be above maxAmount.")


def _max_payments(fields: Fields) -> int | None:
    value = fields.raw("maxPayments")
    if value is None:
        return None
    if type(value) is not int or not 1 <= value <= _MOST_PAYMENTS:
        message = f"maxPayments must be a whole number from 1 to {_MOST_PAYMENTS}."
        fields.wrong("maxPayments", "max_payments_invalid", message)
        return None
    if fields.raw("reusable") is not True:
        fields.wrong("maxPayments", "max_payments_invalid", "maxPayments is for reusable links; others are paid once.")
        return None
    return value


def _expires_at(fields: Fields, now: datetime) -> datetime | None:
    moment = fields.moment("expiresAt", is_end=True)
    if moment is not None and moment <= now:
        fields.wrong("expiresAt", "date_past", "expiresAt must be in the future.")
        return None
    return moment


def _return_url(fields: Fields) -> str | None:
    value = fields.text("returnUrl", most=_MOST_URL, is_line=True)
    if not value:
        return None
    if not is_https(value):
        message = "returnUrl must be an address that begins with https://, without a password."
        fields.wrong("returnUrl", "return_url_invalid", message)
        return None
    return value


def is_https(url: str) -> bool:
    if not url.isascii() or any(each.isspace() or each in '"<>\\' for each in url):
        return False
    try:
        parts = urlsplit(url)
        has_host = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False
    return parts.scheme == "https" and has_host and parts.username is None and parts.password is None
