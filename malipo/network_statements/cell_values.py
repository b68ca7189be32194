"""Amounts and times as statements write them. Pure."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from malipo.errors import Code, Problem
from malipo.table_files.rows import Cell

# Nearly every amount looks like this. A file has millions, and the exact patterns below take twice as long.
_PLAIN = re.compile(r"(-?\d{1,3}(?:,\d{3}){0,4}|-?\d{1,15})(?:\.00?)?", re.ASCII)
_SIGN = r"([+-]?)\s*(?:(?:TZS|TSHS?)\.?)?\s*([+-]?)"
# By the mark before the cents, which a layout states.
_NUMBERS = {
    mark: re.compile(rf"{_SIGN}(\d{{1,3}}(?:{group}\d{{3}})+|\d+)(?:{point}(\d+))?", re.ASCII | re.IGNORECASE)
    for mark, group, point in ((".", ",", r"\."), (",", r"[.\s]", ","))
}
# A thousand for one program, and one for another.
_AMBIGUOUS = {mark: re.compile(rf"[1-9]\d{{0,2}}{re.escape(mark)}\d{{3}}", re.ASCII) for mark in _NUMBERS}
DECIMAL_MARKS = tuple(_NUMBERS)
TIME_FORMATS = (
    "iso",
    "%d-%m-%Y %H:%M:%S",
    "%d/%m/%Y %H:%M:%S",
    "%d-%m-%Y %H:%M",
    "%d/%m/%Y %H:%M",
    "%d-%m-%y %I:%M %p",
    "%d/%m/%y %I:%M %p",
    "%d-%m-%Y %I:%M %p",
    "%d/%m/%Y %I:%M %p",
    "%d-%m-%Y %I:%M:%S %p",
    "%d/%m/%Y %I:%M:%S %p",
    "%d-%m-%Y",
    "%d/%m/%Y",
    "%d %b %Y %H:%M:%S",
    "%d %b %Y %H:%M",
    "%d %b %Y",
    "%d-%b-%Y",
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DIRECTIVES = {
    "%d": r"(?P<day>\d{1,2})",
    "%m": r"(?P<month>\d{1,2})",
    "%Y": r"(?P<year>\d{4})",
    "%y": r"(?P<year>\d{2})",
    "%H": r"(?P<hour>\d{1,2})",
    "%I": r"(?P<hour>\d{1,2})",
    "%M": r"(?P<minute>\d{2})",
    "%S": r"(?P<second>\d{2})",
    "%b": r"(?P<month>[A-Za-z]{3,9})",
    "%p": r"(?P<half>[AaPp])\.?[Mm]\.?",
}
# Days since then are what a spreadsheet program keeps of a time, and shows where the cell is not formatted as one.
_FIRST_DAY = datetime(1899, 12, 30)
_SERIALS = range(36_526, 73_051)  # of the years 2000 to 2099
YEARS = range(2000, 2100)
_MOST_DIGITS = 15  # digits of whole shillings: no real sum has as many
_MOST_QUOTED = 60
_SERIAL = re.compile(r"\d{5}(?:[.,]\d+)?", re.ASCII)


class CellProblem(Code):
    """Why a cell cannot be read. The sentence begins with the name of its column, `column`, which the reader adds."""

    DATE = "cell_date"
    NO_AMOUNT = "cell_no_amount"
    OTHER_MARK = "cell_other_mark"  # it would be an amount with the other mark before the cents
    AMBIGUOUS = "cell_ambiguous_mark"
    PARTS_OF_A_CENT = "cell_parts_of_a_cent"
    TOO_MUCH = "cell_too_much"
    NO_TIME = "cell_no_time"
    NO_SUCH_TIME = "cell_no_such_time"
    YEAR = "cell_year"


class CellUnreadable(ValueError):  # noqa: N818
    """Why a cell or a line cannot be read."""

    def __init__(self, code: Code, /, **values: object) -> None:
        super().__init__(code)
        self.problem = Problem(code, **values)

    def of(self, column: Code) -> "CellUnreadable":
        """The same problem, of a column with this name."""
        return CellUnreadable(self.problem.code, column=Problem(column), **self.problem.values)


def text_of(cell: Cell) -> str:
    """A receipt in a spreadsheet may be a number."""
    if type(cell) is str:  # nearly always
        return cell.strip()
    if cell is None:
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()


def cents_of(cell: Cell, decimal_mark: str = ".") -> int | None:
    """An amount in cents; None if the cell is empty. `1,020.00`, `-59.40` and `(500)` are amounts.

    `1.000` is none unless the layout says which mark is before cents: it is a thousand, or one.
    """
    if isinstance(cell, str):
        if decimal_mark == "." and (plain := _PLAIN.fullmatch(cell)):
            return int(plain[1].replace(",", "")) * 100
        return _cents_of_text(cell, decimal_mark)
    if cell is None:
        return None
    if isinstance(cell, datetime):
        raise CellUnreadable(CellProblem.DATE)
    if abs(cell) >= 10**_MOST_DIGITS:
        raise CellUnreadable(CellProblem.TOO_MUCH, cell=str(cell))
    cents = round(cell * 100)
    # A spreadsheet program computes in binary fractions: 59.4 may be 59.400000000000006.
    if abs(cell * 100 - cents) > 1e-4:
        raise CellUnreadable(CellProblem.PARTS_OF_A_CENT, cell=str(cell))
    return cents


def _cents_of_text(cell: str, decimal_mark: str) -> int | None:
    text = cell.strip()
    if text in ("", "-"):
        return None
    is_negative = text.startswith("(") and text.endswith(")")
    match = _NUMBERS[decimal_mark].fullmatch(text[1:-1].strip() if is_negative else text)
    if match is None:
        if _has_other_mark(text, decimal_mark):
            raise CellUnreadable(CellProblem.OTHER_MARK, cell=_quoted(text), mark=decimal_mark)
        raise CellUnreadable(CellProblem.NO_AMOUNT, cell=_quoted(text))
    before, after, whole, fraction = match.groups()
    if before and after:
        raise CellUnreadable(CellProblem.NO_AMOUNT, cell=_quoted(text))
    if fraction is not None and _AMBIGUOUS[decimal_mark].fullmatch(f"{whole}{decimal_mark}{fraction}"):
        raise CellUnreadable(CellProblem.AMBIGUOUS, cell=_quoted(text))
    if fraction is not None and fraction[2:].strip("0"):
        raise CellUnreadable(CellProblem.PARTS_OF_A_CENT, cell=_quoted(text))
    digits = re.sub(r"\D", "", whole).lstrip("0")
    if len(digits) > _MOST_DIGITS:
        raise CellUnreadable(CellProblem.TOO_MUCH, cell=_quoted(text))
    cents = int(digits or 0) * 100 + int(f"{fraction or ''}00"[:2])
    return -cents if is_negative or "-" in (before, after) else cents


def _quoted(text: str) -> str:
    """A cell may have thousands of letters."""
    return repr(text if len(text) <= _MOST_QUOTED else f"{text[:_MOST_QUOTED]}…")


def _has_other_mark(text: str, decimal_mark: str) -> bool:
    """Whether it would be an amount with the other mark before the cents."""
    other = next(each for each in DECIMAL_MARKS if each != decimal_mark)
    return _NUMBERS[other].fullmatch(text) is not None


def times(formats: tuple[str, ...], zone: str) -> Callable[[Cell], datetime]:
    """A reader of times in these formats, in UTC. Written for many lines: several times as fast as strptime.

    Lines that follow each other often have the same time: a payment and its fee, or all of one second.
    """
    patterns = [re.compile(_pattern(each)) for each in formats]
    there = ZoneInfo(zone)

    def time_of(cell: Cell) -> datetime:
        if isinstance(cell, datetime):
            return _in_utc(cell if cell.tzinfo else cell.replace(tzinfo=there), str(cell))
        return time_of_text(text_of(cell))

    @lru_cache(maxsize=64)
    def time_of_text(text: str) -> datetime:
        for pattern in patterns:
            if match := pattern.fullmatch(text):
                return _datetime(match.groupdict(), there, text)
        if (local := _of_serial(text)) is not None:
            return _in_utc(local.replace(tzinfo=there), text)
        example = f"{datetime(2026, 1, 31, 14, 5):{'%Y-%m-%d %H:%M:%S' if formats[0] == 'iso' else formats[0]}}"
        raise CellUnreadable(CellProblem.NO_TIME, cell=_quoted(text), example=example)

    return time_of


def _of_serial(text: str) -> datetime | None:
    if _SERIAL.fullmatch(text) is None or int(text[:5]) not in _SERIALS:
        return None
    seconds = round(float(text.replace(",", ".")) * 86_400)
    return _FIRST_DAY + timedelta(seconds=seconds)


def is_day(cell: Cell) -> bool:
    """Whether a time is a day without an hour."""
    if isinstance(cell, datetime):
        return cell.time() == time()
    text = text_of(cell)
    return bool(text) and ":" not in text and not (_SERIAL.fullmatch(text) and len(text) > 5)


def _month(text: str) -> int:
    if text.isdecimal():
        return int(text)
    return _MONTHS.index(text[:3].lower()) + 1


def _pattern(format_: str) -> str:
    if format_ == "iso":
        return (
            r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)(?:[T ](?P<hour>\d\d):(?P<minute>\d\d)"
            r"(?::(?P<second>\d\d)(?:\.\d+)?)?(?P<zone>Z|[+-]\d\d:?\d\d)?)?"
        )
    return re.sub(r"%[a-zA-Z]|[^%]", lambda each: _DIRECTIVES.get(each[0], re.escape(each[0])), format_)


def _datetime(parts: dict[str, str | None], there: ZoneInfo, text: str) -> datetime:
    year = int(parts["year"] or 0)
    hour = int(parts.get("hour") or 0)
    if half := parts.get("half"):
        hour = hour % 12 + (12 if half in "Pp" else 0)
    try:
        if parts.get("zone"):
            return _in_utc(datetime.fromisoformat(text), text)
        local = datetime(
            year + 2000 if year < 100 else year,
            _month(parts["month"] or "0"),
            int(parts["day"] or 0),
            hour,
            int(parts.get("minute") or 0),
            int(parts.get("second") or 0),
            tzinfo=there,
        )
    except CellUnreadable:
        raise
    except ValueError:
        raise CellUnreadable(CellProblem.NO_SUCH_TIME, cell=_quoted(text)) from None
    return _in_utc(local, text)


def _in_utc(moment: datetime, text: str) -> datetime:
    """A day after the year 9999 is no time for Python; and a file must not cover all the years to come."""
    if moment.year not in YEARS:
        raise CellUnreadable(CellProblem.YEAR, cell=_quoted(text))
    return moment.astimezone(UTC)
