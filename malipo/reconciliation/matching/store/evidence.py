"""The SQL of evidence: matched lines, and whether they were reported to their payments."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from malipo.audit_log.actor import SYSTEM_NAME
from malipo.db import Conn, Row, Tx
from malipo.networks.connector import Channel, Type
from malipo.payments.network_keys import ending_sql
from malipo.reconciliation.matching.line_tellers import FactSource
from malipo.reconciliation.matching.store.told_by_network import (
    is_key_added_sql,
    is_own_reversal_sql,
    is_receipt_told_by_people_sql,
)
from malipo.reconciliation.statements.statement_file import FETCHED_BY
from malipo.reconciliation.statements.store.statements import authors_sql

_AUTHORS = authors_sql("f")
_NOT_MATCHED = "The line is no longer matched with the payment."


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """A line, and the payment that it belongs to."""

    line_id: int
    role: str  # payment or reversal
    receipt: str
    amount: int  # of the line
    line_channel: Channel
    account: str
    merchant_id: str
    transaction_id: str
    channel: Channel
    network_key: str
    type: Type
    payment_amount: int
    ordinal: int  # of the payment's last correction; a line that is contradicted later is reported again
    is_second: bool  # it was reported while the payment was open, which has since ended with another outcome
    is_taken_back: bool  # a counted line reverses it


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


_IS_PAID = "coalesce(c.is_paid, t.status = 'COMPLETED')"
# Whether the line of the match `m` was reversed. A reversal that only an operator's file has could be invented: it
# counts, and is reported, once it was counted as moved by that operator, or two operators have agreed.
_IS_TAKEN_BACK = f"""
    EXISTS (
        SELECT FROM statement_matches r JOIN statement_lines b ON b.id = r.line_id
        WHERE r.merchant_id = m.merchant_id AND r.transaction_id = m.transaction_id AND r.role = 'reversal'
          AND (r.is_counted OR r.is_reported OR {is_own_reversal_sql("b")}))
"""
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
    CASE m.role WHEN 'payment' THEN NOT {_IS_PAID} AND NOT {_IS_TAKEN_BACK} OR {_IS_NAMED_ALONE}
         ELSE m.role = 'reversal' END
"""


def _tells(match: str, line: str) -> str:
    """A condition: whether the copy `k` of a line tells the fact by which the line was matched.

    Several files may have a line, and each may add facts. The importer of a file that tells the key, or that the line
    reverses that receipt, answers for this fact. If no copy tells it, an operator who brought a copy does.
    """
    return f"""
        CASE WHEN {match}.role = 'reversal' THEN k.kind = 'reversal' AND k.linked = {line}.linked
             WHEN {match}.how = 'key' THEN {ending_sql("k.key")} = (
                 SELECT p.network_key FROM transactions p
                 WHERE p.merchant_id = {match}.merchant_id AND p.id = {match}.transaction_id)
             ELSE true END
    """


TELLS = _tells("m", "l")


def _is_told_by_worker(match: str, line: str, *, is_by_key: bool = False) -> str:
    """A condition: whether a fetched file tells the fact by which the line was matched. If an operator matched it, or
    with `is_by_key`, that fact is the payment's key."""

    def names(copy: str) -> str:
        is_named = f"{ending_sql(f'{copy}.key')} = t.network_key"
        return is_named if is_by_key else f"({match}.how <> 'operator' OR {is_named})"

    return f"""
        (CASE WHEN EXISTS (SELECT FROM statement_line_copies k WHERE k.line_id = {line}.id) THEN EXISTS (
            SELECT FROM statement_line_copies k JOIN statement_files n ON n.id = k.file_id
            WHERE k.line_id = {line}.id AND n.imported_by = '{FETCHED_BY}' AND n.withdrawn_at IS NULL
              AND {_tells(match, line)} AND {names("k")})
         ELSE EXISTS (SELECT FROM statement_files n WHERE n.id = {line}.file_id AND n.imported_by = '{FETCHED_BY}')
              AND {names(line)} END)
    """


