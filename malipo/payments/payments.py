"""Payments as merchants ask for them: create and cancel. Requests that arrive together share a commit."""

import asyncio

from malipo.clock import Clock
from malipo.db import DataError
from malipo.db.group_commit import GroupCommits, granted
from malipo.payments.assign_network_keys import DerivedKeys
from malipo.payments.cancel import Cancel, Cancellation
from malipo.payments.collection_fast_path import InitiateByFastPath
from malipo.payments.initiate import Initiate, InitiatedPayment, InitiateOutcome, PaymentRequest
from malipo.payments.known_tariffs import KnownTariffs
from malipo.payments.payment_request import PaymentTerms
from malipo.payments.refunds.refundable import AdoptedRefund
from malipo.payments.status_signals import StatusSignals
from malipo.payments.store.transactions import UNIQUE_KEYS
from malipo.payments.transaction import Transaction, Type


class Payments:
    def __init__(self, commits: GroupCommits, terms: PaymentTerms, signals: StatusSignals, *, clock: Clock) -> None:
        self.terms = terms
        self._signals = signals
        self._derived_keys = DerivedKeys(commits.database, terms)
        tariffs = KnownTariffs()
        # For a caller that writes payments in its own transaction, as the presses of links do.
        self.initiate_in_transaction = Initiate(clock=clock, tariffs=tariffs)
        self._initiate = commits.group(
            "initiate", self.initiate_in_transaction, fast_path=InitiateByFastPath(tariffs, clock=clock)
        )
        self._cancel = commits.group("cancel", Cancel(clock=clock))

    def derived_key(self, merchant_id: str, type_: Type, key: str) -> str | None:
        """The network key that follows from an idempotency key; None if this process has not read the secret yet."""
        return self._derived_keys.derived(merchant_id, type_, key)

    def submit(self, request: PaymentRequest, *, deadline: float) -> "asyncio.Future[InitiateOutcome]":
        """Create the payment of a request whose network key is derived, in one try: a reference or key that exists is a
        DataError. The caller signals the payment that it gets as the answer."""
        return self._initiate.submit(request, deadline=deadline)

    def signal(self, initiated: InitiatedPayment) -> None:
        if not initiated.is_replay:
            self._signals.reached(initiated.transaction)
            self._signals.wake_sender(initiated.transaction.channel)

    async def initiate(self, request: PaymentRequest) -> InitiatedPayment:
        request = await self._derived_keys.assign(request)
        try:
            initiated = granted(await self._initiate(request))
        except DataError as error:
            if error.constraint not in UNIQUE_KEYS:
                raise
            if request.draft is not None and request.draft.refund_of is not None:
                raise AdoptedRefund from error
            assert request.draft is not None
            if request.draft.is_key_derived and (found := await self._derived_keys.replay_adopted(request)):
                return found
            # The reference exists. Nothing was written, so try again with another one.
            initiated = granted(await self._initiate(self._derived_keys.with_new_reference(request)))
        self.signal(initiated)
        return initiated

    async def cancel(self, cancellation: Cancellation) -> Transaction:
        outcome = granted(await self._cancel(cancellation))
        if outcome.has_moved:
            self._signals.reached(outcome.transaction)
        return outcome.transaction
