"""Compares the name that somebody typed with the one that a network has on file. Pure.

Names are compared as sets of words: in any order, in any case, without accents and titles. A network often has three
names where people type two, or an initial. The result is only shown to the payer: it never stops a payment.
"""

import re
import unicodedata
from enum import StrEnum

_BETWEEN_WORDS = re.compile(r"[^\w*]+|_+")
_APOSTROPHES = re.compile("['`\u2018\u2019\u02bc]")
_TITLES = frozenset({"mr", "mrs", "ms", "miss", "dr", "prof", "bw", "bwana", "bi", "bibi", "mzee", "mwl"})
_SHORTEST_MISSPELT = 5  # In a shorter word another letter is another name: Asha and Asia.


class Comparison(StrEnum):
    MATCH = "match"  # the same words, or at least two that are all in the other name
    CLOSE = "close"  # an initial, a part of the name, or a letter that differs
    DIFFERS = "differs"
    UNKNOWN = "unknown"  # one of the two is missing


def compare(typed: str, found: str | None) -> Comparison:
    fewer, more = sorted((words_of(typed), words_of(found or "")), key=len)
    if not fewer:
        return Comparison.UNKNOWN
    rest, unpaired = list(more), []
    for word in fewer:
        if word in rest:
            rest.remove(word)
        else:
            unpaired.append(word)
    if not unpaired:
        return Comparison.MATCH if len(fewer) > 1 or not rest else Comparison.CLOSE
    has_whole_word = len(unpaired) < len(fewer)
    for word in unpaired:
        alike = next((each for each in rest if _is_misspelt(word, each)), None)
        has_whole_word |= alike is not None
        alike = alike or next((each for each in rest if _is_shortened(word, each)), None)
        if alike is None:
            return Comparison.DIFFERS
        rest.remove(alike)
    return Comparison.CLOSE if has_whole_word else Comparison.DIFFERS


def words_of(name: str) -> list[str]:
    """Folded, without titles. A network's asterisks stay: they are letters that it does not show."""
    plain = "".join(each for each in unicodedata.normalize("NFKD", name) if not unicodedata.combining(each))
    words = _BETWEEN_WORDS.split(_APOSTROPHES.sub("", plain).casefold())
    return [word for word in words if word.strip("*") and word not in _TITLES]


def _is_shortened(one: str, other: str) -> bool:
    """Whether one is the initial of the other, or its first letters before asterisks."""
    return any(
        (len(short) == 1 or "*" in short) and _shown(short) and _shown(whole).startswith(_shown(short))
        for short, whole in ((one, other), (other, one))
    )


def _shown(word: str) -> str:
    return word.partition("*")[0]


def _is_misspelt(one: str, other: str) -> bool:
    """Whether one letter is another, is missing, or has changed places with its neighbour: Mohamed and Mohammed."""
    short, long = sorted((one, other), key=len)
    if len(long) < _SHORTEST_MISSPELT or len(long) - len(short) > 1 or "*" in one + other:
        return False
    same = next((place for place, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(short) < len(long):
        return short[same:] == long[same + 1 :]
    if short[same + 1 :] == long[same + 1 :]:
        return True
    return short[same + 2 :] == long[same + 2 :] and short[same : same + 2] == long[same : same + 2][::-1]
