"""Dispatches: what workers must do about open payments. Due times are the database's, so that clocks cannot disagree.

A claim takes its rows without ever waiting for a lock: what somebody else holds is left to them.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from malipo import clock, ids
from malipo.db import Conn, Row, Tx
from malipo.installation import store as installation
from malipo.installation.high_water_mark import Counted
from malipo.installation.store import CountedBatch
from malipo.networks.connector import Channel, FailureCode, Type
from malipo.payments.correction import Correction
from malipo.payments.network_answer import Attention, Dispatch, Next
from malipo.payments.store import corrections
from malipo.payments.store.transactions import COLUMNS, Key, transaction_of
from malipo.payments.transaction import Transaction

NetworkKey = tuple[Channel, str]

_encode = msgspec.json.Encoder().encode

DISPATCH = """
    d.route, d.next_act, d.sends, d.asks, d.not_founds, d.not_indexed, d.is_acknowledged, d.is_hinted,
    d.success_heard_at IS NOT NULL AS is_success_heard, d.is_follow_up, d.is_asked_first, d.hint, d.attention,
    date_part('epoch', now() - d.sent_at) AS sent_seconds, date_part('epoch', now() - d.queued_at) AS queued_seconds,
    date_part('epoch', clock_timestamp() - d.success_heard_at) AS success_seconds
"""

# Nothing is held, by operators or by a fence, and it need not be asked about first.
_MAY_BE_SENT = (
    f"NOT {installation.IS_CLOSED} AND NOT {installation.is_held('d.channel', 'd.type')} AND NOT d.is_asked_first"
)

_SUBJECTS = f"""
    SELECT {COLUMNS}, {DISPATCH}
    FROM dispatches d JOIN transactions t ON t.merchant_id = d.merchant_id AND t.id = d.transaction_id
"""


class Subject(NamedTuple):
    """A transaction, what is to be done about it, if anything, and how far it was put right after its end."""

    transaction: Transaction
    dispatch: Dispatch | None
    correction: Correction | None = None


def dispatch_of(row: Row) -> Dispatch | None:
    if row["next_act"] is None:
        return None
    return Dispatch(
        route=row["route"],
        next_act=Next(row["next_act"]),
        sends=row["sends"],
        asks=row["asks"],
        not_founds=row["not_founds"],
        not_indexed=row["not_indexed"],
        is_acknowledged=row["is_acknowledged"],
        is_hinted=row["is_hinted"],
        is_success_heard=row["is_success_heard"],
        is_follow_up=row["is_follow_up"],
        is_asked_first=row["is_asked_first"],
        hint=None if row["hint"] is None else FailureCode(row["hint"]),
        attention=None if row["attention"] is None else Attention(row["attention"]),
        sent_seconds=row["sent_seconds"],
        queued_seconds=row["queued_seconds"],
        success_seconds=row["success_seconds"],
    )


async def claim_new(tx: Tx, channel: Channel, type_: Type, *, most: int) -> list[Subject]:
    """The payments that have waited longest, held until the commit. A closed merchant's payouts are left waiting."""
    return await _subjects(
        tx,
        f"""
        {_SUBJECTS}
        WHERE d.channel = $1 AND d.type = $2 AND d.route IS NULL AND d.due_at <= now() AND {_MAY_BE_SENT}
          AND (d.type = 'COLLECTION' OR EXISTS (SELECT FROM merchants m WHERE m.id = d.merchant_id AND m.is_active))
        ORDER BY d.due_at LIMIT $3 FOR UPDATE OF d, t SKIP LOCKED
        """,
        channel,
        type_,
        most,
    )


async def claim_unsent(tx: Tx, route: str, *, most: int) -> list[Subject]:
    """Payments of which the network provably has nothing, and which may therefore be sent again."""
    return await _subjects(
        tx,
        f"""
        {_SUBJECTS}
        WHERE d.route = $1 AND d.next_act = 'send' AND d.due_at <= now() AND {_MAY_BE_SENT}
          AND (d.type = 'COLLECTION' OR EXISTS (SELECT FROM merchants m WHERE m.id = d.merchant_id AND m.is_active))
        ORDER BY d.due_at LIMIT $2 FOR UPDATE OF d, t SKIP LOCKED
        """,
        route,
        most,
    )


