"""The SQL of carriers: which connector carried a payment, also after a setting has moved its channel elsewhere."""


def carrier_of_payment_sql(merchant_id: str, transaction_id: str) -> str:
    """The connector of a payment, by its network answers and the work queue; NULL if there were several.

    A line of a statement is no answer of a connector. For a payment that operators ended before any answer, it is the
    connector that has sent payments of this kind, if there was only one.
    """
    return f"""
        (SELECT CASE count(DISTINCT k.connector) WHEN 1 THEN min(k.connector) WHEN 0 THEN (
            SELECT CASE count(*) WHEN 1 THEN min(x.connector) END FROM carriers x
            JOIN transactions y ON (y.channel, y.type) = (x.channel, x.type)
            WHERE y.merchant_id = {merchant_id} AND y.id = {transaction_id}) END FROM (
            SELECT a.connector FROM network_answers a
            WHERE a.merchant_id = {merchant_id} AND a.transaction_id = {transaction_id} AND a.source <> 'statement'
            UNION ALL
            SELECT d.connector FROM dispatches d
            WHERE d.merchant_id = {merchant_id} AND d.transaction_id = {transaction_id}
              AND d.connector IS NOT NULL) AS k)
    """
