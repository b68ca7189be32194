"""Summary vouchers as QuickBooks imports journal entries: CSV with these columns, and dates with the month first. Pure.

An account is named with the one that it is a part of before it: `Floats at networks:M-Pesa`.
"""

from malipo.books.formats.journal_format import JournalWords
from malipo.books.vouchers import Voucher
from malipo.table_files.csv_export import csv_lines

COLUMNS = ("Journal No", "Journal Date", "Account Name", "Description", "Debits", "Credits")


class QuickBooksVouchers:
    def __init__(self, words: JournalWords) -> None:
        self._words = words

    def begin(self) -> str:
        return csv_lines([COLUMNS])

    def voucher(self, voucher: Voucher) -> str:
        return csv_lines(
            (
                voucher.number,
                f"{voucher.day:%m/%d/%Y}",
                ":".join(self._words.name_of(line.account)),
                self._words.of_voucher(is_opening=voucher.is_opening),
                line.amount if line.amount > 0 else "",
                -line.amount if line.amount < 0 else "",
            )
            for line in voucher.lines
        )

    def end(self) -> str:
        return ""
