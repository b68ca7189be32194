"""Dispatches: the work queue of open payments. Due times are by the database's clock."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import msgspec

from malipo.db import Conn, Row, Tx
from malipo.networks.connector import Channel, FailureCode, Type
from malipo.payments.correction_moves import Correction
from malipo.payments.dispatch import Dispatch, NextAction, ReviewReason
from malipo.payments.store import adopted_payments, corrections
from malipo.payments.store.adopted_payments import is_on_open_line_sql
from malipo.payments.store.carriers import carriers_sql, is_carrier_sql, note_carriers_sql
from malipo.payments.store.transactions import COLUMNS, Key, transaction_of
from malipo.payments.transaction import Transaction
from malipo.restore.high_water_mark import SendCount
from malipo.restore.state import WEEK_AFTER
from malipo.restore.store import installation, send_counts
from malipo.restore.store.send_counts import CountedBatch

NetworkKey = tuple[Channel, str]

_encode = msgspec.json.Encoder().encode

DISPATCH = f"""
    d.connector, d.next_action, d.send_count, d.query_count, d.not_found_count, d.not_indexed_count, d.is_acknowledged,
    d.is_hinted, d.success_heard_at IS NOT NULL AS is_success_reported, d.is_follow_up, d.is_asked_first,
    d.hinted_failure, d.attention, d.not_known_to,
    CASE WHEN d.is_asked_first THEN {carriers_sql("d")} ELSE '{{}}' END AS carriers,
    date_part('epoch', now() - d.sent_at) AS sent_seconds, date_part('epoch', now() - d.queued_at) AS queued_seconds,
    date_part('epoch', clock_timestamp() - d.success_heard_at) AS success_seconds
"""


SUBJECTS = f"""
    SELECT {COLUMNS}, {DISPATCH}
    FROM dispatches d JOIN transactions t ON t.merchant_id = d.merchant_id AND t.id = d.transaction_id
