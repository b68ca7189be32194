"""Notifies people whose wallet has fallen below the amount that they have chosen. A worker looks once a minute, so that
no payment compares anything."""

from datetime import datetime

from malipo import clock
from malipo.db import Tx
from malipo.messages import write
from malipo.messages.kinds import MessageKind
from malipo.messages.message import Facts
from malipo.messages.store import watched_wallets

# A wallet that goes up and down about the amount is reported this often at most.
_HOURS = 6


async def notify_low_wallets(tx: Tx, *, now: datetime) -> None:
    at = now.astimezone(clock.ZONE)
    for low in await watched_wallets.note_below(tx):
        facts: Facts = {"available_amount": low.available, "limit_amount": low.limit, "path": "/dashboard/wallet"}
        cause = f"{low.merchant_id} {at:%Y-%m-%d} {at.hour // _HOURS}"
        await write.to_account(tx, MessageKind.WALLET_LOW, low.account_id, facts, now=now, cause=cause)
