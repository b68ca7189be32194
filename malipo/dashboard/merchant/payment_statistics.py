"""Statistics of payments for the overview: sums by day and channel, success rates, durations. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date

from malipo.dashboard.language import Translator
from malipo.networks.connector import Channel
from malipo.outbox.daily_totals import Total
from malipo.payments.transaction import Type

LEAST_TRIED = 20  # payments, for a success rate
_FINE = 900  # tenths of a percent, from which on they are shown

Totals = Mapping[tuple[date, str, str], Total]
ByDay = Mapping[date, tuple[Total, Total]]  # collections, payouts


def by_day_of(found: Totals, days: Sequence[date]) -> ByDay:
    """The sums collected and paid out on each of these days, over all channels."""
    by_day = {day: (Total(), Total()) for day in days}
    for (day, type_, _), total in found.items():
        collected, paid = by_day[day]
        _add(collected if type_ == Type.COLLECTION else paid, total)
    return by_day


def whole_of(by_day: ByDay) -> tuple[Total, Total]:
    return added(collected for collected, _ in by_day.values()), added(paid for _, paid in by_day.values())


def added(parts: Iterable[Total]) -> Total:
    whole = Total()
    for part in parts:
        _add(whole, part)
    return whole


def _add(whole: Total, part: Total) -> None:
    for name in Total.__slots__:
        setattr(whole, name, getattr(whole, name) + getattr(part, name))


def _ended(total: Total) -> int:
    return total.completed + total.failed + total.cancelled


def by_channel(found: Totals) -> list[tuple[Channel, Type, Total]]:
    """Every channel that something has ended on, collections before payouts."""
    rows = [
        (channel, type_, added(total for (_, *key), total in found.items() if key == [type_, channel]))
        for channel in Channel
        for type_ in Type
    ]
    return [(channel, type_, total) for channel, type_, total in rows if _ended(total)]


def tenths_of(total: Total) -> int | None:
    """Tenths of a percent: the completed ones among the completed and failed. Never rounded up to 100%."""
    tried = total.completed + total.failed
    return total.completed * 1000 // tried if tried else None


def tells(total: Total) -> bool:
    """Whether there are enough payments for a meaningful success rate: with three, one failure is a third."""
    return total.completed + total.failed >= LEAST_TRIED


def percent(tenths: int | None) -> str:
    """`98.5%`, where it matters, else whole: `67%`; a dash where there is nothing to divide."""
    if tenths is None:
        return "–"
    if tenths < _FINE:
        return f"{(tenths + 5) // 10}%"
    return f"{tenths // 10}.{tenths % 10}%" if tenths % 10 else f"{tenths // 10}%"


def duration(words: Translator, seconds: float) -> str:
    """To the second below an hour, to the minute above it."""
    whole = round(seconds)
    if whole < 60:
        return words("{seconds} s", seconds=whole)
    if whole < 3600:
        return words("{minutes} min {seconds} s", minutes=whole // 60, seconds=whole % 60)
    return words("{hours} h {minutes} min", hours=whole // 3600, minutes=whole % 3600 // 60)
