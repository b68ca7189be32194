"""Makes the script of a failing life as small as it gets, so that a person can read it."""

from collections.abc import Callable, Iterator

import msgspec
from msgspec.structs import replace

from tests.model.scenario import Nature, Scenario


def shrink(scenario: Scenario, fails: Callable[[Scenario], bool]) -> Scenario:
    """The smallest script near this one that still fails: fewer faults first, then a more usual network."""
    assert fails(scenario)
    while (smaller := next((each for each in _smaller(scenario) if fails(each)), None)) is not None:
        scenario = smaller
    return scenario


def _smaller(scenario: Scenario) -> Iterator[Scenario]:
    for place in range(len(scenario.faults)):
        yield Scenario(scenario.nature, scenario.faults[:place] + scenario.faults[place + 1 :])
    usual = Nature()
    for name, value in msgspec.structs.asdict(scenario.nature).items():
        if value != getattr(usual, name):
            yield Scenario(replace(scenario.nature, **{name: getattr(usual, name)}), scenario.faults)