"""


class PaymentRecord(NamedTuple):
    """A transaction with its dispatch and its correction, if it has them."""

    transaction: Transaction
    dispatch: Dispatch | None
    correction: Correction | None = None
    adopted_receipts: tuple[str, ...] = ()  # of adopted collections like it, of which it may be a repeat


def dispatch_of(row: Row) -> Dispatch | None:
    if row["next_action"] is None:
        return None
    return Dispatch(
        connector=row["connector"],
        next_action=NextAction(row["next_action"]),
        send_count=row["send_count"],
        query_count=row["query_count"],
        not_found_count=row["not_found_count"],
        not_indexed_count=row["not_indexed_count"],
        is_acknowledged=row["is_acknowledged"],
        is_hinted=row["is_hinted"],
        is_success_reported=row["is_success_reported"],
        is_follow_up=row["is_follow_up"],
        is_asked_first=row["is_asked_first"],
        hinted_failure=None if row["hinted_failure"] is None else FailureCode(row["hinted_failure"]),
        attention=None if row["attention"] is None else ReviewReason(row["attention"]),
        not_known_to=tuple(row["not_known_to"]),
        carriers=tuple(row["carriers"]),
        sent_seconds=row["sent_seconds"],
        queued_seconds=row["queued_seconds"],
        success_seconds=row["success_seconds"],
    )


async def lock(tx: Tx, keys: Collection[NetworkKey]) -> dict[NetworkKey, PaymentRecord]:
    """The payments that networks know by these keys, held until the commit, in the order of their ids.

    Keys come as one document: for each length of an array PostgreSQL would plan anew (decision 51).
    """
    rows = await tx.fetch(
        f"""
        SELECT {COLUMNS}, {adopted_payments.receipts_of_adopted_sql("t")} AS adopted_receipts FROM transactions t
        WHERE (t.channel, t.network_key) IN (SELECT k ->> 0, k ->> 1 FROM json_array_elements($1) AS k)
        ORDER BY t.merchant_id, t.id FOR UPDATE
        """,
        _encode([*keys]).decode(),
    )
    found = {(row["merchant_id"], row["id"]): transaction_of(row) for row in rows}
    receipts = {(row["merchant_id"], row["id"]): tuple(row["adopted_receipts"]) for row in rows}
    # In a statement of its own: joined to the first, it would be as it was before the lock was granted.
    rows = await tx.fetch(
        f"""
        SELECT d.merchant_id, d.transaction_id, {DISPATCH} FROM dispatches d
        WHERE (d.merchant_id, d.transaction_id) IN (SELECT k ->> 0, k ->> 1 FROM json_array_elements($1) AS k)
        """,
        _encode([*found]).decode(),
    )
    there = {(row["merchant_id"], row["transaction_id"]): dispatch_of(row) for row in rows}
    corrected = await corrections.find(tx, [key for key, each in found.items() if each.status.is_final])
    # What its network reports of an adoption that was undone is about a payment that we do not have.
    undone = await adopted_payments.find_undone(tx, list(corrected)) if corrected else set()
    return {
        (each.channel, each.network_key): PaymentRecord(each, there.get(key), corrected.get(key), receipts[key])
        for key, each in found.items()
        if key not in undone
    }


class _DispatchRow(msgspec.Struct, frozen=True):
    """A dispatch as it is written, and in how many seconds it is next due."""

    merchant_id: str
    transaction_id: str
    dispatch: Dispatch
    seconds: float | None


async def update(tx: Tx, decided: Sequence[tuple[Key, Dispatch, float | None]]) -> None:
    """Write dispatches, and in how many seconds each is next due (None: unchanged)."""
    if not decided:
        return
    await tx.execute(
        """
        UPDATE dispatches d
        SET connector = said.connector, next_action = said.next_action, send_count = said.send_count,
            query_count = said.query_count, not_found_count = said.not_found_count,
            not_indexed_count = said.not_indexed_count, is_acknowledged = said.is_acknowledged,
            is_hinted = said.is_hinted, hinted_failure = said.hinted_failure, is_asked_first = said.is_asked_first,
            success_heard_at = CASE WHEN NOT said.is_success_reported THEN NULL
                                    WHEN said.success_seconds = 0 THEN clock_timestamp()
                                    ELSE d.success_heard_at END,
            not_known_to = said.not_known_to, attention = said.attention,
            sent_at = coalesce(d.sent_at, CASE WHEN said.send_count > 0 THEN now() END),
            due_at = coalesce(now() + new.seconds * interval '1 second', d.due_at)
        FROM json_to_recordset($1) AS new (merchant_id text, transaction_id text, seconds float8, dispatch json),
             json_to_record(new.dispatch) AS said (
                 connector text, next_action text, send_count smallint, query_count int, not_found_count int,
                 not_indexed_count int, is_acknowledged boolean, is_hinted boolean, is_success_reported boolean,
                 is_asked_first boolean, success_seconds float8, hinted_failure text, attention text,
                 not_known_to text[])
        WHERE d.merchant_id = new.merchant_id AND d.transaction_id = new.transaction_id
        """,
        _encode([_DispatchRow(*key, dispatch, seconds) for key, dispatch, seconds in decided]).decode(),
    )


async def follow_up(tx: Tx, ended: Sequence[tuple[Transaction, Dispatch, float]]) -> None:
    """Have networks queried about payments that have ended, each in so many seconds."""
    if not ended:
        return
    await tx.execute(
        """
        INSERT INTO dispatches (merchant_id, transaction_id, channel, type, due_at, connector, next_action, query_count,
                                is_hinted, success_heard_at, is_follow_up, attention)
        SELECT merchant_id, transaction_id, channel, type, now() + seconds * interval '1 second', said.connector, 'ask',
               said.query_count, said.is_hinted, clock_timestamp() - said.success_seconds * interval '1 second', true,
               said.attention
        FROM json_to_recordset($1) AS new (
                 merchant_id text, transaction_id text, channel text, type text, seconds float8, dispatch json),
             json_to_record(new.dispatch) AS said (
                 connector text, query_count int, is_hinted boolean, success_seconds float8, attention text)
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
    """Operators have resolved a payment that has ended: nothing is left to review."""
    await tx.execute(
        """
        UPDATE dispatches SET attention = NULL, success_heard_at = NULL
        WHERE merchant_id = $1 AND transaction_id = $2 AND is_follow_up
        """,
        *key,
    )


