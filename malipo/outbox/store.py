"""SQL of the outbox: an event is written in the same commit as the change that it reports.

Each kind of subject has its own table: a payment's events are in `events`, those of a batch, a link or a settlement in
a table named for it. All four share one feed, in which `feed_numbers.py` numbers events after their commit.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from malipo.db import Tx
from malipo.outbox.event import Event

# In the order in which events of one moment are numbered.
EVENT_TABLES = ("events", "batch_events", "link_events", "settlement_events")
_encode = msgspec.json.Encoder().encode


class PaymentEvent(msgspec.Struct, frozen=True):
    """An event of a payment, as it is stored. Every receiver gets the same bytes of the body."""

    id: str
    merchant_id: str
    transaction_id: str
    event: Event
    body: str
    created_at: datetime
    ordinal: int = 1  # a payment can be corrected more than once


class BatchEvent(msgspec.Struct, frozen=True):
    """An event of a batch, as it is stored."""

    id: str
    merchant_id: str
    batch_id: str
    event: Event
    body: str
    created_at: datetime


class LinkEvent(msgspec.Struct, frozen=True):
    """An event of a payment link, as it is stored."""

    id: str
    merchant_id: str
    link_id: str
    transaction_id: str  # the payment that it is about
    event: Event
    body: str
    created_at: datetime


class SettlementEvent(msgspec.Struct, frozen=True):
    """An event of a settlement, as it is stored."""

    id: str
    merchant_id: str
    settlement_id: str
    event: Event
    body: str
    created_at: datetime


AnyEvent = PaymentEvent | BatchEvent | LinkEvent | SettlementEvent


def document_of(events: Sequence[PaymentEvent]) -> str:
    return _encode(events).decode()


def insert_events_sql(events: str) -> str:
    """Inserts events, as a part of the statement that writes the change that they report."""
    return f"""
        INSERT INTO events (id, merchant_id, transaction_id, event, body, created_at, ordinal)
        SELECT id, merchant_id, transaction_id, event, body, created_at, ordinal
        FROM json_to_recordset({events}) AS new (
            id text, merchant_id text, transaction_id text, event text, body text, created_at timestamptz,
            ordinal smallint)
    """


async def insert_batch_events(tx: Tx, events: Sequence[BatchEvent]) -> None:
    await tx.execute(
        """
        INSERT INTO batch_events (id, merchant_id, batch_id, event, body, created_at)
        SELECT id, merchant_id, batch_id, event, body, created_at
        FROM json_to_recordset($1) AS new (
            id text, merchant_id text, batch_id text, event text, body text, created_at timestamptz)
        """,
        _encode(events).decode(),
    )


async def insert_link_events(tx: Tx, events: Sequence[LinkEvent]) -> None:
    await tx.execute(
        """
        INSERT INTO link_events (id, merchant_id, link_id, transaction_id, event, body, created_at)
        SELECT id, merchant_id, link_id, transaction_id, event, body, created_at
        FROM json_to_recordset($1) AS new (
            id text, merchant_id text, link_id text, transaction_id text, event text, body text, created_at timestamptz)
        """,
        _encode(events).decode(),
    )


async def insert_settlement_events(tx: Tx, events: Sequence[SettlementEvent]) -> None:
    await tx.execute(
        """
        INSERT INTO settlement_events (id, merchant_id, settlement_id, event, body, created_at)
        SELECT id, merchant_id, settlement_id, event, body, created_at
        FROM json_to_recordset($1) AS new (
            id text, merchant_id text, settlement_id text, event text, body text, created_at timestamptz)
        """,
        _encode(events).decode(),
    )
