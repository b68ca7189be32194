"""Daily totals: how payments ended, by day, updated when their events are numbered in the feed."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

import msgspec

from malipo import clock, log
from malipo.db import Conn, Tx
from malipo.outbox.event import ENDS, Event
from malipo.outbox.store import AnyEvent


class _EndedPayment(msgspec.Struct, rename="camel"):
    type: str
    channel: str
    amount: int
    fee: int
    created_at: datetime


class _TotalsBody(msgspec.Struct):
    transaction: _EndedPayment


@dataclass(slots=True)
class Total:
    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    amount: int = 0
    fees: int = 0
    total_seconds: float = 0.0


Key = tuple[str, date, str, str]  # merchant, day, type, channel

_decode = msgspec.json.Decoder(_TotalsBody).decode


def totals_of(events: Sequence[AnyEvent]) -> dict[Key, Total]:
    """The totals that these events add. Pure."""
    totals: dict[Key, Total] = defaultdict(Total)
    for each in events:
        if each.event not in ENDS:
            continue
        try:
            ended = _decode(each.body).transaction
        except msgspec.MsgspecError as error:
            # A total that lacks one payment is better than a feed that stops.
            log.error("totals.unreadable", error, delivery=each.id)
            continue
        total = totals[each.merchant_id, clock.day_of(each.created_at), ended.type, ended.channel]
        if each.event in (Event.PAYMENT_COMPLETED, Event.PAYOUT_COMPLETED):
            total.completed += 1
            total.amount += ended.amount
            total.fees += ended.fee
            total.total_seconds += (each.created_at - ended.created_at).total_seconds()
        elif each.event in (Event.PAYMENT_FAILED, Event.PAYOUT_FAILED):
            total.failed += 1
        else:
            total.cancelled += 1
    return totals


async def add(tx: Tx, events: Sequence[AnyEvent]) -> None:
    totals = sorted(totals_of(events).items())
    if not totals:
        return
    await tx.execute(
        """
        INSERT INTO daily_totals AS t
               (merchant_id, day, type, channel, completed, failed, cancelled, amount, fees, total_seconds)
        SELECT * FROM unnest($1::text[], $2::date[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[],
                             $8::bigint[], $9::bigint[], $10::float8[])
        ON CONFLICT (merchant_id, day, type, channel) DO UPDATE
        SET completed = t.completed + excluded.completed, failed = t.failed + excluded.failed,
            cancelled = t.cancelled + excluded.cancelled, amount = t.amount + excluded.amount,
            fees = t.fees + excluded.fees, total_seconds = t.total_seconds + excluded.total_seconds
        """,
        *(list(column) for column in zip(*(key for key, _ in totals), strict=True)),
        *([getattr(total, name) for _, total in totals] for name in Total.__slots__),
    )


async def find(connection: Conn, merchant_id: str, *, first: date, last: date) -> dict[tuple[date, str, str], Total]:
    """The totals of a merchant, by day, type and channel."""
    rows = await connection.fetch(
        """
        SELECT day, type, channel, completed, failed, cancelled, amount, fees, total_seconds FROM daily_totals
        WHERE merchant_id = $1 AND day BETWEEN $2 AND $3
        """,
        merchant_id,
        first,
        last,
    )
    return {(row["day"], row["type"], row["channel"]): Total(*(row[name] for name in Total.__slots__)) for row in rows}