def _is_by_two(match: str) -> str:
    """A condition: whether two operators, or the only operator, matched the line."""
    return f"""
        ({match}.how = 'operator' AND EXISTS (
            SELECT FROM reconciliation_exceptions e JOIN exception_resolutions r ON r.exception_id = e.id
            WHERE e.line_id = {match}.line_id AND r.action IN ('match', 'book', 'adopt') AND r.is_approved
              AND r.undone_by IS NULL AND (r.decided_by <> r.requested_by OR EXISTS (
                  SELECT FROM proposals p WHERE p.id = r.id AND p.is_single_operator))))
    """


def _teller(match: str, line: str, *, rather_by: str = "''") -> str:
    """The file that tells the fact by which the line was matched; preferably one that this operator imported."""
    tells = _tells(match, line)
    return f"""
        coalesce((
            SELECT n.id FROM statement_line_copies k JOIN statement_files n ON n.id = k.file_id
            WHERE k.line_id = {line}.id AND n.withdrawn_at IS NULL
            ORDER BY ({tells}) DESC, n.imported_by = {rather_by} DESC, NOT ({tells}) AND n.imported_by = '{FETCHED_BY}',
                     k.linked = {line}.linked DESC, n.imported_at, n.id LIMIT 1), {line}.file_id)
    """


# A reversal finds its payment `t` by the payment's line `y`, matched as `x`. Even if the reversal was fetched, an
# operator who said whose line `y` is answers for it.
_IS_BY_LINE = f"(x.line_id IS NOT NULL AND {_is_told_by_worker('m', 'l')})"
_IS_FETCHED = f"""
    ({_is_told_by_worker("m", "l")}
     AND (x.line_id IS NULL OR x.is_counted OR {_is_told_by_worker("x", "y")} OR {_is_by_two("x")}))
"""


# A file `n` that no operator could have invented alone with a few lines: it was fetched, or is complete.
IS_FETCHED_OR_WHOLE = f"""
    (n.withdrawn_at IS NULL AND (n.imported_by = '{FETCHED_BY}'
        OR n.problems = '{{}}' AND n.opening IS NOT NULL AND n.closing IS NOT NULL AND n.begins_at IS NOT NULL))
"""


def is_in_fetched_or_whole_file_sql(line: str, tells: str = "true") -> str:
    """A condition: whether such a file has the line, with a copy `k` that fulfils `tells`."""
    return f"""
        CASE WHEN EXISTS (SELECT FROM statement_line_copies k WHERE k.line_id = {line}.id) THEN EXISTS (
            SELECT FROM statement_line_copies k JOIN statement_files n ON n.id = k.file_id
            WHERE k.line_id = {line}.id AND {tells} AND {IS_FETCHED_OR_WHOLE})
        ELSE EXISTS (SELECT FROM statement_files n WHERE n.id = {line}.file_id AND {IS_FETCHED_OR_WHOLE}) END
    """


def is_shown_sql(match: str) -> str:
    """A condition: whether a payment's matched line shows that the payment is in a statement: a complete or fetched
    file tells the fact by which it was matched, or operators answer for it. (One operator could invent a line.)"""
    return f"""
        EXISTS (
            SELECT FROM statement_matches m JOIN statement_lines l ON l.id = m.line_id
            WHERE m.line_id = {match}.line_id
              AND (m.is_counted OR m.how = 'operator' OR {is_in_fetched_or_whole_file_sql("l", TELLS)}))
    """


