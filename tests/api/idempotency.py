"""Requests with an Idempotency-Key, and whether an answer is the first one or the same again."""

from typing import Any

import pytest

from malipo import clock
from malipo.db import Database
from malipo.merchants import issue_api_keys
from malipo.merchants.api_keys import Environment, KeyTerms, Permission
from tests.conftest import COLLECTION, NOBODY, PAYOUT, Answer, Client, Merchant

FULL_COLLECTION: dict[str, Any] = COLLECTION | {"description": "Sukari", "metadata": {"order": "17", "n": 1}}
FULL_PAYOUT: dict[str, Any] = PAYOUT | {"description": "Mshahara", "metadata": {"order": "17", "n": 1}}
BOTH = pytest.mark.parametrize(
    ("route", "body"),
    [("/v1/payments", FULL_COLLECTION), ("/v1/payments/disburse", FULL_PAYOUT)],
    ids=["collection", "disbursement"],
)


async def post(api: Client, route: str, body: dict[str, Any], key: str = "order-17") -> Answer:
    return await api("POST", route, body, headers={"Idempotency-Key": key})


def is_first(answer: Answer) -> bool:
    return answer.status == 201 and not any("replayed" in name.lower() for name in answer.headers)


def is_replay_of(again: Answer, first: Answer) -> bool:
    return (
        again.status == first.status == 201
        and again.headers.get("Idempotency-Replayed") == "true"
        and again.body == first.body
        and list(again.body["transaction"]) == list(first.body["transaction"])
    )


async def another_key(
    database: Database, merchant: Merchant, permissions: tuple[Permission, ...] = tuple(Permission)
) -> str:
    async with database.begin() as tx:
        key = await issue_api_keys.create_key(
            tx,
            merchant.id,
            KeyTerms(name="another", permissions=tuple(permissions), environment=Environment.LIVE, brand="mlp"),
            actor=NOBODY,
            now=clock.now(),
        )
    return key.text
