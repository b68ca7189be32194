"""Claims of workers on the work queue: payments to send, to query, or to end because they lapsed.

A claim never waits for a lock: rows that another worker has locked are skipped. The state of a dispatch decides which
claim takes it when it is due (the whole table: `tests/payments/test_claim_rules.py`):

    never claimed (no connector)            lock_new, lock_of_batches
    ... for longer than the lapse time      a collection: lock_lapsed; a payout: lock_unconnected_payouts
    claimed, provably not sent ('send')     lock_unsent
    ... for longer than the lapse time      a collection: lock_lapsed_unsent
    perhaps sent ('sending', 'ask')         claim_queries
    ended (is_follow_up)                    claim_follow_ups
    restored, perhaps sent (is_asked_first) `asked_first.claim_asked_first`, and none of these

Nothing is sent or lapses while the installation is fenced, or before a worker has compared its mark with the database.
A hold stops sending. A closed merchant's payouts are not sent. Queries always continue.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from malipo.db import Conn, Tx
from malipo.networks.connector import Channel, Type
from malipo.payments.store.carriers import note_carriers_sql
from malipo.payments.store.dispatches import DISPATCH, RECORDS, PaymentRecord, columns_of, find_records
from malipo.payments.store.transactions import COLUMNS, Key
from malipo.restore.high_water_mark import SendCount
from malipo.restore.store import installation, send_counts
from malipo.restore.store.send_counts import CountedBatch

_MAY_BE_SENT = f"""
    {send_counts.IS_COMPARED} AND NOT {installation.TAKES_NO_PAYMENTS}
    AND NOT {installation.is_held_sql("d.channel", "d.type")} AND NOT d.is_asked_first
