"""Dates and date-times of a request: ISO 8601, always with an offset. Pure."""

import re
from datetime import UTC, date, datetime, time

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
# A plus that was not percent-encoded arrives as a space, and can mean nothing else.
_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)(Z|[+ -][0-9]{2}:?[0-9]{2})"
)


def moment_of(text: str, *, is_end: bool) -> datetime:
    """A date or a date-time with offset; ValueError if it is neither. A date that ends a range includes its day."""
    if _DATE.fullmatch(text):
        return datetime.combine(date.fromisoformat(text), time.max if is_end else time.min, UTC)
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return datetime.fromisoformat(match[1] + match[2].replace(" ", "+")).astimezone(UTC)
