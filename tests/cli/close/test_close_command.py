"""malipo close: a day is closed, accepted, listed, shown and verified, as operators type it."""

import subprocess
from collections.abc import Awaitable, Callable
from html import escape
from pathlib import Path
from typing import Any

import msgspec
import pytest

from malipo import clock
from malipo.db import Database
from malipo.operators import store as operators
from tests.conftest import SECRET_KEY
from tests.journeys.operator_commands import Said, malipo, malipo_unseen
from tests.reconciliation.close.books import MONDAY, TUESDAY, Books, at


@pytest.fixture
async def books(database: Database, tmp_path: Path) -> Books:
    async with database.begin() as tx:
        for number, name in enumerate(("asha", "juma")):
            await operators.insert_operator(tx, f"opr_{number}", name, now=clock.now())
    return await Books.begin(database, tmp_path)


async def test_a_day_is_closed_shown_and_verified(books: Books, database_url: str, tmp_path: Path) -> None:
    async def close(*arguments: str, by: str = "asha") -> Said:
        return await malipo("close", *arguments, database_url=database_url, secret_key=SECRET_KEY, operator=by)

    await books.paid("R1", 5000, at(MONDAY))
    assert (await close("2026-11-02")).err == (
        "malipo: Statements of 2026-11-02 are missing.\n"
        "malipo: MPESA: There is no statement of 2026-11-02 00:00:00 to 2026-11-03 00:00:00.\n"
    )
    await books.statement(MONDAY, [("R1", 5000, "11:59", "money")])
    await books.match("R1")
    files = ("--csv", str(tmp_path / "day.csv"), "--report", str(tmp_path / "day.html"))
    done = await close("2026-11-02", *files)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("2026-11-02 is closed. The day adds up.\n\nMPESA")
    assert "  closing                5,000           5,000               0\n" in done.out
    assert (tmp_path / "day.csv").read_text().startswith("day,section,channel")
    assert "The day adds up." in (tmp_path / "day.html").read_text()
    assert (await close("show", "2026-11-02")).out == done.out
    shown = (await close("show", "2026-11-02", "--json")).json
    await _require_checked_by_openssl(close, shown, tmp_path)
    assert (shown["addsUp"], shown["close"]["channels"][0]["ledger"]["closing"]) == (True, 5000)

    # The next day does not add up: exit code 2, each sentence in shillings; then two operators accept it.
    await books.statement(TUESDAY, [("X", 700, "15:00", "money")])
    refused = await close("2026-11-03")
    assert (refused.code, refused.err.splitlines()[:2]) == (
        2,
        [
            "malipo: 2026-11-03 does not add up. Resolve what is open, or accept the difference with another operator: "
            "--accept-difference --reason WHY",
            "malipo: MPESA: TZS 700 between statement and ledger are not explained.",
        ],
    )
    proposed = await close("2026-11-03", "--accept-difference", "--reason", "a shilling is a shilling", "--json")
    assert (proposed.json["isClosed"], proposed.json["proposedBy"]) == (False, "operator asha")
    assert [each["state"] for each in (await close("list", "--json")).json] == ["proposed", "adds up"]
    assert "/operator/close" in (await close("approve", "2026-11-03", by="juma")).err
    assert (await close("reject", "2026-11-03", by="juma")).out == "Rejected: 2026-11-03 stays open.\n"

    verified = await close("verify", "--ledger", "--json")
    assert (verified.code, verified.json["days"], verified.json["hash"]) == (0, 1, shown["hash"])
    async with books.database.begin() as tx:
        await tx.execute("UPDATE day_closes SET reason = 'all is well'")
    found = await close("verify")
    assert (found.code, found.out) == (1, "2026-11-02: its signature is wrong.\n")


