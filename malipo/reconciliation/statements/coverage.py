"""Which times are covered by complete statements. Pure.

Only in such a time does what is not in a statement say anything: a file may be missing, or a day in the middle.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

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