"""
_MERCHANT_IS_ACTIVE = "EXISTS (SELECT FROM merchants m WHERE m.id = d.merchant_id AND m.is_active)"
_MAY_LAPSE = f"{send_counts.IS_COMPARED} AND NOT {installation.IS_FENCED}"


class Due(NamedTuple):
    """The channels and connectors for which something is due."""

    channels: list[str]  # with payments that wait to be sent for the first time
    to_send_again: list[str]
    to_query: list[str]


async def find_due(
    connection: Conn, routes: Mapping[tuple[Channel, Type], float], connectors: Mapping[str, float]
) -> Due:
    """Find the channels and connectors with work that has been due for at least the seconds given for its route or its
    connector.

    It does not check whether the work may be claimed. A payment that must be queried first may be any connector's.
    """
    row = await connection.fetchrow(
        """
        WITH carried AS (
                 SELECT channel, type, now() - late * interval '1 second' AS since
                 FROM unnest($1::text[], $2::text[], $3::float8[]) AS route (channel, type, late)),
             connected AS (
                 SELECT name, now() - late * interval '1 second' AS since
                 FROM unnest($4::text[], $5::float8[]) AS own (name, late))
        SELECT ARRAY(SELECT DISTINCT channel FROM carried
                     WHERE EXISTS (SELECT FROM dispatches d WHERE d.channel = carried.channel AND d.type = carried.type
                                   AND d.connector IS NULL AND d.due_at <= since)),
               ARRAY(SELECT name FROM connected
                     WHERE EXISTS (SELECT FROM dispatches WHERE connector = name AND NOT is_follow_up
                                   AND due_at <= since AND next_action = 'send')),
               ARRAY(SELECT name FROM connected
                     WHERE EXISTS (SELECT FROM dispatches WHERE connector = name AND NOT is_follow_up
                                   AND due_at <= since AND next_action <> 'send')
                        OR EXISTS (SELECT FROM dispatches WHERE connector = name AND is_follow_up
                                   AND due_at <= since)
                        OR EXISTS (SELECT FROM dispatches WHERE is_asked_first AND connector IS NULL
                                   AND due_at <= since))
        """,
        [channel for channel, _ in routes],
        [type_ for _, type_ in routes],
        [*routes.values()],
        [*connectors],
        [*connectors.values()],
    )
    assert row is not None
    return Due(*row.values())


async def lock_new(tx: Tx, channel: Channel, type_: Type, *, most: int) -> list[PaymentRecord]:
    """Lock, until the commit, the payments that have waited longest. A closed merchant's payouts are left waiting, and
    payouts of batches are claimed by `lock_of_batches`.
    """
    return await find_records(
        tx,
        f"""
        {RECORDS}
        WHERE d.channel = $1 AND d.type = $2 AND d.connector IS NULL AND d.batch_id IS NULL AND d.due_at <= now()
          AND {_MAY_BE_SENT}
          AND (d.type = 'COLLECTION' OR {_MERCHANT_IS_ACTIVE})
        ORDER BY d.due_at LIMIT $3 FOR UPDATE OF d, t SKIP LOCKED
        """,
        channel,
        type_,
        most,
    )


async def lock_of_batches(tx: Tx, channels: Collection[Channel], *, most: int) -> list[PaymentRecord]:
    """Lock payouts of batches until the commit: first the one that has waited longest of each batch and channel, then
    the second of each. So a large batch does not block a small one."""
    return await find_records(
        tx,
        f"""
        SELECT * FROM (
            SELECT waiting.*, row_number() OVER (PARTITION BY b.merchant_id, b.id, requested.channel
                                                  ORDER BY waiting.id) AS place
            FROM batches b CROSS JOIN unnest($1::text[]) AS requested (channel)
            CROSS JOIN LATERAL (
                {RECORDS}
                WHERE d.merchant_id = b.merchant_id AND d.batch_id = b.id AND d.channel = requested.channel
                  AND d.connector IS NULL AND d.due_at <= now() AND {_MAY_BE_SENT}
                ORDER BY d.due_at, d.transaction_id LIMIT $2 FOR UPDATE OF d, t SKIP LOCKED) waiting
            WHERE b.status = 'RUNNING' AND EXISTS (SELECT FROM merchants m WHERE m.id = b.merchant_id AND m.is_active)
        ) found ORDER BY place, id LIMIT $2
        """,
        list(channels),
        most,
    )


async def lock_unsent(tx: Tx, connector: str, *, most: int) -> list[PaymentRecord]:
    """Lock payments that the network provably does not have, and that may therefore be sent again."""
    return await find_records(
        tx,
        f"""
        {RECORDS}
        WHERE d.connector = $1 AND d.next_action = 'send' AND d.due_at <= now() AND {_MAY_BE_SENT}
          AND (d.type = 'COLLECTION' OR {_MERCHANT_IS_ACTIVE})
        ORDER BY d.due_at LIMIT $2 FOR UPDATE OF d, t SKIP LOCKED
        """,
        connector,
        most,
    )


async def lock_lapsed(tx: Tx, channel: Channel, *, lapse_seconds: float, most: int) -> list[PaymentRecord]:
    """Lock collections that no worker has claimed in time, because their network is down or not connected."""
    return await find_records(
        tx,
        f"""
        {RECORDS}
        WHERE d.channel = $1 AND d.type = 'COLLECTION' AND d.connector IS NULL AND d.send_count = 0
          AND d.success_heard_at IS NULL
          AND d.due_at <= now() - $2 * interval '1 second' AND d.queued_at <= now() - $2 * interval '1 second'
          AND NOT d.is_asked_first AND {_MAY_LAPSE}
        ORDER BY d.due_at LIMIT $3 FOR UPDATE OF d, t SKIP LOCKED
        """,
        channel,
        float(lapse_seconds),
        most,
    )


async def lock_lapsed_unsent(tx: Tx, connector: str, *, lapse_seconds: float, most: int) -> list[PaymentRecord]:
    """Lock collections that were claimed, and that provably could not be sent in time."""
    return await find_records(
        tx,
        f"""
        {RECORDS}
        WHERE d.connector = $1 AND d.type = 'COLLECTION' AND d.next_action = 'send' AND d.send_count = 0
          AND d.success_heard_at IS NULL AND d.queued_at <= now() - $2 * interval '1 second'
          AND {_MAY_LAPSE}
        ORDER BY d.due_at LIMIT $3 FOR UPDATE OF d, t SKIP LOCKED
        """,
        connector,
        float(lapse_seconds),
        most,
    )


async def lock_unconnected_payouts(tx: Tx, channel: Channel, *, lapse_seconds: float, most: int) -> list[PaymentRecord]:
    """Lock payouts that no worker has ever claimed, and that could be sent if a network was connected. A payout that is
    on hold, of a closed merchant, or that may have been sent before a restore, is left waiting."""
    return await find_records(
        tx,
        f"""
        {RECORDS}
        WHERE d.channel = $1 AND d.type = 'DISBURSEMENT' AND d.connector IS NULL AND d.send_count = 0
          AND d.success_heard_at IS NULL AND d.attention IS NULL AND t.status = 'PENDING'
          AND d.due_at <= now() - $2 * interval '1 second' AND d.queued_at <= now() - $2 * interval '1 second'
          AND {_MAY_BE_SENT} AND {_MAY_LAPSE}
          AND {_MERCHANT_IS_ACTIVE}
        ORDER BY d.due_at LIMIT $3 FOR UPDATE OF d, t SKIP LOCKED
        """,
        channel,
        float(lapse_seconds),
        most,
    )


async def mark_sending(
    tx: Tx, keys: Collection[Key], *, connector: str, claim_id: str, lease_seconds: float, worker_id: str
) -> CountedBatch | None:
    """Mark payments as being sent: when the lease has ended, their network must be queried before they are sent again.

    Returns the number of batches of sends, this one included; None if the worker is not registered.
    """
    row = await tx.fetchrow(
        f"""
        WITH counted AS ({send_counts.counting("$6")}), sent AS (
            UPDATE dispatches d
            SET connector = $3, claim_id = $4, next_action = 'sending', due_at = now() + $5 * interval '1 second',
                send_count = d.send_count + 1, sent_at = now()
            FROM unnest($1::text[], $2::text[]) AS taken (merchant_id, transaction_id)
            WHERE d.merchant_id = taken.merchant_id AND d.transaction_id = taken.transaction_id
            RETURNING d.channel, d.type),
            carried AS ({note_carriers_sql("sent", "$3")})
        SELECT epoch, total, own, server_id, serves FROM counted
        """,
        *columns_of(keys),
        connector,
        claim_id,
        float(lease_seconds),
        worker_id,
    )
    return None if row is None else CountedBatch(SendCount(row[0], row[1], row[2]), row[3], row[4])


async def take_back(tx: Tx, claim_id: str) -> None:
    """Undo a claim of which nothing was sent. A payment that was fenced meanwhile belongs to no claim, and is
    queried."""
    await tx.execute(
        """
        UPDATE dispatches SET next_action = 'send', send_count = send_count - 1, claim_id = NULL, due_at = now()
        WHERE claim_id = $1 AND next_action = 'sending'
        """,
        claim_id,
    )


async def find_claimed(connection: Conn, claim_id: str) -> list[PaymentRecord]:
    """The payments of a claim whose commit was not confirmed to us."""
    return await find_records(
        connection,
        f"""
        {RECORDS}
        WHERE d.claim_id = $1 AND d.next_action = 'sending'
        """,
        claim_id,
    )


async def claim_queries(tx: Tx, connector: str, *, lease_seconds: float, most: int) -> list[PaymentRecord]:
    """Claim open payments whose query is due, until the lease ends."""
    return await _claim_queries(tx, "NOT is_follow_up", connector, lease_seconds, most)


async def claim_follow_ups(tx: Tx, connector: str, *, lease_seconds: float, most: int) -> list[PaymentRecord]:
    """Claim payments that have ended, to query them again, as `claim_queries` does for open ones. They are claimed
    after the open ones, which have priority."""
    return await _claim_queries(tx, "is_follow_up", connector, lease_seconds, most)


async def _claim_queries(tx: Tx, which: str, connector: str, lease_seconds: float, most: int) -> list[PaymentRecord]:
    return await find_records(
        tx,
        f"""
        WITH due AS (
            SELECT merchant_id, transaction_id FROM dispatches
            WHERE connector = $1 AND {which} AND next_action <> 'send' AND due_at <= now()
            ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED)
        UPDATE dispatches d SET due_at = now() + $2 * interval '1 second'
        FROM due JOIN transactions t ON t.merchant_id = due.merchant_id AND t.id = due.transaction_id
        WHERE d.merchant_id = due.merchant_id AND d.transaction_id = due.transaction_id
        RETURNING {COLUMNS}, {DISPATCH}
        """,
        connector,
        float(lease_seconds),
        most,
    )
