"""The period of a statement as an operator types it, for files that state none. Pure."""

from datetime import UTC, date, datetime, timedelta

from malipo import clock
from malipo.errors import Invalid
from malipo.network_statements.cell_values import YEARS
from malipo.reconciliation.statements.statement_file import PeriodRefusal


def period_of(begins: str, ends: str) -> tuple[datetime, datetime] | None:
    """The two moments; None if neither is given. In Dar es Salaam. A day as the end means the end of that day."""
    begins, ends = begins.strip(), ends.strip()
    if not begins and not ends:
        return None
    try:
        first = datetime.fromisoformat(begins)
        last = datetime.fromisoformat(ends)
    except ValueError:
        raise Invalid(code=PeriodRefusal.NO_TIMES) from None
    if not {first.year, last.year} <= {*YEARS}:
        raise Invalid(code=PeriodRefusal.NO_TIMES)
    period = _there(first), _there(last + (timedelta(days=1) if _is_day(ends) else timedelta()))
    if period[0] >= period[1]:
        raise Invalid(code=PeriodRefusal.ENDS_FIRST)
    return period


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _there(moment: datetime) -> datetime:
    return (moment if moment.tzinfo else moment.replace(tzinfo=clock.ZONE)).astimezone(UTC)
