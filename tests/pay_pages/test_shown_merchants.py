"""The merchants that a process remembers for pages that cannot be shown."""

from datetime import timedelta

from malipo import clock
from malipo.merchants.public_profile import PublicProfile
from malipo.pay_pages.shown_merchants import KEPT, ShownMerchants


def test_merchants_are_remembered_for_an_hour_and_no_more_than_so_many() -> None:
    shown, now = ShownMerchants(most=2), clock.now()
    for name in ("a", "b"):
        shown.remember(f"/pay/{name}", PublicProfile(name), now=now)
    shown.remember("/pay/a", PublicProfile("other"), now=now + timedelta(seconds=1))
    shown.remember("/pay/c", PublicProfile("c"), now=now)
    assert shown.find("/pay/b", now=now) is None
    assert shown.find("/pay/a", now=now + KEPT) == PublicProfile("other")
    assert shown.find("/pay/c", now=now + KEPT) is None
