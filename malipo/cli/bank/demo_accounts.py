"""Our account at the simulated bank, and the demo merchant's account at another, so that the demo can pay a settlement
at once. Neither is real: nobody verifies them, and nobody waits."""

from datetime import datetime, timedelta

from malipo import ids
from malipo.bank import payer_account
from malipo.bank.payer_account import PayerAccount
from malipo.bank.store import payer_accounts
from malipo.db import Tx
from malipo.settlement import bank_account
from malipo.settlement.bank_account import BankAccount
from malipo.settlement.store import bank_accounts

_BY = "demo"
# As the simulated bank has it.
_OURS = PayerAccount(bic="NMIBTZTZ", number="22010012345", name="MALIPO LTD")


async def add_demo_accounts(tx: Tx, merchant_id: str, *, now: datetime) -> None:
    """Once."""
    if not await payer_accounts.find_all(tx):
        ours = PayerAccount(
            id=ids.mint(payer_account.ID_PREFIX, now), bic=_OURS.bic, number=_OURS.number, name=_OURS.name
        )
        await payer_accounts.put(tx, ours, added_by=_BY, approved_by=f"{_BY} too", now=now)
    if not await bank_accounts.find_of(tx, merchant_id):
        theirs = BankAccount(
            merchant_id=merchant_id,
            id=ids.mint(bank_account.ID_PREFIX, now),
            bic="CORUTZTZ",
            account_number="0150000DEMO00",
            holder_name="Demo Duka",
            created_at=now,
            created_by=_BY,
        )
        await bank_accounts.insert(tx, theirs)
        await bank_accounts.verify(tx, theirs, now=now, usable_from=now - timedelta(seconds=1))
