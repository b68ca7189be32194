"""Tanzanian mobile numbers: their spellings, and the network that a prefix was assigned to.

Numbers are portable, so the prefix is only a hint: it selects the name that a phone shows, and never refuses a
payment.
"""

import re

_FORMS = re.compile(r"(?:\+?255|0)([67][0-9]{8})")

# The two digits after 255, as the regulator assigned them.
_PREFIXES = {
    "MPESA": ("74", "75", "76", "79"),
    "AIRTEL_MONEY": ("66", "68", "69", "78"),
    "TIGO_PESA": ("65", "67", "70", "71", "77"),
    "HALOPESA": ("61", "62", "63"),
}
_NETWORK_OF = {prefix: network for network, prefixes in _PREFIXES.items() for prefix in prefixes}

# M-Pesa's sandbox takes this number for a subscriber, though no phone has it.
TEST_NUMBER = "000000000001"

# The number in the examples that we show, without its last three digits.
EXAMPLES = {"MPESA": "+255754123", "AIRTEL_MONEY": "+255684123", "TIGO_PESA": "+255714123", "HALOPESA": "+255621123"}


def read(text: str) -> str | None:
    """The number in international form, however a person wrote it; None if it is not one."""
    # In a query string a bare plus arrives as a space.
    found = _FORMS.fullmatch(text.strip().replace(" ", "").replace("-", ""))
    return f"+255{found[1]}" if found else None


def network_of(phone: str) -> str | None:
    """The channel of the network that the number was assigned to; None if that network has no channel here."""
    return _NETWORK_OF.get(phone[4:6])


def shown(phone: str) -> str:
    """The number as people read it: `+255 754 123 456`."""
    return f"{phone[:4]} {phone[4:7]} {phone[7:10]} {phone[10:]}"


def mask(phone: str) -> str:
    return f"{phone[:5]}*****{phone[-3:]}"
