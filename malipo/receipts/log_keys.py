"""The keys that sign a log: one is made when the log begins, and whenever an operator asks for a new one.

They are stored encrypted under MALIPO_SECRET_KEY.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec import structs

from malipo import ids, randomness
from malipo.db import Conn, Tx
from malipo.encryption import CannotDecrypt, Encryption
from malipo.receipts import handover
from malipo.receipts.checkpoint import TreeHead, head_of, log_number, open_checkpoint
from malipo.receipts.handover import Handover
from malipo.receipts.merkle_tree import EMPTY_ROOT
from malipo.receipts.signed_note import NoteRefused, VerifierKey
from malipo.receipts.state_file import KeptKey
from malipo.receipts.store import logs
from malipo.receipts.store.logs import Log, LogKey

_PREFIX = "rlk_"


async def find_current(connection: Conn, encryption: Encryption, log: int) -> Ed25519PrivateKey:
    [found] = [each for each in await logs.find_keys(connection) if each.log == log and not each.is_retired]
    return _decrypt(encryption, found)


async def make_key(tx: Tx, encryption: Encryption, log: Log, note: str | None, *, now: datetime) -> None:
    """Make a new key of this log. If the key that has signed `note`, the last checkpoint, is known, it hands over to
    the new one."""
    seed, key_id = randomness.token_bytes(32), ids.mint(_PREFIX, now)
    key = Ed25519PrivateKey.from_private_bytes(seed)
    giver = None if note is None else await _find_giver(tx, encryption, note)
    handed = None if giver is None else handover.sign(giver.last, giver.key, key, new_name=log.origin)
    secret = encryption.encrypt(seed.hex(), owner=key_id)
    public = key.public_key().public_bytes_raw()
    await logs.insert_key(tx, key_id, log.number, secret, public, handover=handed, now=now)


class _Giver(NamedTuple):
    """A key that hands over, and the last head that it has signed."""

    key: Ed25519PrivateKey
    last: TreeHead


async def _find_giver(tx: Tx, encryption: Encryption, note: str) -> _Giver | None:
    """The key that has signed the last checkpoint, or whoever has taken over from it since and signed nothing.

    A key hands over once. None if the key was lost, as by a restore, or cannot be decrypted: no other key may say up
    to which size it counts.
    """
    found = await logs.find_keys(tx)
    try:
        origins = [head_of(note).origin, *(each.origin for each in await logs.find_all(tx))]
        opened = open_checkpoint(note, _named(found, origins))
        handed = {each.old: each.new for each in _handovers_of(found)}
    except NoteRefused:
        return None
    key, last = opened.key, opened.head
    while key in handed:
        key = handed[key]
        last = last if key.name == last.origin else TreeHead(key.name, 0, EMPTY_ROOT)
    try:
        [stored] = [each for each in found if each.public_key == key.public_key]
        return _Giver(_decrypt(encryption, stored), last)
    except (ValueError, CannotDecrypt):
        return None


class OwedHandover(NamedTuple):
    """A handover with a larger size than the one that is published, or where none is."""

    key_id: str  # of the key that took over
    text: str


async def find_owed_handover(tx: Tx, encryption: Encryption, note: str | None) -> OwedHandover | None:
    """The handover of the key that has signed this checkpoint, if the host that began the next log did not know the
    checkpoint: it says a smaller size, or nothing of the key. Signed by the two keys; None if one of them cannot be
    decrypted."""
    if note is None:
        return None
    found = await logs.find_keys(tx)
    try:
        signed = open_checkpoint(note, [VerifierKey(head_of(note).origin, each.public_key) for each in found])
        owed = _find_owed(found, signed.key, signed.head)
        if owed is None:
            return None
        [secret] = [_decrypt(encryption, each) for each in found if each.public_key == owed.old.public_key]
        [name] = {each.origin for each in await logs.find_all(tx) if each.number == owed.taker.log}
        text = handover.sign(owed.last, secret, _decrypt(encryption, owed.taker), new_name=name)
        return OwedHandover(owed.taker.id, text)
    except (NoteRefused, ValueError, CannotDecrypt):
        return None


class _Owed(NamedTuple):
    old: VerifierKey
    last: TreeHead
    taker: LogKey


def _find_owed(found: Sequence[LogKey], old: VerifierKey, last: TreeHead) -> _Owed | None:
    """What the key that has signed this head owes: to whom it has handed over at a smaller size. Else what the key at
    the end of its chain owes: to the first key of a later log that has taken over from none."""
    known = {each.public_key: each for each in found}
    handed = {each.old: each for each in _handovers_of(found, is_verified=False)}
    if old in handed and handed[old].last.size < last.size:
        return _Owed(old, last, known[handed[old].new.public_key])
    while old in handed:
        old = handed[old].new
        last = last if old.name == last.origin else TreeHead(old.name, 0, EMPTY_ROOT)
    later = [each for each in found if each.log > log_number(old.name) and each.handover is None]
    return _Owed(old, last, later[0]) if later else None


async def restore_lost(tx: Tx, encryption: Encryption, kept: Sequence[KeptKey], *, now: datetime) -> list[KeptKey]:
    """Insert the keys from the state folder that the database has lost in a restore, so that they are published again
    with their handovers, and put back the wider ones of handovers. Returns all that are known now, as the state folder
    should keep them.

    If the key before has handed over to another one since, a lost key stays away: a verifier would refuse both.
    """
    of_folder = {each.id: each.handover for each in kept}
    found = [_kept(each) for each in await logs.find_keys(tx)]
    for place, each in enumerate(found):
        wider = of_folder.get(each.id)
        if wider is not None and _is_wider(wider, each.handover):
            await logs.set_handover(tx, each.id, wider)
            found[place] = structs.replace(each, handover=wider)
    known = {each.id for each in found}
    lost = [each for each in kept if each.id not in known]
    if not lost:
        return found
    handed = {each.old: each.new for each in _handovers_of(found)}
    away: set[VerifierKey] = set()
    for each in lost:
        taken = None if each.handover is None else handover.open_handover(each.handover)
        if taken is not None and (taken.old in away or handed.get(taken.old, taken.new) != taken.new):
            away.add(taken.new)
            continue
        restored = LogKey(
            each.id, each.log, _readable(encryption, each), each.public_key, True, each.handover, each.created_at
        )
        await logs.restore_key(tx, restored, now=now)
    return sorted([*found, *lost], key=lambda each: (each.log, each.created_at, each.id))


def _is_wider(text: str, than: str | None) -> bool:
    """Whether it is of the same two keys, and says a larger size, or there is no other."""
    if than is None or text == than:
        return than is None
    one, other = handover.open_handover(text), handover.parse_handover(than)
    return (one.old, one.new) == (other.old, other.new) and one.last.size > other.last.size


def _readable(encryption: Encryption, key: KeptKey) -> bytes:
    """Its secret; an empty one if it was kept under a secret key that is no more."""
    try:
        encryption.decrypt(key.secret, owner=key.id)
    except CannotDecrypt:
        return encryption.encrypt("", owner=key.id)
    return key.secret


def _kept(key: LogKey) -> KeptKey:
    return KeptKey(key.id, key.log, key.secret, key.public_key, key.handover, key.created_at)


async def find_verifier_keys(connection: Conn) -> list[VerifierKey]:
    """All keys that have ever signed, the oldest first."""
    return _named(await logs.find_keys(connection), [each.origin for each in await logs.find_all(connection)])


def _named(keys: Sequence[LogKey], origins: Iterable[str]) -> list[VerifierKey]:
    """With the names of their logs. That of a log that a restore has lost is known from handovers."""
    by_log = {log_number(each): each for each in origins}
    if any(each.log not in by_log for each in keys):
        named = [each.name for handed in _handovers_of(keys) for each in (handed.old, handed.new)]
        by_log = {log_number(each): each for each in named} | by_log
    names = [by_log.get(each.log) for each in keys]
    return [VerifierKey(name, each.public_key) for name, each in zip(names, keys, strict=True) if name is not None]


def _handovers_of(keys: Iterable[LogKey | KeptKey], *, is_verified: bool = True) -> list[Handover]:
    read = handover.open_handover if is_verified else handover.parse_handover
    return [read(each.handover) for each in keys if each.handover is not None]


async def reencrypt(tx: Tx, encryption: Encryption) -> tuple[int, int]:
    """Encrypt every key with the current secret. Returns how many needed it, and how many there are."""
    found = await logs.find_keys(tx)
    old = [each for each in found if not encryption.is_current(each.secret)]
    for each in old:
        plain = encryption.decrypt(each.secret, owner=each.id)
        await logs.set_secret(tx, each.id, encryption.encrypt(plain, owner=each.id))
    return len(old), len(found)


def _decrypt(encryption: Encryption, key: LogKey) -> Ed25519PrivateKey:
    seed = encryption.decrypt(key.secret, owner=key.id)
    if not seed:
        raise CannotDecrypt(f"The secret of {key.id} was lost in a restore: `malipo log begin` makes another key.")
    return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(seed))
