"""What attempts are counted on."""

from datetime import timedelta

import pytest

from malipo import clock
from malipo.accounts.login_attempts import LoginAttempts, TooManyAttempts, counted_address
from malipo.db import Database


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("196.41.7.9", "196.41.7.9"),
        ("2c0f:fb50:1:2:aaaa:bbbb:cccc:dddd", "2c0f:fb50:1:2::/64"),
        ("2c0f:fb50:1:3::1", "2c0f:fb50:1:3::/64"),
        ("a name", "a name"),
    ],
)
def test_an_ipv6_address_is_counted_by_its_network(address: str, counted: str) -> None:
    assert counted_address(address) == counted


async def test_many_addresses_of_one_ipv6_network_are_one(database: Database) -> None:
    attempts, now = LoginAttempts(database, "email"), clock.now()
    for n in range(5):
        await attempts.note("asha@example.com", f"2c0f:fb50:1:2::{n}", now=now)
    with pytest.raises(TooManyAttempts):
        await attempts.note("asha@example.com", "2c0f:fb50:1:2:ffff::1", now=now)
    await attempts.note("asha@example.com", "2c0f:fb50:1:3::1", now=now)


async def test_who_is_refused_waits_no_longer_than_attempts_count(database: Database) -> None:
    """Also if those before it were noted at later times: requests that come at once are not noted in their order."""
    attempts, now = LoginAttempts(database, "email"), clock.now()
    for _ in range(5):
        await attempts.note("asha@example.com", "196.41.7.9", now=now + timedelta(seconds=2))
    with pytest.raises(TooManyAttempts) as refused:
        await attempts.note("asha@example.com", "196.41.7.9", now=now)
    assert refused.value.retry_after_seconds == 900
