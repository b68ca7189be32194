"""Cases: payments that an operator must look at, and what operators have said of them."""

from datetime import datetime
from typing import NamedTuple

from malipo.db import Conn, Row, Tx
from malipo.ledger.entry import Step
from malipo.payments.pursuit import Dispatch
from malipo.payments.store.dispatches import DISPATCH, dispatch_of
from malipo.payments.store.transactions import COLUMNS, transaction_of
from malipo.payments.transaction import Transaction


class Case(NamedTuple):
    transaction: Transaction
    dispatch: Dispatch | None
    is_contradicted: bool  # and nobody has cleared it up
    is_sending: bool  # a request is on its way right now
    proposed: str | None  # what somebody says became of it


class Proposal(NamedTuple):
    id: str
    outcome: str
    evidence: str
    provider_reference: str | None
    proposed_by: str
    is_of_contradiction: bool
    proposed_at: datetime


_CONTRADICTED = """
    SELECT merchant_id, cause_id FROM moves m WHERE step = 'contradiction' AND NOT EXISTS (
        SELECT FROM moves n
        WHERE n.merchant_id = m.merchant_id AND n.cause_id = m.cause_id AND n.step = 'resolution')
"""
_CASE = f"""
    {COLUMNS}, {DISPATCH}, (t.merchant_id, t.id) IN ({_CONTRADICTED}) AS is_contradicted,
    coalesce(d.next_act = 'sending' AND d.due_at > now(), false) AS is_sending,
    r.outcome AS proposed
"""
_JOINED = """
    transactions t
    LEFT JOIN dispatches d ON d.merchant_id = t.merchant_id AND d.transaction_id = t.id
    LEFT JOIN resolutions r ON r.merchant_id = t.merchant_id AND r.transaction_id = t.id AND r.ended_at IS NULL
         AND r.is_of_contradiction = (t.ended_at IS NOT NULL)
"""


def _case_of(row: Row) -> Case:
    return Case(transaction_of(row), dispatch_of(row), row["is_contradicted"], row["is_sending"], row["proposed"])


async def find_unsettled(connection: Conn, *, unsettled_seconds: float) -> list[Case]:
    """Payments whose end nobody knows: those that only a person can end, and those that take too long."""
    rows = await connection.fetch(
        f"""
        SELECT {_CASE} FROM {_JOINED}
        WHERE (t.merchant_id, t.id) IN (SELECT merchant_id, transaction_id FROM dispatches)
          AND t.status = 'PROCESSING'
          AND (d.attention IS NOT NULL OR t.processing_at < now() - $1 * interval '1 second')
        ORDER BY t.processing_at
        """,
        float(unsettled_seconds),
    )
    return [_case_of(row) for row in rows]


async def find_contradicted(connection: Conn) -> list[Case]:
    """Payments that have ended and are in doubt: their network contradicts itself, or an operator contradicts it."""
    rows = await connection.fetch(
        f"""
        SELECT {_CASE} FROM {_JOINED}
        WHERE (t.merchant_id, t.id) IN (
            {_CONTRADICTED} UNION
            SELECT merchant_id, transaction_id FROM resolutions WHERE ended_at IS NULL AND is_of_contradiction)
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
        UNION SELECT merchant_id, cause_id FROM moves WHERE cause_id = $1 AND step IN ('contradiction', 'resolution')
        """,
        id_or_reference,
    )
    if key is None:
        return None
    # Locked first and read afterwards: what a lock was waited for may have changed the rows beside it.
    await tx.execute("SELECT FROM transactions WHERE merchant_id = $1 AND id = $2 FOR UPDATE", *key.values())
    row = await tx.fetchrow(f"SELECT {_CASE} FROM {_JOINED} WHERE t.merchant_id = $1 AND t.id = $2", *key.values())
    assert row is not None
    return _case_of(row)


async def find_steps(tx: Tx, transaction: Transaction) -> set[Step]:
    rows = await tx.fetch(
        "SELECT DISTINCT step FROM moves WHERE merchant_id = $1 AND cause_id = $2",
        transaction.merchant_id,
        transaction.id,
    )
    return {Step(row["step"]) for row in rows}


async def insert_proposal(
    tx: Tx,
    transaction: Transaction,
    *,
    id_: str,
    outcome: str,
    evidence: str,
    provider_reference: str | None,
    proposed_by: str,
    now: datetime,
) -> None:
    await tx.execute(
        """
        INSERT INTO resolutions (id, merchant_id, transaction_id, outcome, is_of_contradiction, evidence,
                                 provider_reference, proposed_by, proposed_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        """,
        id_,
        transaction.merchant_id,
        transaction.id,
        outcome,
        transaction.status.is_final,
        evidence,
        provider_reference,
        proposed_by,
        now,
    )


async def find_proposal(tx: Tx, transaction: Transaction) -> Proposal | None:
    row = await tx.fetchrow(
        """
        SELECT id, outcome, evidence, provider_reference, proposed_by, is_of_contradiction, proposed_at
        FROM resolutions
        WHERE merchant_id = $1 AND transaction_id = $2 AND ended_at IS NULL FOR UPDATE
        """,
        transaction.merchant_id,
        transaction.id,
    )
    return None if row is None else Proposal(*row.values())


async def end_proposal(tx: Tx, proposal_id: str, *, ended_by: str, is_approved: bool, now: datetime) -> None:
    await tx.execute(
        "UPDATE resolutions SET ended_by = $2, ended_at = $3, is_approved = $4 WHERE id = $1",
        proposal_id,
        ended_by,
        now,
        is_approved,
    )