async def claim_lapsed(tx: Tx, channel: Channel, *, lapse_seconds: float, most: int) -> list[Subject]:
    """Collections that nobody has taken up in time, whether their network is down or not connected."""
    return await _subjects(
        tx,
        f"""
        {_SUBJECTS}
        WHERE d.channel = $1 AND d.type = 'COLLECTION' AND d.route IS NULL
          AND d.due_at <= now() - $2 * interval '1 second' AND d.queued_at <= now() - $2 * interval '1 second'
          AND NOT d.is_asked_first AND NOT {installation.IS_FENCED}
        ORDER BY d.due_at LIMIT $3 FOR UPDATE OF d, t SKIP LOCKED
        """,
        channel,
        float(lapse_seconds),
        most,
    )


async def claim_lapsed_unsent(tx: Tx, route: str, *, lapse_seconds: float, most: int) -> list[Subject]:
    """Collections that were taken up, and of which provably nothing has left us in time."""
    return await _subjects(
        tx,
        f"""
        {_SUBJECTS}
        WHERE d.route = $1 AND d.type = 'COLLECTION' AND d.next_act = 'send' AND d.sends = 0
          AND d.success_heard_at IS NULL AND d.queued_at <= now() - $2 * interval '1 second'
          AND NOT {installation.IS_FENCED}
        ORDER BY d.due_at LIMIT $3 FOR UPDATE OF d, t SKIP LOCKED
        """,
        route,
        float(lapse_seconds),
        most,
    )


async def take(
    tx: Tx, keys: Collection[Key], *, route: str, claim: str, lease_seconds: float, worker_id: str
) -> CountedBatch | None:
    """From here on they are being sent: whoever finds them after the lease must ask first.

    How many batches of sends there were, with this one; none if the worker is not known here.
    """
    row = await tx.fetchrow(
        f"""
        WITH counted AS ({installation.counting("$6")}), sent AS (
            UPDATE dispatches d
            SET route = $3, claim = $4, next_act = 'sending', due_at = now() + $5 * interval '1 second',
                sends = d.sends + 1, sent_at = now()
            FROM unnest($1::text[], $2::text[]) AS taken (merchant_id, transaction_id)
            WHERE d.merchant_id = taken.merchant_id AND d.transaction_id = taken.transaction_id)
        SELECT epoch, total, own, server_id FROM counted
        """,
        *_columns(keys),
        route,
        claim,
        float(lease_seconds),
        worker_id,
    )
    return None if row is None else CountedBatch(Counted(row[0], row[1], row[2]), row[3])


async def take_back(tx: Tx, claim: str) -> None:
    """Nothing of it has left us. What was fenced meanwhile belongs to no claim any more, and is asked about."""
    await tx.execute(
        """
        UPDATE dispatches SET next_act = 'send', sends = sends - 1, claim = NULL, due_at = now()
        WHERE claim = $1 AND next_act = 'sending'
        """,
        claim,
    )


async def claim_asked_first(tx: Tx, channel: Channel, type_: Type, *, lease_seconds: float, most: int) -> list[Subject]:
    """Payments that were not sent, as far as we know, and whose network must be asked before they are."""
    return await _subjects(
        tx,
        f"""
        WITH due AS (
            SELECT merchant_id, transaction_id FROM dispatches
            WHERE is_asked_first AND route IS NULL AND channel = $1 AND type = $2 AND due_at <= now()
            ORDER BY due_at LIMIT $4 FOR UPDATE SKIP LOCKED)
        UPDATE dispatches d SET due_at = now() + $3 * interval '1 second'
        FROM due JOIN transactions t ON t.merchant_id = due.merchant_id AND t.id = due.transaction_id
        WHERE d.merchant_id = due.merchant_id AND d.transaction_id = due.transaction_id
        RETURNING {COLUMNS}, {DISPATCH}
        """,
        channel,
        type_,
        float(lease_seconds),
        most,
    )


