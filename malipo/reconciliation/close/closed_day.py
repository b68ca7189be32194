"""A closed day as it is stored. Pure."""

from datetime import date, datetime

import msgspec

from malipo.reconciliation.close.signed_content import DayClose, decode


class ClosedDay(msgspec.Struct, frozen=True, kw_only=True):
    day: date
    content: str
    previous: bytes | None  # the hash of the day before; None: it is the first
    hash: bytes  # of the content and the previous hash
    counted: str  # how far the statements of each channel were counted, as JSON; the next close continues there
    digest: bytes  # of the entries that are kept for the next close
    reason: str
    requested_by: str | None
    closed_by: str
    closed_at: datetime
    key_id: str = ""
    signature: bytes = b""

    @property
    def close(self) -> DayClose:
        return decode(self.content)
