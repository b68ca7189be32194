"""Owners add and stop bank accounts, and confirm them after a restore. Everybody who has been an
owner lately gets a message, in the same commit."""

from datetime import datetime, timedelta

from malipo import ids
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor, plain_name
from malipo.bank_formats.bank_text import loses_letters
from malipo.db import Tx
from malipo.errors import Conflict
from malipo.merchants import bank_account_stop_links, four_eyes
from malipo.merchants.store import merchants
from malipo.merchants.store.bank_account_stop_links import StopLink
from malipo.messages import notify_of_bank_accounts
from malipo.settlement import release
from malipo.settlement.bank_account import (
    ID_PREFIX,
    BankAccount,
    BankAccountRefusal,
    BankAccountStatus,
    NoSuchBankAccount,
    named_account,
)
from malipo.settlement.banks import is_bic, number_of
from malipo.settlement.settlement import SettlementStatus
from malipo.settlement.store import bank_accounts, settlements
from malipo.validation.fields import Fields

PATH = release.BANK_ACCOUNTS
_MOST_OPEN = 10
MOST_HOLDER = 70  # what files to banks have room for
_CALLED_BACK_WITHIN = timedelta(days=3)  # What was paid longer ago is hardly ever still at the other bank.


def bank_account_of(fields: Fields, merchant_id: str, *, by: str, now: datetime) -> BankAccount:
    """The account that an owner has typed, with the mistakes in the fields."""
    bic = fields.required_text("bic", most=11, is_line=True).upper()
    if bic and not is_bic(bic):
        fields.wrong("bic", "bic_invalid", "bic must be the 8 or 11 characters by which banks know the bank.")
    typed = fields.required_text("accountNumber", most=64, is_line=True)
    number = number_of(typed)
    if typed and number is None:
        fields.wrong("accountNumber", "account_number_invalid", "accountNumber must have 5 to 34 digits and letters.")
    holder = fields.required_text("holderName", most=MOST_HOLDER, is_line=True)
    if holder and loses_letters(holder):
        message = "holderName must be in Latin letters, as the bank writes it: files to banks have no others."
        fields.wrong("holderName", "holder_name_letters", message)
    return BankAccount(
        merchant_id=merchant_id,
        id=ids.mint(ID_PREFIX, now),
        bic=bic,
        account_number=number or "",
        holder_name=holder,
        replaces=fields.text("replaces", most=64, is_line=True) or None,
        created_at=now,
        created_by=by,
    )


async def add(tx: Tx, account: BankAccount, *, actor: Actor, now: datetime) -> None:
    """An owner whom somebody else has just invited or reset waits first: otherwise who resets one owner could add an
    account before the others notice."""
    await four_eyes.require_not_waiting(tx, account.merchant_id, actor, now=now)
    await bank_accounts.lock_all(tx, account.merchant_id)
    known = await bank_accounts.find_of(tx, account.merchant_id)
    # One that was replaced does not come back. Its number can be added again, and is verified and waits again.
    replaced = BankAccountStatus.REPLACED
    live = [each for each in known if each.may_be_stopped and each.status(now) is not replaced]
    if any((each.bic, each.account_number) == (account.bic, account.account_number) for each in live):
        raise Conflict(code=BankAccountRefusal.EXISTS)
    if len(live) >= _MOST_OPEN:
        raise Conflict(code=BankAccountRefusal.TOO_MANY, most=_MOST_OPEN)
    if account.replaces is not None and account.replaces not in {each.id for each in live}:
        raise Conflict(code=BankAccountRefusal.NO_SUCH, id=account.replaces)
    await bank_accounts.insert(tx, account)
    await _note(tx, account, "bank_account.added", actor, now=now)
    await notify_of_bank_accounts.account_added(
        tx, account.merchant_id, named_account(account), by=account.created_by, path=PATH, now=now
    )


async def stop(
    tx: Tx, account_id: str, *, merchant_id: str | None = None, reason: str = "", actor: Actor, now: datetime
) -> BankAccount:
    """An owner of `merchant_id` stops it, or an operator. Stopping is safe, and takes nobody else: nothing more is sent
    there, and an approved file with a transfer to it is not downloaded any more. Operators are notified of those. One
    that has ended stays so."""
    account = await bank_accounts.lock(tx, account_id)
    if account is None or merchant_id not in (None, account.merchant_id):
        raise NoSuchBankAccount
    if not account.may_be_stopped:
        return account
    await bank_accounts.end(tx, account, BankAccountStatus.STOPPED, by=actor.name, reason=reason, now=now)
    await _note(tx, account, "bank_account.stopped", actor, now=now)
    await _tell_stopped(tx, account, by=plain_name(actor.name), now=now)
    return account


async def _tell_stopped(tx: Tx, account: BankAccount, *, by: str, now: datetime) -> None:
    """Owners of late; and operators, if money is on its way to it, or has just arrived: a bank may still call it back.
    The account is locked, so no file with a settlement to it is approved or downloaded meanwhile."""
    found = await settlements.find_gone_to(
        tx, account.merchant_id, account.id, completed_since=now - _CALLED_BACK_WITHIN
    )
    sent = [each for each in found if each.status is SettlementStatus.SENT]
    sent_amount = sum(each.net_amount for each in sent)
    named = named_account(account)
    await notify_of_bank_accounts.account_stopped(
        tx, account.merchant_id, named, by=by, path=PATH, sent_amount=sent_amount, now=now
    )
    if found:
        await notify_of_bank_accounts.money_to_stopped_account(
            tx,
            await merchants.name_of(tx, account.merchant_id),
            named,
            by=by,
            sent_amount=sent_amount,
            paid_amount=sum(each.net_amount for each in found) - sent_amount,
            files={each.payout_file_id for each in sent if each.payout_file_id is not None},
            now=now,
        )


async def confirm(tx: Tx, account_id: str, *, merchant_id: str, actor: Actor, now: datetime) -> BankAccount:
    """An owner says after a restore that this account is still right. Not before settlements are released, because only
    then can be cancelled what is there again and would go to it. All owners get a message, as of a verified one."""
    await four_eyes.require_not_waiting(tx, merchant_id, actor, now=now)
    await release.require_released(tx)
    account = await bank_accounts.lock(tx, account_id)
    if account is None or account.merchant_id != merchant_id:
        raise NoSuchBankAccount
    if account.held_since is None:
        return account
    assert account.usable_from is not None, "a verified account has a wait"
    await bank_accounts.confirm(tx, account, now=now)
    await _note(tx, account, "bank_account.confirmed", actor, now=now)
    await notify_of_bank_accounts.account_verified(
        tx, merchant_id, named_account(account), usable_at=max(account.usable_from, now), path=PATH, now=now
    )
    return account


async def stop_by_link(tx: Tx, link: str, *, address: str, now: datetime) -> StopLink | None:
    """Stop the account of a link that was sent by e-mail, also to somebody who is no owner any more. None if the link
    was used or is too old."""
    found = await bank_account_stop_links.use(tx, link, now=now)
    if found is not None:
        actor = Actor(found.email, address)
        await stop(tx, found.bank_account_id, merchant_id=found.merchant_id, actor=actor, now=now)
    return found


async def _note(tx: Tx, account: BankAccount, what: str, actor: Actor, *, now: datetime) -> None:
    await audit_log.append(
        tx,
        actor,
        what,
        now=now,
        merchant_id=account.merchant_id,
        bank_account=account.id,
        bic=account.bic,
        number=account.masked_number,
    )
