"""malipo bank: two operators pay a settlement by a file, and the bank's statement completes it, at the command line."""

from datetime import timedelta
from pathlib import Path

from malipo import clock
from malipo.app.assemble import Service
from malipo.db import Database
from malipo.ledger.bookings import BookingKind, book
from malipo.settlement.fee_and_minimum import LARGEST_AMOUNT
from malipo.settlement.settlement_request import settlement_request_of
from malipo.validation.fields import Fields
from malipo_simulator.bank.bank import Bank
from malipo_simulator.bank.statement_formats import FORMATS
from tests.cli.test_wallet_command import Terminal, terminal
from tests.settlement.settlement_steps import add_account

__all__ = ["terminal"]

HERE = "--here"


async def test_a_settlement_is_paid_end_to_end(
    terminal: Terminal, service: Service, database: Database, tmp_path: Path
) -> None:
    bank, day = Bank(), clock.day_of(clock.now())
    add = ("bank", "add-account", bank.account, "--bic", bank.bic, "--name", bank.name)
    assert (await terminal(*add)).code == 2, "only an operator"
    proposed = await terminal(*add, by="asha")
    assert proposed.out.endswith(f"Another operator must approve it: malipo bank approve {bank.account}\n")
    assert (await terminal("bank", "approve", bank.account, HERE, by="asha")).code == 2, "two operators"
    assert (await terminal.json_of("bank", "approve", bank.account, HERE, by="juma"))["approved"]
    [account] = await terminal.json_of("bank", "accounts")
    assert (account["number"], account["format"]) == (bank.account, "pain.001")

    assert "No settlement waits" in (await terminal("bank", "gather", by="asha")).err
    await request_settlement(service, database)
    gathered = await terminal.json_of("bank", "gather", by="asha")
    assert (gathered["transfers"], gathered["amount"], gathered["status"]) == (1, 90_000, "GATHERED")
    [waiting] = await terminal.json_of("approvals")
    assert (waiting["act"], waiting["amount"], waiting["about"]) == ("approve_payout_file", 90_000, gathered["id"])
    shown = await terminal.json_of("approvals", waiting["id"])
    assert "account: 0150000WKYA00" in shown["changes"][0]
    approved = await terminal("bank", "approve", gathered["id"], HERE, "--seen", waiting["seen"], by="juma")
    assert approved.out == f"Approved: approve payout file, {gathered['id']}.\n"

    written = [
        await terminal.json_of("bank", "download", gathered["id"], "--to", str(tmp_path), by="juma") for _ in range(2)
    ]
    assert written[0] == written[1]
    mode, content = look_at(Path(written[0]["file"]))
    assert mode == 0o600
    assert bank.take(content, day).status == "ACCP"

    bank.deposit(-59_050, day, "FT99", "CHARGES")
    statement = tmp_path / "statement.xml"
    booked = bank.entries[0].day
    statement.write_bytes(FORMATS["camt053"][1](bank, day, booked))
    [done] = await terminal.json_of("bank", "import", str(statement), by="asha")
    assert (done["completed"], done["completedAmount"], done["exceptions"]) == (1, 90_000, {"unknown_debit": 1})
    again = await terminal("bank", "import", str(statement), by="juma")
    assert "imported before" in again.out
    [exception] = await terminal.json_of("bank", "exceptions")
    decide = ("bank", "decide", exception["id"], "book", "--account", "bank_charges", "--reason", "The bank's tariff")
    assert (await terminal(*decide, by="asha")).out == "Done.\n"
    assert (await terminal("bank", "exceptions")).out == "Every line of the bank has its place.\n"

    [file] = await terminal.json_of("bank", "files")
    whole = await terminal.json_of("bank", "file", file["message"])
    assert (whole["status"], whole["lines"][0]["amount"], whole["handedIn"]) == ("APPROVED", 90_000, False)
    assert "Do not hand it in" not in (await terminal("bank", "file", file["message"])).out
    async with database.begin() as tx:
        await tx.execute("UPDATE payout_files SET downloaded_at = NULL")
    assert (await terminal.json_of("bank", "file", file["message"]))["handedIn"]
    assert "Do not hand it in" in (await terminal("bank", "file", file["message"])).out
    assert sorted(each["is"] for each in await terminal.json_of("bank", "lines")) == ["debit", "house"]
    assert whole["toStoppedAccounts"] == []
    [imported] = await terminal.json_of("bank", "statements")
    refused = await terminal("bank", "withdraw", imported["id"], "--reason", "It was the wrong one", by="asha")
    assert "That is not undone" in refused.err
    balance = await terminal.json_of("bank", "balance")
    assert (balance["unexplained"], balance["notPlaced"], abs(balance["cents"])) == (0, 0, 50)
    assert (await terminal.json_of("ledger", "check"))["isClean"]
    deeds = [each["what"] for each in await terminal.json_of("audit") if each["what"].startswith("bank.")]
    assert sorted(deeds) == [
        *("bank.account_added", "bank.file_approved", "bank.file_downloaded", "bank.file_downloaded"),
        *("bank.file_gathered", "bank.line_book", "bank.proposed", "bank.proposed", "bank.statement_imported"),
    ]


def look_at(path: Path) -> tuple[int, bytes]:
    return path.stat().st_mode & 0o777, path.read_bytes()


async def request_settlement(service: Service, database: Database) -> None:
    """Of Duka, whose wallet has just enough."""
    now = clock.now()
    async with database.begin() as tx:
        merchant_id = await tx.fetchval("SELECT id FROM merchants")
        await book(tx, BookingKind.TOP_UP, merchant_id, 90_000, reference="NMB-1", now=now)
    await add_account(database, merchant_id, now=now - timedelta(days=5))
    request = settlement_request_of(
        Fields({"amount": 90_000}), merchant_id, key=None, largest=LARGEST_AMOUNT, created_by="key_1", now=now
    )
    await service.settlements.create(request)
