"""Verifies all closed days: their hashes, the chain, their signatures, and that none is missing. It only reads."""

from collections.abc import Mapping
from datetime import date

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from malipo.db import Conn
from malipo.encryption import Encryption
from malipo.errors import Code, Problem
from malipo.reconciliation.close.business_day import begin_of, end_of
from malipo.reconciliation.close.closed_day import ClosedDay
from malipo.reconciliation.close.late_moves import Pending, added, find_pending
from malipo.reconciliation.close.signature import is_signed
from malipo.reconciliation.close.signed_content import hash_of
from malipo.reconciliation.close.signing_key import find_keys
from malipo.reconciliation.close.store import balances, closes, late_moves, open_items, signing_keys
from malipo.reconciliation.close.two_columns import late_flows, sums_of

_AT_ONCE = 50


class CloseFinding(Code):
    """A mistake in a closed day."""

    CONTENT = "close_content_changed"
    PREVIOUS = "close_previous_differs"
    DAYS_MISSING = "close_days_missing"
    KEY_UNREADABLE = "close_key_unreadable"
    SIGNATURE = "close_signature_wrong"
    OPEN_ITEMS = "close_open_items_changed"
    MOVES = "close_moves_changed"
    REMOVED = "close_removed"
    HASH_DIFFERS = "close_hash_differs"
    PUBLISHED_KEY = "close_published_key_differs"


class VerificationResult(msgspec.Struct, frozen=True):
    days: int
    hash: str  # of the last close, and so of all; a copy elsewhere shows later that no close was removed
    findings: list[Problem]


async def verify(connection: Conn, encryption: Encryption, *, with_ledger: bool = False) -> VerificationResult:
    """Verify all closed days. `with_ledger` also compares each day's moves with those at its close, which reads all
    moves."""
    keys, findings = await find_keys(connection, encryption), list[Problem]()
    last = await closes.find_latest(connection, limit=1) if with_ledger else []
    pending = await find_pending(connection, last[0]) if last else Pending(date.min, {})
    before: ClosedDay | None = None
    days, hashes = 0, dict[date, str]()
    while found := await closes.find_after(connection, before.day if before else None, limit=_AT_ONCE):
        for closed in found:
            key = keys.get(closed.key_id)
            if (broken := broken_link(closed, before)) is not None:
                findings.append(broken)
            if key is None:
                findings.append(Problem(CloseFinding.KEY_UNREADABLE, day=closed.day))
            elif not is_signed(closed, key.public_key()):
                findings.append(Problem(CloseFinding.SIGNATURE, day=closed.day))
            if closed.digest != await open_items.digest_of(connection, closed.day):
                findings.append(Problem(CloseFinding.OPEN_ITEMS, day=closed.day))
            if with_ledger and before is not None:
                findings += await _changed_moves(connection, before, closed, pending)
            days, before, hashes[closed.day] = days + 1, closed, closed.hash.hex()
    findings += await _not_as_noted(connection, hashes)
    findings += await _not_as_published(connection, keys)
    return VerificationResult(days, "" if before is None else before.hash.hex(), findings)


def broken_link(closed: ClosedDay, before: ClosedDay | None) -> Problem | None:
    """Why a close does not follow the close before it in the chain; None if it does. Pure."""
    if closed.hash != hash_of(closed.previous, closed.content):
        return Problem(CloseFinding.CONTENT, day=closed.day)
    if closed.previous != (None if before is None else before.hash):
        return Problem(CloseFinding.PREVIOUS, day=closed.day)
    if before is not None and (closed.day - before.day).days != 1:
        return Problem(CloseFinding.DAYS_MISSING, day=closed.day, before=before.day)
    return None


async def _not_as_noted(connection: Conn, hashes: dict[date, str]) -> list[Problem]:
    """Compare the closes with the audit log. The chain alone cannot show that its last closes were removed."""
    return [
        Problem(CloseFinding.HASH_DIFFERS, day=day, noted=noted, hash=hashes[day])
        if day in hashes
        else Problem(CloseFinding.REMOVED, day=day, noted=noted)
        for day, noted in await closes.find_noted(connection)
        if hashes.get(day) != noted
    ]


async def _not_as_published(connection: Conn, keys: Mapping[str, Ed25519PrivateKey | None]) -> list[Problem]:
    """Compare the published public keys with the signing keys, because other software uses the published ones."""
    return [
        Problem(CloseFinding.PUBLISHED_KEY, key_id=key_id)
        for key_id, published in (await signing_keys.find_public(connection)).items()
        if (key := keys.get(key_id)) is not None and key.public_key().public_bytes_raw() != published
    ]


async def _changed_moves(connection: Conn, closed: ClosedDay, following: ClosedDay, pending: Pending) -> list[Problem]:
    """Find changed moves of a closed day. Moves that were committed after its close are in the following close; those
    that were committed after that one too, in a later one, or they wait for the next."""
    now = await balances.find_flows(connection, begin_of(closed.day), end_of(closed.day))
    later = added(
        await late_moves.sum_recorded_of(connection, closed.day, counted_after=closed.day),
        pending.sums.get(closed.day, {}),
    )
    more = sums_of(late_flows(now, added(closed.close.routes, later)))
    if added(more, await late_moves.sum_older_recorded(connection, closed.day)) == following.close.late:
        return []
    return [Problem(CloseFinding.MOVES, day=closed.day, more=more)]
