"""Two operators at the command line: one proposes a large booking, another approves it."""

import json
from typing import Any

import asyncpg
import pytest

from tests.journeys.operator_commands import Said, malipo

LARGE = "2,500,000"


class Terminal:
    def __init__(self, database_url: str) -> None:
        self._url = database_url

    async def __call__(self, *arguments: str, by: str | None = None, **settings: Any) -> Said:
        return await malipo(*arguments, database_url=self._url, **({"operator": by} if by else {}), **settings)

    async def json_of(self, *arguments: str, by: str | None = None, **settings: Any) -> Any:
        said = await self(*arguments, "--json", by=by, **settings)
        assert said.code == 0, said.err
        return said.json


@pytest.fixture
async def terminal(database_url: str) -> Terminal:
    """Operators asha and juma, and a merchant called Duka."""
    terminal = Terminal(database_url)
    for name in ("asha", "juma"):
        await terminal.json_of("operators", "add", name)
    await terminal.json_of("merchant", "create", "Duka")
    return terminal


async def test_two_operators_book_a_large_top_up(terminal: Terminal) -> None:
    top_up = ("wallet", "top-up", "Duka", LARGE, "--reference", "NMB 7")
    nameless = await terminal(*top_up)
    assert (nameless.code, "malipo operators login" in nameless.err) == (2, True)

    proposed = await terminal(*top_up, by="asha")
    assert proposed.out == (
        "Proposed TZS 2,500,000. Another operator must approve it, at /operator/bookings. The wallet holds TZS 0.\n"
    )
    again = await terminal.json_of(*top_up, by="asha")
    assert (again["isNew"], again["isProposed"], again["available"]) == (False, True, 0)
    [waiting] = await terminal.json_of("wallet", "pending")
    assert (waiting["reference"], waiting["kind"], waiting["name"]) == ("NMB 7", "top-up", "Duka")
    assert (waiting["amount"], waiting["proposed by"]) == (2_500_000, "operator asha")

    for by, why in ((None, "malipo operators login"), ("asha", "two operators")):
        refused = await terminal("wallet", "approve", "NMB 7", "--here", by=by)
        assert (refused.code, refused.err.count("\n"), why in refused.err) == (2, 1, True)
    approved = await terminal("wallet", "approve", "NMB 7", "--here", by="juma")
    assert approved.out == "Approved and booked: top-up NMB 7 of TZS 2,500,000. The wallet holds TZS 2,500,000.\n"
    assert (
        "already approved by operator juma" in (await terminal("wallet", "approve", "NMB 7", "--here", by="juma")).err
    )
    assert (await terminal("wallet", "pending")).out == "No booking waits for an operator.\n"
    assert (await terminal.json_of("ledger", "check"))["isClean"]

    deeds = [
        each for each in await terminal.json_of("audit", "--merchant", "Duka") if each["what"].startswith("wallet.")
    ]
    assert [(each["what"], each["who"]) for each in reversed(deeds)] == [
        ("wallet.top_up_proposed", "operator asha"),
        ("wallet.top_up", "operator juma"),
    ]
    for each in deeds:
        assert {**each["details"], "booking": None} == {
            "booking": None,
            "amount": 2_500_000,
            "reference": "NMB 7",
            "proposed_by": "operator asha",
        }
    assert deeds[0]["details"]["booking"] == deeds[1]["details"]["booking"] == waiting["id"]


async def test_a_rejected_settlement_leaves_the_wallet_and_the_reference(terminal: Terminal) -> None:
    await terminal.json_of("wallet", "top-up", "Duka", "900000", "--reference", "NMB-1", by="juma")
    settle = ("wallet", "settle", "Duka", "600000", "--reference", "NMB-2")
    proposed = await terminal.json_of(*settle, by="asha", booking_approval_amount=0)
    assert (proposed["isProposed"], proposed["available"]) == (True, 900_000)
    other = await terminal("wallet", "settle", "Duka", "1", "--reference", "NMB-2", by="asha")
    assert (other.code, "already proposed for another booking" in other.err) == (2, True)
    rejected = await terminal.json_of("wallet", "reject", "NMB-2", by="juma")
    assert (rejected["isBooked"], rejected["available"]) == (False, 900_000)
    booked = await terminal.json_of(*settle, by="asha")
    assert (booked["isNew"], booked["isProposed"], booked["available"]) == (True, False, 300_000)
    assert (await terminal.json_of("ledger", "check"))["isClean"]


async def test_a_settlement_that_the_wallet_cannot_bear_is_not_even_proposed(terminal: Terminal) -> None:
    refused = await terminal("wallet", "settle", "Duka", LARGE, "--reference", "NMB-1", by="asha")
    assert (refused.code, refused.err) == (2, "malipo: The wallet holds only TZS 0.\n")
    assert json.loads((await terminal("wallet", "pending", "--json")).out) == []


async def test_a_merchants_debt_is_shown_beside_its_balance(terminal: Terminal, database_url: str) -> None:
    await terminal.json_of("wallet", "top-up", "Duka", "5000", "--reference", "NMB-1", by="juma")
    assert (await terminal("wallet", "show", "Duka")).out == "TZS 5,000 available, TZS 0 reserved for payouts.\n"
    assert "owed" not in await terminal.json_of("wallet", "show", "Duka")
    connection = await asyncpg.connect(database_url)
    await connection.execute("UPDATE wallets SET owed = 2000")
    await connection.close()
    assert (await terminal("wallet", "show", "Duka")).out == (
        "TZS 5,000 available, TZS 0 reserved for payouts. TZS 2,000 is owed, and cannot be spent.\n"
    )
    assert (await terminal.json_of("wallet", "show", "Duka"))["owed"] == 2000
