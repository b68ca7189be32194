"""Creates collections in one statement, without a transaction around it, where nothing is unusual (decision 50).

What is unusual goes the way of `initiate.py`, which decides everything; here nothing is ever refused. So a collection
comes here only with an idempotency key, from an API key, and with a tariff that this process has read before. Whether
all that still holds is compared in the statement.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from malipo.clock import Clock
from malipo.db import Conn
from malipo.payments import status_writer
from malipo.payments.fees import fee_of
from malipo.payments.initiate import Answer, InitiatedPayment, KnownTariffs, PaymentRequest
from malipo.payments.transaction import Type


class InitiateAtOnce:
    def __init__(self, tariffs: KnownTariffs, *, clock: Clock) -> None:
        self._tariffs = tariffs
        self._clock = clock

    def may(self, order: PaymentRequest, /) -> bool:
        draft = order.draft
        return (
            draft is not None
            and draft.type is Type.COLLECTION
            and order.key is not None
            and order.actor is None
            and draft.created_by is not None
            and draft.is_key_derived
            and self._tariffs.get(draft.merchant_id, draft.type, draft.channel) is not None
        )

    async def __call__(self, connection: Conn, orders: Sequence[PaymentRequest], /) -> list[Answer | None]:
        wanted = [self._wanted(order) for order in orders]
        written = await status_writer.open_at_once(connection, wanted, now=self._clock())
        return [InitiatedPayment(each.transaction) if each.transaction.id in written else None for each in wanted]

    def _wanted(self, order: PaymentRequest) -> status_writer.AtOnce:
        draft = order.draft
        assert draft is not None
        assert order.key is not None
        tariff = self._tariffs.get(draft.merchant_id, draft.type, draft.channel)
        assert tariff is not None
        fee = fee_of(draft.amount, tariff.bands)
        transaction = replace(draft, fee=fee) if fee else draft
        return status_writer.AtOnce(transaction, tariff.text, order.key, order.request_hash)
