"""Lets callers in: is the key good, is the merchant active, may it come from there, is it within its limits.

The order of these checks is the order of the answers a caller sees. Everything that arrives together is
decided together, in the order of arrival. Nothing here is worth waiting for a disk: a window that loses its
last moments in a crash of the database lets a few requests more through, and no money depends on it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from malipo.clock import Clock
from malipo.db import Tx
from malipo.errors import Forbidden, Refusal, TooMany, Unauthorized
from malipo.limits import store as windows
from malipo.limits.window import RateClass, Standing, Window
from malipo.merchants.keys import Address, KnownKey
from malipo.merchants.store import keys


class RateLimited(TooMany):
    def __init__(self, standing: Standing) -> None:
        super().__init__(
            f"Rate limit exceeded. Try again in {standing.reset_seconds} seconds.",
            retry_after_seconds=standing.reset_seconds,
        )
        self.standing = standing


class Knock(msgspec.Struct, frozen=True):
    """Somebody at the door: the hash of the key they hold up, where they come from, what they want."""

    key_hash: bytes
    address: Address
    rate_class: RateClass


class Admitted(msgspec.Struct, frozen=True):
    key_id: str
    merchant_id: str
    permissions: frozenset[str]
    standing: Standing | None


class Admit:
    def __init__(self, *, limits: Mapping[RateClass, int], clock: Clock) -> None:
        self._limits = limits
        self._clock = clock

    async def __call__(self, tx: Tx, knocks: Sequence[Knock], /, *, again: bool) -> list[Admitted | Refusal]:
        now = self._clock()
        known = await keys.find_by_hashes(tx, {knock.key_hash for knock in knocks})
        turned_away = [_reason(known.get(knock.key_hash), knock.address, now) for knock in knocks]
        let_in = [
            (known[knock.key_hash], knock.rate_class)
            for knock, refusal in zip(knocks, turned_away, strict=True)
            if refusal is None
        ]
        stale = sorted({key.id for key, _ in let_in if key.has_stale_use(now)})
        if stale:
            # With the windows, the one thing that need not be on disk before we answer.
            await tx.execute("SET LOCAL synchronous_commit = off")
            await keys.touch(tx, stale, now=now)
        answers = iter(await self._count(tx, let_in))
        return [refusal if refusal is not None else next(answers) for refusal in turned_away]

    async def _count(self, tx: Tx, let_in: Sequence[tuple[KnownKey, RateClass]]) -> list[Admitted | Refusal]:
        asked = Counter((key.id, rate_class) for key, rate_class in let_in if self._limits[rate_class])
        passing: dict[windows.Place, int] = {}
        standings: dict[windows.Place, Standing] = {}
        if asked:
            now_ms, held = await windows.lock(tx, asked)
            after: dict[windows.Place, Window] = {}
            for place, count in asked.items():
                limit = self._limits[place[1]]
                passing[place], after[place] = held[place].admit(count, limit=limit, now_ms=now_ms)
                standings[place] = after[place].standing(limit=limit, now_ms=now_ms)
            changed = {place: window for place, window in after.items() if passing[place]}
            if changed:
                await windows.save(tx, changed)
        return [self._answer(key, (key.id, rate_class), passing, standings) for key, rate_class in let_in]

    @staticmethod
    def _answer(
        key: KnownKey,
        place: windows.Place,
        passing: dict[windows.Place, int],
        standings: dict[windows.Place, Standing],
    ) -> Admitted | Refusal:
        standing = standings.get(place)
        if standing is not None:
            if not passing[place]:
                return RateLimited(standing)
            passing[place] -= 1
        return Admitted(key.id, key.merchant_id, key.permissions, standing)


def _reason(key: KnownKey | None, address: Address, now: datetime) -> Refusal | None:
    if key is None or not key.is_good(now):
        return Unauthorized("The API key is missing or not valid.")
    if not key.merchant_is_active:
        return Forbidden("This merchant is not active.", code="merchant_inactive")
    if not key.may_come_from(address):
        return Forbidden("This API key may not be used from this address.", code="address_not_allowed")
    return None