async def _require_checked_by_openssl(
    close: Callable[..., Awaitable[Said]], shown: dict[str, Any], folder: Path
) -> None:
    """The command that the report, the page and the command line name, run as they name it."""
    key = shown["key"]
    output = (await close("show", "2026-11-02", "--signed", str(folder / "signed"))).out.splitlines()[-1]
    command = f"openssl pkeyutl -verify -pubin -inkey {key}.pem -rawin -in close-2026-11-02.signed -sigfile close-2026-11-02.sig"
    assert output == f"In {folder / 'signed'}: {command}"
    assert escape(command) in (folder / "day.html").read_text()

    def run() -> str:
        return subprocess.run(command.split(), cwd=folder / "signed", capture_output=True, text=True).stdout

    assert run() == "Signature Verified Successfully\n"
    signed = folder / "signed" / "close-2026-11-02.signed"
    assert signed.read_text() == shown["signed"]
    assert '"closed_by":"operator asha"' in shown["signed"]
    pem = (folder / "signed" / f"{key}.pem").read_text()
    assert (
        pem == shown["publicKey"] == (await close("key", "--id", key)).out == (await close("key", "--json")).json[key]
    )
    assert "".join(pem.splitlines()[1:-1]) in (folder / "day.html").read_text()
    signed.write_text(shown["signed"].replace("5000", "5001"))
    assert run() == "Signature Verification Failure\n"
    assert (await close("key", "--id", "csk_none")).code == 2


async def test_who_approves_is_shown_what_differs_before_they_are_asked(books: Books, database_url: str) -> None:
    """All that the page of the day shows: the two columns, what is open, and each account of the ledger."""

    async def close(*arguments: str, by: str) -> Said:
        return await malipo(*arguments, database_url=database_url, secret_key=SECRET_KEY, operator=by)

    await books.paid("R1", 5000, at(MONDAY))
    await books.statement(MONDAY, [("R1", 5000, "11:59", "money"), ("X", 700, "15:00", "money")])
    await books.match("R1")
    why = ("--accept-difference", "--reason", "the network looks for it")
    assert (await close("close", "2026-11-02", *why, by="asha")).code == 0
    looks: dict[str, Any] = {"database_url": database_url, "secret_key": SECRET_KEY, "operator": "juma"}
    asked = await malipo_unseen("close", "approve", "2026-11-02", "--here", **looks)
    assert asked.code == 2
    shown = [" ".join(line.split()) for line in asked.err.splitlines()]
    for line in ("MPESA statement ledger difference", "closing 5,700 5,000 700", "balances in the day at its end"):
        assert line in shown
    assert any("TZS 700 only in the statement: line X" in line for line in shown)
    [waiting] = (await close("approvals", "--json", by="juma")).json
    assert f"--seen {waiting['seen']}" in shown[-1]
    closed = await close("close", "approve", "2026-11-02", "--here", "--seen", waiting["seen"], "--json", by="juma")
    assert (closed.json["isClosed"], closed.json["addsUp"]) == (True, False)


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (["2026-13-01"], "A day is written as 2026-11-15, not '2026-13-01'."),
        (["show", "2026-11-02"], "2026-11-02 is not closed."),
        (["approve", "2026-11-02"], "Another operator approves it on the pages for operators: /operator/close."),
        (["2026-11-02", "--without", "VISA"], "invalid choice"),
        (["yesterday"], "invalid choice"),
    ],
)
async def test_a_mistake_is_refused_in_one_sentence(
    books: Books, database_url: str, arguments: list[str], output: str
) -> None:
    said = await malipo("close", *arguments, database_url=database_url, secret_key=SECRET_KEY, operator="asha")
    assert said.code == 2
    assert output in said.err


async def test_an_empty_installation_has_no_closed_day(books: Books, database_url: str) -> None:
    said = [await malipo("close", act, database_url=database_url, secret_key=SECRET_KEY) for act in ("list", "verify")]
    assert [each.out for each in said] == ["No day is closed yet.\n"] * 2
    assert msgspec.json.decode((await malipo("close", "list", "--json", database_url=database_url)).out) == []
