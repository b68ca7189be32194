"""The fast path: creates plain collections in one statement, without a transaction around it (decision 50).

Anything else goes through `initiate.py`, which decides everything; here nothing is ever refused. A collection takes the
fast path only with an Idempotency-Key, from an API key, and with a tariff that this process has read before. The
statement compares whether all that still holds.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from malipo.clock import Clock
from malipo.db import Conn
from malipo.payments import status_writer
from malipo.payments.fees import fee_of
from malipo.payments.initiate import InitiatedPayment, InitiateOutcome, PaymentRequest
from malipo.payments.known_tariffs import KnownTariffs
from malipo.payments.transaction import Type


class InitiateByFastPath:
    def __init__(self, tariffs: KnownTariffs, *, clock: Clock) -> None:
        self._tariffs = tariffs
        self._clock = clock

    def may(self, request: PaymentRequest, /) -> bool:
        draft = request.draft
        return (
            draft is not None
            and draft.type is Type.COLLECTION
            and request.key is not None
            and request.actor is None
            and draft.created_by is not None
            and draft.is_key_derived
            and self._tariffs.get(draft.merchant_id, draft.type, draft.channel) is not None
        )

    async def __call__(self, connection: Conn, requests: Sequence[PaymentRequest], /) -> list[InitiateOutcome | None]:
        wanted = [self._wanted(request) for request in requests]
        written = await status_writer.open_by_fast_path(connection, wanted, now=self._clock())
        return [InitiatedPayment(each.transaction) if each.transaction.id in written else None for each in wanted]

    def _wanted(self, request: PaymentRequest) -> status_writer.FastPathCollection:
        draft = request.draft
        assert draft is not None
        assert request.key is not None
        tariff = self._tariffs.get(draft.merchant_id, draft.type, draft.channel)
        assert tariff is not None
        fee = fee_of(draft.amount, tariff.bands)
        transaction = replace(draft, fee=fee) if fee else draft
        return status_writer.FastPathCollection(transaction, tariff.text, request.key, request.request_hash)
