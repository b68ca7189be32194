"""The state of the payment that this browser has begun, for the page's script: answered when the state has changed.

A waiting request holds neither a turn nor a database connection: all of them share one query (`db/long_poll.py`). If
too many wait, the answer comes at once, and the script asks again later.
"""

from starlette.responses import PlainTextResponse, Response

from malipo.db import Conn
from malipo.errors import Missing
from malipo.links.link import NoSuchLink
from malipo.links.store import customers_attempts, links
from malipo.pay_pages.request import PayRequest
from malipo.payments.store.transactions import Key
from malipo.payments.transaction import Status

WAIT_SECONDS = 20
MOST_WAITING = 300  # of a process
_BUSY_SECONDS = 5


class NothingBegun(Missing):
    """The link exists, and this browser has begun no payment at it or has lost its cookie."""


async def find(request: PayRequest) -> tuple[Key, Status]:
    """The payment, and its status now."""

    async def read(connection: Conn) -> tuple[Key, Status]:
        found = await links.find_by_code(connection, request.code)
        if found is None:
            raise NoSuchLink
        if (own_attempt := request.known_attempt(request.code)) is None:
            raise NothingBegun
        key = (found.link.merchant_id, found.link.id)
        attempt = await customers_attempts.find(connection, key, own_attempt)
        if attempt is None:
            raise NothingBegun
        return (attempt.payment.merchant_id, attempt.payment.id), attempt.status

    return await request.parts.queries.read(read)


def is_shown(request: PayRequest, status: Status) -> bool:
    """Whether the page already shows this status, so that the request waits for another one."""
    return request.http.query_params.get("of") == status


def answer(status: Status, *, is_busy: bool = False) -> Response:
    response = PlainTextResponse(status)
    if is_busy:
        response.headers["Retry-After"] = str(_BUSY_SECONDS)
    return response
