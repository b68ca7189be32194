"""Ends payments as the network says. Told twice, or late, it changes nothing: the first word counts.

Callbacks and the status poller both come here, and so does anybody else with news of a payment.
"""

from collections.abc import Sequence

from malipo.clock import Clock
from malipo.db import Tx
from malipo.payments import record
from malipo.payments.record import Change, Outcome


class Settle:
    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock

    async def __call__(self, tx: Tx, news: Sequence[Change], /, *, again: bool) -> list[Outcome | None]:
        return await record.advance(tx, news, now=self._clock())
