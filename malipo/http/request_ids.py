"""Request ids: every request has one. It is in the response's X-Request-Id and in each line that is logged for it.

Whoever sends an X-Request-Id of their own finds the request under that. And the id of the transaction that a request is
about, so that its lines in the log are found by it; and its trace.
"""

import re
from datetime import datetime

from starlette.types import Scope

from malipo import ids, log, tracing

# In a request's scope: those of these headers that were sent. Most requests have none.
SENT_IDS = "malipo.sent_ids"
REQUEST_ID = b"x-request-id"
TRACEPARENT = b"traceparent"

_PREFIX = "req_"
# Ours begin with req_. Nobody may choose one of those: their lines would be found under another's id.
_CHOSEN = re.compile(rb"(?!req_)[A-Za-z0-9._-]{1,64}")


def new_request_id(now: datetime) -> str:
    return ids.mint(_PREFIX, now)


def begin_request(scope: Scope, now: datetime) -> str:
    """Its id, which the log names from here on."""
    id_ = request_id(scope, now)
    log.bind(request=id_)
    if tracing.active is not None:
        sent = scope.get(SENT_IDS)
        tracing.active.begin_request(id_, None if sent is None else sent.get(TRACEPARENT))
    return id_


def request_id(scope: Scope, now: datetime) -> str:
    """The one that was sent, if it may be chosen, or a new one."""
    sent = scope.get(SENT_IDS)
    return new_request_id(now) if sent is None else _chosen_in(sent) or new_request_id(now)


def _chosen_in(sent: dict[bytes, bytes]) -> str | None:
    chosen = sent.get(REQUEST_ID)
    return chosen.decode() if chosen is not None and _CHOSEN.fullmatch(chosen) else None


def enter_payment(id_: str) -> None:
    """This request is about to create this payment: its span is the first of the payment's trace."""
    if tracing.active is not None:
        tracing.active.enter_payment(id_)


def note_transaction(id_: str, *, is_new: bool = False) -> None:
    """This request is about this transaction, which exists: no id that a client only wrote is logged as one."""
    log.add(transaction=id_)
    if tracing.active is not None:
        tracing.active.note_transaction(id_, is_new=is_new)
