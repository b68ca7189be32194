"""The list of faults fits the sources: no fault is lost in silence when code changes."""

import ast
import textwrap
from collections import Counter
from pathlib import Path

import pytest

from tests.faults.fault import NotFoundOnce, Place, definition_around, place_of, with_fault
from tests.faults.lists import FAULTS

ROOT = Path(__file__).parents[2]
LEAST = 120


def test_every_fault_stands_in_the_sources_once() -> None:
    lost = []
    for fault in FAULTS:
        try:
            place_of(fault, ROOT)
        except NotFoundOnce as error:
            lost.append(str(error))
    assert not lost, "\n".join(lost)


def test_a_fault_is_a_change_that_can_be_read() -> None:
    for fault in FAULTS:
        if not fault.package.startswith(("malipo", "clients/python")):
            continue
        place = place_of(fault, ROOT)
        first, last = definition_around(fault, place)
        changed = with_fault(fault, place)
        try:  # The definition alone: to parse all of a file for each fault takes seconds.
            ast.parse(textwrap.dedent(changed[first : last + len(fault.instead) - len(fault.text)]))
        except SyntaxError:  # A text in it may stand farther to the left.
            ast.parse(changed)


def test_the_list_is_long_and_has_no_name_twice() -> None:
    assert len(FAULTS) >= LEAST
    assert [name for name, count in Counter(each.name for each in FAULTS).items() if count > 1] == []


def test_every_fault_says_what_goes_wrong_and_which_tests_are_tried() -> None:
    for fault in FAULTS:
        assert fault.text != fault.instead, fault.name
        assert fault.harm.endswith("."), fault.name
        assert fault.tests, fault.name
        assert [each for each in fault.tests if not (ROOT / "tests" / each).exists()] == [], fault.name


def test_a_text_that_stands_twice_or_nowhere_is_no_anchor(tmp_path: Path) -> None:
    folder = tmp_path / "malipo"
    folder.mkdir()
    (folder / "sums.py").write_text(
        "LIMIT = 3\n\n\ndef add(a, b):\n    return a + b\n\n\nclass Sum:\n    def add(self, a):\n        return a\n"
    )
    (folder / "more.py").write_text("def add(a, b):\n    return a * b\n")
    fault = FAULTS[0]
    anchored = type(fault)(name="sign", within="add", text="a + b", instead="a - b", harm=".", tests=("x",))
    assert place_of(anchored, tmp_path) == Place(folder / "sums.py", (folder / "sums.py").read_text().index("a + b"))
    assert "return a - b" in with_fault(anchored, place_of(anchored, tmp_path))
    method = type(fault)(name="method", within="Sum.add", text="return a", instead="return 0", harm=".", tests=("x",))
    assert place_of(method, tmp_path).path.name == "sums.py"
    for text in ("return a", "a / b"):
        wrong = type(fault)(name="wrong", within="add", text=text, instead="", harm=".", tests=("x",))
        with pytest.raises(NotFoundOnce):
            place_of(wrong, tmp_path)
