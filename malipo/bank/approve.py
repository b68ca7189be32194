"""Approves or rejects what waits about our bank accounts: the facts of each act, and what its approval does."""

from datetime import datetime

from malipo.approvals import decide, moved_alone
from malipo.approvals.act_rules import BANK_LINES, Act
from malipo.approvals.moved_alone import require_operator
from malipo.approvals.store import Proposal
from malipo.audit_log.actor import Actor
from malipo.bank import (
    add_payer_account,
    decide_exception,
    gather_payout_file,
    import_statement,
    match_bank_lines,
    proposals,
    void_payout_file,
    withdraw_statement,
)
from malipo.bank.proposals import ShownTerms
from malipo.bank.store import payer_accounts
from malipo.db import Conn, Tx


async def find_facts(connection: Conn, proposal: Proposal, *, now: datetime) -> ShownTerms:
    """What an approver is shown."""
    match proposal.action:
        case Act.ADD_PAYER_ACCOUNT:
            return await add_payer_account.facts(connection, proposal)
        case Act.APPROVE_PAYOUT_FILE:
            return await gather_payout_file.facts(connection, proposal, now=now)
        case Act.VOID_PAYOUT_FILE:
            return await void_payout_file.facts(connection, proposal)
        case Act.REFUSE_TRANSFERS:
            return await void_payout_file.refusal_facts(connection, proposal)
        case Act.IMPORT_BANK_STATEMENT:
            return await import_statement.facts(connection, proposal)
        case Act.WITHDRAW_BANK_STATEMENT:
            return await withdraw_statement.facts(connection, proposal)
    assert proposal.action in BANK_LINES
    return await decide_exception.facts(connection, proposal)


async def find_code(connection: Conn, proposal: Proposal, *, now: datetime) -> str:
    return proposals.code_of(proposal, await find_facts(connection, proposal, now=now))


async def approve(
    tx: Tx,
    name: str,
    *,
    reference_prefix: str,
    actor: Actor,
    now: datetime,
    seen: str | None = None,
    is_single_operator: bool = False,
) -> Proposal:
    """Approve another operator's proposal. `seen` is the code of the facts that the approver was shown."""
    await payer_accounts.lock(tx)
    await moved_alone.lock(tx, actor.name)
    proposal = await proposals.lock_open(tx, name)
    decided = await decide.approve(
        tx,
        proposal,
        actor=actor,
        now=now,
        seen=seen,
        shown=lambda: find_code(tx, proposal, now=now),
        is_single_operator=is_single_operator,
    )
    await _apply(tx, decided, reference_prefix=reference_prefix, actor=actor, now=now)
    return decided


async def _apply(tx: Tx, proposal: Proposal, *, reference_prefix: str, actor: Actor, now: datetime) -> None:
    match proposal.action:
        case Act.ADD_PAYER_ACCOUNT:
            await add_payer_account.apply(tx, proposal, actor=actor, now=now)
        case Act.APPROVE_PAYOUT_FILE:
            await gather_payout_file.apply(tx, proposal, actor=actor, now=now)
        case Act.VOID_PAYOUT_FILE:
            await void_payout_file.apply(tx, proposal, actor=actor, now=now)
        case Act.REFUSE_TRANSFERS:
            await void_payout_file.apply_refusal(tx, proposal, actor=actor, now=now)
            await match_bank_lines.match_bank_lines(tx, by=actor.name, now=now)
        case Act.IMPORT_BANK_STATEMENT:
            await import_statement.apply(tx, proposal, actor=actor, now=now)
        case Act.WITHDRAW_BANK_STATEMENT:
            await withdraw_statement.apply(tx, proposal, actor=actor, now=now)
        case _:
            await decide_exception.apply(tx, proposal, reference_prefix=reference_prefix, actor=actor, now=now)


async def reject(tx: Tx, name: str, *, actor: Actor, now: datetime) -> Proposal:
    """Reject a proposal, or take back one's own."""
    require_operator(actor)
    await payer_accounts.lock(tx)
    proposal = await proposals.lock_open(tx, name)
    details = {"act": proposal.action, "subject": proposal.subject, "amount": proposal.amount}
    ended = await decide.reject(tx, proposal, "bank.rejected", details, actor=actor, now=now)
    if proposal.action is Act.APPROVE_PAYOUT_FILE:
        await gather_payout_file.rejected(tx, proposal, actor=actor, now=now)
    elif proposal.action is Act.IMPORT_BANK_STATEMENT:
        await import_statement.rejected(tx, proposal, actor=actor, now=now)
    return ended
