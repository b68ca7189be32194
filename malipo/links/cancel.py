"""Cancels links: no new attempt begins. A customer may still answer an open prompt, and that payment is accepted."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.clock import Clock
from malipo.db import Tx
from malipo.errors import Conflict, Refusal
from malipo.links.link import Link, LinkStatus, NoSuchLink
from malipo.links.store import links


class LinkNotCancellable(Conflict):
    code = "link_not_cancellable"

    def __init__(self, status: LinkStatus) -> None:
        super().__init__(f"Only an ACTIVE link can be cancelled; this one is {status}.")


class LinkCancellation(msgspec.Struct, frozen=True):
    merchant_id: str
    link_id: str
    by: str  # the id of an API key, or the email of a person
    actor: Actor | None = None


class CancelLinks:
    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock

    async def __call__(
        self, tx: Tx, cancellations: Sequence[LinkCancellation], /, *, again: bool
    ) -> list[Link | Refusal]:
        # Links are always locked in this order.
        done: dict[int, Link | Refusal] = {}
        for place in sorted(
            range(len(cancellations)),
            key=lambda place: (cancellations[place].merchant_id, cancellations[place].link_id),
        ):
            done[place] = await self._cancel(tx, cancellations[place])
        return [done[place] for place in range(len(cancellations))]

    async def _cancel(self, tx: Tx, cancellation: LinkCancellation) -> Link | Refusal:
        if not await links.lock(tx, cancellation.merchant_id, cancellation.link_id):
            return NoSuchLink()
        link = await links.get(tx, cancellation.merchant_id, cancellation.link_id)
        assert link is not None
        # Cancelling a cancelled link is no error.
        if link.status is LinkStatus.CANCELLED:
            return link
        if link.status is not LinkStatus.ACTIVE:
            return LinkNotCancellable(link.status)
        cancelled_at = await links.cancel(tx, link, by=cancellation.by)
        if cancellation.actor is not None:
            await audit_log.append(
                tx, cancellation.actor, "link.cancelled", now=self._clock(), merchant_id=link.merchant_id, link=link.id
            )
        return replace(link, cancelled_at=cancelled_at)