def insert_dispatches_sql(created: str, is_derived: str) -> str:
    """Queues new payments for sending, as a part of the statement that inserts them.

    In the week after a restore a payment whose key is derived may have been sent before: its network is queried first.
    `is_derived` is a condition. Later than that, too, if its key is as old as a batch or a collection
    from before the restore: it may be approved, or refunded, after months. A lost collection may have been repeated in
    that week, or adopted later, and its lost refund has the same key. Operators who release a channel have compared
    what waited then: not what is approved, or refunded, later. A payment whose key is on a line of a statement was
    paid: it waits until the line is matched with it. A payout like one that was adopted waits for operators. Of
    neither is anything due.
    """
    batch = f"""(SELECT b.created_at FROM batches b
                 WHERE b.merchant_id = {created}.merchant_id AND b.id = {created}.batch_id)"""
    collection = f"""(SELECT CASE WHEN a.line_id IS NULL THEN c.created_at ELSE '-infinity' END FROM transactions c
                      LEFT JOIN adopted_payments a ON a.merchant_id = c.merchant_id AND a.transaction_id = c.id
                      WHERE c.merchant_id = {created}.merchant_id AND c.id = {created}.refund_of)"""
    lost_with_collection = installation.lost_since_if(collection, within=WEEK_AFTER)
    return f"""
        INSERT INTO dispatches (merchant_id, transaction_id, channel, type, due_at, is_asked_first, sent_at, batch_id,
                                attention)
        SELECT merchant_id, id, channel, type,
               CASE WHEN held.yes OR paid.yes THEN now() + interval '100 years' ELSE now() END,
               held.yes OR paid.yes OR lost.since IS NOT NULL,
               CASE WHEN paid.yes THEN {installation.EPOCH_BEGAN_AT} ELSE lost.since END, batch_id,
               CASE WHEN paid.yes THEN '{ReviewReason.RESTORED}'
                    WHEN held.yes THEN '{ReviewReason.RESEMBLES_ADOPTED}' END
        FROM {created}
        LEFT JOIN LATERAL (SELECT coalesce(
            CASE WHEN NOT {installation.is_released("channel", "type")} THEN {installation.LOST_SINCE} END,
            CASE WHEN {created}.batch_id IS NOT NULL THEN {installation.lost_since_if(batch)} END,
            CASE WHEN {created}.refund_of IS NOT NULL THEN {lost_with_collection} END) AS since) lost
               ON {is_derived}
        CROSS JOIN LATERAL (SELECT {adopted_payments.is_like_adopted_sql(created)} AS yes) held
        CROSS JOIN LATERAL (SELECT CASE WHEN {installation.WAS_RESTORED} AND {is_derived}
            THEN {adopted_payments.is_on_open_line_sql(f"{created}.network_key")} ELSE false END AS yes) paid
    """


def delete_dispatches_sql(keys: str) -> str:
    """Takes payments out of the queue, as a part of a statement."""
    return f"""
        DELETE FROM dispatches d USING json_array_elements({keys}) AS done
        WHERE d.merchant_id = done ->> 0 AND d.transaction_id = done ->> 1
    """


async def delete(tx: Tx, keys: Collection[Key]) -> None:
    if keys:
        await tx.execute(delete_dispatches_sql("$1::json"), _encode([*keys]).decode())


