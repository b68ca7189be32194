"""What is wrong with a new password: its length, or that it would be guessed soon (zxcvbn). Pure, and slow.

Judging takes up to tenths of a second, so it runs off the event loop (`passwords.py`). Only the beginning is judged,
with few kinds of symbols: zxcvbn tries every reading of symbols as letters, and 100 well-chosen ones keep it busy for
minutes.
"""

from enum import StrEnum
from typing import Any

from zxcvbn import zxcvbn  # type: ignore[import-untyped]

from malipo.errors import Invalid

LEAST = 10
MOST = 200
_MOST_JUDGED = 30
_MOST_SYMBOLS = 3
_LEAST_SCORE = 3  # of 4: it resists somebody who has the hash


class Weakness(StrEnum):
    LENGTH = "password_length"
    COMMON = "password_common"
    NAMES = "password_names"
    REPEATED = "password_repeated"
    SEQUENCE = "password_sequence"
    DATE = "password_date"
    GUESSABLE = "password_guessable"


# After the field's name, as in "password is a date".
REASONS = {
    Weakness.LENGTH: f"must be {LEAST} to {MOST} characters",
    Weakness.COMMON: "is too easy to guess: it is like one that many people use",
    Weakness.NAMES: "is too easy to guess: it is like your name, your email or the name of this service",
    Weakness.REPEATED: "is too easy to guess: it repeats itself",
    Weakness.SEQUENCE: "is too easy to guess: it is a row of letters, digits or keys",
    Weakness.DATE: "is too easy to guess: it is a date",
    Weakness.GUESSABLE: "is too easy to guess: use several words that do not belong together",
}
_PATTERNS = {
    "repeat": Weakness.REPEATED,
    "sequence": Weakness.SEQUENCE,
    "spatial": Weakness.SEQUENCE,
    "date": Weakness.DATE,
    "regex": Weakness.DATE,
}


class WeakPassword(Invalid):
    code = "password_weak"

    def __init__(self, field: str, weakness: Weakness) -> None:
        sentence = f"{field} {REASONS[weakness]}."
        super().__init__("The request has invalid fields.", details={field: [sentence]})
        self.weakness = weakness


def weakness_of(password: str, *names: str) -> Weakness | None:
    """None if it will do. `names` are of the person: whoever guesses tries them first."""
    if not LEAST <= len(password) <= MOST:
        return Weakness.LENGTH
    judged = zxcvbn(_beginning(password), user_inputs=[*_parts(names), "malipo"])
    return None if judged["score"] >= _LEAST_SCORE else _reason(judged["sequence"])


def _parts(names: tuple[str, ...]) -> list[str]:
    """Whole, and each word of them: an email has a name on both sides."""
    words = [word for name in names for word in name.replace("@", " ").replace(".", " ").split()]
    return [each for each in (*names, *words) if each]


def _beginning(password: str) -> str:
    kept: set[str] = set()
    for character in password:
        if not character.isalnum() and not character.isspace() and len(kept) < _MOST_SYMBOLS:
            kept.add(character)
    begun = password[:_MOST_JUDGED]
    return "".join(each if each.isalnum() or each.isspace() or each in kept else "~" for each in begun)


def _reason(matches: list[dict[str, Any]]) -> Weakness:
    """The longest piece that was recognised."""
    known = [each for each in matches if each["pattern"] != "bruteforce"]
    if not known:
        return Weakness.GUESSABLE
    longest = max(known, key=lambda each: len(each["token"]))
    if longest["pattern"] == "dictionary":
        return Weakness.NAMES if longest["dictionary_name"] == "user_inputs" else Weakness.COMMON
    return _PATTERNS.get(longest["pattern"], Weakness.GUESSABLE)
