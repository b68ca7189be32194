"""Makes the script of a failing life as small as it gets, so that a person can read it."""

from collections.abc import Callable, Iterator

import msgspec
from msgspec.structs import replace

from tests.model.script import Nature, Script


def shrink(script: Script, fails: Callable[[Script], bool]) -> Script:
    """The smallest script near this one that still fails: fewer faults first, then a more usual network."""
    assert fails(script)
    while (smaller := next((each for each in _smaller(script) if fails(each)), None)) is not None:
        script = smaller
    return script


def _smaller(script: Script) -> Iterator[Script]:
    for place in range(len(script.faults)):
        yield Script(script.nature, script.faults[:place] + script.faults[place + 1 :])
    usual = Nature()
    for name, value in msgspec.structs.asdict(script.nature).items():
        if value != getattr(usual, name):
            yield Script(replace(script.nature, **{name: getattr(usual, name)}), script.faults)
