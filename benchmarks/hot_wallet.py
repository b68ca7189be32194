"""`bench hot-wallet`: how many payouts a second from one wallet, beside PostgreSQL alone.

Every payout changes the same row. Whoever commits one payout at a time holds it until that commit is on disk, so this
is where sharing commits counts most.
"""

import asyncio

from benchmarks import database, measured_processes, rounds
from benchmarks.rounds import Plan, Report, Round, Say, Work
from malipo import clock
from malipo.db import Database
from malipo.ledger.bookings import BookingKind, book

QUICK = Plan(rounds=2, seconds=2, warm_up_seconds=1, clients=(4,), has_half=False)

_MONEY = 10**15  # more than any load can spend
_SYSTEMS = {"pgbench": Round.pgbench, "malipo": Round.malipo}


def measure(plan: Plan, say: Say) -> Report:
    return rounds.measure(plan, WORK, _SYSTEMS, say)


def top_up(url: str) -> None:
    """Booked as an operator would, so that the ledger can be checked afterwards."""
    asyncio.run(_top_up(url))


async def _top_up(url: str) -> None:
    async with Database.opened(url, size=4) as opened, opened.begin() as tx:
        await book(tx, BookingKind.TOP_UP, database.merchant(1), _MONEY, reference="BENCHMARK", now=clock.now())


WORK = Work(
    sql="hot_wallet.sql",
    lua="hot_wallet.lua",
    path="/v1/payments/disburse",
    tables=("transactions", "dispatches", "moves", "idempotency_keys"),
    prepare=top_up,
    check=measured_processes.check_ledger,
)
