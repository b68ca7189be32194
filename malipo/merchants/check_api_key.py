"""Authenticates API calls: is the key valid, is the merchant active, is the address allowed, is the rate limit kept.

A caller sees the first of these checks that fails. Requests that arrive together are decided together, in the order of
arrival. Nothing waits for a disk: a crash of the database may lose the last moments of a rate-limit window, which lets
a few more requests through, and no money depends on it.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from malipo.clock import Clock
from malipo.db import Conn, Contention
from malipo.db.group_commit import GroupCommits, granted
from malipo.errors import Forbidden, OutcomeUnknown, Refusal, Unauthorized, Unavailable
from malipo.merchants.api_keys import KnownKey, PayoutLimits
from malipo.merchants.store import api_keys
from malipo.rate_limit import store as rate_limits
from malipo.rate_limit.refusal import RateLimited
from malipo.rate_limit.sliding_window import RateClass, RateLimitStatus, Window
from malipo.settings.parsers import Address

# At each conflict another process has succeeded, so in the end all processes that use one key succeed.
_MOST_TRIES = 50
_MOST_KNOWN = 10_000  # in the memory of a process


class AccessRequest(msgspec.Struct, frozen=True):
    """The hash of a call's key, its address, and the rate limit that it counts for."""

    key_hash: bytes
    address: Address
    rate_class: RateClass


class Caller(msgspec.Struct, frozen=True):
    key_id: str
    merchant_id: str
    permissions: frozenset[str]
    rate_limit_status: RateLimitStatus | None
    payout_limits: PayoutLimits | None = None
    key_maker: str | None = None  # who made the key; None: not known
    requires_idempotency_key: bool = False


class Authenticate:
    """Decides without a transaction: windows are read and written, and again if another process wrote first."""

    def __init__(self, *, limits: Mapping[RateClass, int], clock: Clock) -> None:
        self._limits = limits
        self._clock = clock

    async def __call__(
        self, connection: Conn, requests: Sequence[AccessRequest], /, *, again: bool
    ) -> list[Caller | Refusal]:
        answers: dict[int, Caller | Refusal] = {}
        for _ in range(_MOST_TRIES):
            waiting = [place for place in range(len(requests)) if place not in answers]
            if not waiting:
                return [answers[place] for place in range(len(requests))]
            new_answers = await self._try(connection, [requests[place] for place in waiting])
            answers |= {place: answer for place, answer in zip(waiting, new_answers, strict=True) if answer is not None}
        raise Contention("another process always writes first")

    async def _try(self, connection: Conn, requests: Sequence[AccessRequest]) -> list[Caller | Refusal | None]:
        """One try. None for requests whose window another process has written meanwhile."""
        now = self._clock()
        # A class without a limit needs no window.
        wanted = [
            (request.key_hash, request.rate_class if self._limits[request.rate_class] else None) for request in requests
        ]
        found = await api_keys.find_by_hashes(connection, dict.fromkeys(wanted))
        refusals = [
            _reason(found[want].key if want in found else None, request.address, now)
            for want, request in zip(wanted, requests, strict=True)
        ]
        accepted = [want for want, refusal in zip(wanted, refusals, strict=True) if refusal is None]
        stale = sorted({found[want].key.id for want in accepted if found[want].key.has_stale_use(now)})
        if stale:
            await api_keys.touch(connection, stale, now=now)
        counted = Counter((hash_, rate_class) for hash_, rate_class in accepted if rate_class is not None)
        counts = await self._count(connection, found, counted) if counted else {}
        return [
            refusal if refusal is not None else _answer(found[want].key, counts.get(want))
            for want, refusal in zip(wanted, refusals, strict=True)
        ]

    async def _count(
        self, connection: Conn, found: Mapping[api_keys.Wanted, api_keys.FoundKey], asked: Counter[api_keys.Counted]
    ) -> dict[api_keys.Wanted, "_Count"]:
        counts: dict[api_keys.Wanted, _Count] = {}
        changed: dict[RateClass, dict[str, tuple[rate_limits.Version, Window]]] = defaultdict(dict)
        for want, number in asked.items():
            rate_class, seen = want[1], found[want]
            limit = self._limits[rate_class]
            passing, after = seen.window.admit(number, limit=limit, now_ms=seen.now_ms)
            counts[want] = _Count(seen.key.id, passing, after.rate_limit_status(limit=limit, now_ms=seen.now_ms))
            if passing:
                changed[rate_class][seen.key.id] = (seen.version, after)
        for rate_class, of_keys in changed.items():
            if lost := await rate_limits.save(connection, rate_class, of_keys):
                for (_, its_class), count in counts.items():
                    count.is_lost |= its_class is rate_class and count.key_id in lost
        return counts


class AcceptedKeys:
    """The ids and merchants of API keys that this process has accepted, by the keys' hashes. They never change."""

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[str, str]] = {}

    def note(self, key_hash: bytes, caller: Caller) -> None:
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[key_hash] = (caller.key_id, caller.merchant_id)

    def get(self, key_hash: bytes) -> tuple[str, str] | None:
        """The ids of a key and of its merchant. The key may be revoked by now."""
        return self._known.get(key_hash)


class Authentication:
    """Requests that arrive together share one query."""

    def __init__(self, commits: GroupCommits, *, limits: Mapping[RateClass, int], clock: Clock) -> None:
        self._authenticate = commits.group(
            "authenticate", Authenticate(limits=limits, clock=clock), needs_transaction=False
        )

    def submit(self, request: AccessRequest, *, deadline: float) -> "asyncio.Future[Caller | Refusal]":
        """Submit a request. The result of the future may be a refusal. `deadline` is by the event loop's clock."""
        return self._authenticate.submit(request, deadline=deadline)

    async def __call__(self, request: AccessRequest) -> Caller:
        try:
            return granted(await self._authenticate(request))
        except OutcomeUnknown:
            # Whether the request was counted does not matter, because it has not begun.
            raise Unavailable from None


class _Count(msgspec.Struct):
    """The number of requests of one key and class that may pass, their status, and whether another process wrote the
    window."""

    key_id: str
    passing: int
    rate_limit_status: RateLimitStatus
    is_lost: bool = False


def _answer(key: KnownKey, count: _Count | None) -> Caller | Refusal | None:
    """The answer for the next request with this key and class."""
    if count is None:
        return _caller(key, None)
    if count.is_lost:
        return None
    if not count.passing:
        return RateLimited(count.rate_limit_status)
    count.passing -= 1
    return _caller(key, count.rate_limit_status)


def _caller(key: KnownKey, status: RateLimitStatus | None) -> Caller:
    return Caller(
        key.id,
        key.merchant_id,
        key.permissions,
        status,
        key.payout_limits,
        key.created_by,
        key.requires_idempotency_key,
    )


def _reason(key: KnownKey | None, address: Address, now: datetime) -> Refusal | None:
    if key is None or not key.is_good(now):
        return Unauthorized("The API key is missing or not valid.")
    if not key.merchant_is_active:
        return Forbidden("This merchant is not active.", code="merchant_inactive")
    if not key.may_come_from(address):
        return Forbidden("This API key may not be used from this address.", code="address_not_allowed")
    return None
