"""The endpoints of `bench webhooks`: 1,000, some of which hang or fail; and which event goes to which.

Every name is made of a number, so that an arrival can be held against what was written without asking anybody.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from benchmarks import database
from malipo import clock
from malipo.audit_log.actor import Actor
from malipo.db import Database
from malipo.encryption import Encryption
from malipo.outbox.event import Event
from malipo.webhooks.manage_endpoints import register

ENDPOINTS = 1000

_OF_EACH_TWENTY = 20
_NOBODY = Actor("benchmark", "benchmark")


class Kind(StrEnum):
    HEALTHY = "healthy"  # answers 200 at once
    HANGING = "hanging"  # takes the request and never answers
    FAILING = "failing"  # answers 500 at once


@dataclass(frozen=True)
class Endpoints:
    """The endpoints have places 0 to 999, and belong to the merchants in that order, the same number to each."""

    merchants: int
    is_mixed: bool
    servers: int = 1

    @property
    def addresses(self) -> list[str]:
        """One for all, or one for each: then no two endpoints share a connection. All of 127.… is this machine."""
        if self.servers == 1:
            return ["127.0.0.1"]
        return [f"127.0.{place // 250 + 1}.{place % 250 + 1}" for place in range(self.servers)]

    @property
    def endpoints_each(self) -> int:
        return ENDPOINTS // self.merchants

    def kind(self, place: int) -> Kind:
        """Five per cent hang and five per cent fail, or none."""
        if self.is_mixed and place % _OF_EACH_TWENTY == 6:
            return Kind.HANGING
        if self.is_mixed and place % _OF_EACH_TWENTY == 13:
            return Kind.FAILING
        return Kind.HEALTHY

    def places(self, kind: Kind) -> list[int]:
        return [place for place in range(ENDPOINTS) if self.kind(place) is kind]

    def path(self, place: int) -> str:
        return f"/{self.kind(place)}/{place}"

    def deliveries(self, events: range, kind: Kind) -> set[tuple[int, int]]:
        """Place and event of everything that is to be delivered of these events."""
        return {(place, event) for event in events for place in self._told(event) if self.kind(place) is kind}

    def _told(self, event: int) -> Iterator[int]:
        """The merchant of an event is its number, taken round and round. `events.sql` says the same."""
        first = event % self.merchants * self.endpoints_each
        return iter(range(first, first + self.endpoints_each))

    async def register(self, url: str, *, port: int, secret_key: str) -> None:
        """All of them, encrypted as the worker will open them."""
        encryption, now, addresses = Encryption(secret_key), clock.now(), self.addresses
        async with Database.opened(url, size=1) as opened, opened.begin() as tx:
            for place in range(ENDPOINTS):
                await register(
                    tx,
                    database.merchant(place // self.endpoints_each + 1),
                    url=f"http://{addresses[place % self.servers]}:{port}{self.path(place)}",
                    events=[Event.PAYMENT_COMPLETED],
                    encryption=encryption,
                    actor=_NOBODY,
                    now=now,
                )
