"""One transaction: all there is to know, everything that happened to it, and taking it back while that is possible."""

import re

import msgspec
from starlette.responses import Response

from malipo.dashboard import draw
from malipo.dashboard.timeline import Entry, timeline
from malipo.dashboard.transactions import PATH
from malipo.dashboard.visit import Visit
from malipo.db import Conn
from malipo.networks.catalog import PROFILES
from malipo.payments.cancel import Cancellation, NoSuchTransaction, NotCancellable
from malipo.payments.store import browsing, hearings, transactions
from malipo.payments.transaction import Status, Transaction

SENTENCES = (
    "It was too late to cancel: it was already on its way to {network}.",
    "It was too late to cancel: it had already ended.",
)
_SENT, _ENDED = SENTENCES
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


async def show(visit: Visit) -> Response:
    return await _page(visit)


async def ask_to_cancel(visit: Visit) -> Response:
    """Only asks: whoever changes their mind loses nothing."""
    name = _name_in(visit)
    transaction = await visit.service.read(lambda connection: _get(connection, visit.merchant_id, name))
    if transaction.status is not Status.PENDING:
        return visit.go(f"{PATH}/{transaction.id}")
    return draw.page(visit, "pay_cancel.html", transaction=transaction, network=PROFILES[transaction.channel].name)


async def cancel(visit: Visit) -> Response:
    await visit.form()
    try:
        transaction = await visit.service.cancel(Cancellation(visit.merchant_id, _name_in(visit), actor=visit.actor))
    except NotCancellable:
        return await _page(visit, is_too_late=True)
    return visit.go(f"{PATH}/{transaction.id}", "payment-cancelled")


async def _page(visit: Visit, *, is_too_late: bool = False) -> Response:
    name = _name_in(visit)
    transaction, entries = await visit.service.read_snapshot(
        lambda connection: _everything(connection, visit.merchant_id, name)
    )
    network = PROFILES[transaction.channel].name
    too_late = visit.words(_ENDED if transaction.status.is_final else _SENT, network=network)
    return draw.page(
        visit,
        "transaction.html",
        status=409 if is_too_late else 200,
        transaction=transaction,
        entries=entries[::-1],
        network=network,
        problem=too_late if is_too_late else None,
        metadata=[(key, _shown(value)) for key, value in transaction.metadata.items()],
    )


async def _everything(connection: Conn, merchant_id: str, name: str) -> tuple[Transaction, list[Entry]]:
    transaction = await _get(connection, merchant_id, name)
    return transaction, timeline(
        transaction,
        await hearings.find(connection, merchant_id, transaction.id),
        await browsing.find_booked(connection, merchant_id, transaction.id),
        await browsing.find_told(connection, merchant_id, transaction.id),
    )


async def _get(connection: Conn, merchant_id: str, name: str) -> Transaction:
    transaction = await transactions.get(connection, merchant_id, name)
    if transaction is None:
        raise NoSuchTransaction
    return transaction


def _name_in(visit: Visit) -> str:
    """The id or reference in the path. What cannot be either need not be looked for."""
    name: str = visit.request.path_params["id"]
    if not _NAME.fullmatch(name):
        raise NoSuchTransaction
    return name


def _shown(value: object) -> str:
    """Text as it is, anything else as it stands in JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
