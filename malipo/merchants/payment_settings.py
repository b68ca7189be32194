"""Settings of a merchant's payments."""

from datetime import datetime

from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.merchants.store import merchants


async def require_idempotency_key(tx: Tx, merchant_id: str, *, is_required: bool, actor: Actor, now: datetime) -> None:
    """Set whether requests that move money need an Idempotency-Key. It holds from the next request on."""
    if await merchants.set_idempotency_key_required(tx, merchant_id, is_required=is_required):
        action = "idempotency_key.required" if is_required else "idempotency_key.not_required"
        await audit_log.append(tx, actor, action, now=now, merchant_id=merchant_id)
