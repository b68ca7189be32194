"""What operators do about bank accounts and settlements: three acts that take two of them, and two that one does.

One table of subjects: a bank account that is verified, an adopted settlement whose debt is collected or written off,
and the release of settlements after a restore, whose subject is the epoch.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

import msgspec

from malipo import ids, typed_reason
from malipo.approvals import decide
from malipo.approvals import store as proposals
from malipo.approvals.act_rules import SETTLEMENT_ACTS, Act
from malipo.approvals.store import Proposal
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor, plain_name
from malipo.bank_evidence.store import coverage
from malipo.bank_formats.bank_text import bank_text
from malipo.db import Conn, Tx
from malipo.errors import Conflict, Invalid, Missing
from malipo.messages import notify_of_bank_accounts
from malipo.restore.store import installation
from malipo.settlement import adopt, release
from malipo.settlement.bank_account import (
    BankAccount,
    BankAccountRefusal,
    BankAccountStatus,
    named_account,
)
from malipo.settlement.cancel import CancelSettlements, SettlementCancellation
from malipo.settlement.manage_bank_accounts import MOST_HOLDER, PATH
from malipo.settlement.settlement import Settlement, SettlementRefusal
from malipo.settlement.store import bank_accounts, schedules, settlements


class SettlementActTerms(msgspec.Struct, frozen=True):
    """What exactly is approved, beside the subject."""

    merchant_id: str | None = None
    is_waived: bool = False  # of a debt: it is written off


class DecidedAct(msgspec.Struct, frozen=True):
    """An act that was proposed or done. `amount` is what it moved."""

    proposal_id: str
    act: Act
    subject: str
    is_done: bool
    amount: int = 0


class SettlementActs:
    """`wait`: how long a verified bank account waits."""

    def __init__(self, wait: timedelta) -> None:
        self._wait = wait

    async def verify(self, tx: Tx, account_id: str, evidence: str, *, actor: Actor, now: datetime) -> DecidedAct:
        """Propose that this account is the merchant's own; also anew, where no owner confirms it after a restore."""
        account = await _lock_verifiable(tx, account_id)
        terms = SettlementActTerms(merchant_id=account.merchant_id)
        return await self._propose(tx, Act.VERIFY_BANK_ACCOUNT, account.id, evidence, terms, actor, now=now)

    async def collect(
        self,
        tx: Tx,
        settlement_id: str,
        evidence: str,
        *,
        is_waived: bool,
        actor: Actor,
        now: datetime,
    ) -> DecidedAct:
        """Propose to take what a wallet owes of an adopted settlement, or to write it off."""
        found = await _lock_owing(tx, settlement_id)
        terms = SettlementActTerms(merchant_id=found.merchant_id, is_waived=is_waived)
        return await self._propose(
            tx,
            Act.COLLECT_SETTLEMENT,
            found.id,
            evidence,
            terms,
            actor,
            now=now,
            amount=found.owed,
        )

    async def release(self, tx: Tx, evidence: str, *, actor: Actor, now: datetime) -> DecidedAct:
        """Propose that schedules, files and cancellations begin again after a restore."""
        epoch = str((await installation.lock(tx)).epoch)
        if await release.is_released(tx):
            raise Conflict(code=SettlementRefusal.NOTHING_TO_RELEASE)
        if (refusal := await release.why_not_covered(tx)) is not None:
            raise refusal
        for each in await proposals.find_open(tx, [Act.RELEASE_SETTLEMENTS]):
            if each.subject != epoch:  # The database was restored again since.
                await decide.end_by_system(tx, each, now=now)
        return await self._propose(tx, Act.RELEASE_SETTLEMENTS, epoch, evidence, SettlementActTerms(), actor, now=now)

    async def _propose(
        self,
        tx: Tx,
        act: Act,
        subject: str,
        evidence: str,
        terms: SettlementActTerms,
        actor: Actor,
        *,
        now: datetime,
        amount: int = 0,
    ) -> DecidedAct:
        if not typed_reason.is_within(evidence, typed_reason.EVIDENCE):
            raise Invalid(code=SettlementRefusal.EVIDENCE)
        proposal = Proposal(
            id=ids.mint("sap_", now),
            action=act,
            subject=subject,
            amount=amount,
            terms=decide.encode(terms),
            reason=evidence,
            requested_by=actor.name,
            requested_at=now,
        )
        details = _details(proposal)
        made = await decide.propose(tx, proposal, f"{_NOTES[act]}_proposed", details, actor=actor)
        return DecidedAct(made.id, act, subject, False, amount)

    async def approve(
        self,
        tx: Tx,
        subject: str,
        *,
        actor: Actor,
        now: datetime,
        seen: str | None = None,
        is_single_operator: bool = False,
    ) -> DecidedAct:
        """Approve what another operator has proposed about this subject, and do it."""
        proposal = await lock_open(tx, subject)
        await _LOCKS[proposal.action](tx, proposal.subject)
        await decide.approve(
            tx,
            proposal,
            actor=actor,
            now=now,
            seen=seen,
            shown=lambda: find_code(tx, proposal),
            is_single_operator=is_single_operator,
        )
        amount = await self._apply(tx, proposal, now=now)
        details = _details(proposal) | {"proposed_by": proposal.requested_by}
        await audit_log.append(tx, actor, _NOTES[proposal.action], now=now, **details)
        return DecidedAct(proposal.id, proposal.action, proposal.subject, True, amount)

    async def _apply(self, tx: Tx, proposal: Proposal, *, now: datetime) -> int:
        match proposal.action:
            case Act.VERIFY_BANK_ACCOUNT:
                account = await _lock_verifiable(tx, proposal.subject)
                usable_from = now + self._wait
                await bank_accounts.verify(tx, account, now=now, usable_from=usable_from)
                await notify_of_bank_accounts.account_verified(
                    tx, account.merchant_id, named_account(account), usable_at=usable_from, path=PATH, now=now
                )
                return 0
            case Act.COLLECT_SETTLEMENT:
                before = await _lock_owing(tx, proposal.subject)
                is_waived = proposal.terms_as(SettlementActTerms).is_waived
                after = await adopt.collect(tx, before.id, now=now, is_waived=is_waived)
                return before.owed - after.owed
        await release.release(tx, now=now)
        return 0

    async def reject(self, tx: Tx, subject: str, *, actor: Actor, now: datetime) -> DecidedAct:
        """Reject a proposal, or withdraw one's own. The same can then be proposed again."""
        found = await lock_open(tx, subject)
        await decide.reject(tx, found, f"{_NOTES[found.action]}_rejected", _details(found), actor=actor, now=now)
        return DecidedAct(found.id, found.action, subject, False)


