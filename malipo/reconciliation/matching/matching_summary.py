"""The result of matching after an import: the counts that the command line, the pages and the audit log show.

The audit log keeps it, with the names of its files, and the page of each file shows it.
"""

from collections.abc import Mapping
from datetime import timedelta

import msgspec

from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.clock import Clock
from malipo.db import Conn, Database
from malipo.payments.apply_network_answers import ApplyNetworkAnswers
from malipo.reconciliation.matching.match_statements import MatchingCounts, MatchingResult, match_statements
from malipo.reconciliation.statements.statement_file import StatementFile

ACTION = "statement.matched"


class MatchingSummary(MatchingCounts, kw_only=True):
    """A run's counts, as the audit log keeps them."""

    exception_count: int = 0
    exception_kinds: Mapping[str, int] = {}
    files: tuple[str, ...] = ()  # those that were matched for the first time


def summary_of(done: MatchingResult) -> MatchingSummary:
    return MatchingSummary(
        **{name: getattr(done, name) for name in MatchingCounts.__struct_fields__},
        exception_count=done.exceptions.count,
        exception_kinds={str(kind): number for kind, number in sorted(done.exceptions.kinds.items())},
        files=tuple(done.files),
    )


async def match_and_note(
    database: Database, apply_answers: ApplyNetworkAnswers, *, approval_amount: int, clock: Clock, actor: Actor
) -> tuple[MatchingResult, MatchingSummary]:
    """Match imported lines, and store the result in the audit log."""
    done = await match_statements(database, apply_answers, approval_amount=approval_amount, clock=clock)
    summary = summary_of(done)
    async with database.begin() as tx:
        await audit_log.append(tx, actor, ACTION, now=clock(), **msgspec.to_builtins(summary))
    return done, summary


async def find_summary(connection: Conn, file: StatementFile) -> MatchingSummary | None:
    """The result of the first matching of a file; None if it was not matched, or if no result was stored."""
    span = audit_log.AuditLogFilter(action=ACTION, first=file.imported_at, last=file.imported_at + timedelta(days=1))
    page = await audit_log.find_page(connection, span, before=None, limit=1000)
    # The oldest entry, because a later matching adds nothing about this file.
    for entry in reversed(page.entries):
        if file.id in entry.details.get("files", ()):
            return msgspec.convert(entry.details, MatchingSummary)
    return None
