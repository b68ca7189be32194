"""The SQL of lines that would end or contradict their payment, and that wait for an operator or for two."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from malipo.db import Conn, Tx
from malipo.networks.connector import Type
from malipo.reconciliation.matching.store.evidence import IS_PAID, IS_TAKEN_BACK
from malipo.reconciliation.matching.store.line_sources import is_by_two_sql, is_reported_by_worker_sql, source_sql
from malipo.reconciliation.matching.store.reported_by_network import (
    is_key_added_sql,
    is_receipt_reported_by_people_sql,
)
from malipo.reconciliation.statements.store.statements import authors_sql

_AUTHORS = authors_sql("f")


class WaitingLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line that would end or contradict its payment, for people to read."""

    line_id: int
    file_id: str
    imported_by: str
    role: str  # payment or reversal
    receipt: str
    amount: int  # of the line
    moved_at: datetime
    reference: str
    type: Type
    status: str
    is_paid: bool  # by the latest report, which may contradict the status
    payment_amount: int
    authors: tuple[str, ...] = ()  # of the layout that read the file, beside its importer
    named_by: tuple[str, ...] = ()  # of a reversal: operators who said that the reversed line is the payment's
    word: str = ""  # the status, if operators said that it means that money moved


# The aliases of all fragments below; `_JOINED` has the joins. An example: Asha's file has the line QB1 of a payout, and
# Juma's file has R1, a reversal of QB1. The rows of R1:
#     t, c  the payout, and its correction if it has one
#     m, l  the match of R1 with the payout, and R1 itself
#     x, y  the match of QB1 with the payout, and QB1 itself; NULL if the line is no reversal
#     f     the file that answers for the effect: Juma's; or Asha's, if the network's own statement has R1 too
# So `_IS_BY_LINE` is true if the network has R1, `_TYPISTS` are those who typed QB1 as the payout's receipt, and
# `_NAMED_BY` is Asha, unless the network or two operators say that QB1 is the payout's.

# Payments that one operator alone has called paid, with that operator.
_COMPLETED_ALONE = """
    SELECT r.merchant_id, r.transaction_id, r.requested_by FROM resolutions r
    WHERE r.outcome = 'completed' AND r.is_approved AND r.decided_by = r.requested_by
"""


# Whether only one operator links a line of the network's own with its payment: a copy in this operator's file `f` adds
# the key, and this operator alone has called the payment paid.
_IS_NAMED_ALONE = f"""
    (m.role = 'payment' AND m.how = 'key' AND {is_key_added_sql("l")} AND EXISTS (
        SELECT FROM ({_COMPLETED_ALONE}) r
        WHERE r.merchant_id = m.merchant_id AND r.transaction_id = m.transaction_id
          AND r.requested_by = ANY (array_append({_AUTHORS}, f.imported_by))))
"""


# Whether reporting the line would end or contradict its payment: a payment's line does if the payment counts as unpaid.
# A reversal always has an effect: it takes a payment back, or keeps the payment's line from being reported. So has a
# line that one operator alone links with the payment: it would explain another customer's money.
_HAS_EFFECT = f"""
    CASE m.role WHEN 'payment' THEN NOT {IS_PAID} AND NOT {IS_TAKEN_BACK} OR {_IS_NAMED_ALONE}
         ELSE m.role = 'reversal' END
"""


# A reversal finds its payment `t` by the payment's line `y`, matched as `x`. Even if the reversal was fetched, an
# operator who said whose line `y` is answers for it.
_IS_BY_LINE = f"(x.line_id IS NOT NULL AND {is_reported_by_worker_sql('m', 'l')})"


_IS_FETCHED = f"""
    ({is_reported_by_worker_sql("m", "l")}
     AND (x.line_id IS NULL OR x.is_counted OR {is_reported_by_worker_sql("x", "y")} OR {is_by_two_sql("x")}))
"""


# The operators who alone typed the receipt by which the payment's line was matched, if the network reports no key.
_TYPISTS = f"""
    CASE WHEN x.how = 'receipt' AND NOT {is_reported_by_worker_sql("x", "y", is_by_key=True)} THEN ARRAY(
        SELECT DISTINCT r.requested_by FROM resolutions r
        WHERE r.merchant_id = t.merchant_id AND r.transaction_id = t.id AND r.provider_reference = t.provider_reference
          AND r.outcome = 'completed' AND r.is_approved AND r.decided_by = r.requested_by) ELSE '{{}}'::text[] END
"""


# Who else answers for a reversal in an operator's file `f`: the operator who said whose line it reverses. Nobody, if
# the network or two operators say so, or if the payment has that line's receipt from its network.
_NAMED_BY = f"""
    CASE WHEN x.line_id IS NULL OR {_IS_BY_LINE} OR x.is_counted OR {is_by_two_sql("x")}
           OR y.receipt = t.provider_reference COLLATE "C" AND NOT {is_receipt_reported_by_people_sql("t")}
         THEN '{{}}'::text[]
         WHEN {is_reported_by_worker_sql("x", "y")} THEN {_TYPISTS}
         WHEN x.how = 'operator' THEN ARRAY[x.matched_by]
         ELSE {_TYPISTS} || (
             SELECT array_append({authors_sql("g")}, g.imported_by) FROM statement_files g
             WHERE g.id = {source_sql("x", "y", rather_by="f.imported_by")}) END
"""


