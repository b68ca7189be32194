"""How much each API key with a daily limit has paid out: one row for each key, with its last day."""

from collections.abc import Collection, Mapping
from datetime import date

from malipo.db import Tx

DaySum = tuple[date, int]  # the last day on which the key has paid out, and how much it was


async def find_key_sums(tx: Tx, key_ids: Collection[str]) -> dict[str, DaySum]:
    """The sums of these keys. The caller has locked the merchants' wallets, so nobody else changes the sums
    meanwhile."""
    rows = await tx.fetch("SELECT key_id, day, amount FROM api_key_daily_payouts WHERE key_id = ANY($1)", list(key_ids))
    return {row["key_id"]: (row["day"], row["amount"]) for row in rows}


async def save_key_sums(tx: Tx, sums: Mapping[str, DaySum]) -> None:
    """Write new sums of keys. The caller has locked the merchants' wallets."""
    await tx.execute(
        """
        UPDATE api_key_daily_payouts d SET day = new.day, amount = new.amount
        FROM unnest($1::text[], $2::date[], $3::bigint[]) AS new (key_id, day, amount)
        WHERE d.key_id = new.key_id
        """,
        list(sums),
        [day for day, _ in sums.values()],
        [amount for _, amount in sums.values()],
    )