async def ask_all_first(tx: Tx) -> int:
    """The database was restored: what is open in it may have been sent, or ended, since. How many there are.

    What was not sent yet is asked about before anything else; what was sent counts as sent, now, so that no network is
    believed to have forgotten it before it had the time to find it.
    """
    rows = await tx.fetch(
        """
        UPDATE dispatches SET is_asked_first = (route IS NULL), due_at = now(), sent_at = now(), claim = NULL,
               next_act = CASE WHEN route IS NULL THEN 'send' ELSE 'ask' END,
               sends = CASE WHEN route IS NULL THEN sends ELSE greatest(sends, 1) END,
               asks = 0, not_founds = 0, not_indexed = 0
        WHERE NOT is_follow_up RETURNING 1
        """
    )
    return len(rows)


async def ask_first_what_came_late(tx: Tx) -> None:
    """A batch of new payments that was under way when the fence went up. Nobody has counted them as open then."""
    await tx.execute(
        f"""
        UPDATE dispatches SET is_asked_first = true, due_at = now(), sent_at = {installation.EPOCH_BEGAN_AT}
        WHERE route IS NULL AND sent_at IS NULL AND NOT is_asked_first
        """
    )


async def release_asked_first(tx: Tx, channel: str, type_: str) -> int:
    """Operators have looked at a channel whose network cannot be asked: what waits there goes. How many."""
    rows = await tx.fetch(
        """
        UPDATE dispatches SET is_asked_first = false, attention = NULL, due_at = now()
        WHERE is_asked_first AND route IS NULL AND channel = $1 AND type = $2 RETURNING 1
        """,
        channel,
        type_,
    )
    return len(rows)


async def find_asked_first(connection: Conn, keys: Collection[Key]) -> set[Key]:
    """Those of these payments whose network must be asked before anything else is done about them."""
    rows = await connection.fetch(
        """
        SELECT merchant_id, transaction_id FROM dispatches
        WHERE is_asked_first AND (merchant_id, transaction_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
        """,
        *_columns(keys),
    )
    return {(row["merchant_id"], row["transaction_id"]) for row in rows}


async def find_claimed(connection: Conn, claim: str) -> list[Subject]:
    """What was taken under a claim whose commit we did not hear of."""
    return await _subjects(
        connection,
        f"""
        {_SUBJECTS}
        WHERE d.claim = $1 AND d.next_act = 'sending'
        """,
        claim,
    )


async def claim_asks(tx: Tx, route: str, *, lease_seconds: float, most: int) -> list[Subject]:
    """Open payments that are due to be asked about, and ours to ask until the lease ends."""
    return await _claim_asks(tx, "NOT is_follow_up", route, lease_seconds, most)


async def claim_follow_ups(tx: Tx, route: str, *, lease_seconds: float, most: int) -> list[Subject]:
    """The same of payments that have ended. They yield to the open ones, so they are claimed after them."""
    return await _claim_asks(tx, "is_follow_up", route, lease_seconds, most)


async def _claim_asks(tx: Tx, which: str, route: str, lease_seconds: float, most: int) -> list[Subject]:
    return await _subjects(
        tx,
        f"""
        WITH due AS (
            SELECT merchant_id, transaction_id FROM dispatches
            WHERE route = $1 AND {which} AND next_act <> 'send' AND due_at <= now()
            ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED)
        UPDATE dispatches d SET due_at = now() + $2 * interval '1 second'
        FROM due JOIN transactions t ON t.merchant_id = due.merchant_id AND t.id = due.transaction_id
        WHERE d.merchant_id = due.merchant_id AND d.transaction_id = due.transaction_id
        RETURNING {COLUMNS}, {DISPATCH}
        """,
        route,
        float(lease_seconds),
        most,
    )


