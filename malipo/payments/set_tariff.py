"""Sets what a merchant pays for payments of a type, over one or more channels."""

from collections.abc import Sequence
from datetime import datetime

from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.merchants.store import merchants
from malipo.networks.connector import Channel
from malipo.payments import fees
from malipo.payments.fees import Band
from malipo.payments.store import tariffs
from malipo.payments.transaction import Type


async def set_tariff(
    tx: Tx,
    merchant_id: str,
    type_: Type,
    channels: Sequence[Channel],
    bands: Sequence[Band],
    *,
    actor: Actor,
    now: datetime,
) -> None:
    """Replace the merchant's bands. The merchant is locked first: of two tariffs that are set at once, all bands are
    those of the later one."""
    fees.check(bands)
    await merchants.lock(tx, merchant_id)
    for channel in channels:
        await tariffs.replace(tx, merchant_id, type_, channel, bands)
    await audit_log.append(
        tx,
        actor,
        "tariff.set",
        now=now,
        merchant_id=merchant_id,
        type=type_,
        channels=channels,
        bands=[each.text for each in bands],
    )