async def release_held(tx: Tx, key: Key) -> None:
    """Operators decided that it is another payment than the adopted one. In the week after a restore its network is
    still queried first."""
    await tx.execute(
        f"""
        UPDATE dispatches SET attention = NULL, due_at = now(), is_asked_first = sent_at IS NOT NULL
        WHERE merchant_id = $1 AND transaction_id = $2 AND attention = '{ReviewReason.RESEMBLES_ADOPTED}'
        """,
        *key,
    )


async def find_subjects(connection: Conn, query: str, *arguments: object) -> list[PaymentRecord]:
    return [PaymentRecord(transaction_of(row), dispatch_of(row)) for row in await connection.fetch(query, *arguments)]


def columns_of(keys: Collection[Key]) -> tuple[list[str], list[str]]:
    return [merchant_id for merchant_id, _ in keys], [transaction_id for _, transaction_id in keys]


# Claims of workers on the work queue: payments to send, to query, or to end because they lapsed.
#
# A claim never waits for a lock: rows that another worker has locked are skipped.


# There is no hold and no fence, the database was compared, and it need not be queried first.
_MAY_BE_SENT = f"""
    {send_counts.IS_COMPARED} AND NOT {installation.IS_CLOSED}
    AND NOT {installation.is_held("d.channel", "d.type")} AND NOT d.is_asked_first
"""
_MAY_LAPSE = f"{send_counts.IS_COMPARED} AND NOT {installation.IS_FENCED}"


class Due(NamedTuple):
    """For which channels and connectors something is due."""

    channels: list[str]  # of payments that wait to be sent for the first time
    to_send_again: list[str]
    to_query: list[str]


async def find_due(connection: Conn, routes: Collection[tuple[Channel, Type]], connectors: Collection[str]) -> Due:
    """Whether it may be claimed is not looked at. Whoever must be queried first may be any connector's."""
    row = await connection.fetchrow(
        """
        SELECT ARRAY(SELECT DISTINCT channel FROM unnest($1::text[], $2::text[]) AS route (channel, type)
                     WHERE EXISTS (SELECT FROM dispatches d WHERE d.channel = route.channel AND d.type = route.type
                                   AND d.connector IS NULL AND d.due_at <= now())),
               ARRAY(SELECT name FROM unnest($3::text[]) AS name
                     WHERE EXISTS (SELECT FROM dispatches WHERE connector = name AND NOT is_follow_up
                                   AND due_at <= now() AND next_action = 'send')),
               ARRAY(SELECT name FROM unnest($3::text[]) AS name
                     WHERE EXISTS (SELECT FROM dispatches WHERE connector = name AND NOT is_follow_up
                                   AND due_at <= now() AND next_action <> 'send')
                        OR EXISTS (SELECT FROM dispatches WHERE connector = name AND is_follow_up
                                   AND due_at <= now())
                        OR EXISTS (SELECT FROM dispatches WHERE is_asked_first AND connector IS NULL
                                   AND due_at <= now()))
        """,
        [channel for channel, _ in routes],
        [type_ for _, type_ in routes],
        [*connectors],
    )
    assert row is not None
    return Due(*row.values())


async def claim_new(tx: Tx, channel: Channel, type_: Type, *, most: int) -> list[PaymentRecord]:
    """The payments that have waited longest, held until the commit. A closed merchant's payouts are left waiting.

    Those of batches are claimed apart.
    """
    return await find_subjects(
        tx,
        f"""
        {SUBJECTS}
        WHERE d.channel = $1 AND d.type = $2 AND d.connector IS NULL AND d.batch_id IS NULL AND d.due_at <= now()
          AND {_MAY_BE_SENT}
          AND (d.type = 'COLLECTION' OR EXISTS (SELECT FROM merchants m WHERE m.id = d.merchant_id AND m.is_active))
        ORDER BY d.due_at LIMIT $3 FOR UPDATE OF d, t SKIP LOCKED
        """,
        channel,
        type_,
        most,
    )


