"""Takes a merchant in: a name, an empty wallet, and keys to speak with."""

from collections.abc import Sequence
from datetime import datetime

from malipo import ids
from malipo.db import Tx
from malipo.errors import Missing, Refusal
from malipo.ledger import store as ledger
from malipo.limits import store as windows
from malipo.merchants import store
from malipo.merchants.keys import AddressRange, Environment, NewKey, Permission, prefix_of, text_of


class Ambiguous(Refusal):
    code = "ambiguous"


async def create_merchant(tx: Tx, name: str, *, now: datetime) -> str:
    merchant_id = ids.mint("mer_", now)
    await store.insert(tx, merchant_id, name, now=now)
    await ledger.open_wallet(tx, merchant_id, now=now)
    return merchant_id


async def find_merchant(tx: Tx, id_or_name: str) -> str:
    """The id of the merchant an operator means."""
    if await store.exists(tx, id_or_name):
        return id_or_name
    match await store.find_by_name(tx, id_or_name):
        case [merchant_id]:
            return merchant_id
        case []:
            raise Missing(f"There is no merchant {id_or_name!r}.")
        case several:
            raise Ambiguous(f"Several merchants are called {id_or_name!r}: {', '.join(several)}. Give the id.")


async def create_key(
    tx: Tx,
    merchant_id: str,
    *,
    name: str,
    permissions: Sequence[Permission],
    environment: Environment,
    brand: str,
    now: datetime,
    expires_at: datetime | None = None,
    ip_allowlist: Sequence[AddressRange] = (),
) -> NewKey:
    prefix = prefix_of(brand, environment)
    key = NewKey(
        id=ids.mint("key_", now),
        merchant_id=merchant_id,
        name=name,
        text=text_of(prefix),
        prefix=prefix,
        environment=environment,
        permissions=tuple(permissions),
        created_at=now,
        expires_at=expires_at,
        ip_allowlist=tuple(ip_allowlist),
    )
    await store.insert_key(tx, key)
    await windows.open_windows(tx, key.id)
    return key
