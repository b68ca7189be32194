"""mypy reads this file with all others, and fails if the client loses a type."""

import inspect
from collections.abc import AsyncIterator, Iterator
from typing import assert_type

from malipo_client import AsyncMalipo, EventPage, Malipo, PaymentType, Transaction, Wallet, WalletEntry, Webhook


def calls(malipo: Malipo) -> None:
    assert_type(malipo.payments.get("txn_1"), Transaction)
    assert_type(malipo.payments.wait_until_ended("txn_1", timeout=1), Transaction)
    assert_type(malipo.payments.list(status="FAILED"), Iterator[Transaction])
    assert_type(malipo.wallet.get(), Wallet)
    assert_type(malipo.wallet.entries(), Iterator[WalletEntry])
    assert_type(malipo.events.follow(), Iterator[EventPage])
    assert_type(malipo.webhooks.list(), list[Webhook])
    assert_type(malipo.payments.get("txn_1").net_amount, int)
    assert_type(malipo.payments.get("txn_1").failure_code, str | None)
    # An ignored error that is none is one itself.
    assert_type(malipo.payments.get("txn_1").type, PaymentType)
    for event in malipo.events.read().events:
        _ = event.transaction.reference  # type: ignore[union-attr]
        assert_type(event.transaction, Transaction | None)
    _ = malipo.payments.get("txn_1").amout  # type: ignore[attr-defined]
    malipo.payments.collect(amount=1000, channel="MPESAX", buyer_phone="")  # type: ignore[arg-type]
    malipo.payments.list(status="PAID")  # type: ignore[arg-type]
    malipo.payments.get(5)  # type: ignore[arg-type]
    malipo.payments.collect(amount=1000, channel="MPESA")  # type: ignore[call-arg]
    malipo.payments.collect(amount="1000", channel="MPESA", buyer_phone="+255754000001")  # type: ignore[arg-type]
    malipo.payments.disburse(amount=1, channel="MPESA", recipient_phone="", recipient="")  # type: ignore[call-arg]


async def awaited_calls(malipo: AsyncMalipo) -> None:
    assert_type(await malipo.payments.get("txn_1"), Transaction)
    assert_type(await malipo.payments.wait_until_ended("txn_1"), Transaction)
    assert_type(malipo.payments.list(), AsyncIterator[Transaction])
    assert_type(malipo.wallet.entries(), AsyncIterator[WalletEntry])
    assert_type(await malipo.webhooks.list(), list[Webhook])


def test_a_method_has_its_name_its_words_and_its_arguments() -> None:
    for client in (Malipo("key", "https://x.example"), AsyncMalipo("key", "https://x.example")):
        method = client.payments.refund
        assert (method.__name__, (method.__doc__ or "")[:17]) == ("refund", "Send a collection")
        assert {"id", "amount", "idempotency_key"} < set(inspect.signature(method).parameters)
