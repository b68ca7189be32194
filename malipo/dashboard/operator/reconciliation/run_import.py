"""Runs an import beside the event loop: in a thread, with a loop and a connection of its own. One at a time in each
process, since each reads a whole file.
"""

import asyncio
from pathlib import Path

from malipo.audit_log.actor import Actor
from malipo.clock import Clock
from malipo.dashboard.operator.reconciliation.pending_uploads import FileDescription
from malipo.dashboard.operator.request import OperatorRequest
from malipo.db import Database
from malipo.network_statements.profile import StatementProfile
from malipo.outbox.event import EVENTS_TOPIC
from malipo.payments.apply_network_answers import ApplyNetworkAnswers
from malipo.payments.dispatch import QueryRules
from malipo.reconciliation.imports.import_statement import (
    BadLines,
    DoesNotAddUp,
    ImportResult,
    StatementImport,
    UnknownStatuses,
    import_statement,
)
from malipo.reconciliation.imports.refuse_conflicting_file import NothingKnown
from malipo.reconciliation.matching.matching_summary import match_and_note
from malipo.reconciliation.statements.typed_period import period_of
from malipo.settings import Settings
from malipo.table_files.reader_queue import ReadingTurns

__all__ = ["BadLines", "Busy", "DoesNotAddUp", "NothingKnown", "UnknownStatuses", "run_import"]

_turn = asyncio.Lock()


class Busy(Exception):  # noqa: N818 - the page says so.
    """Another import is under way here."""


async def run_import(
    request: OperatorRequest,
    path: Path,
    about: FileDescription,
    profile: StatementProfile,
    *,
    accepts_problems: bool,
    is_new_account: bool,
) -> ImportResult:
    """Import the file, and match the lines that are not matched yet. A file that was imported before is matched again:
    so an import that died in between is completed."""
    if _turn.locked():
        raise Busy
    parts, actor = request.parts, request.actor
    database, clock = parts.queries.database.another(size=2), parts.clock

    async def work() -> ImportResult:
        await database.open()
        try:
            done = await _import(
                database,
                path,
                about,
                profile,
                accepts_problems=accepts_problems,
                is_new_account=is_new_account,
                actor=actor,
                clock=clock,
            )
            apply_answers, limit = apply_answers_of(parts.settings, clock), parts.settings.booking_approval_amount
            await match_and_note(database, apply_answers, approval_amount=limit, clock=clock, actor=actor)
            return done
        finally:
            await database.close()

    async with _turn, ReadingTurns(parts.settings.data_dir).turn(request.owner.id, is_long=True):
        done = await asyncio.to_thread(lambda: asyncio.run(work()))
    parts.notifier.notify(EVENTS_TOPIC)
    return done


async def run_matching(request: OperatorRequest) -> None:
    """Match what has no place, in the same way: a withdrawn import may leave lines that another file has."""
    parts = request.parts
    database, clock = parts.queries.database.another(size=2), parts.clock

    async def work() -> None:
        await database.open()
        try:
            apply_answers, limit = apply_answers_of(parts.settings, clock), parts.settings.booking_approval_amount
            await match_and_note(database, apply_answers, approval_amount=limit, clock=clock, actor=request.actor)
        finally:
            await database.close()

    async with _turn:
        await asyncio.to_thread(lambda: asyncio.run(work()))
    parts.notifier.notify(EVENTS_TOPIC)


def apply_answers_of(settings: Settings, clock: Clock) -> ApplyNetworkAnswers:
    return ApplyNetworkAnswers(
        clock=clock, rules=QueryRules.of(settings), credits_automatically=settings.credit_by_itself
    )


async def _import(
    database: Database,
    path: Path,
    about: FileDescription,
    profile: StatementProfile,
    *,
    accepts_problems: bool,
    is_new_account: bool,
    actor: Actor,
    clock: Clock,
) -> ImportResult:
    async with database.begin() as tx:
        return await import_statement(
            tx,
            StatementImport(
                path,
                channel=about.channel,
                account=about.account,
                profile=profile,
                accepts_problems=accepts_problems,
                is_new_account=is_new_account,
                period=period_of(about.begins, about.ends),
            ),
            actor=actor,
            now=clock(),
        )
