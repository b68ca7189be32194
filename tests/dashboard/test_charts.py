"""Charts: held against what a reader, a screen reader and a narrow screen need of them."""

import json
import re
from collections.abc import Sequence
from itertools import pairwise
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest
from hypothesis import given
from hypothesis import strategies as st

from malipo.dashboard import charts
from malipo.dashboard.charts import ChartColumn, ChartLabels, Point

LABELS = ChartLabels("money", "Money in and out", "TZS 10 came in.")
HOSTILE = '<script>alert(1)</script>" onload="x'
_BAR = re.compile(r"M([\d.]+) ([\d.]+)V([\d.]+)h([\d.]+)V([\d.]+)z")

amounts = st.integers(0, 10**15)


def parsed(markup: str) -> Element:
    """As XML: so all of it is well formed."""
    return ElementTree.fromstring(f"<all>{markup}</all>")  # noqa: S314 - we have drawn it ourselves


def drawings(markup: str) -> list[Element]:
    """The wide one and the narrow one."""
    return list(parsed(markup).iter("svg"))


def days(values: Sequence[tuple[int, int]]) -> list[ChartColumn]:
    return [ChartColumn(f"{at} Nov", came, went, f"day {at}") for at, (came, went) in enumerate(values)]


def bars(drawing: Element, kind: str) -> list[tuple[float, float, float]]:
    """Of each bar the left side, the width and the height."""
    [path] = [each for each in drawing.iter("path") if each.get("class") == kind]
    found = [tuple(map(float, bar)) for bar in _BAR.findall(path.get("d", ""))]
    return [(x, width, bottom - y) for x, bottom, y, width, _ in found]


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        (0, "0"),
        (950, "950"),
        (1_000, "1K"),
        (1_250, "1.2K"),
        (9_999, "9.9K"),
        (25_400, "25K"),
        (999_999, "999K"),
        (1_000_000, "1M"),
        (1_250_000, "1.2M"),
        (2_000_000_000, "2B"),
        (7_500_000_000_000, "7.5T"),
    ],
)
def test_an_amount_is_shortened_and_never_rounded_up(amount: int, words: str) -> None:
    assert charts.short(amount) == words


@pytest.mark.parametrize(
    ("most", "marks"),
    [
        (0, [0, 1]),
        (1, [0, 1]),
        (7, [0, 2, 4, 6, 8]),
        (1_000, [0, 500, 1_000]),
        (12_345, [0, 5_000, 10_000, 15_000]),
        (1_250_000, [0, 500_000, 1_000_000, 1_500_000]),
    ],
)
def test_an_axis_has_a_few_round_numbers(most: int, marks: list[int]) -> None:
    assert charts.ticks(most) == marks


@given(amounts)
def test_an_axis_reaches_the_most_and_not_much_further(most: int) -> None:
    marks = charts.ticks(most)
    assert 2 <= len(marks) <= 5
    assert marks[-2] < max(most, 1) <= marks[-1]
    assert {after - before for before, after in pairwise(marks)} == {marks[1]}
    # What stands at the axis is exactly where the line is.
    assert len({charts.short(mark) for mark in marks}) == len(marks)


def test_a_chart_is_a_picture_with_a_title_and_a_description() -> None:
    wide, narrow = drawings(charts.columns(LABELS, days([(10, 5)])))
    for drawing in (wide, narrow):
        assert drawing.get("role") == "img"
        named = dict(zip(("title", "desc"), (drawing.get("aria-labelledby") or "").split(), strict=True))
        for tag, words in (("title", LABELS.title), ("desc", LABELS.description)):
            [element] = drawing.findall(tag)
            assert (element.get("id"), element.text) == (named[tag], words)
    ids = [each.get("id") for drawing in (wide, narrow) for each in drawing.iter() if each.get("id")]
    assert len(ids) == len(set(ids)) == 4


