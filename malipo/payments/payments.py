"""Payments as merchants ask for them: create and cancel. Requests that arrive together share a commit."""

from malipo.clock import Clock
from malipo.db import DataError
from malipo.db.group_commit import GroupCommits, granted
from malipo.payments.cancel import Cancel, Cancellation
from malipo.payments.derived_network_keys import DerivedKeys
from malipo.payments.initiate import Initiate, InitiatedPayment, PaymentRequest
from malipo.payments.payment_request import Terms
from malipo.payments.refunds.refundable import AdoptedRefund
from malipo.payments.status_signals import StatusSignals
from malipo.payments.store.transactions import UNIQUE_KEYS
from malipo.payments.transaction import Transaction


class Payments:
    def __init__(self, commits: GroupCommits, terms: Terms, signals: StatusSignals, *, clock: Clock) -> None:
        self.terms = terms
        self._signals = signals
        self._derived_keys = DerivedKeys(commits.database, terms)
        self._initiate = commits.group("initiate", Initiate(clock=clock))
        self._cancel = commits.group("cancel", Cancel(clock=clock))

    async def initiate(self, order: PaymentRequest) -> InitiatedPayment:
        order = await self._derived_keys.give(order)
        try:
            initiated = granted(await self._initiate(order))
        except DataError as error:
            if error.constraint not in UNIQUE_KEYS:
                raise
            if order.draft is not None and order.draft.refund_of is not None:
                raise AdoptedRefund from error
            assert order.draft is not None
            if order.draft.is_key_derived and (found := await self._derived_keys.find_replayed(order)):
                return found
            # The reference exists already. Nothing was written, so another one is tried.
            initiated = granted(await self._initiate(self._derived_keys.with_new_reference(order)))
        if not initiated.is_replay:
            self._signals.reached(initiated.transaction)
            self._signals.wake_sender(initiated.transaction.channel)
        return initiated

    async def cancel(self, cancellation: Cancellation) -> Transaction:
        outcome = granted(await self._cancel(cancellation))
        if outcome.has_moved:
            self._signals.reached(outcome.transaction)
        return outcome.transaction
