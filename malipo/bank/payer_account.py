"""Our own bank accounts, from which settlements are paid. Pure.

How the bank wants its files, and how its tables are read, is a part of the account: two operators agree on all of it.
"""

import re
import tomllib
from enum import StrEnum
from functools import cache
from importlib import resources

import msgspec

from malipo.bank_formats import payout_csv
from malipo.bank_formats.bank_text import is_bank_text
from malipo.errors import Code, Invalid
from malipo.network_statements import profile as profiles
from malipo.network_statements.profile import StatementProfile

ID_PREFIX = "pya_"
_BIC = re.compile(r"[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?", re.ASCII)
_NUMBER = re.compile(r"[A-Za-z0-9/\-]{5,34}", re.ASCII)
_MOST_NAME = 70
_MOST_LAYOUT = 20_000


class FileFormat(StrEnum):
    PAIN001 = "pain.001"
    CSV = "csv"


class PayerAccountRefusal(Code):
    BIC = "payer_account_bic"
    NUMBER = "payer_account_number"
    NAME = "payer_account_name"
    LAYOUT = "payer_account_layout"
    STATEMENT_LAYOUT = "payer_account_statement_layout"
    NO_SUCH = "payer_account_unknown"
    SEVERAL = "payer_account_several"
    SAME = "payer_account_same"


class PayerAccount(msgspec.Struct, frozen=True, kw_only=True):
    bic: str
    number: str  # as text: letters and leading zeros occur
    name: str  # of the account's holder, as the bank knows it
    format: FileFormat = FileFormat.PAIN001
    payout_layout: str = ""  # TOML, of a CSV file; nothing: malipo's own
    statement_layout: str = ""  # TOML, of a statement that is a table; nothing: malipo's own
    books_one_sum: bool | None = None  # what the bank is asked for; None: as agreed with it
    urgent_above: int | None = None  # transfers above this amount go by the real-time rail
    id: str = ""  # before it is stored: none

    @property
    def csv_layout(self) -> payout_csv.PayoutLayout:
        return payout_csv.decode(self.payout_layout or payout_csv.generic())

    @property
    def statement_profile(self) -> StatementProfile:
        return statement_profile(self.statement_layout)


def statement_profile(layout: str) -> StatementProfile:
    """How a statement that is a table is read."""
    return profiles.decode("bank", layout or generic_layout())


@cache
def generic_layout() -> str:
    """The layout of a bank's table that comes with malipo."""
    return resources.files("malipo.bank").joinpath("statement_layouts", "generic.toml").read_text("utf-8")


def check(account: PayerAccount) -> PayerAccount:
    """Refuse an account whose files a bank would refuse, or whose statements could not be read."""
    if not _BIC.fullmatch(account.bic):
        raise Invalid(code=PayerAccountRefusal.BIC, bic=account.bic[:20])
    if not _NUMBER.fullmatch(account.number):
        raise Invalid(code=PayerAccountRefusal.NUMBER)
    if not is_bank_text(account.name) or len(account.name) > _MOST_NAME:
        raise Invalid(code=PayerAccountRefusal.NAME, most=_MOST_NAME)
    if max(len(account.payout_layout), len(account.statement_layout)) > _MOST_LAYOUT:
        raise Invalid(code=PayerAccountRefusal.LAYOUT, most=_MOST_LAYOUT)
    _ = account.csv_layout
    try:
        _ = account.statement_profile
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, re.error, ValueError) as error:
        raise Invalid(code=PayerAccountRefusal.STATEMENT_LAYOUT, why=str(error)) from None
    return account


def plain_number(number: str) -> str:
    """A number as statements compare it: some banks write it with spaces."""
    return "".join(number.split()).upper()
