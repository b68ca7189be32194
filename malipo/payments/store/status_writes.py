"""The SQL of the status writer: statuses with their moves of money, dispatches and events, each in one statement.

A round trip to the database costs more than most statements (decision 21), and the parts of these statements do not
depend on each other's results.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from malipo.db import Contention, Tx
from malipo.errors import ensure
from malipo.ledger.accounts import Posting
from malipo.ledger.store import wallets as ledger
from malipo.ledger.wallet import Wallet
from malipo.outbox import store as outbox
from malipo.outbox.store import PaymentEvent
from malipo.payments.store import dispatches, transactions
from malipo.payments.transaction import Status, Transaction

_encode = msgspec.json.Encoder().encode


def _if_new(document: str) -> str:
    """The document, or an empty one if not every transaction is new."""
    return f"CASE WHEN (SELECT are_new FROM looked) THEN {document}::json ELSE '[]' END"


_OPEN = f"""
    WITH created AS ({transactions.insert_transactions_sql("$1")}),
         looked AS (SELECT count(*) = json_array_length($1) AS are_new FROM created),
         queued AS ({dispatches.insert_dispatches_sql("created", "$6::jsonb ? id")}),
         moved AS ({ledger.insert_moves_sql(_if_new("$2"), "$5")}),
         updated AS ({ledger.update_wallets_sql(_if_new("$3"), "$5")}),
         inserted AS ({outbox.insert_events_sql(_if_new("$4"))})
    SELECT are_new FROM looked
"""

_MOVES_AND_EVENTS = f"""
    WITH moved AS ({ledger.insert_moves_sql("$1", "$4")}),
         updated AS ({ledger.update_wallets_sql("$2", "$4")})
    {outbox.insert_events_sql("$3")}
"""

_ADVANCE = f"""
    WITH ended AS ({dispatches.delete_dispatches_sql("$2")})
    UPDATE transactions t
    SET status = new.status, provider_reference = new.provider_reference, failure_code = new.failure_code,
        failure_reason = new.failure_reason, failure_detail = new.failure_detail, network_code = new.network_code,
        processing_at = new.processing_at, ended_at = new.ended_at
    FROM json_to_recordset($1) AS new (
        merchant_id text, id text, expected text, status text, provider_reference text, failure_code text,
        failure_reason text, failure_detail text, network_code text, processing_at timestamptz, ended_at timestamptz)
    WHERE t.merchant_id = new.merchant_id AND t.id = new.id AND t.status = new.expected
"""


class _StatusRow(msgspec.Struct, frozen=True):
    """A transaction as it is written when it has reached a status."""

    merchant_id: str
    id: str
    expected: Status
    status: Status
    provider_reference: str | None
    failure_code: str | None
    failure_reason: str | None
    failure_detail: str | None
    network_code: str | None
    processing_at: datetime | None
    ended_at: datetime | None


async def insert_opened(
    tx: Tx,
    opened: Sequence[Transaction],
    wallets: Mapping[str, Wallet],
    postings: Sequence[Posting],
    events: Sequence[PaymentEvent],
    *,
    now: datetime,
) -> None:
    """Write new payments, their dispatches, their moves and their events."""
    are_new = await tx.fetchval(
        _OPEN,
        transactions.document_of(opened),
        *ledger.documents_of(wallets, postings),
        outbox.document_of(events),
        now,
        _encode([each.id for each in opened if each.is_key_derived]).decode(),
    )
    if not are_new:
        # An earlier try, whose commit was not confirmed to us, was still committing when we looked for its payments.
        raise Contention("an earlier try has written some of these payments", in_doubt=True)


async def write_moves_and_events(
    tx: Tx, wallets: Mapping[str, Wallet], postings: Sequence[Posting], events: Sequence[PaymentEvent], *, now: datetime
) -> None:
    """Write the moves and events of payments that have reached a status or were corrected."""
    if postings or events:
        documents = ledger.documents_of(wallets, postings)
        await tx.execute(_MOVES_AND_EVENTS, *documents, outbox.document_of(events), now)


async def update_statuses(tx: Tx, steps: Sequence[tuple[Status, Transaction]]) -> None:
    """Write the next status of transactions that the caller has locked, and delete the dispatches of those that end."""
    reached = [
        _StatusRow(
            each.merchant_id,
            each.id,
            expected,
            each.status,
            each.provider_reference,
            each.failure_code,
            each.failure_reason,
            each.failure_detail,
            each.network_code,
            each.processing_at,
            each.ended_at,
        )
        for expected, each in steps
    ]
    ended = [(each.merchant_id, each.id) for _, each in steps if each.status.is_final]
    done = await tx.execute(_ADVANCE, _encode(reached).decode(), _encode(ended).decode())
    ensure(done == f"UPDATE {len(steps)}", "a locked row changed under us")
