"""Writes the journal of a period, and summary vouchers, as text: piece by piece, in any format."""

from collections.abc import AsyncIterator, Callable, Mapping
from datetime import date

from malipo.books.entry import Entry
from malipo.books.formats.beancount import BeancountJournal
from malipo.books.formats.csv_lines import CsvJournal
from malipo.books.formats.hledger import HledgerJournal
from malipo.books.formats.journal_format import JournalFormat, JournalWords, VoucherFormat
from malipo.books.formats.quickbooks import QuickBooksVouchers
from malipo.books.formats.tally import TallyVouchers
from malipo.books.read_journal import Period, read_journal
from malipo.books.vouchers import read_vouchers
from malipo.db import Conn

FORMATS: dict[str, Callable[[JournalWords], JournalFormat]] = {
    "csv": CsvJournal,
    "beancount": BeancountJournal,
    "hledger": HledgerJournal,
}
VOUCHERS: dict[str, Callable[[JournalWords], VoucherFormat]] = {
    "quickbooks": QuickBooksVouchers,
    "tally": TallyVouchers,
}
VOUCHER_ENDINGS = {"quickbooks": "csv", "tally": "xml"}


class JournalWriter:
    """What was written, and which closed days differ from their signed close, is known when all pieces are read."""

    def __init__(self, format_: JournalFormat, seen: Callable[[Entry], None] | None = None) -> None:
        self._format = format_
        self._seen = seen
        self.entries = 0
        self.lines = 0
        self.closed_days = 0
        self.differing: dict[date, Mapping[str, tuple[int, int]]] = {}

    async def pieces(self, connection: Conn, period: Period) -> AsyncIterator[str]:
        """The connection is a snapshot of the database."""
        yield self._format.begin(period)
        async for part in read_journal(connection, period):
            if isinstance(part, Entry):
                if self._seen is not None:
                    self._seen(part)
                self.entries += 1
                self.lines += len(part.lines)
                yield self._format.entry(part)
            else:
                self.closed_days += 1
                if part.differing:
                    self.differing[part.day] = part.differing
                yield self._format.closing(part)


class VoucherWriter:
    def __init__(self, format_: VoucherFormat) -> None:
        self._format = format_
        self.vouchers = 0

    async def pieces(self, connection: Conn, period: Period, *, with_opening: bool) -> AsyncIterator[str]:
        """Of closed days (`require_closed`)."""
        yield self._format.begin()
        async for voucher in read_vouchers(connection, period, with_opening=with_opening):
            self.vouchers += 1
            yield self._format.voucher(voucher)
        yield self._format.end()
