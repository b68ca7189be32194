"""Many callers at once, and the requests they make."""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from malipo import clock, ids
from malipo.networks.connector import Channel
from malipo.payments.idempotency import request_hash
from malipo.payments.initiate import PaymentRequest
from malipo.payments.transaction import Status, Transaction, Type
from tests.conftest import Answer, Client

Said = TypeVar("Said")


async def at_once(calls: Sequence[Coroutine[Any, Any, Said]]) -> list[Said]:
    return list(await asyncio.gather(*calls))


def tally(answers: Sequence[Answer]) -> Counter[tuple[int, str | None]]:
    """How often each status was answered, with its code."""
    return Counter((answer.status, answer.code) for answer in answers)


async def create(client: Client, body: dict[str, Any], *, key: str | None = None) -> Answer:
    """Send a collection or a payout to where its fields belong."""
    path = "/v1/payments/disburse" if "recipientPhone" in body else "/v1/payments"
    return await client("POST", path, body, headers={"Idempotency-Key": key} if key is not None else None)


def order(
    merchant_id: str,
    type_: Type,
    amount: int,
    *,
    key: str | None = None,
    channel: Channel = Channel.MPESA,
    name: str = "Asha",
) -> PaymentRequest:
    """What the door makes of a good request."""
    now = clock.now()
    suffix = ids.suffix(now)
    draft = Transaction(
        merchant_id=merchant_id,
        id=ids.mint("txn_", now),
        reference=f"MLP-{suffix}",
        network_key=suffix,
        type=type_,
        channel=channel,
        status=Status.PENDING,
        amount=amount,
        fee=0,
        phone="+255754000001",
        name=name,
        description="",
        metadata={},
        created_at=now,
    )
    return PaymentRequest(
        merchant_id=merchant_id,
        type=type_,
        draft=draft,
        problem=None,
        key=key,
        request_hash=request_hash({"amount": amount, "channel": channel}) if key is not None else b"",
    )
