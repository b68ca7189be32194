"""The keys that sign a log: one is made when the log begins, and whenever an operator asks for a new one.

They are stored encrypted under MALIPO_SECRET_KEY.
"""

from collections.abc import Sequence
from datetime import datetime

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from malipo import ids, randomness
from malipo.db import Conn, Tx
from malipo.encryption import CannotDecrypt, Encryption
from malipo.receipts import handover
from malipo.receipts.checkpoint import TreeHead
from malipo.receipts.signed_note import VerifierKey
from malipo.receipts.store import logs
from malipo.receipts.store.logs import Log, LogKey

_PREFIX = "rlk_"


async def find_current(connection: Conn, encryption: Encryption, log: int) -> Ed25519PrivateKey:
    [found] = [each for each in await logs.find_keys(connection) if each.log == log and not each.is_retired]
    return _decrypt(encryption, found)


async def make_key(tx: Tx, encryption: Encryption, log: Log, last: TreeHead | None, *, now: datetime) -> None:
    """Make a new key of this log. If the key that has signed `last` is known, it hands over to the new one."""
    seed, key_id = randomness.token_bytes(32), ids.mint(_PREFIX, now)
    key = Ed25519PrivateKey.from_private_bytes(seed)
    known = await logs.find_keys(tx)
    old = None if last is None else await _find_old(tx, encryption, known, last)
    note = None if old is None or last is None else handover.sign(last, old, key, new_name=log.origin)
    secret = encryption.encrypt(seed.hex(), owner=key_id)
    public = key.public_key().public_bytes_raw()
    await logs.insert_key(tx, key_id, log.number, secret, public, handover=note, now=now)


async def _find_old(
    tx: Tx, encryption: Encryption, known: Sequence[LogKey], last: TreeHead
) -> Ed25519PrivateKey | None:
    """The latest key of the log of `last`; None if it was lost, as after a restore, or cannot be decrypted."""
    numbers = {each.number for each in await logs.find_all(tx) if each.origin == last.origin}
    of_log = [each for each in known if each.log in numbers]
    try:
        return _decrypt(encryption, of_log[-1]) if of_log else None
    except CannotDecrypt:
        return None


async def find_verifier_keys(connection: Conn) -> list[VerifierKey]:
    """All keys that have ever signed, the oldest first."""
    origins = {each.number: each.origin for each in await logs.find_all(connection)}
    return [VerifierKey(origins[each.log], each.public_key) for each in await logs.find_keys(connection)]


async def reencrypt(tx: Tx, encryption: Encryption) -> tuple[int, int]:
    """Encrypt every key with the current secret. Returns how many needed it, and how many there are."""
    found = await logs.find_keys(tx)
    old = [each for each in found if not encryption.is_current(each.secret)]
    for each in old:
        plain = encryption.decrypt(each.secret, owner=each.id)
        await logs.set_secret(tx, each.id, encryption.encrypt(plain, owner=each.id))
    return len(old), len(found)


def _decrypt(encryption: Encryption, key: LogKey) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(encryption.decrypt(key.secret, owner=key.id)))
