"""/operator/books/safeguarding: what merchants own beside what is there for it, at the end of closed days."""

from starlette.responses import Response

from malipo.bank.balance import find_seen
from malipo.dashboard import render
from malipo.dashboard.operator.request import OperatorRequest
from malipo.db import Conn
from malipo.reconciliation.close.closed_day import ClosedDay
from malipo.reconciliation.close.safeguarding import BankSeen, safeguarding_of, with_bank
from malipo.reconciliation.close.store import closes

PATH = "/operator/books/safeguarding"
_MOST_DAYS = 31


async def show(request: OperatorRequest) -> Response:
    async def find(connection: Conn) -> tuple[list[ClosedDay], BankSeen | None]:
        return await closes.find_latest(connection, limit=_MOST_DAYS), await find_seen(connection)

    days, bank = await request.parts.queries.read_snapshot(find)
    found = [safeguarding_of(each.close) for each in days]
    found[:1] = [with_bank(each, bank) for each in found[:1]]
    return render.page(request, "operator/books/safeguarding.html", days=found, last=found[0] if found else None)
