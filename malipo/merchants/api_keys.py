"""API keys: their format, permissions, expiry and IP allowlist. Pure.

A key is shown once, when it is made. malipo keeps its hash: a key has 160 random bits, so a plain SHA-256 cannot be
reversed, and checking it is cheap.
"""

import hashlib
import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from malipo import randomness
from malipo.settings.parsers import Address

MOST_PER_MERCHANT = 20

AddressRange = ipaddress.IPv4Network | ipaddress.IPv6Network


class Permission(StrEnum):
    PAYMENTS_READ = "payments.read"
    PAYMENTS_CREATE = "payments.create"  # both of the next two
    PAYMENTS_COLLECT = "payments.collect"
    PAYMENTS_DISBURSE = "payments.disburse"
    RECIPIENTS_LOOKUP = "recipients.lookup"
    WALLET_READ = "wallet.read"
    EVENTS_READ = "events.read"
    WEBHOOKS_MANAGE = "webhooks.manage"
    PAYOUTS_APPROVE = "payouts.approve"
    LINKS_MANAGE = "links.manage"
    SETTLEMENTS_CREATE = "settlements.create"


# Each of these permissions opens the routes that collect money, or those that pay it out. A refund pays out.
COLLECTING = (Permission.PAYMENTS_CREATE, Permission.PAYMENTS_COLLECT)
PAYING_OUT = (Permission.PAYMENTS_CREATE, Permission.PAYMENTS_DISBURSE)

# A key that reads the wallet reads its settlements.
SETTLEMENTS_READ = (Permission.WALLET_READ, Permission.SETTLEMENTS_CREATE)

# With one of these a key moves the merchant's money.
PAYING = frozenset({*PAYING_OUT, Permission.PAYOUTS_APPROVE, Permission.SETTLEMENTS_CREATE})

# The permissions of a key if none is named: each route once. A key may approve only if that is named, because approving
# is the second person's part; and settle only if that is named, because keys of before could not.
UNNAMED_PERMISSIONS = tuple(
    each
    for each in Permission
    if each
    not in (
        Permission.PAYMENTS_COLLECT,
        Permission.PAYMENTS_DISBURSE,
        Permission.PAYOUTS_APPROVE,
        Permission.SETTLEMENTS_CREATE,
    )
)

_NARROWER = {Permission.PAYMENTS_CREATE: (Permission.PAYMENTS_COLLECT, Permission.PAYMENTS_DISBURSE)}


def narrowed(permissions: Iterable[str]) -> frozenset[str]:
    """The permissions that a key with these may keep: these, and permissions that open a part of the same routes."""
    given = frozenset(permissions)
    return given.union(*(parts for whole, parts in _NARROWER.items() if whole in given))


class Environment(StrEnum):
    """A word in the key's prefix. Both run live: real money moves."""

    LIVE = "live"
    TEST = "test"


class PayoutLimits(msgspec.Struct, frozen=True):
    """The most that a key may pay out, at once and in a day; None: no limit."""

    key_id: str
    each: int | None
    daily: int | None


class KeyTerms(msgspec.Struct, frozen=True, kw_only=True):
    """What a key may do, and until when. A proposal to make a key keeps this as JSON, so a field is only ever added."""

    name: str
    permissions: tuple[Permission, ...]
    environment: Environment
    brand: str
    expires_at: datetime | None = None
    ip_allowlist: tuple[str, ...] = ()
    payout_limit: int | None = None
    daily_payout_limit: int | None = None


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key at the only moment when its text is known."""

    id: str
    merchant_id: str
    name: str
    text: str
    prefix: str
    environment: Environment
    permissions: tuple[Permission, ...]
    created_at: datetime
    expires_at: datetime | None = None
    ip_allowlist: tuple[AddressRange, ...] = ()
    payout_limit: int | None = None
    daily_payout_limit: int | None = None
    created_by: str | None = None  # the person that the key counts as, if something takes two people

    @property
    def last4(self) -> str:
        return self.text[-4:]


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A key as it is shown afterwards: enough to recognise it."""

    id: str
    merchant_id: str
    name: str
    prefix: str
    last4: str
    environment: Environment
    permissions: tuple[str, ...]
    ip_allowlist: tuple[AddressRange, ...]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    payout_limit: int | None = None
    daily_payout_limit: int | None = None


class KnownKey(msgspec.Struct, frozen=True):
    """A stored key, with what authentication needs of its merchant."""

    id: str
    merchant_id: str
    merchant_is_active: bool
    permissions: frozenset[str]
    ip_allowlist: Sequence[AddressRange]
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    payout_limits: PayoutLimits | None = None
    created_by: str | None = None  # None: not known
    requires_idempotency_key: bool = False  # for requests that move money; a setting of the merchant

    def is_good(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def may_come_from(self, address: Address) -> bool:
        return not self.ip_allowlist or any(address in allowed for allowed in self.ip_allowlist)

    def has_stale_use(self, now: datetime) -> bool:
        """Whether its last use should be stored again: at most once a minute, to spare each request a write."""
        return self.last_used_at is None or now - self.last_used_at >= timedelta(minutes=1)


def address_range_of(text: str) -> AddressRange:
    """An address or a network; ValueError if it is neither. IPv4 that is mapped into IPv6 is read as IPv4."""
    network = ipaddress.ip_network(text)
    if isinstance(network, ipaddress.IPv6Network) and network.prefixlen >= 96:
        mapped = network.network_address.ipv4_mapped
        if mapped is not None:
            return ipaddress.ip_network((mapped, network.prefixlen - 96))
    return network


def text_of(prefix: str) -> str:
    return prefix + randomness.token_hex(20)


def prefix_of(brand: str, environment: Environment) -> str:
    return f"{brand}_{environment}_"


def hash_of(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()
