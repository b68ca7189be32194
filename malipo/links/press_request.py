"""Reads the fields that a customer typed on a link's page, and collects all mistakes in them.

`press.py` decides whether the link accepts them, with the link locked.
"""

import msgspec

from malipo.networks.connector import Channel
from malipo.validation.fields import Fields

MOST_NAME = 100


class Press(msgspec.Struct, frozen=True, kw_only=True):
    """A customer asks to pay a link."""

    code: str
    phone: str  # +255…
    channel: Channel
    amount: int | None = None  # read only if the link has no amount
    name: str = ""
    press_id: str | None = None  # generated with the page: a page that is sent twice is one press
    address: str | None = None  # of the client
    may_be_second: bool = False  # the customer was warned that another number may have paid
    begun: str | None = None  # the payment that this browser has begun at the link, by its cookie


def press_of(
    fields: Fields,
    code: str,
    *,
    press_id: str | None = None,
    address: str | None = None,
    may_be_second: bool = False,
    begun: str | None = None,
) -> Press:
    """Read `amount`, `channel`, `buyerPhone` and `buyerName`. Raises Invalid with all mistakes. `Links.press` compares
    the amount with the link's bounds."""
    channel = fields.choice("channel", Channel, is_required=True)
    phone = fields.phone("buyerPhone")
    amount = fields.raw("amount")
    if amount is not None:
        amount = fields.amount("amount", least=1, most=None)
    name = fields.text("buyerName", most=MOST_NAME, is_line=True)
    fields.check()
    assert channel is not None
    return Press(
        code=code,
        phone=phone,
        channel=channel,
        amount=amount,
        name=name,
        press_id=press_id,
        address=address,
        may_be_second=may_be_second,
        begun=begun,
    )
