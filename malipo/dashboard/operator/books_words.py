"""The words of the books in the language of who reads them: names of accounts, kinds of entries."""

from malipo.books.entry import EntryKind
from malipo.dashboard.language import Translator
from malipo.words import books

SENTENCES = [*books.ACCOUNTS.values(), *books.ENTRIES.values(), *books.TYPES.values()]
SENTENCES += [*books.SUSPENSE_CAUSES.values()]
SENTENCES += [books.TITLE, books.CLOSING, books.LATE_PART, books.VOUCHER]


def account_names(words: Translator) -> dict[str, str]:
    return {account: words(name) for account, name in books.ACCOUNTS.items()}


def entry_names(words: Translator) -> dict[EntryKind, str]:
    return {kind: words(name) for kind, name in books.ENTRIES.items()}
