"""A closed day as it is stored, and how it follows the one before it. Pure."""

from datetime import date, datetime

import msgspec

from malipo.reconciliation.close.signed_content import DayClose, decode, hash_of


class ClosedDay(msgspec.Struct, frozen=True, kw_only=True):
    day: date
    content: str
    previous: bytes | None
    hash: bytes
    counted: str
    digest: bytes
    reason: str
    requested_by: str | None
    closed_by: str
    closed_at: datetime
    key_id: str = ""
    signature: bytes = b""

    @property
    def close(self) -> DayClose:
        return decode(self.content)


def wrong_link(closed: ClosedDay, before: ClosedDay | None) -> str | None:
    """Why a close is not the one that was made after the one before it."""
    if closed.hash != hash_of(closed.previous, closed.content):
        return "its content is not that of its hash"
    if closed.previous != (None if before is None else before.hash):
        return "it does not follow the close before it"
    if before is not None and (closed.day - before.day).days != 1:
        return f"the days between it and {before.day} are missing"
    return None
