"""Matches the lines of imported statements with payments, and finds what does not fit: the steps of a run.

It runs after each import, and again whenever it is asked to. Each step is a commit of its own and can be repeated:
if a process dies in between, nothing is lost, and the next run completes it. One runs at a time. Which payment a line
is matched with is decided in SQL: `store/candidates.py` and `store/matching.py`.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from malipo import ids
from malipo.clock import Clock
from malipo.db import Database, DataError, Tx
from malipo.ledger.store import closed_days
from malipo.network_statements.profile import StatementProfile
from malipo.network_statements.statement_line import LineKind
from malipo.networks.connector import Channel
from malipo.payments import network_keys
from malipo.payments.apply_network_answers import ApplyNetworkAnswers
from malipo.payments.store import adopted_payments, transactions
from malipo.reconciliation.matching.book_lines import book_lines
from malipo.reconciliation.matching.carriers import carrier_named
from malipo.reconciliation.matching.exception import ID_PREFIX, ExceptionKind, Findings, FoundException
from malipo.reconciliation.matching.find_possible_payments import find_possible_payments
from malipo.reconciliation.matching.flag_absent import flag_absent
from malipo.reconciliation.matching.payment_times import BEFORE, ids_of, payment_times
from malipo.reconciliation.matching.possible_payment import names_customer, names_key
from malipo.reconciliation.matching.report_evidence import report_evidence
from malipo.reconciliation.matching.resolve_obsolete import resolve_obsolete
from malipo.reconciliation.matching.store import (
    candidates,
    displaced_matches,
    exceptions,
    expected_charges,
    line_queue,
    matching,
    payments,
    single_matches,
    unmatched_lines,
)
from malipo.reconciliation.matching.store.lines_to_unbook import BookedLine
from malipo.reconciliation.matching.store.unmatched_lines import UnmatchedLine
from malipo.reconciliation.matching.unbook_lines import unbook_lines
from malipo.reconciliation.statements.choose_profile import all_profiles
from malipo.reconciliation.statements.store import statement_lines, statements


class Aggregators(NamedTuple):
    """The layouts and the accounts of networks that carry several channels."""

    layouts: list[str]
    accounts: list[str]


class MatchingCounts(msgspec.Struct, kw_only=True, rename="camel"):
    """The counts of a run, as the audit log keeps them."""

    matched: int = 0  # lines that were matched with payments
    reversals: int = 0
    fees: int = 0  # lines that were attached to payments
    transfers: int = 0
    booked_fees: int = 0  # in shillings, signed as in the statement
    booked_sweeps: int = 0
    completed: int = 0  # payments that a line has ended
    contradicted: int = 0
    awaiting_approval: int = msgspec.field(default=0, name="held")  # lines that wait for a second operator
    bookings_awaiting_approval: int = msgspec.field(default=0, name="heldBookings")  # of these, fees and sweeps
    waiting: int = 0  # payments that no complete statement covers yet
    without_carrier_statement: int = 0  # payments whose carrier has no statement at all
    resolved: int = 0  # exceptions whose cause no longer exists


class MatchingResult(MatchingCounts, kw_only=True):
    """A run's counts, and what it has found."""

    exceptions: Findings = msgspec.field(default_factory=Findings)
    files: list[str] = []  # that were matched for the first time

    @property
    def lines(self) -> int:
        return self.matched + self.reversals + self.fees + self.transfers


async def match_statements(
    database: Database, apply_answers: ApplyNetworkAnswers, *, approval_amount: int, clock: Clock
) -> MatchingResult:
    now = clock()
    async with database.begin() as tx:
        await matching.lock(tx)
        files = await matching.queue_new_files(tx, now=now)
    async with database.begin() as tx:
        await matching.lock(tx)
        result = await match_queued_lines(tx, await all_profiles(tx), approval_amount=approval_amount, now=now)
    result.files = files
    await take_reported_keys(database)
    reported = await report_evidence(database, apply_answers, approval_amount=approval_amount, now=now)
    result.completed, result.contradicted = reported.completed, reported.contradicted
    result.awaiting_approval += reported.awaiting_approval
    result.exceptions.merge(reported.exceptions)
    async with database.begin() as tx:
        await matching.lock(tx)
        # Operators may have named the carrier of a layout since the first step.
        absent = await flag_absent(tx, await all_profiles(tx), now=now)
        result.waiting, result.without_carrier_statement = absent.waiting, absent.uncarried
        result.exceptions.merge(absent.exceptions)
        result.resolved = await resolve_obsolete(tx, now=now)
    return result


