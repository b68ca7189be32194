"""Every refusal has a status, whichever route meets it."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from malipo.api.errors import answer_to
from malipo.errors import Conflict, Refusal

ROOT = Path(__file__).parents[2]


def _kinds(kind: type[Refusal] = Refusal) -> Iterator[type[Refusal]]:
    yield kind
    for each in kind.__subclasses__():
        yield from _kinds(each)


def _refusal_of(kind: type[Refusal]) -> Refusal:
    refusal = kind.__new__(kind)
    Refusal.__init__(refusal, "No.")
    vars(refusal).setdefault("retry_after_seconds", 1)
    return refusal


def test_every_kind_of_refusal_is_answered_as_one() -> None:
    for path in sorted((ROOT / "malipo").rglob("*.py")):
        if "(Refusal):" in path.read_text():
            import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    kinds = {each for each in _kinds() if each.__module__.startswith("malipo.")}
    assert len(kinds) > 20
    assert [kind for kind in kinds if not 400 <= answer_to(_refusal_of(kind)).status_code < 500] == []


@pytest.mark.parametrize("kind", [Refusal, Conflict])
def test_what_has_no_status_of_its_own_is_a_conflict(kind: type[Refusal]) -> None:
    assert answer_to(kind("No.")).status_code == 409
