"""Adds ended attempts to the counts of their links, and writes the events of the links that this changes.

A worker does it soon after a payment's end, under the lock of the link's row. It counts by the latest report of the
network, and counts an attempt again if its payment is corrected later.
"""

from collections.abc import Collection, Sequence
from datetime import datetime

import msgspec
from msgspec.structs import replace

from malipo import ids, log
from malipo.db import Tx
from malipo.links import link_json
from malipo.links.link import Late, LatePayment, Link, why_late
from malipo.links.store import attempts, links
from malipo.links.store.attempts import EndedAttempt
from malipo.links.store.links import Key
from malipo.outbox import store as outbox
from malipo.outbox.event import Event
from malipo.outbox.store import LinkEvent
from malipo.payments.store.transactions import Key as PaymentKey

_encode = msgspec.json.Encoder().encode


async def count_all(tx: Tx, *, most: int, now: datetime) -> tuple[int, int]:
    """Count all uncounted attempts of up to `most` links. Returns the number of these links, and of the events that
    were written. It reads all open attempts."""
    return await _count(tx, await attempts.lock_links_to_count(tx, most=most), None, now=now)


async def count_ended(tx: Tx, payments: Collection[PaymentKey], *, now: datetime) -> int:
    """Count the attempts of these ended payments. Returns the number of events that were written."""
    _, event_count = await _count(tx, await attempts.lock_links_of(tx, payments), {id_ for _, id_ in payments}, now=now)
    return event_count


async def _count(tx: Tx, keys: Sequence[Key], only: Collection[str] | None, *, now: datetime) -> tuple[int, int]:
    events: list[LinkEvent] = []
    for key in keys:
        events += await _count_link(tx, key, only, now=now)
    if events:
        # Consecutive ids, so that they are delivered in this order.
        first = ids.first_of_series("evt_", now)
        named = [replace(each, id=ids.in_series(first, place)) for place, each in enumerate(events)]
        await outbox.insert_link_events(tx, named)
    return len(keys), len(events)


async def _count_link(tx: Tx, key: Key, only: Collection[str] | None, *, now: datetime) -> list[LinkEvent]:
    uncounted = await attempts.lock_uncounted(tx, key, only)
    ended = await attempts.find_ended(tx, key, uncounted)
    before = await links.get_counted(tx, *key)
    tally = Tally(before)
    counted = [tally.add(each) for each in ended]
    await attempts.write_counted(tx, key, counted)
    await links.write_counts(tx, before, count=tally.count, amount=tally.amount, paid_at=tally.filled_at)
    if not tally.events:
        return []
    after = await links.get(tx, *key)
    assert after is not None
    late = (await links.find_late(tx, [key])).get(key, [])
    for event, payment_id in tally.events:
        log.info(event, link=after.id, transaction=payment_id)
    return [_event(event, payment_id, after, late, now) for event, payment_id in tally.events]


class Tally:
    """What ended attempts add to the counts of a link. Pure."""

    def __init__(self, link: Link) -> None:
        """`link` has only the counted attempts."""
        self._link = link
        self.count = 0
        self.amount = 0
        self.filled_at: datetime | None = None  # when the last possible payment came, if it is one of these
        self.events: list[tuple[Event, str]] = []  # each with its payment

    @property
    def _is_full(self) -> bool:
        """By the current counts: if the payment that filled a link was taken back, the next one is not late."""
        places = self._link.places
        return places is not None and self._link.paid_count + self.count >= places

    def add(self, attempt: EndedAttempt) -> EndedAttempt:
        """Count an attempt. Returns it as it was counted."""
        was_counted = attempt.was_paid and attempt.late is None
        if not attempt.is_paid:
            if was_counted:
                self._change(-1, attempt)
            return attempt
        late = attempt.late
        if not attempt.was_paid and late is None:
            late = self._why_late(attempt)
            if late is not None:
                self.events.append((Event.LINK_LATE, attempt.transaction_id))
        if late is None and not was_counted:
            self._change(1, attempt)
            self._note_full(attempt)
        return attempt._replace(late=late)

    def _change(self, change: int, attempt: EndedAttempt) -> None:
        self.count += change
        self.amount += change * attempt.amount

    def _why_late(self, attempt: EndedAttempt) -> Late | None:
        assert attempt.paid_at is not None
        link = self._link
        return why_late(
            paid_at=attempt.paid_at, is_full=self._is_full, expires_at=link.expires_at, cancelled_at=link.cancelled_at
        )

    def _note_full(self, attempt: EndedAttempt) -> None:
        if self._is_full and self.filled_at is None and self._link.paid_at is None:
            self.filled_at = attempt.paid_at
            self.events.append((Event.LINK_PAID, attempt.transaction_id))


def _event(event: Event, payment_id: str, link: Link, late: Sequence[LatePayment], now: datetime) -> LinkEvent:
    body = _encode({"event": event, "link": link_json.in_event(link, payment_id, late)}).decode()
    return LinkEvent("", link.merchant_id, link.id, payment_id, event, body, now)