# The operators who alone typed the receipt by which the payment's line was matched, if the network tells no key.
_TYPISTS = f"""
    CASE WHEN x.how = 'receipt' AND NOT {_is_told_by_worker("x", "y", is_by_key=True)} THEN ARRAY(
        SELECT DISTINCT r.requested_by FROM resolutions r
        WHERE r.merchant_id = t.merchant_id AND r.transaction_id = t.id AND r.provider_reference = t.provider_reference
          AND r.outcome = 'completed' AND r.is_approved AND r.decided_by = r.requested_by) ELSE '{{}}'::text[] END
"""
# Who else answers for a reversal in an operator's file `f`: the operator who said whose line it reverses. Nobody, if
# the network or two operators say so, or if the payment has that line's receipt from its network.
_NAMED_BY = f"""
    CASE WHEN x.line_id IS NULL OR {_IS_BY_LINE} OR x.is_counted OR {_is_by_two("x")}
           OR y.receipt = t.provider_reference COLLATE "C" AND NOT {is_receipt_told_by_people_sql("t")}
         THEN '{{}}'::text[]
         WHEN {_is_told_by_worker("x", "y")} THEN {_TYPISTS}
         WHEN x.how = 'operator' THEN ARRAY[x.matched_by]
         ELSE {_TYPISTS} || (
             SELECT array_append({authors_sql("g")}, g.imported_by) FROM statement_files g
             WHERE g.id = {_teller("x", "y", rather_by="f.imported_by")}) END
"""
# An operator who matched a line alone answers for the match, also of another operator's file.
_WAITING = f"""
    m.line_id, f.id AS file_id, CASE WHEN m.how = 'operator' THEN m.matched_by
        WHEN x.how = 'operator' AND {_IS_BY_LINE} THEN x.matched_by ELSE f.imported_by END AS imported_by,
    m.role, l.receipt, l.amount, l.moved_at, t.reference, t.type, t.status,
    {_IS_PAID} AS is_paid, t.amount AS payment_amount, {_AUTHORS} AS authors, {_NAMED_BY} AS named_by,
    coalesce((SELECT k.word FROM statement_line_copies k WHERE k.line_id = l.id AND k.file_id = f.id), l.word) AS word
"""
_JOINED = f"""
    statement_matches m JOIN statement_lines l ON l.id = m.line_id
    LEFT JOIN statement_matches x ON m.role = 'reversal' AND x.role = 'payment' AND x.merchant_id = m.merchant_id
         AND x.transaction_id = m.transaction_id
    LEFT JOIN statement_lines y ON y.id = x.line_id
    JOIN transactions t ON t.merchant_id = m.merchant_id AND t.id = m.transaction_id
    JOIN statement_files f ON f.id = CASE WHEN {_IS_BY_LINE} THEN {_teller("x", "y")} ELSE {_teller("m", "l")} END
    LEFT JOIN corrections c ON c.merchant_id = m.merchant_id AND c.transaction_id = m.transaction_id
"""


