"""Withdraws a statement that was wrongly imported, as if it had never been. Two operators agree.

Only a statement from which nothing has followed: a settlement that has ended is not undone, because its merchant knows
it and may have spent what came back. Lines that another statement has too stay.
"""

from datetime import datetime

from malipo.approvals.act_rules import Act
from malipo.approvals.moved_alone import require_operator
from malipo.approvals.store import Proposal
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.bank import proposals
from malipo.bank.import_statement import get_statement, write_coverage
from malipo.bank.match_bank_lines import match_bank_lines
from malipo.bank.proposals import ShownTerms
from malipo.bank.statement import BankImportRefusal, StoredStatement
from malipo.bank.store import payer_accounts
from malipo.bank.store import statements as store
from malipo.bank_evidence.store import coverage
from malipo.bank_evidence.which_count import StatementState
from malipo.db import Conn, Tx
from malipo.errors import Conflict


async def propose(tx: Tx, statement_id: str, *, reason: str, actor: Actor, now: datetime) -> Proposal:
    require_operator(actor)
    await payer_accounts.lock(tx)
    statement, reason = await get_statement(tx, statement_id), proposals.require_reason(reason)
    await _require_without_effects(tx, statement)
    return await proposals.propose(
        tx, Act.WITHDRAW_BANK_STATEMENT, statement.id, {}, amount=0, reason=reason, actor=actor, now=now
    )


async def facts(connection: Conn, proposal: Proposal) -> ShownTerms:
    statement = await get_statement(connection, proposal.subject)
    days = {"begins_on": str(statement.begins_on), "ends_on": str(statement.ends_on)}
    return ShownTerms({"statement": statement.id, "file": statement.name, "lines": statement.line_count, **days})


async def apply(tx: Tx, proposal: Proposal, *, actor: Actor, now: datetime) -> None:
    statement = await get_statement(tx, proposal.subject)
    await _require_without_effects(tx, statement)
    await store.delete_bookings_alone(tx, statement.id)
    await store.set_state(tx, statement.id, StatementState.WITHDRAWN, by=actor.name, now=now)
    await store.forget_lines(tx, statement.id)
    await coverage.delete(tx, statement.id)
    await write_coverage(tx, statement.payer_account_id)
    await match_bank_lines(tx, by=actor.name, now=now)
    await audit_log.append(
        tx,
        actor,
        "bank.statement_withdrawn",
        now=now,
        statement=statement.id,
        name=statement.name,
        reason=proposal.reason,
        proposed_by=proposal.requested_by,
    )


async def _require_without_effects(tx: Tx, statement: StoredStatement) -> None:
    if not statement.counts:
        raise Conflict(code=BankImportRefusal.NOT_TAKEN, name=statement.id)
    if lines := await store.count_effects_alone(tx, statement.id):
        raise Conflict(code=BankImportRefusal.HAS_EFFECTS, name=statement.id, count=lines)
