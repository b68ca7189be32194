"""Request ids: every request gets one. It is in the response's X-Request-Id and in each line that is logged for it."""

from datetime import datetime

from malipo import ids, log


def new_request_id(now: datetime) -> str:
    return ids.mint("req_", now)


def begin_request(now: datetime) -> str:
    """A new id, which the log names from here on."""
    id_ = new_request_id(now)
    log.request_id.set(id_)
    return id_
