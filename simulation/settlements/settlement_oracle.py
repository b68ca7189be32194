"""What must be true of settlements when the days after a run are over: by the bank's own book, by what merchants were
told, and by the ledger.

The bank pays a file that is handed in twice, twice: that is the mistake of people, and must be shown to them. But no
key may be paid from two files of ours, whatever was restored meanwhile; and no file may be handed in again because a
restored database says that nobody has downloaded it.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from malipo_simulator.bank.bank import Bank
from simulation.blocking_connection import BlockingConnection
from simulation.settlements.bank_book import (
    KeysBook,
    by_key,
    paid_by_two_files,
    refused_keys,
    times_handed_in,
    transfers_of,
)
from simulation.settlements.merchant_settlements import SettlementReplies
from simulation.settlements.planned import PlannedSettlement

_SETTLEMENTS = """
    SELECT merchant_id, id, key, reference, status, amount, fee, bank_reference FROM settlements ORDER BY id
"""
# Of the bank's lines that nobody has decided about, what each would move, in cents.
_OPEN = """
    SELECT e.kind, b.key, b.message_id, b.cents FROM bank_exceptions e JOIN bank_lines b ON b.id = e.line_id
    WHERE e.resolved_at IS NULL ORDER BY e.id
"""
# What has left our account at the bank is on the account `bank`.
_BOOKED = """
    SELECT coalesce((
        SELECT sum(CASE WHEN target = 'bank' THEN -amount ELSE amount END) FROM moves m
        WHERE 'bank' IN (source, target) AND EXISTS (SELECT FROM settlements s WHERE s.id = m.cause_id)), 0) * 100
      + coalesce((
        SELECT sum(CASE WHEN target = 'bank' THEN -amount ELSE amount END * 100 + cents) FROM house_bookings
        WHERE 'bank' IN (source, target)), 0)
"""
_IN_SETTLEMENT = """
    SELECT coalesce(sum(CASE WHEN target = 'in_settlement' THEN amount ELSE -amount END), 0) FROM moves
    WHERE 'in_settlement' IN (source, target)
