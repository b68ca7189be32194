"""`bench create` on the command line: what it is about, and what it is asked for."""

from dataclasses import replace
from typing import Any

from benchmarks import create
from benchmarks.reports import rounds_report
from benchmarks.reports.result import Result, changes
from benchmarks.rounds import Plan, Say

HELP = "collections a second, beside PostgreSQL alone and a conventional service"
ABOUT = """
How many collections a second malipo takes, over HTTP, durably, beside two others that do the same work on the same
tables of a PostgreSQL that is started for this:

  pgbench       PostgreSQL alone, one commit a payment, at its fastest of 4, 16 and 64 clients (--quick: 16)
  conventional  FastAPI and SQLAlchemy, one process, one commit a payment (benchmarks/conventional.py)
  malipo        one `malipo api` process, as it is but for the limits of its keys

The load on the services is wrk's; every answer is counted against the rows in the database afterwards. Without --quick
the services are also measured at half of their rate.
"""


def run(options: Any, say: Say) -> Result:
    plan = replace(create.QUICK if options.quick else Plan(), **changes(options, "rounds", "seconds", "connections"))
    return rounds_report.result_of("create", create.measure(plan, say))
