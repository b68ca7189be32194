"""The JSON of a link, as the contract defines it for responses and events. Pure."""

from collections.abc import Sequence
from typing import Any

from malipo import clock
from malipo.links.link import LatePayment, Link, LinkStatus

View = dict[str, Any]


def created(link: Link, url: str) -> View:
    """The response to its creation. It never changes, so that a repeated request gets the same response."""
    return _head(link, LinkStatus.ACTIVE, url) | {"createdAt": clock.iso(link.created_at)}


def shown(link: Link, url: str, late: Sequence[LatePayment] = ()) -> View:
    """The link as it is now."""
    return _head(link, link.status, url) | _outcome(link, late)


def in_event(link: Link, payment_id: str, late: Sequence[LatePayment]) -> View:
    """The body of an event: the link as it was at that moment, and the payment that the event is about. Without the
    link's address, which depends on the request."""
    return _head(link, link.status, None) | _outcome(link, late) | {"payment": payment_id}


def url_of(base: str, link: Link) -> str:
    return f"{base}/pay/{link.code}"


def _head(link: Link, status: LinkStatus, url: str | None) -> View:
    view: View = {"id": link.id}
    if url is not None:
        view["url"] = url
    view["status"] = status
    for name, value in (("amount", link.amount), ("minAmount", link.min_amount), ("maxAmount", link.max_amount)):
        if value is not None:
            view[name] = value
    view["description"] = link.description
    if link.order_reference is not None:
        view["orderReference"] = link.order_reference
    view["reusable"] = link.is_reusable
    if link.max_payments is not None:
        view["maxPayments"] = link.max_payments
    if link.expires_at is not None:
        view["expiresAt"] = clock.iso(link.expires_at)
    if link.return_url is not None:
        view["returnUrl"] = link.return_url
    return view


def _outcome(link: Link, late: Sequence[LatePayment]) -> View:
    view: View = {"paidCount": link.paid_count, "paidAmount": link.paid_amount}
    if late:
        view["latePayments"] = [
            {"id": each.id, "reason": each.reason, "amount": each.amount, "paidAt": clock.iso(each.paid_at)}
            for each in late
        ]
    view["createdAt"] = clock.iso(link.created_at)
    if link.paid_at is not None:
        view["paidAt"] = clock.iso(link.paid_at)
    if link.cancelled_at is not None:
        view["cancelledAt"] = clock.iso(link.cancelled_at)
    return view