async def match_queued_lines(
    tx: Tx, profiles: Mapping[str, StatementProfile], *, approval_amount: int, now: datetime
) -> MatchingResult:
    """Match or book every line in the queue; the others become exceptions. The caller has taken the lock of
    matching. The order of the steps is the rule: each works on the lines that the steps before it have left."""
    aggregators = Aggregators(
        [name for name, each in profiles.items() if each.is_aggregator],
        [each for each in await statements.find_all_accounts(tx) if carrier_named(each)],
    )
    first_open_day = await closed_days.first_open_day(tx)
    await _release_contradicted(tx, aggregators, now=now)
    unbooked = await unbook_lines(
        tx,
        layouts=aggregators.layouts,
        accounts=aggregators.accounts,
        approval_amount=approval_amount,
        first_open_day=first_open_day,
        now=now,
    )
    await _fill_candidates(tx, aggregators, unbooked, now=now)
    matched = await _match(tx, now=now)
    findings = Findings()
    findings.add(await _wrong_charges(tx, now=now))
    findings.add(await _report_possible_payments(tx, aggregators, unbooked, now=now))
    booked = await book_lines(tx, approval_amount=approval_amount, first_open_day=first_open_day, now=now)
    async for lines in unmatched_lines.find(tx):  # Every line that is left becomes an exception.
        findings.add(await exceptions.insert(tx, [exception_of(each, now) for each in lines], now=now))
    return MatchingResult(
        matched=matched.payments,
        reversals=matched.reversals,
        fees=matched.fees,
        transfers=booked.transfers,
        booked_fees=booked.fees,
        booked_sweeps=booked.sweeps,
        awaiting_approval=booked.awaiting_approval,
        bookings_awaiting_approval=booked.awaiting_approval,
        exceptions=findings,
    )


async def _release_contradicted(tx: Tx, aggregators: Aggregators, *, now: datetime) -> None:
    """Undo matches that later files have contradicted, and matches of lines whose receipt belongs to another payment.
    The lines are in the queue again."""
    if contradicted := await displaced_matches.find_contradicted(tx):
        await single_matches.give_up_matches(tx, contradicted, now=now)
        await statement_lines.merge_copies(tx, contradicted)
    await single_matches.give_up_matches(tx, await _find_named_otherwise(tx, aggregators, now=now), now=now)


async def _fill_candidates(tx: Tx, aggregators: Aggregators, unbooked: Sequence[BookedLine], *, now: datetime) -> None:
    """Find the payments that each line in the queue may belong to. A line that the network has now displaced from its
    payment is put into the queue too, and then all are filled again."""
    first, last = ids_of(payment_times(await candidates.find_days(tx)))
    # A request may be repeated long after its line, so a payment of another day may have the line's receipt.
    known = [payment for each in unbooked for payment in each.payments]
    first, last = first + known, last + known
    await candidates.fill_candidates(
        tx, layouts=aggregators.layouts, accounts=aggregators.accounts, channels=list(Channel), first=first, last=last
    )
    if displaced := [
        *await displaced_matches.find_displaced(tx),
        *await displaced_matches.find_displaced_by_receipts(tx),
    ]:
        await single_matches.give_up_matches(tx, displaced, now=now)
        await candidates.fill_candidates(
            tx,
            layouts=aggregators.layouts,
            accounts=aggregators.accounts,
            channels=list(Channel),
            first=first,
            last=last,
        )


class _MatchedLines(NamedTuple):
    """The number of matched lines, by their role for a payment."""

    payments: int
    reversals: int
    fees: int


async def _match(tx: Tx, *, now: datetime) -> _MatchedLines:
    """Match lines with payments, then reversals with those lines, then fees with either."""
    matched = await matching.match_payments(tx, now=now)
    await single_matches.give_up_matches(tx, await displaced_matches.find_displaced_reversals(tx), now=now)
    reversals = await matching.match_reversals(tx, now=now)
    return _MatchedLines(matched, reversals, await matching.attach_fees(tx, now=now))


