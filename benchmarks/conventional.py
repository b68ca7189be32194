"""The conventional service that malipo is compared with: it creates a collection as most Python services would.

FastAPI, SQLAlchemy Core on asyncpg, a pool, uvicorn with uvloop; one transaction and one commit a request. It is
written to be fast within that shape: Core and not the ORM, statements built once and cached, prepared by the driver,
JSON in and out through pydantic. It does malipo's work on malipo's tables: the key by its hash, the idempotency key,
the fee, the transaction, its place in the line to its network, its event.
"""

import hashlib
import json
import os
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Header, HTTPException
from pydantic import BaseModel, Field
from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    DateTime,
    Integer,
    LargeBinary,
    String,
    bindparam,
    column,
    select,
    table,
)
from sqlalchemy.dialects.postgresql import ARRAY, CIDR, insert
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from malipo import clock, ids

_URL = os.environ["DATABASE_URL"].replace("postgresql://", "postgresql+asyncpg://", 1)

engine = create_async_engine(
    _URL, pool_size=32, max_overflow=0, connect_args={"server_settings": {"jit": "off", "timezone": "UTC"}}
)
app = FastAPI()

_TIME = DateTime(timezone=True)
merchants = table("merchants", column("id", String), column("is_active", Boolean))
api_keys = table(
    "api_keys",
    column("id", String),
    column("merchant_id", String),
    column("hash", LargeBinary),
    column("permissions", ARRAY(String)),
    column("ip_allowlist", ARRAY(CIDR)),
    column("expires_at", _TIME),
    column("revoked_at", _TIME),
    column("last_used_at", _TIME),
)
tariffs = table(
    "tariffs",
    column("merchant_id", String),
    column("type", String),
    column("channel", String),
    column("from_amount", BigInteger),
    column("fixed_fee", BigInteger),
    column("basis_points", Integer),
    column("min_fee", BigInteger),
    column("max_fee", BigInteger),
)
idempotency_keys = table(
    "idempotency_keys",
    column("merchant_id", String),
    column("route", String),
    column("key", String),
    column("request_hash", LargeBinary),
    column("transaction_id", String),
)
transactions = table(
    "transactions",
    column("merchant_id", String),
    column("id", String),
    column("reference", String),
    column("network_key", String),
    column("type", String),
    column("channel", String),
    column("status", String),
    column("amount", BigInteger),
    column("fee", BigInteger),
    column("phone", String),
    column("name", String),
    column("description", String),
    column("metadata", JSON),
    column("search_text", String),
    column("created_at", _TIME),
    column("created_by", String),
)
dispatches = table(
    "dispatches",
    column("merchant_id", String),
    column("transaction_id", String),
    column("channel", String),
    column("type", String),
    column("due_at", _TIME),
)
events = table(
    "events",
    column("id", String),
    column("merchant_id", String),
    column("transaction_id", String),
    column("event", String),
    column("body", String),
    column("created_at", _TIME),
)

_FIND_KEY = (
    select(api_keys, merchants.c.is_active)
    .join_from(api_keys, merchants, merchants.c.id == api_keys.c.merchant_id)
    .where(api_keys.c.hash == bindparam("hash_"))
)
_TOUCH_KEY = api_keys.update().where(api_keys.c.id == bindparam("key_id")).values(last_used_at=bindparam("now"))
_CLAIM = insert(idempotency_keys).on_conflict_do_nothing().returning(idempotency_keys.c.transaction_id)
_FIND_CLAIM = (
    select(idempotency_keys.c.request_hash, transactions)
    .join_from(
        idempotency_keys,
        transactions,
        (transactions.c.merchant_id == idempotency_keys.c.merchant_id)
        & (transactions.c.id == idempotency_keys.c.transaction_id),
    )
    .where(
        idempotency_keys.c.merchant_id == bindparam("merchant"),
        idempotency_keys.c.route == "COLLECTION",
        idempotency_keys.c.key == bindparam("key_"),
    )
)
_FIND_TARIFF = (
    select(tariffs.c.fixed_fee, tariffs.c.basis_points, tariffs.c.min_fee, tariffs.c.max_fee)
    .where(
        tariffs.c.merchant_id == bindparam("merchant"),
        tariffs.c.type == "COLLECTION",
        tariffs.c.channel == bindparam("channel_"),
        tariffs.c.from_amount <= bindparam("amount_"),
    )
    .order_by(tariffs.c.from_amount.desc())
    .limit(1)
)
_INSERT_TRANSACTION = insert(transactions)
_INSERT_DISPATCH = insert(dispatches)
_INSERT_EVENT = insert(events)


class NewPayment(BaseModel):
    amount: int = Field(ge=500, le=10_000_000, strict=True)
    channel: Literal["MPESA", "TIGO_PESA", "AIRTEL_MONEY", "HALOPESA"]
    buyerPhone: str = Field(pattern=r"^\+255[67][0-9]{8}$")  # noqa: N815
    buyerName: str = Field("", max_length=100)  # noqa: N815
    description: str = Field("", max_length=255)
    metadata: dict[str, str | int | float | bool | None] = Field(default_factory=dict, max_length=50)