async def claim_of_batches(tx: Tx, channels: Collection[Channel], *, most: int) -> list[PaymentRecord]:
    """Payouts of batches, held until the commit: first the one that has waited longest of each batch and channel, then
    the second of each. So a large batch does not block a small one."""
    return await find_subjects(
        tx,
        f"""
        SELECT * FROM (
            SELECT waiting.*, row_number() OVER (PARTITION BY b.merchant_id, b.id, asked.channel
                                                  ORDER BY waiting.id) AS place
            FROM batches b CROSS JOIN unnest($1::text[]) AS asked (channel)
            CROSS JOIN LATERAL (
                {SUBJECTS}
                WHERE d.merchant_id = b.merchant_id AND d.batch_id = b.id AND d.channel = asked.channel
                  AND d.connector IS NULL AND d.due_at <= now() AND {_MAY_BE_SENT}
                ORDER BY d.due_at, d.transaction_id LIMIT $2 FOR UPDATE OF d, t SKIP LOCKED) waiting
            WHERE b.status = 'RUNNING' AND EXISTS (SELECT FROM merchants m WHERE m.id = b.merchant_id AND m.is_active)
        ) found ORDER BY place, id LIMIT $2
        """,
        list(channels),
        most,
    )


async def claim_unsent(tx: Tx, connector: str, *, most: int) -> list[PaymentRecord]:
    """Payments of which the network provably has nothing, and which may therefore be sent again."""
    return await find_subjects(
        tx,
        f"""
        {SUBJECTS}
        WHERE d.connector = $1 AND d.next_action = 'send' AND d.due_at <= now() AND {_MAY_BE_SENT}
          AND (d.type = 'COLLECTION' OR EXISTS (SELECT FROM merchants m WHERE m.id = d.merchant_id AND m.is_active))
        ORDER BY d.due_at LIMIT $2 FOR UPDATE OF d, t SKIP LOCKED
        """,
        connector,
        most,
    )


async def claim_lapsed(tx: Tx, channel: Channel, *, lapse_seconds: float, most: int) -> list[PaymentRecord]:
    """Collections that no worker has claimed in time, because their network is down or not connected."""
    return await find_subjects(
        tx,
        f"""
        {SUBJECTS}
        WHERE d.channel = $1 AND d.type = 'COLLECTION' AND d.connector IS NULL
          AND d.due_at <= now() - $2 * interval '1 second' AND d.queued_at <= now() - $2 * interval '1 second'
          AND NOT d.is_asked_first AND {_MAY_LAPSE}
        ORDER BY d.due_at LIMIT $3 FOR UPDATE OF d, t SKIP LOCKED
        """,
        channel,
        float(lapse_seconds),
        most,
    )


async def claim_lapsed_unsent(tx: Tx, connector: str, *, lapse_seconds: float, most: int) -> list[PaymentRecord]:
    """Collections that were claimed, and of which provably nothing was sent in time."""
    return await find_subjects(
        tx,
        f"""
        {SUBJECTS}
        WHERE d.connector = $1 AND d.type = 'COLLECTION' AND d.next_action = 'send' AND d.send_count = 0
          AND d.success_heard_at IS NULL AND d.queued_at <= now() - $2 * interval '1 second'
          AND {_MAY_LAPSE}
        ORDER BY d.due_at LIMIT $3 FOR UPDATE OF d, t SKIP LOCKED
        """,
        connector,
        float(lapse_seconds),
        most,
    )


