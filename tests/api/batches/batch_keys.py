"""Batches over HTTP: keys that two people have made, and what they send."""

from dataclasses import dataclass
from typing import Any

import pytest

from malipo import clock
from malipo.audit_log.actor import Actor
from malipo.db import Database
from malipo.merchants import issue_api_keys
from malipo.merchants.api_keys import Environment, KeyTerms, Permission
from tests.conftest import Client, Merchant

PATH = "/v1/payments/disburse/batches"


@dataclass
class Keys:
    """Keys that two people of the merchant have made."""

    maker: Client
    approver: Client


async def key_of(database: Database, merchant: Merchant, person: str, *permissions: Permission, **limits: Any) -> str:
    async with database.begin() as tx:
        key = await issue_api_keys.create_key(
            tx,
            merchant.id,
            KeyTerms(
                name="test",
                permissions=permissions or tuple(Permission),
                environment=Environment.LIVE,
                brand="mlp",
                **limits,
            ),
            actor=Actor(person, "test"),
            now=clock.now(),
        )
    return key.text


@pytest.fixture
async def keys(api: Client, database: Database, merchant: Merchant) -> Keys:
    return Keys(
        api.as_(await key_of(database, merchant, "asha@duka.example")),
        api.as_(await key_of(database, merchant, "juma@duka.example")),
    )


def items(number: int) -> list[dict[str, Any]]:
    return [
        {"amount": 1000 + place, "channel": "MPESA", "recipientPhone": f"+25575{place:07d}"} for place in range(number)
    ]


async def made(api: Client, number: int = 3, **fields: Any) -> dict[str, Any]:
    answer = await api("POST", PATH, {"items": items(number)} | fields)
    assert answer.status == 201, answer
    batch: dict[str, Any] = answer.body["batch"]
    return batch
