"""Assigns a new payment the network key that is derived from its Idempotency-Key, or finds the payment that has it.

This file says what a key is derived from. The HMAC and the length of a key: `payments/network_keys.py`.
"""

from msgspec.structs import replace

from malipo import ids, log
from malipo.db import Database, Tx, retry
from malipo.payments import network_keys
from malipo.payments.idempotency import NotTheAdoptedPayment, refusal_of_repeat
from malipo.payments.initiate import InitiatedPayment, PaymentRequest
from malipo.payments.payment_request import PaymentTerms
from malipo.payments.store import adopted_payments, idempotency_keys, transactions
from malipo.payments.transaction import Type
from malipo.restore.store import installation


class DerivedKeys:
    def __init__(self, database: Database, terms: PaymentTerms) -> None:
        self._database = database
        self._terms = terms
        self._secret: bytes | None = None  # read once: it never changes

    async def assign(self, request: PaymentRequest) -> PaymentRequest:
        """The request with its network key: derived from the Idempotency-Key if it has one, so it is the same at every
        try."""
        if request.draft is None or request.key is None or request.draft.refund_of is not None:
            return request  # A refund gets its key from its collection, when that is locked.
        if self._secret is None:
            found = await retry.read(self._database, installation.get)
            self._secret = found.key_secret
        key = self.derived(request.merchant_id, request.type, request.key)
        assert key is not None
        reference = self._terms.reference_of(key)
        return replace(request, draft=replace(request.draft, network_key=key, reference=reference, is_key_derived=True))

    def derived(self, merchant_id: str, type_: Type, key: str) -> str | None:
        """The key; None if this process has not read the secret yet."""
        return None if self._secret is None else network_keys.derive(self._secret, merchant_id, type_, key)

    def with_new_reference(self, request: PaymentRequest) -> PaymentRequest:
        """The request with a random reference. The one that follows from the key belongs to an adoption that was
        undone."""
        assert request.draft is not None
        suffix = ids.suffix(request.draft.created_at)
        key = request.draft.network_key if request.draft.is_key_derived else suffix
        return replace(
            request, draft=replace(request.draft, reference=self._terms.reference_of(suffix), network_key=key)
        )

    async def replay_adopted(self, request: PaymentRequest) -> InitiatedPayment | None:
        """The adopted payment with the derived network key of this request, if the request's Idempotency-Key is
        unknown. None if no payment has that network key."""
        return await retry.write(self._database, lambda tx: _replay_adopted(tx, request))


async def _replay_adopted(tx: Tx, request: PaymentRequest) -> InitiatedPayment | None:
    draft = request.draft
    assert draft is not None
    assert request.idempotency_key is not None
    found = await transactions.find_by_network_key(tx, draft.network_key)
    if found is None:
        return None
    adopted = await adopted_payments.find(tx, found.merchant_id, found.id)
    refusal = refusal_of_repeat(draft, found, is_adopted=adopted is not None)
    if adopted is not None and adopted.is_undone:
        refusal = NotTheAdoptedPayment()
    if refusal is not None:
        if isinstance(refusal, NotTheAdoptedPayment):
            log.error("payment.adopted_wrongly", transaction=found.id, wanted_by=draft.merchant_id)
        raise refusal
    # Note the request too, so that a different one with the same Idempotency-Key is refused from now on.
    await idempotency_keys.insert(tx, request.idempotency_key, request.request_hash, found.id)
    shown = await transactions.get(tx, found.merchant_id, found.id)
    assert shown is not None
    return InitiatedPayment(shown, is_replay=True)
