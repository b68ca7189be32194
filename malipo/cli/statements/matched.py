"""What matching did and found, as JSON and in words."""

from collections import Counter
from typing import Any

from malipo import clock, money
from malipo.cli.database import with_database
from malipo.cli.exceptions.words import KINDS, row_of
from malipo.db import Database
from malipo.payments.dispatch import Rules
from malipo.payments.settle import Settle
from malipo.reconciliation.exception import ReconciliationException
from malipo.reconciliation.match_statements import Matched, match_statements
from malipo.reconciliation.store import exceptions
from malipo.settings import Settings

Found = tuple[Matched, list[ReconciliationException]]


def match_now(settings: Settings) -> Found:
    """Match what was imported; with the exceptions that were found."""

    async def act(database: Database) -> Found:
        settle = Settle(clock=clock.now, rules=Rules.of(settings), credits_automatically=settings.credit_by_itself)
        done = await match_statements(database, settle, clock=clock.now)
        async with database.read() as connection:
            return done, await exceptions.find_by_ids(connection, [each.id for each in done.exceptions.first])

    return with_database(settings, act)


def as_json(found: Found) -> dict[str, Any]:
    done, first = found
    return {
        "matched": done.payments,
        "reversals": done.reversals,
        "fees": done.fees,
        "transfers": done.transfers,
        "bookedFees": done.booked_fees,
        "bookedSweeps": done.booked_sweeps,
        "completed": done.completed,
        "contradicted": done.contradicted,
        "waiting": done.waiting,
        "resolved": done.resolved,
        "exceptionCount": done.exceptions.count,
        "exceptions": [row_of(each) for each in first],
    }


def in_words(found: Found) -> str:
    done, first = found
    lines = [f"{done.payments:,} matched with payments, of which {done.completed:,} were open and have ended."]
    if done.contradicted:
        lines.append(f"{done.contradicted:,} of them contradict what the merchant was told.")
    if done.booked_fees:
        lines.append(f"The network charged {money.display(-done.booked_fees)}, which is booked.")
    if done.waiting:
        lines.append(f"{done.waiting:,} payments are in no statement yet. That is too early to say anything.")
    if done.exceptions.count == 0:
        return "\n".join([*lines, "No exceptions."])
    kinds = Counter(each.kind for each in first)
    lines.append(f"{done.exceptions.count:,} exceptions (see: malipo exceptions list):")
    lines += [f"  {number:,} {kind}: {KINDS[kind]}" for kind, number in sorted(kinds.items())]
    return "\n".join(lines)
