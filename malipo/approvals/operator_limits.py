"""The limits of operators in the settings of the service, which a command's own environment cannot widen.

Limits are settings, and so environment variables. A command has an environment of its own, in which an operator could
name a larger amount. So the service stores its limits when it starts, and a command uses the stricter of the two. The
holidays of banks are stored with them, and every process and command reads those.
"""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from datetime import datetime

import msgspec

from malipo import log
from malipo.approvals import store
from malipo.approvals.store import OperatorLimits
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import SYSTEM_NAME, Actor
from malipo.clock import Clock
from malipo.db import Conn, ConnectionLost, Database, Tx
from malipo.db.errors import Contention
from malipo.db.schema_monitor import SchemaMonitor
from malipo.errors import Unavailable
from malipo.settings import Settings

REQUIRED = "required"
_AGAIN_SECONDS = 1.0


def limits_of(settings: Settings) -> OperatorLimits:
    return OperatorLimits(
        booking_approval_amount=settings.booking_approval_amount,
        second_factor=settings.operator_second_factor,
        credit_by_itself=settings.credit_by_itself,
        bank_holidays=settings.bank_holidays,
    )


def stricter(settings: Settings, noted: OperatorLimits | None) -> Settings:
    """The settings of a command, with the stricter of its own limits and those of the service. Pure."""
    if noted is None:
        return settings
    is_required = REQUIRED in (settings.operator_second_factor, noted.second_factor)
    return dataclasses.replace(
        settings,
        booking_approval_amount=min(settings.booking_approval_amount, noted.booking_approval_amount),
        operator_second_factor=REQUIRED if is_required else settings.operator_second_factor,
        credit_by_itself=settings.credit_by_itself and noted.credit_by_itself,
    )


async def with_limits(connection: Conn, settings: Settings) -> Settings:
    """The settings of a command, with the stricter of its own limits and the stored limits of the service."""
    return stricter(settings, await store.find_limits(connection))


async def note(tx: Tx, settings: Settings, *, actor: Actor, now: datetime) -> bool:
    """Store the limits with which the service starts. Returns whether they changed, which the audit log keeps."""
    before, limits = await store.lock_limits(tx), limits_of(settings)
    if limits == before:
        return False
    await store.put_limits(tx, limits, now=now)
    if before is not None:
        await audit_log.append(
            tx,
            actor,
            "operator.limits_changed",
            now=now,
            amount=limits.booking_approval_amount,
            amount_before=before.booking_approval_amount,
            second_factor=limits.second_factor,
            second_factor_before=before.second_factor,
            credit_by_itself=limits.credit_by_itself,
            credit_by_itself_before=before.credit_by_itself,
            bank_holidays=[each.isoformat() for each in limits.bank_holidays],
            bank_holidays_before=[each.isoformat() for each in before.bank_holidays],
        )
    return True


async def note_at_start(
    database: Database,
    settings: Settings,
    schema: SchemaMonitor,
    then: Callable[[Tx], Awaitable[None]],
    *,
    clock: Clock,
) -> None:
    """Store the limits once, as soon as the database answers and has a schema that this version serves. In the same
    commit, `then` writes what depends on them."""
    await schema.until(is_served=True)
    actor = Actor(SYSTEM_NAME, "service")
    while True:
        try:
            async with database.begin() as tx:
                if await note(tx, settings, actor=actor, now=clock()):
                    log.info("operators.limits_noted", **msgspec.to_builtins(limits_of(settings)))
                await then(tx)
            return
        except (ConnectionLost, Contention, Unavailable, TimeoutError) as error:
            log.debug("operators.limits_not_noted", reason=str(error))
            await asyncio.sleep(_AGAIN_SECONDS)
