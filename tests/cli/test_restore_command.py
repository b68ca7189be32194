"""malipo hold and malipo restore, as operators give them."""

import asyncio
import json
from typing import Any

import pytest

from malipo.app.assemble import Service
from malipo.cli.authority import AUTHORITY, TOLD_OF_FENCE
from malipo.payments.transaction import Type
from malipo.restore.installation import Installation
from malipo.restore.store import installation
from tests.bank.bank_desk import open_account
from tests.conftest import Merchant
from tests.journeys.concurrency import order
from tests.journeys.operator_commands import run_command as malipo

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

    async def installation(self) -> Installation:
        return await self._service.queries.read(installation.get)

    async def holds(self) -> list[tuple[str, str]]:
        found = await self._service.queries.read(installation.find_channel_holds)
        return [(each.channel, each.type) for each in found]


@pytest.fixture
async def desk(service: Service, database_url: str) -> Desk:
    desk = Desk(service, database_url)
    for name in ("asha", "juma"):
        assert (await desk("operators", "add", name))[0] == 0
    return desk


async def test_commands_about_payments_and_keys_say_that_nothing_is_sent_and_the_others_do_not_repeat_it(
    desk: Desk, service: Service, merchant: Merchant
) -> None:
    await service.fence(REASON, epoch=1)
    for command in (("networks", "list"), ("payments", "unsettled"), ("key", "list", merchant.id)):
        code, _, said = await desk(*command)
        assert code == 0
        assert REASON in said
        assert "API keys that were revoked since the backup are back" in said
    for other in ("merchant list", "restore status", "statements list", "approvals"):
        assert (await desk(*other.split()))[2] == "", "a restore takes dozens of commands"
    assert REASON in (await desk("restore", "status"))[1], "this command prints it"


def test_the_commands_that_print_the_fence_exist() -> None:
    assert set(AUTHORITY) >= TOLD_OF_FENCE
    assert "operators login" in TOLD_OF_FENCE, "the fence ends all sessions, so each operator sees it once"


async def test_one_operator_proposes_a_release_and_another_approves_it(desk: Desk, service: Service) -> None:
    await service.fence(REASON, epoch=1)
    release = ("restore", "release", "--evidence", EVIDENCE)
    assert (await desk(*release))[0] == 2, "somebody without a name decides about no money"
    assert "Proposed." in (await desk(*release, by="asha"))[1]
    for more in ((), ("--alone",)):
        assert (await desk(*release, *more, by="asha"))[0] == 2
    assert (await desk.installation()).is_fenced
    code, _, said = await desk(*release, by="juma")
    assert (code, "/operator/restore" in said) == (2, True), "on the pages, or here if juma says so"
    assert (await desk.installation()).is_fenced
    code, said, _ = await desk(*release, "--here", by="juma")
    assert (code, "sending begins" in said) == (0, True)
    assert not (await desk.installation()).is_fenced
    assert (await desk(*release, by="juma"))[0] == 2, "nothing is left to release"


@pytest.mark.parametrize("rejects", ["asha", "juma"], ids=["whoever proposed it", "another"])
@pytest.mark.parametrize("scope", [[], ["--channel", "TIGO_PESA", "--only", "payouts"]], ids=["the whole", "a channel"])
async def test_a_proposed_release_is_rejected_or_taken_back(
    desk: Desk, service: Service, scope: list[str], rejects: str
) -> None:
    await service.fence(REASON, epoch=1)
    release = ("restore", "release", "--evidence", EVIDENCE, *scope)
    assert (await desk("restore", "reject", *scope, by=rejects))[0] == 2, "nothing is proposed"
    await desk(*release, by="asha")
    assert (await desk("restore", "reject", *scope))[0] == 2, "it takes a name"
    assert (await desk("restore", "reject", "--channel", "TIGO_PESA", by=rejects))[0] == 2, "payouts or collections?"
    code, said, _ = await desk("restore", "reject", *scope, by=rejects)
    assert (code, said) == (0, "Rejected: nothing is released. It can be proposed again.\n")
    assert "Proposed." in (await desk(*release, by="juma"))[1], "what was rejected cannot be approved"
    assert (await desk.installation()).is_fenced


async def test_two_let_go_what_waits_on_a_channel(desk: Desk, service: Service, merchant: Merchant) -> None:
    await service.payments.initiate(order(merchant.id, Type.DISBURSEMENT, 1000))
    await service.fence(REASON, epoch=1)
    release = ("restore", "release", "--channel", "MPESA", "--only", "payouts", "--evidence", EVIDENCE)
    assert (await desk(*release, by="asha"))[0] == 0
    code, said, _ = await desk(*release, "--here", by="juma")
    assert (code, said) == (0, "Released: 1 payment that waited there may go.\n")
    assert (await desk.installation()).is_fenced, "a channel is not the whole"