class Payment(BaseModel):
    id: str
    reference: str
    amount: int
    fee: int
    netAmount: int  # noqa: N815
    channel: str
    status: str
    buyerPhone: str  # noqa: N815
    buyerName: str  # noqa: N815
    description: str
    createdAt: str  # noqa: N815


class Created(BaseModel):
    success: Literal[True] = True
    transaction: Payment


@app.get("/readyz")
async def readyz() -> dict[str, str]:
    async with engine.connect() as connection:
        await connection.execute(select(1))
    return {"status": "ready"}


@app.post("/v1/payments", status_code=201)
async def create(
    body: NewPayment,
    x_api_key: Annotated[str, Header()],
    idempotency_key: Annotated[str, Header(max_length=255)],
) -> Created:
    now = clock.now()
    # Not a dependency with `yield`: that would commit after the answer is out.
    async with engine.begin() as connection:
        merchant_id, key_id = await _caller_of(connection, x_api_key, now)
        row = _row_of(body, merchant_id, now) | {"created_by": key_id}
        claim = {
            "merchant_id": merchant_id,
            "route": "COLLECTION",
            "key": idempotency_key,
            "request_hash": hashlib.sha256(body.model_dump_json().encode()).digest(),
            "transaction_id": row["id"],
        }
        if (await connection.execute(_CLAIM, claim)).first() is None:
            return await _replay(connection, claim)
        row["fee"] = await _fee(connection, row)
        await connection.execute(_INSERT_TRANSACTION, row)
        dispatch = {
            "merchant_id": merchant_id,
            "transaction_id": row["id"],
            "channel": row["channel"],
            "type": row["type"],
            "due_at": now,
        }
        await connection.execute(_INSERT_DISPATCH, dispatch)
        event = {
            "id": ids.mint("evt_", now),
            "merchant_id": merchant_id,
            "transaction_id": row["id"],
            "event": "payment.pending",
            "body": json.dumps(
                {"event": "payment.pending", "transaction": _shown(row) | {"metadata": row["metadata"]}}
            ),
            "created_at": now,
        }
        await connection.execute(_INSERT_EVENT, event)
    return Created(transaction=Payment(**_shown(row)))


async def _caller_of(connection: AsyncConnection, key: str, now: datetime) -> tuple[str, str]:
    found = (await connection.execute(_FIND_KEY, {"hash_": hashlib.sha256(key.encode()).digest()})).first()
    if found is None or found.revoked_at is not None or (found.expires_at is not None and found.expires_at <= now):
        raise HTTPException(401, "The API key is missing or not valid.")
    if not found.is_active or "payments.create" not in found.permissions:
        raise HTTPException(403, "This API key may not do that.")
    if found.last_used_at is None or now - found.last_used_at >= timedelta(minutes=1):
        await connection.execute(_TOUCH_KEY, {"key_id": found.id, "now": now})
    return str(found.merchant_id), str(found.id)


def _row_of(body: NewPayment, merchant_id: str, now: datetime) -> dict[str, Any]:
    suffix = ids.suffix(now)
    reference = f"MLP-{suffix}"
    return {
        "merchant_id": merchant_id,
        "id": ids.mint("txn_", now),
        "reference": reference,
        "network_key": suffix,
        "type": "COLLECTION",
        "channel": body.channel,
        "status": "PENDING",
        "amount": body.amount,
        "fee": 0,
        "phone": body.buyerPhone,
        "name": body.buyerName,
        "description": body.description,
        "metadata": body.metadata,
        "search_text": f"{reference}\n{body.buyerPhone}\n{body.buyerName}".casefold(),
        "created_at": now,
    }


async def _replay(connection: AsyncConnection, claim: dict[str, Any]) -> Created:
    wanted = {"merchant": claim["merchant_id"], "key_": claim["key"]}
    found = (await connection.execute(_FIND_CLAIM, wanted)).one()
    if found.request_hash != claim["request_hash"]:
        raise HTTPException(409, "This Idempotency-Key was already used for a request with other parameters.")
    return Created(transaction=Payment(**_shown(dict(found._mapping))))


async def _fee(connection: AsyncConnection, row: dict[str, Any]) -> int:
    wanted = {"merchant": row["merchant_id"], "channel_": row["channel"], "amount_": row["amount"]}
    band = (await connection.execute(_FIND_TARIFF, wanted)).first()
    if band is None:
        return 0
    fee = max(band.fixed_fee + (row["amount"] * band.basis_points + 5_000) // 10_000, band.min_fee)
    return int(fee if band.max_fee is None else min(fee, band.max_fee))


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": row["id"],
        "reference": row["reference"],
        "amount": row["amount"],
        "fee": row["fee"],
        "netAmount": row["amount"] - row["fee"],
        "channel": row["channel"],
        "status": row["status"],
        "buyerPhone": row["phone"],
        "buyerName": row["name"],
        "description": row["description"],
        "createdAt": clock.iso(row["created_at"]),
    }
