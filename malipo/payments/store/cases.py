"""Cases: payments that an operator must look at, what is proposed about them, and the resolutions of operators."""

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

import msgspec

from malipo import ids
from malipo.approvals import store as proposals
from malipo.approvals.act_rules import RESOLUTIONS
from malipo.approvals.store import Proposal
from malipo.audit_log.actor import SYSTEM_NAME
from malipo.db import Conn, Row, Tx
from malipo.networks.connector import Channel, Type
from malipo.payments.correction_moves import Correction, CorrectionChange
from malipo.payments.dispatch import Dispatch
from malipo.payments.store import corrections
from malipo.payments.store.dispatches import DISPATCH, dispatch_of
from malipo.payments.store.transactions import COLUMNS, transaction_of
from malipo.payments.transaction import Transaction


class Case(NamedTuple):
    transaction: Transaction
    dispatch: Dispatch | None
    correction: Correction | None
    is_contradicted: bool  # and operators have not decided yet
    is_sending: bool  # a request is on its way right now
    is_merchant_active: bool
    is_retry: bool  # a payout that pays again one that failed
    proposed: str | None  # the outcome that an operator has proposed


class ResolutionTerms(msgspec.Struct, frozen=True, kw_only=True):
    """The terms of a proposal to resolve a payment; its evidence is stored beside them."""

    merchant_id: str
    outcome: str
    provider_reference: str | None = None
    is_of_contradiction: bool  # the payment has ended
    is_despite_waiting: bool = False
    is_waived: bool = False


class ProposedResolution(ResolutionTerms, frozen=True, kw_only=True):
    """An operator's finding about a payment, as it was proposed."""

    id: str
    evidence: str
    requested_by: str
    requested_at: datetime


_ACTS = ", ".join(f"'{act}'" for act in RESOLUTIONS)
_CASE = f"""
    {COLUMNS}, {DISPATCH}, {corrections.COLUMNS}, coalesce(c.is_open, false) AS is_contradicted,
    coalesce(d.next_action = 'sending' AND d.due_at > now(), false) AS is_sending,
    (SELECT m.is_active FROM merchants m WHERE m.id = t.merchant_id) AS is_merchant_active,
    EXISTS (SELECT FROM retries r WHERE r.merchant_id = t.merchant_id AND r.payout_id = t.id) AS is_retry,
    p.terms ->> 'outcome' AS proposed
"""
_JOINED = f"""
    transactions t
    LEFT JOIN dispatches d ON d.merchant_id = t.merchant_id AND d.transaction_id = t.id
    LEFT JOIN corrections c ON c.merchant_id = t.merchant_id AND c.transaction_id = t.id
    LEFT JOIN proposals p ON p.action IN ({_ACTS}) AND p.subject = t.id AND p.decided_at IS NULL
         AND (p.terms ->> 'is_of_contradiction')::boolean = (t.ended_at IS NOT NULL)
"""


def _case_of(row: Row) -> Case:
    return Case(
        transaction_of(row),
        dispatch_of(row),
        corrections.correction_of(row),
        row["is_contradicted"],
        row["is_sending"],
        row["is_merchant_active"],
        row["is_retry"],
        row["proposed"],
    )


