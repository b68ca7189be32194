"""Draws charts as SVG, from numbers and texts that are arguments. Pure.

Each chart is drawn twice, for a wide and for a narrow screen, and the style sheet shows one of the two, so letters and
bars keep their size. The style sheet sets the colours, by class. Screen readers get a title and a description; the
exact figures belong in a table beside the chart.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

_STEPS = (1, 2, 5, 10)
_UNITS = ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "K"))


@dataclass(frozen=True, slots=True)
class ChartLabels:
    """The title of a chart and the description of its content. `name` is its id on the page."""

    name: str
    title: str
    description: str
    hint: str = ""  # how a column is read; shown where scripts run


@dataclass(frozen=True, slots=True)
class ChartColumn:
    """Two amounts beside each other: what came in and what went out."""

    label: str
    came: int
    went: int
    tip: str  # what is read at it


@dataclass(frozen=True, slots=True)
class Point:
    label: str
    tenths: int | None  # of a percent; None where there is no payment
    tip: str


@dataclass(frozen=True, slots=True)
class _Sheet:
    """The area of one drawing: numbers stand left of `left`, labels below `bottom`."""

    size: str
    width: int
    height: int
    room: int  # that a label needs
    left: int = 46
    top: int = 22

    @property
    def bottom(self) -> int:
        return self.height - 24

    def y(self, share: float) -> float:
        return self.bottom - share * (self.bottom - self.top)

    def slot(self, count: int) -> float:
        return (self.width - self.left) / max(count, 1)

    def middle(self, index: int, count: int) -> float:
        return self.left + (index + 0.5) * self.slot(count)


_HIGH = (_Sheet("wide", 760, 230, room=64), _Sheet("narrow", 340, 210, room=58))
_LOW = (_Sheet("wide", 760, 140, room=64), _Sheet("narrow", 340, 140, room=58))


def columns(labels: ChartLabels, days: Sequence[ChartColumn]) -> Markup:
    """Bars, two for each day, over an axis of money."""
    marks = ticks(max((max(day.came, day.went) for day in days), default=0))

    def draw(sheet: _Sheet) -> Iterator[Markup]:
        yield from _grid(sheet, [(mark / marks[-1], _amount(mark, marks)) for mark in marks])
        yield from _labels(sheet, [day.label for day in days])
        yield _bars(sheet, "came", [day.came / marks[-1] for day in days], is_left=True)
        yield _bars(sheet, "went", [day.went / marks[-1] for day in days], is_left=False)

    return _drawn(labels, _HIGH, [day.tip for day in days], draw)


def line(labels: ChartLabels, points: Sequence[Point]) -> Markup:
    """A line of percents. It breaks where there is no payment."""

    def draw(sheet: _Sheet) -> Iterator[Markup]:
        yield from _grid(sheet, [(0.0, "0%"), (0.5, "50%"), (1.0, "100%")])
        yield from _labels(sheet, [point.label for point in points])
        places = [
            None if point.tenths is None else (sheet.middle(at, len(points)), sheet.y(point.tenths / 1000))
            for at, point in enumerate(points)
        ]
        yield Markup('<path class="curve" d="{}"/>').format(_path(places))
        radius = min(3.5, sheet.slot(len(points)) / 3)
        for x, y in filter(None, places):
            yield Markup('<circle class="dot" cx="{}" cy="{}" r="{}"/>').format(_n(x), _n(y), _n(radius))

    return _drawn(labels, _LOW, [point.tip for point in points], draw)


def share(title: str, tenths: int) -> Markup:
    """A small bar that is filled so far."""
    return Markup(
        '<svg class="share" role="img" viewBox="0 0 100 6" preserveAspectRatio="none"><title>{}</title>'
        '<rect class="track" width="100" height="6"/><rect class="fill" width="{}" height="6"/></svg>'
    ).format(title, _n(tenths / 10))


def ticks(most: int) -> list[int]:
    """Round numbers from 0 to at least the most: few of them."""
    if most <= 0:
        return [0, 1]
    power = 1
    while True:
        for step in _STEPS:
            if step * power * 4 >= most:
                return [mark * step * power for mark in range(-(-most // (step * power)) + 1)]
        power *= 10


def short(amount: int) -> str:
    """`950`, `1.2K`, `25K`, `1.2M`: three figures at most, and never more than there is."""
    for unit, letter in _UNITS:
        if amount >= unit:
            tenths = amount * 10 // unit
            return (
                f"{tenths // 10}.{tenths % 10}{letter}" if tenths < 100 and tenths % 10 else f"{tenths // 10}{letter}"
            )
    return str(amount)


def _amount(mark: int, marks: Sequence[int]) -> str:
    return f"TZS {short(mark)}" if mark == marks[-1] else short(mark)


def _drawn(
    labels: ChartLabels, sheets: Sequence[_Sheet], tips: Sequence[str], draw: Callable[[_Sheet], Iterator[Markup]]
) -> Markup:
    """`chart.js` lays a slider over the columns, by which each is read. Without scripts there is the table."""
    drawings = Markup("").join(
        Markup(
            '<svg class="chart {size}" viewBox="0 0 {width} {height}" role="img" '
            'aria-labelledby="{id}-title {id}-desc">'
            '<title id="{id}-title">{title}</title><desc id="{id}-desc">{description}</desc>{drawn}</svg>'
        ).format(
            size=sheet.size,
            width=sheet.width,
            height=sheet.height,
            id=f"{labels.name}-{sheet.size}",
            title=labels.title,
            description=labels.description,
            drawn=Markup("").join(draw(sheet)),
        )
        for sheet in sheets
    )
    return Markup(
        '<div class="graph" data-graph="{}" data-hint="{}" data-tips="{}"><div class="plot">{}</div></div>'
    ).format(labels.title, labels.hint, json.dumps(tips, ensure_ascii=False, separators=(",", ":")), drawings)


def _grid(sheet: _Sheet, marks: Sequence[tuple[float, str]]) -> Iterator[Markup]:
    for at, words in marks:
        y = _n(sheet.y(at))
        yield Markup('<path class="grid" d="M0 {}H{}"/><text x="0" y="{}">{}</text>').format(
            y, sheet.width, _n(sheet.y(at) - 5), words
        )


def _labels(sheet: _Sheet, labels: Sequence[str]) -> Iterator[Markup]:
    """As many labels as fit, counted from the last one, which is always shown."""
    step = max(1, -(-sheet.room // int(max(sheet.slot(len(labels)), 1))))
    for at, label in enumerate(labels):
        x = sheet.middle(at, len(labels))
        if (len(labels) - 1 - at) % step == 0 and x >= sheet.left + sheet.room / 4:
            is_last = at == len(labels) - 1 and x + sheet.room / 2 > sheet.width
            yield Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>').format(
                sheet.width if is_last else _n(x), sheet.height - 7, "end" if is_last else "middle", label
            )


def _bars(sheet: _Sheet, kind: str, shares: Sequence[float], *, is_left: bool) -> Markup:
    """All bars of one kind as one path. An amount above zero has at least a line."""
    slot = sheet.slot(len(shares))
    width = min(22.0, slot * 0.38)
    gap = min(1.0, slot * 0.04)
    pieces = []
    for at, height in enumerate(shares):
        if height <= 0:
            continue
        x = sheet.middle(at, len(shares)) + (-width - gap if is_left else gap)
        y = min(sheet.y(height), sheet.bottom - 1.5)
        pieces.append(f"M{_n(x)} {sheet.bottom}V{_n(y)}h{_n(width)}V{sheet.bottom}z")
    return Markup('<path class="{}" d="{}"/>').format(kind, "".join(pieces))


def _path(places: Sequence[tuple[float, float] | None]) -> str:
    pieces = []
    is_on = False
    for place in places:
        if place is not None:
            pieces.append(f"{'L' if is_on else 'M'}{_n(place[0])} {_n(place[1])}")
        is_on = place is not None
    return "".join(pieces)


def _n(number: float) -> str:
    """A coordinate, to a tenth."""
    return f"{number:.1f}".removesuffix(".0")
