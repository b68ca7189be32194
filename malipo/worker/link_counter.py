"""Counts payments by links, a moment after they end.

Counting in the commit of each payment would lock the link's row for each, and make every payment more expensive. The
worker that numbers the event of a payment's end passes the payment on to this loop. A rare look at all open attempts
finds payments that were missed, because a worker ended in between or another one has numbered them.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence

from malipo.clock import Clock, loop_time
from malipo.db import Database
from malipo.links.count import count_all, count_ended
from malipo.outbox.event import ENDS, Event
from malipo.outbox.store import AnyEvent, PaymentEvent
from malipo.payments.store.transactions import Key
from malipo.worker.poll_loop import RARE_LOOK_SECONDS

_MOST = 50  # links in one commit of a look
_MOST_ENDED = 200  # payments in one commit
_COUNTED = ENDS | {Event.PAYMENT_CORRECTED}
_OF_LINK = '"link":"lnk_'  # in the body of an event: in a text of a customer the quotation marks would be escaped


class LinkCounter:
    def __init__(self, database: Database, clock: Clock, wake_fan_out: Callable[[], None] = lambda: None) -> None:
        self._database = database
        self._clock = clock
        self._wake_fan_out = wake_fan_out
        self.due = asyncio.Event()
        self._ended: dict[Key, None] = {}  # payments of links, in the order in which they have ended
        self._look_at = 0.0

    def note_numbered(self, events: Sequence[AnyEvent]) -> None:
        if ended := list(ended_attempts(events)):
            self._ended |= dict.fromkeys(ended)
            self.due.set()

    async def turn(self) -> bool:
        """Count what has ended, or look at everything if that was long ago. Returns whether more may be waiting."""
        now = loop_time()
        if self._ended and now < self._look_at:
            await self._count_ended()
            return bool(self._ended)
        is_more = await count_links(self._database, self._clock, self._wake_fan_out)
        if not is_more:
            self._look_at = now + RARE_LOOK_SECONDS
        return is_more or bool(self._ended)

    async def _count_ended(self) -> None:
        some = list(self._ended)[:_MOST_ENDED]
        async with self._database.begin() as tx:
            event_count = await count_ended(tx, some, now=self._clock())
        for each in some:  # Only now: if the commit failed, they are counted by the next turn.
            self._ended.pop(each, None)
        if event_count:
            self._wake_fan_out()


def ended_attempts(events: Sequence[AnyEvent]) -> Iterable[Key]:
    """The payments of links whose end, or correction, these events report. Pure."""
    for each in events:
        if isinstance(each, PaymentEvent) and each.event in _COUNTED and _OF_LINK in each.body:
            yield each.merchant_id, each.transaction_id


async def count_links(database: Database, clock: Clock, wake_fan_out: Callable[[], None] = lambda: None) -> bool:
    """Count whatever is to be counted. Returns whether more may be waiting."""
    async with database.begin() as tx:
        looked_at, event_count = await count_all(tx, most=_MOST, now=clock())
    if event_count:
        wake_fan_out()
    return looked_at == _MOST
