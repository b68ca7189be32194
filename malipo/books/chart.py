"""The chart of accounts: which account of the books each account of the ledger is. Pure.

The ledger counts what the house owes or has earned above zero (`ledger/accounts.py`). Books count the other way round:
a debit is positive, so assets and expenses are above zero, and liabilities, equity and income below. The names of the
accounts in words: `words/books.py`.
"""

import re
from enum import StrEnum
from functools import lru_cache

import msgspec

from malipo.errors import Code, Conflict

LATE = "late"  # instead of a merchant, for late moves of a closed day that cannot be separated


class AccountType(StrEnum):
    ASSET = "asset"
    LIABILITY = "liability"
    EQUITY = "equity"
    INCOME = "income"
    EXPENSE = "expense"


class Division(StrEnum):
    """What an account is divided into."""

    WHOLE = "whole"
    CHANNEL = "channel"
    MERCHANT = "merchant"


class ChartAccount(msgspec.Struct, frozen=True):
    code: str
    account: str  # of the ledger
    type: AccountType
    path: str  # as beancount and hledger call it: a change would break the files that accountants keep
    division: Division = Division.WHOLE


CHART = (
    ChartAccount("1010", "bank", AccountType.ASSET, "Assets:Bank"),
    ChartAccount("1020", "float", AccountType.ASSET, "Assets:Floats", Division.CHANNEL),
    ChartAccount("2010", "wallet", AccountType.LIABILITY, "Liabilities:Wallets", Division.MERCHANT),
    ChartAccount("2020", "in_flight", AccountType.LIABILITY, "Liabilities:InFlight", Division.MERCHANT),
    ChartAccount("2030", "in_settlement", AccountType.LIABILITY, "Liabilities:InSettlement", Division.MERCHANT),
    ChartAccount("2040", "suspense", AccountType.LIABILITY, "Liabilities:Suspense"),
    ChartAccount("2050", "vat", AccountType.LIABILITY, "Liabilities:VAT"),
    ChartAccount("3010", "equity", AccountType.EQUITY, "Equity:Opening"),
    ChartAccount("4010", "fees", AccountType.INCOME, "Income:Fees"),
    ChartAccount("4020", "interest", AccountType.INCOME, "Income:Interest"),
    ChartAccount("4030", "other_income", AccountType.INCOME, "Income:Other"),
    ChartAccount("4090", "rounding", AccountType.INCOME, "Income:Rounding"),
    ChartAccount("5010", "network_fees", AccountType.EXPENSE, "Expenses:NetworkFees"),
    ChartAccount("5020", "losses", AccountType.EXPENSE, "Expenses:Losses"),
    ChartAccount("5030", "bank_charges", AccountType.EXPENSE, "Expenses:BankCharges"),
    ChartAccount("5040", "taxes", AccountType.EXPENSE, "Expenses:Taxes"),
)
BY_ACCOUNT = {each.account: each for each in CHART}
OF_MERCHANTS = [each.account for each in CHART if each.division is Division.MERCHANT]

_NOT_IN_PATHS = re.compile("[^A-Za-z0-9-]")


class ChartRefusal(Code):
    UNKNOWN_ACCOUNT = "books_unknown_account"


class SubAccount(msgspec.Struct, frozen=True, order=True):
    """An account of the books: of one merchant or one channel, where the chart divides it."""

    code: str
    account: str
    of: str = ""

    @property
    def path(self) -> str:
        return _path_of(self.account, self.of)

    @property
    def whole(self) -> "SubAccount":
        return sub_account(self.account)


def chart_account(account: str) -> ChartAccount:
    """The account of the books. A newer version may have written moves of an account that this one does not have."""
    if (found := BY_ACCOUNT.get(account)) is None:
        raise Conflict(code=ChartRefusal.UNKNOWN_ACCOUNT, account=account)
    return found


@lru_cache(maxsize=4096)
def sub_account(account: str, of: str = "") -> SubAccount:
    return SubAccount(chart_account(account).code, account, of)


def part_of(account: str, *, merchant_id: str, channel: str | None) -> SubAccount:
    """The part of an account that a move of this merchant and channel touches."""
    match chart_account(account).division:
        case Division.CHANNEL:
            return sub_account(account, channel or "")
        case Division.MERCHANT:
            return sub_account(account, merchant_id)
        case Division.WHOLE:
            return sub_account(account)


@lru_cache(maxsize=4096)
def _path_of(account: str, of: str) -> str:
    """`Liabilities:Wallets:Mer-01k…`: a component begins with a capital letter, and has letters, digits and hyphens."""
    path = chart_account(account).path
    if not of:
        return path
    name = _NOT_IN_PATHS.sub("-", of)
    return f"{path}:{name[0].upper()}{name[1:]}"
