"""Amounts and times as statements write them. Pure."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

Cell = str | int | float | datetime | None

# What nearly every amount is. A file has millions of them, and the exact pattern takes twice as long.
_PLAIN = re.compile(r"(-?\d{1,3}(?:,\d{3})*|-?\d+)(?:\.0+)?", re.ASCII)
_NUMBER = re.compile(r"([+-]?)\s*(?:TZS|TSH|TSHS)?\s*(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?", re.IGNORECASE)
_DIRECTIVES = {
    "%d": r"(?P<day>\d{1,2})",
    "%m": r"(?P<month>\d{1,2})",
    "%Y": r"(?P<year>\d{4})",
    "%y": r"(?P<year>\d{2})",
    "%H": r"(?P<hour>\d{1,2})",
    "%I": r"(?P<hour>\d{1,2})",
    "%M": r"(?P<minute>\d{2})",
    "%S": r"(?P<second>\d{2})",
    "%p": r"(?P<half>[AaPp])\.?[Mm]\.?",
}


class Unreadable(ValueError):  # noqa: N818
    """Why a cell cannot be read, as the end of a sentence that begins with its column."""


def text_of(cell: Cell) -> str:
    """A receipt in a spreadsheet may be a number."""
    if type(cell) is str:  # nearly always
        return cell.strip()
    if cell is None:
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()


def amount_of(cell: Cell) -> int | None:
    """Whole shillings; None if the cell is empty. `1,020.00`, `-500` and `(500)` are amounts."""
    if isinstance(cell, str):
        return _amount_of_text(cell)
    if cell is None:
        return None
    if isinstance(cell, datetime):
        raise Unreadable("is a date, not an amount")
    if not float(cell).is_integer():
        raise Unreadable(f"is {cell}, which is not a whole number of shillings")
    return int(cell)


def _amount_of_text(cell: str) -> int | None:
    if plain := _PLAIN.fullmatch(cell):
        return int(plain[1].replace(",", ""))
    text = cell.strip()
    if text in ("", "-"):
        return None
    is_negative = text.startswith("(") and text.endswith(")")
    match = _NUMBER.fullmatch(text[1:-1].strip() if is_negative else text)
    if match is None:
        raise Unreadable(f"is {text!r}, which is not an amount")
    sign, whole, fraction = match.groups()
    if fraction is not None and fraction.strip("0"):
        raise Unreadable(f"is {text!r}, which is not a whole number of shillings")
    value = int(whole.replace(",", ""))
    return -value if is_negative or sign == "-" else value


def times(formats: tuple[str, ...], zone: str) -> Callable[[Cell], datetime]:
    """A reader of times in these formats, in UTC. Written for many lines: several times as fast as strptime.

    Lines that follow each other often have the same time: a payment and its fee, or all of one second.
    """
    patterns = [re.compile(_pattern(each)) for each in formats]
    there = ZoneInfo(zone)

    def time_of(cell: Cell) -> datetime:
        if isinstance(cell, datetime):
            return (cell if cell.tzinfo else cell.replace(tzinfo=there)).astimezone(UTC)
        return time_of_text(text_of(cell))

    @lru_cache(maxsize=64)
    def time_of_text(text: str) -> datetime:
        for pattern in patterns:
            if match := pattern.fullmatch(text):
                return _datetime(match.groupdict(), there, text)
        raise Unreadable(f"is {text!r}, which is not a time such as {datetime(2026, 1, 31, 14, 5):{formats[0]}}")

    return time_of


def _pattern(format_: str) -> str:
    if format_ == "iso":
        return (
            r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)(?:[T ](?P<hour>\d\d):(?P<minute>\d\d)"
            r"(?::(?P<second>\d\d)(?:\.\d+)?)?(?P<zone>Z|[+-]\d\d:?\d\d)?)?"
        )
    return re.sub(r"%[a-zA-Z]|[^%]", lambda each: _DIRECTIVES.get(each[0], re.escape(each[0])), format_)


def _datetime(parts: dict[str, str | None], there: ZoneInfo, text: str) -> datetime:
    if parts.get("zone"):
        return datetime.fromisoformat(text).astimezone(UTC)
    year = int(parts["year"] or 0)
    hour = int(parts.get("hour") or 0)
    if half := parts.get("half"):
        hour = hour % 12 + (12 if half in "Pp" else 0)
    try:
        local = datetime(
            year + 2000 if year < 100 else year,
            int(parts["month"] or 0),
            int(parts["day"] or 0),
            hour,
            int(parts.get("minute") or 0),
            int(parts.get("second") or 0),
            tzinfo=there,
        )
    except ValueError:
        raise Unreadable(f"is {text!r}, and there is no such time") from None
    return local.astimezone(UTC)
