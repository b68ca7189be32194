"""The journal as a beancount file, which `bean-check` accepts. Pure.

A balance holds at the beginning of its day, so a closed day's are dated the next one. Sums of accounts that are divided
(all wallets, all floats) are those that the close has signed.
"""

from datetime import date, timedelta

from malipo.books.chart import CHART, SubAccount
from malipo.books.entry import Entry
from malipo.books.formats.journal_format import JournalWords
from malipo.books.read_journal import ClosingBalances, Period
from malipo.money import CURRENCY


class BeancountJournal:
    def __init__(self, words: JournalWords) -> None:
        self._words = words
        self._opened: set[SubAccount] = set()
        self._first = date.min

    def begin(self, period: Period) -> str:
        self._first = period.first
        lines = [
            f'option "title" {_quoted(self._words.title)}',
            f'option "operating_currency" "{CURRENCY}"',
            f"{period.first} commodity {CURRENCY}",
        ]
        for each in CHART:
            lines += self._open(each.path, each.code, self._words.accounts[each.account])
        return "\n".join(lines) + "\n"

    def entry(self, entry: Entry) -> str:
        lines = [opened for line in entry.lines for opened in self._opening(line.account)]
        link = f" ^{entry.id.partition(' ')[0]}" if entry.id else ""
        lines.append(f"{entry.day} * {_quoted(self._words.entries[entry.kind])}{link}")
        lines += [f"  {name}: {_quoted(value)}" for name, value in _about(entry) if value]
        if entry.late_of:
            lines.append(f"  late-of: {entry.late_of}")
        lines += [f"  {line.account.path}  {line.amount} {CURRENCY}" for line in entry.lines]
        return "\n".join(lines) + "\n"

    def closing(self, closing: ClosingBalances) -> str:
        lines, day = [], closing.day + timedelta(days=1)
        for account, amount in closing.balances.items():
            if account.of:
                lines.append(f"{day} balance {account.path}  {amount} {CURRENCY}\n")
        for each in CHART:
            amount = -sum(sum_ for name, sum_ in closing.signed.items() if name.partition(" ")[0] == each.account)
            lines.append(f"{day} balance {each.path}  {amount} {CURRENCY}\n")
        return "".join(lines)

    def _opening(self, account: SubAccount) -> list[str]:
        if not account.of or account in self._opened:
            return []
        self._opened.add(account)
        return self._open(account.path, account.code, self._words.parts.get(account.of, account.of))

    def _open(self, path: str, code: str, name: str) -> list[str]:
        return [f"{self._first} open {path} {CURRENCY}", f'  code: "{code}"', f"  name: {_quoted(name)}"]


def _about(entry: Entry) -> list[tuple[str, str]]:
    return [
        ("reference", entry.reference),
        ("receipt", entry.receipt),
        ("refund-of", entry.refund_of),
        ("adopted", "yes" if entry.is_adopted else ""),
        ("evidence", entry.evidence),
    ]


def _quoted(text: str) -> str:
    shown = "".join(each if each.isprintable() else " " for each in text)
    return '"' + shown.replace("\\", "\\\\").replace('"', '\\"') + '"'
