"""Refuses a statement before anything of it is booked, if it may be another account's or contradicts a known file."""

from collections.abc import Sequence
from datetime import datetime
from typing import NoReturn

from malipo import money
from malipo.db import Tx
from malipo.errors import Code, Conflict, Problem, Refusal
from malipo.network_statements.profile import StatementProfile
from malipo.reconciliation.imports.store import file_comparison as store
from malipo.reconciliation.matching.payment_times import ids_of, payment_times
from malipo.reconciliation.statements.statement_file import FETCHED_BY, StatementFile


class DoubtRefusal(Code):
    SAME_FILE = "statement_same_file"
    SAME_LINES = "statement_same_lines"
    MOST_LINES = "statement_most_lines"
    CONTRADICTS = "statement_contradicts"
    NOTHING_KNOWN = "statement_nothing_known"


class Difference(Code):
    """How two files differ about the same time."""

    OPENING = "difference_opening"
    CLOSING = "difference_closing"
    ONLY_NEW = "difference_only_new"
    ONLY_OTHER = "difference_only_other"
    BALANCE_AT = "difference_balance_at"
    OFFSET = "difference_offset"


class Stranger(Code):
    """Why no line of a file is known here, and what that can mean."""

    NO_PAYMENT = "stranger_no_payment"
    ANOTHER_ACCOUNT = "stranger_another_account"
    FIRST = "stranger_first"


class AgainstAnother(Conflict):
    """The file conflicts with a known file."""

    def __init__(
        self, code: DoubtRefusal, other: StatementFile, *, name: str, problems: Sequence[Problem] = ()
    ) -> None:
        super().__init__(
            code=code, problems=problems, name=name, other=other.name, other_id=other.id, where=other.named_account
        )
        self.other = other


class ImportedElsewhere(AgainstAnother):
    """The same file, or the same lines, were imported as another account's statement."""


class Disagrees(AgainstAnother):
    """Another file of the account differs about the same time."""


class NothingKnown(Refusal):
    """No line of the file is known here, so it may be another account's."""


def refuse_same_elsewhere(other: StatementFile) -> NoReturn:
    raise ImportedElsewhere(DoubtRefusal.SAME_FILE, other, name=other.name)


async def refuse_content_of_another(tx: Tx, file: StatementFile) -> StatementFile | None:
    """Refuse a file whose lines another account has, in a file with other bytes: their fees would be booked again. A
    file that the worker fetches belongs to the account whose credentials fetched it, so only another fetched file
    refuses it; if an operator's file has its lines, that file is returned."""
    only_by = FETCHED_BY if file.is_fetched else None
    if other := await store.find_with_a_line_of(tx, file, imported_by=only_by):
        raise ImportedElsewhere(DoubtRefusal.SAME_LINES, other, name=file.name)
    if other := await store.find_elsewhere(tx, file, imported_by=only_by):
        raise ImportedElsewhere(DoubtRefusal.MOST_LINES, other, name=file.name)
    if not file.is_fetched:
        return None
    return await store.find_with_a_line_of(tx, file) or await store.find_elsewhere(tx, file)


async def refuse_contradiction(tx: Tx, file: StatementFile) -> None:
    """Refuse a file that differs from another file about the time that both cover. Files without balances are not
    compared."""
    if file.opening is None or file.closing is None or file.begins_at is None or file.ends_at is None:
        return
    for other in await store.find_overlapping(tx, file):
        if found := await _differences(tx, file, other):
            raise Disagrees(DoubtRefusal.CONTRADICTS, other, name=file.name, problems=found)


async def _differences(tx: Tx, file: StatementFile, other: StatementFile) -> list[Problem]:
    assert file.begins_at is not None
    assert other.begins_at is not None
    found = []
    if file.begins_at == other.begins_at and file.opening != other.opening:
        balances = {"opening": file.opening_words, "other": other.opening_words}
        found.append(Problem(Difference.OPENING, name=other.name, **balances))
    # In a layout without seconds, a file that begins and ends in one minute may be one of several of that minute.
    is_of_a_minute = file.begins_at == file.ends_at
    are_complete = _has_ended(file) and _has_ended(other) and not is_of_a_minute
    if are_complete and file.ends_at == other.ends_at and file.closing != other.closing:
        balances = {"closing": file.closing_words, "other": other.closing_words}
        found.append(Problem(Difference.CLOSING, name=other.name, **balances))
    ends = min(await _known_until(tx, file), await _known_until(tx, other))
    difference = await store.compare(tx, file.id, other.id, max(file.begins_at, other.begins_at), ends)
    if file.is_whole and other.is_whole:
        if difference.only_new:
            lines = {"count": difference.only_new, "amount": f"{difference.only_new_amount:+,}"}
            found.append(Problem(Difference.ONLY_NEW, name=other.name, **lines))
        if difference.only_other:
            lines = {"count": difference.only_other, "amount": f"{difference.only_other_amount:+,}"}
            found.append(Problem(Difference.ONLY_OTHER, name=other.name, **lines))
        found += await _other_balance(tx, *sorted((file, other), key=lambda file: file.begin))
    if difference.offset:
        found.append(Problem(Difference.OFFSET, amount=f"{difference.offset:+,}", name=other.name))
    return found


async def _other_balance(tx: Tx, early: StatementFile, late: StatementFile) -> list[Problem]:
    """Compare the opening balance of the later file with the earlier file's balance at that time, also if they share no
    line. Files that only meet are compared when they are read."""
    assert early.ends_at is not None
    assert late.opening is not None
    moment = late.begin
    if not early.begin < moment < early.ends_at or moment > await _known_until(tx, early):
        return []
    balance = await store.find_balance_at(tx, early, moment)
    if balance is None or balance == late.opening * 100 + late.opening_cents:
        return []
    balances = {"opening": late.opening_words, "balance": money.exact(0, balance)}
    return [Problem(Difference.BALANCE_AT, late=late.name, early=early.name, **balances)]


def _has_ended(file: StatementFile) -> bool:
    """Whether the file covers all the time that it names. A statement of today names the end of the day as its end."""
    return file.ends_at is not None and file.ends_at <= file.imported_at


async def _known_until(tx: Tx, file: StatementFile) -> datetime:
    assert file.begins_at is not None
    assert file.ends_at is not None
    return file.ends_at if _has_ended(file) else await store.find_last_line(tx, file.id) or file.begins_at


async def refuse_stranger(tx: Tx, file: StatementFile, profile: StatementProfile) -> None:
    """Refuse a file without any known payment that does not continue another file: fees would be booked that are not
    ours. A fetched statement belongs to the account whose credentials fetched it, and is not refused."""
    if profile.is_fetched or file.new_count < file.line_count or file.line_count == 0:
        return
    if await store.continues_another(tx, file):
        return
    channels = profile.channels if profile.is_aggregator else (file.channel,)
    first, last = ids_of(payment_times(await store.find_days(tx, file.id)))
    if await store.has_payment(tx, file.id, channels=channels, first=first, last=last):
        return
    raise NothingKnown(
        code=DoubtRefusal.NOTHING_KNOWN,
        name=file.name,
        problems=[
            Problem(Stranger.NO_PAYMENT, count=file.line_count, where=file.named_account),
            Problem(Stranger.ANOTHER_ACCOUNT),
            Problem(Stranger.FIRST),
        ],
    )