async def claim_unconnected_payouts(
    tx: Tx, channel: Channel, *, lapse_seconds: float, most: int
) -> list[PaymentRecord]:
    """Payouts that no worker has ever claimed, and that could be sent if a network was connected. What is held, belongs
    to a closed merchant, or may have been sent before a restore is left waiting."""
    return await find_subjects(
        tx,
        f"""
        {SUBJECTS}
        WHERE d.channel = $1 AND d.type = 'DISBURSEMENT' AND d.connector IS NULL AND d.send_count = 0
          AND d.success_heard_at IS NULL AND d.attention IS NULL AND t.status = 'PENDING'
          AND d.due_at <= now() - $2 * interval '1 second' AND d.queued_at <= now() - $2 * interval '1 second'
          AND {_MAY_BE_SENT} AND {_MAY_LAPSE}
          AND EXISTS (SELECT FROM merchants m WHERE m.id = d.merchant_id AND m.is_active)
        ORDER BY d.due_at LIMIT $3 FOR UPDATE OF d, t SKIP LOCKED
        """,
        channel,
        float(lapse_seconds),
        most,
    )


async def take(
    tx: Tx, keys: Collection[Key], *, connector: str, claim_id: str, lease_seconds: float, worker_id: str
) -> CountedBatch | None:
    """From here on they are being sent: after the lease the network must be queried first.

    Returns how many batches of sends there were, with this one; None if the worker is not registered.
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
    """Nothing of this claim was sent. What was fenced meanwhile belongs to no claim any more, and is queried."""
    await tx.execute(
        """
        UPDATE dispatches SET next_action = 'send', send_count = send_count - 1, claim_id = NULL, due_at = now()
        WHERE claim_id = $1 AND next_action = 'sending'
        """,
        claim_id,
    )


async def find_claimed(connection: Conn, claim_id: str) -> list[PaymentRecord]:
    """What was claimed by a commit that was not confirmed to us."""
    return await find_subjects(
        connection,
        f"""
        {SUBJECTS}
        WHERE d.claim_id = $1 AND d.next_action = 'sending'
        """,
        claim_id,
    )


async def claim_queries(tx: Tx, connector: str, *, lease_seconds: float, most: int) -> list[PaymentRecord]:
    """Open payments whose query is due. They are claimed until the lease ends."""
    return await _claim_queries(tx, "NOT is_follow_up", connector, lease_seconds, most)


async def claim_follow_ups(tx: Tx, connector: str, *, lease_seconds: float, most: int) -> list[PaymentRecord]:
    """The same for payments that have ended. Open ones have priority, so these are claimed after them."""
    return await _claim_queries(tx, "is_follow_up", connector, lease_seconds, most)


async def _claim_queries(tx: Tx, which: str, connector: str, lease_seconds: float, most: int) -> list[PaymentRecord]:
    return await find_subjects(
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


# Dispatches after a restore: open payments whose network must be queried first.


# Of a fenced installation: committed after the fence, which marks all that it finds.
_CAME_LATE = "connector IS NULL AND sent_at IS NULL AND NOT is_asked_first"


async def claim_asked_first(
    tx: Tx, connector: str, pairs: Collection[tuple[Channel, Type]], *, lease_seconds: float, most: int
) -> list[PaymentRecord]:
    """Payments that were not sent, as far as we know, and whose network must be queried before they are sent.

    A connector is asked about what it carries now (`pairs`), and what it carried when the database was lost, unless it
    has answered that it does not have the payment.
    """
    return await find_subjects(
        tx,
        f"""
        WITH due AS (
            SELECT merchant_id, transaction_id FROM dispatches q
            WHERE is_asked_first AND connector IS NULL AND due_at <= now() AND $1 <> ALL(not_known_to)
              AND ((channel, type) IN (SELECT * FROM unnest($2::text[], $3::text[])) OR {is_carrier_sql("$1", "q")})
            ORDER BY due_at LIMIT $5 FOR UPDATE SKIP LOCKED)
        UPDATE dispatches d SET due_at = now() + $4 * interval '1 second'
        FROM due JOIN transactions t ON t.merchant_id = due.merchant_id AND t.id = due.transaction_id
        WHERE d.merchant_id = due.merchant_id AND d.transaction_id = due.transaction_id
        RETURNING {COLUMNS}, {DISPATCH}
        """,
        connector,
        [channel for channel, _ in pairs],
        [type_ for _, type_ in pairs],
        float(lease_seconds),
        most,
    )


async def ask_all_first(tx: Tx) -> int:
    """The database was restored: open payments may have been sent, or ended, since. Returns how many there are.

    A payment that was not sent yet is queried first. One that was sent counts as sent now, so that "not found" is not
    believed before the network had the time to find it.
    """
    rows = await tx.fetch(
        """
        UPDATE dispatches SET is_asked_first = (connector IS NULL), sent_at = now(), claim_id = NULL,
               due_at = CASE WHEN attention = 'resembles_adopted' THEN due_at ELSE now() END,
               next_action = CASE WHEN connector IS NULL THEN 'send' ELSE 'ask' END,
               send_count = CASE WHEN connector IS NULL THEN send_count ELSE greatest(send_count, 1) END,
               query_count = 0, not_found_count = 0, not_indexed_count = 0, not_known_to = '{}'
        WHERE NOT is_follow_up RETURNING 1
        """
    )
    return len(rows)


async def ask_first_what_came_late(tx: Tx) -> None:
    """A batch of new payments that was being committed when the fence began, and was not among the open ones."""
    await tx.execute(
        f"""
        UPDATE dispatches SET is_asked_first = true, due_at = now(), sent_at = {installation.EPOCH_BEGAN_AT}
        WHERE {_CAME_LATE}
        """
    )


async def release_asked_first(tx: Tx, channel: str, type_: str) -> int:
    """Operators release a channel without a query: its waiting payments may be sent, unless a line of a statement shows
    that they were paid. Returns how many."""
    rows = await tx.fetch(
        f"""
        UPDATE dispatches d SET is_asked_first = false, attention = NULL, due_at = now()
        FROM transactions t
        WHERE t.merchant_id = d.merchant_id AND t.id = d.transaction_id AND d.is_asked_first AND d.connector IS NULL
          AND d.channel = $1 AND d.type = $2 AND d.attention IS DISTINCT FROM 'resembles_adopted'
          AND NOT {is_on_open_line_sql("t.network_key")}
        RETURNING 1
        """,
        channel,
        type_,
    )
    return len(rows)


async def find_asked_first(connection: Conn, keys: Collection[Key]) -> set[Key]:
    """Those of these payments whose network must be queried first."""
    rows = await connection.fetch(
        """
        SELECT merchant_id, transaction_id FROM dispatches
        WHERE is_asked_first AND (merchant_id, transaction_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
        """,
        *columns_of(keys),
    )
    return {(row["merchant_id"], row["transaction_id"]) for row in rows}


class OpenPayments(NamedTuple):
    """How many open payments there are of one kind, and their amount."""

    channel: str
    type: str
    status: str
    is_asked_first: bool
    attention: str | None
    payments: int
    amount: int
    not_asked: int  # whose network has not answered since the restore


async def find_open(connection: Conn) -> list[OpenPayments]:
    """A payment that came late counts as asked first already: the release makes it so (ask_first_what_came_late)."""
    rows = await connection.fetch(
        f"""
        SELECT d.channel, d.type, t.status, d.asked_first, d.attention, count(*), sum(t.amount)::bigint,
               count(*) FILTER (WHERE d.query_count = 0 AND (d.asked_first OR d.connector IS NOT NULL))
        FROM (SELECT *, is_asked_first OR ({_CAME_LATE} AND {installation.IS_FENCED}) AS asked_first
              FROM dispatches) d
        JOIN transactions t ON t.merchant_id = d.merchant_id AND t.id = d.transaction_id
        WHERE NOT d.is_follow_up GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
        """
    )
    return [OpenPayments(*row.values()) for row in rows]
