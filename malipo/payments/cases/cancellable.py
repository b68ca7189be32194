"""Which PENDING payouts operators may cancel."""

from malipo.db import Conn, Tx
from malipo.errors import Conflict, Forbidden
from malipo.payments.cases.resolution import CaseRefusal, may_have_been_sent
from malipo.payments.store.cases import Case
from malipo.payments.transaction import Status
from malipo.restore.store import installation, send_counts
from malipo.restore.worker_reports import WorkerCoverage, route_of, served_by


async def find_served(connection: Conn, case: Case) -> WorkerCoverage:
    """Whether a worker reports that it carries the channel. The caller's own settings may differ."""
    route = route_of(case.transaction.channel, case.transaction.type)
    return served_by(await send_counts.find_reports(connection), route)


async def require_cancellable(tx: Tx, case: Case) -> None:
    """Refuse a payment that was sent, or that somebody will send. After a restore its network must be queried first."""
    if (closed := await installation.why_not_cancel(tx)) is not None:
        raise closed
    if case.is_merchant_active and await find_served(tx, case) is WorkerCoverage.YES:
        raise Forbidden(code=CaseRefusal.MERCHANT_CAN_CANCEL)
    if case.transaction.status is not Status.PENDING:
        raise Conflict(code=CaseRefusal.NOT_PENDING, status=case.transaction.status)
    if may_have_been_sent(case):
        raise Conflict(code=CaseRefusal.ASKED_FIRST)
