"""The state of the installation: its epoch, and whether anything may be sent. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from malipo.errors import Unavailable

# For this long after a restore, a new payment with a derived key is queried before it is sent.
WEEK_AFTER = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Installation:
    id: str
    key_secret: bytes
    epoch: int
    epoch_began_at: datetime
    fenced_at: datetime | None
    fence_reason: str | None
    held_at: datetime | None
    held_by: str | None
    hold_reason: str | None
    refund_keys_since: datetime | None  # see payments/refunds/refund_network_keys.py

    @property
    def is_fenced(self) -> bool:
        return self.fenced_at is not None

    @property
    def takes_no_payments(self) -> bool:
        """Whether nothing is sent, and no request that moves money is accepted."""
        return self.is_fenced or self.held_at is not None

    @property
    def refusal(self) -> "IntakeClosed":
        return DatabaseRestored() if self.is_fenced else OnHold()


class IntakeClosed(Unavailable):
    """No request that moves money is accepted now."""

    retry_after_seconds = 60


class DatabaseRestored(IntakeClosed):
    code = "restored"

    def __init__(self) -> None:
        super().__init__("The service was restored from a backup and takes no payments until operators have looked.")


class NotComparedYet(IntakeClosed):
    """The database was restarted, and the workers have not compared it with their marks yet."""

    retry_after_seconds = 5

    def __init__(self) -> None:
        super().__init__("The service has just begun and does not know yet what was sent. Nothing was done; try again.")


class OnHold(IntakeClosed):
    code = "on_hold"

    def __init__(self) -> None:
        super().__init__("Operators hold all payments at the moment. Nothing has changed.")
