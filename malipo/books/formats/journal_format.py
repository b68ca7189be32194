"""What each format of the journal does. The words come from the door that writes the file. Pure."""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from malipo.books.chart import SubAccount
from malipo.books.entry import Entry, EntryKind
from malipo.books.read_journal import ClosingBalances, Period
from malipo.books.vouchers import Voucher


class JournalWords(msgspec.Struct, frozen=True):
    """The words of a file: names of accounts and kinds of entries, and the names of merchants and channels."""

    accounts: Mapping[str, str]
    entries: Mapping[EntryKind, str]
    parts: Mapping[str, str]
    title: str
    closing: str  # of the entry that states the balances of a closed day
    voucher: str  # of a day's summary

    def name_of(self, account: SubAccount) -> list[str]:
        """The name of the account, and that of its part."""
        return [self.accounts[account.account], *([self.parts.get(account.of, account.of)] if account.of else [])]

    def of_voucher(self, *, is_opening: bool) -> str:
        return self.entries[EntryKind.OPENING] if is_opening else self.voucher


class JournalFormat(Protocol):
    """Each method returns text; the file is what they return, in the order in which the journal is read."""

    def begin(self, period: Period) -> str: ...

    def entry(self, entry: Entry) -> str: ...

    def closing(self, closing: ClosingBalances) -> str: ...


class VoucherFormat(Protocol):
    """The same for summary vouchers."""

    def begin(self) -> str: ...

    def voucher(self, voucher: Voucher) -> str: ...

    def end(self) -> str: ...
