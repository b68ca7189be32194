"""SQL conditions: what the network itself has reported of a line or a payment, and what only operators have.

The network has reported what is in a statement that the worker fetched, or in an answer about the payment.
"""

from malipo.payments.network_keys import ending_sql
from malipo.reconciliation.matching.statement_answer_ids import is_of_trusted_line_sql
from malipo.reconciliation.statements.statement_file import FETCHED_BY

# The amount of a payment `t`, signed as in a statement: a collection comes in, a payout goes out.
SIGNED = "CASE t.type WHEN 'COLLECTION' THEN t.amount ELSE -t.amount END"


def keys_of_sql(written: str) -> str:
    """A query for the network key that a line may name: in the same place as `network_keys.key_in` finds it."""
    return f"SELECT {ending_sql(written)}"


def is_own_sql(line: str) -> str:
    """A condition: whether the network's own statement has a line, with the line's key."""
    return _is_reported(line, f"k.key = {line}.key")


def is_own_reversal_sql(line: str) -> str:
    """A condition: whether the network's own statement calls a line a reversal of the receipt that the line names."""
    return _is_reported(line, f"k.kind = 'reversal' AND k.linked = {line}.linked")


def _is_reported(line: str, copy: str) -> str:
    """A condition: a fetched file alone has the line, or a fetched file has a copy `k` of it for which this holds."""
    return f"""
        (EXISTS (SELECT FROM statement_files n WHERE n.id = {line}.file_id AND n.imported_by = '{FETCHED_BY}')
             AND NOT EXISTS (SELECT FROM statement_line_copies k WHERE k.line_id = {line}.id)
         OR EXISTS (SELECT FROM statement_line_copies k JOIN statement_files n ON n.id = k.file_id
                    WHERE k.line_id = {line}.id AND {copy}
                      AND n.imported_by = '{FETCHED_BY}' AND n.withdrawn_at IS NULL))
    """


def is_key_added_sql(line: str) -> str:
    """A condition: whether the network's own statement has a line, and only an operator's copy has the line's key."""
    return f"""
        ({line}.key <> '' AND NOT {is_own_sql(line)} AND EXISTS (
            SELECT FROM statement_line_copies k JOIN statement_files n ON n.id = k.file_id
            WHERE k.line_id = {line}.id AND n.imported_by = '{FETCHED_BY}' AND n.withdrawn_at IS NULL))
    """


def is_receipt_reported_by_people_sql(payment: str) -> str:
    """A condition: whether a payment has its receipt from operators, or from a line of a statement, and not from an
    answer of its network."""
    return f"""
        (coalesce(({payment}.merchant_id, {payment}.id, {payment}.provider_reference) IN (
             SELECT r.merchant_id, r.transaction_id, r.provider_reference FROM resolutions r
             WHERE r.outcome = 'completed' AND r.is_approved AND r.provider_reference <> ''), false)
         OR EXISTS (SELECT FROM network_answers a
                    WHERE a.merchant_id = {payment}.merchant_id AND a.transaction_id = {payment}.id
                      AND a.source = 'statement' AND a.verdict = 'confirmed' AND {is_of_trusted_line_sql("a")}))
    """