# An operator who matched a line alone answers for the match, also of another operator's file.
_WAITING = f"""
    m.line_id, f.id AS file_id, CASE WHEN m.how = 'operator' THEN m.matched_by
        WHEN x.how = 'operator' AND {_IS_BY_LINE} THEN x.matched_by ELSE f.imported_by END AS imported_by,
    m.role, l.receipt, l.amount, l.moved_at, t.reference, t.type, t.status,
    {IS_PAID} AS is_paid, t.amount AS payment_amount, {_AUTHORS} AS authors, {_NAMED_BY} AS named_by,
    coalesce((SELECT k.word FROM statement_line_copies k WHERE k.line_id = l.id AND k.file_id = f.id), l.word) AS word
"""


_JOINED = f"""
    statement_matches m JOIN statement_lines l ON l.id = m.line_id
    LEFT JOIN statement_matches x ON m.role = 'reversal' AND x.role = 'payment' AND x.merchant_id = m.merchant_id
         AND x.transaction_id = m.transaction_id
    LEFT JOIN statement_lines y ON y.id = x.line_id
    JOIN transactions t ON t.merchant_id = m.merchant_id AND t.id = m.transaction_id
    JOIN statement_files f ON f.id = CASE WHEN {_IS_BY_LINE} THEN {source_sql("x", "y")} ELSE {source_sql("m", "l")} END
    LEFT JOIN corrections c ON c.merchant_id = m.merchant_id AND c.transaction_id = m.transaction_id
"""


async def note_named_alone(tx: Tx) -> None:
    """Have lines reported that needed no report, but that one operator alone links with their payment: this counts as
    moved by that operator. Only lines of files that no complete run has seen, as they may have more than earlier
    files."""
    await tx.execute(
        f"""
        UPDATE statement_matches w SET is_reported = false
        FROM (SELECT m.line_id FROM {_JOINED}
              WHERE m.is_reported AND NOT m.is_counted
                AND (m.merchant_id, m.transaction_id) IN (SELECT a.merchant_id, a.transaction_id
                                                          FROM ({_COMPLETED_ALONE}) a)
                AND m.line_id IN (
                    SELECT q.line_id FROM matched_files u JOIN statement_line_copies q ON q.file_id = u.file_id
                    WHERE NOT u.is_absence_checked)
                AND {_IS_NAMED_ALONE}) g
        WHERE w.line_id = g.line_id
        """
    )


async def find_effects(tx: Tx, line_ids: Sequence[int] | None = None) -> list[WaitingLine]:
    """Lines that would end or contradict a payment and were not sorted yet, from operators' files or matched by one
    operator alone: all, or only those of the payments of `line_ids`, because a reversal decides about its payment's
    line too."""
    rows = await tx.fetch(
        f"""
        SELECT {_WAITING} FROM {_JOINED}
        WHERE NOT m.is_reported AND NOT m.is_counted AND m.proposal_id IS NULL AND NOT {is_by_two_sql("m")}
          AND ($1::bigint[] IS NULL OR (m.merchant_id, m.transaction_id) IN (
              SELECT b.merchant_id, b.transaction_id FROM statement_matches b WHERE b.line_id = ANY($1)))
          AND {_HAS_EFFECT} AND NOT {_IS_FETCHED}
        ORDER BY m.line_id
        """,
        None if line_ids is None else list(line_ids),
    )
    return [msgspec.convert(dict(row), WaitingLine) for row in rows]


async def find_waiting(connection: Conn, proposal_id: str) -> list[WaitingLine]:
    """The lines of a proposal, without lines that would change nothing any more because the network confirmed them."""
    rows = await connection.fetch(
        f"""
        SELECT {_WAITING} FROM {_JOINED}
        WHERE NOT m.is_reported AND m.proposal_id = $1 AND {_HAS_EFFECT} ORDER BY m.line_id
        """,
        proposal_id,
    )
    return [msgspec.convert(dict(row), WaitingLine) for row in rows]


async def find_lines_of_proposal(tx: Tx, proposal_id: str) -> list[int]:
    """All lines of a proposal, also lines that would change nothing any more."""
    sql = "SELECT line_id FROM statement_matches WHERE proposal_id = $1 AND NOT is_reported ORDER BY 1"
    return [row["line_id"] for row in await tx.fetch(sql, proposal_id)]


async def release_waiting(tx: Tx) -> None:
    """Release waiting or rejected lines that would change nothing now, or that the network itself has reported."""
    await tx.execute(
        f"""
        UPDATE statement_matches w SET proposal_id = NULL
        FROM (SELECT m.line_id FROM {_JOINED}
              WHERE NOT m.is_reported AND m.proposal_id IS NOT NULL AND (NOT {_HAS_EFFECT} OR {_IS_FETCHED})) g
        WHERE w.line_id = g.line_id
        """
    )


async def set_counted(tx: Tx, line_ids: Sequence[int]) -> None:
    """Mark lines as counted: they may be reported, because they count as moved by an operator, or two have agreed."""
    await tx.execute(
        "UPDATE statement_matches SET is_counted = true, proposal_id = NULL WHERE line_id = ANY($1)", list(line_ids)
    )


async def set_waiting(tx: Tx, line_ids: Sequence[int], proposal_id: str) -> None:
    await tx.execute(
        "UPDATE statement_matches SET proposal_id = $2 WHERE line_id = ANY($1)", list(line_ids), proposal_id
    )


async def clear_proposal(tx: Tx, proposal_id: str) -> None:
    await tx.execute(
        "UPDATE statement_matches SET proposal_id = NULL WHERE proposal_id = $1 AND NOT is_reported", proposal_id
    )