async def test_the_only_operator_releases_alone(service: Service, database_url: str) -> None:
    desk = Desk(service, database_url)
    assert (await desk("operators", "add", "asha"))[0] == 0
    await service.fence(REASON, epoch=1)
    code, said, _ = await desk("restore", "release", "--alone", "--evidence", EVIDENCE, by="asha")
    assert (code, "sending begins" in said) == (0, True)
    assert not (await desk.installation()).is_fenced


async def test_an_operators_cancel_is_refused_in_words_while_it_is_fenced(
    desk: Desk, service: Service, merchant: Merchant
) -> None:
    made = await service.payments.initiate(order(merchant.id, Type.DISBURSEMENT, 1000))
    await service.fence(REASON, epoch=1)
    code, _, said = await desk("payments", "cancel", made.transaction.id, by="asha")
    assert (code, "takes no payments until operators have looked" in said, "Traceback" in said) == (1, True, False)


async def test_an_operator_who_knows_of_a_restore_fences_by_hand(desk: Desk) -> None:
    assert (await desk("restore", "fence", "--reason", "x", by="asha"))[0] == 2, "which backup?"
    assert (await desk("restore", "fence", "--reason", REASON))[0] == 2, "it takes a name"
    assert not (await desk.installation()).is_fenced
    assert (await desk("restore", "fence", "--reason", REASON, by="asha"))[0] == 0
    installation = await desk.installation()
    assert (installation.is_fenced, installation.fence_reason, installation.epoch > 1) == (True, REASON, True)


async def test_a_hold_says_how_it_is_ended(desk: Desk) -> None:
    hold = ("hold", "--channel", "MPESA", "--only", "payouts")
    _, said, _ = await desk(*hold, "--reason", "Counting the float", by="asha")
    assert said == "Held: MPESA payouts. To let them go: malipo hold --release --channel MPESA --only payouts\n"
    await desk(*hold, "--reason", "Their gateway is odd", by="juma")
    assert "juma: Their gateway is odd" in (await desk("restore", "status"))[1], "the latest reason is shown"
    assert (await desk("hold", "--release", "--channel", "MPESA", "--only", "payouts", by="asha"))[0] == 0


async def test_the_status_is_for_programs_too(desk: Desk, service: Service) -> None:
    before: Any = json.loads((await desk("restore", "status", "--json"))[1])
    assert (before["isFenced"], before["epoch"], before["open"]) == (False, 1, [])
    assert before["settlementsWaitForStatementsOf"] is None
    await open_account(service.queries.database)
    await service.fence(REASON, epoch=1)
    after: Any = json.loads((await desk("restore", "status", "--json"))[1])
    assert (after["isFenced"], after["epoch"] > 1, after["fenceReason"]) == (True, True, REASON)
    first, last = after["settlementsWaitForStatementsOf"]
    output = (await desk("restore", "status"))[1]
    assert (
        f"Import the bank's statements from {first} to {last}, of every account of ours: malipo bank import" in output
    )
    assert "malipo settlements release" in output


@pytest.mark.parametrize(
    ("scope", "held"),
    [
        (["--channel", "MPESA", "--only", "payouts"], [("MPESA", "DISBURSEMENT")]),
        (["--channel", "MPESA"], [("MPESA", "COLLECTION"), ("MPESA", "DISBURSEMENT")]),
    ],
)
async def test_a_channel_is_held_and_let_go(desk: Desk, scope: list[str], held: list[tuple[str, str]]) -> None:
    assert (await desk("hold", *scope, "--reason", "Counting the float", by="asha"))[0] == 0
    assert (await desk.holds(), (await desk.installation()).held_at) == (held, None)
    assert (await desk("hold", *scope, "--release", by="juma"))[0] == 0
    assert await desk.holds() == []


async def test_hold_stops_all_sending_and_release_lets_it_go_on(desk: Desk) -> None:
    assert (await desk("hold", "--reason", "Counting the float"))[0] == 2, "it takes a name"
    assert (await desk("hold", by="asha"))[0] == 2, "it takes a reason"
    assert (await desk("hold", "--only", "payouts", "--reason", "Counting", by="asha"))[0] == 2, "of which channel?"
    assert (await desk.installation()).held_at is None
    assert (await desk("hold", "--reason", "Counting the float", by="asha"))[0] == 0
    assert (await desk.installation()).held_at is not None
    assert "Counting the float" in (await desk("networks", "list"))[2]
    assert (await desk("hold", "--release", by="juma"))[0] == 0
    assert (await desk.installation()).held_at is None
    assert (await desk("hold", "--release", by="juma"))[0] == 2, "nothing is held"