async def lock(tx: Tx, keys: Collection[NetworkKey]) -> dict[NetworkKey, Subject]:
    """The payments that networks know by these keys, held until the commit, in the order of their ids."""
    rows = await tx.fetch(
        f"""
        SELECT {COLUMNS} FROM transactions t
        WHERE (t.channel, t.network_key) IN (SELECT * FROM unnest($1::text[], $2::text[]))
        ORDER BY t.merchant_id, t.id FOR UPDATE
        """,
        [channel for channel, _ in keys],
        [key for _, key in keys],
    )
    found = {(row["merchant_id"], row["id"]): transaction_of(row) for row in rows}
    # In a statement of its own: joined to the first, it would be as it was before the lock was waited for.
    rows = await tx.fetch(
        f"""
        SELECT d.merchant_id, d.transaction_id, {DISPATCH} FROM dispatches d
        WHERE (d.merchant_id, d.transaction_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
        """,
        *_columns(found),
    )
    there = {(row["merchant_id"], row["transaction_id"]): dispatch_of(row) for row in rows}
    corrected = await corrections.find(tx, [key for key, each in found.items() if each.status.is_final])
    return {
        (each.channel, each.network_key): Subject(each, there.get(key), corrected.get(key))
        for key, each in found.items()
    }


class _Decided(msgspec.Struct, frozen=True):
    """A dispatch as it is written, and in how many seconds it is next due."""

    merchant_id: str
    transaction_id: str
    dispatch: Dispatch
    seconds: float | None


async def update(tx: Tx, decided: Sequence[tuple[Key, Dispatch, float | None]]) -> None:
    """Write where we stand, and in how many seconds it is next due (None: as it was)."""
    if not decided:
        return
    await tx.execute(
        """
        UPDATE dispatches d
        SET route = said.route, next_act = said.next_act, sends = said.sends, asks = said.asks,
            not_founds = said.not_founds, not_indexed = said.not_indexed, is_acknowledged = said.is_acknowledged,
            is_hinted = said.is_hinted, hint = said.hint, is_asked_first = said.is_asked_first,
            success_heard_at = CASE WHEN NOT said.is_success_heard THEN NULL
                                    WHEN said.success_seconds = 0 THEN clock_timestamp()
                                    ELSE d.success_heard_at END,
            attention = said.attention, sent_at = coalesce(d.sent_at, CASE WHEN said.sends > 0 THEN now() END),
            due_at = coalesce(now() + new.seconds * interval '1 second', d.due_at)
        FROM json_to_recordset($1) AS new (merchant_id text, transaction_id text, seconds float8, dispatch json),
             json_to_record(new.dispatch) AS said (
                 route text, next_act text, sends smallint, asks int, not_founds int, not_indexed int,
                 is_acknowledged boolean, is_hinted boolean, is_success_heard boolean, is_asked_first boolean,
                 success_seconds float8,
                 hint text, attention text)
        WHERE d.merchant_id = new.merchant_id AND d.transaction_id = new.transaction_id
        """,
        _encode([_Decided(*key, dispatch, seconds) for key, dispatch, seconds in decided]).decode(),
    )


async def follow_up(tx: Tx, ended: Sequence[tuple[Transaction, Dispatch, float]]) -> None:
    """Have networks asked about payments that have ended, in so many seconds."""
    if not ended:
        return
    await tx.execute(
        """
        INSERT INTO dispatches (merchant_id, transaction_id, channel, type, due_at, route, next_act, asks, is_hinted,
                                success_heard_at, is_follow_up, attention)
        SELECT merchant_id, transaction_id, channel, type, now() + seconds * interval '1 second', said.route, 'ask',
               said.asks, said.is_hinted, clock_timestamp() - said.success_seconds * interval '1 second', true,
               said.attention
        FROM json_to_recordset($1) AS new (
                 merchant_id text, transaction_id text, channel text, type text, seconds float8, dispatch json),
             json_to_record(new.dispatch) AS said (
                 route text, asks int, is_hinted boolean, success_seconds float8, attention text)
        ON CONFLICT DO NOTHING
        """,
        _encode(
            [
                {
                    "merchant_id": each.merchant_id,
                    "transaction_id": each.id,
                    "channel": each.channel,
                    "type": each.type,
                    "seconds": seconds,
                    "dispatch": dispatch,
                }
                for each, dispatch, seconds in ended
            ]
        ).decode(),
    )


