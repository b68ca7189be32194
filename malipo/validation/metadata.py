"""Metadata of a payment: how many keys, how long, and which values. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

MAX_KEYS = 50
MAX_KEY_LENGTH = 40
MAX_VALUE_LENGTH = 500

_QUOTED_LENGTH = 40


def problems_with_metadata(metadata: Mapping[str, Any]) -> Iterator[str]:
    """The rest of a sentence that begins with the field's name, for each thing that is wrong."""
    if len(metadata) > MAX_KEYS:
        yield f"must have at most {MAX_KEYS} keys; it has {len(metadata)}"
    for key, value in metadata.items():
        if not 1 <= len(key) <= MAX_KEY_LENGTH or "\0" in key:
            yield f"keys must be 1 to {MAX_KEY_LENGTH} characters: {_quoted(key)}"
        elif problem := _problem_with_value(value):
            yield f"value of {_quoted(key)} {problem}"


def _problem_with_value(value: Any) -> str | None:
    if isinstance(value, str):
        if len(value) > MAX_VALUE_LENGTH:
            return f"must be at most {MAX_VALUE_LENGTH} characters"
        return "must not contain NUL" if "\0" in value else None
    if type(value) is int and not -(2**63) <= value < 2**63:
        return "must be a number of at most 64 bits"
    if value is None or isinstance(value, bool | int | float):
        return None
    return "must be a string, a number, a boolean or null"


def _quoted(key: str) -> str:
    return repr(key if len(key) <= _QUOTED_LENGTH else key[:_QUOTED_LENGTH] + "…")
