"""The supported languages, and which of them a request prefers (header Accept-Language). Pure."""

import re
from enum import StrEnum

_WEIGHT = re.compile(r"q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)")


class Language(StrEnum):
    ENGLISH = "en"
    KISWAHILI = "sw"


def preferred(accepted: str) -> Language:
    """The language with the largest weight, the first of equal ones; English if the header names none that we
    support."""
    best, most = Language.ENGLISH, 0.0
    for part in accepted.split(","):
        tag, *parameters = (each.strip().lower() for each in part.split(";"))
        code = tag.partition("-")[0]
        weight = _weight_of(parameters)
        if code in Language.__members__.values() and weight > most:
            best, most = Language(code), weight
    return best


def _weight_of(parameters: list[str]) -> float:
    """1 without a weight; 0, which is never chosen, if it cannot be read."""
    if not parameters:
        return 1.0
    match = _WEIGHT.fullmatch(parameters[0])
    return float(match[1]) if match else 0.0