async def find_unsettled(
    connection: Conn, *, unsettled_seconds: float, unconnected: Collection[tuple[Channel, Type]] = ()
) -> list[Case]:
    """The open cases: payments with a reason for review, payments that are open for too long, and payouts that nobody
    sends, because the merchant is closed or the channel is not connected."""
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
            SELECT terms ->> 'merchant_id', subject FROM proposals
            WHERE action IN ({_ACTS}) AND decided_at IS NULL AND (terms ->> 'is_of_contradiction')::boolean)
          AND d.attention IS NULL
        ORDER BY t.ended_at
        """
    )
    return [_case_of(row) for row in rows]


async def find(connection: Conn, id_or_reference: str) -> Case | None:
    """To look at it: by its id if it is open or was contradicted, by its reference in any case."""
    key = await _find_key(connection, id_or_reference)
    return None if key is None else await get(connection, *key)


async def lock(tx: Tx, id_or_reference: str) -> Case | None:
    """Lock the payment until the commit, to decide about it. It is found as by `find`."""
    key = await _find_key(tx, id_or_reference)
    if key is None:
        return None
    # Locked first and read afterwards, because the commit that the lock waited for may have changed the joined rows.
    await tx.execute("SELECT FROM transactions WHERE merchant_id = $1 AND id = $2 FOR UPDATE", *key)
    return await get(tx, *key)


async def _find_key(connection: Conn, id_or_reference: str) -> tuple[str, str] | None:
    row = await connection.fetchrow(
        f"""
        SELECT merchant_id, id FROM transactions WHERE reference = $1
        UNION SELECT merchant_id, transaction_id FROM dispatches WHERE transaction_id = $1
        UNION SELECT merchant_id, transaction_id FROM resolutions WHERE transaction_id = $1
        UNION SELECT merchant_id, transaction_id FROM corrections WHERE transaction_id = $1
        UNION SELECT terms ->> 'merchant_id', subject FROM proposals
              WHERE action IN ({_ACTS}) AND subject = $1 AND terms ? 'merchant_id'
        """,
        id_or_reference,
    )
    return None if row is None else (row["merchant_id"], row["id"])


async def get(connection: Conn, merchant_id: str, transaction_id: str) -> Case:
    row = await connection.fetchrow(
        f"SELECT {_CASE} FROM {_JOINED} WHERE t.merchant_id = $1 AND t.id = $2", merchant_id, transaction_id
    )
    assert row is not None
    return _case_of(row)


async def find_open_proposal(connection: Conn, transaction: Transaction) -> Proposal | None:
    """The open proposal about this payment, to look at it."""
    found = await proposals.find_of(connection, RESOLUTIONS, transaction.id)
    return next((each for each in found if each.decided_at is None), None)


async def lock_proposal(tx: Tx, transaction: Transaction) -> Proposal | None:
    """Lock the open proposal about this payment, which the caller has locked."""
    return next(iter(await proposals.lock_open(tx, RESOLUTIONS, transaction.id)), None)


async def find_proposal(tx: Tx, transaction: Transaction) -> ProposedResolution | None:
    found = await lock_proposal(tx, transaction)
    return None if found is None else proposed_resolution(found)


def proposed_resolution(proposal: Proposal) -> ProposedResolution:
    return ProposedResolution(
        id=proposal.id,
        evidence=proposal.reason,
        requested_by=proposal.requested_by,
        requested_at=proposal.requested_at,
        **msgspec.structs.asdict(proposal.terms_as(ResolutionTerms)),
    )


async def insert_resolution(
    tx: Tx,
    transaction: Transaction,
    resolution: ProposedResolution,
    change: CorrectionChange | None = None,
    *,
    decided_by: str,
    now: datetime,
) -> None:
    """Store a decision, with the change that it made, if any."""
    await tx.execute(
        """
        INSERT INTO resolutions (id, merchant_id, transaction_id, outcome, is_of_contradiction, evidence,
                                 provider_reference, requested_by, requested_at, is_despite_waiting, is_waived,
                                 decided_by, decided_at, is_approved, ordinal, credited, borne)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, true, $14, $15, $16)
        """,
        resolution.id,
        transaction.merchant_id,
        transaction.id,
        resolution.outcome,
        resolution.is_of_contradiction,
        resolution.evidence,
        resolution.provider_reference,
        resolution.requested_by,
        resolution.requested_at,
        resolution.is_despite_waiting,
        resolution.is_waived,
        decided_by,
        now,
        None if change is None else change.correction.ordinal,
        0 if change is None else change.credited,
        0 if change is None else change.borne,
    )


async def insert_automatic(tx: Tx, transaction: Transaction, change: CorrectionChange, *, now: datetime) -> None:
    """Store an automatic resolution, beside those of operators."""
    resolution = ProposedResolution(
        id=ids.mint("res_", now),
        merchant_id=transaction.merchant_id,
        outcome="completed",
        is_of_contradiction=True,
        evidence="The network has confirmed it.",
        requested_by=SYSTEM_NAME,
        requested_at=now,
    )
    await insert_resolution(tx, transaction, resolution, change, decided_by=SYSTEM_NAME, now=now)
