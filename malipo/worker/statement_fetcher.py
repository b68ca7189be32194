"""The statement fetcher: once a day it fetches yesterday's statement from each network that has an API for it.

Several workers may fetch the same statement; its lines are imported once. A failed fetch is repeated an hour later.
"""

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
from malipo.payments.dispatch import Rules
from malipo.payments.settle import Settle
from malipo.reconciliation.imports.fetch_statement import FetchableAccount, day_bounds, fetch_file, fetchable_accounts
from malipo.reconciliation.imports.import_statement import ImportResult, import_statement
from malipo.reconciliation.matching.matching_summary import match_and_note
from malipo.reconciliation.statements.store import statements
from malipo.reconciliation.statements.store.statements import FETCHED_BY
from malipo.settings import Settings
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

    async def run(self, loops: LoopHealth) -> None:
        """Until cancelled."""
        await run_forever("statement_fetch", self.step, seconds=_MOST_SECONDS, loops=loops)

    async def step(self) -> bool:
        """Fetch yesterday's statements that are missing, if it is time."""
        now = self._clock()
        if self._monotonic() < self._due_at or now.astimezone(clocks.ZONE).time() < _NOT_BEFORE:
            return False
        self._due_at = self._monotonic() + _AGAIN_SECONDS
        day = clocks.day_of(now) - timedelta(days=1)
        done = [await self._fetch(account, day, now) for account in fetchable_accounts(self._networks)]
        if any(done):
            settings, clock = self._settings, self._clock
            settle = Settle(clock=clock, rules=Rules.of(settings), credits_automatically=settings.credit_by_itself)
            limit = settings.booking_approval_amount
            _, summary = await match_and_note(self._database, settle, approval_amount=limit, clock=clock, actor=_ACTOR)
            log.info("statement_fetch.matched", **msgspec.to_builtins(summary))
        return False

    async def _fetch(self, account: FetchableAccount, day: date, now: datetime) -> bool:
        """Fetch one statement. Returns whether it was new."""
        where = {"channel": account.channel, "account": account.account, "day": str(day)}
        async with self._database.read() as connection:
            begins, _ = day_bounds(day)
            if await statements.is_fetched(
                connection, account.channel, account.account, profile=account.profile.name, begins=begins
            ):
                return False
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
            async with self._database.begin() as tx:
                return await import_statement(
                    tx,
                    path,
                    channel=account.channel,
                    account=account.account,
                    profile=account.profile,
                    accepts_problems=False,
                    actor=_ACTOR,
                    now=now,
                )
