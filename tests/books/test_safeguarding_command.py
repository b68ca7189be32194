"""malipo books safeguarding: of the last closed day, or of another one."""

from pathlib import Path

from malipo.db import Database
from malipo.ledger.house_bookings import HouseBookingKind
from tests.journeys.operator_commands import Said, malipo
from tests.reconciliation.close.books import MONDAY, TUESDAY, Books, at

NO_STATEMENT = {"without": ["MPESA"], "reason": "portal away"}


async def test_it_is_of_the_last_closed_day_and_says_if_less_is_there(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    async def safeguarding(*arguments: str) -> Said:
        return await malipo("books", "safeguarding", *arguments, database_url=database_url)

    assert (await safeguarding()).err == "malipo: No day is closed yet.\n"
    books = await Books.begin(database, tmp_path)
    await books.paid("R1", 5000, at(MONDAY))
    await books.close(MONDAY, **NO_STATEMENT)
    covered = await safeguarding("--json")
    assert (covered.code, covered.json["cover"], covered.json["difference"], covered.json["own"]) == (
        0,
        "covered",
        10,
        10,
    )
    assert covered.json["merchantsOwn"]["total"] == 4990
    # A charge that is larger than all earnings.
    await books.book(HouseBookingKind.NETWORK_FEE, -60, TUESDAY)
    await books.close(TUESDAY, **NO_STATEMENT)
    short = await safeguarding()
    assert (short.code, short.out.splitlines()[:2]) == (
        1,
        [f"At the end of {TUESDAY}, in TZS.", "safeguarding: LESS IS THERE THAN MERCHANTS OWN."],
    )
    assert (await safeguarding("--at", str(MONDAY))).code == 0
    assert (await safeguarding("--at", "2026-11-09")).err == "malipo: 2026-11-09 is not closed.\n"
