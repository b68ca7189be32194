"""A merchant's bank account, its statuses, and when it can be used. Pure.

An account is never edited: another one replaces it. Owners add it, operators verify it, and each owner can stop it.
"""

from datetime import datetime
from enum import StrEnum

import msgspec

from malipo.errors import Code, Conflict, Missing
from malipo.messages.notify_of_bank_accounts import NamedBankAccount, masked
from malipo.settlement.banks import bank_name

ID_PREFIX = "bka_"


class BankAccountStatus(StrEnum):
    UNVERIFIED = "UNVERIFIED"
    VERIFIED = "VERIFIED"  # it can be used when it has waited
    REJECTED = "REJECTED"
    STOPPED = "STOPPED"
    REPLACED = "REPLACED"  # by another account, for good. Follows from that account, and is not stored


class BankAccountRefusal(Code):
    NO_SUCH = "bank_account_no_such"
    NOT_UNVERIFIED = "bank_account_not_unverified"
    EXISTS = "bank_account_exists"
    TOO_MANY = "bank_account_too_many"


class NoSuchBankAccount(Missing):
    code = "bank_account_not_found"

    def __init__(self) -> None:
        super().__init__("There is no bank account with this id.")


class BankAccountNotUsable(Conflict):
    code = "bank_account_not_usable"

    def __init__(self) -> None:
        super().__init__("This bank account cannot be used: it is not verified yet, still waits, or was stopped.")


class BankAccount(msgspec.Struct, frozen=True, kw_only=True):
    merchant_id: str
    id: str
    bic: str
    account_number: str
    holder_name: str
    stored_status: BankAccountStatus = BankAccountStatus.UNVERIFIED
    replaces: str | None = None
    created_at: datetime
    created_by: str
    verified_at: datetime | None = None
    usable_from: datetime | None = None
    # When the account that replaces it can be used, or could before that was stopped: perhaps this one was wrong.
    replaced_from: datetime | None = None
    # Since a restore, if it was verified before: perhaps it was stopped or replaced since the backup. No file pays it
    # until an owner confirms it, or operators verify it again.
    held_since: datetime | None = None
    ended_at: datetime | None = None
    ended_by: str | None = None
    end_reason: str | None = None

    @property
    def masked_number(self) -> str:
        return masked(self.account_number)

    @property
    def bank(self) -> str:
        return bank_name(self.bic)

    @property
    def may_be_stopped(self) -> bool:
        return self.stored_status in (BankAccountStatus.UNVERIFIED, BankAccountStatus.VERIFIED)

    def status(self, now: datetime) -> BankAccountStatus:
        is_replaced = self.replaced_from is not None and self.replaced_from <= now
        if self.stored_status is BankAccountStatus.VERIFIED and is_replaced:
            return BankAccountStatus.REPLACED
        return self.stored_status

    def is_usable(self, now: datetime) -> bool:
        """Whether a settlement may go there now. What was requested before an account is replaced still goes there."""
        is_verified = self.status(now) is BankAccountStatus.VERIFIED
        return is_verified and self.usable_from is not None and self.usable_from <= now

    def is_new(self, now: datetime) -> bool:
        """Whether it can be stopped before anything is sent to it."""
        return self.may_be_stopped and (self.usable_from is None or self.usable_from > now)

    def has_replaced(self, now: datetime) -> bool:
        """Whether another account is out of use because of this one."""
        return self.replaces is not None and self.usable_from is not None and self.usable_from <= now

    def may_be_sent_to(self, now: datetime) -> bool:
        """Whether a settlement that was requested may still go there: also if another account has replaced it."""
        is_verified = self.stored_status is BankAccountStatus.VERIFIED
        return is_verified and self.usable_from is not None and self.usable_from <= now


def named_account(account: BankAccount) -> NamedBankAccount:
    """As notices name it."""
    return NamedBankAccount(account.id, bank_name(account.bic), account.account_number, account.holder_name)


def default_account(accounts: list[BankAccount], now: datetime) -> BankAccount | None:
    """Where a settlement goes that names no account: the one that could be used last."""
    usable = [each for each in accounts if each.is_usable(now)]
    return max(usable, key=lambda each: (each.usable_from, each.id), default=None)