async def reject_account(tx: Tx, account_id: str, reason: str, *, actor: Actor, now: datetime) -> BankAccount:
    """One operator rejects an account that nobody has verified. Nothing can be sent there."""
    account = await _lock_unverified(tx, account_id)
    for each in await proposals.lock_open(tx, [Act.VERIFY_BANK_ACCOUNT], account_id):
        await decide.end_by_system(tx, each, now=now)
    await bank_accounts.end(tx, account, BankAccountStatus.REJECTED, by=actor.name, reason=reason, now=now)
    await audit_log.append(
        tx,
        actor,
        "bank_account.rejected",
        now=now,
        merchant_id=account.merchant_id,
        bank_account=account.id,
        bic=account.bic,
        number=account.masked_number,
        reason=reason,
    )
    return account


async def cancel(tx: Tx, settlement_id: str, *, actor: Actor, now: datetime) -> Settlement:
    """One operator cancels a settlement that is in no file: the amount goes back to the wallet that it came from."""
    found = await settlements.find(tx, [settlement_id])
    if not found:
        raise Missing(code=SettlementRefusal.NO_SUCH, id=settlement_id)
    cancellation = SettlementCancellation(found[0].merchant_id, settlement_id, actor.name, actor)
    [answer] = await CancelSettlements(clock=lambda: now)(tx, [cancellation], again=False)
    if not isinstance(answer, Settlement):
        raise answer
    return answer


