"""Amounts and phone numbers as people type them. Pure."""

import re

_CURRENCY = re.compile(r"^(?:tzs|tshs?|sh)\.?\s*|\s*(?:tzs|tshs?|/=|/-)$", re.IGNORECASE)
_AMOUNT = re.compile(r"(?:[0-9]{1,3}(?:[, ][0-9]{3})+|[0-9]{1,15})(?:\.00?)?")
_BETWEEN_DIGITS = re.compile(r"[\s().-]")
_NUMBER = re.compile(r"(?:\+|00)?255([0-9]{9})|0?([67][0-9]{8})")


def amount_of(text: str) -> int | str:
    """25000, 25,000, TZS 25,000 and 25,000/= are all the same. What could mean two things stays as it was typed."""
    plain = _CURRENCY.sub("", text.strip())
    return int(re.sub(r"\.00?$|[, ]", "", plain)) if _AMOUNT.fullmatch(plain) else text


def phone_of(text: str) -> str:
    """0754 000 100, 255754000100 and +255 754 000 100 are all the same. Anything else stays as it was typed."""
    match = _NUMBER.fullmatch(_BETWEEN_DIGITS.sub("", text))
    return f"+255{match[1] or match[2]}" if match else text