@given(st.lists(st.tuples(amounts, amounts), max_size=90))
def test_a_bar_is_as_high_as_its_share_of_the_axis_and_stays_on_the_paper(values: list[tuple[int, int]]) -> None:
    top = charts.ticks(max((max(pair) for pair in values), default=0))[-1]
    for drawing in drawings(charts.columns(LABELS, days(values))):
        _, _, width, height = map(float, (drawing.get("viewBox") or "").split())
        room = height - 22 - 24  # above the highest line, and for the labels below
        for kind, of_kind in (("came", [pair[0] for pair in values]), ("went", [pair[1] for pair in values])):
            drawn = bars(drawing, kind)
            wanted = [max(1.5, amount / top * room) for amount in of_kind if amount > 0]
            assert [high for _, _, high in drawn] == pytest.approx(wanted, abs=0.11)
            assert all(x >= 46 and x + wide <= width + 0.2 and wide > 0 for x, wide, _ in drawn)


@pytest.mark.parametrize("count", [7, 30, 90])
def test_bars_of_a_day_stand_beside_each_other(count: int) -> None:
    for drawing in drawings(charts.columns(LABELS, days([(10, 10)] * count))):
        both = sorted(bars(drawing, "came") + bars(drawing, "went"))
        assert len(both) == 2 * count
        assert all(after[0] - (before[0] + before[1]) > -0.15 for before, after in pairwise(both))


@pytest.mark.parametrize("count", [1, 7, 30, 90])
def test_labels_have_room_and_the_last_day_always_has_one(count: int) -> None:
    for drawing in drawings(charts.columns(LABELS, days([(10, 10)] * count))):
        below = [each for each in drawing.findall("text") if (each.text or "").endswith("Nov")]
        assert below[-1].text == f"{count - 1} Nov"
        places = []
        for each in below:
            x, half = float(each.get("x") or 0), 18.0  # letters are 12 units high, and six of them 36 wide
            places.append((x - 2 * half, x) if each.get("text-anchor") == "end" else (x - half, x + half))
        width = float((drawing.get("viewBox") or "").split()[2])
        assert all(left >= 0 and right <= width for left, right in places)
        assert all(after[0] - before[1] > 4 for before, after in pairwise(places))


def test_what_is_read_at_each_column_stands_beside_the_drawing() -> None:
    [graph] = [each for each in parsed(charts.columns(LABELS, days([(10, 5), (0, 0)]))) if each.get("data-tips")]
    assert json.loads(graph.get("data-tips", "")) == ["day 0", "day 1"]
    assert graph.get("data-graph") == LABELS.title


def test_a_line_breaks_where_there_is_no_figure() -> None:
    points = [Point("1 Nov", 1000, "a"), Point("2 Nov", None, "b"), Point("3 Nov", 500, "c"), Point("4 Nov", 0, "d")]
    for drawing in drawings(charts.line(LABELS, points)):
        [curve] = [each for each in drawing.iter("path") if each.get("class") == "curve"]
        assert re.sub(r"[\d. ]", "", curve.get("d", "")) == "MML"
        high, middle, low = (float(dot.get("cy") or 0) for dot in drawing.iter("circle"))
        assert high < middle < low
        assert middle == pytest.approx((high + low) / 2, abs=0.1)


@pytest.mark.parametrize(("tenths", "width"), [(0, "0"), (985, "98.5"), (1000, "100")])
def test_a_share_is_filled_so_far(tenths: int, width: str) -> None:
    [drawing] = drawings(charts.share("98.5%", tenths))
    assert [each.get("width") for each in drawing.iter("rect")] == ["100", width]
    assert drawing.findtext("title") == "98.5%"


def test_words_cannot_break_out_and_no_chart_has_a_style_of_its_own() -> None:
    labels = ChartLabels("money", HOSTILE, HOSTILE)
    markup = (
        charts.columns(labels, [ChartColumn(HOSTILE, 1, 1, HOSTILE)])
        + charts.line(labels, [Point(HOSTILE, 5, HOSTILE)])
        + charts.share(HOSTILE, 5)
    )
    for each in parsed(markup).iter():
        assert each.tag in {"all", "div", "svg", "title", "desc", "path", "text", "rect", "circle"}
        assert not {"style", "onload"} & set(each.attrib)
    assert "<script" not in markup
