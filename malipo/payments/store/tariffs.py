"""Tariffs: what a merchant pays for which kind of payment."""

from collections.abc import Collection, Sequence

from malipo.db import Conn, Tx
from malipo.payments.fees import Band
from malipo.payments.transaction import Type

TariffKey = tuple[str, Type, str]  # a merchant's id, the type and the channel of a payment


async def find(connection: Conn, merchant_ids: Collection[str]) -> dict[tuple[str, Type, str], list[Band]]:
    rows = await connection.fetch(
        """
        SELECT merchant_id, type, channel, from_amount, fixed_fee, basis_points, min_fee, max_fee FROM tariffs
        WHERE merchant_id = ANY($1)
        """,
        list(merchant_ids),
    )
    found: dict[tuple[str, Type, str], list[Band]] = {}
    for row in rows:
        band = Band(row["from_amount"], row["fixed_fee"], row["basis_points"], row["min_fee"], row["max_fee"])
        found.setdefault((row["merchant_id"], Type(row["type"]), row["channel"]), []).append(band)
    return found


async def find_for(connection: Conn, tariff_keys: Collection[TariffKey]) -> dict[TariffKey, list[Band]]:
    """The tariffs that these payments need. A merchant may have a tariff for each type and channel."""
    if not tariff_keys:
        return {}
    rows = await connection.fetch(
        """
        SELECT t.merchant_id, t.type, t.channel, t.from_amount, t.fixed_fee, t.basis_points, t.min_fee, t.max_fee
        FROM unnest($1::text[], $2::text[], $3::text[]) AS wanted (merchant_id, type, channel)
        JOIN tariffs t USING (merchant_id, type, channel)
        """,
        *map(list, zip(*tariff_keys, strict=True)),
    )
    found: dict[TariffKey, list[Band]] = {}
    for merchant_id, type_, channel, *band in rows:
        found.setdefault((merchant_id, type_, channel), []).append(Band(*band))
    return found


async def replace(tx: Tx, merchant_id: str, type_: Type, channel: str, bands: Sequence[Band]) -> None:
    """Replace the tariff of a merchant for one type and channel. Without bands there is no fee.
    The caller has locked the merchant: two who replace at once would leave a mixture of their bands."""
    await tx.execute(
        "DELETE FROM tariffs WHERE merchant_id = $1 AND type = $2 AND channel = $3", merchant_id, type_, channel
    )
    await tx.executemany(
        """
        INSERT INTO tariffs (merchant_id, type, channel, from_amount, fixed_fee, basis_points, min_fee, max_fee)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        """,
        [
            (
                merchant_id,
                type_,
                channel,
                band.from_amount,
                band.fixed_fee,
                band.basis_points,
                band.min_fee,
                band.max_fee,
            )
            for band in bands
        ],
    )