_NOTES = {
    Act.VERIFY_BANK_ACCOUNT: "bank_account.verified",
    Act.COLLECT_SETTLEMENT: "settlement.collected",
    Act.RELEASE_SETTLEMENTS: "settlements.released",
}


def _details(proposal: Proposal) -> dict[str, Any]:
    terms = proposal.terms_as(SettlementActTerms)
    details: dict[str, Any] = {"subject": proposal.subject, "evidence": proposal.reason}
    if terms.merchant_id is not None:
        details["merchant_id"] = terms.merchant_id
    if proposal.amount:
        details |= {"amount": proposal.amount, "is_waived": terms.is_waived}
    return details


async def lock_open(tx: Tx, subject: str) -> Proposal:
    """Lock the open proposal about a subject until the commit."""
    return await decide.lock_open(tx, SETTLEMENT_ACTS, subject)


async def find_shown(connection: Conn, proposal: Proposal) -> dict[str, object]:
    """What an approver is shown beside the proposal."""
    match proposal.action:
        case Act.VERIFY_BANK_ACCOUNT:
            account = await bank_accounts.get_with_id(connection, proposal.subject)
            assert account is not None, "an account is never deleted"
            notices = await notify_of_bank_accounts.count_notices_of_added(connection, account.id)
            return {
                "bank": account.bic,
                "account number": account.account_number,
                "account holder": account.holder_name,
                "account holder in files": bank_text(account.holder_name, MOST_HOLDER),
                "added by": account.created_by,
                "replaces": account.replaces,
                "notices sent to owners": f"{notices.sent} / {notices.written}",
            }
        case Act.COLLECT_SETTLEMENT:
            [settlement] = await settlements.find(connection, [proposal.subject])
            return {"settlement": settlement.reference, "amount": settlement.amount, "owed": settlement.owed}
    first, last = await release.find_lost_time(connection)
    importers = await coverage.find_importers(connection, first, last)
    return {
        "lost days": f"{first} to {last}",
        "statements imported by": ", ".join(map(plain_name, importers)),
        "bank accounts that owners must confirm": len(await bank_accounts.find_held(connection)),
        "schedules that owners must save again": len(await schedules.find_paused(connection)),
    }


async def find_code(connection: Conn, proposal: Proposal) -> str:
    return decide.code_of(proposal, await find_shown(connection, proposal))


async def _lock_verifiable(tx: Tx, account_id: str) -> BankAccount:
    account = await bank_accounts.lock(tx, account_id)
    if account is not None and account.held_since is not None:
        return account
    return await _lock_unverified(tx, account_id)


async def _lock_unverified(tx: Tx, account_id: str) -> BankAccount:
    account = await bank_accounts.lock(tx, account_id)
    if account is None:
        raise Missing(code=BankAccountRefusal.NO_SUCH, id=account_id)
    if account.stored_status is not BankAccountStatus.UNVERIFIED:
        raise Conflict(code=BankAccountRefusal.NOT_UNVERIFIED, status=account.stored_status)
    return account


async def _lock_owing(tx: Tx, settlement_id: str) -> Settlement:
    found = (await settlements.lock(tx, [settlement_id])).get(settlement_id)
    if found is None:
        raise Missing(code=SettlementRefusal.NO_SUCH, id=settlement_id)
    if not found.owed:
        raise Conflict(code=SettlementRefusal.NOTHING_OWED, id=settlement_id)
    return found


async def _lock_installation(tx: Tx, epoch: str) -> object:
    return await installation.lock(tx)


_LOCKS: dict[Act, Callable[[Tx, str], Awaitable[object]]] = {
    Act.VERIFY_BANK_ACCOUNT: _lock_verifiable,
    Act.COLLECT_SETTLEMENT: _lock_owing,
    Act.RELEASE_SETTLEMENTS: _lock_installation,
}
