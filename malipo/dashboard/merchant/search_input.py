"""Guesses what a search of the transactions is for: a receipt, its beginning, an SMS, an amount. Pure.

The API's `search` is as it is specified. Here it comes after a receipt or an order reference that a payment has
exactly, and before what else the text can mean, which counts only where the search finds nothing.
"""

import re
from collections.abc import Iterator

from malipo.payments.listing.filters import TransactionFilter
from malipo.validation.typed_values import amount_of

LEAST_OF_A_RECEIPT = 5  # characters: a shorter beginning is that of too many receipts
_MOST = 64
_WORDS_OF_A_MESSAGE = 40
_RECEIPT = re.compile(r"[A-Za-z0-9._/-]{4,64}")
_IN_A_MESSAGE = re.compile(r"(?=.*[0-9])[A-Za-z0-9._/-]{6,64}|[A-Z]{8,64}")
_AROUND = " .,:;()[]\"'"
_BETWEEN = re.compile(r"[\s.-]")
_IS_AN_AMOUNT = re.compile(r"[0-9],[0-9]{3}|(?:tzs|tshs?|sh)\b|/[=-]$", re.IGNORECASE)
_BETWEEN_DIGITS = re.compile(r"[\s().-]")
_NUMBER = re.compile(r"\+?[0-9]{2,15}")


def term_of(text: str) -> str:
    """The search term. Part of a phone number is found however it is typed: we keep it as +255…, without spaces."""
    digits = _BETWEEN_DIGITS.sub("", text)
    if not _NUMBER.fullmatch(digits):
        return text.strip()
    return re.sub(r"^0(?=[67])", "+255", digits)


def amount_in(typed: str) -> int | None:
    """25,000 and TZS 25000 are amounts. 25000 alone can be a part of a phone number or of an order reference."""
    amount = amount_of(typed)
    return amount if isinstance(amount, int) and _IS_AN_AMOUNT.search(typed) else None


def exactly(typed: str) -> list[TransactionFilter]:
    """The meanings to try first, which fit the text exactly. Each has an index, so each costs little."""
    receipts = [each for word in _receipts_in(typed) for each in dict.fromkeys((word, word.upper()))]
    found = [TransactionFilter(provider_reference=each) for each in dict.fromkeys(receipts)]
    if term_of(typed) != typed:
        # It looks like a phone number. As it was typed, such as 2026-1042, it can be an order reference as well.
        found.append(TransactionFilter(order_reference=typed))
    return found


def otherwise(typed: str) -> list[TransactionFilter]:
    """Other meanings of the text, for a search that found nothing: the beginning of a receipt, an amount, an order
    reference with hyphens."""
    found = []
    beginning = _BETWEEN.sub("", typed)
    if len(beginning) >= LEAST_OF_A_RECEIPT and len(typed) <= _MOST and _RECEIPT.fullmatch(beginning):
        begins = dict.fromkeys(way for each in (typed.strip(_AROUND), beginning) for way in (each, each.upper()))
        found += [TransactionFilter(receipt_begins=each) for each in begins if _RECEIPT.fullmatch(each)]
    amount = amount_of(typed)
    if isinstance(amount, int) and amount > 0:
        found.append(TransactionFilter(amount=amount))
    hyphened = "-".join(typed.split())
    if hyphened != typed and any(map(str.isdigit, hyphened)):
        found.append(TransactionFilter(search=hyphened))
    return found


def _receipts_in(typed: str) -> Iterator[str]:
    """The receipts in a search text, without the punctuation around and between their characters. Of several words,
    only those that look like receipts."""
    bare = typed.strip(_AROUND)
    for each in (bare, _BETWEEN.sub("", typed)):
        if _RECEIPT.fullmatch(each):
            yield each
    words = typed.split()[:_WORDS_OF_A_MESSAGE]
    if len(words) > 1:
        yield from (word for each in words if _IN_A_MESSAGE.fullmatch(word := each.strip(_AROUND)))
