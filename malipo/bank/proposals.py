"""Acts about our bank accounts that take two operators: one proposes, another approves or rejects.

The workflow is that of all acts (`approvals/decide.py`). Here is what these acts have in common: the proposal with its
entry in the audit log, the reason, and the facts that an approver is shown. Their lock is in `store/payer_accounts.py`.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from malipo import ids, typed_reason
from malipo.approvals import decide
from malipo.approvals import store as proposals
from malipo.approvals.act_rules import BANK, Act
from malipo.approvals.store import Proposal
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.errors import Code, Invalid, Missing

ID_PREFIX = "bkp_"


class BankProposalRefusal(Code):
    NOTHING_WAITS = "bank_nothing_waits"
    REASON = "bank_reason"


class ShownTerms(NamedTuple):
    """What an approver is shown: names and values, and rows of the same. Doors have the words."""

    terms: Mapping[str, object]
    rows: Sequence[Mapping[str, object]] = ()


async def propose(
    tx: Tx,
    act: Act,
    subject: str,
    terms: object,
    *,
    amount: int,
    reason: str = "",
    actor: Actor,
    now: datetime,
    family: Sequence[Act] = (),
) -> Proposal:
    proposal = Proposal(
        id=ids.mint(ID_PREFIX, now),
        action=act,
        subject=subject,
        amount=amount,
        terms=decide.encode(terms),
        reason=reason,
        requested_by=actor.name,
        requested_at=now,
    )
    details = {"act": act, "subject": subject, "amount": amount, "reason": reason}
    return await decide.propose(tx, proposal, "bank.proposed", details, actor=actor, family=family)


async def lock_open(tx: Tx, name: str) -> Proposal:
    """Lock the open proposal with this id, or about this file, statement or exception."""
    found = [*await proposals.lock_open_with_id(tx, BANK, name), *await proposals.lock_open(tx, BANK, name)]
    if not found:
        raise Missing(code=BankProposalRefusal.NOTHING_WAITS, name=name)
    return found[0]


def require_reason(reason: str) -> str:
    reason = reason.strip()
    if not typed_reason.is_within(reason, typed_reason.EVIDENCE):
        least, most = typed_reason.EVIDENCE
        raise Invalid(code=BankProposalRefusal.REASON, least=least, most=most)
    return reason


def code_of(proposal: Proposal, facts: ShownTerms) -> str:
    """The code of what an approver is shown."""
    rows: list[dict[str, Any]] = [dict(each) for each in facts.rows]
    return decide.code_of(proposal, dict(facts.terms), rows)
