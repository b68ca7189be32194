"""The network querier: claims payments whose status is due for a query, and queries one connector about them.

Open payments come first, then payments that are queried before they are sent after a restore, then follow-ups of ended
ones.
"""

from malipo.clock import loop_time
from malipo.db import Database
from malipo.payments.dispatch import AnswerSource
from malipo.payments.store import asked_first, claims
from malipo.payments.transaction import Transaction
from malipo.settings import Settings
from malipo.worker.loop_health import LoopHealth
from malipo.worker.network_calls import NetworkCalls
from malipo.worker.poll_loop import RARE_LOOK_SECONDS, run_forever, step_seconds

_FOLLOW_UP_SHARE = 4


class NetworkQuerier:
    def __init__(
        self,
        calls: NetworkCalls,
        database: Database,
        settings: Settings,
    ) -> None:
        self._calls = calls
        self._connector = calls.connector
        self._circuit = calls.circuit
        self._database = database
        self._settings = settings

    def wake(self, topic: str) -> None:
        """Look now, because a notification came."""
        if topic in ("", self._connector.name):
            self._calls.may_begin.set()

    async def run(self, loops: LoopHealth) -> None:
        """Run until cancelled. After an error it tries again: a querier never ends by itself."""
        seconds = step_seconds(self._settings)
        await run_forever(
            "ask",
            self._query_due,
            self._calls.may_begin,
            seconds=seconds,
            look_seconds=RARE_LOOK_SECONDS,
            loops=loops,
            route=self._connector.name,
        )

    async def finish(self, *, seconds: float) -> None:
        await self._calls.finish(seconds=seconds)

    async def _query_due(self) -> bool:
        """Query due payments, as far as the concurrency limit allows. Returns whether more may be due."""
        free = self._calls.free
        if self._circuit.is_open or free <= 0:
            return False
        name, lease_seconds = self._connector.name, self._calls.lease_seconds
        async with self._database.begin() as tx:
            due = await claims.claim_queries(tx, name, lease_seconds=lease_seconds, most=free)
            if (left := free - len(due)) > 0:
                due += await asked_first.claim_asked_first(
                    tx, name, self._calls.routes, lease_seconds=lease_seconds, most=left
                )
            # Follow-ups use the remaining slots, and never all slots.
            free = min(free - len(due), max(self._connector.concurrency // _FOLLOW_UP_SHARE, 1))
            if free > 0:
                due += await claims.claim_follow_ups(tx, name, lease_seconds=lease_seconds, most=free)
        for each in due:
            self._calls.spawn(self._query(each.transaction), each.transaction)
        return bool(due)

    async def _query(self, transaction: Transaction) -> None:
        asked_at = loop_time()
        self._calls.at_point("asking")
        answer = await self._calls.call(AnswerSource.QUERY, self._connector.query, transaction)
        self._calls.at_point("told")
        await self._calls.report(transaction, AnswerSource.QUERY, answer, asked_at=asked_at)
        self._calls.at_point("noted")
