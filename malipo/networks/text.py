"""Text for networks, and text from them. Pure."""

import re
import unicodedata

from malipo.networks.connector import FailureCode

_OTHER = re.compile(r"[^A-Za-z0-9]+")


# Some networks report the reason only as text. It tells why a payment failed, never whether it failed.
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
    """Why it failed, as far as the network's words tell."""
    return next((code for code, pattern in _REASONS if pattern.search(text)), FailureCode.REJECTED)


def cleaned(text: str, *, least: int, most: int, otherwise: str = "Payment") -> str:
    """Letters, digits and single spaces; a plain word where too little is left."""
    plain = "".join(each for each in unicodedata.normalize("NFKD", text) if not unicodedata.combining(each))
    words = _OTHER.sub(" ", plain).strip()[:most].strip()
    return words if len(words) >= least else otherwise