"""
_WAITS = ("REQUESTED", "SENT")

Find = Callable[..., None]


@dataclass(frozen=True)
class SettlementRow:
    merchant_id: str
    id: str
    key: str
    reference: str
    status: str
    amount: int
    fee: int
    bank_reference: str = ""


@dataclass(frozen=True)
class OpenLine:
    """A line of the bank that waits for operators."""

    kind: str
    key: str
    message_id: str
    cents: int


def find_rows(look: BlockingConnection) -> list[SettlementRow]:
    return [
        SettlementRow(
            merchant_id=str(merchant_id),
            id=str(id_),
            key=str(key),
            reference=str(reference),
            status=str(status),
            amount=int(amount or 0),
            fee=int(fee or 0),
            bank_reference=str(bank_reference or ""),
        )
        for merchant_id, id_, key, reference, status, amount, fee, bank_reference in look.ask(_SETTLEMENTS)
    ]


def find_open_lines(look: BlockingConnection) -> list[OpenLine]:
    return [
        OpenLine(kind=str(kind), key=key or "", message_id=message_id or "", cents=int(cents or 0))
        for kind, key, message_id, cents in look.ask(_OPEN)
    ]


def check(
    look: BlockingConnection,
    bank: Bank,
    requests: Sequence[PlannedSettlement],
    told: Mapping[int, SettlementReplies],
    *,
    until: date,
    twice_by_mistake: Collection[str],
    is_in_lost_time: Callable[[float], bool],
    is_kept: Callable[[float, float], bool],
    find: Find,
) -> None:
    """`until`: the last day of the bank that was imported. `twice_by_mistake`: MsgIds of files that the seed has people
    hand in twice."""
    rows, open_ = find_rows(look), find_open_lines(look)
    book = by_key(bank, until)
    for key, files in sorted(paid_by_two_files(bank).items()):
        find("settled-twice", f"{key} was paid from {len(files)} files: {sorted(files)}")
    for message_id, times in sorted(times_handed_in(bank).items()):
        if times > (2 if message_id in twice_by_mistake else 1):
            find("settled-twice", f"the bank has booked the file {message_id} {times} times")
    for wanted in requests:
        check_wish(wanted, told[wanted.number], rows, book, is_in_lost_time=is_in_lost_time, is_kept=is_kept, find=find)
    repeated = {
        (each.reference, -each.cents)
        for each in transfers_of(bank)
        if not each.is_return and each.day <= until and len(book[each.end_to_end].debits) > 1
    }
    for row in rows:
        # Operators have adopted another debit of a settlement that had come back: it has a key of its own.
        if row.key not in book and any((row.bank_reference, cents) in repeated for cents in cents_of(row)):
            continue
        if (what := what_is_wrong(row, book.get(row.key), open_, is_refused=row.key in refused_keys(bank))) is not None:
            find("settlement", f"{row.reference} is {row.status}, and {what}")
    known = {row.key for row in rows}
    for key, of_key in sorted(book.items()):
        if of_key.is_paid and key not in known and not is_shown(key, of_key, open_):
            find("settlement", f"the bank has paid {key}, which nobody knows and nobody is shown")
    _check_sums(look, sum(each.cents for each in bank.entries if each.day <= until), rows, open_, find)


def check_wish(
    wanted: PlannedSettlement,
    told: SettlementReplies,
    rows: Sequence[SettlementRow],
    book: Mapping[str, KeysBook],
    *,
    is_in_lost_time: Callable[[float], bool],
    is_kept: Callable[[float, float], bool],
    find: Find,
) -> None:
    """One wish of a merchant is paid once, is not lost, and is not paid once its merchant was told that it is
    cancelled."""
    for trouble in told.troubles:
        find("broke", f"{wanted.key}: {trouble}")
    there = {row.id: row for row in rows}
    for id_, at in zip(told.ids, told.acknowledged_at, strict=True):
        if id_ not in there and not is_in_lost_time(at):
            find("lost", f"{wanted.key} was acknowledged as {id_}, which is not there")
    # A reference ends with the key, after the prefix of the installation.
    keys = {each.rpartition("-")[2] for each in told.references}
    paid = {key for key in keys if key in book and book[key].is_paid}
    if len(paid) > 1:
        find("settled-twice", f"{wanted.key} was paid under {sorted(paid)}")
    kept = {id_ for id_, at in zip(told.ids, told.acknowledged_at, strict=True) if not is_in_lost_time(at)}
    if len(kept) > 1:
        find("doubled", f"{wanted.key} was answered with {sorted(kept)}")
    if paid and any(is_kept(*each) for each in told.cancelled):
        find("cancelled", f"{wanted.key} was paid, and its merchant was told that it is cancelled")


def is_shown(key: str, book: KeysBook, open_: Collection[OpenLine]) -> bool:
    """Whether a line waits for operators that names the key, or is the sum of a file with it."""
    names = {key, *book.files}
    return any(names & {each.key, each.message_id} for each in open_)


def what_is_wrong(
    row: SettlementRow, book: KeysBook | None, open_: Collection[OpenLine], *, is_refused: bool
) -> str | None:
    """How a settlement contradicts the bank's book, whose every day was imported; None: it does not. A line that waits
    for operators names what it contradicts."""
    if any(each.key == row.key for each in open_):
        return None
    if row.status in _WAITS and book is not None and is_shown(row.key, book, open_):
        return None  # The bank has booked a lost file as one sum, which operators can adopt with all of it only.
    is_paid, is_back = book is not None and book.is_paid, book is not None and book.is_back
    expected = is_paid and cents_of(row) != {cents for _, cents in (book.debits if book else ())}
    if expected and row.status in ("COMPLETED", "RETURNED"):
        return f"the bank has paid {book}"
    match row.status:
        case "COMPLETED" if not is_paid:
            return "the bank has not paid it"
        case "COMPLETED" if is_back:
            return "the bank has given it back"
        case "RETURNED" if not (is_refused or (is_paid and is_back)):
            return "the bank has neither refused it nor given it back"
        case "REQUESTED" | "SENT" | "CANCELLED" if is_paid:
            return "the bank has paid it"
    return None


def cents_of(row: SettlementRow) -> set[int]:
    """What its debit must be."""
    return {(row.amount - row.fee) * 100}


def _check_sums(
    look: BlockingConnection, moved: int, rows: Sequence[SettlementRow], open_: Sequence[OpenLine], find: Find
) -> None:
    [[booked]] = look.ask(_BOOKED)
    waiting = sum(each.cents for each in open_)
    if moved != round(float(booked or 0)) + waiting:
        find("settlement", f"the bank moved {moved} cents; the ledger says {booked}, and {waiting} wait for operators")
    [[held]] = look.ask(_IN_SETTLEMENT)
    expected = sum(row.amount for row in rows if row.status in _WAITS)
    if int(held or 0) != expected:
        find("settlement", f"{held} are in settlement, and {expected} are not paid yet")
