"""Creates merchants, each with a name and an empty wallet, and deactivates them."""

from datetime import datetime

from malipo import ids
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Conn, Tx
from malipo.errors import Code, Invalid, Missing, Refusal
from malipo.ledger.store import wallets as ledger
from malipo.merchants.store import merchants, sessions

_MOST_NAME = 100


class MerchantRefusal(Code):
    NAME = "merchant_name"
    NO_SUCH = "merchant_unknown"
    SEVERAL = "merchant_several"


class Ambiguous(Refusal):
    """Several merchants have the name."""


async def create_merchant(tx: Tx, name: str, *, actor: Actor, now: datetime) -> str:
    if not 1 <= len(name) <= _MOST_NAME or not name.isprintable():
        raise Invalid(code=MerchantRefusal.NAME, most=_MOST_NAME)
    merchant_id = ids.mint("mer_", now)
    await merchants.insert(tx, merchant_id, name, now=now)
    await ledger.open_wallet(tx, merchant_id, now=now)
    await audit_log.append(tx, actor, "merchant.created", now=now, merchant_id=merchant_id, name=name)
    return merchant_id


async def find_merchant(connection: Conn, id_or_name: str) -> str:
    """The id of the merchant an operator means."""
    if await merchants.exists(connection, id_or_name):
        return id_or_name
    match await merchants.find_by_name(connection, id_or_name):
        case [merchant_id]:
            return merchant_id
        case []:
            raise Missing(code=MerchantRefusal.NO_SUCH, name=id_or_name)
        case several:
            raise Ambiguous(code=MerchantRefusal.SEVERAL, name=id_or_name, ids=several)


async def set_active(tx: Tx, merchant_id: str, *, is_active: bool, actor: Actor, now: datetime) -> None:
    """A merchant that is not active may do nothing: keys get 403, and every session ends."""
    await merchants.set_active(tx, merchant_id, is_active=is_active)
    if not is_active:
        await sessions.end_all(tx, now=now, merchant_id=merchant_id)
    act = "merchant.activated" if is_active else "merchant.deactivated"
    await audit_log.append(tx, actor, act, now=now, merchant_id=merchant_id)
