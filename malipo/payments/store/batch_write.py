"""Writes a batch: statuses with their money and events, in one statement each.

A round trip to the database costs more than most of what is asked in it (decision 21), and nothing here depends on the
answer to anything else here.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from malipo.db import Contention, Tx
from malipo.ledger.accounts import Posting, Wallet
from malipo.ledger.store import wallets as ledger
from malipo.outbox import store as outbox
from malipo.outbox.store import Fact
from malipo.payments.store import dispatches, transactions
from malipo.payments.transaction import Status, Transaction

_encode = msgspec.json.Encoder().encode


def _if_new(document: str) -> str:
    """Nothing, unless every transaction is new."""
    return f"CASE WHEN (SELECT are_new FROM looked) THEN {document}::json ELSE '[]' END"


_OPEN = f"""
    WITH created AS ({transactions.creating("$1")}),
         looked AS (SELECT count(*) = json_array_length($1) AS are_new FROM created),
         in_line AS ({dispatches.lining_up("created", "$6")}),
         moved AS ({ledger.moving(_if_new("$2"), "$5")}),
         followed AS ({ledger.following(_if_new("$3"), "$5")}),
         told AS ({outbox.telling(_if_new("$4"))})
    SELECT are_new FROM looked
"""

_TELL_AND_MOVE = f"""
    WITH moved AS ({ledger.moving("$1", "$4")}),
         followed AS ({ledger.following("$2", "$4")})
    {outbox.telling("$3")}
"""

_ADVANCE = f"""
    WITH ended AS ({dispatches.ending("$2")})
    UPDATE transactions t
    SET status = new.status, provider_reference = new.provider_reference, failure_code = new.failure_code,
        failure_reason = new.failure_reason, processing_at = new.processing_at, ended_at = new.ended_at
    FROM json_to_recordset($1) AS new (
        merchant_id text, id text, expected text, status text, provider_reference text, failure_code text,
        failure_reason text, processing_at timestamptz, ended_at timestamptz)
    WHERE t.merchant_id = new.merchant_id AND t.id = new.id AND t.status = new.expected
"""


class _Reached(msgspec.Struct, frozen=True):
    """A transaction as it is written when it has moved on."""

    merchant_id: str
    id: str
    expected: Status
    status: Status
    provider_reference: str | None
    failure_code: str | None
    failure_reason: str | None
    processing_at: datetime | None
    ended_at: datetime | None


async def open_all(
    tx: Tx,
    opened: Sequence[Transaction],
    wallets: Mapping[str, Wallet],
    postings: Sequence[Posting],
    facts: Sequence[Fact],
    *,
    now: datetime,
) -> None:
    """Write payments that begin, put them in line to be sent to their networks, move their money and tell of them."""
    are_new = await tx.fetchval(
        _OPEN,
        transactions.document_of(opened),
        *ledger.documents_of(wallets, postings),
        outbox.document_of(facts),
        now,
        _encode([each.id for each in opened if each.is_key_derived]).decode(),
    )
    if not are_new:
        # An earlier try, whose answer was lost, was still being committed when we looked for what it wrote.
        raise Contention("an earlier try has written some of these payments", in_doubt=True)


async def tell_and_move(
    tx: Tx, wallets: Mapping[str, Wallet], postings: Sequence[Posting], facts: Sequence[Fact], *, now: datetime
) -> None:
    """Move the money of payments that have gone on, and tell of them."""
    if postings or facts:
        documents = ledger.documents_of(wallets, postings)
        await tx.execute(_TELL_AND_MOVE, *documents, outbox.document_of(facts), now)


async def advance(tx: Tx, steps: Sequence[tuple[Status, Transaction]]) -> None:
    """Write the status of transactions that the caller has locked at the one before. What ends leaves the line."""
    reached = [
        _Reached(
            each.merchant_id,
            each.id,
            expected,
            each.status,
            each.provider_reference,
            each.failure_code,
            each.failure_reason,
            each.processing_at,
            each.ended_at,
        )
        for expected, each in steps
    ]
    ended = [(each.merchant_id, each.id) for _, each in steps if each.status.is_final]
    done = await tx.execute(_ADVANCE, _encode(reached).decode(), _encode(ended).decode())
    assert done == f"UPDATE {len(steps)}", "a locked row changed under us"
