"""Request ids: every request has one. The response's X-Request-Id and each log line of the request contain it.

A client may choose the id by sending X-Request-Id. Also the id of the request's transaction, so that its log lines and
its trace are found by that id.
"""

import re
from datetime import datetime

from starlette.types import Scope

from malipo import ids, log, tracing

# A key of the request's scope: which of these headers were sent. Most requests have none.
SENT_IDS = "malipo.sent_ids"
REQUEST_ID = b"x-request-id"
TRACEPARENT = b"traceparent"

_PREFIX = "req_"
# Generated ids begin with req_. A client may not choose one of these: its lines would be found under another request's
# id.
_CHOSEN = re.compile(rb"(?!req_)[A-Za-z0-9._-]{1,64}")


def new_request_id(now: datetime) -> str:
    return ids.mint(_PREFIX, now)


def begin_request(scope: Scope, now: datetime) -> str:
    """Give the request its id, which the log names from here on."""
    id_ = request_id(scope, now)
    log.bind(request=id_)
    if tracing.active is not None:
        sent = scope.get(SENT_IDS)
        tracing.active.begin_request(id_, None if sent is None else sent.get(TRACEPARENT))
    return id_


def request_id(scope: Scope, now: datetime) -> str:
    """The client's request id, if the client may choose it, or a new one."""
    sent = scope.get(SENT_IDS)
    return new_request_id(now) if sent is None else _chosen_in(sent) or new_request_id(now)


def _chosen_in(sent: dict[bytes, bytes]) -> str | None:
    chosen = sent.get(REQUEST_ID)
    return chosen.decode() if chosen is not None and _CHOSEN.fullmatch(chosen) else None


def enter_payment(id_: str) -> None:
    """The request will create this payment, so that its span begins the payment's trace."""
    if tracing.active is not None:
        tracing.active.enter_payment(id_)


def note_transaction(id_: str, *, is_new: bool = False) -> None:
    """The request concerns this transaction. Call it only for a transaction that exists, so that no invented id is
    logged as one."""
    log.add(transaction=id_)
    if tracing.active is not None:
        tracing.active.note_transaction(id_, is_new=is_new)
