"""The SQL of payments that operators name."""

from malipo.db import Conn
from malipo.payments.store.transactions import COLUMNS, transaction_of
from malipo.payments.transaction import Transaction


async def find(connection: Conn, id_or_reference: str) -> Transaction | None:
    """Any merchant's."""
    row = await connection.fetchrow(
        f"""
        SELECT {COLUMNS} FROM transactions t WHERE t.reference = $1
        UNION ALL
        SELECT {COLUMNS} FROM merchants m JOIN transactions t ON t.merchant_id = m.id AND t.id = $1
        """,
        id_or_reference,
    )
    return None if row is None else transaction_of(row)


async def is_key_known(connection: Conn, channel: str, network_key: str) -> bool:
    return bool(
        await connection.fetchval(
            "SELECT EXISTS (SELECT FROM transactions WHERE channel = $1 AND network_key = $2)", channel, network_key
        )
    )


async def find_of_line(connection: Conn, line_id: int) -> Transaction | None:
    row = await connection.fetchrow(
        f"""
        SELECT {COLUMNS} FROM statement_matches m
        JOIN transactions t ON t.merchant_id = m.merchant_id AND t.id = m.transaction_id WHERE m.line_id = $1
        """,
        line_id,
    )
    return None if row is None else transaction_of(row)
