"""Disables a failing endpoint: at once after 410 Gone, otherwise when every attempt has failed for five days."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from malipo import log
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import SYSTEM_NAME, Actor
from malipo.db import Tx
from malipo.messages import write
from malipo.messages.kinds import MessageKind
from malipo.webhooks.delivery_state import Attempt
from malipo.webhooks.store import endpoints

DISABLE_AFTER = timedelta(days=5)
# The reasons, as the merchant reads them.
GONE = "The receiver answered 410 Gone."
FAILED_TOO_LONG = f"Every attempt has failed for {DISABLE_AFTER.days} days."

_WORKER = Actor(SYSTEM_NAME, "worker")


async def note_health(tx: Tx, attempts: Sequence[Attempt], *, now: datetime) -> None:
    """Store since when each endpoint has been failing, and disable those that are gone or have failed for too long."""
    succeeded = {each.key[0] for each in attempts if each.is_success}
    if succeeded:
        await endpoints.note_success(tx, sorted(succeeded))
    # Who is gone is disabled, whatever other attempts of this commit were answered.
    gone = {each.key[0] for each in attempts if each.is_gone}
    failed = {each.key[0] for each in attempts} - succeeded | gone
    if not failed:
        return
    since = await endpoints.note_failure(tx, sorted(failed), now=now)
    for endpoint_id in sorted(failed):
        reason = why_disabled(is_gone=endpoint_id in gone, failing_since=since.get(endpoint_id), now=now)
        if reason is not None:
            await _disable(tx, endpoint_id, reason, now)


def why_disabled(*, is_gone: bool, failing_since: datetime | None, now: datetime) -> str | None:
    """Why an endpoint is disabled after a failure; None if it stays enabled. Pure."""
    if is_gone:
        return GONE
    has_failed_too_long = failing_since is not None and now - failing_since >= DISABLE_AFTER
    return FAILED_TOO_LONG if has_failed_too_long else None


async def _disable(tx: Tx, endpoint_id: str, reason: str, now: datetime) -> None:
    disabled = await endpoints.disable(tx, endpoint_id, reason, now=now)
    if disabled is not None:
        merchant_id, url = disabled
        log.warning("webhook.switched_off", endpoint=endpoint_id, merchant=merchant_id, why=reason)
        await audit_log.append(
            tx, _WORKER, "webhook.switched_off", now=now, merchant_id=merchant_id, endpoint=endpoint_id, why=reason
        )
        facts = {"url": url, "why": reason, "path": "/dashboard/webhooks"}
        await write.to_people(tx, MessageKind.ENDPOINT_DISABLED, merchant_id, facts, now=now)
