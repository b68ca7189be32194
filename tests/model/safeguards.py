"""Takes each safeguard out of a copy of the source, alone, and counts the lives that then go wrong.

`python -m tests.model.safeguards --seeds 10000` prints the table. A safeguard without which nothing fails is not needed, or not
tested. The text that is replaced must stand in the source exactly once, so that this list cannot go stale in silence.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from malipo.payments import correction_moves
from malipo.payments.network_answer import decide
from tests.model.oracle import judge
from tests.model.run import Decide, live
from tests.model.safeguard_table import DECIDING, SAFEGUARDS, Safeguard
from tests.model.scenario import draw


def without(safeguard: Safeguard) -> tuple[Decide, Any]:
    """`decide` and the functions of corrections, as they would be without it."""
    modules = [correction_moves] if safeguard.module is correction_moves else DECIDING
    sources = [Path(str(each.__file__)).read_text() for each in modules]
    found = sum(source.count(safeguard.text) for source in sources)
    assert found == 1, f"not there exactly once: {safeguard.text!r}"
    kept = {each.__name__: each for each in modules}
    try:
        # In their order, so that each finds the changed ones that it imports.
        changed = [
            _changed(each, source.replace(safeguard.text, safeguard.instead))
            for each, source in zip(modules, sources, strict=True)
        ]
    finally:
        sys.modules.update(kept)
    if safeguard.module is correction_moves:
        return decide.decide, changed[-1]
    return changed[-1].decide, correction_moves


def _changed(module: ModuleType, source: str) -> ModuleType:
    changed = ModuleType(module.__name__)
    sys.modules[module.__name__] = changed
    exec(compile(source, module.__name__, "exec"), changed.__dict__)  # noqa: S102
    for name, value in vars(module).items():
        if isinstance(value, type):  # The types stay the same ones, so that values of both can be compared.
            setattr(changed, name, value)
    return changed


def failing(safeguard: Safeguard, seeds: range) -> Iterator[int]:
    """The seeds whose lives go wrong without it."""
    decide_, correct = without(safeguard)
    for seed in seeds:
        try:
            is_bad = bool(judge(live(draw(seed), decide=decide_, correct=correct)))
        except AssertionError:  # It ran into one of our own.
            is_bad = True
        if is_bad:
            yield seed


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.model.safeguards")
    parser.add_argument("--seeds", type=int, default=10_000)
    given = parser.parse_args()
    print(f"| taken out, alone | lives that go wrong, of {given.seeds:,} | the first seed |\n|---|---|---|", flush=True)
    for safeguard in SAFEGUARDS:
        seeds = list(failing(safeguard, range(given.seeds)))
        print(f"| {safeguard.name} | {len(seeds)} | {seeds[0] if seeds else 'none'} |", flush=True)


if __name__ == "__main__":
    main()
