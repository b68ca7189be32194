"""The accounts that every run begins with: ours at the bank, and one of each merchant, verified long ago."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from malipo import ids
from malipo.approvals.store import Proposal
from malipo.audit_log.actor import Actor
from malipo.bank import add_payer_account, approve
from malipo.bank.payer_account import FileFormat, PayerAccount
from malipo.db import Database, Tx
from malipo.settlement.bank_account import BankAccount
from malipo.settlement.store import bank_accounts
from malipo_simulator.bank.bank import Bank

PAYER = Bank().account
_HAWA, _NEEMA = (Actor(f"operator {name}", "simulation") for name in ("hawa", "neema"))


def number_of(merchant: int) -> str:
    """The account of a merchant, who is counted from 0."""
    return f"0150WKYA{merchant:05}"


async def open_accounts(database: Database, merchant_ids: Sequence[str], *, now: datetime) -> None:
    async with database.begin() as tx:
        proposal = await _propose_payer_account(tx, FileFormat.PAIN001, now=now)
    async with database.begin() as tx:
        await approve.approve(tx, proposal.id, reference_prefix="MLP", actor=_NEEMA, now=now)
        for number, merchant_id in enumerate(merchant_ids):
            await _open_account(tx, merchant_id, number, now=now)


async def use_tables(database: Database, *, now: datetime) -> None:
    """The bank takes tables from now on, and not pain.001."""
    async with database.begin() as tx:
        proposal = await _propose_payer_account(tx, FileFormat.CSV, now=now)
    async with database.begin() as tx:
        await approve.approve(tx, proposal.id, reference_prefix="MLP", actor=_NEEMA, now=now)


async def _propose_payer_account(tx: Tx, format_: FileFormat, *, now: datetime) -> Proposal:
    bank = Bank()
    account = PayerAccount(bic=bank.bic, number=bank.account, name=bank.name, format=format_)
    return await add_payer_account.propose(tx, account, actor=_HAWA, now=now)


async def _open_account(tx: Tx, merchant_id: str, merchant: int, *, now: datetime) -> None:
    account = BankAccount(
        merchant_id=merchant_id,
        id=ids.mint("bka_", now),
        bic="CORUTZTZ",
        account_number=number_of(merchant),
        holder_name=f"Duka {merchant + 1}",
        created_at=now,
        created_by="asha@duka.example",
    )
    await bank_accounts.insert(tx, account)
    await bank_accounts.verify(tx, account, now=now, usable_from=now + timedelta(hours=1))
