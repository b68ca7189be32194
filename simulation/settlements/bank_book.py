"""The bank's own book of a run, and what it says about each of our keys: nobody in malipo sees this."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date

from malipo_simulator.bank.bank import Bank, BankEntry


@dataclass
class KeysBook:
    """What the bank has booked under one EndToEndId."""

    debits: list[tuple[str, int]] = field(default_factory=list)  # the MsgId of its file, and the cents
    returns: list[int] = field(default_factory=list)  # cents

    @property
    def files(self) -> set[str]:
        return {message_id for message_id, _ in self.debits}

    @property
    def is_paid(self) -> bool:
        return bool(self.debits)

    @property
    def is_back(self) -> bool:
        return bool(self.returns)


def by_key(bank: Bank, until: date | None = None) -> dict[str, KeysBook]:
    """`until`: what was booked later does not count."""
    found: dict[str, KeysBook] = {}
    for each in transfers_of(bank):
        if until is not None and each.day > until:
            continue
        book = found.setdefault(each.end_to_end, KeysBook())
        if each.is_return:
            book.returns.append(each.cents)
        else:
            book.debits.append((each.message_id, -each.cents))
    return found


def transfers_of(bank: Bank) -> Iterator[BankEntry]:
    """What was booked of files, each transfer of a sum by itself."""
    for entry in bank.entries:
        for each in entry.parts or (entry,):
            if each.end_to_end:
                yield each


def paid_by_two_files(bank: Bank) -> dict[str, set[str]]:
    """Keys that were paid from more than one file of ours. A file that is handed in twice by mistake is one: that is
    looked for apart, by `times_handed_in`."""
    return {key: each.files for key, each in by_key(bank).items() if len(each.files) > 1}


def refused_keys(bank: Bank) -> set[str]:
    """What the bank's answers list as refused, of files that it has otherwise taken."""
    return {key for file in bank.files for key in file.refused}


def times_handed_in(bank: Bank) -> Counter[str]:
    """How often the bank has booked each file, by its MsgId."""
    return Counter(each.message_id for each in bank.files if each.booked_on is not None)
