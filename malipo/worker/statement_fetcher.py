"""The statement fetcher: once a day it fetches yesterday's statement from each network that has an API for it.

If a day could not be fetched, because the network was away or no worker ran, it is tried again every hour for seven
days, without delaying other days. Several workers may fetch the same statement; its lines are imported once.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from malipo import clock as clocks
from malipo import log
from malipo.audit_log.actor import Actor
from malipo.clock import Clock
from malipo.db import Database
from malipo.errors import Refusal
from malipo.networks.routing import Networks
from malipo.payments.apply_network_answers import ApplyNetworkAnswers
from malipo.payments.dispatch import QueryRules
from malipo.reconciliation.imports.fetch_statement import (
    DAYS_TRIED,
    FetchableAccount,
    day_bounds,
    fetch_file,
    fetchable_accounts,
    missing_days,
)
from malipo.reconciliation.imports.import_statement import ImportResult, StatementImport, import_statement
from malipo.reconciliation.matching.matching_summary import match_and_note
from malipo.reconciliation.statements.statement_file import FETCHED_BY
from malipo.reconciliation.statements.store import statements
from malipo.settings import Settings
from malipo.table_files.rows import CURRENT_STOP, Stop
from malipo.words.say import say
from malipo.worker.loop_health import LoopHealth
from malipo.worker.poll_loop import run_forever

_ACTOR = Actor(FETCHED_BY, "worker")
# In Dar es Salaam. Networks need some time after midnight to complete a day.
_NOT_BEFORE = time(2)
_AGAIN_SECONDS = 3600.0
_MOST_SECONDS = 1800.0


class StatementFetcher:
    """It has its own connections: those for payments have a short statement timeout."""

    def __init__(
        self,
        database: Database,
        networks: Networks,
        settings: Settings,
        clock: Clock,
        *,
        monotonic: Callable[[], float] = clocks.monotonic,
    ) -> None:
        self._database = database
        self._networks = networks
        self._settings = settings
        self._clock = clock
        self._monotonic = monotonic
        self._due_at = 0.0  # by the monotonic clock; 0: now
        self._missing: deque[tuple[FetchableAccount, date]] = deque()
        self._is_new = False  # whether a statement was imported since the last matching

    async def run(self, loops: LoopHealth) -> None:
        """Run until cancelled."""
        await run_forever("statement_fetch", self.step, seconds=_MOST_SECONDS, loops=loops)

    async def step(self) -> bool:
        """Fetch one missing day of one account, if it is time; after the last of them, match. Returns whether there are
        more."""
        now = self._clock()
        if not self._missing:
            if self._monotonic() < self._due_at or now.astimezone(clocks.ZONE).time() < _NOT_BEFORE:
                return False
            self._due_at = self._monotonic() + _AGAIN_SECONDS
            yesterday = clocks.day_of(now) - timedelta(days=1)
            for account in fetchable_accounts(self._networks):
                self._missing += [(account, day) for day in await self._find_missing(account, yesterday)]
        if self._missing:
            # Removed before the fetch, so that a day that cannot be fetched does not block the others.
            account, day = self._missing.popleft()
            self._is_new = await self._fetch(account, day, now) or self._is_new
        if not self._missing and self._is_new:
            await self._match()
            self._is_new = False
        return bool(self._missing)

    async def _find_missing(self, account: FetchableAccount, yesterday: date) -> list[date]:
        since, _ = day_bounds(yesterday - timedelta(days=DAYS_TRIED))
        async with self._database.read() as connection:
            fetched = await statements.find_fetched(
                connection, account.channel, account.account, profile=account.profile.name, since=since
            )
        first = None if fetched.first is None else clocks.day_of(fetched.first)
        return missing_days(yesterday, {clocks.day_of(each) for each in fetched.latest}, first=first)

    async def _match(self) -> None:
        settings, clock = self._settings, self._clock
        apply_answers = ApplyNetworkAnswers(
            clock=clock, rules=QueryRules.of(settings), credits_automatically=settings.credit_by_itself
        )
        limit = settings.booking_approval_amount
        _, summary = await match_and_note(
            self._database, apply_answers, approval_amount=limit, clock=clock, actor=_ACTOR
        )
        log.info("statement_fetch.matched", **msgspec.to_builtins(summary))

    async def _fetch(self, account: FetchableAccount, day: date, now: datetime) -> bool:
        """Fetch one statement. Returns whether it was new."""
        where = {"channel": account.channel, "account": account.account, "day": str(day)}
        if day not in await self._find_missing(account, day):
            return False  # Another worker has fetched it meanwhile.
        try:
            done = await self._import(account, day, now)
        except Refusal as error:
            log.warning(
                "statement_fetch.failed", reason=say(error), details=[say(each) for each in error.problems], **where
            )
            return False
        log.info("statement_fetch.imported", lines=done.file.line_count, new=done.file.new_count, **where)
        if (other := done.elsewhere) is not None:
            # Its lines count twice until an operator has approved its withdrawal.
            log.warning("statement_fetch.also_elsewhere", file=other.id, imported_as=other.where, **where)
        return not done.is_repeat

    async def _import(self, account: FetchableAccount, day: date, now: datetime) -> ImportResult:
        with TemporaryDirectory(prefix="malipo-") as folder:
            path = await fetch_file(account, day, Path(folder))
            request = StatementImport(path, channel=account.channel, account=account.account, profile=account.profile)
            return await self._import_beside(request, now)

    async def _import_beside(self, request: StatementImport, now: datetime) -> ImportResult:
        """Import in a thread, with a loop and a connection of its own: reading a file waits for a process, and this
        loop also sends payments."""
        database, stop = self._database.another(size=1), Stop()

        async def work() -> ImportResult:
            CURRENT_STOP.set(stop)
            await database.open()
            try:
                async with database.begin() as tx:
                    return await import_statement(tx, request, actor=_ACTOR, now=now)
            finally:
                await database.close()

        try:
            return await asyncio.to_thread(lambda: asyncio.run(work()))
        except asyncio.CancelledError:
            stop.set()  # The worker ends, and waits for its threads.
            raise
