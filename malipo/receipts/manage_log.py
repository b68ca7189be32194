"""The operators' acts about the receipt log: begin a new log, change its key, erase a receipt."""

from datetime import datetime

from malipo import typed_reason
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.errors import Code, Invalid, Missing
from malipo.receipts.store import facts, logs
from malipo.receipts.store.logs import Log


class LogRefusal(Code):
    NO_LOG = "receipt_log_no_log"
    REASON = "receipt_log_reason"
    NOTHING_TO_ERASE = "receipt_log_nothing_to_erase"
    NO_SUCH_SIZE = "receipt_log_no_such_size"


async def begin_log(tx: Tx, reason: str, *, log_name: str | None, actor: Actor, now: datetime) -> Log:
    """Begin a new log, also if the state folder was lost. A worker signs its first checkpoint."""
    await logs.lock_appending(tx)
    number = await logs.make(tx, log_name, begun_by=actor.name)
    log = await logs.find(tx, number)
    assert log is not None
    details = {"origin": log.origin, "reason": _checked(reason)}
    await audit_log.append(tx, actor, "receipt_log.begun", now=now, **details)
    return log


async def change_key(tx: Tx, reason: str, *, actor: Actor, now: datetime) -> Log:
    """Change the key from the next checkpoint on. A worker makes the new key, because only its host knows how far the
    old one has signed."""
    log = await logs.find_latest(tx)
    if log is None:
        raise Missing(code=LogRefusal.NO_LOG)
    await logs.set_key_to_change(tx, log.number, to_change=True)
    details = {"origin": log.origin, "reason": _checked(reason)}
    await audit_log.append(tx, actor, "receipt_log.key_change_wanted", now=now, **details)
    return log


async def erase(tx: Tx, reference: str, reason: str, *, actor: Actor, now: datetime) -> int:
    """Delete salt and facts of a payment's receipt. Returns the number of facts."""
    found = await facts.find_payment(tx, reference)
    erased = 0 if found is None else await facts.erase(tx, *found)
    if found is None or not erased:
        raise Missing(code=LogRefusal.NOTHING_TO_ERASE)
    merchant_id, payment_id = found
    details = {"payment": payment_id, "facts": erased, "reason": _checked(reason)}
    await audit_log.append(tx, actor, "receipt.erased", merchant_id=merchant_id, now=now, **details)
    return erased


def _checked(reason: str) -> str:
    reason = reason.strip()
    if not typed_reason.is_within(reason, typed_reason.REASON):
        raise Invalid(code=LogRefusal.REASON)
    return reason
