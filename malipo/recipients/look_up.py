"""Looks up the names of recipients for a merchant: within the daily limit, with an entry in the audit log, and without
delaying the payment.

One number that a program or a person asks for (`look_up`), or the lines of a batch (`look_up_many`).
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from malipo.audit_log.actor import Actor
from malipo.clock import Clock
from malipo.db import ConnectionLost, Contention
from malipo.db.queries import Queries
from malipo.errors import Conflict, OutcomeUnknown, Unavailable
from malipo.networks.connector import Channel
from malipo.networks.name_lookup import NameAnswer, NameLookup
from malipo.networks.routing import Networks
from malipo.recipients.daily_limit import LookupsUsedUp, admit
from malipo.recipients.name_comparison import Comparison, compare
from malipo.settings import Settings

MANY_SECONDS = 20.0


class LookupUnavailable(Conflict):
    code = "lookup_unavailable"

    def __init__(self, channel: Channel) -> None:
        super().__init__(f"No network that is connected can tell the names of {channel}.")


class Payee(msgspec.Struct, frozen=True):
    """The recipient of a payout that is being prepared."""

    channel: Channel
    phone: str  # +255…
    name: str = ""  # as it was typed


def whose(merchant_id: str, actor: Actor) -> str:
    """The key under which a name is cached for one caller. Another caller's look-up needs its own entry in the audit
    log."""
    return f"{merchant_id} {actor.name}"


class NameCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a look-up; without a name, the recipient is unknown."""

    name: str | None = None  # as the network has it on file on file
    is_registered: bool | None = None
    is_barred: bool | None = None
    checked_at: datetime | None = None  # when the network said it; None if it said nothing
    comparison: Comparison = Comparison.UNKNOWN  # with the name that was typed
    is_over_limit: bool = False  # no network was asked, because the merchant has used up today's look-ups


class RecipientNames:
    """Look-ups of names, which count in the audit log and for the merchant's daily limit."""

    def __init__(self, names: NameLookup, queries: Queries, *, most_daily: int, clock: Clock) -> None:
        self._names = names
        self._queries = queries
        self._most_daily = most_daily
        self._clock = clock

    @classmethod
    def of(cls, settings: Settings, networks: Networks, queries: Queries, clock: Clock) -> "RecipientNames":
        return cls(networks.names, queries, most_daily=settings.recipient_lookups_daily, clock=clock)

    def can_look_up(self, channel: Channel) -> bool:
        """Whether a network that is connected reports the names of a channel."""
        return self._names.can_look_up(channel)

    async def look_up(self, merchant_id: str, line: Payee, *, actor: Actor) -> NameCheck:
        """LookupUnavailable if no connector can, LookupsUsedUp above the daily limit."""
        if not self._names.can_look_up(line.channel):
            raise LookupUnavailable(line.channel)
        now = self._clock()
        most, numbers = self._most_daily, [(line.channel, line.phone)]
        try:
            admitted = await self._queries.write(
                lambda tx: admit(tx, merchant_id, numbers, most=most, actor=actor, now=now)
            )
        except OutcomeUnknown:
            raise Unavailable from None  # Whether it was counted does not matter: no network was asked.
        if not admitted:
            raise LookupsUsedUp(most, now)
        asker = whose(merchant_id, actor)
        return _check(line, await self._names.look_up(asker, line.channel, line.phone, now=now))

    def recall(self, merchant_id: str, line: Payee, *, actor: Actor) -> NameCheck | None:
        """The answer that the same person or key got about this number within the last minute. It does not count
        again."""
        looked = self._names.recall(whose(merchant_id, actor), line.channel, line.phone)
        return None if looked is None else _check(line, looked)

    async def look_up_many(
        self, merchant_id: str, lines: Sequence[Payee], *, actor: Actor, seconds: float = MANY_SECONDS
    ) -> list[NameCheck]:
        """One for each line, in their order. It never raises, and takes hardly longer than `seconds`.

        A number that occurs twice is looked up once. Names above the daily limit, or not answered in time, are unknown.
        """
        names, now = self._names, self._clock()
        numbers = list(dict.fromkeys((line.channel, line.phone) for line in lines if names.can_look_up(line.channel)))
        most = self._most_daily
        admitted = 0
        if numbers:
            try:
                admitted = await self._queries.write(
                    lambda tx: admit(tx, merchant_id, numbers, most=most, actor=actor, now=now)
                )
            except (Unavailable, ConnectionLost, Contention):
                return [NameCheck() for _ in lines]  # A look-up that cannot be counted is not made.
        found = await names.look_up_many(whose(merchant_id, actor), numbers[:admitted], seconds=seconds, now=now)
        over = set(numbers[admitted:])
        return [
            NameCheck(is_over_limit=True)
            if (line.channel, line.phone) in over
            else _check(line, found.get((line.channel, line.phone)))
            for line in lines
        ]


def _check(line: Payee, looked: NameAnswer | None) -> NameCheck:
    if looked is None or looked.checked_at is None:
        return NameCheck()
    recipient = looked.recipient
    return NameCheck(
        name=recipient.name,
        is_registered=recipient.is_registered,
        is_barred=recipient.is_barred,
        checked_at=looked.checked_at,
        comparison=compare(line.name, recipient.name),
    )
