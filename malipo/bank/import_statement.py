"""Imports a statement of one of our bank accounts, by the rule of two operators that networks' statements have.

A statement ends settlements: it pays them out of the ledger, or gives their money back. Whoever could write one alone
could do both. So above the approval amount a statement counts only when another operator has approved it; until then
its lines are kept, and nothing follows from them.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from malipo import ids
from malipo.approvals import moved_alone
from malipo.approvals.act_rules import Act
from malipo.approvals.moved_alone import Deciders, require_operator
from malipo.approvals.store import Proposal
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.bank import proposals
from malipo.bank.match_bank_lines import BankMatchingSummary, Effect, find_effects, match_bank_lines
from malipo.bank.proposals import ShownTerms
from malipo.bank.read_statement import NotImported, ReadStatement
from malipo.bank.statement import (
    ID_PREFIX,
    BankImportRefusal,
    KnownStatement,
    NewLine,
    StoredStatement,
    contradictions,
    lines_of,
    names_of,
    what_is_wrong,
)
from malipo.bank.store import payer_accounts
from malipo.bank.store import statements as store
from malipo.bank_evidence.coverage import coverage_rows
from malipo.bank_evidence.store import coverage, holidays
from malipo.bank_evidence.which_count import StatementState
from malipo.db import Conn, Tx
from malipo.errors import Conflict, Missing, Problem
from malipo.table_files import store as kept_contents


class BankImport(msgspec.Struct, frozen=True, kw_only=True):
    """What came of an import."""

    statement: StoredStatement
    problems: tuple[Problem, ...] = ()  # that were accepted
    is_repeat: bool = False  # the same file was imported before, so nothing was done
    proposal: Proposal | None = None  # it waits for another operator
    found: BankMatchingSummary = BankMatchingSummary()


class BankStatementTerms(msgspec.Struct, frozen=True, kw_only=True):
    sha256: str


async def import_statement(
    tx: Tx,
    read: ReadStatement,
    *,
    approval_amount: int,
    accepts_problems: bool = False,
    is_single_operator: bool = False,
    actor: Actor,
    now: datetime,
) -> BankImport:
    require_operator(actor)
    await payer_accounts.lock(tx)
    await moved_alone.lock(tx, actor.name)
    counting = await store.find_counting(tx, read.account.id)
    for each in counting:
        if each.sha256 == read.sha256:
            return BankImport(statement=each, is_repeat=True)
    problems = what_is_wrong(read.statement, counting, await holidays.find_banking_days(tx))
    if problems and not accepts_problems:
        raise NotImported(code=BankImportRefusal.DOES_NOT_ADD_UP, name=read.name, problems=problems)
    lines = lines_of(read.statement.entries)
    statement = _new(read, lines, problems, actor=actor, now=now)
    await _refuse_contradiction(tx, KnownStatement(statement, names_of(lines)), counting)
    await store.insert(tx, statement)
    await kept_contents.keep(tx, read.sha256, read.path)
    new_count = await store.put_lines(tx, statement.id, read.account.id, lines)
    amount = _amount(await find_effects(tx, statement.id))
    deciders = await moved_alone.count_unless_two(
        tx,
        Act.IMPORT_BANK_STATEMENT,
        amount,
        operator=actor.name,
        subject=statement.id,
        approval_amount=approval_amount,
        now=now,
        is_single_operator=is_single_operator,
    )
    state = StatementState.WAITING if deciders is Deciders.TWO else StatementState.TAKEN
    await store.set_amount(tx, statement.id, state=state, new_count=new_count, amount=amount)
    statement = msgspec.structs.replace(statement, state=state, new_count=new_count, amount=amount)
    await _note(tx, statement, is_alone=deciders is Deciders.SINGLE_OPERATOR, actor=actor, now=now)
    if deciders is Deciders.TWO:
        proposal = await _propose(tx, statement, actor=actor, now=now)
        return BankImport(statement=statement, problems=tuple(problems), proposal=proposal)
    found = await take(tx, statement, by=actor.name, now=now)
    return BankImport(statement=statement, problems=tuple(problems), found=found)


async def take(tx: Tx, statement: StoredStatement, *, by: str, now: datetime) -> BankMatchingSummary:
    """Take the statement: from now on it covers its days, and its lines are matched."""
    await write_coverage(tx, statement.payer_account_id)
    return await match_bank_lines(tx, by=by, now=now)


async def write_all_coverage(tx: Tx) -> None:
    """Write which days all statements cover, because other days may be holidays now."""
    await payer_accounts.lock(tx)
    for account in await payer_accounts.find_all(tx):
        await write_coverage(tx, account.id)


async def write_coverage(tx: Tx, payer_account_id: str) -> None:
    """Write which days the statements of an account cover."""
    counting = await store.find_counting(tx, payer_account_id)
    for each in counting:
        await coverage.delete(tx, each.id)
    known = [(each.id, each.covering) for each in counting if each.counts]
    covering = [(id_, each) for id_, each in known if each is not None]
    for id_, first, last in coverage_rows(covering, (await holidays.find_banking_days(tx)).follows):
        await coverage.insert(tx, payer_account_id, id_, first=first, last=last)


def _new(
    read: ReadStatement, lines: Sequence[NewLine], problems: Sequence[Problem], *, actor: Actor, now: datetime
) -> StoredStatement:
    statement = read.statement
    return StoredStatement(
        id=ids.mint(ID_PREFIX, now),
        payer_account_id=read.account.id,
        sha256=read.sha256,
        name=read.name,
        format=read.format,
        begins_on=statement.begins_on,
        ends_on=statement.ends_on,
        opening=statement.opening,
        closing=statement.closing,
        line_count=len(lines),
        new_count=0,
        problems=tuple(str(each.code) for each in problems),
        state=StatementState.WAITING,
        amount=0,
        imported_by=actor.name,
        imported_at=now,
    )


async def _refuse_contradiction(tx: Tx, new: KnownStatement, counting: Sequence[StoredStatement]) -> None:
    for each in counting:
        if found := contradictions(new, await store.with_entries(tx, each)):
            name = new.statement.name
            raise Conflict(
                code=BankImportRefusal.CONTRADICTS, problems=found, name=name, other=each.name, other_id=each.id
            )


def _amount(effects: Sequence[Effect]) -> int:
    return sum(each.settlement.net_amount for each in effects)


async def _note(tx: Tx, statement: StoredStatement, *, is_alone: bool, actor: Actor, now: datetime) -> None:
    await audit_log.append(
        tx,
        actor,
        "bank.statement_imported",
        now=now,
        statement=statement.id,
        name=statement.name,
        lines=statement.line_count,
        new=statement.new_count,
        amount=statement.amount,
        problems=statement.problems,
        **audit_log.alone(is_alone),
    )


async def _propose(tx: Tx, statement: StoredStatement, *, actor: Actor, now: datetime) -> Proposal:
    terms = BankStatementTerms(sha256=statement.sha256.hex())
    return await proposals.propose(
        tx, Act.IMPORT_BANK_STATEMENT, statement.id, terms, amount=statement.amount, actor=actor, now=now
    )


async def facts(connection: Conn, proposal: Proposal) -> ShownTerms:
    """What the statement would do to settlements now."""
    statement = await get_statement(connection, proposal.subject)
    effects = await find_effects(connection, statement.id)
    rows = [
        {
            "settlement": each.settlement.reference,
            "merchant": each.settlement.merchant_id,
            "amount": each.settlement.net_amount,
            "becomes": "RETURNED" if each.meaning == "return" else "COMPLETED",
            "booked_on": each.line.booked_on.isoformat(),
            "reference": each.line.reference,
        }
        for each in effects
    ]
    terms = {
        "statement": statement.id,
        "file": statement.name,
        "lines": statement.line_count,
        "amount": _amount(effects),
        "problems": ", ".join(statement.problems) or None,
    }
    return ShownTerms(terms, rows)


async def apply(tx: Tx, proposal: Proposal, *, actor: Actor, now: datetime) -> None:
    statement = await get_statement(tx, proposal.subject)
    await store.set_state(tx, statement.id, StatementState.TAKEN, by=actor.name, now=now)
    await take(tx, statement, by=actor.name, now=now)
    await audit_log.append(
        tx,
        actor,
        "bank.statement_approved",
        now=now,
        statement=statement.id,
        name=statement.name,
        amount=proposal.amount,
        proposed_by=proposal.requested_by,
        **audit_log.alone(proposal.is_single_operator),
    )


async def rejected(tx: Tx, proposal: Proposal, *, actor: Actor, now: datetime) -> None:
    """The statement is rejected: none of its lines has ever counted."""
    await store.set_state(tx, proposal.subject, StatementState.REJECTED, by=actor.name, now=now)
    await store.forget_lines(tx, proposal.subject)


async def get_statement(connection: Conn, statement_id: str) -> StoredStatement:
    statement = await store.get(connection, statement_id)
    if statement is None:
        raise Missing(code=BankImportRefusal.NO_SUCH, name=statement_id)
    return statement
