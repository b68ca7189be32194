"""Matches the bank's lines with what they are, and does what follows: settlements are completed or given back.

It can be repeated: a line that has a place keeps it, and what nobody could place is looked at again, because the debit
of a return, or the booking of a top-up, may have come since.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

import msgspec

from malipo import ids
from malipo.bank.line_decision import (
    BankExceptionKind,
    BankLine,
    FileFact,
    LineCandidates,
    LineDecision,
    Meaning,
    SettlementFact,
    decide,
)
from malipo.bank.payout_file import FileStatus
from malipo.bank.store import lines as store
from malipo.bank.store import payout_files
from malipo.bank.store.lines import Match
from malipo.bank_evidence.store import debits
from malipo.db import Conn, Tx
from malipo.settlement import bank_outcomes
from malipo.settlement.bank_outcomes import BankReturn, Debit
from malipo.settlement.settlement import Settlement, SettlementStatus
from malipo.settlement.store import settlements

EXCEPTION_PREFIX = "bex_"
_ENDS = (Meaning.DEBIT, Meaning.SUM, Meaning.RETURN)


class BankMatchingSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What a run has found. Amounts are of settlements, in whole shillings."""

    completed: int = 0
    completed_amount: int = 0
    returned: int = 0
    returned_amount: int = 0
    bookings: int = 0
    exceptions: dict[BankExceptionKind, int] = {}  # all that are open now


class Effect(msgspec.Struct, frozen=True):
    """What a line would do to a settlement."""

    meaning: Meaning
    settlement: Settlement
    line: BankLine


async def find_effects(connection: Conn, statement_id: str) -> list[Effect]:
    """What would follow if this statement counted too. It only reads."""
    decisions, known = await _decide(connection, statement_id=statement_id)
    return [
        Effect(each.meaning, known[id_], each.line)
        for each in decisions
        if each.meaning in _ENDS
        for id_ in each.settlement_ids
    ]


async def match_bank_lines(tx: Tx, *, by: str, now: datetime) -> BankMatchingSummary:
    """Match all lines that count. The caller has taken the lock of `store/payer_accounts.py`."""
    await store.resolve_uncounted(tx, by=by, now=now)
    decisions, known = await _decide(tx)
    await _end_settlements(tx, decisions, now=now)
    placed = [each for each in decisions if each.meaning is not Meaning.EXCEPTION]
    await store.insert_matches(tx, [match for each in placed for match in _matches(each, known)], by=by, now=now)
    for meaning in {each.meaning for each in placed}:
        line_ids = [each.line.id for each in placed if each.meaning is meaning]
        await store.resolve(tx, line_ids, meaning, by=by, now=now)
    left = [(each.line.id, each.kind) for each in decisions if each.kind is not None]
    await store.put_exceptions(tx, [(ids.mint(EXCEPTION_PREFIX, now), *each) for each in left], now=now)
    return _summary(decisions, known)


async def _end_settlements(tx: Tx, decisions: Sequence[LineDecision], *, now: datetime) -> None:
    """Debits before returns: a line of the same statement may give back what another has paid."""
    debits = [
        Debit(id_, each.line.reference, each.line.booked_on)
        for each in decisions
        if each.meaning in (Meaning.DEBIT, Meaning.SUM)
        for id_ in each.settlement_ids
    ]
    returns = [return_of(each.settlement_ids[0], each.line) for each in decisions if each.meaning is Meaning.RETURN]
    if debits:
        await bank_outcomes.complete(tx, debits, now=now)
    if returns:
        await bank_outcomes.give_back(tx, returns, now=now)


def return_of(settlement_id: str, line: BankLine) -> BankReturn:
    """A return with the bank's reason; if it has none, with all that the line says."""
    return BankReturn(settlement_id, line.reason or line.details, line.reference, line.booked_on)


def _matches(decision: LineDecision, known: dict[str, Settlement]) -> list[Match]:
    line = decision.line
    if decision.booking_id is not None:
        values = {"meaning": decision.meaning.value, "merchant_id": None, "amount": line.cents}
        return [Match(line_id=line.id, subject_id=decision.booking_id, **values)]  # type: ignore[arg-type]
    sign = 1 if line.cents > 0 else -1
    return [
        Match(
            line_id=line.id,
            meaning=decision.meaning,
            subject_id=id_,
            merchant_id=known[id_].merchant_id,
            amount=sign * 100 * known[id_].net_amount,
        )
        for id_ in decision.settlement_ids
    ]


def _summary(decisions: Sequence[LineDecision], known: dict[str, Settlement]) -> BankMatchingSummary:
    def amounts(*meanings: Meaning) -> list[int]:
        return [known[id_].net_amount for each in decisions if each.meaning in meanings for id_ in each.settlement_ids]

    completed, returned = amounts(Meaning.DEBIT, Meaning.SUM), amounts(Meaning.RETURN)
    return BankMatchingSummary(
        completed=len(completed),
        completed_amount=sum(completed),
        returned=len(returned),
        returned_amount=sum(returned),
        bookings=sum(each.meaning is Meaning.BOOKING for each in decisions),
        exceptions=dict(Counter(each.kind for each in decisions if each.kind is not None)),
    )


async def _decide(connection: Conn, *, statement_id: str = "") -> tuple[list[LineDecision], dict[str, Settlement]]:
    lines = await store.find_unmatched(connection, statement_id=statement_id)
    files = await _files(connection, lines)
    by_key = await settlements.find_by_keys(connection, {each.key for each in lines if each.key})
    of_files = await settlements.find(connection, {id_ for each in files for id_ in each.settlement_ids})
    known = {each.id: each for each in (*by_key.values(), *of_files)}
    payers = await payout_files.find_payers(
        connection, {each.payout_file_id for each in known.values() if each.payout_file_id is not None}
    )
    payers_of_debits = await store.find_payers_of_debits(connection, list(known))
    paid_again = await debits.find_perhaps_paid(connection, [each.at_bank for each in known.values()])
    facts = [
        SettlementFact(
            id=each.id,
            merchant_id=each.merchant_id,
            key=each.key,
            net=each.net_amount,
            status=each.status,
            payer_account_id=payers_of_debits.get(each.id, payers.get(each.payout_file_id or "")),
            has_debit=each.completed_at is not None,
            has_return=each.completed_at is not None and each.status is SettlementStatus.RETURNED,
            is_paid_again=each.completed_at is not None and each.id in paid_again,
        )
        for each in known.values()
    ]
    return decide(lines, LineCandidates(facts, files, await store.find_bookings(connection))), known


async def _files(connection: Conn, lines: Sequence[BankLine]) -> list[FileFact]:
    """The files whose MsgId a line has, in the field for it or in that of the key."""
    names = {name for each in lines for name in (each.message_id, each.key)}
    found = await payout_files.find_by_message(connection, names)
    return [
        FileFact(
            id=file.id,
            message_id=file.message_id or "",
            status=FileStatus(file.status),
            payer_account_id=file.payer_account_id,
            settlement_ids=tuple(settlement_ids),
        )
        for file, settlement_ids in found
    ]
