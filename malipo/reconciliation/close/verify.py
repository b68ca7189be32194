"""Verifies all closed days: their hashes, the chain, their signatures, and that none is missing. It only reads."""

from collections.abc import Mapping
from datetime import date

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from malipo.db import Conn
from malipo.encryption import Encryption
from malipo.reconciliation.close.business_day import begin_of, end_of
from malipo.reconciliation.close.closed_day import ClosedDay, wrong_link
from malipo.reconciliation.close.signature import is_signed
from malipo.reconciliation.close.signing_key import find_keys
from malipo.reconciliation.close.store import balances, closes, open_items, signing_keys
from malipo.reconciliation.close.two_columns import late_routes, sums_of

_AT_ONCE = 50


class VerificationResult(msgspec.Struct, frozen=True):
    days: int
    hash: str  # of the last close, and so of all: whoever keeps it elsewhere can tell that none was taken away
    findings: list[str]


async def verify(connection: Conn, encryption: Encryption, *, with_ledger: bool = False) -> VerificationResult:
    """With the ledger, also that each closed day's moves are still those that it had: this reads all of them."""
    keys, findings = await find_keys(connection, encryption), list[str]()
    before: ClosedDay | None = None
    days, hashes = 0, dict[date, str]()
    while found := await closes.find_after(connection, before.day if before else None, limit=_AT_ONCE):
        for closed in found:
            key = keys.get(closed.key_id)
            if (why := wrong_link(closed, before)) is not None:
                findings.append(f"{closed.day}: {why}.")
            if key is None:
                findings.append(f"{closed.day}: the key that signed it cannot be read.")
            elif not is_signed(closed, key.public_key()):
                findings.append(f"{closed.day}: its signature is wrong.")
            if closed.digest != await open_items.digest_of(connection, closed.day):
                findings.append(f"{closed.day}: what was open at its end has been changed.")
            if with_ledger and before is not None:
                findings += await _changed_moves(connection, before, closed)
            days, before, hashes[closed.day] = days + 1, closed, closed.hash.hex()
    findings += await _not_as_noted(connection, hashes)
    findings += await _not_as_published(connection, keys)
    return VerificationResult(days, "" if before is None else before.hash.hex(), findings)


async def _not_as_noted(connection: Conn, hashes: dict[date, str]) -> list[str]:
    """The chain cannot tell that its end was taken away. The audit log can, if that was not changed too."""
    return [
        f"{day}: the audit log says that it was closed as {noted}, and it is {hashes.get(day, 'not there')}."
        for day, noted in await closes.find_noted(connection)
        if hashes.get(day) != noted
    ]


async def _not_as_published(connection: Conn, keys: Mapping[str, Ed25519PrivateKey | None]) -> list[str]:
    """Who checks a close elsewhere does it with the published key."""
    return [
        f"The published key {key_id} is not the one that signs."
        for key_id, published in (await signing_keys.find_public(connection)).items()
        if (key := keys.get(key_id)) is not None and key.public_key().public_bytes_raw() != published
    ]


async def _changed_moves(connection: Conn, closed: ClosedDay, following: ClosedDay) -> list[str]:
    """What was written after its close is in the next one."""
    now = await balances.find_routes(connection, begin_of(closed.day), end_of(closed.day))
    known = closed.close.routes
    more = sums_of(late_routes(now, known))
    if more == following.close.late:
        return []
    return [f"{closed.day}: the ledger's moves of that day are not those that were closed: {more}."]
