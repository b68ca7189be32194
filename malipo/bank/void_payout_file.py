"""Voids an approved file that the bank has certainly not paid, and notes which of its transfers the bank has refused.

A file whose bytes nobody has ever asked for is voided at once, such as one with a transfer to a bank account that was
stopped since: its other settlements need not wait for statements.

Each takes two operators, and is looked at again at the approval: a statement may have been imported since the proposal.
After a restore, transfers are noted as refused only once settlements are released, because the money goes back to the
wallet. A file can be voided before that, if the bank has not paid it: its settlements wait, and are neither sent nor
cancelled.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from malipo import clock
from malipo.approvals.act_rules import Act
from malipo.approvals.moved_alone import require_operator
from malipo.approvals.store import Proposal
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.bank import gather_payout_file, proposals
from malipo.bank.payout_file import (
    FileAct,
    FileLine,
    FileRefusal,
    PayoutFile,
    days_to_pay,
    is_perhaps_paid,
    why_not_void,
    why_not_void_unseen,
)
from malipo.bank.proposals import ShownTerms
from malipo.bank.store import payer_accounts, statements
from malipo.bank.store import payout_files as store
from malipo.bank_evidence.coverage import days_of
from malipo.bank_evidence.store import debits, holidays
from malipo.db import Conn, Tx
from malipo.errors import Conflict, Missing
from malipo.restore.store import installation
from malipo.settlement import bank_outcomes, payout_files, release
from malipo.settlement.bank_outcomes import BankReturn
from malipo.settlement.settlement import Settlement, SettlementStatus
from malipo.settlement.store import settlements

# About a file only one of these may wait.
ACTS = (Act.VOID_PAYOUT_FILE, Act.REFUSE_TRANSFERS)


class VoidTerms(msgspec.Struct, frozen=True, kw_only=True):
    is_refused: bool  # the bank has refused the file
    is_unseen: bool = False  # nobody has ever asked for its bytes. Neither: statements show that it was not paid


class RefusalTerms(msgspec.Struct, frozen=True, kw_only=True):
    settlement_ids: tuple[str, ...]


async def propose(
    tx: Tx, name: str, *, is_refused: bool, is_unseen: bool = False, reason: str, actor: Actor, now: datetime
) -> Proposal:
    """`reason` is the bank's refusal with the file's MsgId, or says what was looked at."""
    require_operator(actor)
    await payer_accounts.lock(tx)
    file, reason = await gather_payout_file.get_file(tx, name), proposals.require_reason(reason)
    terms = VoidTerms(is_refused=is_refused, is_unseen=is_unseen)
    await _require_unpaid(tx, file, terms, reason=reason)
    amount = sum(each.net_amount for each in await _open(tx, file))
    return await proposals.propose(
        tx, Act.VOID_PAYOUT_FILE, file.id, terms, amount=amount, reason=reason, actor=actor, now=now, family=ACTS
    )


async def facts(connection: Conn, proposal: Proposal) -> ShownTerms:
    file = await gather_payout_file.get_file(connection, proposal.subject)
    terms = proposal.terms_as(VoidTerms)
    open_ = await _open(connection, file)
    return ShownTerms(
        {
            "file": file.id,
            "message": file.message_id,
            "because": _because(terms),
            "wait_again": len(open_),
            "amount": sum(each.net_amount for each in open_),
        },
        [] if terms.is_refused or terms.is_unseen else await _statements_of(connection, file),
    )


def _because(terms: VoidTerms) -> str:
    if terms.is_unseen:
        return "not_downloaded"
    return "refused" if terms.is_refused else "not_on_statements"


async def _statements_of(connection: Conn, file: PayoutFile) -> list[Mapping[str, object]]:
    """The statements which say that the bank has not paid the file. One without debits counts with one operator: who
    approves sees whose it is, and asks the bank."""
    assert file.approved_at is not None
    approved_on = clock.day_of(file.approved_at)
    covering = [
        (each, each.covering)
        for each in await statements.find_counting(connection, file.payer_account_id)
        if each.counts
    ]
    return [
        {
            "statement": each.id,
            "name": each.name,
            "begins_on": days.begins_on.isoformat(),
            "ends_on": days.ends_on.isoformat(),
            "imported_by": each.imported_by,
        }
        for each, days in covering
        if days is not None and days.ends_on >= approved_on
    ]


async def apply(tx: Tx, proposal: Proposal, *, actor: Actor, now: datetime) -> None:
    file = await gather_payout_file.get_file(tx, proposal.subject)
    terms = proposal.terms_as(VoidTerms)
    await _require_unpaid(tx, file, terms, reason=proposal.reason)
    open_ = await _open(tx, file)
    await payout_files.wait_again(tx, [each.id for each in open_], file.id, now=now)
    await store.void(tx, file.id, by=actor.name, why=proposal.reason, now=now)
    await audit_log.append(
        tx,
        actor,
        "bank.file_voided",
        now=now,
        file=file.id,
        message=file.message_id,
        reason=proposal.reason,
        lines=len(open_),
        proposed_by=proposal.requested_by,
    )


async def _require_unpaid(tx: Tx, file: PayoutFile, terms: VoidTerms, *, reason: str) -> None:
    gather_payout_file.require_allowed(file, FileAct.VOID)
    assert file.approved_at is not None
    lines = await store.find_lines(tx, file.id)  # without those that the approval has dropped
    in_it = await settlements.find(tx, [each.settlement_id for each in lines])
    is_paid = any(each.completed_at is not None for each in in_it) or is_perhaps_paid(
        file, lines, await store.find_traces(tx, file)
    )
    if terms.is_unseen:
        await release.require_released(tx)  # Else a restore has perhaps lost that somebody had it.
        if why := why_not_void_unseen(
            is_paid=is_paid,
            is_asked_for=await store.was_asked_for(tx, file.id),
            is_restored_since=await _is_restored_since(tx, file.approved_at),
        ):
            raise Conflict(code=why, file=file.id)
        return
    counting = await statements.find_counting(tx, file.payer_account_id)
    banking_days = await holidays.find_banking_days(tx)
    downloaded_on = None if file.downloaded_at is None else clock.day_of(file.downloaded_at)
    days = days_to_pay(clock.day_of(file.approved_at), downloaded_on, banking_days)
    refused = why_not_void(
        file,
        refusal=reason if terms.is_refused else None,
        days=days,
        covered=days_of((each.covering for each in counting if each.counts and each.covering), banking_days.follows),
        is_paid=is_paid,
    )
    if refused is not None:
        first, last = (each.isoformat() for each in days)
        raise Conflict(code=refused, file=file.id, message_id=file.message_id, first=first, last=last)


async def _is_restored_since(connection: Conn, approved_at: datetime) -> bool:
    """No file is approved between a restore and the release of settlements, which is days later."""
    state = await installation.get(connection)
    return state.epoch > 1 and approved_at <= state.epoch_began_at


async def _open(connection: Conn, file: PayoutFile) -> list[Settlement]:
    """The settlements that the file has sent, and that have not ended."""
    found = await settlements.find_of_file(connection, file.id)
    return [each for each in found if each.status is SettlementStatus.SENT]


async def propose_refusal(
    tx: Tx, name: str, keys: Sequence[str], *, reason: str, actor: Actor, now: datetime
) -> Proposal:
    """Propose that the bank has refused these transfers of a file, as its answer lists them, by key or reference."""
    require_operator(actor)
    await payer_accounts.lock(tx)
    file, reason = await gather_payout_file.get_file(tx, name), proposals.require_reason(reason)
    lines = await _lines_named(tx, file, keys)
    await _require_open(tx, file, lines)
    terms = RefusalTerms(settlement_ids=tuple(each.settlement_id for each in lines))
    amount = sum(each.amount for each in lines)
    return await proposals.propose(
        tx, Act.REFUSE_TRANSFERS, file.id, terms, amount=amount, reason=reason, actor=actor, now=now, family=ACTS
    )


async def refusal_facts(connection: Conn, proposal: Proposal) -> ShownTerms:
    file = await gather_payout_file.get_file(connection, proposal.subject)
    ids = proposal.terms_as(RefusalTerms).settlement_ids
    lines = [each for each in await store.find_lines(connection, file.id) if each.settlement_id in ids]
    rows = [
        {"settlement": each.reference, "merchant": each.merchant_id, "amount": each.amount, "name": each.name}
        for each in lines
    ]
    return ShownTerms({"file": file.id, "message": file.message_id, "transfers": len(lines)}, rows)


async def apply_refusal(tx: Tx, proposal: Proposal, *, actor: Actor, now: datetime) -> None:
    file = await gather_payout_file.get_file(tx, proposal.subject)
    ids = proposal.terms_as(RefusalTerms).settlement_ids
    lines = [each for each in await store.find_lines(tx, file.id) if each.settlement_id in ids]
    await _require_open(tx, file, lines)
    assert file.message_id is not None
    day = clock.day_of(now)
    returns = [BankReturn(each.settlement_id, proposal.reason, file.message_id, day) for each in lines]
    await bank_outcomes.give_back(tx, returns, now=now)
    await store.refuse_lines(tx, file.id, ids, why=proposal.reason, now=now)
    await audit_log.append(
        tx,
        actor,
        "bank.transfers_refused",
        now=now,
        file=file.id,
        message=file.message_id,
        settlements=list(ids),
        amount=proposal.amount,
        reason=proposal.reason,
        proposed_by=proposal.requested_by,
    )


async def _lines_named(tx: Tx, file: PayoutFile, names: Sequence[str]) -> list[FileLine]:
    lines = await store.find_lines(tx, file.id)
    by_name = {name: each for each in lines for name in (each.key, each.reference, each.settlement_id)}
    for name in names:
        if name not in by_name:
            raise Missing(code=FileRefusal.NO_LINE, file=file.id, name=name)
    return list({by_name[name].settlement_id: by_name[name] for name in names}.values())


async def _require_open(tx: Tx, file: PayoutFile, lines: Sequence[FileLine]) -> None:
    """Refuse if one of these has ended, or if a line of the bank is perhaps of it. What the bank has refused may have
    gone into another file, which a restore has lost, and which was paid."""
    await release.require_released(tx)
    gather_payout_file.require_allowed(file, FileAct.REFUSE)
    if lost := await release.count_lost_debits(tx):
        raise Conflict(code=FileRefusal.UNKNOWN_DEBITS, count=lost)
    open_ = {each.id for each in await _open(tx, file)}
    known = await settlements.find(tx, [each.settlement_id for each in lines])
    paid = await debits.find_perhaps_paid(tx, [each.at_bank for each in known])
    for each in lines:
        if each.settlement_id not in open_ or each.settlement_id in paid:
            raise Conflict(code=FileRefusal.LINE_ENDED, file=file.id, name=each.reference)
