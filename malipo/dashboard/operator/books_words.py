"""The words of the books in the language of who reads them: names of accounts, kinds of entries."""

from collections.abc import Mapping

from malipo.books.chart import LATE
from malipo.books.entry import EntryKind
from malipo.books.formats.journal_format import JournalWords
from malipo.books.read_journal import Period
from malipo.dashboard.invoice_words import document_words
from malipo.dashboard.language import Translator
from malipo.http.accept_language import Language
from malipo.month_end.archive import ArchiveWords
from malipo.networks.channel_names_and_prefixes import PROFILES
from malipo.words import books

SENTENCES = [*books.ACCOUNTS.values(), *books.ENTRIES.values(), *books.TYPES.values()]
SENTENCES += [*books.SUSPENSE_CAUSES.values()]
SENTENCES += [books.TITLE, books.CLOSING, books.LATE_PART, books.VOUCHER]


def account_names(words: Translator) -> dict[str, str]:
    return {account: words(name) for account, name in books.ACCOUNTS.items()}


def entry_names(words: Translator) -> dict[EntryKind, str]:
    return {kind: words(name) for kind, name in books.ENTRIES.items()}


def part_names(merchants: Mapping[str, str], words: Translator) -> dict[str, str]:
    """The names of merchants and channels."""
    channels = {str(channel): profile.name for channel, profile in PROFILES.items()}
    return {**merchants, **channels, LATE: words(books.LATE_PART)}


def journal_words(period: Period, merchants: Mapping[str, str], words: Translator) -> JournalWords:
    """`merchants`: their names, by their ids."""
    return JournalWords(
        accounts=account_names(words),
        entries=entry_names(words),
        parts=part_names(merchants, words),
        title=words(books.TITLE, first=period.first, last=period.last),
        closing=words(books.CLOSING),
        voucher=words(books.VOUCHER),
    )


def archive_words(period: Period, merchants: Mapping[str, str], company: str | None) -> ArchiveWords:
    """In English, as the closes in it are: the archive is the same to the byte, whoever makes it."""
    words = Translator(Language.ENGLISH)
    types = {str(type_): words(name) for type_, name in books.TYPES.items()}
    said = journal_words(period, merchants, words)
    return ArchiveWords(said, types, company, lambda invoice: document_words(invoice, words))
