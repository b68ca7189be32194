"""When the balance is sent to the bank by itself: an owner sets it, with the password."""

from collections.abc import Mapping

from starlette.responses import Response

from malipo.dashboard import form_errors, render
from malipo.dashboard.forms import Form
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.merchant.settlements.settlement_list import PATH as SETTLEMENTS
from malipo.errors import Refusal
from malipo.settlement.run_schedules import set_schedule
from malipo.settlement.schedule import Every, Schedule, schedule_of
from malipo.settlement.store import schedules
from malipo.validation.fields import Fields
from malipo.validation.typed_values import amount_of

PATH = f"{SETTLEMENTS}/schedule"
_DAYS = {Every.WEEK: "weekDay", Every.MONTH: "monthDay"}  # the field of the day, by how often


async def show(request: MerchantRequest) -> Response:
    found = await request.parts.queries.read(lambda connection: schedules.find(connection, request.merchant_id))
    return _page(request, _typed_of(found), is_paused=found is not None and found.is_paused)


async def change(request: MerchantRequest) -> Response:
    form = await request.form()
    typed = {name: form.text(name) for name in ("every", "weekDay", "monthDay", "minimum", "keep")}
    fields, now = Fields(_values(form)), request.parts.clock()
    least = request.parts.settlements.terms.least
    schedule = schedule_of(fields, request.merchant_id, least=least, by=request.person.email, now=now)
    if fields.mistakes:
        problems = form_errors.in_words(request.words, fields)
        if "onDay" in problems:
            problems[_DAYS[schedule.every]] = problems.pop("onDay")
        return _page(request, typed, problems, status=400)
    try:
        await request.parts.queries.write(lambda tx: set_schedule(tx, schedule, actor=request.actor))
    except Refusal as refusal:
        problems = {"": form_errors.of_refusal(request.words, refusal)}
        return _page(request, typed, problems, status=form_errors.status_of(refusal))
    return request.go(SETTLEMENTS, "schedule-off" if schedule.every is Every.OFF else "schedule-set")


def _values(form: Form) -> dict[str, object]:
    """A day that does not belong to how often it runs is left out, and so are amounts that were not typed."""
    values: dict[str, object] = {"every": form.text("every") or None}
    if day := _DAYS.get(Every(form.text("every"))) if form.text("every") in Every.__members__.values() else None:
        values["onDay"] = form.text(day) or None
    return values | {name: amount_of(form.text(name)) for name in ("minimum", "keep") if form.text(name)}


def _typed_of(schedule: Schedule | None) -> dict[str, str]:
    if schedule is None:
        return {"every": Every.OFF, "weekDay": "1", "monthDay": "", "minimum": "", "keep": ""}
    return {
        "every": schedule.every,
        "weekDay": str(schedule.on_day) if schedule.every is Every.WEEK else "1",
        "monthDay": str(schedule.on_day) if schedule.every is Every.MONTH else "",
        "minimum": f"{schedule.minimum:,}",
        "keep": f"{schedule.keep:,}" if schedule.keep else "",
    }


def _page(
    request: MerchantRequest,
    typed: Mapping[str, str],
    problems: Mapping[str, str] | None = None,
    *,
    status: int = 200,
    is_paused: bool = False,
) -> Response:
    return render.page(
        request,
        "merchant/settlements/schedule.html",
        status=status,
        typed=typed,
        problems=problems or {},
        is_paused=is_paused,
        least=request.parts.settlements.terms.least,
    )