async def note_named_alone(tx: Tx) -> None:
    """Have lines reported that needed no report, but that one operator alone links with their payment: this counts as
    moved by that operator. Only lines of files that no complete run has seen, as they may tell more than earlier
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
        WHERE NOT m.is_reported AND NOT m.is_counted AND m.proposal_id IS NULL AND NOT {_is_by_two("m")}
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


async def find_what_is_told(connection: Conn, line_id: int) -> list[FactSource]:
    """The facts that are shown of a line (kind, key, phone, linked receipt, words), each with the files that tell
    it."""
    rows = await connection.fetch(
        f"""
        WITH copies AS MATERIALIZED (
            SELECT k.file_id, k.kind, k.key, k.phone, k.linked, k.details FROM statement_line_copies k
            WHERE k.line_id = $1
            UNION ALL
            SELECT l.file_id, l.kind, l.key, l.phone, l.linked, l.details FROM statement_lines l
            WHERE l.id = $1 AND NOT EXISTS (SELECT FROM statement_line_copies k WHERE k.line_id = $1)
        )
        SELECT t.fact, f.imported_by, {_AUTHORS} AS authors
        FROM statement_lines l CROSS JOIN copies c
        CROSS JOIN LATERAL (
            VALUES ('kind', c.kind, l.kind), ('key', {ending_sql("c.key")}, {ending_sql("l.key")}),
                   ('phone', c.phone, l.phone), ('linked', c.linked, l.linked), ('details', c.details, l.details)
        ) AS t (fact, told, shown)
        JOIN statement_files f ON f.id = c.file_id
        WHERE l.id = $1 AND t.told <> '' AND t.told = t.shown AND f.withdrawn_at IS NULL
        """,
        line_id,
    )
    return [FactSource(row["fact"], row["imported_by"], tuple(row["authors"])) for row in rows]


async def find_lines_of_payment(connection: Conn, merchant_id: str, transaction_id: str) -> list[int]:
    """The lines that are matched with a payment: its own line, and its reversal."""
    rows = await connection.fetch(
        "SELECT line_id FROM statement_matches WHERE merchant_id = $1 AND transaction_id = $2 ORDER BY 1",
        merchant_id,
        transaction_id,
    )
    return [row["line_id"] for row in rows]


async def find_lines_of_proposal(tx: Tx, proposal_id: str) -> list[int]:
    """All lines of a proposal, also lines that would change nothing any more."""
    sql = "SELECT line_id FROM statement_matches WHERE proposal_id = $1 AND NOT is_reported ORDER BY 1"
    return [row["line_id"] for row in await tx.fetch(sql, proposal_id)]


async def release_waiting(tx: Tx) -> None:
    """Release waiting or rejected lines that would change nothing now, or that the network itself has told."""
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


async def is_unreported(connection: Conn, line_id: int) -> bool:
    """Whether a line is matched and was not reported to its payment yet."""
    return bool(
        await connection.fetchval(
            "SELECT EXISTS (SELECT FROM statement_matches WHERE line_id = $1 AND NOT is_reported)", line_id
        )
    )


async def note_contradicted(tx: Tx) -> None:
    """Have lines reported again whose payments were contradicted since the report: by a network, or by operators who
    ended a payment that was open when its line was reported."""
    await tx.execute(
        f"""
        UPDATE statement_matches m SET is_reported = false, is_counted = false, proposal_id = NULL
        FROM corrections c
        WHERE m.merchant_id = c.merchant_id AND m.transaction_id = c.transaction_id AND m.is_reported
          AND c.source IS DISTINCT FROM 'statement'
          AND CASE m.role WHEN 'reversal' THEN c.is_paid
              WHEN 'payment' THEN NOT c.is_paid AND NOT {_IS_TAKEN_BACK}
              ELSE false END
        """
    )
    await tx.execute(
        """
        UPDATE statement_matches m SET is_reported = false, is_counted = false, proposal_id = NULL
        FROM reconciliation_exceptions e
        JOIN transactions t ON t.merchant_id = e.merchant_id AND t.id = e.transaction_id
        WHERE e.kind = 'state_differs' AND e.state <> 'resolved' AND m.line_id = e.line_id AND m.is_reported
          AND t.ended_at IS NOT NULL AND (t.status = 'COMPLETED') = (m.role = 'reversal')
          AND NOT EXISTS (SELECT FROM corrections c
                          WHERE c.merchant_id = e.merchant_id AND c.transaction_id = e.transaction_id)
        """
    )


async def find_unreported(tx: Tx, *, limit: int, line_ids: Sequence[int] | None = None) -> list[Evidence]:
    """Unreported lines that may be reported; or the lines `line_ids`, even if they wait."""
    rows = await tx.fetch(
        f"""
        SELECT m.line_id, m.role, l.receipt, l.amount, l.channel AS line_channel, l.account, m.merchant_id,
               m.transaction_id, t.channel, t.network_key, t.type, t.amount AS payment_amount,
               coalesce(c.ordinal, 0) AS ordinal,
               c.ordinal IS NULL AND t.ended_at IS NOT NULL AND EXISTS (
                   SELECT FROM reconciliation_exceptions e
                   WHERE e.line_id = m.line_id AND e.kind = 'state_differs') AS is_second,
               m.role = 'payment' AND {_IS_TAKEN_BACK} AS is_taken_back
        FROM statement_matches m JOIN statement_lines l ON l.id = m.line_id
        JOIN transactions t ON t.merchant_id = m.merchant_id AND t.id = m.transaction_id
        LEFT JOIN corrections c ON c.merchant_id = m.merchant_id AND c.transaction_id = m.transaction_id
        WHERE NOT m.is_reported AND CASE WHEN $2::bigint[] IS NULL THEN m.proposal_id IS NULL
              ELSE m.line_id = ANY($2) END
        ORDER BY m.line_id LIMIT $1
        """,
        limit,
        None if line_ids is None else list(line_ids),
    )
    return [_evidence(row) for row in rows]


async def set_reported(tx: Tx, line_ids: Sequence[int]) -> None:
    """Mark lines as reported, with the time at which the ledger last moved the float for the payment."""
    await tx.execute(
        """
        UPDATE statement_matches m
        SET is_reported = true, ledger_at = (
            SELECT max(e.created_at) FROM moves e
            WHERE e.merchant_id = m.merchant_id AND e.cause_id = m.transaction_id
              AND e.step IN ('end', 'contradiction') AND 'float' IN (e.source, e.target))
        WHERE m.line_id = ANY($1)
        """,
        list(line_ids),
    )


async def insert_match(tx: Tx, line_id: int, merchant_id: str, transaction_id: str, *, by: str, now: datetime) -> bool:
    """Match a line for an operator. Returns False if it is matched already, or if the payment has another line."""
    done = await tx.execute(
        """
        WITH matched AS (
            INSERT INTO statement_matches (
                line_id, merchant_id, transaction_id, role, how, is_reported, matched_by, matched_at)
            VALUES ($1, $2, $3, 'payment', 'operator', false, $4, $5) ON CONFLICT DO NOTHING RETURNING line_id
        )
        DELETE FROM open_statement_lines o USING matched WHERE o.line_id = matched.line_id
        """,
        line_id,
        merchant_id,
        transaction_id,
        by,
        now,
    )
    return done == "DELETE 1"


async def has_line(connection: Conn, merchant_id: str, transaction_id: str) -> bool:
    """Whether the payment has a line."""
    return bool(
        await connection.fetchval(
            """
            SELECT EXISTS (SELECT FROM statement_matches
                           WHERE merchant_id = $1 AND transaction_id = $2 AND role = 'payment')
            """,
            merchant_id,
            transaction_id,
        )
    )


async def report_payments_again(tx: Tx, line_ids: str, *values: object) -> None:
    """Have the lines of payments that count as unpaid reported again, because their reversals are about to lose their
    matches. A SELECT names the lines."""
    await tx.execute(
        f"""
        UPDATE statement_matches p SET is_reported = false, is_counted = false, proposal_id = NULL
        FROM statement_matches r JOIN transactions t ON t.merchant_id = r.merchant_id AND t.id = r.transaction_id
        LEFT JOIN corrections c ON c.merchant_id = r.merchant_id AND c.transaction_id = r.transaction_id
        WHERE r.line_id IN ({line_ids}) AND r.role = 'reversal' AND p.merchant_id = r.merchant_id
          AND p.transaction_id = r.transaction_id AND p.role = 'payment' AND p.is_reported AND NOT {_IS_PAID}
        """,
        *values,
    )


async def delete_matches(tx: Tx, line_ids: Sequence[int], *, rejected_in: str | None = None) -> bool:
    """Undo matches: each line is back in the queue, and so is its reversal, which found the payment by it. The audit
    log keeps who matched it. `rejected_in` is the proposal by which operators rejected it. Returns whether there was a
    match."""
    await report_payments_again(tx, "SELECT unnest($1::bigint[])", list(line_ids))
    done = await tx.execute(
        """
        WITH gone AS (
            DELETE FROM statement_matches s
            WHERE s.line_id = ANY($1) OR (s.role = 'reversal' AND (s.merchant_id, s.transaction_id) IN (
                SELECT p.merchant_id, p.transaction_id FROM statement_matches p
                WHERE p.line_id = ANY($1) AND p.role = 'payment'))
            RETURNING s.line_id)
        INSERT INTO open_statement_lines (line_id, channel, rejected_in)
        SELECT l.id, l.channel, CASE WHEN l.id = ANY($1) THEN $2 END
        FROM gone JOIN statement_lines l ON l.id = gone.line_id
        """,
        list(line_ids),
        rejected_in,
    )
    return done != "INSERT 0 0"


async def give_up_matches(tx: Tx, line_ids: Sequence[int], *, now: datetime, rejected_in: str | None = None) -> None:
    """Undo matches, and resolve exceptions about a difference between such a line and an unreported payment."""
    if not line_ids:
        return
    unreported = [
        row["line_id"]
        for row in await tx.fetch(
            "SELECT line_id FROM statement_matches WHERE line_id = ANY($1) AND NOT is_reported", list(line_ids)
        )
    ]
    await delete_matches(tx, line_ids, rejected_in=rejected_in)
    await tx.execute(
        f"""
        UPDATE reconciliation_exceptions
        SET state = 'resolved', resolved_by = '{SYSTEM_NAME}', resolved_at = $2, why_resolved = $3
        WHERE line_id = ANY($1) AND kind = 'state_differs' AND state <> 'resolved'
        """,
        unreported,
        now,
        _NOT_MATCHED,
    )


async def forget_rejections(tx: Tx, proposal_id: str) -> None:
    """Forget that lines were rejected, so that lines that another file has are matched again, as that file's."""
    await tx.execute("UPDATE open_statement_lines SET rejected_in = NULL WHERE rejected_in = $1", proposal_id)


def _evidence(row: Row) -> Evidence:
    return msgspec.convert(dict(row), Evidence)
