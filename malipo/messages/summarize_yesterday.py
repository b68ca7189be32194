"""Writes the summaries of the day before, for those who want one. Once for each day, whichever worker does it."""

from datetime import datetime, time, timedelta

from malipo import clock
from malipo.db import Tx
from malipo.ledger.store import wallets
from malipo.messages import write
from malipo.messages.kinds import MessageKind
from malipo.messages.message import Facts
from malipo.messages.store import watched_wallets
from malipo.outbox import daily_totals

# In Dar es Salaam.
_FROM = time(7)


async def summarize_yesterday(tx: Tx, *, now: datetime) -> None:
    at = now.astimezone(clock.ZONE)
    if at.time() < _FROM:
        return
    day = at.date() - timedelta(days=1)
    for reader in await watched_wallets.find_summary_readers(tx, cause=day.isoformat()):
        totals = await daily_totals.find(tx, reader.merchant_id, first=day, last=day)
        wallet, _ = await wallets.get(tx, reader.merchant_id)
        facts: Facts = {
            "business": reader.business,
            "day": day.isoformat(),
            "available_amount": wallet.spendable,
            "path": "/dashboard/transactions",
        }
        for type_, count, amount, failed in (
            ("COLLECTION", "collected", "collected_amount", "collections_failed"),
            ("DISBURSEMENT", "paid_out", "paid_out_amount", "payouts_failed"),
        ):
            of_type = [total for (_, each, _), total in totals.items() if each == type_]
            facts[count] = sum(each.completed for each in of_type)
            facts[amount] = sum(each.amount for each in of_type)
            facts[failed] = sum(each.failed for each in of_type)
        await write.to_account(tx, MessageKind.DAILY_SUMMARY, reader.account_id, facts, now=now, cause=day.isoformat())
