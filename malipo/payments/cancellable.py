"""Which PENDING payouts operators may cancel, and whether that takes two of them."""

from malipo.db import Conn, Tx
from malipo.errors import Conflict, Forbidden
from malipo.payments.resolution import may_have_been_sent
from malipo.payments.store.cases import Case
from malipo.payments.transaction import Status
from malipo.restore.store import installation, send_counts
from malipo.restore.worker_reports import Served, route_of, served_by

ITS_MERCHANT_CAN = "Its merchant is active, and can cancel it."


async def find_served(connection: Conn, case: Case) -> Served:
    """Whether a worker carries its channel, by what workers report. The settings of the caller may be others."""
    route = route_of(case.transaction.channel, case.transaction.type)
    return served_by(await send_counts.find_reports(connection), route)


async def require_cancellable(tx: Tx, case: Case) -> None:
    """That nobody has sent it, and nobody will. After a restore that is not certain until its network was queried."""
    if (closed := await installation.why_not_cancel(tx)) is not None:
        raise closed
    if case.is_merchant_active and await find_served(tx, case) is Served.YES:
        raise Forbidden(ITS_MERCHANT_CAN)
    if case.transaction.status is not Status.PENDING:
        raise Conflict(f"Only a PENDING payment can be cancelled; this one is {case.transaction.status}.")
    if may_have_been_sent(case):
        raise Conflict(
            "Its network is being asked whether it was sent before the service was restored. "
            "If the network cannot say, propose what became of it."
        )
