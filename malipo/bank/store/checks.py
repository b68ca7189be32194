"""The check of the bank's lines: each has one place, and each settlement that has ended has its line. It only reads.

It is a part of `malipo ledger check`. The moves of settlements and bookings are checked with the ledger.
"""

from malipo.bank.store.lines import LINE_COUNTS, find_placeless
from malipo.bank_evidence.which_count import COUNTS
from malipo.db import Conn
from malipo.ledger.check import LedgerFinding

# Kind of finding, where, what is stored, and what it should be.
_QUERIES = (
    # A line is as much as what it was matched with.
    f"""
    SELECT 'line of the bank', b.id::text, sum(m.amount)::bigint, b.cents FROM bank_lines b
    JOIN bank_line_matches m ON m.line_id = b.id WHERE {LINE_COUNTS} GROUP BY b.id HAVING sum(m.amount) <> b.cents
    """,
    # What was booked of a line is the line, with its cents.
    """
    SELECT 'booking of a line of the bank', * FROM (
        SELECT h.id, (CASE h.source WHEN 'bank' THEN h.amount ELSE -h.amount END) * 100 + h.cents AS booked, b.cents
        FROM bank_line_matches m JOIN bank_lines b ON b.id = m.line_id JOIN house_bookings h ON h.id = m.subject_id
        WHERE m.meaning = 'house' AND $1 = ''
    ) AS k WHERE booked <> cents
    """,
    # A line of the bank has completed the settlement, or given it back; and each that has ended has such a line.
    f"""
    SELECT 'settlement paid by a line', s.id, count(m.line_id), (s.completed_at IS NOT NULL)::int
    FROM settlements s
    LEFT JOIN bank_line_matches m ON m.subject_id = s.id AND m.meaning IN ('debit', 'sum')
    WHERE (m.line_id IS NOT NULL OR s.completed_at IS NOT NULL)
      AND EXISTS (SELECT FROM bank_statements f WHERE {COUNTS}) AND $1 = ''
    GROUP BY s.merchant_id, s.id HAVING count(m.line_id) <> (s.completed_at IS NOT NULL)::int
    """,
    f"""
    SELECT 'settlement returned by a line', s.id, count(m.line_id), (s.status = 'RETURNED')::int
    FROM settlements s LEFT JOIN bank_line_matches m ON m.subject_id = s.id AND m.meaning = 'return'
    WHERE (m.line_id IS NOT NULL OR s.status = 'RETURNED' AND s.completed_at IS NOT NULL)
      AND EXISTS (SELECT FROM bank_statements f WHERE {COUNTS}) AND $1 = ''
    GROUP BY s.merchant_id, s.id HAVING count(m.line_id) <> (s.status = 'RETURNED')::int
    """,
    # What a payout file has never changes.
    """
    SELECT 'bytes of a payout file', id, NULL, NULL FROM payout_files
    WHERE content IS NOT NULL AND sha256(content) <> sha256 AND $1 = ''
    """,
    """
    SELECT 'sum of a payout file', f.id, f.total, sum(l.amount)::bigint FROM payout_files f
    JOIN payout_file_lines l ON l.file_id = f.id AND (l.left_at IS NULL OR l.why_left = 'voided')
    WHERE f.approved_at IS NOT NULL AND $1 = '' GROUP BY f.id HAVING f.total <> sum(l.amount)
    """,
    # A file pays what its approval has sent, to the account that the settlement names, and nothing that had ended.
    """
    SELECT 'transfer of a payout file', l.settlement_id, l.amount, s.amount - s.fee FROM payout_file_lines l
    JOIN payout_files f ON f.id = l.file_id AND f.status = 'APPROVED'
    LEFT JOIN settlements s ON s.merchant_id = l.merchant_id AND s.id = l.settlement_id
    LEFT JOIN bank_accounts a ON a.merchant_id = s.merchant_id AND a.id = s.bank_account_id
    WHERE l.left_at IS NULL AND $1 = ''
      AND (s.payout_file_id, s.sent_at, s.key, s.amount - s.fee, a.bic, a.account_number)
          IS DISTINCT FROM (l.file_id, f.approved_at, l.key, l.amount, l.bic, l.account)
    """,
    # What is sent is in such a file; and what is back without a debit was refused by the bank.
    """
    SELECT 'settlement in a payout file', s.id, NULL, NULL FROM settlements s
    WHERE (s.status = 'SENT' OR s.status = 'RETURNED' AND s.completed_at IS NULL) AND $1 = '' AND NOT EXISTS (
        SELECT FROM payout_file_lines l JOIN payout_files f ON f.id = l.file_id AND f.status = 'APPROVED'
        WHERE l.settlement_id = s.id AND l.left_at IS NULL AND (s.status = 'SENT' OR l.refused_at IS NOT NULL))
    """,
)


async def wrong_lines(connection: Conn) -> list[LedgerFinding]:
    found = [
        LedgerFinding("line of the bank without a place", str(id_), None, None)
        for id_ in await find_placeless(connection)
    ]
    for query in _QUERIES:
        found += [LedgerFinding(*row) for row in map(tuple, await connection.fetch(query, ""))]
    return found
