"""Which times are covered by complete statements. Pure.

Only in such a time does what is not in a statement say anything: a file may be missing, or a day in the middle.
"""

from collections.abc import Iterable
from datetime import date, datetime, time, timedelta

from malipo import clock, ids
from malipo.reconciliation.statements.statement_file import StatementFile

# A network may book a payment some hours after it has reported it. One that is open may still be paid for a while.
AFTER_END = timedelta(hours=6)
AFTER_SENDING = timedelta(hours=24)

Span = tuple[datetime, datetime]


def spans_of(files: Iterable[StatementFile]) -> list[Span]:
    """The times that files of one account cover without a gap: each adds up, and its balance follows from the one
    before."""
    whole = [each for each in files if each.is_whole and each.begins_at is not None and each.ends_at is not None]
    whole.sort(key=lambda each: (each.begins_at, each.ends_at))
    spans: list[Span] = []
    last: StatementFile | None = None
    for file in whole:
        assert file.begins_at is not None
        assert file.ends_at is not None
        if last is not None and _continues(last, file):
            spans[-1] = (spans[-1][0], max(spans[-1][1], file.ends_at))
        else:
            spans.append((file.begins_at, file.ends_at))
        if last is None or last.ends_at is None or file.ends_at >= last.ends_at:
            last = file
    return spans


def covered_by_all(accounts: Iterable[Iterable[Span]]) -> list[Span]:
    """The times that every account of a channel covers: a payment may be in any of them."""
    common: list[Span] | None = None
    for spans in accounts:
        spans = list(spans)
        common = (
            spans
            if common is None
            else [
                (max(a[0], b[0]), min(a[1], b[1])) for a in common for b in spans if max(a[0], b[0]) < min(a[1], b[1])
            ]
        )
    return common or []


def _continues(before: StatementFile, file: StatementFile) -> bool:
    """It overlaps the one before it, or opens with the balance that the one before it closes with."""
    assert file.begins_at is not None
    assert before.ends_at is not None
    return file.begins_at < before.ends_at or (file.opening, file.opening_cents) == (
        before.closing,
        before.closing_cents,
    )


# Which payments can be in a statement: those that were made in the days before its lines. Pure.
#
# An id begins with its time, so a range of time is a range of ids, and no index of receipts is needed.


# A payment is sent soon after it was made, unless its network was away, or was on hold.
BEFORE = timedelta(days=3)
# Clocks differ.
AFTER = timedelta(hours=1)
# A payment like that of a line was made at most so long before the line's time, by a network's clock.
NEAR = timedelta(minutes=15)

Window = tuple[datetime, datetime]


def payment_times(days: Iterable[date]) -> list[Window]:
    """The times in which payments of these days were made."""
    begins = [datetime.combine(day, time(), clock.ZONE) for day in days]
    return merged((each - BEFORE, each + timedelta(days=1) + AFTER) for each in begins)


def merged(windows: Iterable[Window]) -> list[Window]:
    """The same times without overlaps, so that no payment is read twice."""
    found: list[Window] = []
    for first, last in sorted(windows):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


def ids_of(windows: Iterable[Window]) -> tuple[list[str], list[str]]:
    """The first and the last id of a payment in each."""
    found = [*windows]
    return (
        [ids.first_of("txn_", clock.milliseconds(first)) for first, _ in found],
        [ids.last_of("txn_", clock.milliseconds(last)) for _, last in found],
    )
