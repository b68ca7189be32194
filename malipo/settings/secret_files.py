"""Secrets in files: `MALIPO_SECRET_KEY_FILE=/run/secret` is read instead of `MALIPO_SECRET_KEY`.

A value in the environment can be seen by other programs of the same user; a file can be kept from them. Only secrets
may stand in a file. Both at once is an error, because nobody could say which of the two counts.
"""

from collections.abc import Mapping
from pathlib import Path

SUFFIX = "_FILE"


def value_of(environment: Mapping[str, str], name: str, *, is_secret: bool) -> str | None:
    """The text of a variable, or of the file that stands in for it; None if neither is set."""
    path = environment.get(name + SUFFIX) if is_secret else None
    if path is None:
        return environment.get(name)
    if name in environment:
        raise ValueError(f"is set twice: once itself, and once as {name}{SUFFIX}")
    try:
        return Path(path).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise ValueError(f"cannot be read from the file {path!r}: {reason}") from None
