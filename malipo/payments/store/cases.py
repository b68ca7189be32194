"""Cases: payments that an operator must look at, and the proposals and resolutions of operators."""

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from malipo import ids
from malipo.db import Conn, Row, Tx
from malipo.networks.connector import Channel, Type
from malipo.payments.correction_moves import Change, Correction
from malipo.payments.dispatch import Dispatch
from malipo.payments.store import corrections
from malipo.payments.store.dispatches import DISPATCH, dispatch_of
from malipo.payments.store.transactions import COLUMNS, transaction_of
from malipo.payments.transaction import Transaction

AUTOMATIC = "malipo"  # who decided, where no operator had to


class Case(NamedTuple):
    transaction: Transaction
    dispatch: Dispatch | None
    correction: Correction | None
    is_contradicted: bool  # and operators have not decided about it yet
    is_sending: bool  # a request is on its way right now
    is_merchant_active: bool
    proposed: str | None  # the outcome that an operator has proposed


class Proposal(NamedTuple):
    id: str
    outcome: str
    evidence: str
    provider_reference: str | None
    requested_by: str
    is_of_contradiction: bool
    is_despite_waiting: bool
    is_waived: bool
    requested_at: datetime


_CASE = f"""
    {COLUMNS}, {DISPATCH}, {corrections.COLUMNS}, coalesce(c.is_open, false) AS is_contradicted,
    coalesce(d.next_action = 'sending' AND d.due_at > now(), false) AS is_sending,
    (SELECT m.is_active FROM merchants m WHERE m.id = t.merchant_id) AS is_merchant_active,
    r.outcome AS proposed
"""
_JOINED = """
    transactions t
    LEFT JOIN dispatches d ON d.merchant_id = t.merchant_id AND d.transaction_id = t.id
    LEFT JOIN corrections c ON c.merchant_id = t.merchant_id AND c.transaction_id = t.id
    LEFT JOIN resolutions r ON r.merchant_id = t.merchant_id AND r.transaction_id = t.id AND r.decided_at IS NULL
         AND r.is_of_contradiction = (t.ended_at IS NOT NULL)
"""


def _case_of(row: Row) -> Case:
    return Case(
        transaction_of(row),
        dispatch_of(row),
        corrections.correction_of(row),
        row["is_contradicted"],
        row["is_sending"],
        row["is_merchant_active"],
        row["proposed"],
    )


async def find_unsettled(
    connection: Conn, *, unsettled_seconds: float, unconnected: Collection[tuple[Channel, Type]] = ()
) -> list[Case]:
    """Payments with a reason for review, payments that are open for too long, and payouts that nobody sends: of closed
    merchants, and on channels that are not connected."""
    rows = await connection.fetch(
        f"""
        SELECT {_CASE} FROM {_JOINED}
        WHERE (t.merchant_id, t.id) IN (SELECT merchant_id, transaction_id FROM dispatches)
          AND (d.attention IS NOT NULL
               OR t.status = 'PROCESSING' AND t.processing_at < now() - $1 * interval '1 second'
               OR t.status = 'PENDING' AND t.type = 'DISBURSEMENT'
                  AND (EXISTS (SELECT FROM merchants m WHERE m.id = t.merchant_id AND NOT m.is_active)
                       OR t.channel = ANY($2::text[])))
        ORDER BY coalesce(t.processing_at, t.created_at)
        """,
        float(unsettled_seconds),
        [channel for channel, type_ in unconnected if type_ is Type.DISBURSEMENT],
    )
    return [_case_of(row) for row in rows]


async def find_contradicted(connection: Conn) -> list[Case]:
    """Payments that have ended and whose outcome is in doubt: by a contradiction of the network, or by a proposal."""
    rows = await connection.fetch(
        f"""
        SELECT {_CASE} FROM {_JOINED}
        WHERE (t.merchant_id, t.id) IN (
            SELECT merchant_id, transaction_id FROM corrections WHERE is_open UNION
            SELECT merchant_id, transaction_id FROM resolutions WHERE decided_at IS NULL AND is_of_contradiction)
          AND d.attention IS NULL
        ORDER BY t.ended_at
        """
    )
    return [_case_of(row) for row in rows]


