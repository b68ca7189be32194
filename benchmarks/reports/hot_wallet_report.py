"""`bench hot-wallet` on the command line: what it is about, and what it is asked for."""

from dataclasses import replace
from typing import Any

from benchmarks import hot_wallet
from benchmarks.reports import rounds_report
from benchmarks.reports.result import Result, changes
from benchmarks.rounds import Plan, Say

HELP = "payouts a second from one wallet, beside PostgreSQL alone"
ABOUT = """
How many payouts a second malipo takes, over HTTP, durably, if all of them are paid from one wallet, so that every one
changes the same row. The peer does the same work on the same tables of a PostgreSQL that is started for this:

  pgbench       PostgreSQL alone, one commit a payout, at its fastest of 4, 16 and 64 clients (--quick: 4); the
                wallet's row is taken last, and so held as briefly as one commit a payout can
  malipo        one `malipo api` process, as it is but for the limits of its keys

The load on malipo is wrk's; every answer is counted against the rows in the database afterwards, and `malipo ledger
check` must find nothing wrong in what either of them wrote.
"""


def run(options: Any, say: Say) -> Result:
    plan = replace(
        hot_wallet.QUICK if options.quick else Plan(), **changes(options, "rounds", "seconds", "connections")
    )
    return rounds_report.result_of("hot-wallet", hot_wallet.measure(plan, say))
