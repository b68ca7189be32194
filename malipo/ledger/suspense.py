"""What one house booking has left in suspense, and what of it can be credited to a merchant."""

from malipo.db import Tx
from malipo.errors import Code, Conflict, Missing
from malipo.ledger.store import suspense as store


class SuspenseRefusal(Code):
    NO_SUCH = "suspense_no_such"
    TOO_MUCH = "suspense_too_much"
    RELEASED = "suspense_released"
    NOT_RELEASED = "suspense_not_released"


async def require_left(tx: Tx, booking_id: str, amount: int) -> None:
    """Refuse to release more than a booking has left in suspense. Locks it until the commit."""
    await store.lock(tx, booking_id)
    left = await store.find_left(tx, booking_id)
    if left is None:
        raise Missing(code=SuspenseRefusal.NO_SUCH, name=booking_id)
    if amount > left:
        raise Conflict(code=SuspenseRefusal.TOO_MUCH, booking=booking_id, left=max(left, 0))


async def require_released(tx: Tx, booking_id: str, merchant_id: str, amount: int) -> None:
    """Refuse to take back more than a merchant has of a booking. Locks it until the commit."""
    await store.lock(tx, booking_id)
    released = await store.find_released(tx, booking_id, merchant_id=merchant_id)
    if amount > released:
        raise Conflict(code=SuspenseRefusal.NOT_RELEASED, booking=booking_id, released=released)


async def require_unreleased(tx: Tx, booking_id: str) -> None:
    """Refuse to undo a booking of which a merchant has something. Locks it until the commit."""
    await store.lock(tx, booking_id)
    if await store.find_released(tx, booking_id):
        raise Conflict(code=SuspenseRefusal.RELEASED, booking=booking_id)
