"""/operator/books/safeguarding: what merchants own beside what is there for it, at the end of closed days."""

from starlette.responses import Response

from malipo.dashboard import render
from malipo.dashboard.operator.request import OperatorRequest
from malipo.db import Conn
from malipo.reconciliation.close.closed_day import ClosedDay
from malipo.reconciliation.close.safeguarding import safeguarding_of
from malipo.reconciliation.close.store import closes

PATH = "/operator/books/safeguarding"
_MOST_DAYS = 31


async def show(request: OperatorRequest) -> Response:
    async def find(connection: Conn) -> list[ClosedDay]:
        return await closes.find_latest(connection, limit=_MOST_DAYS)

    days = await request.parts.queries.read(find)
    found = [safeguarding_of(each.close) for each in days]
    return render.page(request, "operator/books/safeguarding.html", days=found, last=found[0] if found else None)
