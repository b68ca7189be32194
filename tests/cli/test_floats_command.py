"""malipo floats: what operators see of the networks' accounts, and what they book between them and the bank."""

from tests.cli.test_wallet_command import Terminal, terminal

__all__ = ["terminal"]


async def test_an_operator_reads_a_balance_and_two_book_a_transfer(terminal: Terminal) -> None:
    first = await terminal.json_of("floats", float_low="MPESA=400000")
    assert [each["channel"] for each in first] == ["MPESA", "TIGO_PESA", "AIRTEL_MONEY", "HALOPESA"]
    assert (first[0]["reading"], first[0]["cover"], first[0]["isLow"], first[1]["isLow"]) == (None, 0, True, False)

    assert (await terminal("floats", "read", "MPESA", "900,000")).code == 2, "only an operator"
    said = await terminal("floats", "read", "MPESA", "900,000", by="asha")
    assert said.out == "Noted: TZS 900,000 at MPESA. It moves nothing.\n"
    assert (await terminal("floats", "read", "MPESA", "-5", by="asha")).code == 2
    [row, *_] = await terminal.json_of("floats", "list", float_low="MPESA=400000")
    assert (row["ledger"], row["reading"], row["difference"], row["cover"]) == (0, 900_000, 900_000, 900_000)
    assert (row["isLow"], [each["source"] for each in row["accounts"]]) == (False, ["operator"])

    book = ("floats", "transfer", "MPESA", "2,500,000", "--from-bank", "--reference", "NMB 7")
    assert (await terminal("floats", "transfer", "MPESA", "5", "--reference", "NMB 7", by="asha")).code == 2, (
        "which way"
    )
    proposed = await terminal(*book, by="asha")
    assert proposed.out == "Proposed TZS 2,500,000. Another operator must approve it, at /operator/bookings.\n"
    assert await terminal.json_of("wallet", "pending") == []
    [waiting] = await terminal.json_of("floats", "pending")
    assert (waiting["reference"], waiting["channel"], waiting["way"]) == ("NMB 7", "MPESA", "from the bank")
    assert (await terminal("wallet", "approve", "NMB 7", "--here", by="juma")).code == 2, "it is of no wallet"
    assert (await terminal("floats", "approve", "NMB 7", "--here", by="asha")).code == 2, "two operators"
    assert (await terminal("floats", "approve", "NMB 7", by="juma")).err.count("/operator/bookings") == 1
    approved = await terminal("floats", "approve", "NMB 7", "--here", by="juma")
    assert approved.out == "Approved and booked: NMB 7, TZS 2,500,000 from the bank.\n"

    assert (await terminal(*book, by="asha")).out == "NMB 7 was booked before; nothing has changed.\n"
    [row, *_] = await terminal.json_of("floats")
    assert (row["ledger"], row["difference"]) == (2_500_000, -1_600_000)
    shown = await terminal("floats")
    assert "2,500,000" in shown.out.splitlines()[1]
    await terminal.json_of("wallet", "top-up", "Duka", "2,500,000", "--reference", "NMB 9", by="asha")
    assert (await terminal("floats", "approve", "NMB 9", "--here", by="juma")).code == 2, "it is a merchant's"
    assert [each["reference"] for each in await terminal.json_of("wallet", "pending")] == ["NMB 9"]
    checked = await terminal.json_of("ledger", "check")
    assert (checked["isClean"], checked["balances"]) == (True, {"bank": 2_500_000, "float MPESA": -2_500_000})
    deeds = [each["what"] for each in await terminal.json_of("audit") if each["what"].startswith("float.")]
    assert deeds == ["float.from_bank", "float.from_bank_proposed", "float.read"]
