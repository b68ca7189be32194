"""Whether a line may be a payment's although its words are those of a fee, a sweep or a bank's transfer. Pure.

The words of a line are partly those of customers and merchants. So a line that names one of our keys, or a customer,
is not booked by its words alone.
"""

from malipo import phone
from malipo.payments import network_keys
from malipo.validation.typed_values import phone_of


def names_key(key: str) -> bool:
    """Whether the text can be one of our network keys, of a known or a lost payment."""
    return network_keys.key_in(key) is not None


def names_customer(written: str) -> bool:
    """Whether the text has a customer's phone number, in full or masked. Our own accounts have other numbers."""
    is_masked = any(mark in written for mark in "*xX") and any(character.isdigit() for character in written)
    return is_masked or phone.is_valid(phone_of(written))


def may_be_payment(kind: str, amount: int, *, key: str, phone: str) -> bool:
    """Whether the line's own facts allow that it is a payment. A fee repeats the customer of its payment; an incoming
    sweep has none."""
    return names_key(key) or (kind in ("sweep", "bank") and amount > 0 and names_customer(phone))
