"""API keys that operators make for a merchant. A key that can pay out is only proposed, whatever the wallet's balance,
because it can pay out every day, also money that comes later. The operator who approves it is shown the key.

Keys that a merchant's own people make need no operator. Before any operator has a password, the installer makes keys at
once.
"""

from datetime import datetime

from malipo import ids, money
from malipo.approvals import decide, moved_alone
from malipo.approvals.act_rules import Act
from malipo.approvals.decide import NothingProposed
from malipo.approvals.moved_alone import Deciders
from malipo.approvals.store import Proposal
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Conn, Tx
from malipo.errors import Code
from malipo.ledger.store import wallets
from malipo.ledger.wallet import Wallet
from malipo.merchants import issue_api_keys
from malipo.merchants.api_keys import PAYING, KeyTerms, NewKey


class KeyApprovalRefusal(Code):
    NOTHING_WAITS = "key_nothing_waits"


def amount_of(terms: KeyTerms, wallet: Wallet) -> int:
    """The most that the key can pay out in a day, by the wallet's balance now; payouts in flight may return to it.
    Pure."""
    if not PAYING & set(terms.permissions):
        return 0
    total = max(wallet.available + wallet.in_flight, 0)
    return total if terms.daily_payout_limit is None else min(total, terms.daily_payout_limit)


async def request(
    tx: Tx,
    merchant_id: str,
    terms: KeyTerms,
    *,
    approval_amount: int,
    actor: Actor,
    now: datetime,
    is_single_operator: bool = False,
) -> NewKey | Proposal:
    """Make the key if it cannot pay out, otherwise propose it."""
    if not actor.is_operator or not PAYING & set(terms.permissions):
        return await _make(tx, merchant_id, terms, {}, actor=actor, now=now)
    await moved_alone.lock(tx, actor.name)
    await decide.require_none_open(tx, [Act.MAKE_PAYING_KEY], merchant_id)
    amount = amount_of(terms, await find_wallet(tx, merchant_id))
    deciders = await moved_alone.count_unless_two(
        tx,
        Act.MAKE_PAYING_KEY,
        amount,
        operator=actor.name,
        subject=merchant_id,
        approval_amount=approval_amount,
        now=now,
        is_single_operator=is_single_operator,
    )
    if deciders is Deciders.TWO:
        return await _propose(tx, merchant_id, terms, amount, actor=actor, now=now)
    return await _make(
        tx, merchant_id, terms, audit_log.alone(deciders is Deciders.SINGLE_OPERATOR), actor=actor, now=now
    )


async def approve(
    tx: Tx,
    merchant_id: str,
    *,
    actor: Actor,
    now: datetime,
    seen: str | None = None,
    is_single_operator: bool = False,
) -> NewKey:
    """Approve another operator's proposal, and make the key. `seen` is the code of the facts that the approver was
    shown."""
    found = await lock_open(tx, merchant_id)
    decided = await decide.approve(tx, found, actor=actor, now=now, seen=seen, is_single_operator=is_single_operator)
    noted = {"proposed_by": found.requested_by} | audit_log.alone(decided.is_single_operator)
    return await _make(tx, merchant_id, found.terms_as(KeyTerms), noted, actor=actor, now=now)


async def reject(tx: Tx, merchant_id: str, *, actor: Actor, now: datetime) -> Proposal:
    """Reject a proposal, or withdraw one's own."""
    found = await lock_open(tx, merchant_id)
    details = _details(merchant_id, found.terms_as(KeyTerms))
    return await decide.reject(tx, found, "api_key.rejected", details, actor=actor, now=now)


async def lock_open(tx: Tx, merchant_id: str) -> Proposal:
    return await decide.lock_open(
        tx, [Act.MAKE_PAYING_KEY], merchant_id, NothingProposed(code=KeyApprovalRefusal.NOTHING_WAITS)
    )


async def find_wallet(connection: Conn, merchant_id: str) -> Wallet:
    wallet, _ = await wallets.get(connection, merchant_id)
    return wallet


async def _propose(tx: Tx, merchant_id: str, terms: KeyTerms, amount: int, *, actor: Actor, now: datetime) -> Proposal:
    proposal = Proposal(
        id=ids.mint("kpr_", now),
        action=Act.MAKE_PAYING_KEY,
        subject=merchant_id,
        amount=amount,
        terms=decide.encode(terms),
        reason=f"An API key that pays out, {money.display(amount)} today",
        requested_by=actor.name,
        requested_at=now,
    )
    return await decide.propose(tx, proposal, "api_key.proposed", _details(merchant_id, terms), actor=actor)


async def _make(
    tx: Tx, merchant_id: str, terms: KeyTerms, noted: dict[str, object], *, actor: Actor, now: datetime
) -> NewKey:
    return await issue_api_keys.create_key(tx, merchant_id, terms, actor=actor, now=now, noted=noted)


def _details(merchant_id: str, terms: KeyTerms) -> dict[str, object]:
    return {"merchant_id": merchant_id, "name": terms.name, "permissions": terms.permissions}
