"""The result of matching, as JSON and in words."""

from typing import Any

import msgspec

from malipo.approvals.operator_limits import with_limits
from malipo.audit_log.actor import Actor
from malipo.cli.database import with_database
from malipo.cli.exceptions.words import row_of
from malipo.db import Database
from malipo.db.database_time import database_now
from malipo.payments.apply_network_answers import ApplyNetworkAnswers
from malipo.payments.dispatch import QueryRules
from malipo.reconciliation.matching.exception import ReconciliationException
from malipo.reconciliation.matching.matching_summary import MatchingSummary, match_and_note
from malipo.reconciliation.matching.store import exceptions
from malipo.settings import Settings
from malipo.words.matching_summary import KINDS, SENTENCES, sentences_of

Found = tuple[MatchingSummary, list[ReconciliationException]]


def match_now(settings: Settings, actor: Actor) -> Found:
    """Match imported lines as this actor. Returns the summary and the first exceptions."""

    async def act(database: Database) -> Found:
        async with database.read() as connection:
            limited, now = await with_limits(connection, settings), await database_now(connection)
        apply_answers = ApplyNetworkAnswers(
            clock=lambda: now, rules=QueryRules.of(limited), credits_automatically=limited.credit_by_itself
        )
        limit = limited.booking_approval_amount
        done, summary = await match_and_note(
            database, apply_answers, approval_amount=limit, clock=lambda: now, actor=actor
        )
        async with database.read() as connection:
            return summary, await exceptions.find_by_ids(connection, [each.id for each in done.exceptions.first])

    return with_database(settings, act)


def as_json(found: Found) -> dict[str, Any]:
    summary, first = found
    return {**msgspec.to_builtins(summary), "exceptions": [row_of(each) for each in first]}


def in_words(found: Found) -> str:
    """A line for each."""
    summary, _ = found
    lines = []
    for name, values, kind in sentences_of(summary):
        if name == "exceptions":
            lines.append(f"Exceptions: {values['count']} (see: malipo exceptions list)")
        elif name in SENTENCES:
            lines.append(SENTENCES[name].format(**values))
        elif kind is not None:
            lines.append(f"  {values['count']} {kind}: {KINDS[kind]}")
    return "\n".join(lines)