async def clear_doubt(tx: Tx, key: Key) -> None:
    """Operators have decided what was in doubt about a payment that has ended."""
    await tx.execute(
        """
        UPDATE dispatches SET attention = NULL, success_heard_at = NULL
        WHERE merchant_id = $1 AND transaction_id = $2 AND is_follow_up
        """,
        *key,
    )


class OpenPayments(NamedTuple):
    """Open payments of one kind, and what is known of them."""

    channel: str
    type: str
    status: str
    is_asked_first: bool
    attention: str | None
    payments: int
    amount: int
    not_asked: int  # whose network has not answered since


async def find_open(connection: Conn) -> list[OpenPayments]:
    rows = await connection.fetch(
        """
        SELECT d.channel, d.type, t.status, d.is_asked_first, d.attention, count(*), sum(t.amount)::bigint,
               count(*) FILTER (WHERE d.asks = 0 AND (d.is_asked_first OR d.route IS NOT NULL))
        FROM dispatches d JOIN transactions t ON t.merchant_id = d.merchant_id AND t.id = d.transaction_id
        WHERE NOT d.is_follow_up GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
        """
    )
    return [OpenPayments(*row.values()) for row in rows]


def lining_up(created: str, derived: str) -> str:
    """Puts new payments in line to be sent, as a part of the statement that writes them.

    In the week after a restore a payment whose key is derived may be one that was sent before: it is asked about first.
    `derived` is a document of the ids of those.
    """
    return f"""
        INSERT INTO dispatches (merchant_id, transaction_id, channel, type, due_at, is_asked_first, sent_at)
        SELECT merchant_id, id, channel, type, now(), lost.since IS NOT NULL, lost.since
        FROM {created}
        LEFT JOIN (SELECT {installation.LOST_SINCE} AS since) lost
               ON {derived}::jsonb ? id AND NOT {installation.is_released("channel", "type")}
    """


def ending(keys: str) -> str:
    """Takes payments out of the line, as a part of a statement."""
    return f"""
        DELETE FROM dispatches d USING json_array_elements({keys}) AS done
        WHERE d.merchant_id = done ->> 0 AND d.transaction_id = done ->> 1
    """


async def delete(tx: Tx, keys: Collection[Key]) -> None:
    if keys:
        await tx.execute(ending("$1::json"), _encode([*keys]).decode())


async def _subjects(connection: Conn, query: str, *arguments: object) -> list[Subject]:
    return [Subject(transaction_of(row), dispatch_of(row)) for row in await connection.fetch(query, *arguments)]


def _columns(keys: Collection[Key]) -> tuple[list[str], list[str]]:
    return [merchant_id for merchant_id, _ in keys], [transaction_id for _, transaction_id in keys]


async def find_slow_payouts(
    connection: Conn, merchant_id: str, *, before: datetime, most: int
) -> list[tuple[str, datetime]]:
    """A merchant's payouts that were sent before a time and have not ended, and when each was, oldest first."""
    rows = await connection.fetch(
        """
        SELECT t.id, t.processing_at
        FROM dispatches d JOIN transactions t ON t.merchant_id = d.merchant_id AND t.id = d.transaction_id
        WHERE d.merchant_id = $1 AND d.transaction_id <= $2 AND d.type = 'DISBURSEMENT'
          AND t.status = 'PROCESSING' AND t.processing_at < $3
        ORDER BY d.transaction_id LIMIT $4
        """,
        merchant_id,
        ids.last_of("txn_", clock.milliseconds(before)),
        before,
        most,
    )
    return [(row["id"], row["processing_at"]) for row in rows]
