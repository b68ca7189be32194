"""Text for networks, and text from them. Pure."""

import math
import re
import unicodedata
from decimal import Decimal

from malipo.networks.connector import FailureCode

_OTHER = re.compile(r"[^A-Za-z0-9]+")


# Some networks report the reason only as text. It says why a payment failed, never whether it failed.
_REASONS = (
    (FailureCode.INSUFFICIENT_FUNDS, re.compile(r"insufficient|balance|not enough|funds", re.IGNORECASE)),
    (FailureCode.EXPIRED, re.compile(r"expir|time[d ]*out|no response|did not respond", re.IGNORECASE)),
    (
        FailureCode.INVALID_RECIPIENT,
        re.compile(r"not registered|barred|invalid (msisdn|number|receiver|phone)|unsupported phone", re.IGNORECASE),
    ),
    (FailureCode.LIMIT_EXCEEDED, re.compile(r"limit|maximum|minimum", re.IGNORECASE)),
    (FailureCode.DECLINED, re.compile(r"declin|cancel|refus|reject|wrong pin", re.IGNORECASE)),
)


def reason_in(text: str) -> FailureCode:
    """Why it failed, as far as the network's words say."""
    return next((code for code, pattern in _REASONS if pattern.search(text)), FailureCode.REJECTED)


def cleaned(text: str, *, least: int, most: int, otherwise: str = "Payment") -> str:
    """Letters, digits and single spaces; a plain word where too little is left."""
    plain = "".join(each for each in unicodedata.normalize("NFKD", text) if not unicodedata.combining(each))
    words = _OTHER.sub(" ", plain).strip()[:most].strip()
    return words if len(words) >= least else otherwise


# 1234, 1,234.00 or -1,234.56: groups of three, if any.
_SHILLINGS = re.compile(r"-?(?:[0-9]{1,15}|[0-9]{1,3}(?:,[0-9]{3}){1,4})(?:\.[0-9]{1,6})?", re.ASCII)


def shillings_in(value: object) -> int | None:
    """Whole shillings of a balance, as a number or as grouped text; None if it is neither. Cents are cut off, because a
    balance is better shown too low than too high."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = value.strip() if isinstance(value, str) else str(value)
    return math.floor(Decimal(text.replace(",", ""))) if _SHILLINGS.fullmatch(text) else None
