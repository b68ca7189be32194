"""Reads what a customer has typed on a link's page, with everything that is wrong with it.

Whether the link takes it is decided when it is pressed, with the link locked.
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
    amount: int | None = None  # of a link without an amount; of another it is not read
    name: str = ""
    press_id: str | None = None  # drawn by the page: the same page pressed again, or sent again, is the same press
    address: str | None = None  # of the client
    may_be_second: bool = False  # the customer was warned that another number may have paid


def press_of(
    fields: Fields, code: str, *, press_id: str | None = None, address: str | None = None, may_be_second: bool = False
) -> Press:
    """The fields `amount`, `channel`, `buyerPhone` and `buyerName`; Invalid with everything that is wrong. Whether the
    amount is within the link's bounds is said by `Links.press`."""
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
    )
