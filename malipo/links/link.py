"""A payment link, its status, and the errors about it. Pure.

A link is no payment. Each attempt of a customer to pay it is an ordinary collection with the link's id. The status is
computed at each read, so nothing has to happen for a link to expire.
"""

from datetime import datetime
from enum import StrEnum
from urllib.parse import urlencode, urlsplit, urlunsplit

import msgspec

from malipo.errors import Missing


class LinkStatus(StrEnum):
    ACTIVE = "ACTIVE"
    PAID = "PAID"  # as often as it can be
    EXPIRED = "EXPIRED"
    CANCELLED = "CANCELLED"


class Late(StrEnum):
    """Why the money of an attempt came too late. The merchant has it all the same, and keeps or refunds it."""

    ALREADY_PAID = "already_paid"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class NoSuchLink(Missing):
    code = "link_not_found"

    def __init__(self) -> None:
        super().__init__("There is no payment link with this id.")


class LatePayment(msgspec.Struct, frozen=True):
    id: str  # of the payment
    reason: Late
    amount: int
    paid_at: datetime


class Link(msgspec.Struct, frozen=True, kw_only=True):
    merchant_id: str
    id: str
    code: str
    amount: int | None  # None: the customer types it
    min_amount: int | None = None
    max_amount: int | None = None
    description: str
    order_reference: str | None = None
    is_reusable: bool = False
    max_payments: int | None = None  # of a reusable one; None: any number
    expires_at: datetime | None = None
    return_url: str | None = None
    created_at: datetime
    created_by: str
    cancelled_at: datetime | None = None
    paid_at: datetime | None = None  # when the last possible payment came
    paid_count: int = 0  # without late payments
    paid_amount: int = 0
    is_expired: bool = False  # by the database's clock, when it was read

    @property
    def places(self) -> int | None:
        """How often it can be paid; None: any number of times."""
        return self.max_payments if self.is_reusable else 1

    @property
    def status(self) -> LinkStatus:
        return status_of(
            is_cancelled=self.cancelled_at is not None,
            is_paid=self.paid_at is not None or (self.places is not None and self.paid_count >= self.places),
            is_expired=self.is_expired,
        )


def status_of(*, is_cancelled: bool, is_paid: bool, is_expired: bool) -> LinkStatus:
    """`is_paid` counts payments in time: if a link is cancelled just when its payment ends, it is PAID."""
    if is_paid:
        return LinkStatus.PAID
    if is_cancelled:
        return LinkStatus.CANCELLED
    return LinkStatus.EXPIRED if is_expired else LinkStatus.ACTIVE


def why_late(
    *, paid_at: datetime, is_full: bool, expires_at: datetime | None, cancelled_at: datetime | None
) -> Late | None:
    """Why the money of an attempt came too late; None if it came in time. `is_full`: without this attempt the link was
    paid as often as it can be."""
    if cancelled_at is not None and paid_at > cancelled_at:
        return Late.CANCELLED
    if is_full:
        return Late.ALREADY_PAID
    return Late.EXPIRED if expires_at is not None and paid_at > expires_at else None


def return_address(link: Link) -> str | None:
    """The address to which the page sends the customer back: with the link's id, and without anything that a program
    could take for a status."""
    if link.return_url is None:
        return None
    parts = urlsplit(link.return_url)
    query = "&".join(each for each in (parts.query, urlencode({"link": link.id})) if each)
    return urlunsplit(parts._replace(query=query))
