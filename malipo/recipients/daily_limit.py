"""The daily limit of a merchant's look-ups. They are counted in the audit log, which contains each of them anyway.

Days are those of Dar es Salaam. Every look-up counts, whatever the network answered: the limit keeps a merchant from
copying a network's directory of names.
"""

from collections.abc import Sequence
from datetime import datetime, time, timedelta

from malipo import clock
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.errors import TooMany
from malipo.networks.connector import Channel

# Entries of the second kind are from an older version, which stored only how many numbers a batch had.
ACTIONS = ("recipient.looked_up", "recipients.looked_up")


class LookupsUsedUp(TooMany):
    code = "lookup_limit"

    def __init__(self, most: int, now: datetime) -> None:
        seconds = int((_day(now) + timedelta(days=1) - now).total_seconds()) + 1
        super().__init__(
            f"This merchant may look up {most} names a day, and they are used up. "
            "Payments do not need it: pay without the name, or try again tomorrow.",
            retry_after_seconds=seconds,
        )


async def admit(
    tx: Tx,
    merchant_id: str,
    numbers: Sequence[tuple[Channel, str]],
    *,
    most: int,
    actor: Actor,
    now: datetime,
) -> int:
    """How many of the numbers, from the first on, may be looked up; 0 for `most` is no limit. Each of them has an entry
    in the audit log, also those of a batch, so that a search for a number finds its look-up.

    A lock keeps concurrent look-ups from all using the last one of the limit.
    """
    admitted = len(numbers)
    if most:
        used = await audit_log.sum_of_day(tx, merchant_id, ACTIONS, since=_day(now))
        admitted = min(admitted, max(most - used, 0))
    details = [{"count": 1, "channel": channel, "phone": phone} for channel, phone in numbers[:admitted]]
    await audit_log.append_many(tx, actor, "recipient.looked_up", details, now=now, merchant_id=merchant_id)
    return admitted


def _day(now: datetime) -> datetime:
    """When today began."""
    return datetime.combine(clock.day_of(now), time.min, clock.ZONE)
