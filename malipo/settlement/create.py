"""Requests settlements: the wallet is debited at once.

The key by which the bank knows a settlement follows from the Idempotency-Key of its request, or from the merchant and
the day of its schedule: a request that is repeated after a restore gets the key that the bank may have seen before.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from malipo import ids
from malipo.audit_log import store as audit_log
from malipo.db import Contention, Tx
from malipo.errors import Refusal
from malipo.ledger.accounts import Posting, Step
from malipo.ledger.store import wallets
from malipo.ledger.wallet import Wallet
from malipo.payments import network_keys
from malipo.payments.idempotency import KeyReused, refusal_of
from malipo.payments.initiate import InsufficientBalance
from malipo.restore.installation import IntakeClosed
from malipo.restore.store import installation
from malipo.settlement.bank_account import BankAccount, BankAccountNotUsable, NoSuchBankAccount, default_account
from malipo.settlement.fee_and_minimum import SettlementTerms, whole_amount
from malipo.settlement.settlement import (
    NoBankAccount,
    NothingToSettle,
    Settlement,
    SettlementStatus,
    opening_moves,
)
from malipo.settlement.settlement_request import SettlementDraft, SettlementRequest
from malipo.settlement.store import bank_accounts, schedules, settlements


class MadeSettlement(msgspec.Struct, frozen=True):
    settlement: Settlement
    is_replay: bool = False


class CreateSettlements:
    def __init__(self, terms: SettlementTerms) -> None:
        self._terms = terms

    async def __call__(
        self, tx: Tx, requests: Sequence[SettlementRequest], /, *, again: bool
    ) -> list[MadeSettlement | Refusal | IntakeClosed]:
        state = await installation.get(tx)
        keys = {request.id: key_of(state.key_secret, request) for request in requests}
        merchants = sorted({request.merchant_id for request in requests})
        # Always in this order: settlements, bank accounts, wallets.
        lost = await settlements.lock_by_keys(tx, keys.values())
        accounts = await bank_accounts.lock_shared_of(tx, merchants)
        await wallets.lock(tx, merchants)
        kept = await schedules.find_kept(tx, merchants)
        answers = []
        for request in requests:
            answer = await _find_made(tx, request)
            if answer is None and state.takes_no_payments:
                answer = state.refusal
            if answer is None and (known := lost.get(keys[request.id])) is not None:
                answer = request.problem or await _replay_lost(tx, request, known)
            its_own = (accounts[request.merchant_id], kept.get(request.merchant_id, 0))
            answers.append(answer or await self._make(tx, request, keys[request.id], *its_own))
        return answers

    async def _make(
        self, tx: Tx, request: SettlementRequest, key: str, accounts: list[BankAccount], kept: int
    ) -> MadeSettlement | Refusal:
        if request.draft is None:
            assert request.problem is not None
            return request.problem
        account = _account_of(request.draft, accounts, await settlements.find_now(tx))
        if isinstance(account, Refusal):
            return account
        # Requests before this one in the same commit have used it.
        wallet = (await wallets.lock(tx, [request.merchant_id]))[request.merchant_id]
        amount = self._amount_of(request.draft, wallet, kept)
        if isinstance(amount, Refusal):
            return amount
        return MadeSettlement(await self._write(tx, request, request.draft, (key, account, amount), wallet))

    def _amount_of(self, draft: SettlementDraft, wallet: Wallet, kept: int) -> int | Refusal:
        """Whoever names an amount may take what is to stay, too."""
        whole = whole_amount(wallet, kept if draft.amount is None else 0)
        amount = whole if draft.amount is None else draft.amount
        least = max(self._terms.least, draft.minimum)
        if amount < least:
            return NothingToSettle(whole, least)
        return amount if amount <= wallet.spendable else InsufficientBalance(amount, wallet, subject="settlement")

    async def _write(
        self,
        tx: Tx,
        request: SettlementRequest,
        draft: SettlementDraft,
        what: tuple[str, BankAccount, int],
        wallet: Wallet,
    ) -> Settlement:
        key, account, amount = what
        settlement = Settlement(
            merchant_id=request.merchant_id,
            id=request.id,
            key=key,
            reference=self._terms.reference_of(key),
            status=SettlementStatus.REQUESTED,
            amount=amount,
            fee=self._terms.fee,
            bank_account_id=account.id,
            order_reference=draft.order_reference,
            scheduled_on=draft.scheduled_on,
            created_at=request.made_at,
            created_by=request.created_by,
            statement_line=wallet.statement_lines + 1,
        )
        is_new = await settlements.insert(
            tx, settlement, idempotency_key=request.key, request_hash=request.request_hash
        )
        if not is_new:  # An adoption uses this key, or this day has one.
            raise Contention("a settlement with this key was not there, and is")
        posting = Posting(request.merchant_id, settlement.id, Step.OPEN, opening_moves(settlement))
        await wallets.post(tx, {wallet.merchant_id: wallet}, [posting], now=request.made_at)
        if request.actor is not None:
            await audit_log.append(
                tx,
                request.actor,
                "settlement.requested",
                now=request.made_at,
                merchant_id=settlement.merchant_id,
                settlement=settlement.id,
                amount=settlement.amount,
                bank_account=account.id,
            )
        return settlement


def key_of(secret: bytes, request: SettlementRequest) -> str:
    """The key by which the bank knows the settlement: 16 characters, the EndToEndId of the file."""
    day = None if request.draft is None else request.draft.scheduled_on
    if day is not None:
        return network_keys.derive(secret, request.merchant_id, "settlement by schedule", day.isoformat())
    if request.key is not None:
        return network_keys.derive(secret, request.merchant_id, "settlement", request.key)
    return ids.suffix(request.made_at)


async def _find_made(tx: Tx, request: SettlementRequest) -> MadeSettlement | Refusal | IntakeClosed | None:
    """What was made under this key, or under this id by an earlier try whose commit was not confirmed to us."""
    if (ours := await settlements.get(tx, request.merchant_id, request.id)) is not None:
        return MadeSettlement(ours)
    if request.key is None:
        return None
    used = await settlements.find_by_idempotency_key(tx, request.merchant_id, request.key)
    if used is None:
        return None
    return refusal_of(request.request_hash, used.request_hash) or MadeSettlement(used.settlement, is_replay=True)


async def _replay_lost(tx: Tx, request: SettlementRequest, lost: Settlement) -> MadeSettlement | Refusal:
    """The request was lost with a restore, and its settlement was adopted from the bank's statement: it is never made
    anew. The bank knows only the net amount; what the request says of it must be the same."""
    wanted = None if request.draft is None else request.draft.amount
    if lost.merchant_id != request.merchant_id or (wanted is not None and wanted not in (lost.amount, lost.net_amount)):
        return KeyReused()
    if request.key is not None:
        await settlements.note_key(tx, lost, idempotency_key=request.key, request_hash=request.request_hash)
    return MadeSettlement(lost, is_replay=True)


def _account_of(draft: SettlementDraft, accounts: list[BankAccount], now: datetime) -> BankAccount | Refusal:
    """The bank account that the settlement goes to. The caller has locked the accounts: none is stopped meanwhile."""
    if draft.bank_account_id is None:
        return default_account(accounts, now) or NoBankAccount()
    named = next((each for each in accounts if each.id == draft.bank_account_id), None)
    if named is None:
        return NoSuchBankAccount()
    return named if named.is_usable(now) else BankAccountNotUsable()
