"""Dispatches: the work queue of open payments. Due times are by the database's clock."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import msgspec

from malipo.db import Conn, Row, Tx
from malipo.networks.connector import Channel, FailureCode
from malipo.payments.correction_moves import Correction
from malipo.payments.dispatch import Dispatch, NextAction, ReviewReason
from malipo.payments.store import adopted_payments, corrections
from malipo.payments.store.carriers import carriers_sql
from malipo.payments.store.transactions import COLUMNS, Key, transaction_of
from malipo.payments.transaction import Transaction
from malipo.restore.installation import WEEK_AFTER
from malipo.restore.store import installation

NetworkKey = tuple[Channel, str]

_encode = msgspec.json.Encoder().encode

DISPATCH = f"""
    d.connector, d.next_action, d.send_count, d.query_count, d.not_found_count, d.not_indexed_count, d.is_acknowledged,
    d.is_hinted, d.success_heard_at IS NOT NULL AS is_success_reported, d.is_follow_up, d.is_asked_first,
    d.hinted_failure, d.attention, d.not_known_to,
    CASE WHEN d.is_asked_first THEN {carriers_sql("d")} ELSE '{{}}' END AS carriers,
    date_part('epoch', now() - d.sent_at) AS sent_seconds_ago,
    date_part('epoch', now() - d.queued_at) AS queued_seconds_ago,
    date_part('epoch', clock_timestamp() - d.success_heard_at) AS success_seconds_ago
"""


RECORDS = f"""
    SELECT {COLUMNS}, {DISPATCH}
    FROM dispatches d JOIN transactions t ON t.merchant_id = d.merchant_id AND t.id = d.transaction_id
"""


class PaymentRecord(NamedTuple):
    """A transaction with its dispatch and its correction, if it has them."""

    transaction: Transaction
    dispatch: Dispatch | None
    correction: Correction | None = None
    adopted_receipts: tuple[str, ...] = ()  # of the adopted collections that it may repeat


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
        review_reason=None if row["attention"] is None else ReviewReason(row["attention"]),
        not_known_to=tuple(row["not_known_to"]),
        carriers=tuple(row["carriers"]),
        sent_seconds_ago=row["sent_seconds_ago"],
        queued_seconds_ago=row["queued_seconds_ago"],
        success_seconds_ago=row["success_seconds_ago"],
    )


async def lock(tx: Tx, keys: Collection[NetworkKey]) -> dict[NetworkKey, PaymentRecord]:
    """Lock the payments that networks know by these keys until the commit, in the order of their ids.

    The keys are one JSON document, because PostgreSQL would plan anew for each length of an array (decision 51).
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
    # A second statement reads them, because the first one sees the rows as they were before it got the locks.
    rows = await tx.fetch(
        f"""
        SELECT d.merchant_id, d.transaction_id, {DISPATCH} FROM dispatches d
        WHERE (d.merchant_id, d.transaction_id) IN (SELECT k ->> 0, k ->> 1 FROM json_array_elements($1) AS k)
        """,
        _encode([*found]).decode(),
    )
    there = {(row["merchant_id"], row["transaction_id"]): dispatch_of(row) for row in rows}
    corrected = await corrections.find(tx, [key for key, each in found.items() if each.status.is_final])
    # A report about an adoption that was undone is about a payment that we do not have.
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
                                    WHEN said.success_seconds_ago = 0 THEN clock_timestamp()
                                    ELSE d.success_heard_at END,
            not_known_to = said.not_known_to, attention = said.attention,
            sent_at = coalesce(d.sent_at, CASE WHEN said.send_count > 0 THEN now() END),
            due_at = coalesce(now() + new.seconds * interval '1 second', d.due_at)
        FROM json_to_recordset($1) AS new (merchant_id text, transaction_id text, seconds float8, dispatch json),
             json_to_record(new.dispatch) AS said (
                 connector text, next_action text, send_count smallint, query_count int, not_found_count int,
                 not_indexed_count int, is_acknowledged boolean, is_hinted boolean, is_success_reported boolean,
                 is_asked_first boolean, success_seconds_ago float8, hinted_failure text, attention text,
                 not_known_to text[])
        WHERE d.merchant_id = new.merchant_id AND d.transaction_id = new.transaction_id
        """,
        _encode([_DispatchRow(*key, dispatch, seconds) for key, dispatch, seconds in decided]).decode(),
    )


async def follow_up(tx: Tx, ended: Sequence[tuple[Transaction, Dispatch, float]]) -> None:
    """Have payments that have ended queried, each in so many seconds."""
    if not ended:
        return
    await tx.execute(
        """
        INSERT INTO dispatches (merchant_id, transaction_id, channel, type, due_at, connector, next_action, query_count,
                                is_hinted, success_heard_at, is_follow_up, attention)
        SELECT merchant_id, transaction_id, channel, type, now() + seconds * interval '1 second', said.connector, 'ask',
               said.query_count, said.is_hinted,
               clock_timestamp() - said.success_seconds_ago * interval '1 second', true, said.attention
        FROM json_to_recordset($1) AS new (
                 merchant_id text, transaction_id text, channel text, type text, seconds float8, dispatch json),
             json_to_record(new.dispatch) AS said (
                 connector text, query_count int, is_hinted boolean, success_seconds_ago float8, attention text)
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


async def clear_review_reason(tx: Tx, key: Key) -> None:
    """Clear the reason for review of a payment that has ended, because operators have resolved it."""
    await tx.execute(
        """
        UPDATE dispatches SET attention = NULL, success_heard_at = NULL
        WHERE merchant_id = $1 AND transaction_id = $2 AND is_follow_up
        """,
        *key,
    )


def insert_dispatches_sql(created: str, is_derived: str) -> str:
    """Queues new payments for sending, as a part of the statement that inserts them.

    A payment whose network key is derived from its request (`is_derived`, a condition) may have been sent before a
    restore that lost it:

        in the week after a restore             its network is queried first, unless operators have released the channel
        of a batch from before the restore      queried first, whenever the batch is approved
        refund of a collection from before      queried first, whenever it is asked for; also if the collection was
        it, or adopted                          repeated in that week, because the lost refund had the same key
        its key is on a line of a statement     it was paid: nothing is due until the line is matched with it
        a payout like one that was adopted      nothing is due until operators decide, also if its key is not derived

    A release covers only the payments that waited when operators compared them: no batch or refund that comes later.
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
               CASE WHEN paid.yes THEN 'restored'
                    WHEN held.yes THEN 'resembles_adopted' END
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


async def release_resembling_adopted(tx: Tx, key: Key) -> None:
    """Let a payout be sent: operators decided that it is not the adopted payment which it resembles. In the week after
    a restore its network is still queried first."""
    await tx.execute(
        """
        UPDATE dispatches SET attention = NULL, due_at = now(), is_asked_first = sent_at IS NOT NULL
        WHERE merchant_id = $1 AND transaction_id = $2 AND attention = 'resembles_adopted'
        """,
        *key,
    )


async def find_records(connection: Conn, query: str, *arguments: object) -> list[PaymentRecord]:
    return [PaymentRecord(transaction_of(row), dispatch_of(row)) for row in await connection.fetch(query, *arguments)]


def columns_of(keys: Collection[Key]) -> tuple[list[str], list[str]]:
    return [merchant_id for merchant_id, _ in keys], [transaction_id for _, transaction_id in keys]
