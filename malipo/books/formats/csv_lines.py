"""The journal as CSV: a row for each line of an entry, debit and credit in columns of their own. Pure."""

from malipo import clock
from malipo.books.entry import Entry
from malipo.books.formats.journal_format import JournalWords
from malipo.books.read_journal import ClosingBalances, Period
from malipo.table_files.csv_export import csv_lines

COLUMNS = (
    "date",
    "entry",
    "kind",
    "accountCode",
    "account",
    "of",
    "ofName",
    "debit",
    "credit",
    "description",
    "reference",
    "receipt",
    "lateOf",
    "refundOf",
    "isAdopted",
    "evidence",
    "merchantId",
    "time",
)


class CsvJournal:
    """It states no balances: CSV has no line for them."""

    def __init__(self, words: JournalWords) -> None:
        self._words = words

    def begin(self, period: Period) -> str:
        return csv_lines([COLUMNS])

    def entry(self, entry: Entry) -> str:
        words, day = self._words, entry.day.isoformat()
        late_of = entry.late_of.isoformat() if entry.late_of else ""
        adopted = "yes" if entry.is_adopted else ""
        about = (entry.reference, entry.receipt, late_of, entry.refund_of, adopted, entry.evidence)
        at = clock.iso(entry.at) if entry.at else ""
        return csv_lines(
            (
                day,
                entry.id,
                entry.kind,
                line.account.code,
                words.accounts[line.account.account],
                line.account.of,
                words.parts.get(line.account.of, ""),
                line.amount if line.amount > 0 else "",
                -line.amount if line.amount < 0 else "",
                words.entries[entry.kind],
                *(*about, entry.merchant_id, at),
            )
            for line in entry.lines
        )

    def closing(self, closing: ClosingBalances) -> str:
        return ""
