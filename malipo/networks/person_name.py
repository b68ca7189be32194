"""A person's name, as networks write it. Pure."""

from malipo.networks.http.client import text_of

_MOST_CHARACTERS = 100

_PLACEHOLDERS = ("N/A", "NA", "NULL", "NONE", "UNKNOWN")


def name_in(*parts: object) -> str | None:
    """The parts of a name on one line; None where there is none, or only something in its place."""
    texts = [text_of(part) for part in parts if isinstance(part, str)]
    name = " ".join(" ".join(text for text in texts if text.upper() not in _PLACEHOLDERS).split())[:_MOST_CHARACTERS]
    return name.strip() if any(character.isalpha() for character in name) else None
