"""`bench create`: how many collections a second, beside PostgreSQL alone and beside a conventional service.

All three do the same work on the same tables, each on a database of its own.
"""

from benchmarks import rounds
from benchmarks.rounds import Plan, Report, Round, Say, Work

QUICK = Plan(rounds=1, seconds=3, warm_up_seconds=1, clients=(16,), has_half=False)

WORK = Work(
    sql="create.sql",
    lua="create.lua",
    path="/v1/payments",
    tables=("transactions", "dispatches", "events", "idempotency_keys"),
)

_SYSTEMS = {"pgbench": Round.pgbench, "conventional": Round.conventional, "malipo": Round.malipo}


def measure(plan: Plan, say: Say) -> Report:
    return rounds.measure(plan, WORK, _SYSTEMS, say)