async def _report_possible_payments(
    tx: Tx, aggregators: Aggregators, unbooked: Sequence[BookedLine], *, now: datetime
) -> list[FoundException]:
    """Report lines that may be payments which we do not have, before the next step could book them by their words."""
    possible = [
        *await find_possible_payments(tx, layouts=aggregators.layouts, accounts=aggregators.accounts),
        *await line_queue.find_still_open(tx, [each.line_id for each in unbooked]),
    ]
    found = [each.as_exception(ExceptionKind.THEIRS_ONLY, now=now) for each in possible]
    return await exceptions.insert(tx, found, now=now)


async def _find_named_otherwise(tx: Tx, aggregators: Aggregators, *, now: datetime) -> list[int]:
    """Lines of the network's own statements that were matched by a key or a receipt which only operators reported, and
    whose receipt the network has since reported of another payment."""
    named = await displaced_matches.find_named_by_people(tx, since=now - BEFORE)
    if not named:
        return []
    first, last = ids_of(payment_times(set(named.values())))
    return await displaced_matches.find_with_receipts_of_others(
        tx,
        list(named),
        layouts=aggregators.layouts,
        accounts=aggregators.accounts,
        channels=list(Channel),
        first=first,
        last=last,
    )


async def _wrong_charges(tx: Tx, *, now: datetime) -> list[FoundException]:
    """Exceptions for charges that differ from the expected ones. Called before fees are booked, when only new ones are
    in the queue."""
    found = [
        FoundException(
            id=ids.mint(ID_PREFIX, now),
            kind=ExceptionKind.FEE_DIFFERS,
            channel=each.channel,
            account=each.account,
            line_id=each.line_id,
            merchant_id=each.merchant_id,
            transaction_id=each.transaction_id,
            amount=each.difference,
        )
        for each in await expected_charges.find_wrong(tx)
    ]
    return await exceptions.insert(tx, found, now=now)


_UNKNOWN = (LineKind.OTHER, LineKind.REVERSAL, LineKind.FEE, LineKind.SWEEP)
_BY_WORDS = (LineKind.FEE, LineKind.SWEEP)


def kind_of(line: UnmatchedLine) -> ExceptionKind:
    """The kind of exception of an unmatched line. Pure."""
    # Whatever its words, a line with exactly a payment's facts is that payment's. If it names a key of ours, or a
    # customer, it may be a lost payment's.
    names_payment = line.kind in _BY_WORDS and (names_key(line.key) or names_customer(line.phone))
    if line.kind in _UNKNOWN and not line.candidates and not names_payment:
        return ExceptionKind.UNKNOWN_LINE
    if line.candidates == 0:
        return ExceptionKind.THEIRS_ONLY
    if line.candidates > 1 or line.is_taken:
        return ExceptionKind.TWICE
    return ExceptionKind.AMOUNT_DIFFERS


def exception_of(line: UnmatchedLine, now: datetime) -> FoundException:
    kind = kind_of(line)
    # The ledger has the payment's own amount, so only the rest is missing.
    amount = line.amount - line.ledger_amount if kind is ExceptionKind.AMOUNT_DIFFERS else line.amount
    return FoundException(
        id=ids.mint(ID_PREFIX, now),
        kind=kind,
        channel=line.channel,
        account=line.account,
        line_id=line.line_id,
        merchant_id=line.merchant_id,
        transaction_id=line.transaction_id,
        amount=amount,
    )


async def take_reported_keys(database: Database) -> None:
    """Give adopted payments the network keys that fetched files add to their lines later.

    A line without a key is adopted with a random key, so a repeat of the lost request does not find the payment. With
    the network's key it does, unless the repeat came first: then the repeat has that key.
    """
    async with database.read() as connection:
        adopted = await payments.find_adopted_with_key(connection)
    for payment, written in adopted:
        key = network_keys.key_in(written)
        if key is None or key == payment.network_key:
            continue
        try:
            async with database.begin() as tx:
                await matching.lock(tx)
                if await transactions.find_by_network_key(tx, key) is None:
                    await adopted_payments.take_key(tx, payment, key)
        except DataError:
            continue  # A repeat of the request has got the key meanwhile.
