"""Creates payments from requests: many in one commit, each decided in the order of arrival.

A request has its ids before the first try, so a second try after a lost connection finds the payment that the first one
wrote, and does not pay twice. A refund is a payout; its amount and its network key are decided here, when its
collection is locked.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec.structs import replace

from malipo import money
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.clock import Clock
from malipo.db import Tx
from malipo.errors import Invalid, Refusal, Unavailable
from malipo.ledger.wallet import Wallet
from malipo.payments import status_writer
from malipo.payments.fees import Band, fee_of
from malipo.payments.idempotency import refusal_of, refusal_of_repeat
from malipo.payments.known_tariffs import KnownTariffs
from malipo.payments.limits.payout_sums import Limits, PayoutSums
from malipo.payments.limits.person_limits import PersonLimit
from malipo.payments.refunds.reserve import Reservations
from malipo.payments.status_effects import posting_of
from malipo.payments.store import idempotency_keys, initiate_inputs, transactions
from malipo.payments.store.idempotency_keys import IdempotencyKey, IdempotencyRecord
from malipo.payments.transaction import Transaction, Type
from malipo.restore.store import installation


class InsufficientBalance(Invalid):
    code = "insufficient_balance"

    def __init__(self, needed: int, wallet: Wallet, *, subject: str = "payout") -> None:
        message = (
            f"This {subject} needs {money.display(needed)} and the wallet holds {money.display(wallet.available)}."
        )
        if wallet.owed:
            message = f"{message[:-1]}, of which {money.display(wallet.owed)} is owed."
        super().__init__("The wallet balance is not sufficient.", details={"amount": [message]})


class PaymentRequest(msgspec.Struct, frozen=True):
    """A request for a payment. If its fields are wrong there is no draft, and `problem` says why."""

    merchant_id: str
    type: Type
    draft: Transaction | None
    problem: Invalid | None
    key: str | None
    request_hash: bytes
    actor: Actor | None = None  # a person; what API keys do is not in the audit log
    payout_limits: Limits | None = None  # of the key or person that makes it, if there are any
    approval_limit: PersonLimit | None = None  # how much this person may pay out without a second person
    scope: str | None = None  # of the idempotency key, if it is not that of the type
    is_key_checked: bool = True  # False: the fast path checks the API key, in the statement that writes the payment

    @property
    def limits(self) -> list[Limits]:
        return [each for each in (self.approval_limit, self.payout_limits) if each is not None]

    @property
    def idempotency_key(self) -> IdempotencyKey | None:
        return (self.merchant_id, self.scope or self.type, self.key) if self.key is not None else None


class InitiatedPayment(msgspec.Struct, frozen=True):
    transaction: Transaction
    is_replay: bool = False


InitiateOutcome = InitiatedPayment | Refusal | Unavailable


class NeedsUsualPath(Refusal):
    """The fast path has written nothing. Its statement checks the API key, so the key may be wrong, or the statement
    could not write this request. The API then checks the key and repeats the request without the fast path. No client
    sees this."""

    def __init__(self) -> None:
        super().__init__("The API key has not been checked.")


class Initiate:
    def __init__(self, *, clock: Clock, tariffs: KnownTariffs | None = None) -> None:
        self._clock = clock
        self._tariffs = tariffs or KnownTariffs()

    async def __call__(self, tx: Tx, requests: Sequence[PaymentRequest], /, *, again: bool) -> list[InitiateOutcome]:
        wanted = _records_of(requests)
        drafts = [request.draft for request in requests if request.draft is not None]
        reservations = await Reservations.lock(tx, drafts)
        # Another process that uses one of these keys waits here until we commit.
        tariff_keys = {(draft.merchant_id, draft.type, draft.channel) for draft in drafts}
        needed = await initiate_inputs.lock_inputs(
            tx,
            wanted,
            tariff_keys,
            [draft.merchant_id for draft in drafts if draft.type is Type.DISBURSEMENT],
        )
        self._tariffs.note(tariff_keys, needed.bands)
        if needed.takes_no_payments:
            await self._keep_records(tx, {key: wanted[key] for key in needed.won}, {})
            return await _refuse_all(tx, requests, again=again)
        rest = {request.idempotency_key for request in requests if request.idempotency_key is not None} - needed.won
        used = await idempotency_keys.find(tx, rest) if rest else {}
        # Read after the locks: an earlier try that wrote these rows has committed or rolled back by now.
        written = await transactions.find_written(tx, drafts) if again else {}
        limits = [each for request in requests if request.type is Type.DISBURSEMENT for each in request.limits]
        sums = await PayoutSums.find(tx, limits, now=self._clock())
        decision = _Decision(dict(needed.wallets), used, needed.bands, written, sums, reservations)
        answers = [decision.on(request) for request in requests]
        await self._keep_records(tx, {key: wanted[key] for key in needed.won}, decision.records)
        now = self._clock()
        await status_writer.open_all(tx, decision.created, needed.wallets, now=now)
        await sums.save(tx)
        await self._append_to_audit_log(tx, requests, decision.created, now)
        return answers

    @staticmethod
    async def _append_to_audit_log(
        tx: Tx, requests: Sequence[PaymentRequest], created: Sequence[Transaction], now: datetime
    ) -> None:
        by_id = {each.id: each for each in created}
        for request in requests:
            if request.actor is not None and request.draft is not None and (made := by_id.get(request.draft.id)):
                await audit_log.append(
                    tx,
                    request.actor,
                    "payment.initiated",
                    now=now,
                    merchant_id=made.merchant_id,
                    transaction=made.id,
                    type=made.type,
                    amount=made.amount,
                    **({} if made.refund_of is None else {"refund_of": made.refund_of}),
                )

    @staticmethod
    async def _keep_records(
        tx: Tx, taken: Mapping[IdempotencyKey, IdempotencyRecord], kept: Mapping[IdempotencyKey, IdempotencyRecord]
    ) -> None:
        """Keep the idempotency keys of created payments only. A later request of the same commit may have used the key
        of a refused one."""
        dropped = [key for key in taken if key not in kept]
        if dropped:
            await idempotency_keys.delete(tx, dropped)
        changed = {key: record for key, record in kept.items() if taken.get(key) != record}
        if changed:
            await idempotency_keys.update(tx, changed)


async def _refuse_all(tx: Tx, requests: Sequence[PaymentRequest], *, again: bool) -> list[InitiateOutcome]:
    """Refuse all requests, because the installation takes no payments now, except those that an earlier try has
    written."""
    closed = (await installation.get(tx)).refusal
    drafts = [request.draft for request in requests if request.draft is not None]
    written = await transactions.find_written(tx, drafts) if again else {}
    answers: list[InitiateOutcome] = []
    for request in requests:
        if request.draft is not None and request.draft.id in written:
            answers.append(InitiatedPayment(written[request.draft.id]))
        elif request.is_key_checked or again:  # `again`: after a doubtful try the request must not be repeated.
            answers.append(closed)
        else:
            answers.append(NeedsUsualPath())
    return answers


def _records_of(requests: Sequence[PaymentRequest]) -> dict[IdempotencyKey, IdempotencyRecord]:
    """The idempotency keys of the requests. If two requests have the same key, the first one takes it."""
    wanted: dict[IdempotencyKey, IdempotencyRecord] = {}
    for request in requests:
        if request.idempotency_key is not None and request.draft is not None:
            wanted.setdefault(request.idempotency_key, IdempotencyRecord(request.request_hash, request.draft.id))
    return wanted


class _Decision:
    """Decides requests one after the other, each against what the ones before it have left."""

    def __init__(
        self,
        wallets: dict[str, Wallet],
        used: Mapping[IdempotencyKey, tuple[IdempotencyRecord, Transaction]],
        bands: Mapping[tuple[str, Type, str], Sequence[Band]],
        written: Mapping[str, Transaction],
        sums: PayoutSums,
        reservations: Reservations,
    ) -> None:
        self._wallets = wallets
        self._used = dict(used)
        self._bands = bands
        self._written = written
        self._sums = sums
        self._reservations = reservations
        self.created: list[Transaction] = []
        self.records: dict[IdempotencyKey, IdempotencyRecord] = {}

    def on(self, request: PaymentRequest) -> InitiateOutcome:
        key = request.idempotency_key
        if not request.is_key_checked:
            return self._only_written(request)
        if key is not None and key in self._used:
            return self._replay(request, *self._used[key])
        if request.draft is None:
            assert request.problem is not None
            return request.problem
        answer = self._open(request.draft, request.limits)
        if key is not None and isinstance(answer, InitiatedPayment):
            self.records[key] = IdempotencyRecord(request.request_hash, request.draft.id)
            self._used[key] = (self.records[key], answer.transaction)
        return answer

    def _only_written(self, request: PaymentRequest) -> InitiateOutcome:
        """The payment that an earlier try of this request has written. A caller whose key is not checked gets nothing
        else."""
        assert request.draft is not None
        assert request.idempotency_key is not None
        _, written = self._used.get(request.idempotency_key, (None, None))
        return InitiatedPayment(written) if written is not None and written.id == request.draft.id else NeedsUsualPath()

    @staticmethod
    def _replay(request: PaymentRequest, record: IdempotencyRecord, transaction: Transaction) -> InitiateOutcome:
        refusal: Refusal | Unavailable | None
        if request.draft is not None and request.draft.id == transaction.id:
            return InitiatedPayment(transaction)  # Written by an earlier try whose commit was not confirmed to us.
        if record.request_hash == idempotency_keys.ADOPTED and request.draft is not None:
            refusal = refusal_of_repeat(request.draft, transaction, is_adopted=True)
        else:
            refusal = refusal_of(request.request_hash, record.request_hash)
        return refusal or InitiatedPayment(transaction, is_replay=True)

    def _open(self, draft: Transaction, limits: Sequence[Limits]) -> InitiateOutcome:
        if draft.id in self._written:
            return InitiatedPayment(self._written[draft.id])
        if draft.refund_of is not None:
            refund = self._reservations.take(draft)
            if isinstance(refund, Refusal):
                return refund
            draft = refund
        bands = self._bands.get((draft.merchant_id, draft.type, draft.channel), ())
        transaction = replace(draft, fee=fee_of(draft.amount, bands))
        if posting := posting_of(transaction):
            # Only payouts move money when they are created.
            wallet = self._wallets[draft.merchant_id]
            for each in limits:
                if refusal := self._sums.refusal_of(each, draft.amount):
                    return refusal
            if not wallet.can_spend(posting.moves):
                return InsufficientBalance(transaction.amount + transaction.fee, wallet)
            for each in limits:
                self._sums.add(each, draft.amount)
            self._wallets[draft.merchant_id] = wallet.after(posting.moves)
        if draft.refund_of is not None:
            self._reservations.add(transaction)
        self.created.append(transaction)
        return InitiatedPayment(transaction)