async def lock(tx: Tx, id_or_reference: str) -> Case | None:
    """A payment that is open or was contradicted, by its id; any payment, by its reference; held until the commit."""
    key = await tx.fetchrow(
        """
        SELECT merchant_id, id FROM transactions WHERE reference = $1
        UNION SELECT merchant_id, transaction_id FROM dispatches WHERE transaction_id = $1
        UNION SELECT merchant_id, transaction_id FROM resolutions WHERE transaction_id = $1
        UNION SELECT merchant_id, transaction_id FROM corrections WHERE transaction_id = $1
        """,
        id_or_reference,
    )
    if key is None:
        return None
    # Locked first and read afterwards: the commit that the lock waited for may have changed the joined rows.
    await tx.execute("SELECT FROM transactions WHERE merchant_id = $1 AND id = $2 FOR UPDATE", *key.values())
    row = await tx.fetchrow(f"SELECT {_CASE} FROM {_JOINED} WHERE t.merchant_id = $1 AND t.id = $2", *key.values())
    assert row is not None
    return _case_of(row)


async def insert_proposal(tx: Tx, transaction: Transaction, proposal: Proposal) -> None:
    await tx.execute(
        """
        INSERT INTO resolutions (id, merchant_id, transaction_id, outcome, is_of_contradiction, evidence,
                                 provider_reference, requested_by, requested_at, is_despite_waiting, is_waived)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
        """,
        proposal.id,
        transaction.merchant_id,
        transaction.id,
        proposal.outcome,
        proposal.is_of_contradiction,
        proposal.evidence,
        proposal.provider_reference,
        proposal.requested_by,
        proposal.requested_at,
        proposal.is_despite_waiting,
        proposal.is_waived,
    )


async def insert_automatic(tx: Tx, transaction: Transaction, change: Change, *, now: datetime) -> None:
    """An automatic resolution is stored beside those of operators."""
    await tx.execute(
        """
        INSERT INTO resolutions (id, merchant_id, transaction_id, outcome, is_of_contradiction, evidence, requested_by,
                                 requested_at, decided_by, decided_at, is_approved, ordinal, credited, borne)
        VALUES ($1, $2, $3, 'completed', true, 'The network has confirmed it.', $4, $5, $4, $5, true, $6, $7, $8)
        """,
        ids.mint("res_", now),
        transaction.merchant_id,
        transaction.id,
        AUTOMATIC,
        now,
        change.correction.ordinal,
        change.credited,
        change.borne,
    )


async def find_proposal(tx: Tx, transaction: Transaction) -> Proposal | None:
    row = await tx.fetchrow(
        """
        SELECT id, outcome, evidence, provider_reference, requested_by, is_of_contradiction, is_despite_waiting,
               is_waived, requested_at
        FROM resolutions
        WHERE merchant_id = $1 AND transaction_id = $2 AND decided_at IS NULL FOR UPDATE
        """,
        transaction.merchant_id,
        transaction.id,
    )
    return None if row is None else Proposal(*row.values())


async def end_proposal(
    tx: Tx, proposal_id: str, *, decided_by: str, is_approved: bool, change: Change | None = None, now: datetime
) -> None:
    """Approve or reject it, with the change that it made, if any."""
    await tx.execute(
        """
        UPDATE resolutions
        SET decided_by = $2, decided_at = $3, is_approved = $4, ordinal = $5, credited = $6, borne = $7
        WHERE id = $1
        """,
        proposal_id,
        decided_by,
        now,
        is_approved,
        None if change is None else change.correction.ordinal,
        0 if change is None else change.credited,
        0 if change is None else change.borne,
    )
