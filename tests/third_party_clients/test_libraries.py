"""Every library through every scene, and its understanding held against what really moved."""

import json
from collections.abc import Callable

import pytest

from tests.simulator.processes import Sim
from tests.third_party_clients.client_library import LIBRARIES, NAMED
from tests.third_party_clients.conftest import Asking
from tests.third_party_clients.deviations import DEVIATIONS
from tests.third_party_clients.run_scenario import moved, phone_of, play
from tests.third_party_clients.scenarios import SCENES, right_of, scenes_of

_ALL = [(library.name, scene) for library in LIBRARIES for scene in scenes_of(library)]


@pytest.mark.parametrize(("name", "scene"), _ALL)
async def test_a_library_that_we_did_not_write_understands_what_really_happened(
    sim: Sim, asking: Callable[[str], Asking], name: str, scene: str
) -> None:
    library, played = NAMED[name], SCENES[scene]
    deviation = DEVIATIONS.get((name, scene))
    right = right_of(library, played)
    ought_to_move = played.moved if deviation is None or deviation.moved is None else deviation.moved

    understood = await play(sim, library, played, asking(name))

    assert tuple(each.word for each in understood) == (deviation.understood if deviation else right), understood
    assert await moved(sim, phone_of(library, played.digits), ought_to_move) == ought_to_move
    if understood[-1].word == "paid" and played.moved == [("charged", 1500)]:
        receipt = await _receipt(sim, library.channel)
        assert receipt in json.dumps(understood[-1].shown)


async def _receipt(sim: Sim, channel: str) -> str:
    """Of the one payment that moved anything."""
    (movement,) = (await sim("GET", "/api/book"))["movements"]
    found = await sim("GET", f"/api/transactions/{channel}/{movement['reference']}")
    assert isinstance(found["receipt"], str)
    return found["receipt"]


@pytest.mark.parametrize(("name", "scene"), DEVIATIONS)
def test_a_deviation_is_one_of_a_scene_that_is_played(name: str, scene: str) -> None:
    deviation, played = DEVIATIONS[name, scene], SCENES[scene]
    assert (name, scene) in _ALL
    differs = deviation.understood != right_of(NAMED[name], played)
    assert differs or deviation.moved not in (None, played.moved)
