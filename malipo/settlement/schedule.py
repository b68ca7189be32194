"""When a merchant's balance is settled by itself. Pure."""

import calendar
from datetime import date, datetime, time, timedelta
from enum import StrEnum

import msgspec

from malipo import clock
from malipo.settlement.fee_and_minimum import LARGEST_AMOUNT
from malipo.validation.fields import Fields

# In Dar es Salaam: after the night's payments, and before people gather the day's file.
_FROM = time(6)
_DAY = timedelta(days=1)


class Every(StrEnum):
    OFF = "off"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"


class RunOutcome(StrEnum):
    """What a run of a schedule has done. Stored."""

    SETTLED = "settled"
    TOO_LITTLE = "too_little"  # less than the minimum
    NO_ACCOUNT = "no_account"
    INACTIVE = "inactive"  # the merchant is deactivated


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    merchant_id: str
    every: Every
    on_day: int | None = None  # of the week (1 is Monday) or of the month
    minimum: int
    keep: int  # stays in the wallet
    changed_at: datetime
    changed_by: str
    # Since a restore, if it was set before: perhaps an owner has changed it since the backup. It does not run until an
    # owner saves it again.
    paused_since: datetime | None = None

    @property
    def is_paused(self) -> bool:
        return self.paused_since is not None


def last_due(schedule: Schedule, day: date) -> date | None:
    """The last day up to this one on which the schedule runs. The 31st of a shorter month is its last day."""
    match schedule.every:
        case Every.DAY:
            return day
        case Every.WEEK:
            assert schedule.on_day is not None
            return day - _DAY * ((day.isoweekday() - schedule.on_day) % 7)
        case Every.MONTH:
            assert schedule.on_day is not None
            due = _in_month(day.year, day.month, schedule.on_day)
            last_month = day.replace(day=1) - _DAY
            return due if due <= day else _in_month(last_month.year, last_month.month, schedule.on_day)
    return None


def is_due(schedule: Schedule, last_run: date | None, now: datetime) -> bool:
    """Whether it runs now. A day on which no worker ran, or the installation was fenced, is made up for later, once. A
    schedule that was set today begins with its next day."""
    at = now.astimezone(clock.ZONE)
    due = last_due(schedule, at.date() if at.time() >= _FROM else at.date() - _DAY)
    is_old_enough = due is not None and due > clock.day_of(schedule.changed_at)
    return due is not None and is_old_enough and (last_run is None or last_run < due)


def schedule_of(fields: Fields, merchant_id: str, *, least: int, by: str, now: datetime) -> Schedule:
    """The schedule that an owner has typed, with the mistakes in the fields."""
    every = fields.choice("every", Every, is_required=True) or Every.OFF
    on_day = None
    if every in (Every.WEEK, Every.MONTH):
        on_day = fields.whole("onDay", 0, least=1, most=7 if every is Every.WEEK else 31)
        if not on_day:
            fields.wrong("onDay", "on_day_invalid", "onDay is required: of the week from 1 to 7, of the month to 31.")
    return Schedule(
        merchant_id=merchant_id,
        every=every,
        on_day=on_day or None,
        minimum=fields.optional_amount("minimum", least=least, most=LARGEST_AMOUNT) or least,
        keep=fields.optional_amount("keep", least=0, most=LARGEST_AMOUNT) or 0,
        changed_at=now,
        changed_by=by,
    )


def _in_month(year: int, month: int, day: int) -> date:
    return date(year, month, min(day, calendar.monthrange(year, month)[1]))
