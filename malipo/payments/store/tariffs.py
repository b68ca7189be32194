"""Tariffs: what a merchant pays for which kind of payment."""

from collections.abc import Collection

from malipo.db import Tx
from malipo.payments.fees import Band
from malipo.payments.transaction import Type


async def find(tx: Tx, merchant_ids: Collection[str]) -> dict[tuple[str, Type, str], list[Band]]:
    rows = await tx.fetch(
        """
        SELECT merchant_id, type, channel, from_amount, fixed, basis_points, least, most FROM tariffs
        WHERE merchant_id = ANY($1)
        """,
        list(merchant_ids),
    )
    found: dict[tuple[str, Type, str], list[Band]] = {}
    for row in rows:
        band = Band(row["from_amount"], row["fixed"], row["basis_points"], row["least"], row["most"])
        found.setdefault((row["merchant_id"], Type(row["type"]), row["channel"]), []).append(band)
    return found
