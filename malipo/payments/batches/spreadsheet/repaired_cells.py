"""Reads phone numbers, amounts and networks from spreadsheet cells, and repairs what spreadsheet programs do to them.
Pure.

A program takes a phone number for a number: the number loses its zero, or is saved as 7.54E+08. A certain repair is
made. If digits may be lost, the repair is only proposed, and a person must check it, because it could be another
person's number.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from malipo import phone as phones
from malipo.networks.connector import Channel
from malipo.validation.typed_values import amount_of, phone_of

_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060\ufeff]")
_SPACES = re.compile(r"[^\S\n]+")
_SCIENTIFIC = re.compile(r"([0-9])(?:[.,]([0-9]{1,15}))?[eE]\+?([0-9]{1,2})")
_DECIMAL_COMMA = re.compile(r"([0-9]+),00?")
_WHOLE_FRACTION = re.compile(r"([0-9]+)\.0+")
_CHANNEL_WORDS: dict[Channel, str] = {
    Channel.MPESA: r"m ?pesa|voda(com)?( ?m ?pesa)?",
    Channel.TIGO_PESA: r"tigo( ?pesa)?|mixx( by yas)?|yas|mix by yas",
    Channel.AIRTEL_MONEY: r"airtel( ?money)?",
    Channel.HALOPESA: r"halo( ?pesa|tel)?",
}


class Quality(StrEnum):
    GOOD = "good"
    DOUBTFUL = "doubtful"  # a proposal that a person must look at
    WRONG = "wrong"


class RepairKind(StrEnum):
    """How a cell was repaired. The first two are only another way to write a number."""

    LOCAL_NUMBER = "local_number"  # 0754 000 100
    WITHOUT_PLUS = "without_plus"  # 255754000100
    LOST_ZERO = "lost_zero"  # 754000100
    SCIENTIFIC = "scientific"  # 7.54000100E+08, with all its digits
    DECIMAL_COMMA = "decimal_comma"  # 25000,00
    NETWORK_BY_PREFIX = "network_by_prefix"  # there was none


ORDINARY = frozenset({RepairKind.LOCAL_NUMBER, RepairKind.WITHOUT_PLUS})


@dataclass(frozen=True, slots=True)
class CellValue:
    value: int | str  # as it stands, if it cannot be read
    quality: Quality
    repair: RepairKind | None = None


def clean(text: str) -> str:
    """The text without what cannot be seen, and the apostrophe that makes a spreadsheet keep a text."""
    return _SPACES.sub(" ", _INVISIBLE.sub("", text)).strip().removeprefix("'").strip()


def phone_cell(text: str) -> CellValue:
    typed = clean(text)
    if match := _SCIENTIFIC.fullmatch(typed):
        digits, is_exact = _expanded(match)
        number = phone_of(digits)
        if not phones.is_valid(number):
            return CellValue(typed, Quality.WRONG)
        return CellValue(number, Quality.GOOD if is_exact else Quality.DOUBTFUL, RepairKind.SCIENTIFIC)
    whole = _WHOLE_FRACTION.fullmatch(typed)
    plain = whole[1] if whole else typed
    number = phone_of(plain)
    if not phones.is_valid(number):
        return CellValue(typed, Quality.WRONG)
    return CellValue(number, Quality.GOOD, _repair_of(plain))


def _repair_of(typed: str) -> RepairKind | None:
    digits = re.sub(r"[^+0-9]", "", typed)
    if digits.startswith("+"):
        return None
    if digits.startswith(("255", "00255")) and len(digits) > 10:
        return RepairKind.WITHOUT_PLUS
    return RepairKind.LOCAL_NUMBER if digits.startswith("0") else RepairKind.LOST_ZERO


def amount_cell(text: str) -> CellValue:
    """500.000 may be five hundred thousand, so it is not read."""
    typed = clean(text)
    if match := _SCIENTIFIC.fullmatch(typed):
        digits, is_exact = _expanded(match)
        if not digits:
            return CellValue(typed, Quality.WRONG)
        return CellValue(int(digits), Quality.GOOD if is_exact else Quality.DOUBTFUL, RepairKind.SCIENTIFIC)
    if match := _DECIMAL_COMMA.fullmatch(typed):
        return CellValue(int(match[1]), Quality.GOOD, RepairKind.DECIMAL_COMMA)
    amount = amount_of(typed)
    return CellValue(amount, Quality.GOOD if isinstance(amount, int) else Quality.WRONG)


def _expanded(match: re.Match[str]) -> tuple[str, bool]:
    """The digits in full, none if it is not a whole number; and whether all of them were written."""
    first, fraction, exponent = match[1], match[2] or "", int(match[3])
    number = Decimal(f"{first}.{fraction or 0}").scaleb(exponent)
    if exponent > 15 or number != number.to_integral_value():
        return "", False
    return str(int(number)), len(fraction) >= exponent


def channel_cell(text: str) -> Channel | None:
    words = re.sub(r"[^a-z]+", " ", clean(text).casefold()).strip()
    return next((each for each, pattern in _CHANNEL_WORDS.items() if re.fullmatch(pattern, words)), None)
