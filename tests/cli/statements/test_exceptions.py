"""malipo exceptions, and what an import prints of them, as an operator types it."""

from pathlib import Path

import msgspec
import pytest

from malipo import clock
from malipo.db import Database
from malipo.operators import store as operators
from tests.journeys.operator_commands import malipo

FILES = Path(__file__).parents[2] / "network_statements" / "files"
REASON = ("--reason", "The network's staff told us so")


@pytest.fixture
async def asha(database: Database, database_url: str) -> dict[str, str]:
    """The settings of an operator who is logged in."""
    async with database.begin() as tx:
        await operators.insert_operator(tx, "opr_1", "asha", now=clock.now())
    return {"database_url": database_url, "operator": "asha"}


async def test_an_import_prints_its_exceptions_and_an_operator_books_one(asha: dict[str, str]) -> None:
    path = str(FILES / "mpesa-account.csv")
    done = (await malipo("statements", "import", path, "--channel", "MPESA", "--new-account", "--json", **asha)).json
    assert {name: done[name] for name in ("lines", "new", "matched", "exceptionCount")} == {
        "lines": 7,
        "new": 7,
        "matched": 0,
        "exceptionCount": 4,
    }
    assert {"kind", "amount", "reference"} <= done["exceptions"][0].keys()
    [income, *_] = [each for each in done["exceptions"] if each["kind"] == "theirs_only" and each["amount"] > 0]

    shown = (await malipo("exceptions", "show", income["id"], **asha)).out
    assert "the network has it, and we do not" in shown
    assert "Nothing was proposed about it yet." in shown
    book = ("exceptions", "propose", income["id"], "book", "--account", "suspense", *REASON)
    preview = (await malipo(*book, "--preview", "--json", **asha)).json
    [float_, suspense] = preview["changes"]
    assert (float_["account"], float_["change"]) == ("Float at M-Pesa", income["amount"])
    # A sweep of 1,500 went through suspense with the import.
    after = income["amount"] - 1_500
    assert suspense == {"account": "Suspense", "before": -1_500, "change": income["amount"], "after": after}
    assert (await malipo("exceptions", "show", income["id"], "--json", **asha)).json["state"] == "open"
    booked = await malipo(*book, **asha)
    assert booked.out.startswith(f"{income['id']} is resolved.\n  Float at M-Pesa: ")
    assert booked.out.endswith(f"Suspense: -TZS 1,500 → TZS {after:,}\n")
    listed = (await malipo("exceptions", "list", "--json", **asha)).json
    assert income["id"] not in {each["id"] for each in listed}
    assert len(listed) == 3

    undone = (await malipo("exceptions", "undo", income["id"], *REASON, **asha)).out
    assert undone.startswith(f"{income['id']} is open.\n")
    assert undone.endswith(f"Suspense: TZS {after:,} → -TZS 1,500\n")
    kept = (await malipo("exceptions", "show", income["id"], "--json", **asha)).json["resolutions"]
    assert [(each["action"], each["is"]) for each in kept] == [("book", "undone"), ("undo", "approved")]

    adopt = ("exceptions", "propose", income["id"], "adopt", "--name", "Neema Juma")
    wrong = await malipo(*adopt, "--merchant", "Nobody", *REASON, **asha)
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    assert "/operator/exceptions/" in (await malipo("exceptions", "approve", income["id"], **asha)).err
    again = (await malipo("statements", "match", "--json", **asha)).json
    assert (again["matched"], again["exceptions"]) == (0, [])


async def test_charges_that_operators_expect_are_listed(asha: dict[str, str]) -> None:
    said = await malipo(
        "statements", "charge", "MPESA", "COLLECTION", "--basis-points", "100", "--minimum", "1", **asha
    )
    assert said.code == 0
    [charge] = msgspec.json.decode((await malipo("statements", "charges", "--json", **asha)).out)
    assert charge == {"channel": "MPESA", "type": "COLLECTION", "basis points": 100, "fixed": 0, "minimum": 1}
