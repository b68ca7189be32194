"""The SQL of what networks are expected to charge, and of charges that differ from it."""

from datetime import datetime

import msgspec

from malipo.db import Conn, Tx
from malipo.networks.connector import Channel, Type


class Charge(msgspec.Struct, frozen=True, kw_only=True):
    """The expected charge for a payment: a share, rounded down, and a fixed part, with a minimum."""

    channel: Channel
    type: Type
    basis_points: int = 0
    fixed_fee: int = 0
    min_fee: int = 0


class WrongCharge(msgspec.Struct, frozen=True, kw_only=True):
    line_id: int
    channel: Channel
    account: str
    merchant_id: str
    transaction_id: str
    difference: int  # signed as in the statement: below 0, the network took too much


async def set_charge(tx: Tx, charge: Charge, *, by: str, now: datetime) -> None:
    await tx.execute(
        """
        INSERT INTO network_charges (channel, type, basis_points, fixed_fee, min_fee, set_by, set_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (channel, type) DO UPDATE
        SET basis_points = excluded.basis_points, fixed_fee = excluded.fixed_fee, min_fee = excluded.min_fee,
            set_by = excluded.set_by, set_at = excluded.set_at
        """,
        charge.channel,
        charge.type,
        charge.basis_points,
        charge.fixed_fee,
        charge.min_fee,
        by,
        now,
    )


async def find(connection: Conn) -> list[Charge]:
    rows = await connection.fetch(
        "SELECT channel, type, basis_points, fixed_fee, min_fee FROM network_charges ORDER BY channel, type"
    )
    return [msgspec.convert(dict(row), Charge) for row in rows]


async def find_wrong(tx: Tx) -> list[WrongCharge]:
    """Fees in the queue that differ from the expected charge of their matched payment. All fees of a receipt count
    together, and are shown at the first one."""
    rows = await tx.fetch(
        """
        SELECT min(l.id) AS line_id, l.channel, l.account, m.merchant_id, m.transaction_id,
               (round(sum(l.amount * 100 + l.cents) / 100.0)
                + min(greatest(c.fixed_fee + t.amount * c.basis_points / 10000, c.min_fee)))::bigint AS difference
        FROM open_statement_lines o JOIN statement_lines l ON l.id = o.line_id AND l.kind = 'fee'
        JOIN statement_matches m ON m.line_id = l.id AND m.role = 'fee'
        JOIN transactions t ON t.merchant_id = m.merchant_id AND t.id = m.transaction_id
        JOIN network_charges c ON c.channel = l.channel AND c.type = t.type
        GROUP BY l.channel, l.account, m.merchant_id, m.transaction_id
        -- A charge is expected in whole shillings.
        HAVING round(sum(l.amount * 100 + l.cents) / 100.0)
            + min(greatest(c.fixed_fee + t.amount * c.basis_points / 10000, c.min_fee)) <> 0
        ORDER BY 1
        """
    )
    return [msgspec.convert(dict(row), WrongCharge) for row in rows]
