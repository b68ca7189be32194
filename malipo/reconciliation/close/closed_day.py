"""A closed day as it is stored. Pure."""

from datetime import date, datetime

import msgspec

from malipo.reconciliation.close.signed_content import DayClose, decode


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
