"""Runs the schedules of settlements: at most one a merchant and day, whatever happens, in one commit each.

None runs while the installation is fenced or held, or after a restore until operators have released settlements. What
was not run then is made up for once.
"""

from datetime import date, datetime

from malipo import clock, ids
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Conn, Tx
from malipo.errors import Refusal
from malipo.merchants import four_eyes
from malipo.restore.installation import IntakeClosed
from malipo.restore.store import installation
from malipo.settlement import release
from malipo.settlement.create import CreateSettlements, MadeSettlement
from malipo.settlement.fee_and_minimum import SettlementTerms
from malipo.settlement.schedule import RunOutcome, Schedule, is_due
from malipo.settlement.settlement import BY_SCHEDULE, ID_PREFIX, NoBankAccount
from malipo.settlement.settlement_request import SettlementDraft, SettlementRequest
from malipo.settlement.store import schedules, settlements


async def set_schedule(tx: Tx, schedule: Schedule, *, actor: Actor) -> None:
    await four_eyes.require_not_waiting(tx, schedule.merchant_id, actor, now=schedule.changed_at)
    await schedules.save(tx, schedule)
    await audit_log.append(
        tx,
        actor,
        "settlement.schedule_set",
        now=schedule.changed_at,
        merchant_id=schedule.merchant_id,
        every=schedule.every,
        on_day=schedule.on_day,
        minimum=schedule.minimum,
        keep=schedule.keep,
    )


async def find_due(connection: Conn, *, now: datetime) -> list[Schedule]:
    found = await schedules.find_running(connection, day=clock.day_of(now))
    return [schedule for schedule, last_run in found if is_due(schedule, last_run, now)]


class RunSchedules:
    def __init__(self, terms: SettlementTerms) -> None:
        self._create = CreateSettlements(terms)

    async def __call__(self, tx: Tx, schedule: Schedule, *, now: datetime) -> RunOutcome | None:
        """Settle one merchant's balance. None: it has run today already, or nothing may run now."""
        if not await _may_run(tx):
            return None
        day = clock.day_of(now)
        if not await schedules.claim_run(tx, schedule.merchant_id, day, now=now):
            return None
        if await settlements.find_inactive_merchants(tx, [schedule.merchant_id]):
            outcome, made = RunOutcome.INACTIVE, None
        else:
            outcome, made = await self._settle(tx, schedule, day, now=now)
        await schedules.note_run(tx, schedule.merchant_id, day, outcome, settlement_id=made)
        return outcome

    async def _settle(self, tx: Tx, schedule: Schedule, day: date, *, now: datetime) -> tuple[RunOutcome, str | None]:
        draft = SettlementDraft(amount=None, minimum=schedule.minimum, scheduled_on=day)
        request = SettlementRequest(
            merchant_id=schedule.merchant_id,
            id=ids.mint(ID_PREFIX, now),
            draft=draft,
            problem=None,
            key=None,
            request_hash=b"",
            created_by=BY_SCHEDULE,
            made_at=now,
        )
        [answer] = await self._create(tx, [request], again=False)
        if isinstance(answer, MadeSettlement):
            return RunOutcome.SETTLED, answer.settlement.id
        if isinstance(answer, IntakeClosed):
            raise answer  # It began meanwhile. Nothing is committed, and the day is not used up.
        assert isinstance(answer, Refusal)
        return (RunOutcome.NO_ACCOUNT if isinstance(answer, NoBankAccount) else RunOutcome.TOO_LITTLE), None


async def _may_run(tx: Tx) -> bool:
    if await installation.why_not_cancel(tx) is not None:  # fenced, or not compared with the workers' marks yet
        return False
    state = await installation.get(tx)
    return not state.takes_no_payments and await release.is_released(tx)
