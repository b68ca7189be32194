"""Doubts a statement before anything of it is booked: it may be another account's, or contradict one that is there."""

from datetime import datetime
from typing import NoReturn

from malipo import money
from malipo.db import Tx
from malipo.errors import Conflict, Details, Refusal
from malipo.network_statements.profile import Profile
from malipo.reconciliation.imports.store import file_comparison as store
from malipo.reconciliation.matching.payment_times import ids_of, payment_times
from malipo.reconciliation.statements.statement_file import StatementFile
from malipo.reconciliation.statements.store.statements import FETCHED_BY


class AgainstAnother(Conflict):
    """It does not go together with a file that is there."""

    def __init__(self, message: str, other: StatementFile, *, details: Details | None = None) -> None:
        super().__init__(message, details=details)
        self.other = other


class ImportedElsewhere(AgainstAnother):
    """A file, or what it says, belongs to one account."""


class Disagrees(AgainstAnother):
    """Another file of the account says something else of the same time."""


class NothingKnown(Refusal):
    """No line of it is known here, so it may be the file of another account."""


def refuse_same_elsewhere(other: StatementFile) -> NoReturn:
    raise ImportedElsewhere(
        f"{other.name} is the same file, and was imported as {other.where}. A file is the statement of "
        f"one account. If that one is wrong, withdraw it first: malipo statements withdraw {other.id}",
        other,
    )


async def refuse_content_of_another(tx: Tx, file: StatementFile) -> StatementFile | None:
    """The same lines with other bytes, given to another account: their fees would be booked again. What the worker
    fetches is of the account whose credentials fetched it, so only another fetched file keeps it out; an operator's is
    the answer."""
    is_fetched = file.imported_by == FETCHED_BY
    only_by = FETCHED_BY if is_fetched else None
    if other := await store.find_with_a_line_of(tx, file, imported_by=only_by):
        raise ImportedElsewhere(
            f"{file.name} has lines that {other.name} has, which was imported as {other.where}: the same receipts, "
            "amounts and kinds. A line is of one account, so this file is of that account, or one of the two is wrong. "
            f"If that one is wrong, withdraw it first: malipo statements withdraw {other.id}",
            other,
        )
    if other := await store.find_elsewhere(tx, file, imported_by=only_by):
        raise ImportedElsewhere(
            f"Most lines of {file.name} are in {other.name}, of the time of both, which is imported as {other.where}. "
            f"A line is of one account. If that is wrong, withdraw it first: malipo statements withdraw {other.id}",
            other,
        )
    if not is_fetched:
        return None
    return await store.find_with_a_line_of(tx, file) or await store.find_elsewhere(tx, file)


async def refuse_contradiction(tx: Tx, file: StatementFile) -> None:
    """Of the time that two files cover they must say the same. Nothing is said of a file without balances."""
    if file.opening is None or file.closing is None or file.begins_at is None or file.ends_at is None:
        return
    for other in await store.find_overlapping(tx, file):
        if told := await _differences(tx, file, other):
            raise Disagrees(
                f"{file.name} contradicts {other.name}, which covers the same time. Nothing was imported. "
                "If this one is right, withdraw that one with another operator, then import this one: "
                f"malipo statements withdraw {other.id}",
                other,
                details={"file": told},
            )


async def _differences(tx: Tx, file: StatementFile, other: StatementFile) -> list[str]:
    assert file.begins_at is not None
    assert other.begins_at is not None
    found = []
    if file.begins_at == other.begins_at and file.opening != other.opening:
        found.append(f"It opens with {file.opening_words}; {other.name} opens with {other.opening_words}.")
    # Without seconds, a file that ends in the minute in which it begins may be one of several of that minute.
    is_of_a_minute = file.begins_at == file.ends_at
    are_complete = _is_complete(file) and _is_complete(other) and not is_of_a_minute
    if are_complete and file.ends_at == other.ends_at and file.closing != other.closing:
        found.append(f"It closes with {file.closing_words}; {other.name} closes with {other.closing_words}.")
    ends = min(await _known_until(tx, file), await _known_until(tx, other))
    difference = await store.compare(tx, file.id, other.id, max(file.begins_at, other.begins_at), ends)
    if file.is_whole and other.is_whole:
        if difference.only_new:
            amount = f"{difference.only_new_amount:+,}"
            found.append(f"Lines that {other.name} does not have: {difference.only_new}, together {amount}.")
        if difference.only_other:
            amount = f"{difference.only_other_amount:+,}"
            found.append(f"Lines that only {other.name} has: {difference.only_other}, together {amount}.")
        found += await _other_balance(tx, *sorted((file, other), key=_begin))
    if difference.offset:
        found.append(f"After the same lines its balances are {difference.offset:+,} from those of {other.name}.")
    return found


async def _other_balance(tx: Tx, early: StatementFile, late: StatementFile) -> list[str]:
    """Where the later one begins, the earlier one must have the balance that it opens with, also if no line is in both.
    Files that only meet there are compared when they are read."""
    assert early.ends_at is not None
    assert late.opening is not None
    moment = _begin(late)
    if not _begin(early) < moment < early.ends_at or moment > await _known_until(tx, early):
        return []
    balance = await store.find_balance_at(tx, early, moment)
    if balance is None or balance == late.opening * 100 + late.opening_cents:
        return []
    return [f"{late.name} opens with {late.opening_words}; {early.name} has {money.exact(0, balance)} at that moment."]


def _begin(file: StatementFile) -> datetime:
    assert file.begins_at is not None
    return file.begins_at


def _is_complete(file: StatementFile) -> bool:
    """A statement of a day that is not over says that it ends when the day does."""
    return file.ends_at is not None and file.ends_at <= file.imported_at


async def _known_until(tx: Tx, file: StatementFile) -> datetime:
    assert file.begins_at is not None
    assert file.ends_at is not None
    return file.ends_at if _is_complete(file) else await store.find_last_line(tx, file.id) or file.begins_at


async def refuse_stranger(tx: Tx, file: StatementFile, profile: Profile) -> None:
    """One that has no line of ours, and does not continue another one: fees would be booked that are not ours. A
    statement that was fetched is that of the account whose credentials fetched it."""
    if profile.is_fetched or file.new_count < file.line_count or file.line_count == 0:
        return
    if await store.continues_another(tx, file):
        return
    channels = profile.channels if profile.is_aggregator else (file.channel,)
    first, last = ids_of(payment_times(await store.find_days(tx, file.id)))
    if await store.has_payment(tx, file.id, channels=channels, first=first, last=last):
        return
    raise NothingKnown(
        f"Nothing in {file.name} is known here. Nothing was imported.",
        details={
            "file": [
                f"None of its {file.line_count:,} lines has the receipt or the reference of a payment of {file.where}, "
                "and it does not continue a statement of that account.",
                "Is it the statement of another network, or of another account? Then nothing of it may be booked here.",
                "If it is the first statement of this account, or of a time without payments, say so.",
            ]
        },
    )
