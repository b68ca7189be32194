"""A webhook endpoint: its URL, the events it subscribes to, and the secrets that sign them. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from malipo.encryption import Encryption
from malipo.outbox.event import Event
from malipo.validation.fields import Fields

EVERY = "*"  # every event, future ones included
MOST_PER_MERCHANT = 20
OVERLAP = timedelta(hours=24)  # of the old and the new secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    id: str
    merchant_id: str
    url: str
    events: Sequence[str]
    is_active: bool
    secret: bytes  # encrypted
    created_at: datetime
    next_secret: bytes | None = None  # encrypted; during a rotation
    rotation_ends_at: datetime | None = None
    failing_since: datetime | None = None
    disabled_at: datetime | None = None
    disabled_reason: str | None = None

    def wants(self, event: str) -> bool:
        return EVERY in self.events or event in self.events

    def is_rotating(self, now: datetime) -> bool:
        return self.rotation_ends_at is not None and now < self.rotation_ends_at

    def encrypted_keys(self, now: datetime) -> list[bytes]:
        """The secrets that sign: during a rotation the old one, then the new one."""
        if self.next_secret is None:
            return [self.secret]
        return [self.secret, self.next_secret] if self.is_rotating(now) else [self.next_secret]

    def keys(self, encryption: Encryption, now: datetime) -> list[str]:
        return [encryption.decrypt(each, owner=self.id) for each in self.encrypted_keys(now)]


def events_in(fields: Fields) -> list[str]:
    """The subscribed events. "*" includes all others."""
    chosen = fields.choices("events", [*Event, EVERY])
    return [EVERY] if EVERY in chosen else [*chosen]
