"""The journal as an hledger file, which `hledger check --strict` accepts; ledger-cli reads it too. Pure.

A closed day's balances are asserted by an entry of nothing at the end of the day. Sums of accounts that are divided
(all wallets, all floats) are those that the close has signed.
"""

from malipo.books.chart import CHART, SubAccount
from malipo.books.entry import Entry
from malipo.books.formats.journal_format import JournalWords
from malipo.books.read_journal import ClosingBalances, Period
from malipo.money import CURRENCY

_NOT_IN_COMMENTS = str.maketrans({",": " ", ";": " ", ":": " ", "|": " "})


class HledgerJournal:
    def __init__(self, words: JournalWords) -> None:
        self._words = words
        self._declared: set[SubAccount] = set()

    def begin(self, period: Period) -> str:
        lines = [f"; {_plain(self._words.title)}", f"commodity {CURRENCY} 1000.", "decimal-mark ."]
        lines += [f"account {each.path}  ; {each.code} {_plain(self._words.accounts[each.account])}" for each in CHART]
        return "\n".join(lines) + "\n\n"

    def entry(self, entry: Entry) -> str:
        lines = [declared for line in entry.lines for declared in self._declaring(line.account)]
        lines.append(f"{entry.day} * {_plain(self._words.entries[entry.kind])}{_about(entry)}")
        lines += [f"    {line.account.path}  {CURRENCY} {line.amount}" for line in entry.lines]
        return "\n".join(lines) + "\n\n"

    def closing(self, closing: ClosingBalances) -> str:
        lines = [f"{closing.day} * {_plain(self._words.closing)}"]
        for account, amount in closing.balances.items():
            if account.of:
                lines.append(f"    {account.path}  {CURRENCY} 0 = {CURRENCY} {amount}")
        for each in CHART:
            amount = -sum(sum_ for name, sum_ in closing.signed.items() if name.partition(" ")[0] == each.account)
            lines.append(f"    {each.path}  {CURRENCY} 0 =* {CURRENCY} {amount}")
        return "\n".join(lines) + "\n\n"

    def _declaring(self, account: SubAccount) -> list[str]:
        if not account.of or account in self._declared:
            return []
        self._declared.add(account)
        return [f"account {account.path}  ; {account.code} {_plain(self._words.parts.get(account.of, account.of))}"]


def _about(entry: Entry) -> str:
    about = {
        "id": entry.id,
        "reference": entry.reference,
        "receipt": entry.receipt,
        "late-of": str(entry.late_of or ""),
        "refund-of": entry.refund_of,
        "adopted": "yes" if entry.is_adopted else "",
        "evidence": entry.evidence,
    }
    tags = ", ".join(f"{name}:{_plain(value)}" for name, value in about.items() if value)
    return f"  ; {tags}" if tags else ""


def _plain(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text).translate(_NOT_IN_COMMENTS)
