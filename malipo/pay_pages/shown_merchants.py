"""Whom to ask, on pages that cannot be shown: the merchants of links and receipts that this process has shown lately.

An error page must stay cheap, because a flood brings many of them, and it must come without a database too. So it looks
nothing up: it has the merchant's name and contact if the process remembers them from the last page at the same address.
"""

from collections import OrderedDict
from datetime import datetime, timedelta

from msgspec.structs import replace

from malipo.merchants.public_profile import PublicProfile

MOST = 2000
KEPT = timedelta(hours=1)  # A merchant may change its contact.


class ShownMerchants:
    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._merchants: OrderedDict[str, tuple[datetime, PublicProfile]] = OrderedDict()  # the latest is the last

    def remember(self, place: str, merchant: PublicProfile, *, now: datetime) -> None:
        """`place` is the address of a link or a receipt."""
        # A logo would be one more request in a flood.
        self._merchants[place] = (now, replace(merchant, logo=None))
        self._merchants.move_to_end(place)
        if len(self._merchants) > self._most:
            self._merchants.popitem(last=False)

    def find(self, place: str, *, now: datetime) -> PublicProfile | None:
        at, merchant = self._merchants.get(place, (now - KEPT, None))
        return merchant if now - at < KEPT else None
