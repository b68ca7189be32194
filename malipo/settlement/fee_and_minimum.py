"""The fee and the least of settlements, and what can be settled of a wallet. Pure."""

from dataclasses import dataclass
from datetime import timedelta

from malipo.ledger.wallet import Wallet
from malipo.money import LARGEST, MIN_PAYMENT
from malipo.settings import Settings

LARGEST_AMOUNT = LARGEST // 1_000_000  # of one settlement: what its column holds, with room for sums


@dataclass(frozen=True, slots=True)
class SettlementTerms:
    reference_prefix: str
    fee: int  # of one settlement, within its amount
    waits: timedelta  # of a bank account, after it was verified

    @classmethod
    def of(cls, settings: Settings) -> "SettlementTerms":
        return cls(
            settings.reference_prefix, settings.settlement_fee, timedelta(hours=settings.bank_account_wait_hours)
        )

    @property
    def least(self) -> int:
        """The smallest settlement: the bank gets as much as the smallest payment."""
        return MIN_PAYMENT + self.fee

    def reference_of(self, key: str) -> str:
        return f"{self.reference_prefix}-{key}"


def whole_amount(wallet: Wallet, keep: int) -> int:
    """What can be settled without an amount: all that can be spent, less what stays."""
    return max(wallet.spendable - keep, 0)
