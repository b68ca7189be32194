"""malipo hold and malipo restore, as operators give them."""

import asyncio
import json
from typing import Any

import pytest

from malipo.installation import store as installation
from malipo.installation.state import Installation
from malipo.service import Service
from tests.cli.test_commands import malipo

REASON = "The database knows of 4 batches of payments, and this host has seen 9: it was restored."
EVIDENCE = "Statements of all networks from 09:00 to 10:30"


class Desk:
    """Operators at a terminal, on one database."""

    def __init__(self, service: Service, database_url: str) -> None:
        self._service = service
        self._url = database_url

    async def __call__(self, *arguments: str, by: str | None = None) -> tuple[int, str, str]:
        settings = {"database_url": self._url} | ({"operator": by} if by else {})
        done = await asyncio.to_thread(malipo, *arguments, **settings)
        return done.returncode, done.stdout, done.stderr

    async def standing(self) -> Installation:
        return await self._service.read(installation.get)

    async def holds(self) -> list[tuple[str, str]]:
        found = await self._service.read(installation.find_channel_holds)
        return [(each.channel, each.type) for each in found]


@pytest.fixture
async def desk(service: Service, database_url: str) -> Desk:
    desk = Desk(service, database_url)
    for name in ("asha", "juma"):
        assert (await desk("operators", "add", name))[0] == 0
    return desk


async def test_every_command_says_that_nothing_is_sent_and_why(desk: Desk, service: Service) -> None:
    await service.fence(REASON, epoch=1)
    for command in (("merchant", "list"), ("networks", "list"), ("restore", "status")):
        code, _, said = await desk(*command)
        assert code == 0
        assert REASON in said
        assert "API keys that were revoked since the backup are back" in said


async def test_one_proposes_and_another_lets_sending_begin(desk: Desk, service: Service) -> None:
    await service.fence(REASON, epoch=1)
    release = ("restore", "release", "--evidence", EVIDENCE)
    assert (await desk(*release))[0] == 2, "somebody without a name decides about no money"
    assert "Proposed." in (await desk(*release, by="asha"))[1]
    for more in ((), ("--alone",)):
        assert (await desk(*release, *more, by="asha"))[0] == 2
    assert (await desk.standing()).is_fenced
    code, said, _ = await desk(*release, by="juma")
    assert (code, "sending begins" in said) == (0, True)
    assert not (await desk.standing()).is_fenced
    assert (await desk(*release, by="juma"))[0] == 2, "nothing is left to release"


async def test_the_status_is_for_programs_too(desk: Desk, service: Service) -> None:
    before: Any = json.loads((await desk("restore", "status", "--json"))[1])
    assert (before["isFenced"], before["epoch"], before["open"]) == (False, 1, [])
    await service.fence(REASON, epoch=1)
    after: Any = json.loads((await desk("restore", "status", "--json"))[1])
    assert (after["isFenced"], after["epoch"] > 1, after["fenceReason"]) == (True, True, REASON)


@pytest.mark.parametrize(
    ("scope", "held"),
    [
        (["--channel", "MPESA", "--only", "payouts"], [("MPESA", "DISBURSEMENT")]),
        (["--channel", "MPESA"], [("MPESA", "COLLECTION"), ("MPESA", "DISBURSEMENT")]),
    ],
)
async def test_a_channel_is_held_and_let_go(desk: Desk, scope: list[str], held: list[tuple[str, str]]) -> None:
    assert (await desk("hold", *scope, "--reason", "Counting the float", by="asha"))[0] == 0
    assert (await desk.holds(), (await desk.standing()).held_at) == (held, None)
    assert (await desk("hold", *scope, "--release", by="juma"))[0] == 0
    assert await desk.holds() == []


async def test_everything_is_held_and_let_go(desk: Desk) -> None:
    assert (await desk("hold", "--reason", "Counting the float"))[0] == 2, "it takes a name"
    assert (await desk("hold", by="asha"))[0] == 2, "it takes a reason"
    assert (await desk("hold", "--only", "payouts", "--reason", "Counting", by="asha"))[0] == 2, "of which channel?"
    assert (await desk.standing()).held_at is None
    assert (await desk("hold", "--reason", "Counting the float", by="asha"))[0] == 0
    assert (await desk.standing()).held_at is not None
    assert "Counting the float" in (await desk("merchant", "list"))[2]
    assert (await desk("hold", "--release", by="juma"))[0] == 0
    assert (await desk.standing()).held_at is None
    assert (await desk("hold", "--release", by="juma"))[0] == 2, "nothing is held"
