"""The whole loop, as the demo's welcome has it: take payments, download the statement, import, close."""

import asyncio
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from malipo import clock
from malipo.cli.floats.demo_balances import book_opening_floats
from malipo.encryption import Encryption
from malipo.ledger.check import check
from malipo.operators import store as operators
from malipo.reconciliation.close.close_day import close_day
from malipo.reconciliation.close.closed_day import ClosedDay
from tests.conftest import NOBODY, SECRET_KEY
from tests.journeys.full_stack import FullStack, a_worker, full_stack_started, until
from tests.journeys.operator_commands import Said, malipo


def today() -> date:
    return clock.day_of(clock.now())  # Not of the time when tests are collected: midnight may come before they run.


PAYMENTS = [("MPESA", "COLLECTION", "+255754000001"), ("MPESA", "DISBURSEMENT", "+255754000001")]
PAYMENTS += [("TIGO_PESA", "COLLECTION", "+255652000001"), ("AIRTEL_MONEY", "DISBURSEMENT", "+255784000001")]
CHANNELS = ("MPESA", "TIGO_PESA", "AIRTEL_MONEY")


async def download(full_stack: FullStack, channel: str, path: Path, query: str = "") -> str:
    url = f"{full_stack.sim.url}/api/statements/{channel}?day={today()}{query}"
    async with full_stack.sim.http.get(url) as answer:
        content = await answer.read()
    await asyncio.to_thread(path.write_bytes, content)
    return str(path)


async def test_payments_are_taken_and_the_networks_statements_agree_to_the_shilling(
    database_url: str, tmp_path: Path
) -> None:
    async with full_stack_started(tmp_path, database_url) as full_stack:
        named: dict[str, Any] = {
            name.removeprefix("MALIPO_").lower(): value for name, value in full_stack.environment.items()
        }

        async def operator(*arguments: str) -> Said:
            said = await malipo(*arguments, **named | {"database_url": database_url, "operator": "asha"})
            assert said.code == 0, said.err
            return said

        async with full_stack.database.begin() as tx:
            await operators.insert_operator(tx, "opr_1", "asha", now=clock.now())
            await book_opening_floats(tx, now=clock.now())
        async with a_worker(full_stack):
            taken = [await full_stack.take(*payment, amount=5000) for payment in PAYMENTS]

            async def all_completed() -> bool:
                return all([(await full_stack.shown(each))["status"] == "COMPLETED" for each in taken])

            await until(all_completed)

        for channel in CHANNELS:
            path = await download(full_stack, channel, tmp_path / f"{channel}.csv")
            reported = (await operator("statements", "import", path, "--channel", channel, "--json")).json
            assert (reported["matched"] > 0, reported["exceptions"]) == (True, []), reported
        floats = (await operator("floats", "--json")).json
        assert {each["channel"]: each["difference"] for each in floats if each["channel"] in CHANNELS} == dict.fromkeys(
            CHANNELS, 0
        )

        # The day is not over. Tomorrow it is.
        refused = await malipo("close", str(today()), **named | {"database_url": database_url, "operator": "asha"})
        assert refused.code == 2
        tomorrow = datetime.combine(today() + timedelta(days=1), time(9), clock.ZONE)
        async with full_stack.database.begin() as tx:
            closed = await close_day(tx, today(), encryption=Encryption(SECRET_KEY), actor=NOBODY, now=tomorrow)
        assert isinstance(closed, ClosedDay)
        assert closed.close.adds_up
        async with full_stack.database.snapshot() as connection:
            assert await check(connection) == []

        # A difference that is asked for is found.
        path = await download(full_stack, "MPESA", tmp_path / "with.csv", "&with=theirsOnly")
        reported = (
            await operator("statements", "import", path, "--channel", "MPESA", "--accept-problems", "--json")
        ).json
        assert [(each["kind"], each["amount"]) for each in reported["exceptions"]] == [("theirs_only", 4321)]
