"""The SQL of carriers: which connector carried a payment, also after a setting has moved its channel elsewhere."""


def carrier_of(merchant_id: str, transaction_id: str) -> str:
    """The connector, by what was heard of the payment and by the work queue; NULL if there was none, or several.

    A line of a statement is no answer of a connector.
    """
    return f"""
        (SELECT CASE count(DISTINCT k.connector) WHEN 1 THEN min(k.connector) END FROM (
            SELECT a.connector FROM network_answers a
            WHERE a.merchant_id = {merchant_id} AND a.transaction_id = {transaction_id} AND a.source <> 'statement'
            UNION ALL
            SELECT d.connector FROM dispatches d
            WHERE d.merchant_id = {merchant_id} AND d.transaction_id = {transaction_id}
              AND d.connector IS NOT NULL) AS k)
    """
