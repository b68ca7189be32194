"""What each format of the journal does. The words come from the door that writes the file. Pure."""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from malipo.books.entry import Entry, EntryKind
from malipo.books.read_journal import ClosingBalances, Period


class JournalWords(msgspec.Struct, frozen=True):
    """The words of a file: names of accounts and kinds of entries, and the names of merchants and channels."""

    accounts: Mapping[str, str]
    entries: Mapping[EntryKind, str]
    parts: Mapping[str, str]
    title: str
    closing: str  # of the entry that states the balances of a closed day


class JournalFormat(Protocol):
    """Each method returns text; the file is what they return, in the order in which the journal is read."""

    def begin(self, period: Period) -> str: ...

    def entry(self, entry: Entry) -> str: ...

    def closing(self, closing: ClosingBalances) -> str: ...
